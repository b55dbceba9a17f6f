// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Asynchronous events of the HCA (IBA 11.6.3), and what they make us forget.
 *
 * The handler only notes the level and wakes the control queue; a port that has
 * gone down loses its carrier at once, whatever the queue is busy with.
 */
#include "accel.h"
#include "gid.h"
#include "ipoib.h"
#include "ipoib_trace.h"
#include "mcast.h"
#include "path.h"

#define GC_INTERVAL	(30 * HZ)
#define RESTART_INTERVAL	HZ
#define DEST_IDLE	(300 * HZ)
/* One that has been used since is in use, however many there are. */
#define DEST_IN_USE	(5 * HZ)
#define GC_INTERVAL_MANY	(5 * HZ)

/**
 * ipoib_flush - have the control queue flush
 * @intf: interface
 * @level: how much
 *
 * Context: any.
 */
void ipoib_flush(struct ipoib_intf *intf, enum ipoib_flush level)
{
	set_bit(level, &intf->flush);
	queue_work(intf->wq, &intf->flush_work);
}

/**
 * ipoib_start_later - the queue pairs could not be started: try again soon
 * @intf: interface that is up
 *
 * Context: control.
 */
void ipoib_start_later(struct ipoib_intf *intf)
{
	mod_delayed_work(intf->wq, &intf->gc_work, RESTART_INTERVAL);
}

/**
 * ipoib_carrier_update - carrier is an active port, the broadcast group, and to hear it
 * @intf: interface
 *
 * Context: control.
 */
void ipoib_carrier_update(struct ipoib_intf *intf)
{
	if (intf->up && intf->running && intf->broadcast &&
	    intf->broadcast->dest.ah && intf->port_state == IB_PORT_ACTIVE &&
	    !ipoib_accel_is_deaf(intf))
		netif_carrier_on(intf->dev);
	else
		netif_carrier_off(intf->dev);
}

/* Learn the port's state and LID again. Return: false if it cannot be asked. */
static bool events_query_port(struct ipoib_intf *intf)
{
	struct ib_port_attr attr;

	if (ib_query_port(intf->ca, intf->port, &attr))
		return false;
	WRITE_ONCE(intf->port_state, attr.state);
	WRITE_ONCE(intf->lid, attr.lid);
	return true;
}

/* Return: true if the GID in the hardware address is no longer the port's. */
static bool events_query_gid(struct ipoib_intf *intf)
{
	union ib_gid gid;

	if (ipoib_gid_query(intf, &gid) ||
	    !memcmp(&gid, &intf->local_gid, sizeof(gid)))
		return false;
	ipoib_tx_lock_all(intf->dev);
	intf->local_gid = gid;
	ipoib_tx_unlock_all(intf->dev);
	ipoib_intf_notify_stack(intf);
	return true;
}

/* Return: true if the queue pair must start afresh with another index. */
static bool events_query_pkey(struct ipoib_intf *intf, bool *found)
{
	u16 index;

	*found = !ib_find_pkey(intf->ca, intf->port, intf->pkey, &index);
	if (!*found)
		return true;
	if (index == intf->pkey_index && intf->running)
		return false;
	intf->pkey_index = index;
	return true;
}

/* Return: false if nothing was done: the table has changed for others. */
static bool flush_heavy(struct ipoib_intf *intf, bool restart)
{
	bool found;

	if (!events_query_pkey(intf, &found) && !restart)
		return false;
	if (!found && intf->running)
		netdev_info(intf->dev, "P_Key 0x%04x has left the port's table\n",
			    intf->pkey);
	intf->data->stop(intf);
	ipoib_cm_restart_rx(intf);
	if (found && intf->data->start(intf))
		ipoib_start_later(intf);
	return true;
}

/* Return: all levels that were asked for, as bits; the highest is counted. */
static unsigned long flush_take(struct ipoib_intf *intf)
{
	unsigned long asked = xchg(&intf->flush, 0);
	enum ipoib_flush level = __fls(asked);

	ipoib_count(&intf->stat_flushes[level], 1);
	trace_ipoib_flush(intf, level);
	netdev_dbg(intf->dev, "flush level %d\n", level);
	return asked;
}

/* Not forgotten: gc_work comes back to it. */
static void flush_later(struct ipoib_intf *intf, unsigned long asked)
{
	unsigned int level;

	for_each_set_bit(level, &asked, BITS_PER_LONG)
		set_bit(level, &intf->flush);
	if (intf->up)
		ipoib_start_later(intf);
}

static void events_flush_work(struct work_struct *work)
{
	struct ipoib_intf *intf = container_of(work, struct ipoib_intf,
					       flush_work);
	unsigned long asked;

	if (!READ_ONCE(intf->flush))
		return;
	asked = flush_take(intf);
	if (!events_query_port(intf)) {
		flush_later(intf, asked);
		return;
	}
	/* Or if nobody has looked since the interface was made. */
	if (asked >= BIT(IPOIB_FLUSH_HEAVY) || !intf->pkey_first)
		ipoib_pkey_follow(intf);
	if (events_query_gid(intf))
		asked |= BIT(IPOIB_FLUSH_NORMAL);
	if (!intf->up)
		return;
	if (intf->port_state != IB_PORT_ACTIVE)
		ipoib_dests_port_lost(intf);
	if (asked >= BIT(IPOIB_FLUSH_HEAVY) &&
	    flush_heavy(intf, asked & BIT(IPOIB_FLUSH_RESTART)))
		asked |= BIT(IPOIB_FLUSH_NORMAL);
	if (asked & BIT(IPOIB_FLUSH_NORMAL)) {
		ipoib_cm_reset(intf);
		ipoib_paths_forget_ah(intf);
		ipoib_mcast_restart(intf);
	} else {
		if (asked & BIT(IPOIB_FLUSH_LIGHT))
			ipoib_paths_mark_stale(intf);
		ipoib_mcast_retry(intf);
	}
	ipoib_carrier_update(intf);
}

static void events_handle(struct ib_event_handler *handler,
			  struct ib_event *event)
{
	struct ipoib_intf *intf = container_of(handler, struct ipoib_intf,
					       event_handler);

	/* Of the whole HCA, whichever port it names. Its driver resets or removes it. */
	if (event->event == IB_EVENT_DEVICE_FATAL) {
		netdev_err(intf->dev, "the HCA has failed\n");
		netif_carrier_off(intf->dev);
		return;
	}
	if (event->element.port_num != intf->port)
		return;
	switch (event->event) {
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
		ipoib_flush(intf, IPOIB_FLUSH_LIGHT);
		break;
	case IB_EVENT_PORT_ERR:
		netif_carrier_off(intf->dev);
		fallthrough;
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_LID_CHANGE:
		ipoib_flush(intf, IPOIB_FLUSH_NORMAL);
		break;
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_GID_CHANGE:
		ipoib_flush(intf, IPOIB_FLUSH_HEAVY);
		break;
	default:
		break;
	}
}

static void dest_destroy(struct ipoib_dest *dest)
{
	if (ipoib_dest_is_mcast(dest))
		ipoib_mcast_destroy(ipoib_mcast_of(dest));
	else
		ipoib_path_destroy(ipoib_path_of(dest));
}

static void gc_forget(struct ipoib_intf *intf, unsigned long age)
{
	struct ipoib_dest *dest, *next;
	LIST_HEAD(idle);

	ipoib_tx_lock_all(intf->dev);
	spin_lock(&intf->dest_lock);
	list_for_each_entry_safe(dest, next, &intf->dest_list, all)
		if (time_after(jiffies, dest->used + age) &&
		    (ipoib_dest_is_mcast(dest) ?
		     ipoib_mcast_of(dest)->sendonly :
		     ipoib_path_is_idle(ipoib_path_of(dest))))
			list_move_tail(&dest->all, &idle);
	spin_unlock(&intf->dest_lock);
	ipoib_tx_unlock_all(intf->dev);

	list_for_each_entry_safe(dest, next, &idle, all)
		dest_destroy(dest);
}

/* Of many destinations, those go first that have not been used for longest. */
static void gc_forget_idle(struct ipoib_intf *intf)
{
	unsigned long age = DEST_IDLE;

	gc_forget(intf, age);
	if (ipoib_dest_count(intf) < IPOIB_DESTS_MANY)
		return;
	while (ipoib_dest_count(intf) > IPOIB_DESTS_MAX / 2 && age / 2 >= DEST_IN_USE) {
		age /= 2;
		gc_forget(intf, age);
	}
}

static void gc_work(struct work_struct *work)
{
	struct ipoib_intf *intf = container_of(to_delayed_work(work),
					       struct ipoib_intf, gc_work);

	if (!intf->up)
		return;
	gc_forget_idle(intf);
	if (!intf->running)
		ipoib_flush(intf, IPOIB_FLUSH_HEAVY);
	else if (READ_ONCE(intf->flush))
		queue_work(intf->wq, &intf->flush_work);
	queue_delayed_work(intf->wq, &intf->gc_work, ipoib_dest_count(intf) < IPOIB_DESTS_MANY ?
			   GC_INTERVAL : GC_INTERVAL_MANY);
}

static void reap_work(struct work_struct *work)
{
	ipoib_ah_reap(container_of(work, struct ipoib_intf, reap_work), false);
}

/**
 * ipoib_up - start the queue pair and all that uses it
 * @intf: interface that is down
 *
 * Context: control.
 * Return: 0 or a negative error; the interface stays down then.
 */
int ipoib_up(struct ipoib_intf *intf)
{
	bool found;
	int err;

	if (!events_query_port(intf))
		return -ENODEV;
	events_query_gid(intf);
	intf->up = true;
	events_query_pkey(intf, &found);
	if (found) {
		err = intf->data->start(intf);
		if (err)
			goto err_down;
	} else {
		netdev_info(intf->dev, "P_Key 0x%04x is not in the port's table yet\n",
			    intf->pkey);
	}
	err = ipoib_cm_start(intf);
	if (err)
		goto err_stop;
	err = ipoib_mcast_start(intf);
	if (err)
		goto err_stop_cm;
	queue_delayed_work(intf->wq, &intf->gc_work, GC_INTERVAL);
	return 0;

err_stop_cm:
	ipoib_cm_stop(intf);
err_stop:
	intf->data->stop(intf);
err_down:
	intf->up = false;
	return err;
}

static void up_work(struct work_struct *work)
{
	struct ipoib_intf *intf = container_of(work, struct ipoib_intf,
					       up_work);

	intf->up_error = ipoib_up(intf);
}

/**
 * ipoib_down - the reverse; every destination is forgotten
 * @intf: interface
 *
 * Context: control.
 */
void ipoib_down(struct ipoib_intf *intf)
{
	struct ipoib_dest *dest, *next;

	intf->up = false;
	netif_carrier_off(intf->dev);
	intf->data->stop(intf);
	cancel_delayed_work_sync(&intf->gc_work);
	cancel_delayed_work_sync(&intf->mcast_work);
	ipoib_cm_stop(intf);
	/* Nothing is added any more: senders are refused since the stop. */
	list_for_each_entry_safe(dest, next, &intf->dest_list, all)
		dest_destroy(dest);
	ipoib_join_forget(intf);
	ipoib_ah_reap(intf, true);
}

static void down_work(struct work_struct *work)
{
	ipoib_down(container_of(work, struct ipoib_intf, down_work));
}

/**
 * ipoib_events_init - the work items of the control queue
 * @intf: interface being made
 */
void ipoib_events_init(struct ipoib_intf *intf)
{
	INIT_WORK(&intf->up_work, up_work);
	INIT_WORK(&intf->down_work, down_work);
	INIT_WORK(&intf->flush_work, events_flush_work);
	INIT_WORK(&intf->reap_work, reap_work);
	INIT_DELAYED_WORK(&intf->mcast_work, ipoib_mcast_work);
	INIT_DELAYED_WORK(&intf->gc_work, gc_work);
	init_waitqueue_head(&intf->drained);
	INIT_IB_EVENT_HANDLER(&intf->event_handler, intf->ca, events_handle);
}
