// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The multicast groups that programs have joined on either of two interfaces are joined
// on the other as well, so that they go on when the identity moves.
#pragma once

#include "io/bytes.hpp"
#include "io/error.hpp"
#include "io/unique_fd.hpp"

#include <map>
#include <set>
#include <string>
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

// Of all interfaces of this network namespace, now. Errors: the tables cannot be read, and who
// has joined what is not known.
[[nodiscard]] io::Result<Joined> readJoined(const std::string &folder = "/proc/net");

class Memberships
{
  public:
    // Join on each of the two interfaces (0: it is gone) what others have @joined on one
    // of them, leave what nobody else wants. When one of them is gone, programs have lost
    // what they had joined on it without having left: that is kept from then on.
    void mirror(const Joined &joined, int first, int second);

    [[nodiscard]] std::size_t count() const { return own_.size(); }

  private:
    std::map<Membership, io::UniqueFd> own_;
    std::set<io::Bytes> wanted_; // groups, when looked at last
    std::set<io::Bytes> kept_;
    std::pair<int, int> interfaces_; // when looked at last
};

} // namespace openipoib::ha
