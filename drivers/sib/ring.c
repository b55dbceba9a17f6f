// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Work queues: rings with many producers, who post under the ring's lock, and
 * one consumer, the port context, which takes no lock of the ring.
 */
#include <linux/slab.h>

#include "sib.h"

/**
 * sib_ring_init - make a work queue
 * @ring: zeroed memory
 * @share: of the process that posts to it, or NULL; it locks the memory
 * @entries: work requests it holds
 * @max_sge: gather or scatter entries of each
 * @max_inline: bytes of inline data, which take the place of these
 * @head: size of an entry without them
 *
 * Context: process. Return: 0 or -ENOMEM.
 */
int sib_ring_init(struct sib_ring *ring, struct sib_share *share, u32 entries, u32 max_sge,
		  u32 max_inline, size_t head)
{
	int err;

	spin_lock_init(&ring->lock);
	ring->size = entries + 1;
	ring->max_sge = max_sge;
	ring->stride = ALIGN(head + max_t(size_t, max_sge * sizeof(struct ib_sge), max_inline), 8);
	err = sib_share_charge(share, array_size(ring->size, ring->stride));
	if (err)
		return err;
	ring->share = share;
	ring->ring = kvcalloc(ring->size, ring->stride, GFP_KERNEL_ACCOUNT);
	return ring->ring ? 0 : -ENOMEM;
}

/**
 * sib_ring_free - free the memory of a work queue
 * @ring: queue no one uses any more, or one that was never made
 */
void sib_ring_free(struct sib_ring *ring)
{
	kvfree(ring->ring);
	ring->ring = NULL;
	sib_share_uncharge(ring->share, array_size(ring->size, ring->stride));
	ring->share = NULL;
}

/**
 * sib_ring_reset - forget everything posted
 * @ring: queue; the caller is its consumer and holds its lock
 */
void sib_ring_reset(struct sib_ring *ring)
{
	lockdep_assert_held(&ring->lock);
	ring->tail = ring->head;
}

static u32 ring_next(const struct sib_ring *ring, u32 i)
{
	return i + 1 == ring->size ? 0 : i + 1;
}

static void *ring_entry(struct sib_ring *ring, u32 i)
{
	return ring->ring + (size_t)i * ring->stride;
}

/**
 * sib_ring_peek - oldest entry
 * @ring: queue; the caller is its consumer and holds port->lock
 *
 * Return: the entry, which stays in the queue, or NULL.
 */
void *sib_ring_peek(struct sib_ring *ring)
{
	/* pairs with the release in sib_ring_push(): the entry is complete */
	if (ring->tail == smp_load_acquire(&ring->head))
		return NULL;
	return ring_entry(ring, ring->tail);
}

/**
 * sib_ring_count - entries in a queue
 * @ring: queue; the caller is its consumer and holds port->lock
 *
 * Return: at least as many as there were when it was called.
 */
u32 sib_ring_count(const struct sib_ring *ring)
{
	/* pairs with the release in sib_ring_push(): the entries are complete */
	u32 head = smp_load_acquire(&ring->head);

	return head >= ring->tail ? head - ring->tail : head + ring->size - ring->tail;
}

/**
 * sib_ring_is_empty - whether the consumer has done with all entries
 * @ring: queue; the caller holds its lock
 *
 * Return: true if so; false may be untrue the moment after.
 */
bool sib_ring_is_empty(const struct sib_ring *ring)
{
	lockdep_assert_held(&ring->lock);
	return ring->head == READ_ONCE(ring->tail);
}

/**
 * sib_ring_at - an entry by its place
 * @ring: queue; the caller is its consumer and holds port->lock
 * @ahead: entries before it
 *
 * Return: the entry, which stays in the queue, or NULL.
 */
void *sib_ring_at(struct sib_ring *ring, u32 ahead)
{
	u32 i = ring->tail + ahead;

	if (ahead >= sib_ring_count(ring))
		return NULL;
	return ring_entry(ring, i < ring->size ? i : i - ring->size);
}

/**
 * sib_ring_pop - give the oldest entry back to the producers
 * @ring: queue that is not empty; the caller is its consumer
 */
void sib_ring_pop(struct sib_ring *ring)
{
	/* pairs with the acquire in sib_ring_slot(): we are done with the entry */
	smp_store_release(&ring->tail, ring_next(ring, ring->tail));
}

/**
 * sib_ring_slot - next free entry
 * @ring: queue; the caller holds its lock
 *
 * Return: the entry, to be filled for sib_ring_push(), or NULL if it is full.
 */
void *sib_ring_slot(struct sib_ring *ring)
{
	lockdep_assert_held(&ring->lock);
	/* pairs with the release in sib_ring_pop(): the consumer is done */
	if (ring_next(ring, ring->head) == smp_load_acquire(&ring->tail))
		return NULL;
	return ring_entry(ring, ring->head);
}

/**
 * sib_ring_push - pass an entry to the consumer
 * @ring: queue with the entry of sib_ring_slot(); the caller holds its lock
 */
void sib_ring_push(struct sib_ring *ring)
{
	lockdep_assert_held(&ring->lock);
	/* pairs with the acquire in sib_ring_peek(): the entry is complete */
	smp_store_release(&ring->head, ring_next(ring, ring->head));
}
