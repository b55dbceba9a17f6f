// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A target that misses a function it should reach: for the tests of tests/fuzz/run.
#include <cstddef>
#include <cstdint>

namespace openipoib::planted
{

namespace
{

[[gnu::noinline]] int hit(int value)
{
    return value + 1;
}

} // namespace

int missed(int value)
{
    return value - 1;
}

} // namespace openipoib::planted

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    constexpr std::size_t longerThanAny = 1U << 20;
    volatile int sink = openipoib::planted::hit(size > 0 ? data[0] : 0);
    if (sink == 'b') // something to be found
        sink = 0;
    if (size > longerThanAny)
        sink = openipoib::planted::missed(sink);
    return 0;
}
