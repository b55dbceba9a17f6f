// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Which mounted file systems need the stack.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace openipoib::openib
{

// The interface by which a peer's address is reached, "" if it is none of the stack's.
using Towards = std::function<std::string(const std::string &address)>;

// In words, of the text of /proc/mounts: those over RDMA, and those over IP whose server
// @towards finds an interface to. Servers are known by the option addr= (NFS, SMB).
[[nodiscard]] std::vector<std::string> mountsInUse(std::string_view mounts, const Towards &towards);

// The interface that has the address from which this machine would send there; that of a
// link-local address is its zone. "": there is none.
[[nodiscard]] std::string interfaceTowards(const std::string &address);

} // namespace openipoib::openib
