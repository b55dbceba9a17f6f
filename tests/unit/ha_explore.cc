// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Explores the core of ipoib-ha as deep as one likes: ha-explore [NAME=NUMBER...]
#include "ha_explorer.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

int main(int argc, char **argv)
{
    using openipoib::ha::Limits;
    const std::map<std::string_view, unsigned Limits::*> known{
        {"depth", &Limits::depth},      {"faults", &Limits::faults},
        {"kills", &Limits::kills},      {"stops", &Limits::stops},
        {"changes", &Limits::changes},  {"unplugged", &Limits::unplugged},
        {"deafness", &Limits::deafness}};
    Limits limits;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        const auto equals = argument.find('=');
        const auto name = known.find(argument.substr(0, equals));
        char *end = nullptr;
        const auto value =
            equals == argument.npos ? 0 : std::strtoul(argument.data() + equals + 1, &end, 10);
        if (name == known.end() || !end || *end || end == argument.data() + equals + 1) {
            std::fprintf(stderr, "ha-explore: '%s' is none of", argv[i]);
            for (const auto &[one, unused] : known)
                std::fprintf(stderr, " %s=NUMBER", one.data());
            std::fprintf(stderr, "\n");
            return 2;
        }
        limits.*name->second = static_cast<unsigned>(value);
    }
    const auto begin = std::chrono::steady_clock::now();
    const auto explored = openipoib::ha::explore(limits);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%s%.1f s\n", textOf(explored).c_str(), took.count());
    return explored.finding || explored.tooMany;
}
