// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What is asked of a running fabric, and the answers: JSON documents, without I/O.
//
//   {"command": "status"}                       nodes, ports, links, faults
//   {"command": "counters", "at": "sw1:3"}      or of all ports, without "at"
//   {"command": "fault", "kind": "drop", "at": "sw1:3", "fraction": 0.1,
//    "packets": ["ud"], "for_ms": 5000}         see docs/ibfabric.md
//   {"command": "fault", "kind": "cut", "nodes": ["sw1", "h1"]}
//   {"command": "clear", "id": 3}               or "kind" and "at", or none: all
//   {"command": "link", "at": "sw1:5", "peer": "sw2:5"}
//   {"command": "unlink", "at": "sw1:5"}
//   {"command": "add-host", "name": "h9", "at": "sw1:6"}   emulated
//   {"command": "remove-host", "name": "h9"}
//   {"command": "add-peer", "at": "h9:1", "addresses": "10.0.0.1-10.0.39.16"}
//   {"command": "remove-peer", "at": "h9:1"}
//   {"command": "capture", "at": "h1:1", "count": 100}
//
// An answer has a "result" or an "error"; an error has changed nothing.
#pragma once

#include "core/fabric.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace openipoib::fabric
{

class Control
{
  public:
    explicit Control(Fabric &fabric) : fabric_(fabric) {}
    // What is to follow the answer on the same connection: the packets of a port.
    struct Capture {
        PortRef at;
        std::uint64_t count = 0; // 0: no end
    };

    // One document for another, whatever the request is.
    [[nodiscard]] std::string answer(std::string_view request, Time now);
    // What the last answer has promised.
    [[nodiscard]] std::optional<Capture> takeCapture() { return std::exchange(capture_, {}); }

  private:
    std::optional<Capture> capture_;
    Fabric &fabric_;
};

} // namespace openipoib::fabric
