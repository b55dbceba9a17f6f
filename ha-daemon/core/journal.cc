// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/journal.hpp"

#include <nlohmann/json.hpp>

namespace openipoib::ha
{

namespace
{

using nlohmann::json;

constexpr unsigned format = 1;
constexpr int kinds = static_cast<int>(Kind::peer);

json toJson(const Item &item)
{
    return {{"kind", static_cast<int>(item.kind)},
            {"key", item.key},
            {"body", item.body},
            {"valid", item.valid},
            {"preferred", item.preferred},
            {"seen", item.seen.count()}};
}

Item itemOf(const json &from)
{
    const int kind = from.at("kind").get<int>();
    if (kind < 0 || kind >= kinds)
        throw json::other_error::create(500, "no such kind of item", &from);
    Item item;
    item.kind = static_cast<Kind>(kind);
    item.key = from.at("key").get<std::string>();
    item.body = from.at("body").get<io::Bytes>();
    item.valid = from.at("valid").get<std::uint32_t>();
    item.preferred = from.at("preferred").get<std::uint32_t>();
    item.seen = Time(from.at("seen").get<Time::rep>());
    return item;
}

json toJson(const Items &items)
{
    json out = json::array();
    for (const auto &item : items)
        out.push_back(toJson(item));
    return out;
}

Items itemsOf(const json &from)
{
    Items items;
    for (const auto &one : from)
        items.push_back(itemOf(one));
    return items;
}

} // namespace

std::string writeJournal(const Journal &journal)
{
    json lanes = json::array();
    for (const auto &entry : journal.lanes) {
        lanes.push_back({{"child", entry.child},
                         {"primary", entry.index[Side::primary]},
                         {"secondary", entry.index[Side::secondary]},
                         {"identity", toJson(entry.identity)},
                         {"own", toJson(entry.own)}});
    }
    json all = {{"format", format},
                {"active", journal.active == Side::primary ? "primary" : "secondary"},
                {"clean", journal.clean},
                {"moves", journal.moves},
                {"cause", journal.cause},
                {"guards", journal.guards},
                {"lanes", std::move(lanes)}};
    if (!journal.names[Side::primary].empty())
        all["names"] = journal.names.values;
    return all.dump() + "\n";
}

io::Result<Journal> readJournal(const std::string &text)
try {
    const json all = json::parse(text);
    if (all.at("format").get<unsigned>() != format)
        return io::fail(EBADMSG, "journal of another version");
    Journal journal;
    const auto active = all.at("active").get<std::string>();
    if (active != "primary" && active != "secondary")
        return io::fail(EBADMSG, "journal: active is '" + active + "'");
    journal.active = active == "primary" ? Side::primary : Side::secondary;
    journal.clean = all.at("clean").get<bool>();
    journal.moves = all.at("moves").get<std::uint64_t>();
    journal.cause = all.value("cause", "");
    journal.guards = all.value("guards", Journal::Guards());
    journal.names.values = all.value("names", decltype(journal.names.values)());
    for (const auto &from : all.at("lanes")) {
        Journal::Entry entry;
        entry.child = from.at("child").get<std::uint16_t>();
        entry.index[Side::primary] = from.at("primary").get<int>();
        entry.index[Side::secondary] = from.at("secondary").get<int>();
        entry.identity = itemsOf(from.at("identity"));
        entry.own = itemsOf(from.value("own", json::array()));
        journal.lanes.push_back(std::move(entry));
    }
    return journal;
} catch (const json::exception &error) {
    return io::fail(EBADMSG, error.what());
}

} // namespace openipoib::ha
