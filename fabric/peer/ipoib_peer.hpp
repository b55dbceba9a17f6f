// SPDX-License-Identifier: GPL-2.0-only OR MIT
// An IPoIB interface at the port of an emulated host, with many addresses: it joins the
// broadcast group, and answers ARP, neighbour solicitations and pings. Packets and time
// go in, packets come out.
//
// Each address has a queue pair number, and so a hardware address, of its own; all have
// the port's GID. A reply goes to the LID and the queue pair that the request came from,
// which is right within a subnet: nothing is kept of those who ask.
#pragma once

#include "node/packet.hpp"
#include "peer/addresses.hpp"
#include "peer/answer.hpp"
#include "peer/counters.hpp"
#include "peer/memberships.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace openipoib::fabric
{

class IpoibPeer
{
  public:
    // What it has to know of its port.
    struct Port {
        bool isActive = false;
        std::uint16_t lid = 0;
        std::uint16_t smLid = 0;
        std::uint8_t smSl = 0;
        ib::Gid gid{};

        bool operator==(const Port &) const = default;
    };

    void add(const AddressRange &range, Time now);
    // After anything that may have changed the port. mustRejoin: the SM has asked for it.
    void onPort(const Port &port, bool mustRejoin, Time now);
    // A packet that has come in by the port, for its LID or for a group.
    void receive(io::View packet, const PacketHeaders &headers, Time now);
    void onTime(Time now) { ask(now); }
    [[nodiscard]] Time deadline() const { return groups_.deadline(); }
    // Packets to leave by the port.
    [[nodiscard]] std::vector<io::Bytes> takeOutput() { return std::exchange(output_, {}); }

    [[nodiscard]] const Addresses &addresses() const { return addresses_; }
    [[nodiscard]] const Memberships &groups() const { return groups_; }
    [[nodiscard]] const PeerCounters &counters() const { return counters_; }

  private:
    // An IPoIB datagram, taken apart.
    struct Datagram {
        std::optional<std::uint32_t> qpn; // destination; nullopt: a group
        std::uint32_t sourceQpn = 0;
        std::uint16_t type = 0;
        io::View packet;
    };

    void ask(Time now);
    [[nodiscard]] bool isAnswerOfSa(io::View packet, const PacketHeaders &headers);
    [[nodiscard]] std::expected<Datagram, PeerDrop> open(io::View packet,
                                                         const PacketHeaders &headers) const;
    [[nodiscard]] PeerAnswer answer(const Datagram &datagram) const;
    void send(const PeerReply &reply, const PacketHeaders &asked, std::uint32_t qpn);

    Port port_;
    Addresses addresses_;
    Memberships groups_;
    PeerCounters counters_;
    std::vector<io::Bytes> output_;
};

} // namespace openipoib::fabric
