// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A switch's forwarding tables, as the SM writes them (IBA volume 1, 14.2.5.10
// and 14.2.5.12).
#pragma once

#include "ib/lrh.hpp"
#include "node/fields.hpp"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <vector>

namespace openipoib::fabric
{

inline constexpr std::uint8_t noPort = 0xFF;

// Destination LID to port.
class LinearTable
{
  public:
    static constexpr std::size_t capacity = ib::firstMulticastLid;
    static constexpr std::size_t blockSize = IB_SMP_DATA_SIZE;

    // noPort for a LID without a port, or beyond top.
    [[nodiscard]] std::uint8_t port(std::uint16_t lid, std::uint16_t top) const
    {
        return lid <= top && lid < ports_.size() ? ports_[lid] : noPort;
    }
    [[nodiscard]] bool get(std::uint32_t block, Attribute &data) const
    {
        if (block >= capacity / blockSize)
            return false;
        for (std::size_t i = 0; i < blockSize; ++i)
            data[i] = port(static_cast<std::uint16_t>(block * blockSize + i), capacity - 1);
        return true;
    }
    [[nodiscard]] bool set(std::uint32_t block, const Attribute &data)
    {
        if (block >= capacity / blockSize)
            return false;
        const std::size_t start = block * blockSize;
        if (ports_.size() < start + blockSize)
            ports_.resize(start + blockSize, noPort);
        std::ranges::copy(data, ports_.begin() + static_cast<std::ptrdiff_t>(start));
        return true;
    }

  private:
    std::vector<std::uint8_t> ports_; // as long as it has been written
};

// Multicast LID to ports.
class MulticastTable
{
  public:
    using Ports = std::bitset<256>;
    static constexpr std::size_t capacity = 4096;
    static constexpr std::size_t blockSize = 32; // LIDs, of 16 ports each

    [[nodiscard]] Ports ports(std::uint16_t lid) const
    {
        const std::size_t index = std::size_t{lid} - ib::firstMulticastLid;
        return index < ports_.size() ? ports_[index] : Ports{};
    }
    // modifier: block in bits 0 to 8, group of 16 ports in bits 28 to 31.
    [[nodiscard]] bool get(std::uint32_t modifier, Attribute &data) const
    {
        const std::size_t start = (modifier & 0x1FF) * blockSize;
        if (start >= capacity)
            return false;
        data.fill(0);
        for (std::size_t i = 0; i < blockSize && start + i < ports_.size(); ++i)
            for (std::size_t bit = 0; bit < 16; ++bit)
                if (ports_[start + i][std::size_t{modifier >> 28} * 16 + bit])
                    data[i * 2 + 1 - bit / 8] |= static_cast<std::uint8_t>(1U << bit % 8);
        return true;
    }
    [[nodiscard]] bool set(std::uint32_t modifier, const Attribute &data)
    {
        const std::size_t start = (modifier & 0x1FF) * blockSize;
        if (start >= capacity)
            return false;
        if (ports_.size() < start + blockSize)
            ports_.resize(start + blockSize);
        for (std::size_t i = 0; i < blockSize; ++i)
            for (std::size_t bit = 0; bit < 16; ++bit)
                ports_[start + i][std::size_t{modifier >> 28} * 16 + bit] =
                    (data[i * 2 + 1 - bit / 8] >> bit % 8 & 1) != 0;
        return true;
    }

  private:
    std::vector<Ports> ports_;
};

} // namespace openipoib::fabric
