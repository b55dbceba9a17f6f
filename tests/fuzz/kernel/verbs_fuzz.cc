// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Fuzzing of verbs as processes use them: two HCAs at both ends of a cable, a process of
// each, and whatever they like to ask for, in any order. The kernel must not complain, each
// request completes once at most, memory that is not registered does not change, no packet
// gets from one partition into another, and in the end nothing is left.
#include "conversation.hpp"
#include "guard.hpp"
#include "leftovers.hpp"
#include "subnet.hpp"
#include "target.hpp"

namespace
{

using namespace openipoib;
using namespace openipoib::kfuzz;

struct World {
    Guard guard;
    Coverage coverage;
    Conversation conversation{coverage};
    Leftovers leftovers{{"sib0", "sib1"}};
};

World &world()
{
    static World &one = *new World; // it must last until the last words
    return one;
}

void run(io::View input)
{
    World &w = world();
    w.guard.begin(input);
    w.coverage.begin();
    w.conversation.run(recordsOf(input));
    w.coverage.end();
    w.leftovers.check();
    w.guard.check();
}

void begin()
{
    need(bringUp("sib0", leftLid) && bringUp("sib1", rightLid), "two ports that are ACTIVE");
    world();
}

} // namespace

const Target openipoib::kfuzz::target{Conversation::kinds, begin, run};
