// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Settings of interfaces as a document that outlives ib_ipoib. Pure: text in,
// text out. Whoever reads it trusts nothing in it.
#pragma once

#include "conf/openib/state.hpp"
#include "io/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace openipoib::openib
{

// Of an Interface only what somebody can set is kept: mode, MTU (bytes), umcast,
// rings, queues, moderation; name, P_Key and parent, to make a child again; and its index.
using Kept = std::vector<Interface>;

// The document, a line of JSON with its version. Interfaces whose names are not
// printable ASCII are left out.
[[nodiscard]] std::string keptText(const Kept &kept);

// Errors: EBADMSG, with what is wrong and where: not JSON, not of this version, a
// value that is missing or of the wrong type, a number out of range, a name that
// no interface has, or one that is there twice. Nothing of such a document is used.
[[nodiscard]] io::Result<Kept> readKept(std::string_view text);

} // namespace openipoib::openib
