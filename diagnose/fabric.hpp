// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What ports, the other ends of their cables and subnet managers say when they are asked by
// management datagrams. They are asked only, and nothing is joined or set.
#pragma once

#include "diagnose/facts.hpp"
#include "diagnose/mad_port.hpp"
#include "ib/smp.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace openipoib::diagnose
{

// Where the SA of a port's subnet manager is asked
[[nodiscard]] MadTarget administrationOf(const Port &port);

class Fabric
{
  public:
    // By the ports of these facts, which stay where they are. What cannot be opened is unseen.
    explicit Fabric(Facts &facts);

    void ask(Facts &facts);
    // A second time the counters of the other ends, subnet managers that have said nothing, which
    // may have been taking over, and for groups that were not there: hosts may have been joining.
    void askAgain(Facts &facts);
    // For the path to the peer, whose hardware address is known by now.
    void askPath(Facts &facts);

  private:
    struct Leg {
        std::size_t index; // of the port in the facts
        MadPort port;
        std::uint16_t farLid = 0; // where the counters of the other end can be had
        std::uint8_t farPort = 0;
        bool isMute = false; // the SA has not answered a question, and is asked no further ones
    };
    using Question = std::function<io::Bytes(std::uint64_t transaction)>;

    // To the port itself, or by a route
    struct NearQuestion {
        ib::SmpAttribute attribute{};
        std::uint32_t modifier = 0;
        std::span<const std::uint8_t> route{};
        // Sent once: a port whose M_Key protects all of it counts each as a violation.
        bool isFirst = false;
    };

    std::optional<io::Bytes> near(Leg &leg, const NearQuestion &question, Answer *answer = nullptr);
    // The whole answer; nullopt: none, or it refuses. One that is busy is asked again.
    std::optional<io::Bytes> administration(Leg &leg, const Port &port, const Question &question,
                                            Answer &answer);
    void askFarEnd(Leg &leg, Port &port);
    void sampleFarEnd(Leg &leg, FarEnd &far, Sample sample);
    void askLanes(Leg &leg, Port &port);
    void askManager(Leg &leg, Port &port);
    void askOwner(Leg &leg, Port &port);
    void askSubnet(Leg &leg, Port &port, Facts &facts);
    void askGroupsAgain(Leg &leg, const Port &port, Facts &facts);
    [[nodiscard]] Group askGroup(Leg &leg, const Port &port, const ib::Gid &mgid);

    std::vector<Leg> legs_;
    std::uint32_t transaction_ = 0;
};

} // namespace openipoib::diagnose
