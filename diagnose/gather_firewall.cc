// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Rules of nftables (with those that iptables-nft makes) that drop all there is of an interface.
#include "diagnose/gather_parts.hpp"
#include "io/process.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <set>

namespace openipoib::diagnose
{

namespace
{

using Json = nlohmann::json;

constexpr std::size_t longest = 16 << 20;
constexpr std::chrono::seconds patience{2};

// A text member, "" if there is none
std::string text(const Json &object, const char *key)
{
    const auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() && found->is_string()
               ? found->get<std::string>()
               : std::string();
}

const Json &member(const Json &object, const char *key)
{
    static const Json none;
    const auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() ? *found : none;
}

std::string nameOf(const Json &object)
{
    return fmt::format("{} {} {}", text(object, "family"), text(object, "table"),
                       object.contains("chain") ? text(object, "chain") : text(object, "name"));
}

// What a rule's statement narrows it to. False: to something that is not looked at here.
bool takeMatch(const Json &match, Drop &drop)
{
    static const std::set<std::string> interfaceKeys{"iif", "iifname", "oif", "oifname"};
    const Json &left = member(match, "left");
    const Json &right = member(match, "right");
    if (text(match, "op") != "==" || !right.is_string())
        return false;
    if (interfaceKeys.contains(text(member(left, "meta"), "key")) && drop.interface.empty()) {
        drop.interface = right.get<std::string>();
        return true;
    }
    const std::string field = text(member(left, "payload"), "field");
    const std::string protocol = text(member(left, "payload"), "protocol");
    if ((protocol == "ip" || protocol == "ip6") && (field == "saddr" || field == "daddr") &&
        drop.address.empty()) {
        drop.address = right.get<std::string>();
        return true;
    }
    return false;
}

std::optional<Drop> dropIn(const Json &rule)
{
    Drop drop{.interface = {}, .address = {}, .chain = nameOf(rule)};
    for (const auto &statement : member(rule, "expr")) {
        if (!statement.is_object())
            return std::nullopt;
        if (statement.contains("drop") || statement.contains("reject"))
            return drop;
        if (statement.contains("counter") || statement.contains("log"))
            continue;
        if (!statement.contains("match") || !takeMatch(member(statement, "match"), drop))
            return std::nullopt;
    }
    return std::nullopt;
}

// Whether a chain sees what this host receives or sends
bool isHooked(const Json &chain)
{
    static const std::set<std::string> hooks{"ingress", "prerouting",  "input",
                                             "output",  "postrouting", "egress"};
    return text(chain, "type") == "filter" && hooks.contains(text(chain, "hook"));
}

} // namespace

std::vector<Drop> dropsIn(std::string_view json)
{
    std::vector<Drop> drops;
    std::set<std::string> chains;
    std::set<std::string> decided; // a rule before has taken something out of it
    const Json all = Json::parse(json, nullptr, false);
    for (const auto &entry : member(all, "nftables")) {
        if (const Json &chain = member(entry, "chain"); isHooked(chain)) {
            chains.insert(nameOf(chain));
            if (!text(chain, "dev").empty())
                continue;
        }
        const Json &rule = member(entry, "rule");
        if (!rule.is_object() || !chains.contains(nameOf(rule)))
            continue;
        const auto drop = dropIn(rule);
        // What is let through before is not dropped, so that a last rule which drops the rest says
        // nothing by itself.
        if (drop && !decided.contains(drop->chain))
            drops.push_back(*drop);
        if (!drop)
            decided.insert(nameOf(rule));
    }
    return drops;
}

void readFirewall(Facts &facts)
{
    const auto listed =
        io::runProgram({"nft", "-j", "list", "ruleset"}, {.most = longest, .patience = patience});
    if (listed && listed->status == 0) {
        facts.drops = dropsIn(listed->output);
        return;
    }
    const std::string why = !listed ? listed.error().text() : io::failureOf("nft", *listed).context;
    facts.unseen.push_back({"firewall", why});
}

} // namespace openipoib::diagnose
