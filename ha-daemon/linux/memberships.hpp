// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The multicast groups that programs have joined on either interface of a pair
// are joined on the other as well, so that they go on when the identity moves.
#pragma once

#include "io/bytes.hpp"
#include "io/unique_fd.hpp"

#include <map>
#include <string_view>
#include <utility>

namespace openipoib::ha
{

// Interface and group (4 or 16 bytes)
using Membership = std::pair<int, io::Bytes>;
// How many have joined
using Joined = std::map<Membership, unsigned>;

// /proc/net/igmp and /proc/net/igmp6, without the groups that every interface is
// in by itself.
[[nodiscard]] Joined readIgmp(std::string_view text);
[[nodiscard]] Joined readIgmp6(std::string_view text);

class Memberships
{
  public:
    // Join on each of the two interfaces what others have joined on one of them,
    // leave what nobody else wants.
    void mirror(int first, int second);

    [[nodiscard]] std::size_t count() const { return own_.size(); }

  private:
    std::map<Membership, io::UniqueFd> own_;
};

} // namespace openipoib::ha
