// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Inputs that were noted before, once more.
#pragma once

#include "io/bytes.hpp"

#include <functional>

namespace openipoib::kfuzz
{

// If the machine outside has left a journal to be run again, run each of its inputs, and
// end the program.
void replay(const std::function<void(io::View)> &run);

} // namespace openipoib::kfuzz
