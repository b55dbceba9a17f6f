// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/priority.hpp"

#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>

namespace openipoib::ha
{

namespace
{

bool schedule(int policy)
{
    sched_param priority{};
    priority.sched_priority = ::sched_get_priority_min(policy);
    return ::sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &priority) == 0;
}

} // namespace

io::Result<void> hurry()
{
    static constexpr int largest = 32 << 20; // bytes
    // A locked mapping is filled when it is made: memory that is free stays in the heap.
    ::mallopt(M_MMAP_THRESHOLD, largest);
    ::mallopt(M_TRIM_THRESHOLD, largest);
    // First: every page is fetched, which takes long.
    if (::mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
        return io::systemFail("locked memory");
    if (!schedule(SCHED_RR))
        return io::systemFail("real-time scheduling");
    return {};
}

Leisure::Leisure()
    : hurried_((::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_RR &&
               schedule(SCHED_OTHER))
{
}

Leisure::~Leisure()
{
    if (hurried_)
        schedule(SCHED_RR);
}

} // namespace openipoib::ha
