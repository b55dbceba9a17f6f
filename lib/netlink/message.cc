// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/message.hpp"

#include <string>

namespace openipoib::netlink
{

void Message::put(int type, std::string_view text)
{
    note(message_ ? nla_put_string(message_.get(), type, std::string(text).c_str()) : -1);
}

Message::Nest Message::nest(int type)
{
    nlattr *start = message_ ? nla_nest_start(message_.get(), type | NLA_F_NESTED) : nullptr;
    note(start ? 0 : -1);
    return {message_.get(), start};
}

} // namespace openipoib::netlink
