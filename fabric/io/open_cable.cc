// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/open_cable.hpp"

#include "io/socket_cable.hpp"
#include "io/udp_cable.hpp"

namespace openipoib::fabric
{

io::Result<std::unique_ptr<FdCable>> openCable(std::string_view description, io::View key,
                                               const FdCable::Random &random)
{
    constexpr std::string_view udp = "udp:";
    if (!description.starts_with(udp))
        return SocketCable::open(description, random);
    if (key.empty())
        return io::fail(EINVAL, "udp: cables need --key FILE");
    return UdpCable::open(description.substr(udp.size()), key, random);
}

} // namespace openipoib::fabric
