// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Fuzzing of HCAs that come and go: `rdma link add|del` on network devices that come, go, move
// to another namespace and change, while processes use the HCAs and frames arrive. The kernel
// must not complain, and in the end everything can be taken away.
#include "coverage.hpp"
#include "guard.hpp"
#include "links.hpp"
#include "peer.hpp"
#include "target.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <net/if.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

using namespace openipoib;
using namespace openipoib::kfuzz;

enum Kind : std::uint8_t {
    addHca,
    addHca2,
    addHca3,
    removeHca,
    removeHca2,
    make,
    unmake,
    power,
    mtu,
    address,
    moveDevice,
    changeType,
    use,
    use2,
    traffic,
    activatePort,
    frames,
    leave,
    child,
    nap,
    kinds
};

const std::string hcas[] = {"x0", "x1", "x2", "x3"};
const std::string devices[] = {"va", "vb", "t0", "vc", "vd", "t1", "d0", "lo"};

struct World {
    Guard guard;
    Coverage coverage;
    Links links;
    Shared shared;
    std::array<std::unique_ptr<Process>, std::size(hcas)> processes;
    io::UniqueFd taps[2];
    pid_t child = -1;
    bool isChild = false;
};

World &world()
{
    static World &one = *new World; // it must last until the last words
    return one;
}

bool isThere(const std::string &hca)
{
    return std::filesystem::exists("/sys/class/infiniband/" + hca);
}

void makeDevice(World &w, const std::string &name)
{
    if (name[0] == 'v')
        w.links.makePair(name[1] < 'c' ? "va" : "vc", name[1] < 'c' ? "vb" : "vd");
    else if (name[0] == 't' && !w.taps[name[1] & 1])
        w.taps[name[1] & 1] = w.links.makeTap(name);
    else if (name[0] == 'd')
        w.links.makeDummy(name);
}

void unmakeDevice(World &w, const std::string &name)
{
    if (name[0] == 't')
        w.taps[name[1] & 1].reset();
    else if (name != "lo")
        w.links.removeDevice(name);
}

// A process that has some of all of an HCA, and still has it when the HCA goes.
void useHca(World &w, std::size_t which, const Record &record)
{
    constexpr std::uint8_t types[] = {2, 4, 3, 2};
    auto &process = w.processes[which];
    if (!process)
        process = std::make_unique<Process>(hcas[which], static_cast<std::uint16_t>(which + 1),
                                            static_cast<std::uint16_t>((which ^ 1) + 1), w.shared);
    if (!process->ready())
        return;
    process->notifyCq(0, false);
    process->qp({.slot = record[3], .srq = record[4] & 1 ? 0 : -1, .type = record.pick(2, types)});
    process->mr(0u);
    if (record[5] & 1)
        process->attach(record[3], 0, false);
}

// Datagrams and connections between two of them, if both are ACTIVE
void talk(World &w, std::size_t which, const Record &record)
{
    auto &near = w.processes[which], &far = w.processes[which ^ 1];
    if (!near || !far || !near->ready())
        return;
    near->postSend(record, *far);
    near->poll(0);
    near->readEvents();
}

void sendFrames(const std::string &device, const Record &record)
{
    if (if_nametoindex(device.c_str()) == 0 || device == "lo")
        return;
    Cable cable(plugDevice(device));
    cable.receive();
    for (unsigned i = 0; i <= record[3] % 8u; ++i)
        cable.hello(record[4] & 1 ? 0 : cable.peer(), record[5] % 4);
    cable.receive();
    cable.sendAck(0, record[6], 128);
}

void changeDevice(World &w, const std::string &device, const Record &record)
{
    constexpr unsigned mtus[] = {9000, 1500, 4208, 4207, 368, 367, 68, 2160, 65535};
    constexpr unsigned types[] = {32, 1, 772, 32, 0xFFFE};
    switch (record[0] % kinds) {
    case power:
        return w.links.setUp(device, record[3] & 1);
    case mtu:
        return w.links.setMtu(device, record.pick(3, mtus));
    case address:
        return w.links.setAddress(device, record[3]);
    case moveDevice:
        if (record[3] & 1) {
            w.links.enter(w.links.away());
            w.links.move(device, w.links.home());
            w.links.enter(w.links.home());
        } else {
            w.links.move(device, w.links.away());
        }
        return;
    default:
        const io::UniqueFd &tap = w.taps[record[1] & 1];
        if (record[3] & 1)
            w.links.setUp(record[1] & 1 ? "t1" : "t0", false);
        if (tap)
            w.links.setType(tap, record.pick(4, types));
    }
}

void reap(World &w)
{
    int status = 0;
    if (w.child > 0 && waitpid(w.child, &status, 0) == w.child && WIFEXITED(status) &&
        WEXITSTATUS(status) == foundStatus)
        _exit(foundStatus);
    w.child = -1;
}

std::size_t one(World &w, Records rest);

std::size_t childRuns(World &w, Records records)
{
    if (w.isChild)
        return 0;
    reap(w);
    w.shared.believes = false;
    w.child = ::fork();
    if (w.child != 0)
        return records.size();
    w.coverage.joinChild();
    w.isChild = true;
    for (std::size_t i = 0; i < records.size(); ++i)
        one(w, records.subspan(i));
    _exit(0);
}

std::size_t one(World &w, Records rest)
{
    const Record &record = rest.front();
    const std::size_t which = record[1] % std::size(hcas);
    const std::string &device = devices[record[2] % std::size(devices)];
    switch (record[0] % kinds) {
    case addHca:
    case addHca2:
    case addHca3:
        makeDevice(w, device);
        if (!(record[3] & 1))
            w.links.setUp(device, true);
        w.links.add(hcas[which], device);
        break;
    case removeHca:
    case removeHca2:
        w.links.remove(hcas[which]);
        break;
    case make:
        makeDevice(w, device);
        break;
    case unmake:
        unmakeDevice(w, device);
        break;
    case use:
    case use2:
        useHca(w, which, record);
        break;
    case traffic:
        talk(w, which, record);
        break;
    case activatePort:
        if (isThere(hcas[which]))
            static_cast<void>(activate(Umad(hcas[which]), static_cast<std::uint16_t>(which + 1)));
        break;
    case frames:
        if (w.child < 0 && !w.isChild) // else a device may go meanwhile
            sendFrames(device, record);
        break;
    case leave:
        w.processes[which].reset();
        break;
    case child:
        return childRuns(w, rest.subspan(1, std::min<std::size_t>(rest.size() - 1, record[3] % 8)));
    case nap:
        usleep(1000u * (1 + record[3] % 60u));
        break;
    default:
        changeDevice(w, device, record);
    }
    return 0;
}

// All goes; half of the HCAs with their devices.
void finish(World &w, std::size_t size)
{
    reap(w);
    if (size & 8)
        w.links.remove(hcas[0]);
    for (auto &process : w.processes)
        process.reset();
    w.links.enter(w.links.away());
    for (const std::string &device : devices)
        w.links.removeDevice(device == "lo" ? "none" : device);
    w.links.enter(w.links.home());
    for (const std::string &device : devices)
        unmakeDevice(w, device);
    for (const std::string &hca : hcas)
        w.links.remove(hca);
    // One whose device has gone is unregistered by a worker, however late that runs.
    for (unsigned i = 0; i < 3000 && std::ranges::any_of(hcas, isThere); ++i)
        usleep(10'000);
    promise(std::ranges::none_of(hcas, isThere), "an HCA is left that nobody wants");
    w.shared = Shared();
}

void run(io::View input)
{
    World &w = world();
    w.guard.begin(input);
    w.coverage.begin();
    const std::vector<Record> records = recordsOf(input);
    for (std::size_t i = 0; i < records.size(); ++i)
        i += one(w, Records(records).subspan(i));
    finish(w, input.size());
    w.coverage.end();
    w.guard.check();
}

void begin()
{
    world();
}

} // namespace

const Target openipoib::kfuzz::target{kinds, begin, run};
