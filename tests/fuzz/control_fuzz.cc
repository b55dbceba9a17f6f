// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Any bytes as requests to a fabric, a line each, for libFuzzer. Each has one
// answer, and after `clear` nothing is left of the faults.
#include "control/control.hpp"
#include "promise.hpp"
#include "topology/parser.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace
{

using namespace openipoib;
using namespace openipoib::fabric;
using nlohmann::json;

constexpr std::string_view plan = "Switch 2 \"s1\"\n[1] \"h1\"[1]\n[2] \"s2\"[2]\n"
                                  "Switch 2 \"s2\"\n[1] \"h2\"[1]\nCa 1 \"h1\"\nCa 1 \"h2\"\n";

json answer(Control &control, std::string_view request, Time now)
{
    json document = json::parse(control.answer(request, now), nullptr, false);
    promise(document.is_object() && document.size() == 1, "a document");
    promise(document.contains("result") != document.contains("error"), "one of the two");
    return document;
}

// Whether a request changes what `clear` does not undo.
bool isChange(std::string_view request)
{
    const json document = json::parse(request, nullptr, false);
    if (!document.is_object())
        return false;
    constexpr std::array changes{"link",        "unlink",   "add-host",
                                 "remove-host", "add-peer", "remove-peer"};
    const auto command = document.find("command");
    return command != document.end() &&
           std::ranges::any_of(changes, [&](const char *one) { return *command == one; });
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    std::string_view text(reinterpret_cast<const char *>(data), size);
    Time now{std::chrono::hours(1)};
    std::uint32_t next = 1;
    const auto random = [&next] { return next++; };
    Fabric fabric(*parseTopology(plan, "plan"), random, random);
    fabric.start(now);
    Control control(fabric);
    const json before = answer(control, R"({"command": "status"})", now);
    bool isChanged = false;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const json done = answer(control, text.substr(0, end), now);
        isChanged |= done.contains("result") && isChange(text.substr(0, end));
        const auto capture = control.takeCapture();
        promise(!capture || (capture->at.port != 0 && done.contains("result")), "a capture");
        text = text.substr(std::min(end + 1, text.size()));
        now += std::chrono::milliseconds(10);
        fabric.onTime(now);
    }
    answer(control, R"({"command": "clear"})", now);
    promise(fabric.faults().all().empty(), "all faults are cleared");
    promise(isChanged || answer(control, R"({"command": "status"})", now) == before, "as before");
    return 0;
}
