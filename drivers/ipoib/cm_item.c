// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Objects of connected mode that events happen to, and commands to the HCA for them.
 *
 * Whoever notices something (a sender, NAPI, a callback of the CM or of the HCA)
 * sets a bit in the object's item and puts the item on the ready list; the control
 * queue takes it off and acts. An item that has ended is not put on the list any
 * more, so an object may be freed a grace period after that.
 *
 * A HCA may take seconds to make or change a queue pair. Control must not wait for that: it
 * has the carrier, joins and all other peers to see to. Such a command runs on a queue of its
 * own, several at a time. Until it is done, the object is the command's: what happens to it
 * meanwhile waits in the item, and comes to the object with the command's end.
 */
#include <linux/sched/mm.h>

#include "cm.h"

/* HCAs take some commands at a time, and let others wait. */
#define COMMANDS_MAX	16

static void item_command_work(struct work_struct *work)
{
	struct ipoib_cm_item *item = container_of(work, struct ipoib_cm_item, work);
	unsigned int noio = memalloc_noio_save();
	struct ipoib_cm *cm = item->cm;

	item->error = item->command(item);
	memalloc_noio_restore(noio);
	spin_lock_irq(&cm->ready_lock);
	__set_bit(IPOIB_CM_COMMANDED, &item->events);
	list_add_tail(&item->ready, &cm->ready);
	spin_unlock_irq(&cm->ready_lock);
	/* Control may have freed the item by now. */
	queue_work(cm->intf->wq, &cm->work);
}

/**
 * ipoib_cm_item_init - an object without events
 * @cm: connected mode
 * @item: part of the object
 * @handle: called on the control queue
 */
void ipoib_cm_item_init(struct ipoib_cm *cm, struct ipoib_cm_item *item,
			void (*handle)(struct ipoib_cm_item *item,
				       unsigned long events))
{
	INIT_LIST_HEAD(&item->ready);
	INIT_WORK(&item->work, item_command_work);
	item->cm = cm;
	item->handle = handle;
}

/**
 * ipoib_cm_note - something has happened to an object
 * @item: part of the object
 * @event: bit number
 *
 * Context: any, also with interrupts off.
 */
void ipoib_cm_note(struct ipoib_cm_item *item, unsigned int event)
{
	struct ipoib_cm *cm = item->cm;
	unsigned long flags;
	bool ready;

	spin_lock_irqsave(&cm->ready_lock, flags);
	ready = !item->dead && !item->busy;
	if (!item->dead)
		__set_bit(event, &item->events);
	if (ready && list_empty(&item->ready))
		list_add_tail(&item->ready, &cm->ready);
	spin_unlock_irqrestore(&cm->ready_lock, flags);
	if (ready)
		queue_work(cm->intf->wq, &cm->work);
}

/**
 * ipoib_cm_command - have the HCA do something for an object
 * @item: part of the object, not busy; busy until @IPOIB_CM_COMMANDED comes
 * @command: called on the queue of commands, without I/O in allocations; what it returns is
 *	kept in @item. It waits for the HCA and for callbacks of the CM, never for control.
 *
 * Context: control.
 */
void ipoib_cm_command(struct ipoib_cm_item *item, int (*command)(struct ipoib_cm_item *item))
{
	struct ipoib_cm *cm = item->cm;

	WARN_ON_ONCE(item->busy);
	item->command = command;
	spin_lock_irq(&cm->ready_lock);
	item->busy = true;
	/* What has been noted before waits as well. */
	list_del_init(&item->ready);
	spin_unlock_irq(&cm->ready_lock);
	queue_work(cm->commands, &item->work);
}

/**
 * ipoib_cm_item_end - take no more events
 * @item: part of the object, for which no command runs
 *
 * Context: control. Who still tries to note one must be an RCU reader.
 */
void ipoib_cm_item_end(struct ipoib_cm_item *item)
{
	spin_lock_irq(&item->cm->ready_lock);
	item->dead = true;
	list_del_init(&item->ready);
	spin_unlock_irq(&item->cm->ready_lock);
}

/**
 * ipoib_cm_next_ready - take an object with events off the list
 * @cm: connected mode
 * @events: what has happened to it
 *
 * Context: control.
 * Return: the object's item, which is not busy any more, or NULL.
 */
struct ipoib_cm_item *ipoib_cm_next_ready(struct ipoib_cm *cm, unsigned long *events)
{
	struct ipoib_cm_item *item;

	spin_lock_irq(&cm->ready_lock);
	item = list_first_entry_or_null(&cm->ready, struct ipoib_cm_item,
					ready);
	if (item) {
		list_del_init(&item->ready);
		*events = item->events;
		item->events = 0;
		item->busy = false;
	}
	spin_unlock_irq(&cm->ready_lock);
	return item;
}

/**
 * ipoib_cm_commands_create - make the queue of commands
 * @cm: connected mode being made
 *
 * Return: 0 or -ENOMEM.
 */
int ipoib_cm_commands_create(struct ipoib_cm *cm)
{
	spin_lock_init(&cm->ready_lock);
	INIT_LIST_HEAD(&cm->ready);
	/* A packet that is to write back dirty pages may wait for a connection. */
	cm->commands = alloc_workqueue("ipoib_cm", WQ_UNBOUND | WQ_MEM_RECLAIM, COMMANDS_MAX);
	return cm->commands ? 0 : -ENOMEM;
}

/**
 * ipoib_cm_commands_settle - wait until no command runs
 * @cm: connected mode, of which control gives no command meanwhile
 * @accepts_end: no request of a peer is accepted any more: those whose command has not begun
 *	fail with -ESHUTDOWN
 *
 * Context: control.
 */
void ipoib_cm_commands_settle(struct ipoib_cm *cm, bool accepts_end)
{
	WRITE_ONCE(cm->settling, accepts_end);
	flush_workqueue(cm->commands);
	WRITE_ONCE(cm->settling, false);
}
