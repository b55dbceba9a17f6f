// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Attributes of queue pairs: which may be set when, and to what (IBA vol. 1,
 * 11.2.5.2). Knows no devices.
 */
#include "sib.h"

#define ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
		 IB_ACCESS_REMOTE_ATOMIC)

static bool path_ok(const struct ib_qp_attr *attr, int mask, enum ib_mtu mtu)
{
	struct sib_av av;

	if (mask & IB_QP_AV && (sib_av_fill(&av, &attr->ah_attr) || !sib_lid_is_ucast(av.dlid)))
		return false;
	if (mask & IB_QP_PATH_MTU && (attr->path_mtu < IB_MTU_256 || attr->path_mtu > mtu))
		return false;
	if (mask & IB_QP_DEST_QPN && attr->dest_qp_num > SIB_QPN_MASK)
		return false;
	return !(mask & IB_QP_PATH_MIG_STATE) || attr->path_mig_state == IB_MIG_MIGRATED;
}

static bool timers_ok(const struct ib_qp_attr *attr, int mask)
{
	return !(mask & IB_QP_TIMEOUT && attr->timeout > 31) &&
	       !(mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31) &&
	       !(mask & IB_QP_RETRY_CNT && attr->retry_cnt > 7) &&
	       !(mask & IB_QP_RNR_RETRY && attr->rnr_retry > 7);
}

static bool limits_ok(const struct ib_qp_attr *attr, int mask)
{
	return !(mask & IB_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > SIB_MAX_RD_ATOMIC) &&
	       !(mask & IB_QP_MAX_DEST_RD_ATOMIC &&
		 attr->max_dest_rd_atomic > SIB_MAX_RD_ATOMIC) &&
	       !(mask & IB_QP_ACCESS_FLAGS && attr->qp_access_flags & ~ACCESS) &&
	       !(mask & IB_QP_PKEY_INDEX && attr->pkey_index >= SIB_NUM_PKEYS) &&
	       !(mask & IB_QP_PORT && attr->port_num != 1);
}

/**
 * sib_qp_attr_check - whether a QP may be modified like that
 * @type: its type
 * @cur: its attributes
 * @attr: the new ones
 * @mask: IB_QP_*, which of them
 * @mtu: the port's MTU, which the path's must not exceed
 *
 * Sequence numbers have 24 bits; what is above them is ignored, as HCAs do.
 *
 * Return: 0; -EOPNOTSUPP for alternate paths, resizing and what is not part of
 * the standard; -EINVAL.
 */
int sib_qp_attr_check(enum ib_qp_type type, const struct ib_qp_attr *cur,
		      const struct ib_qp_attr *attr, int mask, enum ib_mtu mtu)
{
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : cur->qp_state;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS || mask & (IB_QP_ALT_PATH | IB_QP_CAP))
		return -EOPNOTSUPP;
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != cur->qp_state)
		return -EINVAL;
	if (next > IB_QPS_ERR || !ib_modify_qp_is_ok(cur->qp_state, next, type, mask))
		return -EINVAL;
	return path_ok(attr, mask, mtu) && timers_ok(attr, mask) && limits_ok(attr, mask) ?
	       0 : -EINVAL;
}

static void copy_path(struct ib_qp_attr *cur, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_AV)
		cur->ah_attr = attr->ah_attr;
	if (mask & IB_QP_PATH_MTU)
		cur->path_mtu = attr->path_mtu;
	if (mask & IB_QP_DEST_QPN)
		cur->dest_qp_num = attr->dest_qp_num;
	if (mask & IB_QP_PKEY_INDEX)
		cur->pkey_index = attr->pkey_index;
	if (mask & IB_QP_PORT)
		cur->port_num = attr->port_num;
	if (mask & IB_QP_QKEY)
		cur->qkey = attr->qkey;
}

static void copy_transport(struct ib_qp_attr *cur, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_SQ_PSN)
		cur->sq_psn = attr->sq_psn & SIB_PSN_MASK;
	if (mask & IB_QP_RQ_PSN)
		cur->rq_psn = attr->rq_psn & SIB_PSN_MASK;
	if (mask & IB_QP_TIMEOUT)
		cur->timeout = attr->timeout;
	if (mask & IB_QP_MIN_RNR_TIMER)
		cur->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_RETRY_CNT)
		cur->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		cur->rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		cur->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		cur->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_ACCESS_FLAGS)
		cur->qp_access_flags = attr->qp_access_flags;
}

/**
 * sib_qp_attr_copy - take over new attributes
 * @cur: attributes of a QP
 * @attr: the new ones, checked
 * @mask: IB_QP_*, which of them
 */
void sib_qp_attr_copy(struct ib_qp_attr *cur, const struct ib_qp_attr *attr, int mask)
{
	copy_path(cur, attr, mask);
	copy_transport(cur, attr, mask);
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		cur->en_sqd_async_notify = attr->en_sqd_async_notify;
	if (mask & IB_QP_STATE)
		cur->qp_state = attr->qp_state;
}
