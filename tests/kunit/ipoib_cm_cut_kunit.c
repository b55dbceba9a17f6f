// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What of connected mode goes as datagrams although there is a connection: segments for peers
 * whose MTU is that of datagrams. Links, paths and the ring are fakes; the table and the states
 * are the driver's own.
 */
#include <linux/ip.h>
#include <linux/tcp.h>

#include "ipoib_cm_dest_world.h"

#define SEGMENT	1400
#define HEADERS	(sizeof(struct iphdr) + sizeof(struct tcphdr))

/* A packet of TCP for a peer, of several segments with @size octets of data each. */
static struct sk_buff *tcp_packet(struct kunit *test, u32 peer, unsigned int size)
{
	union ib_gid gid = world_gid(peer);
	struct sk_buff *skb = world_packet(test, &gid, QPN, HEADERS + 4 * size);

	skb->data[0] |= IPOIB_HWADDR_RC;
	skb_set_network_header(skb, IPOIB_HARD_LEN);
	skb_set_transport_header(skb, IPOIB_HARD_LEN + sizeof(struct iphdr));
	tcp_hdr(skb)->doff = sizeof(struct tcphdr) / 4;
	skb_shinfo(skb)->gso_type = SKB_GSO_TCPV4;
	skb_shinfo(skb)->gso_size = size;
	skb_shinfo(skb)->gso_segs = 4;
	return skb;
}

/* Return: the segments of such a packet go as datagrams. */
static bool is_cut(struct kunit *test, u32 peer, unsigned int size)
{
	struct sk_buff *skb = tcp_packet(test, peer, size);
	bool cut;

	local_bh_disable();
	cut = ipoib_cm_cut(world->intf, skb);
	local_bh_enable();
	kfree_skb(skb);
	return cut;
}

static void short_segments_go_as_datagrams(struct kunit *test)
{
	unsigned int most = world->intf->group_mtu - HEADERS;

	connect_to(test, 1);
	KUNIT_EXPECT_TRUE(test, is_cut(test, 1, most));
	KUNIT_EXPECT_FALSE(test, is_cut(test, 1, most + 1));
	KUNIT_EXPECT_FALSE(test, xmit(tcp_packet(test, 1, SEGMENT)));
	KUNIT_EXPECT_EQ(test, conns.pushed, 1U);
}

/* A segment that the stack has cut, an ACK, the end of the stream: they keep their order. */
static void what_follows_them_does_too(struct kunit *test)
{
	struct ipoib_conn *conn = connect_to(test, 1);

	connect_to(test, 2);
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 1));
	KUNIT_EXPECT_TRUE(test, is_cut(test, 1, SEGMENT));
	KUNIT_EXPECT_FALSE(test, send_to(test, 1, 2));
	KUNIT_EXPECT_FALSE(test, send_octets(test, 1, 3, world->intf->group_mtu));
	KUNIT_EXPECT_TRUE(test, send_to(test, 2, 4));
	/* No more of them for long */
	conn->cut_at = jiffies - CUT_TIME;
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 5));
}

static void long_packets_keep_the_connection(struct kunit *test)
{
	struct ipoib_conn *conn = connect_to(test, 1);
	unsigned int too_long = world->intf->group_mtu + 1;

	KUNIT_EXPECT_TRUE(test, is_cut(test, 1, SEGMENT));
	KUNIT_EXPECT_TRUE(test, send_octets(test, 1, 1, too_long));
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 2));
	KUNIT_EXPECT_FALSE(test, is_cut(test, 1, SEGMENT));
	KUNIT_EXPECT_TRUE(test, send_to(test, 1, 3));
	conn->long_at = jiffies - CUT_TIME;
	KUNIT_EXPECT_TRUE(test, is_cut(test, 1, SEGMENT));
	KUNIT_EXPECT_FALSE(test, send_to(test, 1, 4));
	KUNIT_EXPECT_EQ(test, conns.datagrams + world->dropped, 0U);
}

/* The connection is in use, and there for the first long packet. */
static void the_connection_is_kept(struct kunit *test)
{
	struct ipoib_conn *conn = connect_to(test, 1);

	conn->used = jiffies - CONN_IDLE - HZ;
	KUNIT_EXPECT_TRUE(test, is_cut(test, 1, SEGMENT));
	ipoib_conns_tick(world->intf->cm);
	KUNIT_EXPECT_PTR_EQ(test, conn_to(1), conn);
}

/* One that the peer has ended, or has refused long ago, is asked for again meanwhile. */
static void a_connection_that_has_ended_is_made_again(struct kunit *test)
{
	struct ipoib_conn *conn = connect_to(test, 1);

	KUNIT_EXPECT_TRUE(test, is_cut(test, 1, SEGMENT));
	event(conn, IPOIB_CONN_EV_HANGUP);
	conn = conn_to(1);
	KUNIT_ASSERT_NOT_NULL(test, conn);
	KUNIT_ASSERT_EQ(test, conn->state, IPOIB_CONN_NEW);
	KUNIT_EXPECT_FALSE(test, xmit(tcp_packet(test, 1, SEGMENT)));
	settle();
	KUNIT_EXPECT_EQ(test, conn->state, IPOIB_CONN_REQ);
	event(conn, IPOIB_CONN_EV_REFUSED);
	KUNIT_ASSERT_EQ(test, conn->state, IPOIB_CONN_DATAGRAM);
	conn->ask_at = jiffies;
	KUNIT_EXPECT_FALSE(test, send_to(test, 1, 1));
	settle();
	KUNIT_EXPECT_NE(test, conn->state, IPOIB_CONN_DATAGRAM);
}

static void without_a_connection(struct kunit *test)
{
	struct sk_buff *skb = tcp_packet(test, 1, SEGMENT);

	KUNIT_EXPECT_FALSE(test, ipoib_cm_cut(world->intf, skb));
	/* The peer takes none. */
	skb->data[0] &= ~IPOIB_HWADDR_RC;
	KUNIT_EXPECT_TRUE(test, ipoib_cm_cut(world->intf, skb));
	skb_shinfo(skb)->gso_size = world->intf->group_mtu;
	KUNIT_EXPECT_FALSE(test, ipoib_cm_cut(world->intf, skb));
	/* Before it has its hardware address */
	skb_shinfo(skb)->gso_size = SEGMENT;
	skb_pull(skb, IPOIB_HARD_LEN);
	KUNIT_EXPECT_FALSE(test, ipoib_cm_cut(world->intf, skb));
	skb_push(skb, IPOIB_HARD_LEN);
	/* In one piece */
	skb_shinfo(skb)->gso_size = 0;
	KUNIT_EXPECT_FALSE(test, ipoib_cm_cut(world->intf, skb));
	kfree_skb(skb);
	settle();
	KUNIT_EXPECT_NULL(test, conn_to(1));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(short_segments_go_as_datagrams),
	KUNIT_CASE(what_follows_them_does_too),
	KUNIT_CASE(long_packets_keep_the_connection),
	KUNIT_CASE(the_connection_is_kept),
	KUNIT_CASE(a_connection_that_has_ended_is_made_again),
	KUNIT_CASE(without_a_connection),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_cm_cut",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: what goes as datagrams although there is a connection");
