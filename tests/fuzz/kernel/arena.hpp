// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Memory that regions are registered in, and the promise that it changes nowhere else.
#pragma once

#include <array>
#include <cstdint>

namespace openipoib::kfuzz
{

class Arena
{
  public:
    static constexpr std::size_t size = 65536;

    Arena();

    [[nodiscard]] std::uint8_t *data() const { return memory_; }
    [[nodiscard]] std::uint64_t address() const
    {
        return reinterpret_cast<std::uintptr_t>(memory_);
    }

    // The HCA may write there from now on; as often as it is said.
    void open(std::size_t offset, std::size_t length);
    // And no more; what is there now must stay.
    void close(std::size_t offset, std::size_t length);
    // No region is left.
    void closeAll();
    // Ends the program if an octet has changed that nobody could write.
    void check() const;

  private:
    std::uint8_t *memory_;
    std::array<std::uint8_t, size> kept_;
    std::array<std::uint8_t, size> writers_{}; // regions that an octet is in
};

} // namespace openipoib::kfuzz
