// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Attributes of queue pairs: those that a change of state wants, and one that it may not want.
#pragma once

#include "process.hpp"

namespace openipoib::kfuzz
{

enum State : std::uint8_t { reset, init, rtr, rts, sqd, sqe, error };

// What a QP needs to get into a state, as a program sets it that wants to talk to the peer.
[[nodiscard]] ib_uverbs_modify_qp usual(const Qp &own, std::uint32_t peerNumber,
                                        std::uint16_t peerLid, std::uint8_t state);

// Set one attribute to another value, and say so in the mask.
void perturb(ib_uverbs_modify_qp &attributes, std::uint8_t which, std::uint8_t value);

} // namespace openipoib::kfuzz
