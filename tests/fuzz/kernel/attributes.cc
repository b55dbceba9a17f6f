// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "attributes.hpp"

namespace openipoib::kfuzz
{

namespace
{

enum Mask : std::uint32_t { // IB_QP_*
    state = 1u << 0,
    currentState = 1u << 1,
    notify = 1u << 2,
    access = 1u << 3,
    pkeyIndex = 1u << 4,
    portNumber = 1u << 5,
    queueKey = 1u << 6,
    path = 1u << 7,
    pathMtu = 1u << 8,
    ackTimeout = 1u << 9,
    retries = 1u << 10,
    rnrRetries = 1u << 11,
    receivePsn = 1u << 12,
    maxReads = 1u << 13,
    alternatePath = 1u << 14,
    rnrTimer = 1u << 15,
    sendPsn = 1u << 16,
    maxServed = 1u << 17,
    migration = 1u << 18,
    capabilities = 1u << 19,
    destination = 1u << 20,
};

constexpr std::uint8_t rc = 2, uc = 3;

std::uint32_t maskOf(std::uint8_t type, std::uint8_t to)
{
    const bool connected = type == rc || type == uc;
    switch (to) {
    case init:
        return state | pkeyIndex | portNumber | (connected ? access : queueKey);
    case rtr:
        if (!connected)
            return state;
        return state | path | pathMtu | destination | receivePsn |
               (type == rc ? maxServed | rnrTimer : 0);
    case rts:
        return state | sendPsn | (type == rc ? ackTimeout | retries | rnrRetries | maxReads : 0);
    default:
        return state;
    }
}

} // namespace

ib_uverbs_modify_qp usual(const Qp &own, std::uint32_t peerNumber, std::uint16_t peerLid,
                          std::uint8_t to)
{
    ib_uverbs_modify_qp in{};
    in.attr_mask = maskOf(own.type, to);
    in.qp_state = to;
    in.cur_qp_state = own.state;
    in.dest.dlid = peerLid;
    in.dest.port_num = 1;
    in.port_num = 1;
    in.qkey = qkey;
    in.dest_qp_num = peerNumber;
    in.qp_access_flags = 0xF;
    in.path_mtu = 3;
    in.max_rd_atomic = 4;
    in.max_dest_rd_atomic = 4;
    in.min_rnr_timer = 1;
    in.timeout = 8; // a millisecond: an input does not wait for much more
    in.retry_cnt = 2;
    in.rnr_retry = 2;
    return in;
}

void perturb(ib_uverbs_modify_qp &in, std::uint8_t which, std::uint8_t value)
{
    switch (which % 24) {
    case 0:
    case 1:
    case 2:
        in.attr_mask |= maxServed;
        in.max_dest_rd_atomic = value % 18;
        break;
    case 3:
        in.attr_mask |= maxReads;
        in.max_rd_atomic = value % 18;
        break;
    case 4:
        in.attr_mask |= pathMtu;
        in.path_mtu = value % 7;
        break;
    case 5:
        in.attr_mask |= ackTimeout;
        in.timeout = value % 16;
        break;
    case 6:
        in.attr_mask |= retries;
        in.retry_cnt = value % 9;
        break;
    case 7:
        in.attr_mask |= rnrRetries;
        in.rnr_retry = value % 9;
        break;
    case 8:
        in.attr_mask |= rnrTimer;
        in.min_rnr_timer = value % 33;
        break;
    case 9:
        in.attr_mask |= sendPsn;
        in.sq_psn = 0xFFFFF0u + value;
        break;
    case 10:
        in.attr_mask |= receivePsn;
        in.rq_psn = 0xFFFFF0u + value;
        break;
    case 11:
    case 12:
        in.attr_mask |= pkeyIndex;
        in.pkey_index = value < 128 ? value % 5 : static_cast<std::uint16_t>(value * 7);
        break;
    case 13:
        in.attr_mask |= access;
        in.qp_access_flags = value % 32;
        break;
    case 14:
        in.attr_mask |= queueKey;
        in.qkey = value % 4 ? value : 0x80010000u;
        break;
    case 15:
        in.attr_mask |= destination;
        in.dest_qp_num = value < 250 ? value : value * 0x1010101u;
        break;
    case 16:
        in.attr_mask |= path;
        in.dest.dlid = static_cast<std::uint16_t>(value < 8 ? value : value * 257);
        break;
    case 17:
        in.attr_mask |= path;
        in.dest.is_global = 1;
        in.dest.sgid_index = value % 12;
        in.dest.sl = value >> 4;
        break;
    case 18:
        in.attr_mask |= currentState;
        in.cur_qp_state = value % 8;
        break;
    case 19:
        in.attr_mask |= notify;
        in.en_sqd_async_notify = value;
        break;
    case 20:
        in.attr_mask |= value & 1 ? alternatePath : migration;
        in.path_mig_state = value % 5;
        in.alt_port_num = value % 3;
        break;
    case 21:
        in.attr_mask |= value & 1 ? capabilities : portNumber;
        in.port_num = value % 4;
        break;
    case 22:
        in.attr_mask &= ~(1u << value % 21);
        break;
    default:
        in.attr_mask ^= 1u << value % 26;
    }
}

} // namespace openipoib::kfuzz
