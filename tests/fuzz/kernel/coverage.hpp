// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What the kernel's code executed for an input: the program counters that KCOV notes in the
// modules built for it, as the extra counters that libFuzzer looks at.
//
// A thread has one trace. That of the calling thread has what its system calls execute; the
// one for what the port's tasklet and the kernel's workers do for it (drivers/sib/cover.h)
// needs a thread of its own, which sleeps. A third is for a child of this process.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace openipoib::kfuzz
{

class Coverage
{
  public:
    // Begin to trace the calling thread, and the tasklets. Ends the program if the kernel
    // or the modules were not built for it.
    Coverage();
    Coverage(const Coverage &) = delete;
    Coverage &operator=(const Coverage &) = delete;

    // Forget what was noted since the last input.
    void begin();
    // Turn what was noted into libFuzzer's counters.
    void end();
    // In a child of this process: have its system calls noted, too; end() takes them over.
    void joinChild();

  private:
    struct Trace {
        int fd = -1;
        std::uint64_t *area = nullptr;
    };

    Trace open();
    void startRemote();
    void take(const Trace &trace);
    void writeOffsets() const;

    std::uint64_t text_;
    Trace own_, remote_, child_;
    std::set<std::uint32_t> seen_; // offsets in the module, of all inputs
};

} // namespace openipoib::kfuzz
