// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Rules of nftables (with those that iptables-nft makes) that drop all there is of an interface,
// and those of iptables that stand beside them.
#include "conf/openib/linux_modules.hpp"
#include "diagnose/gather_parts.hpp"
#include "io/file.hpp"
#include "io/process.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
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

// A chain that sees what this host receives or sends
struct Chain {
    std::string device{}; // "": it is of all
    std::string family{}; // as in Drop
    bool dropsRest = false;
    bool isDecided = false; // a rule before has taken something out of it
};

std::optional<Drop> dropIn(const Json &rule, const Chain &chain)
{
    Drop drop{.interface = chain.device, .chain = nameOf(rule), .family = chain.family};
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

// Of several devices: it is not looked at. What a bridge forwards and ARP are none of IP's.
std::optional<Chain> chainIn(const Json &chain)
{
    static const std::set<std::string> hooks{"ingress", "prerouting",  "input",
                                             "output",  "postrouting", "egress"};
    static const std::map<std::string, std::string> families{
        {"ip", "ipv4"}, {"ip6", "ipv6"}, {"inet", ""}, {"netdev", ""}};
    const auto family = families.find(text(chain, "family"));
    if (family == families.end() || text(chain, "type") != "filter" ||
        !hooks.contains(text(chain, "hook")) || member(chain, "dev").is_array())
        return std::nullopt;
    return Chain{.device = text(chain, "dev"),
                 .family = family->second,
                 .dropsRest = text(chain, "policy") == "drop"};
}

// Whether the kernel has taken its chains from their hooks. A single flag is no array.
bool isDormant(const Json &table)
{
    const Json &flags = member(table, "flags");
    const auto isIt = [](const Json &flag) { return flag == "dormant"; };
    return isIt(flags) || (flags.is_array() && std::ranges::any_of(flags, isIt));
}

std::string tableOf(const Json &object, const char *key)
{
    return fmt::format("{} {}", text(object, "family"), text(object, key));
}

} // namespace

std::optional<std::vector<Drop>> dropsIn(std::string_view json)
{
    std::vector<Drop> drops;
    std::map<std::string, Chain> chains;
    std::set<std::string> dormant;
    const Json all = Json::parse(json, nullptr, false);
    const Json &entries = member(all, "nftables");
    if (!entries.is_array())
        return std::nullopt;
    for (const auto &entry : entries) {
        if (const Json &table = member(entry, "table"); isDormant(table))
            dormant.insert(tableOf(table, "name"));
        if (const Json &chain = member(entry, "chain"); chain.is_object())
            if (const auto hooked = chainIn(chain);
                hooked && !dormant.contains(tableOf(chain, "table")))
                chains[nameOf(chain)] = *hooked;
        const Json &rule = member(entry, "rule");
        const auto chain = rule.is_object() ? chains.find(nameOf(rule)) : chains.end();
        if (chain == chains.end())
            continue;
        const auto drop = dropIn(rule, chain->second);
        // What is let through before is not dropped, so that a last rule which drops the rest says
        // nothing by itself.
        if (drop && !chain->second.isDecided)
            drops.push_back(*drop);
        chain->second.isDecided = chain->second.isDecided || !drop;
    }
    for (const auto &[name, chain] : chains)
        if (chain.dropsRest && !chain.isDecided)
            drops.push_back({.interface = chain.device,
                             .chain = name,
                             .family = chain.family,
                             .isPolicy = true});
    return drops;
}

namespace
{

// Asked for its rules, the kernel would load nf_tables, which then has none.
bool hasNftables(const openib::Roots &roots)
{
    return !io::folder(roots.sys + "/module/nf_tables").empty() ||
           openib::Modules().isBuiltIn("nf_tables");
}

void readNftables(Facts &facts)
{
    const io::RunOptions options{.most = longest, .patience = patience};
    const auto listed = io::runProgram({"nft", "-j", "list", "ruleset"}, options);
    const bool isListed = listed && listed->status == 0;
    auto drops = isListed ? dropsIn(listed->output) : std::nullopt;
    if (drops)
        facts.drops = std::move(*drops);
    else
        facts.unseen.push_back(
            {"firewall", isListed  ? "nft: its ruleset is no JSON, or longer than 16 MiB"
                         : !listed ? listed.error().text()
                                   : io::failureOf("nft", *listed).context});
}

} // namespace

void readFirewall(const openib::Roots &roots, Facts &facts)
{
    const io::RunOptions options{.most = longest, .patience = patience};
    if (hasNftables(roots))
        readNftables(facts);
    // The kernel names tables that somebody has made: asked about others, iptables would make them.
    constexpr std::array families{std::pair{"/net/ip_tables_names", "iptables-legacy"},
                                  std::pair{"/net/ip6_tables_names", "ip6tables-legacy"}};
    for (const auto &[names, program] : families) {
        if (io::readLine(roots.proc + names).empty())
            continue;
        const auto saved = io::runProgram({fmt::format("{}-save", program)}, options);
        const bool isSaved = saved && saved->status == 0;
        // Behind what is cut off there may be a rule that lets something through.
        if (isSaved && saved->output.size() < longest)
            std::ranges::copy(dropsInIptables(saved->output, program),
                              std::back_inserter(facts.drops));
        else
            facts.unseen.push_back({fmt::format("rules of {}", program),
                                    isSaved  ? "they are longer than 16 MiB"
                                    : !saved ? saved.error().text()
                                             : io::failureOf(program, *saved).context});
    }
}

} // namespace openipoib::diagnose
