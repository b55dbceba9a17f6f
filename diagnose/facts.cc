// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "diagnose/facts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace openipoib::diagnose
{

std::string Port::name() const
{
    return fmt::format("{} port {}", hca, shown.number);
}

const Port *Facts::portOf(const Interface &interface) const
{
    const auto found = std::ranges::find_if(ports, [&](const Port &port) {
        return port.hca == interface.hca && port.shown.number == interface.port;
    });
    return found == ports.end() ? nullptr : &*found;
}

const Interface *Facts::interface(std::string_view name) const
{
    const auto found = std::ranges::find(interfaces, name, &Interface::name);
    return found == interfaces.end() ? nullptr : &*found;
}

} // namespace openipoib::diagnose
