// SPDX-License-Identifier: GPL-2.0-only OR MIT
// ib-bond: bonds of IPoIB interfaces from one line.
#include "bonding/commands.hpp"
#include "bonding/linux_system.hpp"
#include "io/journal.hpp"
#include "io/lock_file.hpp"

#include <unistd.h>

#include <iostream>

namespace
{

using namespace openipoib;
using bonding::Action;
using bonding::Exit;

// One ib-bond at a time changes something.
constexpr auto lockPath = "/run/ib-bond.lock";

bool isChange(const bonding::Invocation &invocation)
{
    return !invocation.dryRun &&
           (invocation.action == Action::up || invocation.action == Action::down ||
            invocation.action == Action::downAll);
}

Exit execute(const bonding::Invocation &invocation)
{
    io::UniqueFd lock;
    if (isChange(invocation)) {
        if (::geteuid() != 0) {
            std::cerr << "ib-bond: only root can change bonds; try --dry-run\n";
            return Exit::notPermitted;
        }
        auto taken = io::lockFile(lockPath, io::IfLocked::wait);
        if (!taken) {
            std::cerr << "ib-bond: " << taken.error().text() << '\n';
            return Exit::failed;
        }
        lock = std::move(*taken);
    }
    auto system = bonding::LinuxSystem::open();
    if (!system) {
        std::cerr << "ib-bond: " << system.error().text() << '\n';
        return Exit::failed;
    }
    return bonding::Commands(*system, std::cout, std::cerr).execute(invocation);
}

} // namespace

int main(int argc, char **argv)
try {
    static const io::CerrToJournal toJournal;
    const auto invocation = bonding::parseCommandLine(argc, argv);
    if (invocation)
        return static_cast<int>(execute(*invocation));
    if (!invocation.error().isError) {
        std::cout << invocation.error().text;
        return 0;
    }
    std::cerr << "ib-bond: " << invocation.error().text << "; see ib-bond --help\n";
    return static_cast<int>(Exit::usage);
} catch (const std::exception &error) {
    std::cerr << "ib-bond: " << error.what() << '\n';
    return static_cast<int>(Exit::failed);
}
