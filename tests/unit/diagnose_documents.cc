// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Documents as openib diagnose prints them, one a line, {"name": ..., "document": ...}, of hosts in
// as many states as there are members to see. For check-schema.
#include "diagnose/report.hpp"
#include "diagnose_world.hpp"

#include <nlohmann/json.hpp>

#include <iostream>

namespace openipoib::diagnose
{
namespace
{

void print(const char *name, const Facts &facts)
{
    const auto document = documentOf(facts, diagnose(facts));
    std::cout << nlohmann::ordered_json{{"name", name}, {"document", document}}.dump() << '\n';
}

void printAll()
{
    World healthy;
    healthy.addPeer();
    print("a healthy host and a peer", healthy.facts);
    World wrong;
    wrong.first().smLid = 0;
    wrong.first().shown.lid = 0;
    wrong.ib0().link.mtu = 2044;
    wrong.ib0().pkey.reset();
    wrong.facts.unseen = {{"firewall", "nft: Operation not permitted"}};
    wrong.addPeer().interface.clear();
    print("one without a subnet manager, and a peer without a route", wrong.facts);
    World unasked;
    unasked.first().manager = {};
    unasked.first().lids.reset();
    unasked.ib0().hca.clear();
    print("one whose subnet manager was not asked", unasked.facts);
    print("a machine without anything", Facts());
}

} // namespace
} // namespace openipoib::diagnose

int main()
{
    openipoib::diagnose::printAll();
}
