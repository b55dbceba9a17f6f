// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/settings.hpp"

#include "conf/keys.hpp"
#include "conf/nearest.hpp"
#include "conf/values.hpp"
#include "netlink/device_name.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace openipoib::conf
{

namespace
{

// Turns assignments into settings. Each key's last assignment counts, as in a
// shell.
class Reader
{
  public:
    explicit Reader(Scan scan) : scan_(std::move(scan))
    {
        reading_.diagnostics = std::move(scan_.diagnostics);
    }

    Reading run();

  private:
    using Entry = const Assignment *;

    void add(Severity severity, const Assignment &at, std::string what, std::string cure)
    {
        reading_.diagnostics.push_back(
            {severity, at.keyPlace, at.key, std::move(what), std::move(cure)});
    }
    void addValue(const Assignment &at, const Misfit &misfit)
    {
        reading_.diagnostics.push_back(
            {Severity::error, at.valuePlace, at.key, misfit.what, misfit.cure});
    }

    // The value by its parser, or nullopt; what does not fit is reported. An
    // empty value is as good as no line.
    template <typename T>
    std::optional<T> value(const Assignment &at, Parsed<T> (*parse)(std::string_view))
    {
        if (at.value.empty())
            return std::nullopt;
        auto parsed = parse(at.value);
        if (parsed)
            return std::move(*parsed);
        addValue(at, parsed.error());
        return std::nullopt;
    }
    template <typename T>
    std::optional<T> value(std::string_view key, Parsed<T> (*parse)(std::string_view))
    {
        const Entry entry = find(key);
        return entry ? value(*entry, parse) : std::nullopt;
    }
    [[nodiscard]] Entry find(std::string_view key) const
    {
        const auto found = last_.find(key);
        return found == last_.end() ? nullptr : found->second;
    }

    void collect();
    void checkKeys();
    void interfaceKey(const Assignment &at, const DeviceKey &key);
    void unknownKey(const Assignment &at);
    void readSwitches();
    void readOwnQueues();
    template <typename T>
    std::vector<T> haDevices(const Assignment &enabled, std::string_view key,
                             Parsed<std::vector<T>> (*parse)(std::string_view),
                             const char *byDefault);
    void readHa();
    void readBonds();
    std::optional<Bond> readBond(const std::string &name);
    void checkBondKeys();
    void checkSlaves();
    void checkCombinations();

    Scan scan_;
    std::map<std::string_view, Entry, std::less<>> last_;
    std::set<std::string, std::less<>> bondNames_;
    std::map<std::string, std::string, std::less<>> slaveOf_;
    Reading reading_;
};

// Of every key the last assignment.
void Reader::collect()
{
    for (const Assignment &at : scan_.assignments) {
        const auto [slot, isNew] = last_.try_emplace(at.key, &at);
        if (isNew)
            continue;
        const auto before = std::to_string(slot->second->keyPlace.line);
        if (slot->second->value == at.value)
            add(Severity::note, at, "also set in line " + before, "remove one of them");
        else
            add(Severity::warning, at, "also set in line " + before + "; this line counts",
                "remove the other");
        slot->second = &at;
    }
}

// What is to be said about each key alone.
void Reader::checkKeys()
{
    for (const auto &[name, entry] : last_) {
        if (const Key *key = findKey(name)) {
            if (!key->obsolete.empty())
                add(Severity::note, *entry, "obsolete, has no effect", std::string(key->obsolete));
            continue;
        }
        const auto interface = splitDeviceKey(name, DeviceKeyFamily::interface);
        if (!interface.device.empty())
            interfaceKey(*entry, interface);
        else if (splitDeviceKey(name, DeviceKeyFamily::bond).device.empty())
            unknownKey(*entry);
    }
}

void Reader::interfaceKey(const Assignment &at, const DeviceKey &key)
{
    auto &settings = reading_.settings;
    if (!netlink::isDeviceName(key.device)) {
        add(Severity::error, at, "'" + printable(key.device) + "' is no name of an interface",
            "expected " + std::string(key.pattern));
        return;
    }
    if (key.kind == Kind::mode) {
        if (const auto mode = value(at, parseMode))
            settings.modeOf[key.device] = *mode;
    } else if (key.kind == Kind::mtu) {
        if (const auto mtu = value(at, parseMtu))
            settings.mtuOf[key.device] = *mtu;
    } else if (const auto pkeys = value(at, parsePkeys)) {
        settings.childrenOf[key.device] = *pkeys;
    }
}

// A misspelt key must not be passed over: IPOIB_LOD=no would load IPoIB. One
// that may be right belongs to somebody else.
void Reader::unknownKey(const Assignment &at)
{
    std::vector<std::string> possible(keyNames().begin(), keyNames().end());
    for (const auto &bond : bondNames_)
        for (const auto *suffix : {"_IP", "_SLAVES"})
            possible.push_back(bond + suffix);
    const std::vector<std::string_view> words(possible.begin(), possible.end());
    const auto meant = misspelt(at.key, words);
    if (meant)
        add(Severity::error, at, "unknown key", "did you mean " + std::string(*meant) + "?");
    else
        add(Severity::warning, at, "unknown key, has no effect",
            "openib.conf(5) lists the known ones");
}

void Reader::readSwitches()
{
    auto &settings = reading_.settings;
    const auto read = [this](std::string_view key, bool &to) {
        if (const auto set = value(key, parseYesNo))
            to = *set;
    };
    read("ONBOOT", settings.onBoot);
    read("ALLOW_STOP", settings.allowStop);
    read("IPOIB_LOAD", settings.ipoib);
    read("RUN_SYSCTL", settings.runSysctl);
    for (const Key &key : keys()) {
        if (!key.obsolete.empty() || !key.name.ends_with(loadSuffix) || key.name == "IPOIB_LOAD")
            continue;
        if (const auto set = value(key.name, parseYesNo))
            settings.load[std::string(key.name)] = *set;
    }
    settings.nodeDescription = value("NODE_DESC", parseText);
    readOwnQueues();
    settings.mode = value("SET_IPOIB_CM", parseMode);
    settings.mtu = value("IPOIB_MTU", parseMtu);
}

// Here an empty value is one: no HCA is in the list.
void Reader::readOwnQueues()
{
    const Entry at = find("IPOIB_OWN_QUEUES");
    if (at && at->value.empty())
        reading_.settings.ownQueues.emplace();
    else if (at)
        reading_.settings.ownQueues = value(*at, parsePorts);
}

// The interfaces that @key names, or the one that is used without it
template <typename T>
std::vector<T> Reader::haDevices(const Assignment &enabled, std::string_view key,
                                 Parsed<std::vector<T>> (*parse)(std::string_view),
                                 const char *byDefault)
{
    if (auto named = value(key, parse))
        return std::move(*named);
    const Entry entry = find(key);
    if (entry && !entry->value.empty())
        return {};
    if (!entry)
        add(Severity::note, enabled, "no " + std::string(key) + " is set",
            std::string(byDefault) + " is used");
    return *parse(byDefault);
}

void Reader::readHa()
{
    const auto enabled = value("IPOIBHA_ENABLE", parseYesNo);
    Ha ha;
    const auto read = [this](std::string_view key, auto parse, auto &to) {
        if (auto set = value(key, parse))
            to = std::move(*set);
    };
    read("IPOIBHA_FAILBACK", parseFailback, ha.failback);
    read("IPOIBHA_MULTICAST", parseYesNo, ha.multicast);
    read("IPOIBHA_TARGETS", parseTargets, ha.targets);
    read("IPOIBHA_TARGET_INTERVAL", parseInterval, ha.targetInterval);
    read("IPOIBHA_TARGET_MISSES", parseTargetMisses, ha.targetMisses);
    read("IPOIBHA_PROBES", parseProbes, ha.probes);
    read("IPOIBHA_PROBE_INTERVAL", parseInterval, ha.probeInterval);
    read("IPOIBHA_PROBE_MISSES", parseProbeMisses, ha.probeMisses);
    read("IPOIBHA_NOTIFY", parseProgram, ha.notify);
    if (!enabled || !*enabled) {
        value("PRIMARY_IPOIB_DEV", parseDevices);
        value("SECONDARY_IPOIB_DEV", parseDevices);
        return;
    }
    const Assignment &at = *find("IPOIBHA_ENABLE");
    const auto primaries = haDevices(at, "PRIMARY_IPOIB_DEV", parseDevices, "ib0");
    const auto secondaries = haDevices(at, "SECONDARY_IPOIB_DEV", parseSecondaries, "ib1");
    // What is wrong with them has been said.
    if (primaries.empty() || secondaries.empty())
        return;
    if (auto pairs = pairUp(primaries, secondaries)) {
        ha.pairs = std::move(*pairs);
    } else {
        const Entry second = find("SECONDARY_IPOIB_DEV");
        add(Severity::error, second ? *second : at, pairs.error().what, pairs.error().cure);
        return;
    }
    if (const auto checked = checkTargets(ha.targets, ha.pairs); !checked)
        addValue(*find("IPOIBHA_TARGETS"), checked.error());
    if (const auto checked = checkProbes(ha.probes, ha.pairs); !checked)
        addValue(*find("IPOIBHA_PROBES"), checked.error());
    reading_.settings.ha = std::move(ha);
}

void Reader::readBonds()
{
    const auto enabled = value("IPOIBBOND_ENABLE", parseYesNo);
    checkBondKeys();
    if (!enabled || !*enabled)
        return;
    const Assignment &at = *find("IPOIBBOND_ENABLE");
    if (!find("IPOIB_BONDS") || find("IPOIB_BONDS")->value.empty())
        add(Severity::warning, at, "no bond is created, because IPOIB_BONDS is missing",
            "add for example IPOIB_BONDS=bond0");
    for (const auto &name : bondNames_)
        if (auto bond = readBond(name))
            reading_.settings.bonds.push_back(std::move(*bond));
    checkSlaves();
    if (!reading_.settings.ha)
        return;
    add(Severity::warning, at, "bonds are not created, because IPOIBHA_ENABLE=yes",
        "one interface can be in only one of the two: set one of them to no");
    reading_.settings.bonds.clear();
}

// A bond whose address or slaves are missing is left out.
std::optional<Bond> Reader::readBond(const std::string &name)
{
    const Assignment &list = *find("IPOIB_BONDS");
    const auto part = [&](const std::string &suffix, auto parse,
                          const char *example) -> std::optional<std::vector<std::string>> {
        const Entry entry = find(name + suffix);
        if (entry && !entry->value.empty())
            return value(*entry, parse);
        add(Severity::warning, list,
            "'" + printable(name) + "' is not created, because " + printable(name) + suffix +
                " is missing",
            "add for example " + printable(name) + suffix + "=" + example);
        return std::nullopt;
    };
    const auto addresses = part("_IP", parseAddresses, "10.10.10.1");
    const auto slaves = part("_SLAVES", parseDevices, "ib0,ib1");
    if (!addresses || !slaves)
        return std::nullopt;
    return Bond{name, *addresses, *slaves};
}

// Keys of bonds that IPOIB_BONDS does not name.
void Reader::checkBondKeys()
{
    std::vector<std::string_view> known(bondNames_.begin(), bondNames_.end());
    for (const auto &[name, entry] : last_) {
        const auto key = splitDeviceKey(name, DeviceKeyFamily::bond);
        if (key.device.empty() || findKey(name) || bondNames_.contains(key.device) ||
            !splitDeviceKey(name, DeviceKeyFamily::interface).device.empty())
            continue;
        const auto meant = nearest(key.device, known);
        add(Severity::warning, *entry,
            "IPOIB_BONDS does not name '" + printable(key.device) + "', has no effect",
            meant ? "did you mean " + std::string(*meant) + "?" : "add it to IPOIB_BONDS");
    }
}

// An interface can be in one bond only, and a bond in none.
void Reader::checkSlaves()
{
    for (const Bond &bond : reading_.settings.bonds) {
        const Assignment &at = *find(bond.name + "_SLAVES");
        for (const auto &slave : bond.slaves) {
            const auto [slot, isNew] = slaveOf_.try_emplace(slave, bond.name);
            if (!isNew)
                addValue(at, {"'" + printable(slave) + "' is already a slave of " +
                                  printable(slot->second),
                              "an interface can be in one bond only"});
            if (bondNames_.contains(slave))
                addValue(at, {"'" + printable(slave) + "' is itself a bond",
                              "expected IPoIB interfaces"});
        }
    }
}

void Reader::checkCombinations()
{
    const auto &settings = reading_.settings;
    if (const Entry at = find("IPOIB_MTU");
        at && settings.mtu && *settings.mtu > maxDatagramMtu && settings.mode == Mode::datagram)
        add(Severity::note, *at, "too large for datagram mode, which SET_IPOIB_CM=no asks for",
            "interfaces in datagram mode keep the MTU of their partition");
    for (const auto &[interface, mtu] : settings.mtuOf)
        if (mtu > maxDatagramMtu && settings.modeFor(interface) == Mode::datagram)
            add(Severity::warning, *find("IPOIB_MTU_" + interface), "too large for datagram mode",
                "add SET_IPOIB_CM_" + interface + "=yes, or ask for at most 4092");
    if (settings.ipoib)
        return;
    const Assignment &at = *find("IPOIB_LOAD");
    if (settings.ha)
        add(Severity::warning, at, "IPOIBHA_ENABLE=yes has no effect without IPoIB",
            "set IPOIB_LOAD=yes");
    if (!settings.bonds.empty())
        add(Severity::warning, at, "IPOIBBOND_ENABLE=yes has no effect without IPoIB",
            "set IPOIB_LOAD=yes");
    reading_.settings.ha.reset();
    reading_.settings.bonds.clear();
}

Reading Reader::run()
{
    collect();
    if (const auto names = value("IPOIB_BONDS", parseDevices))
        bondNames_.insert(names->begin(), names->end());
    checkKeys();
    readSwitches();
    readHa();
    readBonds();
    checkCombinations();
    std::ranges::stable_sort(reading_.diagnostics, {}, [](const Diagnostic &d) {
        return std::tuple(d.place.line, d.place.column);
    });
    return std::move(reading_);
}

} // namespace

std::string HaPair::secondary() const
{
    std::string all;
    for (const auto &one : secondaries)
        all += (all.empty() ? "" : ":") + one;
    return all;
}

std::vector<std::string> HaPair::interfaces() const
{
    std::vector<std::string> all{primary};
    all.insert(all.end(), secondaries.begin(), secondaries.end());
    return all;
}

bool HaPair::has(std::string_view interface) const
{
    return primary == interface || std::ranges::find(secondaries, interface) != secondaries.end();
}

std::optional<Mode> Settings::modeFor(std::string_view interface) const
{
    const auto own = modeOf.find(interface);
    return own == modeOf.end() ? mode : own->second;
}

std::optional<unsigned> Settings::mtuFor(std::string_view interface) const
{
    const auto own = mtuOf.find(interface);
    return own == mtuOf.end() ? mtu : own->second;
}

bool Settings::wantsOwnQueues(std::string_view hca, unsigned port) const
{
    if (!ownQueues)
        return false;
    const std::string whole(hca);
    return std::ranges::any_of(*ownQueues, [&](const std::string &one) {
        return one == allHcas || one == whole || one == whole + "/" + std::to_string(port);
    });
}

bool Settings::loads(std::string_view key, bool byDefault) const
{
    const auto set = load.find(key);
    return set == load.end() ? byDefault : set->second;
}

Reading readSettings(std::string_view text, const Environment &environment)
{
    return Reader(scan(text, environment)).run();
}

} // namespace openipoib::conf
