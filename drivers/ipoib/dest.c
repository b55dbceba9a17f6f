// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Destinations: a table from GID to address handle, the packets that wait for
 * one, and the handles that are on their way out.
 *
 * Lifetime: entries are added by whoever first sends to a GID (under a transmit
 * lock) or by control, and removed by control alone. A sender finds an entry
 * under RCU and a transmit lock; taking all transmit locks after the removal
 * therefore waits for every sender that still had it.
 *
 * A packet waits for an address, or for room in the ring of its queue; while one
 * waits, all that follow to that destination wait behind it, whatever their queue.
 * What has waited is sent under all transmit locks, each packet through the queue
 * that it came from.
 *
 * Nothing waits for a port that is not active: by the time that it is, the host may
 * have given its address to another interface, and an old ARP packet would take it back.
 *
 * Lock order: transmit queue -> dest_lock -> ipoib_hold.lock.
 */
#include <linux/math64.h>

#include "dest.h"
#include "ipoib.h"

/* Odd, with their bits all over the place. */
#define DEST_HASH_PREFIX	0x9e3779b97f4a7c15ULL
#define DEST_HASH_ID		0xd1b54a32d192ed03ULL

/*
 * Prefix times interface ID, each made unforeseeable by the table's seed: who
 * chooses GIDs on the wire cannot choose buckets.
 */
static u32 dest_hash(const void *key, u32 len, u32 seed)
{
	const union ib_gid *gid = key;
	u64 prefix = be64_to_cpu(gid->global.subnet_prefix) ^
		     seed * DEST_HASH_PREFIX;
	u64 id = be64_to_cpu(gid->global.interface_id) ^ seed * DEST_HASH_ID;
	u64 folded = prefix * id ^ mul_u64_u64_shr(prefix, id, 64);

	return folded ^ folded >> 32;
}

static int dest_compare(struct rhashtable_compare_arg *arg, const void *object)
{
	const struct ipoib_dest *dest = object;
	const union ib_gid *gid = arg->key;

	return gid->global.interface_id != dest->gid.global.interface_id ||
	       gid->global.subnet_prefix != dest->gid.global.subnet_prefix;
}

static const struct rhashtable_params dest_table_params = {
	.key_len = sizeof(union ib_gid),
	.key_offset = offsetof(struct ipoib_dest, gid),
	.head_offset = offsetof(struct ipoib_dest, node),
	.hashfn = dest_hash,
	.obj_cmpfn = dest_compare,
	.automatic_shrinking = true,
};

/**
 * ipoib_dest_table_init - make the empty table
 * @intf: interface being made
 *
 * Return: 0 or -ENOMEM.
 */
int ipoib_dest_table_init(struct ipoib_intf *intf)
{
	spin_lock_init(&intf->dest_lock);
	INIT_LIST_HEAD(&intf->dest_list);
	INIT_LIST_HEAD(&intf->backlog);
	INIT_LIST_HEAD(&intf->path.wait);
	INIT_LIST_HEAD(&intf->retired);
	INIT_LIST_HEAD(&intf->reaping);
	atomic_set(&intf->pending_bytes, 0);
	return rhashtable_init(&intf->dests, &dest_table_params);
}

/**
 * ipoib_dest_table_destroy - release the table, which must be empty
 * @intf: interface being unmade
 */
void ipoib_dest_table_destroy(struct ipoib_intf *intf)
{
	WARN_ON(!list_empty(&intf->dest_list));
	WARN_ON(!list_empty(&intf->retired) || !list_empty(&intf->reaping));
	rhashtable_destroy(&intf->dests);
}

/**
 * ipoib_dest_find - look a GID up
 * @intf: interface
 * @gid: port GID or MGID
 *
 * Context: RCU read side. The entry stays as long as the reader holds a
 * transmit queue lock, or is the control queue.
 * Return: the entry or NULL.
 */
struct ipoib_dest *ipoib_dest_find(struct ipoib_intf *intf,
				   const union ib_gid *gid)
{
	return rhashtable_lookup(&intf->dests, gid, dest_table_params);
}

/**
 * ipoib_dest_bucket - where in the table an entry is
 * @intf: interface
 * @dest: entry
 *
 * Context: any, while the entry is in the table.
 * Return: number of the bucket.
 */
u32 ipoib_dest_bucket(struct ipoib_intf *intf, const struct ipoib_dest *dest)
{
	const struct bucket_table *table;
	u32 bucket;

	rcu_read_lock();
	table = rht_dereference_rcu(intf->dests.tbl, &intf->dests);
	bucket = rht_key_hashfn(&intf->dests, table, &dest->gid,
				dest_table_params);
	rcu_read_unlock();
	return bucket;
}

/**
 * ipoib_dest_init - the common part of a new path or group
 * @dest: entry
 * @gid: its key
 */
void ipoib_dest_init(struct ipoib_dest *dest, const union ib_gid *gid)
{
	dest->gid = *gid;
	dest->used = jiffies;
	ipoib_hold_init(&dest->hold);
	INIT_LIST_HEAD(&dest->backlog);
}

/**
 * ipoib_dest_count - how many destinations there are
 * @intf: interface
 *
 * Context: any.
 */
u32 ipoib_dest_count(const struct ipoib_intf *intf)
{
	return atomic_read(&intf->dests.nelems);
}

/**
 * ipoib_dest_refused - count a destination that was not made, because there are too many
 * @intf: interface
 *
 * Context: BH disabled.
 */
void ipoib_dest_refused(struct ipoib_intf *intf)
{
	spin_lock(&intf->dest_lock);
	ipoib_count(&intf->stat_dests_refused, 1);
	spin_unlock(&intf->dest_lock);
}

/**
 * ipoib_dest_admit - may a sender add a destination
 * @intf: interface
 *
 * Context: BH disabled.
 * Return: false if there are too many, which is counted.
 */
bool ipoib_dest_admit(struct ipoib_intf *intf)
{
	if (likely(ipoib_dest_count(intf) < IPOIB_DESTS_MAX))
		return true;
	ipoib_dest_refused(intf);
	return false;
}

/**
 * ipoib_dest_insert - make an entry visible
 * @intf: interface
 * @dest: initialised entry
 *
 * Has the oldest forgotten when there are many. Context: BH disabled.
 * Return: 0, -EEXIST if the GID has an entry, or -ENOMEM.
 */
int ipoib_dest_insert(struct ipoib_intf *intf, struct ipoib_dest *dest)
{
	bool many;
	int err;

	spin_lock(&intf->dest_lock);
	err = rhashtable_lookup_insert_fast(&intf->dests, &dest->node,
					    dest_table_params);
	if (!err)
		list_add_tail(&dest->all, &intf->dest_list);
	many = !err && ipoib_dest_count(intf) == IPOIB_DESTS_MANY;
	spin_unlock(&intf->dest_lock);
	if (unlikely(many))
		mod_delayed_work(intf->wq, &intf->gc_work, 0);
	return err == -E2BIG || err == -EBUSY ? -ENOMEM : err;
}

/**
 * ipoib_dest_unlink - hide an entry and wait for its senders
 * @intf: interface
 * @dest: entry
 *
 * Drops the packets that wait for it and retires its address handle.
 *
 * Context: control.
 */
void ipoib_dest_unlink(struct ipoib_intf *intf, struct ipoib_dest *dest)
{
	spin_lock_bh(&intf->dest_lock);
	rhashtable_remove_fast(&intf->dests, &dest->node, dest_table_params);
	list_del(&dest->all);
	spin_unlock_bh(&intf->dest_lock);

	ipoib_dest_clear_ah(intf, dest);
	ipoib_dest_drop_pending(intf, dest);
}

/**
 * ipoib_hold_init - nothing waits yet
 * @hold: queue
 */
void ipoib_hold_init(struct ipoib_hold *hold)
{
	spin_lock_init(&hold->lock);
	__skb_queue_head_init(&hold->packets);
}

/**
 * ipoib_hold_add - keep a packet until it can be sent
 * @intf: interface
 * @hold: queue of its destination
 * @skb: packet with its hardware address in front
 *
 * Context: transmit queue lock.
 * Return: 0, or why not: then the packet is still the caller's.
 */
enum skb_drop_reason ipoib_hold_add(struct ipoib_intf *intf,
				    struct ipoib_hold *hold,
				    struct sk_buff *skb)
{
	unsigned int bytes = skb->truesize;
	bool fits;

	if (READ_ONCE(intf->port_state) != IB_PORT_ACTIVE)
		return SKB_DROP_REASON_DEV_READY;
	spin_lock(&hold->lock);
	fits = hold->bytes + bytes <= IPOIB_DEST_PENDING_MAX &&
	       atomic_read(&intf->pending_bytes) + bytes <=
	       IPOIB_INTF_PENDING_MAX;
	if (fits) {
		WRITE_ONCE(hold->bytes, hold->bytes + bytes);
		atomic_add(bytes, &intf->pending_bytes);
		__skb_queue_tail(&hold->packets, skb);
	}
	spin_unlock(&hold->lock);
	return fits ? SKB_NOT_DROPPED_YET : SKB_DROP_REASON_NEIGH_QUEUEFULL;
}

/**
 * ipoib_hold_take - the packet that has waited longest
 * @intf: interface
 * @hold: queue of its destination
 *
 * Context: transmit queue lock.
 * Return: the packet, or NULL if none waits.
 */
struct sk_buff *ipoib_hold_take(struct ipoib_intf *intf,
				struct ipoib_hold *hold)
{
	struct sk_buff *skb;

	spin_lock(&hold->lock);
	skb = __skb_dequeue(&hold->packets);
	if (skb) {
		WRITE_ONCE(hold->bytes, hold->bytes - skb->truesize);
		atomic_sub(skb->truesize, &intf->pending_bytes);
	}
	spin_unlock(&hold->lock);
	return skb;
}

/**
 * ipoib_hold_drop - give up on the packets of a queue
 * @intf: interface
 * @hold: queue of a destination, which must not stay in a backlog
 * @reason: for those who watch drops
 *
 * Context: all transmit locks.
 */
void ipoib_hold_drop(struct ipoib_intf *intf, struct ipoib_hold *hold,
		     enum skb_drop_reason reason)
{
	struct sk_buff *skb;

	while ((skb = ipoib_hold_take(intf, hold)))
		ipoib_tx_drop(&intf->txq[0], skb, reason);
}

static void dest_drop(struct ipoib_intf *intf, struct ipoib_dest *dest,
		      enum skb_drop_reason reason)
{
	list_del_init(&dest->backlog);
	ipoib_hold_drop(intf, &dest->hold, reason);
}

/**
 * ipoib_dest_drop_pending - give up on the packets that wait
 * @intf: interface
 * @dest: destination
 *
 * Context: process context.
 */
void ipoib_dest_drop_pending(struct ipoib_intf *intf, struct ipoib_dest *dest)
{
	ipoib_tx_lock_all(intf->dev);
	dest_drop(intf, dest, SKB_DROP_REASON_NEIGH_FAILED);
	ipoib_tx_unlock_all(intf->dev);
}

/**
 * ipoib_dests_port_lost - give up on all that waits, as the stack does with its queues
 * @intf: interface whose port_state says that the port is not active
 *
 * Context: control.
 */
void ipoib_dests_port_lost(struct ipoib_intf *intf)
{
	struct ipoib_dest *dest;

	/* Who has added to a queue with the old state has given its lock back. */
	ipoib_tx_lock_all(intf->dev);
	spin_lock(&intf->dest_lock);
	list_for_each_entry(dest, &intf->dest_list, all)
		dest_drop(intf, dest, SKB_DROP_REASON_DEV_READY);
	spin_unlock(&intf->dest_lock);
	ipoib_cm_port_lost(intf);
	ipoib_tx_unlock_all(intf->dev);
}

/**
 * ipoib_dest_wait_for_room - packets wait for a ring, not for an address
 * @intf: interface
 * @dest: destination with an address handle
 *
 * Context: all transmit locks, or one of them when it waits already.
 */
void ipoib_dest_wait_for_room(struct ipoib_intf *intf, struct ipoib_dest *dest)
{
	if (list_empty(&dest->backlog))
		list_add_tail(&dest->backlog, &intf->backlog);
}

/* Of a queue that does not run, there is none until it does. */
static bool dest_has_room(const struct ipoib_txq *txq)
{
	return txq->running && ipoib_tx_has_room(txq);
}

/*
 * Send what waits, oldest first. What its ring has no room for stays, and the
 * destination goes to the backlog, which transmit completions work off, as does the start of
 * the queues; new packets queue up behind it, so none overtakes.
 */
static void dest_send_pending(struct ipoib_intf *intf, struct ipoib_dest *dest)
{
	struct ipoib_txq *txq;
	struct sk_buff *skb;

	while ((skb = skb_peek(&dest->hold.packets))) {
		txq = ipoib_txq_of(intf, skb);
		if (!dest_has_room(txq)) {
			ipoib_dest_wait_for_room(intf, dest);
			/* Pairs with the barrier in tx_has_backlog(). */
			smp_mb();
			if (!dest_has_room(txq))
				return;
		}
		ipoib_tx_push(txq, dest, ipoib_hold_take(intf, &dest->hold));
	}
	list_del_init(&dest->backlog);
}

/**
 * ipoib_tx_doorbells - give the HCA what is in all rings
 * @intf: interface
 *
 * Context: all transmit locks.
 */
void ipoib_tx_doorbells(struct ipoib_intf *intf)
{
	u32 i;

	for (i = 0; i < intf->tx_queues; i++) {
		ipoib_tx_doorbell(&intf->txq[i]);
		ipoib_cm_doorbell(&intf->txq[i]);
	}
}

/**
 * ipoib_dest_send_backlog - use new room in the rings for packets held back
 * @intf: interface
 *
 * Context: all transmit locks.
 */
void ipoib_dest_send_backlog(struct ipoib_intf *intf)
{
	struct ipoib_dest *dest, *next;

	list_for_each_entry_safe(dest, next, &intf->backlog, backlog)
		dest_send_pending(intf, dest);
	ipoib_tx_doorbells(intf);
}

/**
 * ipoib_dest_send_held - put what waits at a destination into the rings
 * @intf: interface with queue pairs of its own
 * @dest: destination with an address handle
 *
 * Context: all transmit locks.
 */
void ipoib_dest_send_held(struct ipoib_intf *intf, struct ipoib_dest *dest)
{
	dest_send_pending(intf, dest);
	ipoib_tx_doorbells(intf);
}

static void ah_retire(struct ipoib_intf *intf, struct ipoib_ah *ah)
{
	if (!ah)
		return;
	list_add_tail(&ah->retired, &intf->retired);
	queue_work(intf->wq, &intf->reap_work);
}

static void dest_swap_ah(struct ipoib_intf *intf, struct ipoib_dest *dest,
			 struct ipoib_ah *ah)
{
	struct ipoib_ah *old;

	ipoib_tx_lock_all(intf->dev);
	old = dest->ah;
	WRITE_ONCE(dest->ah, ah);
	if (ah)
		intf->data->send_held(intf, dest);
	else
		list_del_init(&dest->backlog);
	ipoib_tx_unlock_all(intf->dev);
	ah_retire(intf, old);
}

/**
 * ipoib_dest_set_ah - give a destination an address handle
 * @intf: interface
 * @dest: destination
 * @attr: address
 *
 * Sends what has waited for it. A handle it had is retired.
 *
 * Context: control.
 * Return: 0, -ENOMEM, or what the HCA says.
 */
int ipoib_dest_set_ah(struct ipoib_intf *intf, struct ipoib_dest *dest,
		      struct rdma_ah_attr *attr)
{
	struct ipoib_ah *ah = kzalloc(sizeof(*ah), GFP_KERNEL);
	int err;

	if (!ah)
		return -ENOMEM;
	ah->ah = rdma_create_ah(intf->pd, attr, RDMA_CREATE_AH_SLEEPABLE);
	if (IS_ERR(ah->ah)) {
		err = PTR_ERR(ah->ah);
		kfree(ah);
		return err;
	}
	dest_swap_ah(intf, dest, ah);
	return 0;
}

/**
 * ipoib_dest_clear_ah - from now on, packets wait
 * @intf: interface
 * @dest: destination
 *
 * Context: control.
 */
void ipoib_dest_clear_ah(struct ipoib_intf *intf, struct ipoib_dest *dest)
{
	dest_swap_ah(intf, dest, NULL);
}

static void ahs_destroy(struct list_head *ahs)
{
	struct ipoib_ah *ah, *next;

	list_for_each_entry_safe(ah, next, ahs, retired) {
		list_del(&ah->retired);
		rdma_destroy_ah(ah->ah, RDMA_DESTROY_AH_SLEEPABLE);
		kfree(ah);
	}
}

/* Have all sends completed that were in the rings when reaping began? */
static bool reap_is_due(const struct ipoib_intf *intf)
{
	u32 i;

	for (i = 0; i < intf->tx_queues; i++)
		if ((s32)(READ_ONCE(intf->txq[i].tail) - intf->reap_at[i]) < 0)
			return false;
	return true;
}

/* No sender has found these for long: their sends are in the rings by now. */
static void reap_begin(struct ipoib_intf *intf)
{
	u32 i;

	list_splice_tail_init(&intf->retired, &intf->reaping);
	for (i = 0; i < IPOIB_TXQ_MAX; i++)
		intf->reap_at[i] = READ_ONCE(intf->txq[i].head);
}

/**
 * ipoib_ah_reap - destroy the retired handles that no send refers to
 * @intf: interface
 * @all: every one of them: the rings are empty and stay so
 *
 * Handles are reaped in lots: those that were retired while one lot waits are the
 * next one.
 *
 * Context: control.
 */
void ipoib_ah_reap(struct ipoib_intf *intf, bool all)
{
	if (all) {
		ahs_destroy(&intf->retired);
		ahs_destroy(&intf->reaping);
		return;
	}
	if (list_empty(&intf->reaping))
		reap_begin(intf);
	while (!list_empty(&intf->reaping) && reap_is_due(intf)) {
		ahs_destroy(&intf->reaping);
		reap_begin(intf);
	}
}
