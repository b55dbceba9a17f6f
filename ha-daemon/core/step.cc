// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/step.hpp"

namespace openipoib::ha
{

namespace
{

std::string kindText(Kind kind)
{
    switch (kind) {
    case Kind::address4:
    case Kind::address6:
        return "address";
    case Kind::rule:
        return "rule";
    case Kind::route4:
    case Kind::route6:
        return "route";
    case Kind::neighbour:
        return "neighbour";
    case Kind::peer:
        return "peer";
    case Kind::standIn:
        return "stand-in";
    }
    return "?";
}

} // namespace

std::string StepKey::text() const
{
    switch (act) {
    case Act::put:
        return interface + ": add " + kindText(kind) + " " + item;
    case Act::drop:
        return interface + ": remove " + kindText(kind) + " " + item;
    case Act::up:
        return interface + ": set up";
    case Act::mode:
        return interface + ": mode " + value;
    case Act::mtu:
        return interface + ": MTU " + value;
    case Act::setting:
        return interface + ": " + name + " " + value;
    case Act::turn:
        return interface + ": turn away";
    case Act::wake:
        return interface + ": wake";
    }
    return "?";
}

} // namespace openipoib::ha
