/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef IPOIB_CM_POST_H
#define IPOIB_CM_POST_H

#include "cm.h"

void ipoib_cm_post_init(struct ipoib_cm_rxq *rxq);
void ipoib_cm_post(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs, u32 index);
void ipoib_cm_post_wait(struct ipoib_cm_rx_bufs *bufs, u32 index);
void ipoib_cm_post_batch(struct ipoib_cm_rxq *rxq);
void ipoib_cm_post_waiting(struct ipoib_cm_rxq *rxq);

#endif /* IPOIB_CM_POST_H */
