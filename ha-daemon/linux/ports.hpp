// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The ports of the HCAs, by libibverbs: their events come at once, while the
// kernel may take a second to pass a carrier on. Without user-space verbs there
// are no ports here, and rtnetlink is all there is.
#pragma once

#include "io/bytes.hpp"
#include "io/event_loop.hpp"

#include <infiniband/verbs.h>

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace openipoib::ha
{

class Ports
{
  public:
    // @changed is called, before other events are handled, when a port's state may be another.
    Ports(io::EventLoop &events, std::function<void()> changed)
        : events_(events), changed_(std::move(changed))
    {
    }

    // Take new HCAs in, leave out those that are gone, ask for every port's state.
    void refresh();

    // Why the port below an interface with this hardware address does not work; ""
    // if it does, or nothing is known about it.
    [[nodiscard]] std::string whyBad(const io::Bytes &hardware) const;

  private:
    struct Close {
        void operator()(ibv_context *context) const { ibv_close_device(context); }
    };
    struct Port {
        std::uint8_t number = 1;
        io::Bytes guid; // 8 bytes
        std::string why;
    };
    struct Hca {
        std::string name;
        std::uint64_t guid = 0; // of the node
        std::unique_ptr<ibv_context, Close> context;
        io::EventSource source;
        std::vector<Port> ports;
        bool failed = false;
    };

    void open(ibv_device *device);
    static void ask(const Hca &hca, Port &port);
    void receive(Hca &hca);
    static bool take(Hca &hca);

    io::EventLoop &events_;
    std::function<void()> changed_;
    std::list<Hca> hcas_;
};

} // namespace openipoib::ha
