// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/openib/kept.hpp"

#include "netlink/device_name.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace openipoib::openib
{

namespace
{

using Json = nlohmann::json;

constexpr unsigned version = 1;
constexpr std::uint64_t maxIndex = std::numeric_limits<int>::max();
constexpr std::uint64_t maxMtu = 65520; // connected mode
constexpr std::uint64_t maxPkey = 0xFFFF;
constexpr std::uint64_t maxNumber = std::numeric_limits<std::uint32_t>::max();

// Takes values out of an object; the first that is wrong is remembered.
class Reader
{
  public:
    Reader(const Json &object, std::string where) : object_(object), where_(std::move(where))
    {
        if (!object_.is_object())
            wrong_ = where_ + " is no object";
    }

    [[nodiscard]] bool has(const char *key) const
    {
        return object_.is_object() && object_.contains(key);
    }
    std::uint64_t number(const char *key, std::uint64_t most)
    {
        const Json *value = find(key);
        if (value && value->is_number_unsigned() && value->get<std::uint64_t>() <= most)
            return value->get<std::uint64_t>();
        return say<std::uint64_t>(key, "is no number that it can be");
    }
    std::uint32_t number(const char *key)
    {
        return static_cast<std::uint32_t>(number(key, maxNumber));
    }
    bool flag(const char *key)
    {
        const Json *value = find(key);
        return value && value->is_boolean() ? value->get<bool>()
                                            : say<bool>(key, "is neither true nor false");
    }
    std::string name(const char *key)
    {
        const Json *value = find(key);
        if (value && value->is_string() &&
            netlink::isDeviceName(value->get_ref<const std::string &>()))
            return value->get<std::string>();
        return say<std::string>(key, "is no name of an interface");
    }
    // An object in this one
    template <typename Function> void within(const char *key, const Function &read)
    {
        const Json *value = find(key);
        if (!value)
            return;
        Reader reader(*value, where_ + "." + key);
        read(reader);
        if (wrong_.empty())
            wrong_ = reader.wrong_;
    }
    [[nodiscard]] const std::string &wrong() const { return wrong_; }

  private:
    [[nodiscard]] const Json *find(const char *key) const
    {
        return has(key) ? &object_.at(key) : nullptr;
    }
    template <typename T> T say(const char *key, const char *what)
    {
        if (wrong_.empty())
            wrong_ = fmt::format("{}.{} {}", where_, key, what);
        return {};
    }

    const Json &object_;
    std::string where_;
    std::string wrong_;
};

void readQueues(Reader &from, Interface &interface)
{
    if (from.has("rings"))
        from.within("rings", [&](Reader &rings) {
            interface.rings = netlink::Rings{rings.number("rx"), rings.number("tx")};
        });
    if (from.has("queues"))
        interface.queues = from.number("queues");
    if (from.has("moderation"))
        from.within("moderation", [&](Reader &moderation) {
            interface.moderation =
                netlink::Moderation{moderation.number("rx-usecs"), moderation.number("rx-frames"),
                                    moderation.number("tx-usecs"), moderation.number("tx-frames"),
                                    moderation.flag("adaptive-rx")};
        });
}

Interface readInterface(Reader &from)
{
    Interface interface;
    interface.name = from.name("name");
    interface.index = static_cast<int>(from.number("index", maxIndex));
    interface.mtu = static_cast<unsigned>(from.number("mtu", maxMtu));
    interface.pkey = static_cast<std::uint16_t>(from.number("pkey", maxPkey));
    if (from.has("parent"))
        interface.parent = from.name("parent");
    if (from.has("connected"))
        interface.connected = from.flag("connected");
    if (from.has("umcast"))
        interface.umcast = from.flag("umcast");
    readQueues(from, interface);
    return interface;
}

Json document(const Interface &interface)
{
    Json out{{"name", interface.name},
             {"index", interface.index},
             {"mtu", interface.mtu},
             {"pkey", interface.pkey}};
    if (!interface.parent.empty())
        out["parent"] = interface.parent;
    if (interface.connected)
        out["connected"] = *interface.connected;
    if (interface.umcast)
        out["umcast"] = *interface.umcast;
    if (const auto &rings = interface.rings)
        out["rings"] = {{"rx", rings->rx}, {"tx", rings->tx}};
    if (interface.queues)
        out["queues"] = *interface.queues;
    if (const auto &moderation = interface.moderation)
        out["moderation"] = {{"rx-usecs", moderation->rxUsecs},
                             {"rx-frames", moderation->rxFrames},
                             {"tx-usecs", moderation->txUsecs},
                             {"tx-frames", moderation->txFrames},
                             {"adaptive-rx", moderation->rxAdaptive}};
    return out;
}

} // namespace

std::string keptText(const Kept &kept)
{
    Json interfaces = Json::array();
    for (const auto &interface : kept)
        if (netlink::isDeviceName(interface.name) &&
            (interface.parent.empty() || netlink::isDeviceName(interface.parent)))
            interfaces.push_back(document(interface));
    return Json{{"version", version}, {"interfaces", std::move(interfaces)}}.dump() + "\n";
}

io::Result<Kept> readKept(std::string_view text)
{
    const Json all = Json::parse(text, nullptr, false);
    if (!all.is_object())
        return io::fail(EBADMSG, "no JSON document");
    if (!all.contains("version") || all.at("version") != version)
        return io::fail(EBADMSG, fmt::format("not of version {}", version));
    if (!all.contains("interfaces") || !all.at("interfaces").is_array())
        return io::fail(EBADMSG, "interfaces is no list");
    Kept kept;
    for (const auto &one : all.at("interfaces")) {
        Reader from(one, fmt::format("interfaces[{}]", kept.size()));
        Interface interface = readInterface(from);
        if (!from.wrong().empty())
            return io::fail(EBADMSG, from.wrong());
        if (std::ranges::find(kept, interface.name, &Interface::name) != kept.end())
            return io::fail(EBADMSG, interface.name + " is there twice");
        kept.push_back(std::move(interface));
    }
    return kept;
}

} // namespace openipoib::openib
