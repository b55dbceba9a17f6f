// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Which of a sender's numbers have come: each is taken once, and none that is so old that it
// is not known whether it has.
#pragma once

#include <bitset>
#include <cstdint>

namespace openipoib::fabric
{

class ReplayWindow
{
  public:
    static constexpr std::uint64_t size = 2048; // several link windows of fragments

    // A new sender, of whom this is the first.
    void begin(std::uint64_t seq)
    {
        seen_.reset();
        newest_ = seq;
        seen_.set(seq % size);
    }
    // Whether it is taken.
    [[nodiscard]] bool take(std::uint64_t seq)
    {
        if (seq > newest_) {
            if (seq - newest_ >= size)
                seen_.reset();
            else
                for (std::uint64_t skipped = newest_ + 1; skipped < seq; ++skipped)
                    seen_.reset(skipped % size);
            newest_ = seq;
        } else if (newest_ - seq >= size || seen_.test(seq % size)) {
            return false;
        }
        seen_.set(seq % size);
        return true;
    }
    [[nodiscard]] std::uint64_t newest() const { return newest_; }

  private:
    std::bitset<size> seen_; // by number modulo the size
    std::uint64_t newest_ = 0;
};

} // namespace openipoib::fabric
