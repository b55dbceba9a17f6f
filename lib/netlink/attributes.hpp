// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Netlink attributes as bytes.
#pragma once

#include "io/bytes.hpp"

#include <functional>

namespace openipoib::netlink
{

// Each attribute of @bytes; what is broken ends it. Nested flags are taken off the type. What
// stands before @value is the attribute's header.
void eachAttribute(io::View bytes, const std::function<void(int type, io::View value)> &each);

} // namespace openipoib::netlink
