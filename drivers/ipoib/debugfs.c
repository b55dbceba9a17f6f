// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * /sys/kernel/debug/ipoib: for each interface its groups (ib0_mcg), its paths
 * (ib0_path), both as data path knows them (ib0_neighbours), and its connections
 * (ib0_connections). What control writes is only looked at, so an entry shows what
 * it was at some moment of the reading.
 *
 * Two interfaces of one name, in different namespaces, have the files of one of
 * them: there is only one debugfs.
 */
#include <linux/debugfs.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>

#include "ipoib.h"
#include "mcast.h"
#include "path.h"

static struct dentry *debugfs_root;

static void *dests_start(struct seq_file *file, loff_t *pos)
	__acquires(&intf->dest_lock)
{
	struct ipoib_intf *intf = file->private;

	spin_lock_bh(&intf->dest_lock);
	return seq_list_start(&intf->dest_list, *pos);
}

static void *dests_next(struct seq_file *file, void *entry, loff_t *pos)
{
	struct ipoib_intf *intf = file->private;

	return seq_list_next(entry, &intf->dest_list, pos);
}

static void dests_stop(struct seq_file *file, void *entry)
	__releases(&intf->dest_lock)
{
	struct ipoib_intf *intf = file->private;

	spin_unlock_bh(&intf->dest_lock);
}

/**
 * ipoib_debugfs_gid - begin an entry
 * @file: being read
 * @gid: of the entry
 */
void ipoib_debugfs_gid(struct seq_file *file, const union ib_gid *gid)
{
	int i;

	seq_puts(file, "GID: ");
	for (i = 0; i < 16; i += 2)
		seq_printf(file, "%s%x", i ? ":" : "",
			   get_unaligned_be16(gid->raw + i));
	seq_putc(file, '\n');
}

static int mcg_show(struct seq_file *file, void *entry)
{
	struct ipoib_dest *dest = list_entry(entry, struct ipoib_dest, all);
	const struct ipoib_mcast *mcast;

	if (!ipoib_dest_is_mcast(dest))
		return 0;
	mcast = ipoib_mcast_of(dest);
	ipoib_debugfs_gid(file, &dest->gid);
	seq_printf(file,
		   "  created: %10lu\n"
		   "  queuelen: %9u\n"
		   "  complete: %9s\n"
		   "  send_only: %8s\n"
		   "\n",
		   mcast->created,
		   skb_queue_len_lockless(&dest->hold.packets),
		   READ_ONCE(mcast->state) == IPOIB_MCAST_JOINED ? "yes" : "no",
		   READ_ONCE(mcast->sendonly) ? "yes" : "no");
	return 0;
}

static int path_show(struct seq_file *file, void *entry)
{
	struct ipoib_dest *dest = list_entry(entry, struct ipoib_dest, all);
	const struct ipoib_path *path;
	int mbps;
	u16 dlid;
	u8 sl;

	if (ipoib_dest_is_mcast(dest))
		return 0;
	path = ipoib_path_of(dest);
	dlid = READ_ONCE(path->dlid);
	ipoib_debugfs_gid(file, &dest->gid);
	seq_printf(file, "  complete: %6s\n", dlid ? "yes" : "no");
	if (dlid) {
		/* Another record may just take its place: then it is a bit of each. */
		mbps = ib_rate_to_mbps(data_race(path->current_rec.rate));
		sl = data_race(path->current_rec.sl);	/* likewise */
		seq_printf(file,
			   "  DLID:     0x%04x\n"
			   "  SL: %12u\n"
			   "  rate: %8d.%d Gb/sec\n",
			   dlid, sl, mbps / 1000,
			   mbps % 1000 / 100);
	}
	seq_putc(file, '\n');
	return 0;
}

/* Both kinds of destination, as a sender sees them. */
static int neighbours_show(struct seq_file *file, void *entry)
{
	struct ipoib_dest *dest = list_entry(entry, struct ipoib_dest, all);
	bool group = ipoib_dest_is_mcast(dest);
	unsigned long state = group ? 0 : READ_ONCE(ipoib_path_of(dest)->state);

	ipoib_debugfs_gid(file, &dest->gid);
	seq_printf(file,
		   "  kind:     %s\n"
		   "  bucket:   %u\n"
		   "  address:  %s\n"
		   "  asking:   %s\n"
		   "  waiting:  %u packets, %u bytes\n"
		   "  idle:     %u ms\n"
		   "\n",
		   group ? "group" : "port",
		   ipoib_dest_bucket(file->private, dest),
		   READ_ONCE(dest->ah) ? "yes" : "no",
		   test_bit(IPOIB_PATH_BUSY, &state) ? "now" :
		   test_bit(IPOIB_PATH_STALE, &state) ? "at the next packet" : "no",
		   skb_queue_len_lockless(&dest->hold.packets),
		   READ_ONCE(dest->hold.bytes),
		   jiffies_to_msecs(jiffies - READ_ONCE(dest->used)));
	return 0;
}

static const struct seq_operations neighbours_sops = {
	.start = dests_start,
	.next = dests_next,
	.stop = dests_stop,
	.show = neighbours_show,
};
DEFINE_SEQ_ATTRIBUTE(neighbours);

static int connections_show(struct seq_file *file, void *data)
{
	ipoib_cm_show(file->private, file);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(connections);

static const struct seq_operations mcg_sops = {
	.start = dests_start,
	.next = dests_next,
	.stop = dests_stop,
	.show = mcg_show,
};
DEFINE_SEQ_ATTRIBUTE(mcg);

static const struct seq_operations path_sops = {
	.start = dests_start,
	.next = dests_next,
	.stop = dests_stop,
	.show = path_show,
};
DEFINE_SEQ_ATTRIBUTE(path);

static struct dentry *debugfs_file(struct ipoib_intf *intf, const char *what,
				   const struct file_operations *fops)
{
	char name[IFNAMSIZ + sizeof("_connections")];
	struct dentry *taken;

	snprintf(name, sizeof(name), "%s_%s", intf->dev->name, what);
	taken = debugfs_lookup(name, debugfs_root);
	if (!IS_ERR_OR_NULL(taken)) {
		dput(taken);
		return NULL;
	}
	return debugfs_create_file(name, 0444, debugfs_root, intf, fops);
}

/**
 * ipoib_debugfs_add - make an interface's files
 * @intf: interface
 *
 * Context: rtnl, the interface has none yet.
 */
void ipoib_debugfs_add(struct ipoib_intf *intf)
{
	ASSERT_RTNL();
	intf->debugfs_mcg = debugfs_file(intf, "mcg", &mcg_fops);
	intf->debugfs_path = debugfs_file(intf, "path", &path_fops);
	intf->debugfs_neighbours = debugfs_file(intf, "neighbours",
						&neighbours_fops);
	intf->debugfs_connections = debugfs_file(intf, "connections",
						 &connections_fops);
}

/**
 * ipoib_debugfs_remove - take an interface's files away
 * @intf: interface
 *
 * Waits for who reads them.
 *
 * Context: rtnl.
 */
void ipoib_debugfs_remove(struct ipoib_intf *intf)
{
	ASSERT_RTNL();
	debugfs_remove(intf->debugfs_mcg);
	debugfs_remove(intf->debugfs_path);
	debugfs_remove(intf->debugfs_neighbours);
	debugfs_remove(intf->debugfs_connections);
}

/**
 * ipoib_debugfs_init - make the folder, as the module is loaded
 */
void ipoib_debugfs_init(void)
{
	debugfs_root = debugfs_create_dir("ipoib", NULL);
}

/**
 * ipoib_debugfs_exit - remove it
 */
void ipoib_debugfs_exit(void)
{
	debugfs_remove(debugfs_root);
}
