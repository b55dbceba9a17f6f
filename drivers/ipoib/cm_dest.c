// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Peers as destinations of connected mode: the table, the packets that wait, and
 * what the table of cm_conn.h asks for.
 *
 * Lifetime: a sender makes an entry, control removes it, as with ipoib_dest. An
 * entry lives no longer than the path it uses.
 */
#include <linux/random.h>
#include <linux/sched/mm.h>

#include "cm.h"
#include "ipoib_trace.h"

#define CONN_IDLE	(120 * HZ)
/* One that has been used since is in use, however many there are. */
#define CONN_IN_USE	(5 * HZ)
#define CONN_ASK_MIN	(2 * HZ)
#define CONN_ASK_MAX	(64 * HZ)
/*
 * So long a peer that had a connection is awaited: it may be restarting. What the
 * stack is told of a path's MTU, it believes for ten minutes.
 */
#define CONN_AWAITED	(30 * HZ)
/* A connection that breaks this early counts as one that was refused. */
#define CONN_PROVEN	HZ
#define CONN_STALES_MAX	3
/* A peer that restarts ends its connections; one that always does wants none. */
#define CONN_HANGUPS_MAX 3

static const struct rhashtable_params conn_table_params = {
	.key_len = sizeof(struct ipoib_conn_key),
	.key_offset = offsetof(struct ipoib_conn, key),
	.head_offset = offsetof(struct ipoib_conn, node),
	.automatic_shrinking = true,
};

/**
 * ipoib_conns_init - make the empty table
 * @cm: connected mode
 *
 * Return: 0 or -ENOMEM.
 */
int ipoib_conns_init(struct ipoib_cm *cm)
{
	spin_lock_init(&cm->conn_lock);
	INIT_LIST_HEAD(&cm->conn_list);
	INIT_LIST_HEAD(&cm->turns);
	INIT_LIST_HEAD(&cm->retries);
	return rhashtable_init(&cm->conns, &conn_table_params);
}

/**
 * ipoib_conns_destroy - release the table, which must be empty
 * @cm: connected mode
 */
void ipoib_conns_destroy(struct ipoib_cm *cm)
{
	WARN_ON(!list_empty(&cm->conn_list));
	rhashtable_destroy(&cm->conns);
}

static void conn_handle(struct ipoib_cm_item *item, unsigned long events)
{
	struct ipoib_conn *conn = container_of(item, struct ipoib_conn, item);

	if (events & BIT(IPOIB_CONN_EV_PATH))
		ipoib_conn_take_turn(conn);
	/* The path, or its lack, has not ended it. */
	if (events & BIT(IPOIB_CONN_EV_PACKET))
		ipoib_conn_event(conn, IPOIB_CONN_EV_PACKET);
}

static struct ipoib_conn *conn_create(struct ipoib_cm *cm,
				      const struct ipoib_conn_key *key)
{
	struct ipoib_conn *conn;
	int err;

	if (ipoib_conn_count(cm) >= IPOIB_CONNS_MAX) {
		spin_lock(&cm->conn_lock);
		ipoib_count(&cm->stat_out_full, 1);
		spin_unlock(&cm->conn_lock);
		return NULL;
	}
	conn = kzalloc(sizeof(*conn), GFP_ATOMIC);
	if (!conn)
		return NULL;
	ipoib_cm_item_init(cm, &conn->item, conn_handle);
	conn->key = *key;
	conn->cm = cm;
	conn->used = jiffies;
	ipoib_cm_cut_init(conn);
	ipoib_hold_init(&conn->hold);
	INIT_LIST_HEAD(&conn->backlog);
	INIT_LIST_HEAD(&conn->on_path);
	INIT_LIST_HEAD(&conn->turn);
	spin_lock(&cm->conn_lock);
	err = rhashtable_lookup_insert_fast(&cm->conns, &conn->node,
					    conn_table_params);
	if (!err)
		list_add_tail(&conn->all, &cm->conn_list);
	spin_unlock(&cm->conn_lock);
	if (!err)
		return conn;
	kfree(conn);
	/* A sender of another queue may have been first. */
	return rhashtable_lookup(&cm->conns, key, conn_table_params);
}

/*
 * The sender has found room before. A link that is not usable never becomes so again:
 * once a packet waits for the next one, those that follow wait as well.
 */
static bool conn_may_push(const struct ipoib_conn *conn)
{
	return conn->state == IPOIB_CONN_UP && list_empty(&conn->backlog) &&
	       ipoib_cm_tx_usable(conn->link);
}

static void conn_want(struct ipoib_conn *conn)
{
	if (conn->state == IPOIB_CONN_NEW ||
	    (conn->state == IPOIB_CONN_DATAGRAM &&
	     time_after_eq(jiffies, READ_ONCE(conn->ask_at))))
		ipoib_cm_note(&conn->item, IPOIB_CONN_EV_PACKET);
}

/* Too long for a datagram, while the peer is expected to take connections again. */
static bool conn_awaited_by(const struct ipoib_conn *conn, const struct sk_buff *skb)
{
	return skb->len > READ_ONCE(conn->cm->intf->group_mtu) + IPOIB_HARD_LEN &&
	       READ_ONCE(conn->was_up) &&
	       time_before(jiffies, READ_ONCE(conn->down_since) + CONN_AWAITED);
}

static void conn_key(struct ipoib_conn_key *key, const struct sk_buff *skb)
{
	memcpy(key, skb->data, sizeof(*key));
	key->qpn &= cpu_to_be32(0xffffff);
}

/**
 * ipoib_conn_find - the connection that a packet would go through
 * @cm: connected mode
 * @skb: packet with the hardware address of a peer in front
 *
 * Context: RCU read side. Return: the connection, in any state, or NULL.
 */
struct ipoib_conn *ipoib_conn_find(struct ipoib_cm *cm, const struct sk_buff *skb)
{
	struct ipoib_conn_key key;

	conn_key(&key, skb);
	return rhashtable_lookup(&cm->conns, &key, conn_table_params);
}

/**
 * ipoib_cm_xmit - send a packet through a connection
 * @txq: transmit queue, with room, of an interface in connected mode
 * @skb: packet with its hardware address in front
 *
 * Context: transmit queue lock, RCU read side.
 * Return: true if the packet was taken, or dropped; false if it is one for a datagram.
 */
bool ipoib_cm_xmit(struct ipoib_txq *txq, struct sk_buff *skb)
{
	struct ipoib_cm *cm = txq->intf->cm;
	struct ipoib_conn_key key;
	enum skb_drop_reason reason;
	struct ipoib_conn *conn;

	if (ipoib_hwaddr_is_multicast(skb->data) || !(skb->data[0] & IPOIB_HWADDR_RC))
		return false;
	/*
	 * The asker, or we, give up long before a peer that does not answer the CM is given up,
	 * and an answer is not worth a connection.
	 */
	if (ipoib_resolves_address(skb))
		return false;
	conn_key(&key, skb);
	conn = rhashtable_lookup(&cm->conns, &key, conn_table_params);
	if (unlikely(!conn))
		conn = conn_create(cm, &key);
	if (unlikely(!conn))
		return false;
	ipoib_note_use(&conn->used);
	/* The connection is to be there for the first long packet. */
	if (ipoib_cm_prefers_datagram(conn, skb)) {
		conn_want(conn);
		return false;
	}
	if (likely(conn_may_push(conn))) {
		ipoib_cm_push(txq, conn, skb);
		return true;
	}
	conn_want(conn);
	if (!ipoib_conn_holds(conn->state) && conn->state != IPOIB_CONN_UP) {
		if (likely(!conn_awaited_by(conn, skb)))
			return false;
		ipoib_tx_drop(txq, skb, SKB_DROP_REASON_PKT_TOO_BIG);
		return true;
	}
	reason = ipoib_hold_add(txq->intf, &conn->hold, skb);
	if (unlikely(reason))
		ipoib_tx_drop(txq, skb, reason);
	return true;
}

/* Send what waits, oldest first; what there is no room for goes to the backlog. */
static void conn_send_held(struct ipoib_conn *conn)
{
	struct ipoib_intf *intf = conn->cm->intf;
	struct sk_buff *skb;

	while ((skb = skb_peek(&conn->hold.packets))) {
		if (!ipoib_cm_tx_usable(conn->link))
			return;
		if (!ipoib_cm_has_room(intf)) {
			if (list_empty(&conn->backlog))
				list_add_tail(&conn->backlog, &conn->cm->backlog);
			/* Pairs with the barrier in tx_has_backlog(). */
			smp_mb();
			if (!ipoib_cm_has_room(intf))
				return;
		}
		ipoib_cm_push(ipoib_txq_of(intf, skb), conn,
			      ipoib_hold_take(intf, &conn->hold));
	}
	list_del_init(&conn->backlog);
}

/**
 * ipoib_cm_send_backlog - use new room in the rings for packets held back
 * @intf: interface
 *
 * Context: all transmit locks.
 */
void ipoib_cm_send_backlog(struct ipoib_intf *intf)
{
	struct ipoib_conn *conn, *next;

	if (!intf->cm)
		return;
	list_for_each_entry_safe(conn, next, &intf->cm->backlog, backlog) {
		if (!ipoib_cm_has_room(intf))
			break;
		conn_send_held(conn);
	}
	ipoib_tx_doorbells(intf);
}

/**
 * ipoib_cm_has_backlog - do packets wait for room in the rings
 * @intf: interface
 *
 * Context: any.
 */
bool ipoib_cm_has_backlog(const struct ipoib_intf *intf)
{
	return intf->cm && !list_empty(&intf->cm->backlog);
}

/* Without a connection: datagrams, or nothing. */
static void conn_release_held(struct ipoib_conn *conn, bool drop)
{
	struct ipoib_intf *intf = conn->cm->intf;
	struct sk_buff *skb;

	while ((skb = ipoib_hold_take(intf, &conn->hold))) {
		if (drop)
			ipoib_tx_drop(&intf->txq[0], skb,
				      SKB_DROP_REASON_NEIGH_FAILED);
		else if (!intf->running)
			ipoib_tx_drop(&intf->txq[0], skb,
				      SKB_DROP_REASON_DEV_READY);
		else if (conn_awaited_by(conn, skb))
			ipoib_tx_drop(&intf->txq[0], skb,
				      SKB_DROP_REASON_PKT_TOO_BIG);
		else
			ipoib_tx_datagram(ipoib_txq_of(intf, skb), skb);
	}
}

static void conn_unhash(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;

	spin_lock_bh(&cm->conn_lock);
	rhashtable_remove_fast(&cm->conns, &conn->node, conn_table_params);
	list_del(&conn->all);
	spin_unlock_bh(&cm->conn_lock);
}

/* The new state, and the packets: all that senders may see half done. */
static void conn_switch(struct ipoib_conn *conn, struct ipoib_conn_step step)
{
	struct ipoib_intf *intf = conn->cm->intf;

	ipoib_tx_lock_all(intf->dev);
	/* Nobody refers to a link that may go now. */
	ipoib_tx_doorbells(intf);
	WRITE_ONCE(conn->state, step.next);
	if (step.next != IPOIB_CONN_UP)
		list_del_init(&conn->backlog);
	rcu_read_lock();
	if (step.todo & (IPOIB_CONN_DO_RELEASE | IPOIB_CONN_DO_DROP))
		conn_release_held(conn, step.todo & IPOIB_CONN_DO_DROP);
	rcu_read_unlock();
	if (step.todo & IPOIB_CONN_DO_ATTACH)
		conn_send_held(conn);
	ipoib_tx_doorbells(intf);
	ipoib_tx_unlock_all(intf->dev);
}

static void conn_back_off(struct ipoib_conn *conn)
{
	unsigned long wait = CONN_ASK_MIN << min(conn->failures, 8U);

	conn->failures++;
	conn->stales = 0;
	ipoib_count(&conn->cm->stat_refused, 1);
	wait = min_t(unsigned long, wait, CONN_ASK_MAX);
	/* Those that a switch has cut off together do not come back together. */
	wait += get_random_u32() % (wait / 4);
	WRITE_ONCE(conn->ask_at, jiffies + wait);
}

static struct ipoib_path *conn_find_path(struct ipoib_conn *conn)
{
	struct ipoib_intf *intf = conn->cm->intf;
	union ib_gid gid = conn->key.gid;	/* aligned to eight octets here */
	struct ipoib_dest *dest;

	ipoib_tx_lock_all(intf->dev);
	rcu_read_lock();
	dest = ipoib_dest_find(intf, &gid);
	if (!dest && ipoib_path_admit(intf, false))
		dest = ipoib_path_create(intf, &gid);
	rcu_read_unlock();
	ipoib_tx_unlock_all(intf->dev);
	return dest ? ipoib_path_of(dest) : NULL;
}

static void conn_ask_path(struct ipoib_conn *conn)
{
	if (!conn->path) {
		conn->path = conn_find_path(conn);
		if (!conn->path) {
			ipoib_conn_event(conn, IPOIB_CONN_EV_NOPATH);
			return;
		}
		if (conn->path->conn_count >= IPOIB_CONNS_PORT_MAX) {
			conn->path = NULL;
			ipoib_conn_event(conn, IPOIB_CONN_EV_REFUSED);
			return;
		}
		conn->path->conn_count++;
		list_add_tail(&conn->on_path, &conn->path->conns);
	}
	if (conn->path->dest.ah &&
	    !test_bit(IPOIB_PATH_STALE, &conn->path->state)) {
		ipoib_conn_take_turn(conn);
		return;
	}
	ipoib_path_hurry(conn->path);
	ipoib_path_resolve(conn->path);
}

/*
 * Whatever has led here: what is allocated may be what writing back dirty pages waits
 * for, so it must not wait for that in turn.
 */
static void conn_connect(struct ipoib_conn *conn)
{
	unsigned int noio = memalloc_noio_save();
	struct ipoib_cm_tx *link = ipoib_cm_tx_create(conn);

	memalloc_noio_restore(noio);
	if (IS_ERR(link)) {
		netdev_dbg(conn->cm->intf->dev, "no connection to %pI6: error %ld\n",
			   conn->key.gid.raw, PTR_ERR(link));
		ipoib_conn_event(conn, IPOIB_CONN_EV_REFUSED);
		return;
	}
	WRITE_ONCE(conn->link, link);
	ipoib_count(&conn->cm->stat_connects, 1);
}

static void conn_forget(struct ipoib_conn *conn)
{
	list_del(&conn->on_path);
	if (conn->path)
		conn->path->conn_count--;
	ipoib_cm_item_end(&conn->item);
	kfree_rcu(conn, rcu);
}

/* An end that comes early counts as a refusal; one in good order, when it recurs. */
static enum ipoib_conn_event conn_judge_end(struct ipoib_conn *conn,
					    enum ipoib_conn_event event)
{
	if (!time_before(jiffies, conn->up_since + CONN_PROVEN)) {
		conn->failures = 0;
		conn->hangups = 0;
		return event;
	}
	if (event == IPOIB_CONN_EV_HANGUP &&
	    ++conn->hangups <= CONN_HANGUPS_MAX)
		return event;
	return IPOIB_CONN_EV_REFUSED;
}

/* What the table does not count: repeated refusals, and how long it has lasted. */
static enum ipoib_conn_event conn_judge(struct ipoib_conn *conn,
					enum ipoib_conn_event event)
{
	switch (event) {
	case IPOIB_CONN_EV_STALE:
		return ++conn->stales > CONN_STALES_MAX ?
		       IPOIB_CONN_EV_REFUSED : event;
	case IPOIB_CONN_EV_REP:
		conn->up_since = jiffies;
		conn->stales = 0;
		return event;
	case IPOIB_CONN_EV_LOST:
	case IPOIB_CONN_EV_HANGUP:
		if (conn->state != IPOIB_CONN_UP)
			return event;
		ipoib_count(&conn->cm->stat_lost, 1);
		if (conn->path)
			ipoib_path_changed(conn->path);
		return conn_judge_end(conn, event);
	default:
		return event;
	}
}

/**
 * ipoib_conn_event - do what an event leads to
 * @conn: connection; may be freed
 * @event: what has happened
 *
 * Context: control, without transmit locks.
 */
void ipoib_conn_event(struct ipoib_conn *conn, enum ipoib_conn_event event)
{
	struct ipoib_conn_step step;
	struct ipoib_cm_tx *link = conn->link;

	event = conn_judge(conn, event);
	step = ipoib_conn_step(conn->state, event);
	if (step.next == conn->state && !step.todo)
		return;
	trace_ipoib_connection(conn->cm->intf, conn->key.gid.raw, be32_to_cpu(conn->key.qpn),
			       conn->state, event, step.next);
	ipoib_conn_turns(conn, step.next);
	if (step.todo & IPOIB_CONN_DO_FORGET)
		conn_unhash(conn);
	if (conn->state == IPOIB_CONN_UP) {
		WRITE_ONCE(conn->down_since, jiffies);
		WRITE_ONCE(conn->was_up, true);
	}
	conn_switch(conn, step);
	if (step.todo & (IPOIB_CONN_DO_ABORT | IPOIB_CONN_DO_CLOSE)) {
		WRITE_ONCE(conn->link, NULL);
		if (link)
			ipoib_cm_tx_end(link, step.todo & IPOIB_CONN_DO_CLOSE);
	}
	if (step.todo & IPOIB_CONN_DO_BACKOFF)
		conn_back_off(conn);
	if (step.todo & IPOIB_CONN_DO_ASK_PATH)
		conn_ask_path(conn);
	else if (step.todo & IPOIB_CONN_DO_CONNECT)
		conn_connect(conn);
	else if (step.todo & IPOIB_CONN_DO_FORGET)
		conn_forget(conn);
	else if (step.next == IPOIB_CONN_NEW &&
		 !skb_queue_empty_lockless(&conn->hold.packets))
		ipoib_cm_note(&conn->item, IPOIB_CONN_EV_PACKET);
}

/*
 * Only control removes entries, and it is here; senders add at the tail, which is
 * where the walk ends.
 */
static struct ipoib_conn *conn_next(struct ipoib_cm *cm, struct ipoib_conn *from,
				    struct ipoib_conn *last)
{
	struct ipoib_conn *conn = NULL;

	spin_lock_bh(&cm->conn_lock);
	if (from != last)
		conn = list_next_entry(from, all);
	spin_unlock_bh(&cm->conn_lock);
	return conn;
}

static struct ipoib_conn *conn_ends(struct ipoib_cm *cm, struct ipoib_conn **last)
{
	struct ipoib_conn *first = NULL;

	spin_lock_bh(&cm->conn_lock);
	if (!list_empty(&cm->conn_list)) {
		first = list_first_entry(&cm->conn_list, struct ipoib_conn, all);
		*last = list_last_entry(&cm->conn_list, struct ipoib_conn, all);
	}
	spin_unlock_bh(&cm->conn_lock);
	return first;
}

/**
 * ipoib_conns_event - the same event for every connection there is now
 * @cm: connected mode
 * @event: what has happened
 *
 * Context: control.
 */
void ipoib_conns_event(struct ipoib_cm *cm, enum ipoib_conn_event event)
{
	struct ipoib_conn *conn, *next, *last;

	for (conn = conn_ends(cm, &last); conn; conn = next) {
		next = conn_next(cm, conn, last);
		ipoib_conn_event(conn, event);
	}
}

/**
 * ipoib_cm_port_lost - give up on what waits for connections
 * @intf: interface whose port is not active
 *
 * Context: all transmit locks.
 */
void ipoib_cm_port_lost(struct ipoib_intf *intf)
{
	struct ipoib_cm *cm = intf->cm;
	struct ipoib_conn *conn;

	if (!cm)
		return;
	spin_lock(&cm->conn_lock);
	list_for_each_entry(conn, &cm->conn_list, all) {
		list_del_init(&conn->backlog);
		ipoib_hold_drop(intf, &conn->hold, SKB_DROP_REASON_DEV_READY);
	}
	spin_unlock(&cm->conn_lock);
}

static void conns_forget(struct ipoib_cm *cm, unsigned long age)
{
	struct ipoib_conn *conn, *next, *last;

	for (conn = conn_ends(cm, &last); conn; conn = next) {
		next = conn_next(cm, conn, last);
		/* Early, it would be asked again, and its packets would wait. */
		if (age < CONN_IDLE && conn->state == IPOIB_CONN_DATAGRAM &&
		    time_before(jiffies, conn->ask_at))
			continue;
		if (time_after(jiffies, READ_ONCE(conn->used) + age))
			ipoib_conn_event(conn, IPOIB_CONN_EV_IDLE);
	}
}

/**
 * ipoib_conns_tick - forget who has not been sent to for long
 * @cm: connected mode
 *
 * The more there are, the shorter is long.
 *
 * Context: control.
 */
void ipoib_conns_tick(struct ipoib_cm *cm)
{
	unsigned long age = CONN_IDLE;

	conns_forget(cm, age);
	if (ipoib_conn_count(cm) < IPOIB_CONNS_MAX / 4 * 3)
		return;
	while (ipoib_conn_count(cm) > IPOIB_CONNS_MAX / 2 && age / 2 >= CONN_IN_USE) {
		age /= 2;
		conns_forget(cm, age);
	}
}

/**
 * ipoib_cm_path_known - the SA has answered
 * @path: path with an address handle
 * @moved: the answer differs from the one before
 *
 * Context: control.
 */
void ipoib_cm_path_known(struct ipoib_path *path, bool moved)
{
	struct ipoib_conn *conn, *next;

	list_for_each_entry_safe(conn, next, &path->conns, on_path) {
		if (moved)
			ipoib_conn_event(conn, IPOIB_CONN_EV_MOVED);
		ipoib_conn_take_turn(conn);
	}
}

/**
 * ipoib_cm_path_gone - there is no way to the port any more
 * @path: path about to be freed
 *
 * Context: control.
 */
void ipoib_cm_path_gone(struct ipoib_path *path)
{
	struct ipoib_conn *conn, *next;

	list_for_each_entry_safe(conn, next, &path->conns, on_path)
		ipoib_conn_event(conn, IPOIB_CONN_EV_NOPATH);
}
