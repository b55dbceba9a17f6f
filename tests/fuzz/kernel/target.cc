// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "target.hpp"

#include "guard.hpp"
#include "records.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

using namespace openipoib;
using namespace openipoib::kfuzz;

namespace
{

// If the machine outside has left a journal to be run again, run each of its inputs, and
// end the program.
void replay()
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
        target.run(left.first(size));
        left = left.subspan(size);
    }
    std::fprintf(stderr, "fuzz: replayed %u\n", count);
    std::exit(0);
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *, char ***)
{
    target.begin();
    replay();
    return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size,
                                               std::size_t most, unsigned seed)
{
    return mutate(data, size, most, seed, target.kinds);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    target.run({data, size});
    return 0;
}
