// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "arena.hpp"

#include "guard.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <sys/mman.h>

namespace openipoib::kfuzz
{

Arena::Arena()
{
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(memory != MAP_FAILED, "memory for regions");
    memory_ = static_cast<std::uint8_t *>(memory);
    for (std::size_t i = 0; i < size; ++i)
        memory_[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
    std::memcpy(kept_.data(), memory_, size);
}

void Arena::open(std::size_t offset, std::size_t length)
{
    for (std::size_t i = offset; i < std::min(size, offset + length); ++i)
        ++writers_[i];
}

void Arena::close(std::size_t offset, std::size_t length)
{
    for (std::size_t i = offset; i < std::min(size, offset + length); ++i)
        if (--writers_[i] == 0)
            kept_[i] = memory_[i];
}

void Arena::closeAll()
{
    for (std::size_t i = 0; i < size; ++i)
        if (writers_[i] != 0) {
            writers_[i] = 0;
            kept_[i] = memory_[i];
        }
}

void Arena::check() const
{
    if (std::memcmp(memory_, kept_.data(), size) == 0)
        return;
    for (std::size_t i = 0; i < size; ++i)
        promise(writers_[i] != 0 || memory_[i] == kept_[i],
                "memory outside of all regions has changed, at offset " + std::to_string(i));
}

} // namespace openipoib::kfuzz
