// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A cable on a file descriptor: what the event loop needs of it.
#pragma once

#include "core/cable.hpp"

#include <functional>

namespace openipoib::fabric
{

class FdCable : public Cable
{
  public:
    using Random = std::function<std::uint32_t()>;
    using Handler = std::function<void(const io::MacAddress &source, io::View frame)>;

    [[nodiscard]] virtual int fd() const = 0;
    // The descriptor is writable: send what waits.
    virtual void flush() = 0;
    // Hand over the frames that have come, some at most.
    virtual void receive(const Handler &handler) = 0;
    // The device was down when it was last used, or has been deleted.
    [[nodiscard]] virtual bool isDown() const { return false; }
    // The descriptor is of no use any more, and says so for ever if it is polled.
    [[nodiscard]] virtual bool isLost() const { return false; }
    // Look for a device of that name if the one that was down is gone: a tap device is
    // made, any other may have come back. What waited for the old one is lost. True if the
    // descriptor is another one now.
    virtual bool mend() { return false; }
};

} // namespace openipoib::fabric
