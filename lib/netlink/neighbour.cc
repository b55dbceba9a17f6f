// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/neighbour.hpp"

#include "netlink/attributes.hpp"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cstring>

namespace openipoib::netlink
{

bool Neighbour::isLimited() const
{
    return !(state & (NUD_PERMANENT | NUD_NOARP));
}

std::optional<Neighbour> parseNeighbour(const nlmsghdr *message)
{
    ndmsg fixed{};
    const auto length = static_cast<std::size_t>(nlmsg_datalen(message));
    if (message->nlmsg_type != RTM_NEWNEIGH || length < sizeof fixed)
        return std::nullopt;
    const io::View payload(static_cast<const std::uint8_t *>(nlmsg_data(message)), length);
    std::memcpy(&fixed, payload.data(), sizeof fixed);
    Neighbour neighbour{.index = fixed.ndm_ifindex,
                        .family = fixed.ndm_family,
                        .state = fixed.ndm_state,
                        .address = {},
                        .hardware = {}};
    eachAttribute(payload.subspan(sizeof fixed), [&](int type, io::View value) {
        if (type == NDA_DST)
            neighbour.address.assign(value.begin(), value.end());
        else if (type == NDA_LLADDR)
            neighbour.hardware.assign(value.begin(), value.end());
    });
    const std::size_t size = fixed.ndm_family == AF_INET ? 4 : 16;
    if ((fixed.ndm_family != AF_INET && fixed.ndm_family != AF_INET6) ||
        neighbour.address.size() != size)
        return std::nullopt;
    return neighbour;
}

io::Result<std::vector<Neighbour>> neighbours(Socket &socket)
{
    std::vector<Neighbour> all;
    Message request(RTM_GETNEIGH, 0);
    request.header(ndmsg{});
    const auto done = socket.dump(
        request, "list of neighbours",
        [&all](nlmsghdr *answer) {
            if (auto neighbour = parseNeighbour(answer))
                all.push_back(std::move(*neighbour));
        },
        [&all] { all.clear(); });
    if (!done)
        return std::unexpected(done.error());
    return all;
}

} // namespace openipoib::netlink
