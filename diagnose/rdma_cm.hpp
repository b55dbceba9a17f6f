// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What RDMA CM makes of IP addresses, by librdmacm: it goes from an address to an RDMA device.
#pragma once

#include "io/bytes.hpp"
#include "io/error.hpp"

#include <chrono>
#include <string>

struct rdma_cm_id;
struct rdma_event_channel;

namespace openipoib::diagnose
{

class RdmaCm
{
  public:
    // Errors: ENOENT, the module rdma_ucm is not loaded; EACCES.
    [[nodiscard]] static io::Result<RdmaCm> open();
    RdmaCm(RdmaCm &&other) noexcept;
    RdmaCm &operator=(RdmaCm &&) = delete;
    ~RdmaCm();

    // The device that an address (4 or 16 bytes) of this host belongs to. @scope: the index of the
    // interface of a link-local one. Errors: ENODEV, to none.
    [[nodiscard]] io::Result<std::string> bind(io::View address, int scope) const;
    // Address and path of a peer, as if a connection was to follow. Errors: those of the event
    // that has come instead; ETIMEDOUT.
    [[nodiscard]] io::Result<void> resolve(io::View address, int scope,
                                           std::chrono::milliseconds patience) const;
    // Whether its connection manager answers, if only that nobody listens: it is asked for a
    // connection to a port that nobody can listen at. Errors besides: ETIMEDOUT, it says nothing.
    [[nodiscard]] io::Result<void> knock(io::View address, int scope,
                                         std::chrono::milliseconds patience) const;

  private:
    explicit RdmaCm(rdma_event_channel *channel) : channel_(channel) {}

    [[nodiscard]] io::Result<void> await(int event, std::chrono::milliseconds patience) const;
    [[nodiscard]] io::Result<void> resolve(rdma_cm_id *id, io::View address, int scope,
                                           std::chrono::milliseconds patience) const;

    rdma_event_channel *channel_;
};

} // namespace openipoib::diagnose
