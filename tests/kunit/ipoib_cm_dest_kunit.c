// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Outgoing connections: what becomes of packets while one is made, refused, broken
 * or ended, and that a thousand of them stay apart. Links, paths and the ring are
 * fakes; the table, the states and the control queue are the driver's own.
 */
#include "ipoib_cm_dest_world.h"

#define THOUSAND	1200

static void one_packet_makes_a_connection(struct kunit *test)
{
	connect_to(test, 1);
	KUNIT_EXPECT_EQ(test, conns.links, 1U);
	KUNIT_EXPECT_EQ(test, conns.pushed, 1U);
	KUNIT_EXPECT_EQ(test, world->dropped + conns.datagrams, 0U);
}

/* Multicast, and peers whose address does not offer connections. */
static void what_goes_as_datagrams(struct kunit *test)
{
	union ib_gid gid = world_gid(1);
	struct sk_buff *skb = world_packet(test, &gid, QPN, 64);

	KUNIT_EXPECT_FALSE(test, ipoib_cm_xmit(&world->intf->txq[0], skb));
	memset(skb->data + 4, 0xff, 16);
	skb->data[0] |= IPOIB_HWADDR_RC;
	put_unaligned_be32(IB_MULTICAST_QPN, skb->data);
	KUNIT_EXPECT_FALSE(test, ipoib_cm_xmit(&world->intf->txq[0], skb));
	kfree_skb(skb);
	settle();
	KUNIT_EXPECT_EQ(test, conns.links, 0U);
}

/* Send what begins with these headers. Return: it was taken. */
static bool send_headers(struct kunit *test, u16 proto, u8 nexthdr, u8 type, unsigned int len)
{
	union ib_gid gid = world_gid(1);
	struct sk_buff *skb = world_packet(test, &gid, QPN, len);
	u8 *encap = skb->data + INFINIBAND_ALEN;

	skb->data[0] |= IPOIB_HWADDR_RC;
	put_unaligned_be16(proto, encap);
	if (len > sizeof(struct ipv6hdr)) {
		encap[IPOIB_ENCAP_LEN + offsetof(struct ipv6hdr, nexthdr)] = nexthdr;
		encap[IPOIB_ENCAP_LEN + sizeof(struct ipv6hdr)] = type;
	}
	return xmit(skb);
}

/* Nobody waits for a connection with the answer that leads to it. */
static void addresses_are_resolved_without_a_connection(struct kunit *test)
{
	u8 type;

	KUNIT_EXPECT_FALSE(test, send_headers(test, ETH_P_ARP, 0, 0, 56));
	KUNIT_EXPECT_FALSE(test, send_headers(test, ETH_P_RARP, 0, 0, 56));
	for (type = NDISC_ROUTER_SOLICITATION; type <= NDISC_REDIRECT; type++)
		KUNIT_EXPECT_FALSE(test, send_headers(test, ETH_P_IPV6, IPPROTO_ICMPV6, type, 72));
	settle();
	KUNIT_EXPECT_EQ(test, conns.links, 0U);
	KUNIT_EXPECT_NULL(test, conn_to(1));
	KUNIT_EXPECT_TRUE(test, send_headers(test, ETH_P_IPV6, IPPROTO_ICMPV6, 128, 72)); /* echo */
	KUNIT_EXPECT_TRUE(test, send_headers(test, ETH_P_IPV6, IPPROTO_TCP, 136, 72));
	KUNIT_EXPECT_TRUE(test, send_headers(test, ETH_P_IP, IPPROTO_ICMPV6, 136, 72));
	/* cut off behind the type */
	KUNIT_EXPECT_TRUE(test, send_headers(test, ETH_P_IPV6, IPPROTO_ICMPV6, 136, 41));
	settle();
	KUNIT_EXPECT_EQ(test, conns.links, 1U);
}

/* Whenever a packet comes around the REP, it leaves, and in its turn. */
static void no_packet_is_stranded_around_the_rep(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	struct ipoib_conn *conn;
	u32 i;

	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_TRUE(test, send_to(test, 1, i));
	settle();
	conn = conn_to(1);
	for (; i < 20; i++)
		KUNIT_EXPECT_TRUE(test, send_to(test, 1, i));
	conns.room = 5;			/* the ring is nearly full when the REP comes */
	event(conn, IPOIB_CONN_EV_REP);
	KUNIT_EXPECT_EQ(test, conns.pushed, 5U);
	for (; i < 30; i++)
		KUNIT_EXPECT_TRUE(test, send_to(test, 1, i));
	KUNIT_EXPECT_EQ(test, conns.pushed, 5U);
	KUNIT_EXPECT_TRUE(test, ipoib_cm_has_backlog(intf));
	while (conns.pushed < 30) {
		u32 before = conns.pushed;

		conns.room = 7;
		ipoib_tx_lock_all(intf->dev);
		ipoib_cm_send_backlog(intf);
		ipoib_tx_unlock_all(intf->dev);
		KUNIT_ASSERT_GT(test, conns.pushed, before);
	}
	for (i = 0; i < 30; i++)
		KUNIT_EXPECT_EQ(test, fake.order[i], i);
	KUNIT_EXPECT_FALSE(test, ipoib_cm_has_backlog(intf));
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&conn->hold.packets));
}

/* The port goes while packets wait for the peer's answer, and for room in the ring. */
static void nothing_waits_for_a_lost_port(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	u32 i;

	connect_to(test, 2);
	conns.room = 1;
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_TRUE(test, send_to(test, 1, i));
		KUNIT_EXPECT_TRUE(test, send_to(test, 2, i));
	}
	settle();
	conns.room = 0;
	event(conn_to(1), IPOIB_CONN_EV_REP);
	KUNIT_EXPECT_TRUE(test, ipoib_cm_has_backlog(intf));

	intf->port_state = IB_PORT_DOWN;
	conns.pushed = 0;
	world->dropped = 0;
	ipoib_dests_port_lost(intf);
	KUNIT_EXPECT_EQ(test, world->dropped, 3U);
	KUNIT_EXPECT_FALSE(test, ipoib_cm_has_backlog(intf));
	KUNIT_EXPECT_EQ(test, atomic_read(&intf->pending_bytes), 0);

	/* A new attempt takes nothing along. */
	event(conn_to(1), IPOIB_CONN_EV_RESET);
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 9));
	KUNIT_EXPECT_EQ(test, world->dropped, 4U);
	KUNIT_EXPECT_EQ(test, conns.pushed + conns.datagrams, 0U);
}

/* A link that breaks with packets behind it: they go through the next one. */
static void packets_survive_a_broken_link(struct kunit *test)
{
	struct ipoib_conn *conn = connect_to(test, 1);

	conn->up_since = jiffies - 2 * CONN_PROVEN;
	fake.link->broken = true;
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 1));
	KUNIT_EXPECT_EQ(test, conns.pushed, 1U);
	event(conn, IPOIB_CONN_EV_LOST);
	KUNIT_EXPECT_EQ(test, conn->state, IPOIB_CONN_REQ);
	KUNIT_EXPECT_EQ(test, conns.links, 2U);
	event(conn, IPOIB_CONN_EV_REP);
	KUNIT_EXPECT_EQ(test, conns.pushed, 2U);
}

/*
 * A peer whose driver is loaded again refuses for a while. Nobody is told then that long
 * packets do not fit, as that would be believed for long; of a peer that goes on, they are.
 */
static void a_peer_that_was_up_is_awaited(struct kunit *test)
{
	struct ipoib_conn *conn = connect_to(test, 1);
	unsigned int too_long = world->intf->group_mtu + 1;

	event(conn, IPOIB_CONN_EV_HANGUP);
	KUNIT_EXPECT_TRUE(test, send_octets(test, 1, 1, too_long));
	settle();
	KUNIT_ASSERT_EQ(test, conn->state, IPOIB_CONN_REQ);
	event(conn, IPOIB_CONN_EV_REFUSED);
	KUNIT_ASSERT_EQ(test, conn->state, IPOIB_CONN_DATAGRAM);
	KUNIT_EXPECT_EQ(test, conns.datagrams, 0U);
	KUNIT_EXPECT_EQ(test, world->dropped, 1U);
	KUNIT_EXPECT_TRUE(test, send_octets(test, 1, 2, too_long));
	KUNIT_EXPECT_EQ(test, world->dropped, 2U);
	KUNIT_EXPECT_FALSE(test, send_octets(test, 1, 3, too_long - 1));
	conn->down_since = jiffies - CONN_AWAITED;
	KUNIT_EXPECT_FALSE(test, send_octets(test, 1, 4, too_long));
}

static void a_refusal_means_datagrams(struct kunit *test)
{
	struct ipoib_conn *conn;

	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 0));
	settle();
	conn = conn_to(1);
	event(conn, IPOIB_CONN_EV_REFUSED);
	KUNIT_EXPECT_EQ(test, conns.datagrams, 1U);
	KUNIT_EXPECT_FALSE(test, send_to(test, 1, 1));
	KUNIT_EXPECT_EQ(test, conns.links, 1U);
	conn->ask_at = jiffies;		/* time passes */
	KUNIT_EXPECT_FALSE(test, send_to(test, 1, 2));
	settle();
	KUNIT_EXPECT_EQ(test, conns.links, 2U);
	KUNIT_EXPECT_EQ(test, conn->state, IPOIB_CONN_RETRY);
}

/* A send that fails at once is a refusal: two hosts must not connect for ever. */
static void a_connection_that_breaks_at_once(struct kunit *test)
{
	struct ipoib_conn *conn = connect_to(test, 1);

	event(conn, IPOIB_CONN_EV_LOST);
	KUNIT_EXPECT_EQ(test, conn->state, IPOIB_CONN_DATAGRAM);
	KUNIT_EXPECT_FALSE(test, send_to(test, 1, 1));
}

/* A peer that restarts says so: the next packet makes a connection again. */
static void a_peer_that_hangs_up_is_asked_again(struct kunit *test)
{
	struct ipoib_conn *conn = connect_to(test, 1);
	u32 i;

	for (i = 0; i < CONN_HANGUPS_MAX; i++) {
		event(conn, IPOIB_CONN_EV_HANGUP);
		KUNIT_ASSERT_EQ(test, conn->state, IPOIB_CONN_NEW);
		KUNIT_ASSERT_TRUE(test, send_to(test, 1, i));
		settle();
		KUNIT_ASSERT_EQ(test, conn->state, IPOIB_CONN_REQ);
		event(conn, IPOIB_CONN_EV_REP);
	}
	KUNIT_EXPECT_EQ(test, conns.pushed, 1U + CONN_HANGUPS_MAX);
	KUNIT_EXPECT_EQ(test, conns.datagrams, 0U);
}

/* One that does so each time wants no connections. */
static void a_peer_that_always_hangs_up_is_left_alone(struct kunit *test)
{
	struct ipoib_conn *conn = connect_to(test, 1);
	u32 i;

	for (i = 0; i < CONN_HANGUPS_MAX; i++) {
		event(conn, IPOIB_CONN_EV_HANGUP);
		send_to(test, 1, i);
		settle();
		event(conn, IPOIB_CONN_EV_REP);
	}
	event(conn, IPOIB_CONN_EV_HANGUP);
	KUNIT_EXPECT_EQ(test, conn->state, IPOIB_CONN_DATAGRAM);
	KUNIT_EXPECT_TRUE(test, time_after(conn->ask_at, jiffies));
}

/* It may hang up as often as it likes when connections have lasted in between. */
static void a_connection_that_lasts_is_forgiven(struct kunit *test)
{
	struct ipoib_conn *conn = connect_to(test, 1);
	u32 i;

	for (i = 0; i < 3 * CONN_HANGUPS_MAX; i++) {
		if (i % CONN_HANGUPS_MAX == 0)
			conn->up_since = jiffies - 2 * CONN_PROVEN;
		event(conn, IPOIB_CONN_EV_HANGUP);
		KUNIT_ASSERT_EQ(test, conn->state, IPOIB_CONN_NEW);
		send_to(test, 1, i);
		settle();
		event(conn, IPOIB_CONN_EV_REP);
	}
}

/* An address that fails over from one port to another and back. */
static void a_peer_that_moves_there_and_back(struct kunit *test)
{
	struct ipoib_conn *first = connect_to(test, 1), *second;

	first->up_since = jiffies - 2 * CONN_PROVEN;
	second = connect_to(test, 2);
	KUNIT_EXPECT_PTR_EQ(test, second->path, fake.paths[2]);
	event(first, IPOIB_CONN_EV_LOST);	/* its port has failed */
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 1));
	settle();
	KUNIT_EXPECT_PTR_EQ(test, fake.link->conn, first);
	KUNIT_EXPECT_PTR_EQ(test, first->path, fake.paths[1]);
	event(first, IPOIB_CONN_EV_REP);
	KUNIT_EXPECT_EQ(test, conns.pushed, 3U);
	KUNIT_EXPECT_EQ(test, second->state, IPOIB_CONN_UP);
}

static void another_path_makes_another_link(struct kunit *test)
{
	struct ipoib_conn *conn = connect_to(test, 1);

	ipoib_cm_path_known(conn->path, true);
	settle();
	KUNIT_EXPECT_EQ(test, conn->state, IPOIB_CONN_REQ);
	KUNIT_EXPECT_EQ(test, conns.links, 2U);
	KUNIT_EXPECT_EQ(test, conns.graceful, 1U);
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 1));
	event(conn, IPOIB_CONN_EV_REP);
	KUNIT_EXPECT_EQ(test, conns.pushed, 2U);
}

/* Memory for a connection may be what writing back dirty pages waits for. */
static void links_are_made_without_waiting_for_io(struct kunit *test)
{
	struct ipoib_conn *conn = connect_to(test, 1);

	conn->up_since = jiffies - 2 * CONN_PROVEN;
	event(conn, IPOIB_CONN_EV_LOST);
	send_to(test, 1, 1);
	settle();			/* by the answer of the SA */
	KUNIT_EXPECT_EQ(test, conns.links, 2U);
	event(conn, IPOIB_CONN_EV_MOVED);
	KUNIT_EXPECT_EQ(test, conns.links, 3U);
	KUNIT_EXPECT_EQ(test, fake.without_noio, 0U);
}

static void no_memory_means_datagrams(struct kunit *test)
{
	fake.refuse = true;
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 0));
	settle();
	KUNIT_EXPECT_EQ(test, conns.datagrams, 1U);
	KUNIT_EXPECT_EQ(test, conn_to(1)->state, IPOIB_CONN_DATAGRAM);
}

/* Switched off with packets in every state: they go as datagrams, nothing stays. */
static void mode_switched_off(struct kunit *test)
{
	connect_to(test, 1);
	send_to(test, 2, 0);
	settle();
	send_to(test, 3, 0);
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, ipoib_cm_set_mode(world->intf, false), 0);
	rtnl_unlock();
	settle();
	KUNIT_EXPECT_EQ(test, conns.datagrams, 2U);
	KUNIT_EXPECT_TRUE(test, list_empty(&world->intf->cm->conn_list));
	KUNIT_EXPECT_EQ(test, conns.links, conns.ended);
}

static void a_thousand_peers(struct kunit *test)
{
	struct ipoib_cm *cm = world->intf->cm;
	u32 i, lost = 0;

	for (i = 1; i <= THOUSAND; i++)
		connect_to(test, i);
	KUNIT_EXPECT_EQ(test, conns.links, (u32)THOUSAND);
	for (i = 1; i <= THOUSAND; i++)
		lost += !send_to(test, i, i);
	KUNIT_EXPECT_EQ(test, lost, 0U);
	KUNIT_EXPECT_EQ(test, conns.pushed, 2U * THOUSAND);
	KUNIT_EXPECT_EQ(test, conns.datagrams + world->dropped, 0U);
	kunit_info(test, "%zu bytes for each of %u connections, besides its link",
		   ksize(conn_to(1)), THOUSAND);
	conn_to(7)->used = jiffies - CONN_IDLE - HZ;	/* one of them is idle */
	ipoib_conns_tick(cm);
	KUNIT_EXPECT_NULL(test, conn_to(7));
	KUNIT_EXPECT_EQ(test, conns.ended, 1U);
	ipoib_conns_event(cm, IPOIB_CONN_EV_STOP);
	KUNIT_EXPECT_EQ(test, conns.ended, (u32)THOUSAND);
	KUNIT_EXPECT_TRUE(test, list_empty(&cm->conn_list));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(one_packet_makes_a_connection),
	KUNIT_CASE(what_goes_as_datagrams),
	KUNIT_CASE(addresses_are_resolved_without_a_connection),
	KUNIT_CASE(no_packet_is_stranded_around_the_rep),
	KUNIT_CASE(nothing_waits_for_a_lost_port),
	KUNIT_CASE(packets_survive_a_broken_link),
	KUNIT_CASE(a_peer_that_was_up_is_awaited),
	KUNIT_CASE(a_refusal_means_datagrams),
	KUNIT_CASE(a_connection_that_breaks_at_once),
	KUNIT_CASE(a_peer_that_hangs_up_is_asked_again),
	KUNIT_CASE(a_peer_that_always_hangs_up_is_left_alone),
	KUNIT_CASE(a_connection_that_lasts_is_forgiven),
	KUNIT_CASE(a_peer_that_moves_there_and_back),
	KUNIT_CASE(another_path_makes_another_link),
	KUNIT_CASE(links_are_made_without_waiting_for_io),
	KUNIT_CASE(no_memory_means_datagrams),
	KUNIT_CASE(mode_switched_off),
	KUNIT_CASE(a_thousand_peers),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_cm_dest",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: outgoing connections of an interface");
