// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a pair is told, and what it wants done.
#pragma once

#include "ha-daemon/core/health.hpp"
#include "ha-daemon/core/step.hpp"
#include "ha-daemon/core/view.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace openipoib::ha
{

// Everything, read again. The pair itself is the first lane.
struct Seen {
    std::vector<Lane> lanes;
    bool lost = false; // messages were lost since the last time
};

// One interface of the pair itself, by a message of its own: early, perhaps
// late, perhaps twice, perhaps never.
struct LinkChanged {
    Side side = Side::primary;
    int index = 0; // 0: it is gone
    bool up = false;
    bool carrier = false;
};

// The port below an interface, by an event of its HCA.
struct PortChanged {
    Side side = Side::primary;
    std::string why; // why it does not work; "": it does
};

// Who has answered by an interface
enum class Met {
    nobody,   // as far as is known
    standbys, // ports of peers, but none that has the identity of its host
    somebody
};

// What lies behind a port, by questions that others should answer.
struct ReachChanged {
    Side side = Side::primary;
    std::string why; // why nobody is reached by it; "": somebody is, or it is not known
    Met met = Met::nobody;
};

struct Outcome {
    Step step;
    int error = 0; // errno
    std::string words;
};

// The answer to a Batch.
struct BatchDone {
    std::vector<Outcome> outcomes;
};

// The answer to an Announce.
struct Announced {
};

// The answer to a Notify: whoever wanted to know has been told.
struct Notified {
};

struct Tick {
};

// By hand: the other interface, please.
struct SwitchAsked {
};

// While nothing is under way: another interface takes the place of the one that stands by.
struct StandbyReplaced {
    std::map<std::uint16_t, Interface> by; // for each lane
    Health health;
    std::string port;  // as PortChanged
    std::string reach; // as ReachChanged
    std::string cause;
};

using Event = std::variant<Seen, LinkChanged, PortChanged, ReachChanged, BatchDone, Announced,
                           Notified, Tick, SwitchAsked, StandbyReplaced>;

// Keep the journal.
struct Save {
};

// Change the kernel, in this order, at once. A step that fails does not keep the
// next from being tried.
struct Batch {
    Steps steps;
    bool urgent = false; // peers wait for it; the rest may take its time
};

// Tell the peers where these addresses are now.
struct Announce {
    struct To {
        std::string interface;
        int index = 0;
        bool router = false; // as IPv6 has it
        Items addresses;
    };
    std::vector<To> to;
};

// Read everything again.
struct Look {
};

// The identity has moved: tell who wants to know.
struct Notify {
    std::string active;
    std::string standby;
    std::string cause;
    Time took{};            // since the kernel spoke; 0: not known, another daemon began it
    std::size_t failed = 0; // changes
};

enum class Severity { debug, info, notice, warning };

// What a text tells of; all that programs may look for has one of its own.
enum class Topic {
    other,
    started,    // which interface has the identity
    failed,     // an interface, or its port
    works,      // it does again
    moving,     // the identity, to the other interface
    moved,      // it is there
    stays,      // on an interface that has failed
    unswitched, // by hand
    replaced,   // the standby, by another interface
    managed,    // an interface, by somebody else as well
    refused,    // a change, by the kernel
};

// Names are those of fields of systemd's journal.
using Facts = std::vector<std::pair<std::string, std::string>>;

struct Say {
    Severity severity = Severity::info;
    std::string text;
    Topic topic = Topic::other;
    Facts facts{};
};

using Action = std::variant<Save, Batch, Announce, Look, Notify, Say>;
using Actions = std::vector<Action>;

} // namespace openipoib::ha
