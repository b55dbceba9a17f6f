// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Joins in flight: how many a port may have, and whose turn it is when one ends. */
#include <kunit/test.h>
#include <linux/module.h>

#include "join.c"

#define CHILDREN	4

static struct {
	struct ipoib_port_joins port;
	struct ipoib_intf *child[CHILDREN];
	unsigned int woken[CHILDREN];
} line;

void ipoib_mcast_kick(struct ipoib_intf *intf)
{
	unsigned int i;

	for (i = 0; i < CHILDREN; i++)
		line.woken[i] += line.child[i] == intf;
}

static int setup(struct kunit *test)
{
	unsigned int i;

	memset(&line, 0, sizeof(line));
	ipoib_port_joins_init(&line.port);
	for (i = 0; i < CHILDREN; i++) {
		line.child[i] = kunit_kzalloc(test, sizeof(*line.child[i]), GFP_KERNEL);
		if (!line.child[i])
			return -ENOMEM;
		ipoib_intf_joins_init(line.child[i], &line.port);
	}
	return 0;
}

/* All that a port may have are those of one child. */
static void take_all(struct kunit *test, unsigned int child)
{
	unsigned int n;

	for (n = 0; n < IPOIB_JOINS_MAX; n++)
		KUNIT_ASSERT_TRUE(test, ipoib_join_begin(line.child[child], false));
}

static void end(unsigned int child, unsigned int times)
{
	while (times--)
		ipoib_join_end(line.child[child]);
}

static void a_port_has_so_many(struct kunit *test)
{
	take_all(test, 0);
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[1], false));
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[2], true));
	KUNIT_EXPECT_EQ(test, line.port.in_flight, (unsigned int)IPOIB_JOINS_MAX);
	end(0, IPOIB_JOINS_MAX);
	KUNIT_EXPECT_EQ(test, line.woken[1], 1U);
	KUNIT_EXPECT_EQ(test, line.woken[2], 1U);
	KUNIT_EXPECT_EQ(test, line.port.in_flight, 2U);
	KUNIT_EXPECT_TRUE(test, ipoib_join_begin(line.child[1], false));
	KUNIT_EXPECT_TRUE(test, ipoib_join_begin(line.child[2], true));
	KUNIT_EXPECT_EQ(test, line.port.in_flight, 2U);
	end(1, 1);
	end(2, 1);
	KUNIT_EXPECT_EQ(test, line.port.in_flight, 0U);
}

/* One with thousands of groups does not keep the others from their few. */
static void one_after_another(struct kunit *test)
{
	take_all(test, 0);
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[0], false));
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[1], false));
	/* It keeps its place. */
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[0], false));
	end(0, 1);
	KUNIT_EXPECT_EQ(test, line.woken[0], 1U);
	KUNIT_EXPECT_EQ(test, line.woken[1], 0U);
	KUNIT_EXPECT_TRUE(test, ipoib_join_begin(line.child[0], false));
	/* Now it is behind the other. */
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[0], false));
	end(0, 1);
	KUNIT_EXPECT_EQ(test, line.woken[0], 1U);
	KUNIT_EXPECT_EQ(test, line.woken[1], 1U);
	end(0, 1);
	KUNIT_EXPECT_EQ(test, line.woken[0], 2U);
}

/* Without it there is no carrier. */
static void broadcast_groups_come_first(struct kunit *test)
{
	take_all(test, 0);
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[1], false));
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[2], true));
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[3], true));
	end(0, 1);
	KUNIT_EXPECT_EQ(test, line.woken[2], 1U);
	end(0, 1);
	KUNIT_EXPECT_EQ(test, line.woken[3], 1U);
	KUNIT_EXPECT_EQ(test, line.woken[1], 0U);
	end(0, 1);
	KUNIT_EXPECT_EQ(test, line.woken[1], 1U);
}

/* Broadcast groups that are never answered do not keep all the others from being joined. */
static void others_have_a_turn_in_four(struct kunit *test)
{
	unsigned int n;

	take_all(test, 0);
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[1], false));
	for (n = 1; n <= 4; n++) {
		KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[2], true));
		end(0, 1);
		KUNIT_EXPECT_EQ(test, line.woken[1], n / 4);
		if (line.woken[2] == n)
			KUNIT_EXPECT_TRUE(test, ipoib_join_begin(line.child[2], true));
	}
	KUNIT_EXPECT_EQ(test, line.woken[2], 3U);
}

/* It waited for an ordinary group, and has lost its broadcast group since. */
static void broadcast_group_is_lost_meanwhile(struct kunit *test)
{
	take_all(test, 0);
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[1], false));
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[2], false));
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[2], true));
	end(0, 1);
	KUNIT_EXPECT_EQ(test, line.woken[1], 0U);
	KUNIT_EXPECT_EQ(test, line.woken[2], 1U);
}

static void what_is_not_used_is_the_next_ones(struct kunit *test)
{
	take_all(test, 0);
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[1], false));
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[2], false));
	end(0, 1);
	KUNIT_EXPECT_EQ(test, line.woken[2], 0U);
	ipoib_join_settle(line.child[1]);
	KUNIT_EXPECT_EQ(test, line.woken[2], 1U);
	ipoib_join_settle(line.child[1]);
	ipoib_join_settle(line.child[2]);
	KUNIT_EXPECT_EQ(test, line.port.in_flight, (unsigned int)IPOIB_JOINS_MAX - 1);
}

/* Whoever goes down is not woken again, and gives back what it was granted. */
static void gone_while_it_waited(struct kunit *test)
{
	take_all(test, 0);
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[1], false));
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[2], false));
	KUNIT_EXPECT_FALSE(test, ipoib_join_begin(line.child[3], false));
	ipoib_join_forget(line.child[1]);
	end(0, 1);
	KUNIT_EXPECT_EQ(test, line.woken[2], 1U);
	ipoib_join_forget(line.child[2]);
	KUNIT_EXPECT_EQ(test, line.woken[1], 0U);
	KUNIT_EXPECT_EQ(test, line.woken[3], 1U);
	ipoib_join_forget(line.child[3]);
	end(0, IPOIB_JOINS_MAX - 1);
	KUNIT_EXPECT_EQ(test, line.port.in_flight, 0U);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_port_has_so_many),
	KUNIT_CASE(one_after_another),
	KUNIT_CASE(broadcast_groups_come_first),
	KUNIT_CASE(others_have_a_turn_in_four),
	KUNIT_CASE(broadcast_group_is_lost_meanwhile),
	KUNIT_CASE(what_is_not_used_is_the_next_ones),
	KUNIT_CASE(gone_while_it_waited),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_join",
	.init = setup,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: joins in flight");
