// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Many IPoIB interfaces in connected mode (RFC 4755) at one port. Packets and time go in,
// packets come out.
//
// Each address has a queue pair number, and so a hardware address, of its own. ARP is
// answered as it was asked; a ping only through a connection, and by one: who is asked
// through the connection of another makes its own to that one.
#pragma once

#include "ib/ipoib.hpp"
#include "node/packet.hpp"
#include "peer/addresses.hpp"
#include "peers/cm.hpp"
#include "peers/reliable.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace openipoib::peers
{

class Crowd
{
  public:
    // What it has to know of its port.
    struct Port {
        std::uint16_t lid = 0;
        ib::Gid gid{};
        std::uint64_t guid = 0;
    };

    struct Count {
        std::size_t in = 0;  // connections
        std::size_t out = 0; //
        std::uint64_t echoes = 0;
    };

    // Queue pairs of connections are numbered from the first on.
    Crowd(const fabric::AddressRange &range, std::uint32_t firstQpn);

    void onPort(const Port &port) { port_ = port; }
    void receive(io::View packet, Time now);
    void onTime(Time now);
    // As if all had restarted: connections are gone, and nobody is told.
    void forget();
    // Ask whoever has asked for a connection last for so many, each for an interface that there is
    // not, and whose queue pair nobody has had. Answers are ignored.
    void flood(std::uint32_t count);
    [[nodiscard]] std::vector<io::Bytes> takeOutput() { return std::exchange(output_, {}); }
    [[nodiscard]] Count count() const;

  private:
    // Of whoever has asked.
    struct Remote {
        std::uint16_t lid = 0;
        ib::HardwareAddress address;
    };

    struct Connection {
        bool isUp = false;
        std::uint32_t own = 0;       // its QPN, and its communication ID
        std::uint32_t peer = 0;      // QPN of the crowd's member
        std::uint32_t remoteQpn = 0; // of the connection
        Remote remote;
        CmMessage sent; // REQ of an outgoing one, REP of an incoming one
        Receiver receiver;
        Sender sender{};
        unsigned asked = 0; // so often has the REQ been sent
        Time askAt{};

        [[nodiscard]] bool isOutgoing() const { return sent.type == CmType::req; }
    };

    // Member and QPN of the other interface
    using Pair = std::pair<std::uint32_t, std::uint32_t>;

    [[nodiscard]] io::View payloadOf(io::View packet, const fabric::PacketHeaders &headers) const;
    void receiveMad(io::View payload, std::uint16_t lid);
    void receiveDatagram(io::View payload, const fabric::PacketHeaders &headers);
    void receiveConnected(io::View payload, const ib::Bth &bth, Time now);
    void onMessage(const Connection &connection, io::View message);

    void onReq(const CmMessage &req, std::uint16_t lid);
    void onRep(const CmMessage &rep);
    [[nodiscard]] Connection *find(std::uint32_t own);
    void erase(const Connection &connection);
    [[nodiscard]] Connection &outgoing(std::uint32_t peer, const Remote &remote);
    [[nodiscard]] CmMessage reqTo(const Remote &remote, std::uint32_t own,
                                  std::uint32_t peer) const;
    [[nodiscard]] std::uint32_t newQpn();

    void send(std::uint16_t lid, const CmMessage &message);
    void send(const Connection &connection, const Acknowledgement &answer);
    void send(const Connection &connection, const Sender::Packet &packet);

    fabric::Addresses addresses_;
    Port port_;
    std::uint32_t lastQpn_;
    std::map<std::uint32_t, Connection> connections_; // by own QPN
    std::map<Pair, std::uint32_t> in_;                // own QPN
    std::map<Pair, std::uint32_t> out_;               //
    std::optional<Remote> lastAsked_;
    std::uint32_t floods_ = 0; // requests
    std::uint64_t echoes_ = 0;
    std::vector<io::Bytes> output_;
};

} // namespace openipoib::peers
