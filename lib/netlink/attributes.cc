// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/attributes.hpp"

#include <linux/netlink.h>

#include <algorithm>
#include <cstring>

namespace openipoib::netlink
{

void eachAttribute(io::View bytes, const std::function<void(int type, io::View value)> &each)
{
    while (bytes.size() >= NLA_HDRLEN) {
        nlattr header{};
        std::memcpy(&header, bytes.data(), sizeof header);
        if (header.nla_len < NLA_HDRLEN || header.nla_len > bytes.size())
            return;
        each(header.nla_type & NLA_TYPE_MASK,
             bytes.subspan(NLA_HDRLEN, header.nla_len - std::size_t{NLA_HDRLEN}));
        bytes = bytes.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), bytes.size()));
    }
}

} // namespace openipoib::netlink
