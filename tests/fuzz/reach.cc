// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Linked into every fuzz target: which functions its inputs have executed. libFuzzer
// forgets that before each input, so it is looked up after each: the linker leads
// libFuzzer's calls through here (--wrap). At the end of a run that found nothing
// the offsets of the functions in the program, in hexadecimal, are written into the
// file that OPENIPOIB_FUZZ_REACHED names, a line each. tests/fuzz/run reads them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

// What the compiler and the linker call them.
extern "C" {
struct Block {
    std::uintptr_t address;
    std::uintptr_t flags; // 1: a function begins here
};
extern const Block __start___sancov_pcs[], __stop___sancov_pcs[];
extern const std::uint8_t __start___sancov_cntrs[], __stop___sancov_cntrs[];
extern const char __executable_start[];

int __real_LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);
int __wrap_LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);
}

namespace
{

class Reached
{
  public:
    Reached()
    {
        const auto count = static_cast<std::size_t>(__stop___sancov_pcs - __start___sancov_pcs);
        if (__stop___sancov_cntrs - __start___sancov_cntrs != static_cast<std::ptrdiff_t>(count))
            std::abort(); // each block has one counter
        for (std::size_t block = 0; block < count; ++block)
            if ((__start___sancov_pcs[block].flags & 1) != 0)
                waiting_.push_back(block);
    }

    void collect()
    {
        std::erase_if(waiting_, [this](std::size_t block) {
            if (__start___sancov_cntrs[block] == 0)
                return false;
            reached_.push_back(block);
            return true;
        });
    }

    void write() const
    {
        const char *path = std::getenv("OPENIPOIB_FUZZ_REACHED");
        std::FILE *file = path == nullptr ? nullptr : std::fopen(path, "w");
        if (file == nullptr)
            return;
        const auto start = reinterpret_cast<std::uintptr_t>(__executable_start);
        for (const std::size_t block : reached_)
            static_cast<void>(
                std::fprintf(file, "%zx\n", __start___sancov_pcs[block].address - start));
        static_cast<void>(std::fclose(file));
    }

  private:
    std::vector<std::size_t> waiting_; // functions, by their first block
    std::vector<std::size_t> reached_;
};

Reached &reached()
{
    static Reached *const all = new Reached; // it outlives what runs at the end
    return *all;
}

} // namespace

int __wrap_LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    static const int atEnd = std::atexit([] { reached().write(); });
    const int result = __real_LLVMFuzzerTestOneInput(data, size);
    reached().collect();
    return atEnd == 0 ? result : atEnd;
}
