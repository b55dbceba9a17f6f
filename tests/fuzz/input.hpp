// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A fuzzer's bytes as a sequence of decisions. When they are used up, all further
// ones are 0.
#pragma once

#include "io/bytes.hpp"

#include <algorithm>
#include <cstdint>

namespace openipoib
{

class Input
{
  public:
    explicit Input(io::View bytes) : bytes_(bytes) {}

    [[nodiscard]] bool atEnd() const { return bytes_.empty(); }
    std::uint8_t byte()
    {
        const std::uint8_t value = bytes_.empty() ? std::uint8_t{0} : bytes_.front();
        bytes_ = bytes_.subspan(bytes_.empty() ? 0 : 1);
        return value;
    }
    std::uint16_t half()
    {
        const auto high = static_cast<std::uint16_t>(byte() << 8);
        return static_cast<std::uint16_t>(high | byte());
    }
    // As many as there are, at most.
    io::Bytes bytes(std::size_t most)
    {
        const io::View taken = bytes_.first(std::min(most, bytes_.size()));
        bytes_ = bytes_.subspan(taken.size());
        return {taken.begin(), taken.end()};
    }

  private:
    io::View bytes_;
};

} // namespace openipoib
