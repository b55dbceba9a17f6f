// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A port of a node: PortInfo with its state machine, the tables the SM keeps in
// it, counters, and the packets that wait to leave by it.
#pragma once

#include "link/sender.hpp"
#include "node/counters.hpp"
#include "node/fields.hpp"
#include "node/output_queues.hpp"
#include "topology/topology.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace openipoib::fabric
{

enum class PortState : std::uint8_t { noChange, down, init, armed, active };
enum class PhysState : std::uint8_t { noChange, sleep, polling, disabled, training, linkUp };

class Port
{
  public:
    static constexpr std::size_t pkeyCapacity = 64;
    static constexpr std::size_t guidCapacity = 8;

    struct Identity {
        std::uint8_t number = 0;
        NodeKind kind = NodeKind::switchNode;
        std::uint64_t guid = 0;
        std::uint8_t width = 4;
        Speed speed = Speed::qdr;
    };

    explicit Port(const Identity &identity);

    // PortInfo (IBA volume 1, 14.2.5.6).
    [[nodiscard]] Attribute portInfo() const;
    // What a Set leaves to be done to the link.
    struct SetResult {
        bool isValid = false;
        PhysState phys = PhysState::noChange;
        bool stateChanged = false;
        bool mustRejoin = false; // clients of the SA are to register again
    };
    [[nodiscard]] SetResult setPortInfo(const Attribute &wanted);

    void linkUp();
    void linkDown(PhysState phys);
    // What the cable and its lower layer allow: PortInfo's MTU code.
    void limitMtu(std::uint8_t code);

    [[nodiscard]] PortState state() const { return state_; }
    void activate() { state_ = PortState::active; }
    // Whether data packets may come in, and go out (IBA volume 1, 7.2.7).
    [[nodiscard]] bool takesData() const
    {
        return state_ == PortState::armed || state_ == PortState::active;
    }
    [[nodiscard]] bool sendsData() const { return state_ == PortState::active; }
    [[nodiscard]] PhysState phys() const { return phys_; }
    [[nodiscard]] bool isManagement() const
    {
        return identity_.kind == NodeKind::switchNode && identity_.number == 0;
    }
    [[nodiscard]] bool hasIdentity() const // LIDs, M_Key and so on are of this port
    {
        return identity_.kind == NodeKind::channelAdapter || identity_.number == 0;
    }
    [[nodiscard]] const Identity &identity() const { return identity_; }

    [[nodiscard]] std::uint16_t lid() const { return lid_; }
    [[nodiscard]] bool isOwnLid(std::uint16_t lid) const
    {
        return lid_ != 0 && (lid & ~((1U << lmc_) - 1)) == lid_;
    }
    [[nodiscard]] std::uint32_t info(MAD_FIELDS field) const { return getField(info_, field); }
    [[nodiscard]] std::uint64_t info64(MAD_FIELDS field) const { return getField64(info_, field); }
    void countViolation(MAD_FIELDS field);
    // Packets come broken, or well. True if those that were broken exceed the others by
    // more than PortInfo:LocalPhyErrors (IBA volume 1, 7.12.2); then the count begins at 0.
    [[nodiscard]] bool notePhysical(bool isBroken);
    // The peer has sent more than it may. True if it did so in more periods in a row than
    // PortInfo:OverrunErrors says.
    [[nodiscard]] bool noteOverrun(Time now);
    void setInfo(MAD_FIELDS field, std::uint32_t value) { setField(info_, field, value); }

    // The data path's view.
    [[nodiscard]] std::size_t mtu() const { return mtu_; }
    // Whether OperationalVLs has this data lane.
    [[nodiscard]] bool hasLane(std::uint8_t vl) const { return vl < lanes_; }
    // Whether a switch passes it on here.
    [[nodiscard]] bool allowsPkey(std::uint16_t pkey) const;
    // The port's own P_Key, by which it takes a packet with this one: one of the two at least
    // is a full member's (IBA volume 1, 10.9.3). nullopt: it takes none.
    [[nodiscard]] std::optional<std::uint16_t> matchPkey(std::uint16_t pkey) const;
    // How long a packet may be at the head of a queue; nullopt: for ever.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> headLife() const;

    // VL of packets that leave here, by the port they came in by and SL (IBA volume 1,
    // 7.6.6). What the SM has not written is VL 0.
    using SlMap = std::array<std::uint8_t, 16>;
    [[nodiscard]] std::uint8_t slToVl(std::uint8_t in, std::uint8_t sl) const
    {
        return in < slToVl_.size() ? slToVl_[in][sl] : 0;
    }
    void setSlToVl(std::uint8_t in, const SlMap &map)
    {
        if (slToVl_.size() <= in)
            slToVl_.resize(in + 1U);
        slToVl_[in] = map;
    }

    std::vector<std::uint16_t> pkeys;
    std::array<Attribute, 4> vlArbitration{};
    std::array<std::uint64_t, guidCapacity> guids{};
    PortCounters counters;
    OutputQueues queues;

    // Lanes by which packets may come in; each is closed as long as a queue holds it back,
    // unless they are overdue.
    [[nodiscard]] Lanes openLanes() const { return isOverdue_ ? allLanes : open_; }
    [[nodiscard]] bool isOverdue() const { return isOverdue_; }
    void setOverdue(bool isOverdue) { isOverdue_ = isOverdue; }
    void holdBack(std::uint8_t vl)
    {
        ++heldBackBy_[vl];
        open_.reset(vl);
    }
    // Whether it is open now.
    [[nodiscard]] bool letGo(std::uint8_t vl)
    {
        if (--heldBackBy_[vl] == 0)
            open_.set(vl);
        return open_[vl];
    }

  private:
    [[nodiscard]] bool isValid(const Attribute &wanted) const;
    [[nodiscard]] bool isStateValid(const Attribute &wanted) const;
    void copyIdentity(const Attribute &wanted);
    void copyLink(const Attribute &wanted);
    void refresh();

    Identity identity_;
    Attribute info_{};
    PortState state_ = PortState::down;
    PhysState phys_ = PhysState::polling;
    std::uint16_t lid_ = 0;
    std::uint8_t lmc_ = 0;
    std::size_t mtu_ = 256;
    unsigned lanes_ = 1;
    std::uint32_t physicalErrors_ = 0; // beyond what good packets have made up for
    std::uint32_t overrunPeriods_ = 0; // in a row
    Time overrunAt_{};                 // when the last of them began
    std::vector<SlMap> slToVl_;        // by input port
    Lanes open_ = allLanes;
    bool isOverdue_ = false;
    std::array<unsigned, dataLanes> heldBackBy_{}; // queues that hold a lane back
};

} // namespace openipoib::fabric
