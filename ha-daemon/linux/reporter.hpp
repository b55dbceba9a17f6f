// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Where the daemon's words go.
#pragma once

#include "ha-daemon/core/event.hpp"

#include <string>

namespace openipoib::ha
{

// To systemd's journal, with all fields, if standard error goes there; otherwise a line to
// standard error.
void report(const Both<std::string> &names, const Say &what);

} // namespace openipoib::ha
