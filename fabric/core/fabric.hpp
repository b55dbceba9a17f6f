// SPDX-License-Identifier: GPL-2.0-only OR MIT
// All nodes of a topology and what joins them: links between two nodes of this
// process, which pass packets on at once, and cables to hosts elsewhere, which
// speak the link protocol. No I/O but by Cable, no clock but the caller's.
//
//   Fabric fabric(topology, random, chance);
//   const auto number = fabric.attach(*topology.findPort("h1:1"), cable, now);
//   fabric.start(now);
//   fabric.onFrame(*number, source, frame, now); // for each frame of a batch
//   fabric.onBatchEnd(*number, now);
//   fabric.onTime(now);                          // at deadline()
//
// A host with a cable is that host: it is not emulated. Other channel adapters
// answer MADs.
#pragma once

#include "core/cable.hpp"
#include "core/ear.hpp"
#include "core/fault.hpp"
#include "core/wire.hpp"
#include "io/error.hpp"
#include "link/station.hpp"
#include "node/node.hpp"
#include "peer/ipoib_peer.hpp"
#include "topology/topology.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace openipoib::fabric
{

class Fabric
{
  public:
    using Random = std::function<std::uint32_t()>;

    // chance: what befalls which packet, if there are faults.
    Fabric(Topology topology, Random random, Random chance);
    Fabric(const Fabric &) = delete;
    Fabric &operator=(const Fabric &) = delete;
    Fabric(Fabric &&) = delete;
    Fabric &operator=(Fabric &&) = delete;
    ~Fabric();

    // Plug a cable in, in place of a host's port, or into a free port of a
    // switch. Errors: EBUSY if that port has another, EINVAL if a host's port
    // is not cabled to a switch. Before start().
    [[nodiscard]] io::Result<std::size_t> attach(PortRef port, Cable &cable);
    void start(Time now);
    // Hears all packets from now on; nullptr: nobody does. It must outlive the fabric.
    void setEar(PacketEar *ear) { ear_ = ear; }

    void onFrame(std::size_t cable, const io::MacAddress &source, io::View frame, Time now);
    void onBatchEnd(std::size_t cable, Time now);
    // The cable is ready again.
    void onReady(std::size_t cable, Time now);
    void onTime(Time now);
    [[nodiscard]] Time deadline() const;

    // Let something go wrong from now on. A host's port stands for the switch's that
    // it is cabled to. Errors: EINVAL if nothing is there that could have that fault.
    [[nodiscard]] io::Result<Fault> addFault(Fault fault, Time now);
    // Clear the faults that match; they are returned.
    std::vector<Fault> clearFaults(const std::function<bool(const Fault &)> &matches, Time now);
    [[nodiscard]] const Faults &faults() const { return faults_; }

    // Change what is cabled to what. Errors, and nothing is changed: EINVAL if a node is
    // not in this process, EBUSY if a port has a cable, ENOENT if it has none, EEXIST if
    // there is a node of that name; the context says so in words.
    [[nodiscard]] io::Result<void> link(PortRef port, PortRef other, Time now);
    [[nodiscard]] io::Result<void> unlink(PortRef port, Time now);
    // An emulated host with one port. Its faults go with it.
    [[nodiscard]] io::Result<void> addHost(const std::string &name, PortRef at, Time now);
    [[nodiscard]] io::Result<void> removeHost(std::size_t index, Time now);

    // Have the port of an emulated host answer for these addresses, besides those it has.
    // Errors: EINVAL if it is no such port, or has as many as it may.
    [[nodiscard]] io::Result<void> addPeer(PortRef port, const AddressRange &addresses, Time now);
    // Errors: ENOENT if there is none.
    [[nodiscard]] io::Result<void> removePeer(PortRef port, Time now);
    // nullptr if there is none.
    [[nodiscard]] const IpoibPeer *ipoibPeer(PortRef port) const
    {
        return seats_[port.node].ends[port.port].ipoibPeer.get();
    }

    [[nodiscard]] const Topology &topology() const { return topology_; }
    // A host's port as the switch's that it is cabled to, if the host is elsewhere.
    [[nodiscard]] PortRef here(PortRef port) const;
    // The other end of a port's cable, as the topology has it.
    [[nodiscard]] std::optional<PortRef> cabledTo(PortRef port) const
    {
        return topology_.nodes[port.node].port(port.port).peer;
    }
    // nullptr for a host elsewhere.
    [[nodiscard]] const Node *node(std::size_t index) const { return seats_[index].node.get(); }
    // The link protocol's end at a port of a node; nullptr if no cable is there.
    [[nodiscard]] const Station *station(PortRef port) const;
    // The cable at a port of a node; nullptr if there is none.
    [[nodiscard]] const Cable *cable(PortRef port) const;

  private:
    static constexpr std::size_t noCable = ~std::size_t{0};

    struct End {
        std::optional<PortRef> peer; // in this process
        std::size_t cable = noCable;
        bool isEnabled = true; // by the SM
        Wire out;
        Wire in; // from a cable
        std::unique_ptr<IpoibPeer> ipoibPeer;
    };
    // A node and its ears.
    struct Seat final : NodeListener {
        Seat(Fabric &owner, std::size_t number) : fabric(owner), index(number) {}
        void outputReady(std::uint8_t port) override { fabric.ready_.push_back({index, port}); }
        void inputReady(std::uint8_t port) override { fabric.refill_.push_back({index, port}); }
        void physWanted(std::uint8_t port, PhysState wanted) override
        {
            fabric.wanted_.emplace_back(PortRef{index, port}, wanted);
        }

        Fabric &fabric;
        std::size_t index;
        std::unique_ptr<Node> node;
        std::vector<End> ends; // [0] unused
        Time deadline = Time::max();
    };
    struct Plug {
        Plug(Cable &way, PortRef port, const Station::Config &config, const Random &random)
            : cable(way), at(port), station(config, random)
        {
        }
        Cable &cable;
        PortRef at;
        Station station;
        std::uint32_t upSession = 0; // 0: the node takes the link for down
        LinkCounters noted{};        // what the node has been told of
    };

    [[nodiscard]] End &end(PortRef port) { return seats_[port.node].ends[port.port]; }
    [[nodiscard]] Node &nodeAt(PortRef port) { return *seats_[port.node].node; }
    [[nodiscard]] bool isOff(PortRef port) const;
    [[nodiscard]] bool isCut(PortRef port) const;
    [[nodiscard]] io::Result<void> checkFree(PortRef port) const;
    void join(PortRef port, PortRef other, Time now);
    void part(PortRef port, PortRef other, Time now);
    void onFaultsChanged(const std::vector<Fault> &faults, Time now);
    void restartNode(std::size_t index, Time now);
    void settle(Time now);
    void train(PortRef port, Time now);
    void setLink(PortRef port, bool isUp, Time now);
    void onPhysWanted(PortRef port, PhysState wanted, Time now);
    void pump(PortRef port, Time now);
    void refill(PortRef port, Time now);
    void noteState(Plug &plug, Time now);
    void noteErrors(Plug &plug, Time now);
    void followCable(Plug &plug, Time now);
    void takeInput(Plug &plug, Time now);
    [[nodiscard]] Time inputDeadline(const Plug &plug) const;
    void fillOutput(Plug &plug, Time now);
    [[nodiscard]] bool sendFrame(Plug &plug, Time now);
    void corrupt(Packet &packet);
    [[nodiscard]] Packet depart(PortRef port, std::uint8_t vl, Time now);
    void arrive(PortRef port, Packet packet, Time now);
    void arriveAt(PortRef port, Wire &wire, std::uint64_t until, Time now);
    void trainCut(const Fault &cut, Time now);
    void clearWires(PortRef port);
    [[nodiscard]] std::optional<Packet> pass(PortRef port, Wire &wire, Packet packet, Time now);
    void onLate(Time now);
    [[nodiscard]] Time lateDeadline(PortRef port) const;
    void touch(PortRef port) { touched_.insert(port.node); }
    void setTimers();

    Topology topology_;
    Random random_;
    Random chance_;
    PacketEar *ear_ = nullptr;
    std::deque<Seat> seats_; // as Topology::nodes
    std::deque<Plug> plugs_;
    Faults faults_;
    std::uint64_t moved_ = 0;    // bytes that have come in by ports
    std::set<PortRef> late_;     // that may have packets on their wires
    std::deque<PortRef> ready_;  // with packets to leave by
    std::deque<PortRef> refill_; // that take packets again
    std::deque<std::pair<PortRef, PhysState>> wanted_;
    std::set<std::size_t> touched_; // nodes whose deadline may have changed
    std::set<std::pair<Time, std::size_t>> timers_;
};

} // namespace openipoib::fabric
