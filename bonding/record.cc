// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "bonding/record.hpp"

#include <nlohmann/json.hpp>

namespace openipoib::bonding
{

namespace
{

using nlohmann::json;

json addressDocument(const netlink::Address &address)
{
    netlink::Address withoutPeer = address;
    withoutPeer.peer.clear();
    return {{"address", withoutPeer.text()},  {"peer", address.peer},
            {"broadcast", address.broadcast}, {"metric", address.metric},
            {"protocol", address.protocol},   {"scope", address.scope},
            {"flags", address.flags},         {"label", address.label},
            {"valid", address.valid},         {"preferred", address.preferred}};
}

netlink::Address readAddress(const json &document)
{
    auto address = netlink::parseAddress(document.at("address").get<std::string>());
    if (!address)
        throw std::invalid_argument("no address");
    // Records of earlier versions have none of these.
    address->peer = document.value("peer", io::Bytes());
    address->broadcast = document.value("broadcast", io::Bytes());
    address->metric = document.value("metric", std::uint32_t{0});
    address->protocol = document.value("protocol", std::uint8_t{0});
    address->scope = document.at("scope").get<std::uint8_t>();
    address->flags = document.at("flags").get<std::uint32_t>();
    address->label = document.at("label").get<std::string>();
    address->valid = document.at("valid").get<std::uint32_t>();
    address->preferred = document.at("preferred").get<std::uint32_t>();
    if (!address->isWhole())
        throw std::invalid_argument("no address");
    return *address;
}

Before readBefore(const json &document)
{
    Before before;
    before.up = document.at("up").get<bool>();
    before.mtu = document.at("mtu").get<unsigned>();
    if (const json &connected = document.at("connected"); !connected.is_null())
        before.connected = connected.get<bool>();
    before.master = document.at("master").get<std::string>();
    for (const json &address : document.at("addresses"))
        before.addresses.push_back(readAddress(address));
    return before;
}

} // namespace

std::string serialise(const Record &record)
{
    json document = json::object();
    for (const auto &[name, before] : record) {
        json addresses = json::array();
        for (const auto &address : before.addresses)
            addresses.push_back(addressDocument(address));
        document[name] = {{"up", before.up},
                          {"mtu", before.mtu},
                          {"connected", nullptr},
                          {"master", before.master},
                          {"addresses", std::move(addresses)}};
        if (before.connected)
            document[name]["connected"] = *before.connected;
    }
    return document.dump(2) + "\n";
}

io::Result<Record> parseRecord(std::string_view text)
try {
    Record record;
    const json document = json::parse(text);
    if (!document.is_object())
        return io::fail(EINVAL, "no record");
    for (const auto &[name, before] : document.items())
        record[name] = readBefore(before);
    return record;
} catch (const std::exception &error) {
    return io::fail(EINVAL, error.what());
}

} // namespace openipoib::bonding
