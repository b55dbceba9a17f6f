// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Paths: from a port GID to an address handle through the SA's path records
 * (IBA 15.2.5.16).
 *
 * The first packet to a GID makes the path and asks; packets wait meanwhile. A
 * path in use is asked for again when an event or a packet says that the record
 * may be out of date, and its handle stays in use until the answer has come.
 *
 * Of all paths of an interface no more than PATH_ASKED_MAX are asked for at a time: after an
 * event that makes all of them out of date, the SA has the queries of every node to answer.
 * Those in use come before new ones. What the SA has not answered within PATH_LATE is repeated
 * by the kernel, ten times in all; the repeats of many nodes are more for an SA that is behind
 * already, until it answers nothing in time. So fewer are asked for once answers are late, half
 * as many each time, and one more for each round of answers that are not.
 *
 * Another SM makes the records of all nodes out of date at once, mostly for nothing. So what is
 * in use goes on, and each of its paths is asked for within PATH_SPREAD, at a time that differs
 * from node to node: all at once would be more than the new SM can answer. What is known to have
 * changed is asked for at once.
 *
 * Whoever sends ARP requests or neighbour solicitations can invent GIDs, and each answer makes
 * a path. So only PATHS_FRESH_MAX may wait to be told for the first time, half of them for such
 * answers, and once there are many of those, "no such port" is final when said twice.
 *
 * A query that fails is repeated with increasing delay, which differs from node to node. After
 * PATH_ATTEMPTS_MAX failures in a row the waiting packets are dropped and the
 * path is forgotten; the next packet starts afresh.
 *
 * Packets wait for all of this, and they may be what frees memory, so nothing here
 * may start I/O to get some.
 *
 * Lifetime: made by a sender, destroyed by control. The SA's callback only
 * hands the answer over to the control queue.
 */
#include <linux/random.h>
#include <linux/sched/mm.h>

#include "answer.h"
#include "ipoib_trace.h"
#include "path.h"

#define PATH_QUERY_TIMEOUT_MS	1000
#define PATH_RETRY_MS		100
#define PATH_ATTEMPTS_MAX	6
#define PATH_SPREAD		HZ
#define PATH_ASKED_MAX		64
#define PATH_ASKED_MIN		8
#define PATH_LATE		(HZ / 10)
#define PATH_HEARD_MIN		HZ
#define PATH_HEARD_MAX		(60 * HZ)
#define PATHS_FRESH_MAX		1024
#define PATHS_FRESH_MANY	(PATHS_FRESH_MAX / 4)
/* What the kernel says of an answer that tells of no path, but also of a busy SA's. */
#define PATH_NONE		(-EINVAL)
#define PATH_COMP_MASK \
	(IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID | IB_SA_PATH_REC_PKEY | \
	 IB_SA_PATH_REC_TRAFFIC_CLASS | IB_SA_PATH_REC_NUMB_PATH)

static void path_answer(int status, struct sa_path_rec *rec,
			compat_num_prs num_prs, void *context)
{
	struct ipoib_path *path = context;

	path->answered_at = jiffies;
	path->status = status ? status : rec ? 0 : -ENOENT;
	if (!path->status)
		path->rec = *rec;
	queue_work(path->intf->wq, &path->answer_work);
	complete(&path->answered);
}

static void path_retry(struct ipoib_path *path)
{
	unsigned long delay = PATH_RETRY_MS << path->attempts++;

	delay += get_random_u32() % (delay / 4);
	queue_delayed_work(path->intf->wq, &path->query_work,
			   msecs_to_jiffies(delay));
}

static bool path_is_needed(struct ipoib_path *path)
{
	return path->dest.ah || !list_empty(&path->conns) ||
	       !skb_queue_empty_lockless(&path->dest.hold.packets);
}

/* It has been told, or is forgotten. */
static void path_not_fresh(struct ipoib_path *path)
{
	if (test_and_clear_bit(IPOIB_PATH_FRESH, &path->state))
		atomic_dec(&path->intf->path.fresh);
}

/* One of many that nobody has heard of: it must not keep others from being asked for. */
static bool path_is_invented(const struct ipoib_path *path, int answer)
{
	return answer == PATH_NONE && path->attempts && test_bit(IPOIB_PATH_FRESH, &path->state) &&
	       atomic_read(&path->intf->path.fresh) > PATHS_FRESH_MANY;
}

/* @answer: status of what the SA has said, 0 if it is not to blame */
static void path_failed(struct ipoib_path *path, int answer)
{
	struct ipoib_intf *intf = path->intf;

	trace_ipoib_path(intf, &path->dest.gid, path->status, 0);
	if (path->attempts < PATH_ATTEMPTS_MAX && path_is_needed(path) &&
	    !path_is_invented(path, answer)) {
		path_retry(path);
		return;
	}
	/* An SA that is silent, or wrong, says nothing against the record we have. */
	if (path->dest.ah &&
	    (path->status == -ETIMEDOUT || path->status == IPOIB_ANSWER_WRONG)) {
		path->attempts = 0;
		set_bit(IPOIB_PATH_STALE, &path->state);
		clear_bit(IPOIB_PATH_BUSY, &path->state);
		ipoib_cm_path_known(path, false);
		return;
	}
	netdev_dbg(intf->dev, "no path to %pI6: error %d\n",
		   path->dest.gid.raw, path->status);
	ipoib_path_destroy(path);
}

static u32 path_window(const struct ipoib_path_turns *turns)
{
	return PATH_ASKED_MAX - turns->fewer;
}

/* Return: true if the SA may be asked for it now; else its turn comes. */
static bool path_may_ask(struct ipoib_path *path)
{
	struct ipoib_intf *intf = path->intf;

	if (path->asking)
		return true;
	if (intf->path.asked < path_window(&intf->path)) {
		WRITE_ONCE(intf->path.asked, intf->path.asked + 1);
		path->asking = true;
		return true;
	}
	if (path->dest.ah)
		list_add(&path->wait, &intf->path.wait);
	else
		list_add_tail(&path->wait, &intf->path.wait);
	return false;
}

/* The SA has answered, or will not: the next paths' turn. */
static void path_asked(struct ipoib_path *path)
{
	struct ipoib_path_turns *turns = &path->intf->path;
	struct ipoib_path *next;
	u32 asked = turns->asked;

	list_del_init(&path->wait);
	if (!path->asking)
		return;
	path->asking = false;
	asked--;
	while (asked < path_window(turns) && !list_empty(&turns->wait)) {
		next = list_first_entry(&turns->wait, struct ipoib_path, wait);
		next->asking = true;
		list_del_init(&next->wait);
		queue_delayed_work(path->intf->wq, &next->query_work, 0);
		asked++;
	}
	WRITE_ONCE(turns->asked, asked);
}

/* The SA has answered, in time or not: how many it is asked for at a time. */
static void path_set_window(struct ipoib_path *path)
{
	struct ipoib_path_turns *turns = &path->intf->path;
	u32 window = path_window(turns);

	if (path->status != -ETIMEDOUT &&
	    time_before_eq(path->answered_at, path->asked_at + PATH_LATE)) {
		/* What is refused at once may be so by an SA that is busy. */
		turns->in_time += !path->status;
		if (turns->in_time < window)
			return;
		window = min(window + 1, (u32)PATH_ASKED_MAX);
	} else if (!turns->fewer || time_after(path->asked_at, turns->narrowed_at)) {
		window = max(window / 2, (u32)PATH_ASKED_MIN);
		turns->narrowed_at = jiffies;
	}
	turns->fewer = PATH_ASKED_MAX - window;
	turns->in_time = 0;
}

static void path_query(struct work_struct *work)
{
	struct ipoib_path *path = container_of(to_delayed_work(work),
					       struct ipoib_path, query_work);
	struct ipoib_intf *intf = path->intf;
	struct sa_path_rec rec = {
		.rec_type = SA_PATH_REC_TYPE_IB,
		.dgid = path->dest.gid,
		.sgid = intf->local_gid,
		.pkey = cpu_to_be16(intf->pkey),
		.numb_path = 1,
	};

	unsigned int noio;

	clear_bit(IPOIB_PATH_SPREAD, &path->state);
	if (!path_may_ask(path))
		return;
	noio = memalloc_noio_save();
	clear_bit(IPOIB_PATH_STALE, &path->state);
	ipoib_count(&intf->stat_path_queries, 1);
	path->asked_at = jiffies;
	reinit_completion(&path->answered);
	path->query_id = ib_sa_path_rec_get(&ipoib_sa_client, intf->ca,
					    intf->port, &rec, PATH_COMP_MASK,
					    PATH_QUERY_TIMEOUT_MS, GFP_KERNEL,
					    path_answer, path, &path->query);
	memalloc_noio_restore(noio);
	if (path->query_id >= 0)
		return;
	path->query = NULL;
	path->status = path->query_id;
	complete(&path->answered);
	path_asked(path);
	path_failed(path, 0);
}

/* Does a connection along one record lead along the other as well? */
static bool path_same_way(struct sa_path_rec *a, struct sa_path_rec *b)
{
	return sa_path_get_dlid(a) == sa_path_get_dlid(b) &&
	       sa_path_get_slid(a) == sa_path_get_slid(b) &&
	       !memcmp(&a->sgid, &b->sgid, sizeof(a->sgid)) &&
	       a->sl == b->sl && a->mtu == b->mtu && a->rate == b->rate &&
	       a->hop_limit == b->hop_limit && a->flow_label == b->flow_label &&
	       a->traffic_class == b->traffic_class;
}

static void path_use_record(struct ipoib_path *path)
{
	bool moved = !path_same_way(&path->rec, &path->current_rec);

	path->current_rec = path->rec;
	ipoib_cm_path_known(path, moved);
}

static void path_accept(struct work_struct *work)
{
	struct ipoib_path *path = container_of(work, struct ipoib_path,
					       answer_work);
	struct ipoib_intf *intf = path->intf;
	struct rdma_ah_attr attr = {};
	int answer = path->status;
	u32 dlid;

	path->query = NULL;
	path_set_window(path);
	path_asked(path);
	if (!path->status)
		path->status = ipoib_answer_path(intf, &path->dest.gid, &path->rec);
	if (!path->status)
		path->status = ib_init_ah_attr_from_path(intf->ca, intf->port,
							 &path->rec, &attr,
							 NULL);
	if (!path->status) {
		unsigned int noio = memalloc_noio_save();

		path->status = ipoib_dest_set_ah(intf, &path->dest, &attr);
		memalloc_noio_restore(noio);
		rdma_destroy_ah_attr(&attr);
	}
	if (path->status) {
		path_failed(path, answer);
		return;
	}
	dlid = be32_to_cpu(sa_path_get_dlid(&path->rec));
	if (dlid != path->dlid)
		WRITE_ONCE(path->heard_wait, PATH_HEARD_MIN);
	WRITE_ONCE(path->dlid, dlid);
	trace_ipoib_path(intf, &path->dest.gid, 0, path->dlid);
	path->attempts = 0;
	path_not_fresh(path);
	clear_bit(IPOIB_PATH_BUSY, &path->state);
	path_use_record(path);
}

/**
 * ipoib_path_admit - may a sender add a path
 * @intf: interface
 * @asked: it is for an answer of ARP or neighbour discovery
 *
 * Context: transmit queue lock.
 * Return: false if there are too many destinations, or too many that the SA has not told yet;
 * it is counted.
 */
bool ipoib_path_admit(struct ipoib_intf *intf, bool asked)
{
	int most = asked ? PATHS_FRESH_MAX / 2 : PATHS_FRESH_MAX;

	if (likely(atomic_read(&intf->path.fresh) < most))
		return ipoib_dest_admit(intf);
	ipoib_dest_refused(intf);
	return false;
}

/**
 * ipoib_path_create - a path for a GID that has none
 * @intf: interface
 * @gid: port GID
 *
 * Context: transmit queue lock.
 * Return: the destination, or NULL without memory.
 */
struct ipoib_dest *ipoib_path_create(struct ipoib_intf *intf,
				     const union ib_gid *gid)
{
	struct ipoib_path *path = kzalloc(sizeof(*path), GFP_ATOMIC);

	if (!path)
		return NULL;
	ipoib_dest_init(&path->dest, gid);
	path->intf = intf;
	path->state = BIT(IPOIB_PATH_FRESH);
	init_completion(&path->answered);
	complete(&path->answered);
	INIT_DELAYED_WORK(&path->query_work, path_query);
	INIT_WORK(&path->answer_work, path_accept);
	INIT_LIST_HEAD(&path->conns);
	INIT_LIST_HEAD(&path->wait);
	atomic_inc(&intf->path.fresh);
	if (ipoib_dest_insert(intf, &path->dest)) {
		atomic_dec(&intf->path.fresh);
		kfree(path);
		return NULL;
	}
	return &path->dest;
}

/**
 * ipoib_path_resolve - ask the SA unless that is under way
 * @path: path
 *
 * Context: any, while the path cannot be destroyed.
 */
void ipoib_path_resolve(struct ipoib_path *path)
{
	unsigned long delay = 0;

	if (test_and_set_bit(IPOIB_PATH_BUSY, &path->state))
		return;
	if (test_bit(IPOIB_PATH_SPREAD, &path->state))
		delay = get_random_u32() % PATH_SPREAD;
	queue_delayed_work(path->intf->wq, &path->query_work, delay);
}

/**
 * ipoib_path_hurry - packets wait: what is to be asked within a second is asked now
 * @path: path
 *
 * Context: control.
 */
void ipoib_path_hurry(struct ipoib_path *path)
{
	if (test_and_clear_bit(IPOIB_PATH_SPREAD, &path->state) &&
	    delayed_work_pending(&path->query_work))
		mod_delayed_work(path->intf->wq, &path->query_work, 0);
}

/**
 * ipoib_path_changed - the record may well be wrong; ask at the next send, without delay
 * @path: path; a query that is due already keeps its time
 *
 * Context: any, while the path cannot be freed.
 */
void ipoib_path_changed(struct ipoib_path *path)
{
	clear_bit(IPOIB_PATH_SPREAD, &path->state);
	set_bit(IPOIB_PATH_STALE, &path->state);
}

/**
 * ipoib_path_destroy - forget a path
 * @path: path
 *
 * Context: control. Waits for the SA's callback, which waits for nothing; may be
 * called from the path's own work: one of the two items is pending at a time, so
 * then there is no other to wait for.
 */
void ipoib_path_destroy(struct ipoib_path *path)
{
	struct ipoib_intf *intf = path->intf;
	bool own = current_work() == &path->query_work.work ||
		   current_work() == &path->answer_work;

	ipoib_dest_unlink(intf, &path->dest);
	ipoib_cm_path_gone(path);
	if (!own)
		cancel_delayed_work_sync(&path->query_work);
	if (path->query)
		ib_sa_cancel_query(path->query_id, path->query);
	wait_for_completion(&path->answered);
	if (!own)
		cancel_work_sync(&path->answer_work);
	path_asked(path);
	path_not_fresh(path);
	kfree_rcu(path, dest.rcu);
}

static void path_mark_stale(struct ipoib_path *path)
{
	if (path->dest.ah && !test_bit(IPOIB_PATH_STALE, &path->state))
		set_bit(IPOIB_PATH_SPREAD, &path->state);
	set_bit(IPOIB_PATH_STALE, &path->state);
}

/**
 * ipoib_paths_mark_stale - ask for every path again when it is next used, but not all at once
 * @intf: interface
 *
 * Context: control.
 */
void ipoib_paths_mark_stale(struct ipoib_intf *intf)
{
	struct ipoib_dest *dest;

	spin_lock_bh(&intf->dest_lock);
	list_for_each_entry(dest, &intf->dest_list, all)
		if (!ipoib_dest_is_mcast(dest))
			path_mark_stale(ipoib_path_of(dest));
	spin_unlock_bh(&intf->dest_lock);
}

/**
 * ipoib_paths_forget_ah - let packets wait until every path is known again
 * @intf: interface
 *
 * Context: control. Only control removes entries, so the list may be walked
 * without its lock as long as additions at its tail are seen or not.
 */
void ipoib_paths_forget_ah(struct ipoib_intf *intf)
{
	struct ipoib_dest *dest, *last;

	spin_lock_bh(&intf->dest_lock);
	last = list_empty(&intf->dest_list) ? NULL :
	       list_last_entry(&intf->dest_list, struct ipoib_dest, all);
	spin_unlock_bh(&intf->dest_lock);
	if (!last)
		return;
	list_for_each_entry(dest, &intf->dest_list, all) {
		if (!ipoib_dest_is_mcast(dest)) {
			set_bit(IPOIB_PATH_STALE, &ipoib_path_of(dest)->state);
			ipoib_path_hurry(ipoib_path_of(dest));
			ipoib_dest_clear_ah(intf, dest);
		}
		if (dest == last)
			break;
	}
}

/**
 * ipoib_path_heard - a port was heard from; is its LID the one we use
 * @intf: interface
 * @gid: GID the packet came from
 * @slid: LID it came from
 *
 * A port that moved to another LID announces itself by ARP or neighbour
 * discovery long before the SA tells us. Asks again when the LID is a new one,
 * at most once a second for a path. A port may legitimately use any of its LIDs, if it
 * has several (LMC, IBA 4.1.3): so each time that this has led to nothing we wait for longer,
 * up to a minute.
 *
 * Context: NAPI.
 */
void ipoib_path_heard(struct ipoib_intf *intf, const union ib_gid *gid,
		      u32 slid)
{
	struct ipoib_dest *dest;
	struct ipoib_path *path;
	unsigned long wait;

	rcu_read_lock();
	dest = ipoib_dest_find(intf, gid);
	if (!dest || ipoib_dest_is_mcast(dest))
		goto out;
	path = ipoib_path_of(dest);
	wait = max_t(unsigned long, READ_ONCE(path->heard_wait), PATH_HEARD_MIN);
	if (!READ_ONCE(path->dlid) || READ_ONCE(path->dlid) == slid ||
	    (path->heard &&
	     time_before(jiffies, path->heard + wait)))
		goto out;
	path->heard = jiffies;
	WRITE_ONCE(path->heard_wait, min_t(unsigned long, 2 * wait, PATH_HEARD_MAX));
	ipoib_path_changed(path);
out:
	rcu_read_unlock();
}
