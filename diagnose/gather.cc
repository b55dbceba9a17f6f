// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "diagnose/gather.hpp"

#include "conf/openib/linux_system.hpp"
#include "diagnose/fabric.hpp"
#include "diagnose/gather_parts.hpp"
#include "ha-daemon/linux/announcer.hpp"
#include "ha-daemon/linux/arp_listener.hpp"
#include "io/file.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

namespace openipoib::diagnose
{

namespace
{

using Clock = std::chrono::steady_clock;

// Between the two times that counters are read
constexpr std::chrono::milliseconds watched{1000};

std::pair<unsigned, unsigned> runningKernel()
{
    utsname name{};
    std::pair<unsigned, unsigned> out;
    if (::uname(&name) < 0)
        return out;
    const std::string_view release(static_cast<const char *>(name.release));
    const auto dot = std::min(release.find('.'), release.size() - 1);
    std::from_chars(release.data(), release.data() + release.size(), out.first);
    std::from_chars(release.data() + dot + 1, release.data() + release.size(), out.second);
    return out;
}

bool isConfigured(const conf::Settings &settings, const Interface &interface)
{
    const auto children = settings.childrenOf.find(interface.parent);
    const bool isChild =
        children != settings.childrenOf.end() && interface.pkey &&
        std::ranges::find(children->second, *interface.pkey) != children->second.end();
    const bool isBond = std::ranges::any_of(
        settings.bonds, [&](const conf::Bond &bond) { return bond.name == interface.name(); });
    return isChild || isBond || settings.modeFor(interface.name()) ||
           settings.mtuFor(interface.name());
}

// What it asks for. A machine without one is set up by something else.
void readConfiguration(const Request &request, Facts &facts)
{
    const auto text = io::readFile(request.configuration, conf::maxFileBytes);
    if (!text) {
        if (text.error().code != ENOENT)
            facts.unseen.push_back({"openib.conf", text.error().text()});
        return;
    }
    const auto reading = conf::readSettings(*text, request.environment);
    if (conf::hasErrors(reading.diagnostics)) {
        facts.broken = request.configuration;
        return;
    }
    const auto &settings = reading.settings;
    facts.wantsHa = settings.ha.has_value();
    for (const auto &bond : settings.bonds)
        facts.wantBonds.push_back(bond.name);
    for (auto &interface : facts.interfaces)
        interface.isConfigured = isConfigured(settings, interface);
}

io::Result<void> readHost(const Request &request, Facts &facts)
{
    auto system = openib::LinuxSystem::open(request.configuration);
    if (!system)
        return std::unexpected(system.error());
    auto state = system->glance();
    if (!state)
        return std::unexpected(state.error());
    facts.state = std::move(*state);
    if (!facts.state.haWrong.empty())
        facts.unseen.push_back({"ipoib-ha", facts.state.haWrong});
    facts.haProcess = openib::haProcess({});
    facts.stale = system->stale();
    // No other ib_ipoib has that parameter. A version others have, too, that of OFED for example.
    facts.isOurs = facts.state.ownQueues.has_value();
    facts.kernel = runningKernel();
    facts.processors = std::max(1U, std::thread::hardware_concurrency());
    facts.wanted = request.interface;
    facts.tables = {{.family = "ipv4", .counters = {}}, {.family = "ipv6", .counters = {}}};
    if (!request.peer.empty())
        facts.peer = Peer{.address = request.peer};
    return {};
}

// Asks whether other hosts have the IPv4 addresses of the interfaces, too.
class Doubles
{
  public:
    explicit Doubles(Facts &facts)
    {
        const auto announcer = ha::Announcer::open();
        auto listener = ha::ArpListener::open();
        if (!announcer || !listener) {
            facts.unseen.push_back({"addresses that another host has, too",
                                    (announcer ? listener.error() : announcer.error()).text()});
            return;
        }
        listener_ = std::move(*listener);
        for (const auto &interface : facts.interfaces)
            for (const auto &address : interface.addresses)
                if (address.family == AF_INET && interface.link.isRunning())
                    (void)announcer->probe(interface.link, address.local, interface.link.broadcast);
    }

    // Who has answered since
    void read(Facts &facts) const
    {
        if (!listener_)
            return;
        // A host that floods the link with replies is not heard to its end.
        constexpr unsigned most = 100;
        for (unsigned turn = 0; turn < most; ++turn)
            if (!listener_->receive([&](int index, const ha::ArpReplier &from) {
                    noteReply(index, from.address, from.hardware, facts);
                }))
                return;
    }

  private:
    std::optional<ha::ArpListener> listener_;
};

} // namespace

io::Result<Facts> gather(const Request &request)
{
    const openib::Roots roots;
    auto socket = netlink::Socket::open();
    if (!socket)
        return std::unexpected(socket.error());
    Facts facts;
    if (const auto done = readHost(request, facts); !done)
        return std::unexpected(done.error());
    if (const auto done = readInterfaces(*socket, roots, request.interface, facts); !done)
        return std::unexpected(done.error());
    readConfiguration(request, facts);
    if (request.interface.empty() ? facts.interfaces.empty() : !facts.interface(request.interface))
        facts.elsewhere = findElsewhere(request.interface);
    readPorts(roots, facts);
    sampleCounters(roots, Sample::before, facts);
    const auto second = Clock::now() + watched;
    const Doubles doubles(facts);
    Fabric fabric(facts);
    fabric.ask(facts);
    bindAddresses(facts);
    readFirewall(roots, facts);
    if (facts.peer) {
        walkToPeer(*socket, roots, facts);
        fabric.askPath(facts);
    }
    readNeighbours(*socket, roots, facts);
    std::this_thread::sleep_until(second);
    doubles.read(facts);
    fabric.askAgain(facts);
    sampleCounters(roots, Sample::after, facts);
    readInterrupts(roots, facts);
    return facts;
}

} // namespace openipoib::diagnose
