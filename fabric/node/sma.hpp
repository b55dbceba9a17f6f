// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The subnet management agent of a node (IBA volume 1, chapter 14): attributes,
// the M_Key, and traps 128 (a port changed), 129 to 131 (what is wrong with a link),
// 256 (M_Key) and 259 (P_Key at a switch port).
#pragma once

#include "link/sender.hpp"
#include "node/fields.hpp"
#include "node/packet.hpp"

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>

namespace openipoib::fabric
{

class Node;
class Port;

// What a switch reports of a link of its: trap 129, LocalPhyErrors exceeded; 130,
// OverrunErrors exceeded; 131, the peer has been silent.
enum class LinkTrouble : std::uint8_t { integrity, overrun, watchdog, count };

class Sma
{
  public:
    explicit Sma(Node &node);

    // Where a MAD has come in, and its LRH:SLID.
    struct Origin {
        std::uint8_t port = 0;
        std::uint16_t lid = 0;
    };
    // Turn a request into its response; false if there is none to give.
    [[nodiscard]] bool answer(std::span<std::uint8_t> mad, const Origin &from, Time now);

    // Events that the SM is to hear of.
    void portChanged(Time now);
    void linkTrouble(std::uint8_t port, LinkTrouble trouble, Time now);
    void badPkey(std::uint8_t port, io::View packet, const PacketHeaders &headers, Time now);

    // A trap that is due, as a MAD; ask until there is none.
    [[nodiscard]] std::optional<io::Bytes> nextTrap(Time now);
    void onTime(Time now); // ends the lease of the M_Key
    [[nodiscard]] Time deadline() const;

  private:
    // Those of LinkTrouble come first, in its order.
    enum class Slot : std::uint8_t { integrity, overrun, watchdog, change, mkey, pkey, count };
    struct Trap {
        io::Bytes mad;
        unsigned left = 0; // times to be sent
        Time at{};
    };

    // What a request is about.
    struct Request {
        std::uint16_t attribute;
        std::uint32_t modifier;
        bool isSet;
        std::uint8_t entry;
        Time now;
    };

    [[nodiscard]] bool checkMkey(io::View mad, const Origin &from, bool &isHidden, Time now);
    [[nodiscard]] MadStatus access(const Request &request, Attribute &data);
    [[nodiscard]] MadStatus switchAccess(const Request &request, Attribute &data);
    void nodeInfo(const Request &request, Attribute &data) const;
    void nodeDescription(Attribute &data) const;
    [[nodiscard]] MadStatus switchInfo(const Request &request, Attribute &data);
    [[nodiscard]] MadStatus portInfo(const Request &request, Attribute &data);
    [[nodiscard]] MadStatus extendedPortInfo(const Request &request, Attribute &data);
    [[nodiscard]] MadStatus pkeyTable(const Request &request, Attribute &data);
    [[nodiscard]] MadStatus guidInfo(const Request &request, Attribute &data);
    [[nodiscard]] MadStatus slToVl(const Request &request, Attribute &data);
    [[nodiscard]] MadStatus vlArbitration(const Request &request, Attribute &data);
    // The port that a modifier means; nullptr if there is none.
    [[nodiscard]] Port *find(std::uint32_t number, const Request &request);
    // The port that holds LID, M_Key and SM LID for packets from a port.
    [[nodiscard]] Port &identity(std::uint8_t entry);
    [[nodiscard]] const Port &trapPort() const;
    void badMkey(io::View mad, std::uint16_t lid, Time now);
    void repress(io::View mad);
    void reportTrouble(Time now);
    [[nodiscard]] bool hasManager() const; // that traps can be sent to
    // A notice to be filled in; nullptr if there is no SM, or that trap is under way.
    Trap *begin(Slot slot, std::uint8_t type, std::uint16_t number, Time now);

    Node &node_;
    std::array<Trap, static_cast<std::size_t>(Slot::count)> traps_;
    // Ports that wait until the trap of another is repressed or given up.
    std::array<std::bitset<256>, static_cast<std::size_t>(LinkTrouble::count)> troubles_;
    std::uint64_t transaction_ = 0;
    std::optional<Time> leaseEnd_;
    std::uint8_t leasePort_ = 0;
};

} // namespace openipoib::fabric
