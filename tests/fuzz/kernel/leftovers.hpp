// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Objects of HCAs: as many after an input as before.
#pragma once

#include "io/bytes.hpp"
#include "io/unique_fd.hpp"

#include <string>
#include <vector>

namespace openipoib::kfuzz
{

class Leftovers
{
  public:
    // Counts what there is now.
    explicit Leftovers(std::vector<std::string> hcas);

    // Ends the program if there is anything more or less, a second from now.
    void check() const;

  private:
    // What the kernel counts of all HCAs, by kind
    [[nodiscard]] io::Bytes count() const;

    std::vector<std::string> hcas_;
    io::UniqueFd socket_;
    io::Bytes before_;
};

} // namespace openipoib::kfuzz
