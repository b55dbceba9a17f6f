// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "coverage.hpp"

#include "guard.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <linux/kcov.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace openipoib::kfuzz
{

namespace
{

constexpr std::size_t areaWords = 1u << 18;
constexpr std::uint64_t coverHandle = 1; // SIB_COVER_HANDLE of drivers/sib/cover.h
// Calls of the trace function are at least four octets apart, and the modules' text is
// shorter than four times this.
constexpr std::size_t counterCount = 1u << 17;
constexpr const char *offsetsFile = "/run/out/reached";

__attribute__((section("__libfuzzer_extra_counters"), used)) std::uint8_t counters[counterCount];

const Coverage *instance;

std::uint64_t textOf(const char *module)
{
    std::ifstream in(std::string("/sys/module/") + module + "/sections/.text");
    std::string word;
    in >> word;
    const std::uint64_t address = std::strtoull(word.c_str(), nullptr, 16);
    need(address != 0, "the address of the module's text");
    return address;
}

} // namespace

Coverage::Trace Coverage::open()
{
    Trace trace;
    trace.fd = ::open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
    need(trace.fd >= 0, "/sys/kernel/debug/kcov");
    need(ioctl(trace.fd, KCOV_INIT_TRACE, areaWords) == 0, "KCOV_INIT_TRACE");
    void *area = mmap(nullptr, areaWords * sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                      MAP_SHARED, trace.fd, 0);
    need(area != MAP_FAILED, "memory of kcov");
    trace.area = static_cast<std::uint64_t *>(area);
    return trace;
}

void Coverage::startRemote()
{
    remote_ = open();
    std::thread([this] {
        kcov_remote_arg arg{};
        arg.trace_mode = KCOV_TRACE_PC;
        arg.area_size = areaWords;
        arg.common_handle = kcov_remote_handle(KCOV_SUBSYSTEM_COMMON, coverHandle);
        need(ioctl(remote_.fd, KCOV_REMOTE_ENABLE, &arg) == 0, "KCOV_REMOTE_ENABLE");
        for (;;)
            pause();
    }).detach();
}

Coverage::Coverage() : text_(textOf("sib")), own_(open()), child_(open())
{
    startRemote();
    need(ioctl(own_.fd, KCOV_ENABLE, KCOV_TRACE_PC) == 0, "KCOV_ENABLE");
    instance = this;
    std::atexit([] { instance->writeOffsets(); });
    atEnd([] { instance->writeOffsets(); });
}

void Coverage::begin()
{
    for (const Trace *trace : {&own_, &remote_, &child_})
        __atomic_store_n(trace->area, 0, __ATOMIC_RELAXED);
}

void Coverage::take(const Trace &trace)
{
    const std::size_t count =
        std::min<std::size_t>(__atomic_load_n(trace.area, __ATOMIC_ACQUIRE), areaWords - 1);
    for (std::size_t i = 1; i <= count; ++i) {
        const std::uint64_t offset = trace.area[i] - text_;
        std::uint8_t &counter = counters[offset / 4 % counterCount];
        if (counter == 0)
            seen_.insert(static_cast<std::uint32_t>(offset));
        counter = static_cast<std::uint8_t>(counter + (counter != 255));
    }
}

void Coverage::end()
{
    for (const Trace *trace : {&own_, &remote_, &child_})
        take(*trace);
}

void Coverage::joinChild()
{
    static_cast<void>(ioctl(child_.fd, KCOV_ENABLE, KCOV_TRACE_PC));
}

// For the runner, who knows which functions these are.
void Coverage::writeOffsets() const
{
    std::ofstream out(offsetsFile);
    for (const std::uint32_t offset : seen_)
        out << std::hex << offset << '\n';
}

} // namespace openipoib::kfuzz
