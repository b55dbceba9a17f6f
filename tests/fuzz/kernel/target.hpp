// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A fuzz target as target.cc needs it, which has what libFuzzer calls.
#pragma once

#include "io/bytes.hpp"

namespace openipoib::kfuzz
{

struct Target {
    unsigned kinds;        // of records
    void (*begin)();       // once, before any input
    void (*run)(io::View); // an input
};

// Of this program
extern const Target target;

} // namespace openipoib::kfuzz
