// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What an administrator has set survives the interface: when a HCA is unplugged and
 * comes back, its interfaces have the mode, the MTU, the umcast, the queues and the
 * moderation that they had, children as soon as they are made again.
 *
 * Everything here is guarded by rtnl.
 */
#include <linux/rtnetlink.h>

#include "ipoib.h"

/* HCAs whose identity changes each time must not fill the memory. */
#define KEEP_MAX	64

/**
 * struct keep_entry - the settings of an interface that is gone
 * @list: link in keep_list, newest first
 * @node_guid: of its HCA
 * @port: of that
 * @pkey: of its partition
 * @child: it was a child
 * @admin_mtu: MTU set by hand, or 0
 * @connected: connected mode
 * @umcast: groups of user space are left to it
 * @queues: rings, number of queues, moderation
 */
struct keep_entry {
	struct list_head list;
	__be64 node_guid;
	u32 port;
	u16 pkey;
	bool child;
	int admin_mtu;
	bool connected;
	bool umcast;
	struct ipoib_queue_settings queues;
};

static LIST_HEAD(keep_list);
static unsigned int keep_count;

static void keep_forget(struct keep_entry *entry)
{
	list_del(&entry->list);
	keep_count--;
	kfree(entry);
}

static struct keep_entry *keep_find(const struct ipoib_intf *intf)
{
	struct keep_entry *entry;

	ASSERT_RTNL();
	list_for_each_entry(entry, &keep_list, list)
		if (entry->node_guid == intf->ca->node_guid &&
		    entry->port == intf->port && entry->child == !!intf->parent &&
		    /* that of a port's own interface follows the port's table */
		    (!intf->parent || entry->pkey == intf->pkey))
			return entry;
	return NULL;
}

/**
 * ipoib_keep_settings - remember what is set, as the interface goes
 * @intf: interface
 *
 * Context: rtnl.
 */
void ipoib_keep_settings(const struct ipoib_intf *intf)
{
	struct keep_entry *entry = keep_find(intf);

	if (entry)
		keep_forget(entry);
	if (!intf->admin_mtu && !intf->connected && !intf->umcast &&
	    !memchr_inv(&intf->queues, 0, sizeof(intf->queues)))
		return;
	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return;
	if (keep_count == KEEP_MAX)
		keep_forget(list_last_entry(&keep_list, struct keep_entry, list));
	entry->node_guid = intf->ca->node_guid;
	entry->port = intf->port;
	entry->pkey = intf->pkey;
	entry->child = intf->parent;
	entry->admin_mtu = intf->admin_mtu;
	entry->connected = intf->connected;
	entry->umcast = intf->umcast;
	entry->queues = intf->queues;
	list_add(&entry->list, &keep_list);
	keep_count++;
}

/**
 * ipoib_keep_recall - set a new interface up as the one before it
 * @intf: interface that is not registered yet, and has no queues
 *
 * Context: rtnl.
 */
void ipoib_keep_recall(struct ipoib_intf *intf)
{
	struct keep_entry *entry = keep_find(intf);

	if (!entry)
		return;
	intf->admin_mtu = entry->admin_mtu;
	intf->connected = entry->connected;
	intf->umcast = entry->umcast;
	intf->queues = entry->queues;
	keep_forget(entry);
}

/**
 * ipoib_keep_free - forget everything
 *
 * Context: process, the last interface is gone.
 */
void ipoib_keep_free(void)
{
	struct keep_entry *entry, *next;

	rtnl_lock();
	list_for_each_entry_safe(entry, next, &keep_list, list)
		keep_forget(entry);
	rtnl_unlock();
}
