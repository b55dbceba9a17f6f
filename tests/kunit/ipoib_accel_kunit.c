// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Interfaces whose queues are the HCA's: what the HCA is told and when, what it is given
 * to send, and who opens and closes its netdev.
 */
#include "ipoib_accel_world.h"

static void who_does_not_accelerate(struct kunit *test)
{
	struct net_device *dev;

	hca.bad_params = -ENODEV;
	dev = ipoib_accel_alloc_netdev(world->ca, WORLD_PORT, "x%d", NET_NAME_UNKNOWN);
	KUNIT_EXPECT_EQ(test, (long)PTR_ERR_OR_ZERO(dev), -ENODEV);
	world->ca->ops.rdma_netdev_get_params = NULL;
	dev = ipoib_accel_alloc_netdev(world->ca, WORLD_PORT, "x%d", NET_NAME_UNKNOWN);
	KUNIT_EXPECT_EQ(test, (long)PTR_ERR_OR_ZERO(dev), -EOPNOTSUPP);
}

/* All its transmit locks are held at once. */
static void not_more_queues_than_can_be_locked(struct kunit *test)
{
	struct net_device *dev;

	dev = world->intf->dev;
	KUNIT_EXPECT_EQ(test, dev->num_tx_queues, (unsigned int)ACCEL_TXQ_MAX);
	KUNIT_EXPECT_EQ(test, dev->real_num_tx_queues, (unsigned int)ACCEL_TXQ_MAX);
	hca.txqs = 3;
	dev = ipoib_accel_alloc_netdev(world->ca, WORLD_PORT, "x%d", NET_NAME_UNKNOWN);
	KUNIT_ASSERT_FALSE(test, IS_ERR(dev));
	KUNIT_EXPECT_EQ(test, dev->real_num_tx_queues, 3U);
	/* Should it come to queue pairs of our own. */
	KUNIT_EXPECT_EQ(test, dev->num_tx_queues, (unsigned int)IPOIB_TXQ_MAX);
	free_netdev(dev);
}

static void who_can_do_without(struct kunit *test)
{
	struct ib_device *ca = world->ca;

	KUNIT_EXPECT_FALSE(test, ipoib_accel_declined(ca, WORLD_PORT, 0xFFFF, 0));
	KUNIT_EXPECT_FALSE(test, ipoib_accel_declined(ca, WORLD_PORT, 0xFFFF, -EEXIST));
	/* mlx5 says so of a limit of its firmware. */
	KUNIT_EXPECT_TRUE(test, ipoib_accel_declined(ca, WORLD_PORT, 0xFFFF, -ENOMEM));
	KUNIT_EXPECT_TRUE(test, ipoib_accel_declined(ca, WORLD_PORT, 0xFFFF, -EINVAL));
	KUNIT_EXPECT_TRUE(test, ipoib_accel_declined(ca, WORLD_PORT, 0xFFFF, -EIO));
	ca->ops.rdma_netdev_get_params = NULL;
	KUNIT_EXPECT_TRUE(test, ipoib_accel_declined(ca, WORLD_PORT, 0xFFFF, -EOPNOTSUPP));
}

/* What somebody else has allocated, and has to be registered all the same. */
static void netdev_that_the_hca_does_not_want(struct kunit *test)
{
	struct net_device *dev;

	hca.rxqs = 3;
	dev = ipoib_accel_alloc_netdev(world->ca, WORLD_PORT, "x%d", NET_NAME_UNKNOWN);
	KUNIT_ASSERT_FALSE(test, IS_ERR(dev));
	KUNIT_EXPECT_PTR_EQ(test, ipoib_accel_hca(dev), world->ca);
	hca_initialize(world->ca, WORLD_PORT, dev, NULL);
	compat_want_ops_lock(dev);
	dev->tx_queue_len = 77;	/* as rtnetlink was told */
	ipoib_accel_undo(dev);
	KUNIT_EXPECT_NULL(test, ipoib_accel_hca(dev));
	KUNIT_EXPECT_PTR_EQ(test, dev->netdev_ops, &our_ops);
	KUNIT_EXPECT_NULL(test, dev->priv_destructor);
	KUNIT_EXPECT_EQ(test, dev->real_num_rx_queues, 1U);
	KUNIT_EXPECT_EQ(test, dev->tx_queue_len, 77U);
#if COMPAT_NETDEV_LOCK_OPS
	KUNIT_EXPECT_FALSE(test, dev->request_ops_lock);
#endif
	free_netdev(dev);
}

/* hfi1 calls the operations that it has found from its own. */
static void who_wants_our_queue_pair(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	u32 qpn;

	intf->data->destroy(intf);
	ipoib_accel_exit(intf);
	hca.builds = true;
	KUNIT_ASSERT_EQ(test, ipoib_accel_init(intf), 0);
	KUNIT_EXPECT_EQ(test, intf->data->create(intf, &qpn), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, refcount_read(&client.users), 2U);
	ipoib_accel_exit(intf);
	hca.builds = false;
	KUNIT_ASSERT_EQ(test, ipoib_accel_init(intf), 0);
	KUNIT_ASSERT_EQ(test, intf->data->create(intf, &qpn), 0);
}

static void the_number_is_the_hcas(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	u32 qpn = 0;

	intf->data->destroy(intf);
	hca.bad_init = -EIO;
	KUNIT_EXPECT_EQ(test, intf->data->create(intf, &qpn), -EIO);
	hca.bad_init = 0;
	intf->queues.rx_adaptive = true;	/* from before the HCA accelerated */
	KUNIT_ASSERT_EQ(test, intf->data->create(intf, &qpn), 0);
	KUNIT_EXPECT_EQ(test, qpn, HCA_QPN);
	KUNIT_EXPECT_FALSE(test, intf->queues.rx_adaptive);
}

static void opened_with_the_index(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, open_intf(), 0);
	KUNIT_EXPECT_TRUE(test, hca.open);
	KUNIT_EXPECT_EQ(test, hca.open_id, 2);
	KUNIT_EXPECT_TRUE(test, world->intf->running);
	close_intf();
	KUNIT_EXPECT_FALSE(test, hca.open);
	KUNIT_EXPECT_FALSE(test, world->intf->running);
	KUNIT_EXPECT_EQ(test, rest.flushed, -1);
}

static void what_cannot_be_opened(struct kunit *test)
{
	hca.bad_open = -EIO;
	KUNIT_EXPECT_EQ(test, open_intf(), -EIO);
	hca.bad_open = 0;
	rest.bad_intf_open = -ENODEV;
	KUNIT_EXPECT_EQ(test, open_intf(), -ENODEV);
	KUNIT_EXPECT_EQ(test, hca.opens, 1U);
	KUNIT_EXPECT_FALSE(test, hca.open);
}

static void p_key_that_comes_later(struct kunit *test)
{
	rest.no_pkey = true;
	KUNIT_ASSERT_EQ(test, open_intf(), 0);
	KUNIT_EXPECT_FALSE(test, hca.open);
	KUNIT_EXPECT_FALSE(test, world->intf->running);
	rest.no_pkey = false;
	rest.pkey_index = 5;
	control_looks(false);
	KUNIT_EXPECT_FALSE(test, world->intf->running);
	control_follows(test);
	KUNIT_EXPECT_TRUE(test, world->intf->running);
	KUNIT_EXPECT_EQ(test, hca.open_id, 5);
}

static void p_key_that_moves(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, open_intf(), 0);
	rest.pkey_index = 7;
	control_looks(false);
	control_follows(test);
	KUNIT_EXPECT_TRUE(test, world->intf->running);
	KUNIT_EXPECT_EQ(test, hca.open_id, 7);
	KUNIT_EXPECT_EQ(test, hca.opens, 2U);
}

/* The place in the table may be another partition's. */
static void p_key_that_goes(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, open_intf(), 0);
	rest.no_pkey = true;
	control_looks(false);
	flush_workqueue(ipoib_rtnl_wq);
	KUNIT_EXPECT_FALSE(test, hca.open);
	KUNIT_EXPECT_EQ(test, rest.flushed, -1);
	rest.no_pkey = false;
	control_looks(false);
	control_follows(test);
	KUNIT_EXPECT_TRUE(test, world->intf->running);
}

static void nothing_is_opened_behind_the_stop(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, open_intf(), 0);
	stack_lock();
	rest.pkey_index = 3;
	control_looks(false);	/* and the work waits for rtnl */
	clear_bit(__LINK_STATE_START, &world->intf->dev->state);
	ipoib_accel_stop(world->intf->dev);
	stack_unlock();
	flush_workqueue(ipoib_rtnl_wq);
	KUNIT_EXPECT_FALSE(test, hca.open);
	KUNIT_EXPECT_EQ(test, hca.opens, 1U);
}

/* Its packets come by the queues of its parent. */
static void children_hear_with_their_parent(struct kunit *test)
{
	struct ipoib_intf *child = kunit_kzalloc(test, sizeof(*child), GFP_KERNEL);
	struct ipoib_intf *intf = world->intf;
	struct net_device *dev = alloc_etherdev(0);

	KUNIT_ASSERT_NOT_NULL(test, child);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	child->dev = dev;
	child->accel = intf->accel;
	child->parent = intf;
	list_add(&child->list, &client.intfs);
	KUNIT_EXPECT_FALSE(test, ipoib_accel_is_deaf(intf));
	KUNIT_EXPECT_TRUE(test, ipoib_accel_is_deaf(child));
	KUNIT_ASSERT_EQ(test, open_intf(), 0);
	KUNIT_EXPECT_FALSE(test, ipoib_accel_is_deaf(child));
	KUNIT_EXPECT_EQ(test, rest.flushed, (int)IPOIB_FLUSH_LIGHT);
	KUNIT_EXPECT_PTR_EQ(test, rest.who, child);
	netif_carrier_on(dev);
	rest.flushed = -1;
	rest.who = NULL;
	close_intf();
	KUNIT_EXPECT_TRUE(test, ipoib_accel_is_deaf(child));
	KUNIT_EXPECT_FALSE(test, netif_carrier_ok(dev));
	KUNIT_EXPECT_EQ(test, rest.flushed, (int)IPOIB_FLUSH_LIGHT);
	KUNIT_EXPECT_PTR_EQ(test, rest.who, child);
	list_del(&child->list);
	free_netdev(dev);
}

static void child_with_queue_pairs_of_its_own(struct kunit *test)
{
	struct ipoib_intf *child = kunit_kzalloc(test, sizeof(*child), GFP_KERNEL);
	struct net_device *dev = alloc_etherdev(0);

	KUNIT_ASSERT_NOT_NULL(test, child);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	child->dev = dev;
	child->parent = world->intf;
	list_add(&child->list, &client.intfs);
	KUNIT_EXPECT_FALSE(test, ipoib_accel_is_deaf(child));
	KUNIT_ASSERT_EQ(test, open_intf(), 0);
	close_intf();
	KUNIT_EXPECT_TRUE(test, netif_carrier_ok(dev));
	KUNIT_EXPECT_EQ(test, rest.flushed, -1);
	list_del(&child->list);
	free_netdev(dev);
}

static void groups_with_their_keys(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, open_intf(), 0);
	join_broadcast(test);
	KUNIT_EXPECT_EQ(test, hca.groups, 1);
	KUNIT_EXPECT_EQ(test, memcmp(&hca.mgid, world->intf->dev->broadcast + IPOIB_HWADDR_GID,
				     sizeof(hca.mgid)), 0);
	KUNIT_EXPECT_EQ(test, hca.mlid, 0xC000);
	KUNIT_EXPECT_EQ(test, hca.set_qkey, 1);
	KUNIT_EXPECT_EQ(test, hca.qkey, 0xB1BU);
	KUNIT_EXPECT_EQ(test, accel_rn(world->intf)->mtu, 2044);
	listed(1, true);
	answer(1, 0, 0xC001);
	KUNIT_EXPECT_EQ(test, hca.groups, 2);
	KUNIT_EXPECT_EQ(test, hca.mlid, 0xC001);
	KUNIT_EXPECT_EQ(test, hca.set_qkey, 0);
	KUNIT_EXPECT_EQ(test, sa.qp_stops, 0);
}

static void another_q_key(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, open_intf(), 0);
	join_broadcast(test);
	ipoib_mcast_restart(world->intf);
	world_settle();
	sa.members[1].rec = sa.members[0].rec;
	sa.members[1].rec.qkey = cpu_to_be32(0xC1C);
	sa.members[1].rec.mtu = IB_MTU_4096;
	answer(1, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, hca.groups, 1);
	KUNIT_EXPECT_EQ(test, hca.qkey, 0xC1CU);
	KUNIT_EXPECT_EQ(test, accel_rn(world->intf)->mtu, 4092);
}

/* A HCA that has closed its netdev need not remember groups. */
static void groups_after_a_restart(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, open_intf(), 0);
	join_broadcast(test);
	control_looks(true);
	KUNIT_EXPECT_EQ(test, hca.groups, 0);
	control_follows(test);
	ipoib_mcast_restart(world->intf);
	world_settle();
	sa.members[1].rec = sa.members[0].rec;
	hca.qkey = 0;
	answer(1, 0, 0xC000);
	KUNIT_EXPECT_EQ(test, hca.groups, 1);
	KUNIT_EXPECT_EQ(test, hca.qkey, 0xB1BU);
}

static void sent_with_handle_and_number(struct kunit *test)
{
	union ib_gid gid = world_gid(1), mgid;

	KUNIT_ASSERT_EQ(test, open_intf(), 0);
	join_broadcast(test);
	mgid = world->intf->broadcast->dest.gid;
	xmit(world_packet(test, &mgid, 0x123, 100));	/* whatever the stack says */
	KUNIT_EXPECT_EQ(test, hca.sent, 1U);
	KUNIT_EXPECT_EQ(test, hca.qpn, 0xffffffU);
	KUNIT_EXPECT_EQ(test, hca.len, IPOIB_ENCAP_LEN + 100U);
	KUNIT_EXPECT_PTR_EQ(test, hca.ah, world->intf->broadcast->dest.ah->ah);

	xmit(world_packet(test, &gid, 0x77, 64));
	set_ah(test, &gid);
	xmit(world_packet(test, &gid, 0x77, 64));
	KUNIT_EXPECT_EQ(test, hca.sent, 2U);
	KUNIT_EXPECT_EQ(test, hca.qpn, 0x77U);
	KUNIT_EXPECT_PTR_EQ(test, hca.ah, dest_of(&gid)->ah->ah);
	KUNIT_EXPECT_EQ(test, dropped(), 0ULL);
}

/* Only the stack knows whether the HCA's queues have room. */
static void what_waited_goes_through_the_stack(struct kunit *test)
{
	union ib_gid gid = world_gid(1);

	KUNIT_ASSERT_EQ(test, open_intf(), 0);
	xmit(world_packet(test, &gid, 0x77, 64));
	xmit(world_packet(test, &gid, 0x77, 65));
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_PATH_BUSY, &ipoib_path_of(dest_of(&gid))->state));
	KUNIT_EXPECT_EQ(test, hca.sent + rest.again, 0U);
	set_ah(test, &gid);
	KUNIT_EXPECT_EQ(test, hca.sent, 0U);
	KUNIT_ASSERT_EQ(test, rest.again, 2U);
	KUNIT_EXPECT_EQ(test, rest.again_tag[0], IPOIB_HARD_LEN + 64U);
	KUNIT_EXPECT_EQ(test, rest.again_tag[1], IPOIB_HARD_LEN + 65U);
	KUNIT_EXPECT_EQ(test, atomic_read(&world->intf->pending_bytes), 0);
}

static void what_is_not_sent(struct kunit *test)
{
	union ib_gid gid = world_gid(1);

	xmit(world_packet(test, &gid, 0x77, 64));
	KUNIT_EXPECT_EQ(test, dropped(), 1ULL);
	KUNIT_ASSERT_EQ(test, open_intf(), 0);
	xmit(world_packet(test, &gid, 0x77, 64));
	ipoib_dest_drop_pending(world->intf, dest_of(&gid));
	set_ah(test, &gid);
	xmit(world_packet(test, &gid, 0x77, 2044));
	KUNIT_EXPECT_EQ(test, hca.sent, 1U);
	xmit(world_packet(test, &gid, 0x77, 2045));
	close_intf();
	xmit(world_packet(test, &gid, 0x77, 64));
	KUNIT_EXPECT_EQ(test, hca.sent, 1U);
	KUNIT_EXPECT_EQ(test, world->dropped, 1U);	/* what waited: a fake */
	KUNIT_EXPECT_EQ(test, dropped(), 3ULL);
}

static const struct net_device_ops xmit_ops = {
	.ndo_start_xmit = ipoib_accel_start_xmit,
};

/* What follows a packet need not come to the HCA, which would wait for it. */
static void no_packet_waits_for_another(struct kunit *test)
{
	union ib_gid gid = world_gid(1), other = world_gid(2);
	struct net_device *dev = world->intf->dev;
	struct sk_buff *first = world_packet(test, &gid, 0x77, 64);
	struct sk_buff *second = world_packet(test, &other, 0x77, 64);

	KUNIT_ASSERT_EQ(test, open_intf(), 0);
	xmit(world_packet(test, &gid, 0x77, 64));
	set_ah(test, &gid);
	local_bh_disable();
	__netdev_start_xmit(&xmit_ops, first, dev, true);
	__netdev_start_xmit(&xmit_ops, second, dev, false);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, hca.sent, 1U);
	KUNIT_EXPECT_EQ(test, hca.left, 0U);
	ipoib_dest_drop_pending(world->intf, dest_of(&other));
}

static void queue_that_stalls(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;

	KUNIT_ASSERT_EQ(test, open_intf(), 0);
	ipoib_accel_tx_timeout(intf->dev, HCA_TXQS - 1);
	KUNIT_EXPECT_EQ(test, rest.flushed, (int)IPOIB_FLUSH_RESTART);
	rest.flushed = -1;
	control_looks(true);
	control_follows(test);
	KUNIT_EXPECT_EQ(test, hca.opens, 2U);
	KUNIT_EXPECT_TRUE(test, intf->running);
	accel_rn(intf)->tx_timeout = hca_tx_timeout;
	ipoib_accel_tx_timeout(intf->dev, 0);
	KUNIT_EXPECT_EQ(test, hca.timeouts, 1U);
	KUNIT_EXPECT_EQ(test, rest.flushed, -1);
	KUNIT_EXPECT_EQ(test, intf->txq[0].stalls, 2ULL);
}

static void mtu_that_the_hca_refuses(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;

	KUNIT_EXPECT_EQ(test, change_mtu(1400), 0);
	KUNIT_EXPECT_EQ(test, hca.mtu, 1400);
	hca.bad_mtu = -ENOMEM;
	KUNIT_EXPECT_EQ(test, change_mtu(1500), -ENOMEM);
	KUNIT_EXPECT_EQ(test, hca.mtu, 1500);
	KUNIT_EXPECT_EQ(test, intf->dev->mtu, 1400U);
	KUNIT_EXPECT_EQ(test, intf->admin_mtu, 1400);
}

static void no_time_stamps(struct kunit *test)
{
	struct ifreq ifr = {};
	struct kernel_hwtstamp_config config = { .ifr = &ifr };

	KUNIT_EXPECT_EQ(test, stamp(&config, false), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, stamp(&config, true), -EOPNOTSUPP);
	KUNIT_EXPECT_FALSE(test, config.copied_to_user);
}

/* The HCA has copied from user space and to it, which need not be done again. */
static void time_stamps_by_ioctl(struct kunit *test)
{
	struct ifreq ifr = {};
	struct kernel_hwtstamp_config config = { .ifr = &ifr };

	world->intf->accel->ops = &hca_ioctl_ops;
	KUNIT_EXPECT_EQ(test, stamp(&config, true), -ERANGE);
	KUNIT_EXPECT_FALSE(test, config.copied_to_user);
	hca.stamps = true;
	KUNIT_EXPECT_EQ(test, stamp(&config, true), 0);
	KUNIT_EXPECT_EQ(test, hca.stamp_cmd, SIOCSHWTSTAMP);
	KUNIT_EXPECT_PTR_EQ(test, hca.stamp_arg, (const void *)&ifr);
	KUNIT_EXPECT_TRUE(test, config.copied_to_user);
	KUNIT_EXPECT_EQ(test, stamp(&config, false), 0);
	KUNIT_EXPECT_EQ(test, hca.stamp_cmd, SIOCGHWTSTAMP);
	/* Netlink asks without an ioctl's argument. */
	config.ifr = NULL;
	KUNIT_EXPECT_EQ(test, stamp(&config, false), -EOPNOTSUPP);
	world->intf->accel->ops = &hca_ops;
}

#if COMPAT_NDO_HWTSTAMP
static void time_stamps_by_operations(struct kunit *test)
{
	struct kernel_hwtstamp_config config = {};

	world->intf->accel->ops = &hca_hwtstamp_ops;
	KUNIT_EXPECT_EQ(test, stamp(&config, true), -ERANGE);
	hca.stamps = true;
	KUNIT_EXPECT_EQ(test, stamp(&config, true), 0);
	KUNIT_EXPECT_EQ(test, hca.stamp_cmd, SIOCSHWTSTAMP);
	KUNIT_EXPECT_PTR_EQ(test, hca.stamp_arg, (const void *)&config);
	KUNIT_EXPECT_EQ(test, stamp(&config, false), 0);
	KUNIT_EXPECT_EQ(test, hca.stamp_cmd, SIOCGHWTSTAMP);
	KUNIT_EXPECT_FALSE(test, config.copied_to_user);
	world->intf->accel->ops = &hca_ops;
}
#endif

static struct kunit_case cases[] = {
	KUNIT_CASE(who_does_not_accelerate),
	KUNIT_CASE(not_more_queues_than_can_be_locked),
	KUNIT_CASE(who_can_do_without),
	KUNIT_CASE(netdev_that_the_hca_does_not_want),
	KUNIT_CASE(who_wants_our_queue_pair),
	KUNIT_CASE(the_number_is_the_hcas),
	KUNIT_CASE(opened_with_the_index),
	KUNIT_CASE(what_cannot_be_opened),
	KUNIT_CASE(p_key_that_comes_later),
	KUNIT_CASE(p_key_that_moves),
	KUNIT_CASE(p_key_that_goes),
	KUNIT_CASE(nothing_is_opened_behind_the_stop),
	KUNIT_CASE(children_hear_with_their_parent),
	KUNIT_CASE(child_with_queue_pairs_of_its_own),
	KUNIT_CASE(groups_with_their_keys),
	KUNIT_CASE(another_q_key),
	KUNIT_CASE(groups_after_a_restart),
	KUNIT_CASE(sent_with_handle_and_number),
	KUNIT_CASE(what_waited_goes_through_the_stack),
	KUNIT_CASE(what_is_not_sent),
	KUNIT_CASE(no_packet_waits_for_another),
	KUNIT_CASE(queue_that_stalls),
	KUNIT_CASE(mtu_that_the_hca_refuses),
	KUNIT_CASE(no_time_stamps),
	KUNIT_CASE(time_stamps_by_ioctl),
#if COMPAT_NDO_HWTSTAMP
	KUNIT_CASE(time_stamps_by_operations),
#endif
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_accel",
	.init = accel_setup,
	.exit = accel_teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: interfaces whose queues are the HCA's");
