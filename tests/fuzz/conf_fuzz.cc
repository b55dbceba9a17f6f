// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Any bytes as an openib.conf, for libFuzzer. Beyond what the sanitizers see,
// the promises of the reader's headers are checked.
#include "conf/scan.hpp"
#include "conf/settings.hpp"

#include "promise.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace
{

using openipoib::promise;

void checkHa(const openipoib::conf::Ha &ha)
{
    std::set<std::string> names;
    for (const auto &pair : ha.pairs) {
        promise(!pair.secondaries.empty(), "a secondary interface");
        for (const auto &name : pair.interfaces())
            promise(names.insert(name).second, "an interface in one pair");
    }
    promise(!ha.pairs.empty(), "a pair");
    for (const auto &target : ha.targets)
        promise(target.interface.empty() ? ha.pairs.size() == 1 : names.contains(target.interface),
                "a target's pair");
    promise(ha.targetInterval >= 10 && ha.targetMisses >= 1, "questions");
}

// A diagnostic is one printable line about a place that is in the text.
void checkDiagnostic(const openipoib::conf::Diagnostic &diagnostic, std::size_t lines)
{
    const std::string text = openipoib::conf::render(diagnostic, "openib.conf");
    promise(std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7F; }), "printable");
    promise(!diagnostic.what.empty(), "says something");
    promise(diagnostic.place.line <= lines, "line of the file");
}

// Names that modprobe's shell and the kernel read as they are.
void checkOwnQueues(const std::vector<std::string> &names)
{
    static constexpr auto nameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                           "0123456789_-./";
    promise(names.size() <= 32, "as many as the module takes");
    for (const auto &name : names)
        promise(!name.empty() && name.find_first_not_of(nameCharacters) == std::string::npos,
                "an HCA or a port");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    using namespace openipoib::conf;
    const std::string text(reinterpret_cast<const char *>(data), size);
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
    const Environment environment{.hostName = "node1"};

    const Scan scanned = scan(text, environment);
    promise(scanned.diagnostics.size() <= maxDiagnostics + 1, "few diagnostics");
    for (const auto &assignment : scanned.assignments) {
        promise(!assignment.key.empty() && assignment.key.size() <= 64, "length of a key");
        promise(assignment.value.size() <= 4096, "length of a value");
        promise(assignment.keyPlace.line >= 1 && assignment.keyPlace.line <= lines, "place");
    }
    const Reading reading = readSettings(text, environment);
    for (const auto &diagnostic : reading.diagnostics)
        checkDiagnostic(diagnostic, lines);
    promise(hasErrors(reading.diagnostics) >= hasErrors(scanned.diagnostics), "errors are kept");
    if (hasErrors(reading.diagnostics))
        return 0;
    const Settings &settings = reading.settings;
    promise(!(settings.ha && !settings.bonds.empty()), "never both");
    if (settings.ha)
        checkHa(*settings.ha);
    for (const auto &bond : settings.bonds)
        promise(!bond.addresses.empty() && !bond.slaves.empty(), "whole bonds");
    checkOwnQueues(settings.ownQueues.value_or(std::vector<std::string>()));
    promise(!settings.mtu || (*settings.mtu >= minMtu && *settings.mtu <= maxConnectedMtu), "MTU");
    return 0;
}
