// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/openib/commands.hpp"

#include "conf/openib/document.hpp"
#include "conf/openib/restore.hpp"
#include "conf/openib/stack.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace openipoib::openib
{

namespace
{

std::size_t count(const conf::Diagnostics &diagnostics, conf::Severity severity)
{
    return static_cast<std::size_t>(
        std::ranges::count(diagnostics, severity, &conf::Diagnostic::severity));
}

std::string plural(std::size_t number, const char *what)
{
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

} // namespace

Exit Commands::unreadable(const io::Error &error)
{
    err_ << "openib: " << error.text() << '\n';
    return Exit::degraded;
}

Exit Commands::configure(const io::Result<std::string> &text, const conf::Environment &environment)
{
    if (!text) {
        err_ << "openib: " << text.error().text() << "; nothing is done without it\n";
        return Exit::badConfig;
    }
    auto reading = conf::readSettings(*text, environment);
    for (const auto &diagnostic : reading.diagnostics)
        if (diagnostic.severity >= conf::Severity::warning)
            err_ << conf::render(diagnostic, options_.file) << '\n';
    if (conf::hasErrors(reading.diagnostics)) {
        err_ << "openib: nothing is done before " << options_.file << " is corrected\n";
        return Exit::badConfig;
    }
    settings_ = std::move(reading.settings);
    return Exit::done;
}

Exit Commands::checkConfig(const io::Result<std::string> &text,
                           const conf::Environment &environment)
{
    if (!text) {
        err_ << "openib: " << text.error().text() << '\n';
        return Exit::badConfig;
    }
    const auto reading = conf::readSettings(*text, environment);
    const auto errors = count(reading.diagnostics, conf::Severity::error);
    const auto warnings = count(reading.diagnostics, conf::Severity::warning);
    if (options_.json) {
        out_ << diagnosticsDocument(reading.diagnostics, options_.file).dump(2) << '\n';
    } else {
        for (const auto &diagnostic : reading.diagnostics)
            out_ << conf::render(diagnostic, options_.file) << '\n';
        out_ << options_.file << ": " << plural(errors, "error") << ", "
             << plural(warnings, "warning") << '\n';
    }
    if (errors)
        return Exit::badConfig;
    return warnings ? Exit::degraded : Exit::done;
}

// Run a plan, really or dry, and say what has become of it.
Exit Commands::perform(std::string_view action, const PlanFunction &plan, OnFailure onFailure)
{
    State before;
    if (options_.dryRun) {
        auto state = system_.read();
        if (!state)
            return unreadable(state.error());
        before = std::move(*state);
    }
    DrySystem dry(std::move(before));
    System &system = options_.dryRun ? static_cast<System &>(dry) : system_;
    const auto outcome = run(system, plan, onFailure, [this](const Step &step) {
        if (!options_.json)
            out_ << (options_.dryRun ? "would " : "") << text(step) << '\n' << std::flush;
    });
    if (!outcome)
        return unreadable(outcome.error());
    if (options_.json) {
        out_ << outcomeDocument(*outcome, action).dump(2) << '\n';
        return outcome->exit();
    }
    for (const auto &note : outcome->notes)
        out_ << note << '\n';
    for (const auto &failure : outcome->failures)
        err_ << "openib: failed: " << failure << '\n';
    for (const auto &problem : outcome->problems)
        err_ << "openib: " << problem << '\n';
    return outcome->exit();
}

Exit Commands::start()
{
    if (options_.boot && !settings_.onBoot) {
        if (!options_.json)
            out_ << "not started: ONBOOT=no\n";
        return Exit::done;
    }
    const Exit started = perform(
        "start",
        [this](const State &state, const Failed &failed) {
            return planStart(settings_, state, failed);
        },
        OnFailure::goOn);
    forget({});
    return started;
}

Exit Commands::refusedUnless(bool allowed, std::string_view otherwise)
{
    if (!allowed)
        err_ << "openib: " << otherwise << '\n';
    return allowed ? Exit::done : Exit::refused;
}

Exit Commands::allows(std::string_view what, const io::Result<std::string> &text,
                      const conf::Environment &environment, bool isBooting)
{
    if (what == "boot") {
        const auto reading = conf::readSettings(text.value_or(""), environment);
        return refusedUnless(conf::hasErrors(reading.diagnostics) || reading.settings.onBoot ||
                                 !isBooting,
                             "ONBOOT=no");
    }
    if (what == "ipoib" && !text && text.error().code == ENOENT)
        return Exit::done;
    if (const Exit configured = configure(text, environment); configured != Exit::done)
        return configured;
    return what == "stop" ? allowsStop() : allowsIpoib();
}

// modprobe's install command takes the options from here.
Exit Commands::allowsIpoib()
{
    const Exit allowed = refusedUnless(settings_.ipoib, "IPOIB_LOAD=no");
    if (allowed == Exit::done)
        for (const auto &option : ipoibOptions(settings_))
            out_ << option << '\n';
    return allowed;
}

Exit Commands::allowsStop()
{
    const auto state = system_.read();
    if (!state)
        return unreadable(state.error());
    const auto why = refusals(settings_, *state);
    for (const auto &reason : why)
        err_ << "openib: not stopped: " << reason << '\n';
    return refusedUnless(why.empty(), "end what uses it, or use --force");
}

Exit Commands::stop()
{
    if (!options_.force)
        if (const Exit allowed = allowsStop(); allowed != Exit::done)
            return allowed;
    return perform(
        "stop",
        [this](const State &state, const Failed &failed) {
            return planStop(settings_, state, failed);
        },
        OnFailure::stop);
}

Exit Commands::restart()
{
    const Exit stopped = stop();
    return stopped == Exit::done ? start() : stopped;
}

Exit Commands::apply(const std::string &device)
{
    const Exit applied = perform(
        "apply",
        [this, &device](const State &state, const Failed &failed) {
            return planApply(settings_, state, failed, device);
        },
        OnFailure::goOn);
    forget(device);
    return applied;
}

Exit Commands::keep()
{
    return perform(
        "keep", [](const State &state, const Failed &failed) { return planKeep(state, failed); },
        OnFailure::goOn);
}

// What has been restored is so once: what is changed by hand from now on stays.
void Commands::forget(const std::string &device)
{
    if (options_.dryRun)
        return;
    const auto state = system_.read();
    if (!state)
        return;
    if (!state->keptWrong.empty())
        err_ << "openib: " << state->keptWrong << "; nothing is restored from it\n";
    const Kept left = withoutRestored(*state, device);
    if (left.size() == state->kept.size() && state->keptWrong.empty())
        return;
    const Step step = keepStep(left);
    if (const auto kept = system_.execute(step); !kept)
        err_ << "openib: failed: " << failureText(step, kept.error()) << '\n';
}

Exit Commands::status()
{
    const auto state = system_.read();
    if (!state)
        return unreadable(state.error());
    Plan missing = planStart(settings_, *state, {});
    // "auto" is content with either mode.
    std::erase_if(missing.steps, [](const Step &step) { return step.kind == StepKind::tryMode; });
    const Json document = statusDocument(*state, missing, system_.stale());
    if (options_.json)
        out_ << document.dump(2) << '\n';
    else
        out_ << statusText(document);
    const bool started = state->has(settings_.ipoib ? ipoibModule : std::string_view("ib_core")) ||
                         !state->hcas.empty();
    if (!started)
        return Exit::notStarted;
    return missing.steps.empty() && missing.problems.empty() ? Exit::done : Exit::degraded;
}

Exit Commands::show()
{
    const Json document = settingsDocument(settings_);
    out_ << (options_.json ? document.dump(2) + "\n" : settingsText(document));
    return Exit::done;
}

} // namespace openipoib::openib
