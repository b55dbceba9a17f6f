// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Completion vectors: see vector.h.
 */
#include "hrtimer.h"
#include "sib.h"

static struct workqueue_struct *vector_wq;

/**
 * sib_vectors_start - make what calls handlers in kernel threads
 *
 * Context: process. Return: 0 or -ENOMEM.
 */
int sib_vectors_start(void)
{
	/* Consumers wait for a handler when they destroy a CQ: also when memory is short. */
	vector_wq = alloc_workqueue("sib_comp", WQ_HIGHPRI | WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	return vector_wq ? 0 : -ENOMEM;
}

/**
 * sib_vectors_stop - the reverse; there is no device any more
 *
 * Context: process.
 */
void sib_vectors_stop(void)
{
	destroy_workqueue(vector_wq);
}

static struct sib_cq *take_due(struct sib_vector *vector)
{
	unsigned long flags;
	struct sib_cq *cq;

	spin_lock_irqsave(&vector->lock, flags);
	cq = list_first_entry_or_null(&vector->due, struct sib_cq, event);
	if (cq) {
		list_del_init(&cq->event);
		cq->handlers++;
	}
	spin_unlock_irqrestore(&vector->lock, flags);
	return cq;
}

/* The handler of a CQ has returned. The CQ may be gone afterwards. */
static void give_back(struct sib_vector *vector, struct sib_cq *cq)
{
	unsigned long flags;

	spin_lock_irqsave(&vector->lock, flags);
	cq->handlers--;
	spin_unlock_irqrestore(&vector->lock, flags);
	wake_up(&vector->idle);
}

/* On several processors at once, perhaps. */
static void vector_run(struct sib_vector *vector)
{
	struct sib_cq *cq;

	while ((cq = take_due(vector))) {
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
		give_back(vector, cq);
	}
}

static bool is_called(struct sib_vector *vector, const struct sib_cq *cq)
{
	unsigned long flags;
	bool called;

	spin_lock_irqsave(&vector->lock, flags);
	called = cq->handlers;
	spin_unlock_irqrestore(&vector->lock, flags);
	return called;
}

static void vector_irq(struct irq_work *irq)
{
	vector_run(container_of(irq, struct sib_vector, irq));
}

static enum hrtimer_restart vector_timer(struct hrtimer *timer)
{
	vector_run(container_of(timer, struct sib_vector, timer));
	return HRTIMER_NORESTART;
}

static void vector_work(struct work_struct *work)
{
	local_bh_disable();
	vector_run(container_of(work, struct sib_vector, work));
	local_bh_enable();
}

/**
 * sib_vectors_init - set up the vectors of a device
 * @dev: device with a profile
 */
void sib_vectors_init(struct sib_dev *dev)
{
	int i;

	for (i = 0; i < SIB_VECTORS_MAX; i++) {
		spin_lock_init(&dev->vectors[i].lock);
		INIT_LIST_HEAD(&dev->vectors[i].due);
		init_waitqueue_head(&dev->vectors[i].idle);
		init_irq_work(&dev->vectors[i].irq, vector_irq);
		hrtimer_setup(&dev->vectors[i].timer, vector_timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL);
		INIT_WORK(&dev->vectors[i].work, vector_work);
	}
}

/**
 * sib_vectors_cleanup - wait until the vectors of a device are at rest
 * @dev: device without CQs
 *
 * Context: process.
 */
void sib_vectors_cleanup(struct sib_dev *dev)
{
	int i;

	for (i = 0; i < SIB_VECTORS_MAX; i++) {
		hrtimer_cancel(&dev->vectors[i].timer);
		irq_work_sync(&dev->vectors[i].irq);
		flush_work(&dev->vectors[i].work);
	}
}

/* The processor of a vector; if it is not there, this one will do. */
static int processor(const struct sib_dev *dev, const struct sib_vector *vector)
{
	int cpu = (vector - dev->vectors) % nr_cpu_ids;

	return cpu_online(cpu) ? cpu : smp_processor_id();
}

/* At once, or later. A timer that is under way will see what has become due meanwhile. */
static void vector_interrupt(struct sib_dev *dev, struct sib_vector *vector)
{
	u32 us = max(sib_choice_late_us(&dev->chooser, ++vector->starts),
		     READ_ONCE(dev->fault.event_us));

	lockdep_assert_held(&vector->lock);
	if (!us)
		irq_work_queue(&vector->irq);
	else if (!hrtimer_is_queued(&vector->timer))
		hrtimer_start(&vector->timer, ns_to_ktime((u64)us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL);
}

static void vector_start(struct sib_dev *dev, struct sib_vector *vector)
{
	switch (dev->profile->handler) {
	case SIB_HANDLER_HARDIRQ:
		vector_interrupt(dev, vector);
		break;
	case SIB_HANDLER_WORKER:
		queue_work_on(processor(dev, vector), vector_wq, &vector->work);
		break;
	default:	/* the port's softirq looks for it at the end of its run */
		break;
	}
}

/**
 * sib_vector_raise - the completion handler of a CQ is due
 * @cq: the CQ
 *
 * The handler is never called from inside. Who is not in the port context kicks the port.
 * Context: any but non-maskable interrupts.
 */
void sib_vector_raise(struct sib_cq *cq)
{
	struct sib_dev *dev = to_sib(cq->ibcq.device);
	struct sib_vector *vector = &dev->vectors[cq->vector];
	unsigned long flags;

	spin_lock_irqsave(&vector->lock, flags);
	if (list_empty(&cq->event)) {
		list_add_tail(&cq->event, &vector->due);
		vector_start(dev, vector);
	}
	spin_unlock_irqrestore(&vector->lock, flags);
}

/**
 * sib_vector_forget - the completion handler of a CQ is not to be called any more
 * @cq: CQ that nothing is added to
 *
 * Context: process; waits for a handler that runs.
 */
void sib_vector_forget(struct sib_cq *cq)
{
	struct sib_dev *dev = to_sib(cq->ibcq.device);
	struct sib_vector *vector = &dev->vectors[cq->vector];
	unsigned long flags;

	spin_lock_irqsave(&vector->lock, flags);
	list_del_init(&cq->event);
	spin_unlock_irqrestore(&vector->lock, flags);
	wait_event(vector->idle, !is_called(vector, cq));
}

/**
 * sib_vectors_are_due - whether the port's softirq has to call handlers
 * @dev: the device
 *
 * Context: any. Return: true if so.
 */
bool sib_vectors_are_due(const struct sib_dev *dev)
{
	int i;

	if (dev->profile->handler != SIB_HANDLER_SOFTIRQ)
		return false;
	for (i = 0; i < dev->profile->vectors; i++)
		if (!list_empty(&dev->vectors[i].due))
			return true;
	return false;
}

/**
 * sib_vectors_run - call the handlers that are due
 * @dev: the device; its port is not locked
 *
 * Context: the port's softirq.
 */
void sib_vectors_run(struct sib_dev *dev)
{
	int i;

	for (i = 0; i < dev->profile->vectors; i++)
		vector_run(&dev->vectors[i]);
}
