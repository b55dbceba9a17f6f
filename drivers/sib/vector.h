/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Completion vectors: who calls the completion handlers of which CQs, and where.
 *
 * A handler that is due is called once, however many completions there are. The profile of
 * the device (profile.h) says in which context: by the port's softirq, by a hard interrupt
 * of the processor that the completion is added on, or by a kernel thread that each vector
 * has on a processor of its own. So handlers may run beside the port and each other.
 */
#ifndef SIB_VECTOR_H
#define SIB_VECTOR_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct sib_cq;
struct sib_dev;

/**
 * struct sib_vector - a completion vector
 * @lock: guards @due, and sib_cq.handlers of its CQs; irqsave
 * @due: CQs whose handler is due
 * @idle: woken when a handler has returned
 * @irq: calls them in a hard interrupt
 * @timer: likewise, some time later
 * @starts: how often they have become due, where some are called late; guarded by @lock
 * @work: calls them in a kernel thread
 */
struct sib_vector {
	spinlock_t lock;	/* see above */
	struct list_head due;
	wait_queue_head_t idle;
	struct irq_work irq;
	struct hrtimer timer;
	u32 starts;
	struct work_struct work;
};

int sib_vectors_start(void);
void sib_vectors_stop(void);
void sib_vectors_init(struct sib_dev *dev);
void sib_vectors_cleanup(struct sib_dev *dev);
void sib_vector_raise(struct sib_cq *cq);
void sib_vector_forget(struct sib_cq *cq);
bool sib_vectors_are_due(const struct sib_dev *dev);
void sib_vectors_run(struct sib_dev *dev);

#endif /* SIB_VECTOR_H */
