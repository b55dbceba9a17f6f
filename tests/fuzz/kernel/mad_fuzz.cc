// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Fuzzing of management datagrams: subnet management, performance, communication management
// and other classes, from this machine by umad and from the cable. The kernel must not
// complain, and the port must be as good as new with another subnet manager, or another link.
#include "coverage.hpp"
#include "guard.hpp"
#include "links.hpp"
#include "peer.hpp"
#include "target.hpp"

#include <algorithm>
#include <unistd.h>

namespace
{

using namespace openipoib;
using namespace openipoib::kfuzz;

enum Kind : std::uint8_t {
    subnet,
    subnet2,
    performance,
    communication,
    other,
    patch,
    patch2,
    answer,
    nap,
    rawMad,
    kinds
};

constexpr std::uint16_t subnetAttributes[] = {0x15, 0x16, 0x14, 0x10, 0x11, 0x17, 0x18, 0x20, 0x15,
                                              0x12, 0x19, 0x1A, 0x1B, 0x30, 0x02, 0x31, 0x15, 0x16};
constexpr std::uint8_t methods[] = {2, 1, 2, 7, 0x81, 5, 6, 3, 2, 1, 0x84, 0x12};
constexpr std::uint64_t keys[] = {0, 1, 0x1234567890ABCDEF};

struct World {
    Guard guard;
    Coverage coverage;
    Links links;
    Peer peer;
    Umad umad{"sib0"};
    Mad data{}; // the content of the next datagram, but for its header
    std::uint64_t transactions = 0x100;
};

World &world()
{
    static World &one = *new World; // it must last until the last words
    return one;
}

// To the port itself by a directed route, by its LID, or from the cable
void send(World &w, const Record &record, io::View mad, std::uint8_t agent, bool isSubnet)
{
    const std::uint8_t way = record[7] >> 6;
    if (way >= 2)
        w.peer.mad(mad, isSubnet, record[7] & 1 ? 0xFFFF : rightLid);
    else
        w.umad.send({.agent = isSubnet && way == 0 ? 0u : agent,
                     .lid = isSubnet && way == 0 ? std::uint16_t{0xFFFF} : leftLid,
                     .qpn = isSubnet ? 0u : 1u,
                     .qkey = isSubnet ? 0 : 0x80010000u,
                     .pkeyIndex = static_cast<std::uint16_t>(record[7] & 8 ? record[7] & 63 : 0),
                     .timeout = record[7] & 2 ? 5u : 0u,
                     .retries = record[7] & 4 ? 2u : 0u,
                     .grh = (record[7] & 16) != 0},
                    mad);
    w.data.fill(0);
}

io::Bytes headOf(World &w, std::uint8_t mgmtClass, std::uint8_t version, std::uint8_t method)
{
    io::Bytes mad{1, mgmtClass, version, method};
    io::append<4>(mad, 0);
    io::append<8>(mad, w.transactions++);
    return mad;
}

// A Set begins with what a Get says, so that most of it is right.
void present(World &w, std::uint16_t attribute, std::uint32_t modifier, std::uint64_t key)
{
    const std::optional<Mad> now = w.umad.ask(1, attribute, modifier, key, {});
    if (!now)
        return;
    for (std::size_t i = 0; i < 64; ++i)
        w.data[i] = static_cast<std::uint8_t>(w.data[i] ^ contentOf(*now)[i]);
    if (attribute == 0x15) {
        w.data[32] = static_cast<std::uint8_t>(w.data[32] & 0xF0);
        w.data[33] = 0;
    }
}

void subnetManagement(World &w, const Record &record)
{
    const bool directed = record[7] >> 6 != 1;
    const std::uint16_t attribute =
        record[2] >= 250 ? record.half(3) : record.pick(2, subnetAttributes);
    constexpr std::uint32_t modifiers[] = {0, 1, 2, 3, 0x10000, 0x20000, 0xFFFF, 0xFFFFFFFF};
    const std::uint32_t modifier = record[4] & 0x80 ? record.half(3) : record.pick(3, modifiers);
    const std::uint64_t key = record.pick(5, keys);
    if (record[4] & 1)
        present(w, attribute, modifier, key);
    io::Bytes mad = headOf(w, directed ? 0x81 : 0x01, record[6] & 0x80 ? record[6] : 1,
                           record.pick(1, methods));
    if (directed && record[6] & 0x20) {
        mad[6] = record[6] & 3;      // hop pointer
        mad[7] = record[6] >> 2 & 3; // hops
    }
    io::append<2>(mad, attribute);
    io::append<2>(mad, 0);
    io::append<4>(mad, modifier);
    io::append<8>(mad, key);
    io::append<4>(mad, 0xFFFFFFFF);
    mad.resize(64);
    mad.insert(mad.end(), w.data.begin(), w.data.begin() + 64);
    mad.resize(madSize);
    if (record[6] & 0x40)
        std::fill(mad.begin() + 128, mad.end(), record[6]); // paths
    send(w, record, mad, 1, true);
}

void general(World &w, const Record &record, std::uint8_t mgmtClass, std::uint8_t agent,
             io::View attributes)
{
    io::Bytes mad =
        headOf(w, mgmtClass, mgmtClass == 7 || mgmtClass == 3 ? 2 : 1, record.pick(1, methods));
    const std::uint16_t attribute =
        record[2] >= 240 ? record.half(3) : attributes[record[2] % attributes.size()];
    io::append<2>(mad, attribute);
    io::append<2>(mad, 0);
    io::append<4>(mad, record[4] & 0x80 ? record.half(3) : record[4] & 1u);
    mad.insert(mad.end(), w.data.begin(), w.data.end() - 24);
    if (mgmtClass == 4)
        mad[64 + 1] = record[5]; // PortSelect, where a counter begins
    send(w, record, mad, agent, false);
}

void alter(World &w, const Record &record)
{
    for (const std::size_t i : {1u, 3u, 5u})
        w.data[record[i] % w.data.size()] = record[i + 1];
}

// What this machine has asked the far end is answered, or not: with what came.
void reply(World &w, const Record &record)
{
    w.peer.cable().receive();
    if (const std::optional<Mad> came = w.umad.receive(std::chrono::milliseconds{0})) {
        Mad mad = *came;
        mad[3] = record[1] & 1 ? 0x81 : record[2];
        mad[record[3]] = record[4];
        send(w, record, mad, record[5] % 6, mad[1] == 1 || mad[1] == 0x81);
    }
}

std::size_t one(World &w, Records rest)
{
    constexpr std::uint8_t counters[] = {0x12, 0x1D, 0x01, 0x10, 0x13, 0x15, 0x16, 0x1B};
    constexpr std::uint8_t connections[] = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15,
                                            0x16, 0x17, 0x18, 0x19, 0x1A};
    constexpr std::uint8_t others[] = {0x01, 0x02, 0x11, 0x35, 0x38, 0x31};
    constexpr std::uint8_t classes[] = {3, 6, 8, 9, 0x30, 0x10, 0x81, 0x21};
    const Record &record = rest.front();
    const std::size_t count = std::min<std::size_t>(rest.size() - 1, record[1] % 33);
    switch (record[0] % kinds) {
    case subnet:
    case subnet2:
        subnetManagement(w, record);
        return 0;
    case performance:
        general(w, record, 4, 2, counters);
        return 0;
    case communication:
        general(w, record, 7, 3, connections);
        return 0;
    case other:
        general(w, record, record.pick(6, classes), record[6] & 1 ? 4 : 2, others);
        return 0;
    case answer:
        reply(w, record);
        return 0;
    case nap:
        usleep(1000u * (1 + record[1] % 25u));
        return 0;
    case rawMad: {
        io::Bytes mad(octetsOf(rest.subspan(1, count)).begin(),
                      octetsOf(rest.subspan(1, count)).end());
        mad.resize(madSize);
        send(w, record, mad, record[2] % 6, record[3] & 1);
        return count;
    }
    default:
        alter(w, record);
        return 0;
    }
}

// Whatever the port has been told: a subnet manager that knows the keys, or another link.
bool restore(World &w)
{
    constexpr unsigned tries = 3;
    w.peer.forget();
    if (w.peer.begin(tries))
        return true;
    for (const std::uint64_t key : keys)
        if (activate(w.umad, leftLid, key))
            break;
    if (w.peer.begin(tries))
        return true;
    w.umad = Umad("none");
    w.links.remove("sib0");
    w.links.add("sib0", "va");
    w.peer.reopen();
    w.umad = Umad("sib0");
    return w.umad && w.peer.begin();
}

void run(io::View input)
{
    World &w = world();
    w.guard.begin(input);
    w.coverage.begin();
    w.data.fill(0);
    const std::vector<Record> records = recordsOf(input);
    for (std::size_t i = 0; i < records.size(); ++i)
        i += one(w, Records(records).subspan(i));
    w.peer.end();
    w.umad.drain();
    w.coverage.end();
    w.guard.check();
    if (!restore(w))
        found("broken promise: the port does not become ACTIVE again");
    w.guard.check();
}

void begin()
{
    need(world().peer.begin(), "a port that is ACTIVE");
}

} // namespace

const Target openipoib::kfuzz::target{kinds, begin, run};
