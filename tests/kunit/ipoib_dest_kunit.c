// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The table of destinations: lookup, packets that wait, the order they leave
 * in, and address handles that outlive their replacement until no send refers
 * to them. The transmit ring and the HCA's handles are fakes.
 */
#include "ipoib_world.h"

#include "dest.c"
#include "path.h"

#define MANY		10000
#define MANY_BUCKETS	(4 * MANY)

static struct ipoib_dest *dests[64];

static int setup(struct kunit *test)
{
	int err = world_create(test);

	if (!err)
		world->ring = true;
	return err;
}

static void teardown(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(dests); i++) {
		if (dests[i])
			ipoib_dest_unlink(world->intf, dests[i]);
		kfree(dests[i]);
		dests[i] = NULL;
	}
	world_destroy(test);
}

static int insert(struct ipoib_dest *dest)
{
	int err;

	local_bh_disable();
	err = ipoib_dest_insert(world->intf, dest);
	local_bh_enable();
	return err;
}

static struct ipoib_dest *add(struct kunit *test, u32 n)
{
	struct ipoib_dest *dest = kzalloc(sizeof(*dest), GFP_KERNEL);
	union ib_gid gid = world_gid(n);

	KUNIT_ASSERT_NOT_NULL(test, dest);
	ipoib_dest_init(dest, &gid);
	dests[n] = dest;
	KUNIT_ASSERT_EQ(test, insert(dest), 0);
	return dest;
}

static struct ipoib_dest *find(u32 n)
{
	union ib_gid gid = world_gid(n);
	struct ipoib_dest *dest;

	rcu_read_lock();
	dest = ipoib_dest_find(world->intf, &gid);
	rcu_read_unlock();
	return dest;
}

static bool hold_back_in(struct kunit *test, struct ipoib_dest *dest, u16 queue, u32 number,
			 u32 len)
{
	struct sk_buff *skb = alloc_skb(len, GFP_KERNEL);
	bool kept;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put_data(skb, &number, sizeof(number));
	skb_set_queue_mapping(skb, queue);
	ipoib_tx_lock_all(world->intf->dev);
	kept = !ipoib_hold_add(world->intf, &dest->hold, skb);
	ipoib_tx_unlock_all(world->intf->dev);
	if (!kept)
		kfree_skb(skb);
	return kept;
}

static bool hold_back(struct kunit *test, struct ipoib_dest *dest, u32 number, u32 len)
{
	return hold_back_in(test, dest, 0, number, len);
}

static void send_backlog(void)
{
	ipoib_tx_lock_all(world->intf->dev);
	ipoib_dest_send_backlog(world->intf);
	ipoib_tx_unlock_all(world->intf->dev);
}

static void lookup(struct kunit *test)
{
	struct ipoib_dest *again;
	union ib_gid gid = world_gid(7);
	u32 i;

	for (i = 0; i < 64; i++)
		add(test, i);
	for (i = 0; i < 64; i++)
		KUNIT_EXPECT_PTR_EQ(test, find(i), dests[i]);
	KUNIT_EXPECT_NULL(test, find(64));
	again = kzalloc(sizeof(*again), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, again);
	ipoib_dest_init(again, &gid);
	KUNIT_EXPECT_EQ(test, insert(again), -EEXIST);
	kfree(again);
	ipoib_dest_unlink(world->intf, dests[7]);
	KUNIT_EXPECT_NULL(test, find(7));
	KUNIT_EXPECT_PTR_EQ(test, find(8), dests[8]);
	kfree(dests[7]);
	dests[7] = NULL;
	/* its place can be taken again */
	KUNIT_EXPECT_PTR_EQ(test, add(test, 7), find(7));
}

static void groups_are_told_from_ports(struct kunit *test)
{
	struct ipoib_dest dest = { .gid = world_gid(1) };

	KUNIT_EXPECT_FALSE(test, ipoib_dest_is_mcast(&dest));
	dest.gid.raw[0] = 0xFF;
	KUNIT_EXPECT_TRUE(test, ipoib_dest_is_mcast(&dest));
}

static void waiting_packets_leave_in_order(struct kunit *test)
{
	struct ipoib_dest *dest = add(test, 1);
	struct rdma_ah_attr attr = {};
	u32 i;

	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_TRUE(test, hold_back(test, dest, 100 + i, 64));
	KUNIT_EXPECT_GT(test, atomic_read(&world->intf->pending_bytes), 0);
	KUNIT_EXPECT_EQ(test, (u32)atomic_read(&world->intf->pending_bytes), dest->hold.bytes);
	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(world->intf, dest, &attr), 0);
	KUNIT_EXPECT_EQ(test, world->sent, 10U);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, world->order[i], 100 + i);
	KUNIT_EXPECT_EQ(test, atomic_read(&world->intf->pending_bytes), 0);
	KUNIT_EXPECT_GE(test, world->doorbells, 1U);
}

/* More wait than the ring has room for: the rest follows as room appears. */
static void a_full_ring_keeps_the_order(struct kunit *test)
{
	struct ipoib_dest *one = add(test, 1), *two = add(test, 2);
	struct rdma_ah_attr attr = {};
	u32 i;

	world->intf->txq[0].size = 4;
	for (i = 0; i < 6; i++)
		hold_back(test, one, i, 64);
	for (i = 6; i < 10; i++)
		hold_back(test, two, i, 64);
	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(world->intf, one, &attr), 0);
	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(world->intf, two, &attr), 0);
	KUNIT_EXPECT_EQ(test, world->sent, 4U);
	hold_back(test, one, 10, 64);
	while (!list_empty(&world->intf->backlog)) {
		u32 before = world->sent;

		world->intf->txq[0].tail++;
		send_backlog();
		if (world->sent == before)
			break;
	}
	world->intf->txq[0].tail = world->intf->txq[0].head;
	send_backlog();
	KUNIT_EXPECT_EQ(test, world->sent, 11U);
	KUNIT_EXPECT_TRUE(test, list_empty(&world->intf->backlog));
	for (i = 0; i < 6; i++)		/* those of one destination, at least */
		KUNIT_EXPECT_EQ(test, world->order[i], i);
}

/*
 * Packets of several queues wait for one address: each leaves through its own queue, in
 * the order of that queue, also when one ring is full long before the others.
 */
static void each_queue_keeps_its_order(struct kunit *test)
{
	struct ipoib_dest *dest = add(test, 1);
	u32 last[4] = {}, i, queue, turns;
	struct rdma_ah_attr attr = {};

	world->intf->tx_queues = 4;
	world->intf->txq[1].size = 2;
	for (i = 0; i < 40; i++)
		KUNIT_ASSERT_TRUE(test, hold_back_in(test, dest, i % 4, 1 + i, 64));
	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(world->intf, dest, &attr), 0);
	KUNIT_EXPECT_LT(test, world->sent, 40U);
	KUNIT_EXPECT_FALSE(test, list_empty(&dest->backlog));
	for (turns = 0; turns < 40 && !list_empty(&dest->backlog); turns++) {
		world->intf->txq[1].tail++;
		send_backlog();
	}
	KUNIT_EXPECT_EQ(test, world->sent, 40U);
	KUNIT_EXPECT_TRUE(test, list_empty(&world->intf->backlog));
	for (i = 0; i < 40; i++) {
		queue = world->queue[i];
		KUNIT_EXPECT_EQ(test, queue, (world->order[i] - 1) % 4);
		KUNIT_EXPECT_GT(test, world->order[i], last[queue]);
		last[queue] = world->order[i];
	}
}

static void limits_of_a_destination(struct kunit *test)
{
	struct ipoib_dest *dest = add(test, 1);
	u32 n = 0;

	while (n < 1000 && hold_back(test, dest, n, 16000))
		n++;
	KUNIT_EXPECT_LT(test, n, 1000U);
	KUNIT_EXPECT_LE(test, dest->hold.bytes, (unsigned int)IPOIB_DEST_PENDING_MAX);
	KUNIT_EXPECT_GT(test, dest->hold.bytes, (unsigned int)IPOIB_DEST_PENDING_MAX - 40000);
	/* another destination has room of its own */
	KUNIT_EXPECT_TRUE(test, hold_back(test, add(test, 2), 0, 16000));
	ipoib_dest_drop_pending(world->intf, dest);
	KUNIT_EXPECT_EQ(test, world->dropped, n);
	KUNIT_EXPECT_EQ(test, dest->hold.bytes, 0U);
}

static void limit_of_the_interface(struct kunit *test)
{
	struct ipoib_dest *dest;
	u32 i, kept = 0;

	for (i = 0; i < 32; i++) {
		dest = add(test, i);
		while (hold_back(test, dest, 0, 32000))
			kept++;
	}
	KUNIT_EXPECT_LE(test, atomic_read(&world->intf->pending_bytes), IPOIB_INTF_PENDING_MAX);
	KUNIT_EXPECT_GT(test, atomic_read(&world->intf->pending_bytes),
			IPOIB_INTF_PENDING_MAX - 100000);
	KUNIT_EXPECT_GT(test, kept, 100U);
}

/* A handle that sends still refer to lives on, also when positions wrap. */
static void handles_are_reaped_when_done(struct kunit *test)
{
	static const u32 starts[] = { 0, U32_MAX - 1 };
	struct rdma_ah_attr attr = {};
	struct ipoib_dest *dest = add(test, 1);
	int i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		world->intf->txq[0].head = starts[i];
		world->intf->txq[0].tail = starts[i];
		KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(world->intf, dest, &attr), 0);
		ipoib_ah_reap(world->intf, true);	/* of the round before */
		KUNIT_EXPECT_EQ(test, world->handles, 1U);
		world->intf->txq[0].head += 3;
		KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(world->intf, dest, &attr), 0);
		KUNIT_EXPECT_EQ(test, world->handles, 2U);
		ipoib_ah_reap(world->intf, false);
		KUNIT_EXPECT_EQ(test, world->handles, 2U);
		world->intf->txq[0].tail += 2;
		ipoib_ah_reap(world->intf, false);
		KUNIT_EXPECT_EQ(test, world->handles, 2U);
		world->intf->txq[0].tail += 1;
		ipoib_ah_reap(world->intf, false);
		KUNIT_EXPECT_EQ(test, world->handles, 1U);
		KUNIT_EXPECT_TRUE(test, list_empty(&world->intf->reaping));
	}
}

/* Sends of any queue may refer to a handle, and those retired meanwhile wait as well. */
static void handles_wait_for_every_queue(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	struct ipoib_dest *dest = add(test, 1);
	struct rdma_ah_attr attr = {};

	intf->tx_queues = 3;
	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(intf, dest, &attr), 0);
	intf->txq[0].head += 2;
	intf->txq[2].head += 1;
	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(intf, dest, &attr), 0);
	ipoib_ah_reap(intf, false);
	intf->txq[0].tail += 2;
	ipoib_ah_reap(intf, false);
	KUNIT_EXPECT_EQ(test, world->handles, 2U);
	intf->txq[1].head += 1;		/* with the second handle */
	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(intf, dest, &attr), 0);
	ipoib_ah_reap(intf, false);
	KUNIT_EXPECT_EQ(test, world->handles, 3U);
	intf->txq[2].tail += 1;
	ipoib_ah_reap(intf, false);
	KUNIT_EXPECT_EQ(test, world->handles, 2U);
	intf->txq[1].tail += 1;
	ipoib_ah_reap(intf, false);
	KUNIT_EXPECT_EQ(test, world->handles, 1U);
}

static void cleared_handle_makes_packets_wait(struct kunit *test)
{
	struct ipoib_dest *dest = add(test, 1);
	struct rdma_ah_attr attr = {};

	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(world->intf, dest, &attr), 0);
	ipoib_dest_clear_ah(world->intf, dest);
	KUNIT_EXPECT_NULL(test, dest->ah);
	KUNIT_EXPECT_TRUE(test, hold_back(test, dest, 5, 64));
	KUNIT_EXPECT_EQ(test, world->sent, 0U);
	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(world->intf, dest, &attr), 0);
	KUNIT_EXPECT_EQ(test, world->sent, 1U);
}

/* Neither what waits for an address nor what waits for room outlives the port's state. */
static void nothing_waits_for_a_lost_port(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	struct ipoib_dest *dest = add(test, 1);
	struct rdma_ah_attr attr = {};
	u32 i;

	intf->txq[0].size = 2;
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_TRUE(test, hold_back(test, dest, i, 64));
	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(intf, dest, &attr), 0);
	KUNIT_EXPECT_FALSE(test, list_empty(&intf->backlog));
	KUNIT_EXPECT_TRUE(test, hold_back(test, add(test, 2), 4, 64));

	intf->port_state = IB_PORT_DOWN;
	ipoib_dests_port_lost(intf);
	KUNIT_EXPECT_EQ(test, world->sent, 2U);
	KUNIT_EXPECT_EQ(test, world->dropped, 3U);
	KUNIT_EXPECT_EQ(test, atomic_read(&intf->pending_bytes), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&intf->backlog));
	KUNIT_EXPECT_FALSE(test, hold_back(test, dest, 5, 64));

	intf->port_state = IB_PORT_ACTIVE;
	KUNIT_EXPECT_TRUE(test, hold_back(test, dests[2], 6, 64));
	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(intf, dests[2], &attr), 0);
}

static void the_hca_refuses(struct kunit *test)
{
	struct ipoib_dest *dest = add(test, 1);
	struct rdma_ah_attr attr = {};
	struct ipoib_ah *before;

	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(world->intf, dest, &attr), 0);
	before = dest->ah;
	world->no_handles = true;
	KUNIT_EXPECT_EQ(test, ipoib_dest_set_ah(world->intf, dest, &attr), -EBUSY);
	KUNIT_EXPECT_PTR_EQ(test, dest->ah, before);
}

/*
 * Set an address while the @n-th allocation fails. What fails within the kernel's own debugging
 * is no error.
 *
 * Return: whether there were fewer allocations; @refused: counts those that were missed.
 */
static bool set_ah_without(struct kunit *test, struct ipoib_dest *dest, int n, int *refused)
{
	struct rdma_ah_attr attr = {};
	int err, left;

	WRITE_ONCE(current->fail_nth, n);
	err = ipoib_dest_set_ah(world->intf, dest, &attr);
	left = READ_ONCE(current->fail_nth);
	WRITE_ONCE(current->fail_nth, 0);
	*refused += err == -ENOMEM;
	KUNIT_EXPECT_TRUE(test, !err || err == -ENOMEM);
	KUNIT_EXPECT_EQ(test, world->handles, err ? 0U : 1U);
	ipoib_dest_clear_ah(world->intf, dest);
	ipoib_ah_reap(world->intf, true);
	return left;
}

static void no_memory(struct kunit *test)
{
	struct ipoib_dest *dest = add(test, 1);
	int n, i, spared, refused, needed = 0;

	if (!IS_ENABLED(CONFIG_FAILSLAB))
		kunit_skip(test, "kernel without failslab");
	hold_back(test, dest, 1, 64);
	for (n = 1, spared = 0; n < 50 && spared < 3; n++) {
		/* again, as the kernel's debugging allocates now and then */
		for (i = spared = refused = 0; i < 3; i++)
			spared += set_ah_without(test, dest, n, &refused);
		needed += refused > 0;
	}
	KUNIT_EXPECT_EQ(test, spared, 3);
	KUNIT_EXPECT_EQ(test, needed, 2);	/* our entry, the HCA's handle */
	KUNIT_EXPECT_EQ(test, world->sent, 1U);
}

/*
 * The table grows by a worker, while others go on filling it. Linux 7.3 queues that from an
 * interrupt, which on some processors is the next tick.
 *
 * Return: whether the table is large enough for what is in it.
 */
static bool has_grown(void)
{
	struct rhashtable *dests = &world->intf->dests;
	bool is_small;
	u32 ticks;

	for (ticks = 0; ticks < HZ; ticks++) {
		flush_work(&dests->run_work);
		rcu_read_lock();
		is_small = rht_grow_above_75(dests, rht_dereference_rcu(dests->tbl, dests));
		rcu_read_unlock();
		if (!is_small)
			return true;
		schedule_timeout_uninterruptible(1);
	}
	return false;
}

/* Return: the most entries that one bucket of the table has. */
static u32 longest_chain(struct ipoib_dest **many, u8 *chains)
{
	u32 i, longest = 0;

	for (i = 0; i < MANY; i++) {
		u32 bucket = ipoib_dest_bucket(world->intf, many[i]);

		if (bucket >= MANY_BUCKETS)
			return U32_MAX;
		longest = max_t(u32, longest, ++chains[bucket]);
	}
	return longest;
}

/* Whom to look for costs the same among many as among few; and what each takes. */
static void ten_thousand_ports(struct kunit *test)
{
	struct ipoib_dest **many = kvcalloc(MANY, sizeof(*many), GFP_KERNEL);
	u8 *chains = kvcalloc(MANY_BUCKETS, 1, GFP_KERNEL);
	struct rdma_ah_attr attr = {};
	u32 made, i, lost = 0;

	for (made = 0; many && chains && made < MANY; made++) {
		struct ipoib_path *path = kzalloc(sizeof(*path), GFP_KERNEL);
		union ib_gid gid = world_gid(made);

		if (!path)
			break;
		many[made] = &path->dest;
		ipoib_dest_init(&path->dest, &gid);
		if (!has_grown() || insert(&path->dest) ||
		    ipoib_dest_set_ah(world->intf, &path->dest, &attr)) {
			kfree(path);
			break;
		}
	}
	KUNIT_EXPECT_EQ(test, made, (u32)MANY);
	KUNIT_EXPECT_TRUE(test, has_grown());
	for (i = 0; i < made; i++)
		lost += find(i) != many[i];
	KUNIT_EXPECT_EQ(test, lost, 0U);
	if (made == MANY) {
		KUNIT_EXPECT_LE(test, longest_chain(many, chains), 16U);
		kunit_info(test, "%zu bytes for each of %u neighbours, of them the address handle %zu",
			   ksize(ipoib_path_of(many[0])) + ksize(many[0]->ah) + sizeof(void *),
			   MANY, ksize(many[0]->ah));
		KUNIT_EXPECT_LE(test, ksize(ipoib_path_of(many[0])), 1024UL);
	}
	while (made--) {
		ipoib_dest_unlink(world->intf, many[made]);
		kfree(ipoib_path_of(many[made]));
	}
	kvfree(chains);
	kvfree(many);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(lookup),
	KUNIT_CASE(groups_are_told_from_ports),
	KUNIT_CASE(waiting_packets_leave_in_order),
	KUNIT_CASE(a_full_ring_keeps_the_order),
	KUNIT_CASE(each_queue_keeps_its_order),
	KUNIT_CASE(limits_of_a_destination),
	KUNIT_CASE(limit_of_the_interface),
	KUNIT_CASE(handles_are_reaped_when_done),
	KUNIT_CASE(handles_wait_for_every_queue),
	KUNIT_CASE(cleared_handle_makes_packets_wait),
	KUNIT_CASE(nothing_waits_for_a_lost_port),
	KUNIT_CASE(the_hca_refuses),
	KUNIT_CASE(no_memory),
	KUNIT_CASE(ten_thousand_ports),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_dest",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: destinations of an interface");
