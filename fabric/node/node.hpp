// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A switch, or a channel adapter without a host: packets in at a port, packets
// out at ports, a clock that the caller holds, and no I/O.
//
// What comes in is forwarded by the tables that the SM has written, answered if
// it is a MAD for this node, or dropped and counted. What is to leave waits in
// its port's queues until the caller takes it. A data lane's queue that is too full
// holds back the lanes of input ports that fill it, for a time. Dropped are what VL 15
// has no room for, what waits at the head for longer than PortInfo:HOQLife, copies for a
// group that there is no room for, and what there is no room for if its queue has held others
// back for too long or the caller cannot wait any longer.
#pragma once

#include "link/sender.hpp"
#include "node/packet.hpp"
#include "node/pma.hpp"
#include "node/port.hpp"
#include "node/tables.hpp"
#include "topology/topology.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace openipoib::fabric
{

class IpoibPeer;
class Sma;
enum class LinkTrouble : std::uint8_t;

// What a node tells its surroundings. Called from within the node's methods;
// they must only take note.
class NodeListener
{
  public:
    // A queue of the port has got its first packet.
    virtual void outputReady(std::uint8_t port) = 0;
    // Data packets may come in by a lane of the port again.
    virtual void inputReady(std::uint8_t port) = 0;
    // The SM wants the link to train again (polling) or to stay down (disabled).
    virtual void physWanted(std::uint8_t port, PhysState wanted) = 0;

  protected:
    NodeListener() = default;
    NodeListener(const NodeListener &) = default;
    NodeListener &operator=(const NodeListener &) = default;
    ~NodeListener() = default;
};

class Node
{
  public:
    Node(const TopologyNode &description, NodeListener &listener);
    Node(const Node &) = delete;
    Node &operator=(const Node &) = delete;
    Node(Node &&) = delete;
    Node &operator=(Node &&) = delete;
    ~Node();

    void linkUp(std::uint8_t port, Time now);
    // phys: polling, or disabled.
    void linkDown(std::uint8_t port, PhysState phys, Time now);

    // What the cable's lower layer has found: a frame whose check was wrong, one that the
    // peer had no credit for, a frame whose packets or numbers do not add up; a link that goes down
    // since the peer was silent (before linkDown()).
    enum class CableError : std::uint8_t { broken, overrun, malformed, silent };
    void cableError(std::uint8_t port, CableError error, Time now);

    // A node that is stuck answers no MAD and sends none, and forwards.
    void setStuck(bool isStuck) { isStuck_ = isStuck; }

    // Packets that are no MADs for this node go to a peer at an adapter's port, which
    // answers by the same port. nullptr: there is none. It must outlive the node.
    void setPeer(std::uint8_t port, IpoibPeer *peer, Time now);
    // What a peer has to send leaves, after the caller has given it something to do.
    // vl: the lane that this came by, which is held back while too many answers wait.
    void sendFromPeer(std::uint8_t port, Time now, std::uint8_t vl = vl0);

    // Lanes of which packets may be given to receive() by this port.
    [[nodiscard]] Lanes openLanes(std::uint8_t port) const { return ports_[port].openLanes(); }
    void receive(std::uint8_t port, Packet packet, Time now);
    // What comes in by the port from now on has waited for too long: no lane of it is closed,
    // and full queues drop it. So they do with answers to it.
    void setOverdue(std::uint8_t port, bool isOverdue) { ports_[port].setOverdue(isOverdue); }

    // The lane whose packet leaves next, among those that are open; nullopt if none waits.
    [[nodiscard]] std::optional<std::uint8_t> nextLane(std::uint8_t port,
                                                       Lanes open = allLanes) const
    {
        return ports_[port].queues.next(open);
    }
    // The first packet of a lane that has some.
    [[nodiscard]] const Packet &peek(std::uint8_t port, std::uint8_t vl) const
    {
        return ports_[port].queues[vl].packets.front();
    }
    [[nodiscard]] Packet take(std::uint8_t port, std::uint8_t vl, Time now);

    void onTime(Time now);
    [[nodiscard]] Time deadline() const;

    [[nodiscard]] const TopologyNode &description() const { return description_; }
    [[nodiscard]] bool isSwitch() const { return description_.kind == NodeKind::switchNode; }
    [[nodiscard]] std::uint8_t portCount() const
    {
        return static_cast<std::uint8_t>(ports_.size() - 1);
    }
    [[nodiscard]] Port &port(std::uint8_t number) { return ports_[number]; }
    [[nodiscard]] const Port &port(std::uint8_t number) const { return ports_[number]; }

  private:
    friend class Sma;

    void receiveManagement(std::uint8_t in, Packet packet, const PacketHeaders &headers, Time now);
    void receiveDirected(std::uint8_t in, io::Bytes mad, const ib::Lrh &lrh, Time now);
    // lid: where the answer goes; 0: back the way the request came.
    void answerDirected(std::uint8_t in, io::Bytes mad, const ib::Lrh &lrh, std::uint16_t lid,
                        Time now);
    void answerSmp(std::uint8_t in, Packet packet, const PacketHeaders &headers, Time now);
    void receiveData(std::uint8_t in, Packet packet, const PacketHeaders &headers, Time now);
    // The P_Key for an answer to a packet to queue pair 1; nullopt if that lacks the keys for it.
    [[nodiscard]] std::optional<std::uint16_t> checkKeys(std::uint8_t in, io::View packet,
                                                         const PacketHeaders &headers);
    void answerGmp(std::uint8_t in, Packet packet, const PacketHeaders &headers, Time now);
    // in: 0 for what is made here. from: the lane that waits while there is no room; the one
    // that the packet came by, unless it is said.
    void forwardUnicast(std::uint8_t in, Packet packet, const PacketHeaders &headers, Time now,
                        std::optional<InputLane> from = std::nullopt);
    void forwardMulticast(std::uint8_t in, const Packet &packet, const PacketHeaders &headers,
                          Time now);
    [[nodiscard]] std::optional<Drop> checkInput(const Port &in,
                                                 const PacketHeaders &headers) const;
    [[nodiscard]] std::optional<Drop> checkOutput(std::uint8_t in, const Port &out,
                                                  const PacketHeaders &headers) const;
    void output(std::uint8_t in, std::uint8_t out, Packet packet, const PacketHeaders &headers,
                Time now, std::optional<InputLane> from = std::nullopt);
    void enqueue(InputLane from, Port &out, std::uint8_t vl, Packet packet, Time now);
    void sendSmp(std::uint8_t out, io::View mad, std::uint16_t source, std::uint16_t destination,
                 Time now);
    void sendSmpByLid(std::uint8_t in, io::View mad, std::uint16_t destination, Time now);
    void sendTraps(Time now);
    [[nodiscard]] static Time queuesDeadline(const Port &port);
    void dropLate(Port &port, std::uint8_t vl, Time now);
    void stall(Port &port, std::uint8_t vl, Time until, Time now);
    void endHold(Port &port, std::uint8_t vl, Time now);
    void updatePeer(std::uint8_t port, bool mustRejoin, Time now);
    void giveToPeer(std::uint8_t port, io::View packet, const PacketHeaders &headers, Time now);
    void physicalError(std::uint8_t port, Time now);
    void reportTrouble(std::uint8_t port, LinkTrouble trouble, Time now);
    void release(OutputQueue &queue);
    void flush(Port &port);
    [[nodiscard]] std::uint8_t identityPort(std::uint8_t in) const { return isSwitch() ? 0 : in; }

    TopologyNode description_;
    NodeListener &listener_;
    std::deque<Port> ports_; // [0]: management port of a switch, unused in an adapter
    LinearTable linear_;
    MulticastTable multicast_;
    Attribute switchInfo_{};
    Pma pma_;
    std::unique_ptr<Sma> sma_;
    std::vector<IpoibPeer *> peers_; // by port
    bool isStuck_ = false;
};

} // namespace openipoib::fabric
