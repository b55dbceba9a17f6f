// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What an SA does wrong: answers that it sends twice, and answers that are wrong in themselves,
// drawn from a seed: the same answers in the same order are spoilt alike again.
#pragma once

#include "io/bytes.hpp"

#include <cstdint>
#include <random>

namespace openipoib::fleet
{

class Faults
{
  public:
    // Percent of the answers
    struct Rates {
        unsigned wrong = 0;
        unsigned twice = 0;
    };

    Faults() : Faults(Rates{}, 0) {}
    Faults(const Rates &rates, std::uint32_t seed) : rates_(rates), random_(seed) {}

    // From now on nothing is wrong.
    void end() { rates_ = {}; }
    // Make an answer wrong, a path record or a membership, if it is its turn.
    [[nodiscard]] bool spoil(io::Bytes &mad);
    [[nodiscard]] bool isTwice() { return draw(100) < rates_.twice; }

  private:
    // One of so many numbers, from 0 on
    [[nodiscard]] std::uint32_t draw(std::uint32_t of)
    {
        return static_cast<std::uint32_t>(random_() % of);
    }

    Rates rates_;
    std::mt19937 random_;
};

} // namespace openipoib::fleet
