/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef IPOIB_ANSWER_H
#define IPOIB_ANSWER_H

#include "ipoib.h"

/* What a wrong answer counts as: not as a refusal, for it says nothing of what was asked for. */
#define IPOIB_ANSWER_WRONG	(-EPROTO)

u8 ipoib_answer_rate(u8 rate);
int ipoib_answer_path(struct ipoib_intf *intf, const union ib_gid *gid, struct sa_path_rec *rec);
int ipoib_answer_member(struct ipoib_intf *intf, const union ib_gid *mgid, bool broadcast,
			const struct ib_sa_mcmember_rec *rec);

#endif /* IPOIB_ANSWER_H */
