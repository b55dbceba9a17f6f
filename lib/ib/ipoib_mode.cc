// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ib/ipoib_mode.hpp"

#include "io/file.hpp"

namespace openipoib::ib
{

namespace
{

std::string modeFile(const std::string &sys, const std::string &interface)
{
    return sys + "/class/net/" + interface + "/mode";
}

} // namespace

std::optional<bool> isConnected(const std::string &sys, const std::string &interface)
{
    const std::string mode = io::readLine(modeFile(sys, interface));
    return mode.empty() ? std::nullopt : std::optional(mode == "connected");
}

io::Result<void> setMode(const std::string &sys, const std::string &interface,
                         const std::string &mode)
{
    const std::string path = modeFile(sys, interface);
    // The kernel's own driver takes a whole line only.
    if (const auto written = io::writeFile(path, mode + "\n"); !written)
        return written;
    if (io::readLine(path) != mode)
        return io::fail(EOPNOTSUPP, path);
    return {};
}

} // namespace openipoib::ib
