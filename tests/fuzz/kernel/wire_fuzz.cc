// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Fuzzing of what comes from the cable: frames and packets of a peer, in and out of sequence,
// changed while they are held, while a process has queue pairs of all services. The kernel
// must not complain, no request completes twice, and no memory changes but what is registered.
#include "coverage.hpp"
#include "guard.hpp"
#include "leftovers.hpp"
#include "peer.hpp"
#include "target.hpp"

#include <unistd.h>

namespace
{

using namespace openipoib;
using namespace openipoib::kfuzz;

enum Kind : std::uint8_t {
    packet,
    packet2,
    packet3,
    packet4,
    frame,
    frame2,
    held,
    hello,
    acknowledge,
    postSend,
    postRecv,
    pollCqs,
    change,
    nap,
    rawPacket,
    rawFrame,
    kinds,
};

struct World {
    Guard guard;
    Coverage coverage;
    Peer peer;
    Shared shared;
    Process process{"sib0", leftLid, rightLid, shared};
    Leftovers leftovers{{"sib0"}};
};

World &world()
{
    static World &one = *new World; // it must last until the last words
    return one;
}

void scribbleOrAttach(World &w, const Record &record)
{
    if (record[2] & 1)
        w.peer.scribble(record);
    else
        w.process.attach(record[1] & 1 ? 3 : 4, record[3], record[3] & 2);
}

// Returns how many further records it has used up.
std::size_t one(World &w, Records rest)
{
    const Record &record = rest.front();
    const std::size_t count = std::min<std::size_t>(rest.size() - 1, record[1] % 24);
    switch (record[0] % kinds) {
    case frame:
    case frame2:
        w.peer.frame(record);
        return 0;
    case held:
        w.peer.held(record);
        return 0;
    case hello:
        w.peer.hello(record);
        return 0;
    case acknowledge:
        w.peer.acknowledge(record);
        return 0;
    case postSend:
        w.process.postSend(record, w.process);
        return 0;
    case postRecv:
        w.process.postRecv(record);
        return 0;
    case pollCqs:
        w.process.poll(record[1] & 1);
        return 0;
    case change:
        scribbleOrAttach(w, record);
        return 0;
    case nap:
        usleep(1000u * (1 + record[1] % 50u));
        return 0;
    case rawPacket:
        w.peer.rawPacket(octetsOf(rest.subspan(1, count)));
        return count;
    case rawFrame:
        w.peer.rawFrame(record, octetsOf(rest.subspan(1, count)));
        return count;
    default:
        w.peer.packet(record, w.process);
        return 0;
    }
}

void run(io::View input)
{
    World &w = world();
    w.guard.begin(input);
    if (!w.peer.begin())
        found("broken promise: the link does not come up again");
    w.coverage.begin();
    w.peer.populate(w.process);
    const std::vector<Record> records = recordsOf(input);
    for (std::size_t i = 0; i < records.size(); ++i)
        i += one(w, Records(records).subspan(i));
    w.peer.end();
    for (const unsigned slot : {0u, 1u})
        w.process.poll(slot);
    w.process.arena().check();
    w.process.close();
    w.process.arena().check();
    w.shared = Shared();
    w.coverage.end();
    w.leftovers.check();
    w.guard.check();
}

void begin()
{
    world();
}

} // namespace

const Target openipoib::kfuzz::target{kinds, begin, run};
