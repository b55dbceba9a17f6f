// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/prober.hpp"

#include <netinet/in.h>

#include <algorithm>

namespace openipoib::ha
{

io::Result<Prober> Prober::open(const std::vector<io::Bytes> &addresses)
{
    const auto anyOf = [&](std::size_t bytes) {
        return std::ranges::any_of(addresses, [=](const auto &one) { return one.size() == bytes; });
    };
    Prober prober;
    if (anyOf(sizeof(in_addr))) {
        auto arp = ArpListener::open();
        if (!arp)
            return std::unexpected(arp.error());
        prober.arp_ = std::move(*arp);
    }
    if (anyOf(sizeof(in6_addr))) {
        auto solicitor = Solicitor::open();
        if (!solicitor)
            return std::unexpected(solicitor.error());
        prober.solicitor_ = std::move(*solicitor);
    }
    return prober;
}

std::vector<int> Prober::fds() const
{
    std::vector<int> fds;
    if (arp_)
        fds.push_back(arp_->fd());
    if (solicitor_)
        fds.push_back(solicitor_->fd());
    return fds;
}

io::Result<void> Prober::ask(const Announcer &announcer, const netlink::Link &link,
                             io::View address) const
{
    if (address.size() == sizeof(in_addr))
        return announcer.probe(link, address, link.broadcast);
    return solicitor_->ask(link, address);
}

void Prober::receive(const std::function<void(int interface, io::View from)> &each) const
{
    if (arp_)
        arp_->receive(
            [&](int interface, const ArpReplier &from) { each(interface, from.address); });
    if (solicitor_)
        solicitor_->receive(each);
}

} // namespace openipoib::ha
