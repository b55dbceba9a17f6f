/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A world of paths, for suites that include path.c. The SA is a fake that answers when told. */
#ifndef IPOIB_PATH_WORLD_H
#define IPOIB_PATH_WORLD_H

#include "ipoib_world.h"

typedef void (*path_callback)(int status, struct sa_path_rec *rec, compat_num_prs num_prs,
			      void *context);

static int fake_path_rec_get(struct ib_sa_client *client, struct ib_device *ca, u32 port,
			     struct sa_path_rec *rec, ib_sa_comp_mask mask,
			     unsigned long timeout_ms, gfp_t gfp,
			     path_callback callback, void *context, struct ib_sa_query **query);
static void fake_cancel_query(int id, struct ib_sa_query *query);
static int fake_init_ah_attr(struct ib_device *ca, u32 port, struct sa_path_rec *rec,
			     struct rdma_ah_attr *attr, const struct ib_gid_attr *gid_attr);

#define ib_sa_path_rec_get fake_path_rec_get
#define ib_sa_cancel_query fake_cancel_query
#define ib_init_ah_attr_from_path fake_init_ah_attr
#include "dest.c"
#include "path.c"
#include "answer.c"

#define QUERIES	256

static struct {
	u32 queries;
	u32 cancelled;
	unsigned long age;	/* jiffies from a query to its answer */
	int refuse;		/* error of asking at all */
	int bad_record;		/* error of using the answer */
	void (*spoil)(struct sa_path_rec *rec);	/* what is wrong with the answer, or NULL */
	path_callback callback;
	void *context;		/* of the newest query, NULL when it has been answered */
	struct sa_path_rec asked[QUERIES];	/* by number of the query */
	ib_sa_comp_mask mask[QUERIES];
	void *contexts[QUERIES];
} sa;

static int fake_path_rec_get(struct ib_sa_client *client, struct ib_device *ca, u32 port,
			     struct sa_path_rec *rec, ib_sa_comp_mask mask,
			     unsigned long timeout_ms, gfp_t gfp,
			     path_callback callback, void *context, struct ib_sa_query **query)
{
	sa.queries++;
	if (sa.refuse || sa.queries == QUERIES)
		return sa.refuse ?: -ENOSPC;
	sa.asked[sa.queries] = *rec;
	sa.mask[sa.queries] = mask;
	sa.callback = callback;
	sa.context = context;
	sa.contexts[sa.queries] = context;
	*query = (void *)&sa;
	return sa.queries;
}

/* The SA answers query @number, with what that has asked for. */
static void answer_one(u32 number, int status, u16 dlid)
{
	struct sa_path_rec rec = sa.asked[number];
	void *context = sa.contexts[number];

	sa.contexts[number] = NULL;
	if (number == sa.queries)
		sa.context = NULL;
	sa_path_set_dlid(&rec, dlid);
	rec.mtu = IB_MTU_2048;
	rec.rate = IB_RATE_10_GBPS;
	if (sa.spoil)
		sa.spoil(&rec);
	((struct ipoib_path *)context)->asked_at = jiffies - sa.age;
	sa.callback(status, status ? NULL : &rec, 1, context);
}

/* And the newest one. */
static void answer(int status, u16 dlid)
{
	answer_one(sa.queries, status, dlid);
}

static void fake_cancel_query(int id, struct ib_sa_query *query)
{
	sa.cancelled++;
	if (sa.contexts[id])
		answer_one(id, -EINTR, 0);
}

static int fake_init_ah_attr(struct ib_device *ca, u32 port, struct sa_path_rec *rec,
			     struct rdma_ah_attr *attr, const struct ib_gid_attr *gid_attr)
{
	rdma_ah_set_static_rate(attr, rec->rate);
	return sa.bad_record;
}

static int setup(struct kunit *test)
{
	int err = world_create(test);

	memset(&sa, 0, sizeof(sa));
	return err;
}

struct doom {
	struct work_struct work;
	struct ipoib_path *path;
};

static void doom_work(struct work_struct *work)
{
	ipoib_path_destroy(container_of(work, struct doom, work)->path);
}

/* On the control queue, as the driver does. */
static void destroy(struct ipoib_path *path)
{
	struct doom doom = { .path = path };

	INIT_WORK_ONSTACK(&doom.work, doom_work);
	queue_work(world->intf->wq, &doom.work);
	flush_work(&doom.work);
	destroy_work_on_stack(&doom.work);
}

static void teardown(struct kunit *test)
{
	struct ipoib_dest *dest, *next;

	world_settle();
	list_for_each_entry_safe(dest, next, &world->intf->dest_list, all)
		destroy(ipoib_path_of(dest));
	KUNIT_EXPECT_NULL(test, sa.context);
	world_destroy(test);
}

static struct ipoib_path *add(struct kunit *test, u32 n)
{
	union ib_gid gid = world_gid(n);
	struct ipoib_dest *dest;

	local_bh_disable();
	dest = ipoib_path_create(world->intf, &gid);
	local_bh_enable();
	KUNIT_ASSERT_NOT_NULL(test, dest);
	return ipoib_path_of(dest);
}

static __maybe_unused bool exists(u32 n)
{
	union ib_gid gid = world_gid(n);
	bool found;

	rcu_read_lock();
	found = ipoib_dest_find(world->intf, &gid);
	rcu_read_unlock();
	return found;
}

static void resolve(struct ipoib_path *path)
{
	ipoib_path_resolve(path);
	world_settle();
}

static struct ipoib_path *known(struct kunit *test, u32 n, u16 dlid)
{
	struct ipoib_path *path = add(test, n);

	resolve(path);
	KUNIT_ASSERT_NOT_NULL(test, sa.context);
	answer(0, dlid);
	world_settle();
	KUNIT_ASSERT_NOT_NULL(test, path->dest.ah);
	return path;
}

#endif /* IPOIB_PATH_WORLD_H */
