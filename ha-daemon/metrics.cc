// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/metrics.hpp"

#include "ha-daemon/document.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <vector>

namespace openipoib::ha
{

namespace
{

using nlohmann::json;

// Whatever a name has in it
std::string quoted(const std::string &value)
{
    std::string out;
    for (const char one : value) {
        if (one == '\\' || one == '"' || one == '\n')
            out += '\\';
        out += one == '\n' ? 'n' : one;
    }
    return "\"" + out + "\"";
}

// Samples of one name, which have to stand together
struct Family {
    std::string name;
    const char *type;
    const char *help;
    std::string samples;

    void add(const std::string &labels, double value)
    {
        samples += fmt::format("{}{{{}}} {}\n", name, labels, value);
    }
};

std::string familyText(const Family &one)
{
    return one.samples.empty() ? ""
                               : fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3}", one.name,
                                             one.help, one.type, one.samples);
}

std::string upText(bool up)
{
    return familyText({"ipoib_ha_up", "gauge", "Whether the daemon runs and answers.",
                       fmt::format("ipoib_ha_up {}\n", static_cast<int>(up))});
}

struct Page {
    Family active{"ipoib_ha_active", "gauge", "Whether the interface has the identity.", {}};
    Family works{"ipoib_ha_works", "gauge", "Whether the interface and its port work.", {}};
    Family spare{"ipoib_ha_spare",
                 "gauge",
                 "Whether the interface is spare: neither has the identity nor stands by.",
                 {}};
    Family healthy{"ipoib_ha_healthy",
                   "gauge",
                   "Whether all interfaces work, the standby is fit, and no change fails.",
                   {}};
    Family standbyFit{
        "ipoib_ha_standby_fit", "gauge", "Whether the standby lacks nothing to take over.", {}};
    Family failing{"ipoib_ha_failing_changes", "gauge", "Changes that the kernel refuses.", {}};
    Family addresses{"ipoib_ha_addresses", "gauge", "Addresses of the identity.", {}};
    Family moves{"ipoib_ha_moves_total", "counter", "Failovers, and moves by hand.", {}};
    Family last{"ipoib_ha_last_move_timestamp_seconds",
                "gauge",
                "When the last failover began, since the epoch.",
                {}};
    Family took{"ipoib_ha_last_move_duration_seconds",
                "gauge",
                "From its event until the identity was on the other interface.",
                {}};

    Family sessionUp{"ipoib_ha_bfd_session_up", "gauge", "Whether the BFD session is up.", {}};
    Family missed{"ipoib_ha_bfd_missed_packets_total",
                  "counter",
                  "Packets of a session that did not come in their time.",
                  {}};
    Family downs{
        "ipoib_ha_bfd_session_downs_total", "counter", "How often a session went down.", {}};
    Family drops{
        "ipoib_ha_bfd_dropped_packets_total", "counter", "Packets that no session was told.", {}};
    Family stalls{"ipoib_ha_bfd_stalls_total",
                  "counter",
                  "How often this host did not run for longer than an interval.",
                  {}};

    void add(const json &pair, double now);
    void addInterfaces(const std::string &label, const json &pair);
    void addSessions(const std::string &label, const json &sessions);
    [[nodiscard]] std::string text() const;
};

// As it is configured, whichever two of its interfaces it is
std::string nameOf(const json &pair)
{
    if (pair.contains("name"))
        return pair["name"].get<std::string>();
    std::vector<std::string> names;
    for (const auto &one : pair["interfaces"])
        names.push_back(one["name"].get<std::string>());
    return fmt::format("{}", fmt::join(names, "+"));
}

void Page::addInterfaces(const std::string &label, const json &pair)
{
    for (const auto *list : {"interfaces", "spares"})
        for (const auto &one : pair.value(list, json::array())) {
            const std::string both = label + ",interface=" + quoted(one["name"].get<std::string>());
            active.add(both, one["active"].get<bool>());
            works.add(both, one["works"].get<bool>());
            if (pair.contains("spares"))
                spare.add(both, std::string_view(list) == "spares");
        }
}

void Page::add(const json &pair, double now)
{
    if (pair["interfaces"].empty())
        return;
    const std::string label = "pair=" + quoted(nameOf(pair));
    addInterfaces(label, pair);
    healthy.add(label, isHealthyPair(pair));
    standbyFit.add(label, pair["standby_lacks"].empty());
    failing.add(label, static_cast<double>(pair["failing"].size()));
    addresses.add(label, static_cast<double>(pair["addresses"].size()));
    moves.add(label, pair["move_count"].get<double>());
    if (pair.contains("sessions"))
        addSessions(label, pair["sessions"]);
    if (pair["moves"].empty())
        return;
    const auto &move = pair["moves"].back();
    last.add(label, now - move["ago_s"].get<double>());
    took.add(label, move["moved_ms"].get<double>() / 1000);
}

void Page::addSessions(const std::string &label, const json &sessions)
{
    for (const auto &one : sessions["all"]) {
        const std::string both = label +
                                 ",interface=" + quoted(one["interface"].get<std::string>()) +
                                 ",peer=" + quoted(one["peer"].get<std::string>());
        sessionUp.add(both, one["state"] == "Up");
        missed.add(both, one["missed"].get<double>());
        downs.add(both, one["downs"].get<double>());
    }
    for (const auto &[why, count] : sessions["drops"].items())
        drops.add(label + ",why=" + quoted(why), count.get<double>());
    stalls.add(label, sessions["stalls"].get<double>());
}

std::string Page::text() const
{
    std::string out;
    for (const auto *one : {&active, &works, &spare, &healthy, &standbyFit, &failing, &addresses,
                            &moves, &last, &took, &sessionUp, &missed, &downs, &drops, &stalls})
        out += familyText(*one);
    return out;
}

} // namespace

std::string metricsText(const json &document, std::chrono::system_clock::time_point now)
{
    Page page;
    for (const auto &pair : document["pairs"])
        page.add(pair, std::chrono::duration<double>(now.time_since_epoch()).count());
    return upText(true) + page.text();
}

std::string absenceText()
{
    return upText(false);
}

} // namespace openipoib::ha
