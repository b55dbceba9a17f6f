// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "replay.hpp"

#include "guard.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace openipoib::kfuzz
{

void replay(const std::function<void(io::View)> &run)
{
    std::ifstream in(std::string(folder) + "/replay", std::ios::binary);
    if (!in)
        return;
    const io::Bytes all{std::istreambuf_iterator<char>(in), {}};
    constexpr std::size_t head = 8; // size and time
    unsigned count = 0;
    for (io::View left = all; left.size() >= head; ++count) {
        const std::size_t size = io::read<4>(left, 0);
        left = left.subspan(head);
        need(size <= left.size(), "a whole journal");
        run(left.first(size));
        left = left.subspan(size);
    }
    std::fprintf(stderr, "fuzz: replayed %u\n", count);
    std::exit(0);
}

} // namespace openipoib::kfuzz
