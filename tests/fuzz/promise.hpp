// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a fuzz target checks beyond what the sanitizers see.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace openipoib
{

inline void promise(bool kept, const char *which)
{
    if (kept)
        return;
    static_cast<void>(std::fprintf(stderr, "broken promise: %s\n", which));
    std::abort();
}

} // namespace openipoib
