// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Path records that are wrong in themselves: none that cannot be used is, what is known stays,
 * and the SA is asked again. What is merely odd is used.
 */
#include "ipoib_path_world.h"

static void other_dgid(struct sa_path_rec *rec)
{
	rec->dgid = world_gid(77);
}

static void other_prefix(struct sa_path_rec *rec)
{
	rec->dgid.global.subnet_prefix = cpu_to_be64(0xFEC0000000000001ULL);
}

/* With the LID 0xC0001, which does not fit */
static void gid_of_omni_path(struct sa_path_rec *rec)
{
	rec->dgid.global.interface_id = OPA_MAKE_ID(0xC0001);
	sa_path_set_dlid(rec, 0);
}

static void no_dlid(struct sa_path_rec *rec)
{
	sa_path_set_dlid(rec, 0);
}

static void dlid_of_a_group(struct sa_path_rec *rec)
{
	sa_path_set_dlid(rec, 0xC000);
}

static void permissive_dlid(struct sa_path_rec *rec)
{
	sa_path_set_dlid(rec, 0xFFFF);
}

static void no_mtu(struct sa_path_rec *rec)
{
	rec->mtu = 0;
}

static void mtu_beyond(struct sa_path_rec *rec)
{
	rec->mtu = IB_MTU_4096 + 1;
}

static void no_rate(struct sa_path_rec *rec)
{
	rec->rate = 0;
}

static void rate_before(struct sa_path_rec *rec)
{
	rec->rate = 1;
}

static void rate_to_come(struct sa_path_rec *rec)
{
	rec->rate = 26;
}

static void rate_beyond(struct sa_path_rec *rec)
{
	rec->rate = 63;
}

/* What is behind its end is 0. */
static void short_record(struct sa_path_rec *rec)
{
	memset(&rec->dgid, 0, sizeof(rec->dgid));
	sa_path_set_dlid(rec, 0);
	rec->mtu = 0;
	rec->rate = 0;
}

static void (*const wrong[])(struct sa_path_rec *rec) = {
	other_dgid, gid_of_omni_path, no_dlid, dlid_of_a_group, permissive_dlid, no_mtu, mtu_beyond,
	short_record,
};

static void (*const odd[])(struct sa_path_rec *rec) = {
	other_prefix, no_rate, rate_before, rate_to_come, rate_beyond,
};

static void answer_spoilt(void (*spoil)(struct sa_path_rec *rec), u16 dlid)
{
	sa.spoil = spoil;
	answer(0, dlid);
	sa.spoil = NULL;
	world_settle();
}

/* Each is counted, none is used, and the SA is asked again. */
static void wrong_answers(struct kunit *test)
{
	struct ipoib_path *path;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		path = add(test, 1 + i);
		world_hold_back(test, &path->dest);
		resolve(path);
		answer_spoilt(wrong[i], 5);
		KUNIT_EXPECT_NULL_MSG(test, path->dest.ah, "answer %u", i);
		KUNIT_EXPECT_EQ(test, path->dlid, 0);
		KUNIT_EXPECT_EQ(test, world->sent, i);
		KUNIT_EXPECT_EQ(test, world->intf->stat_paths_wrong, i + 1ULL);
		KUNIT_EXPECT_GT(test, world_due(&path->query_work), 0);
		world_hurry(&path->query_work);
		answer(0, 5);
		world_settle();
		KUNIT_EXPECT_EQ(test, path->dlid, 5);
		KUNIT_EXPECT_EQ(test, world->sent, i + 1);
		KUNIT_EXPECT_EQ(test, world->intf->stat_paths_wrong, i + 1ULL);
	}
	KUNIT_EXPECT_EQ(test, world->dropped, 0U);
	KUNIT_EXPECT_EQ(test, world->intf->stat_paths_odd, 0ULL);
}

/* Each is counted, and used: a rate that there is not is the port's own, for connections, too. */
static void odd_answers(struct kunit *test)
{
	struct ipoib_path *path;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		path = add(test, 1 + i);
		world_hold_back(test, &path->dest);
		resolve(path);
		answer_spoilt(odd[i], 5);
		KUNIT_EXPECT_NOT_NULL_MSG(test, path->dest.ah, "answer %u", i);
		KUNIT_EXPECT_EQ(test, path->dlid, 5);
		KUNIT_EXPECT_EQ(test, world->sent, i + 1);
		KUNIT_EXPECT_EQ(test, (int)world->static_rate,
				odd[i] == other_prefix ? (int)IB_RATE_10_GBPS :
							 (int)IB_RATE_PORT_CURRENT);
		KUNIT_EXPECT_EQ(test, path->current_rec.rate, world->static_rate);
		KUNIT_EXPECT_EQ(test, world->intf->stat_paths_odd, i + 1ULL);
	}
	KUNIT_EXPECT_EQ(test, world->intf->stat_paths_wrong, 0ULL);
}

/* Whether or not this kernel has a name for them */
static void rates_that_there_are(struct kunit *test)
{
	struct ipoib_path *path = known(test, 1, 5);
	struct sa_path_rec rec = path->current_rec;

	for (rec.rate = 2; rec.rate <= 25; rec.rate++) {
		u8 rate = rec.rate;

		KUNIT_EXPECT_EQ(test, ipoib_answer_path(world->intf, &path->dest.gid, &rec), 0);
		KUNIT_EXPECT_EQ(test, rec.rate, rate);
	}
	KUNIT_EXPECT_EQ(test, world->intf->stat_paths_odd, 0ULL);
}

/* They say nothing against what is known, however many come; the next packet asks again. */
static void wrong_answers_keep_the_handle(struct kunit *test)
{
	struct ipoib_path *path = known(test, 1, 5);
	struct ipoib_ah *ah = path->dest.ah;
	int i;

	resolve(path);
	for (i = 0; i <= PATH_ATTEMPTS_MAX; i++) {
		answer_spoilt(wrong[i], 6);
		if (i < PATH_ATTEMPTS_MAX)
			world_hurry(&path->query_work);
	}
	KUNIT_ASSERT_TRUE(test, exists(1));
	KUNIT_EXPECT_PTR_EQ(test, path->dest.ah, ah);
	KUNIT_EXPECT_EQ(test, path->dlid, 5);
	KUNIT_EXPECT_TRUE(test, test_bit(IPOIB_PATH_STALE, &path->state));
	resolve(path);
	answer(0, 6);
	world_settle();
	KUNIT_EXPECT_EQ(test, path->dlid, 6);
}

/* A status counts, whatever comes with it. */
static void a_refusal_with_a_record(struct kunit *test)
{
	struct ipoib_path *path = add(test, 1);
	struct sa_path_rec rec;

	world_hold_back(test, &path->dest);
	resolve(path);
	rec = sa.asked[sa.queries];
	sa_path_set_dlid(&rec, 5);
	rec.mtu = IB_MTU_2048;
	rec.rate = IB_RATE_10_GBPS;
	sa.contexts[sa.queries] = NULL;
	sa.context = NULL;
	sa.callback(-EINVAL, &rec, 1, path);
	world_settle();
	KUNIT_EXPECT_NULL(test, path->dest.ah);
	KUNIT_EXPECT_EQ(test, world->intf->stat_paths_wrong, 0ULL);
	KUNIT_EXPECT_GT(test, world_due(&path->query_work), 0);
}

/* Of a path of Omni-Path, LIDs and MTUs go further, and the GID may be the one with the LID. */
static void records_of_omni_path(struct kunit *test)
{
	static void (*const fine[])(struct sa_path_rec *rec) = {
		mtu_beyond, dlid_of_a_group, no_dlid, gid_of_omni_path, other_prefix,
	};
	struct ib_port_immutable *port = &world->ca->port_data[WORLD_PORT].immutable;
	struct ipoib_path *path;
	u32 i;

	port->core_cap_flags = RDMA_CORE_PORT_INTEL_OPA | RDMA_CORE_CAP_OPA_AH;
	for (i = 0; i < ARRAY_SIZE(fine); i++) {
		path = add(test, 1 + i);
		world_hold_back(test, &path->dest);
		resolve(path);
		answer_spoilt(fine[i], 5);
		KUNIT_EXPECT_NOT_NULL_MSG(test, path->dest.ah, "answer %u", i);
	}
	KUNIT_EXPECT_EQ(test, world->intf->stat_paths_wrong, 0ULL);
	KUNIT_EXPECT_EQ(test, world->intf->stat_paths_odd, 2ULL);
	path = add(test, 1 + i);
	world_hold_back(test, &path->dest);
	resolve(path);
	answer_spoilt(other_dgid, 5);
	KUNIT_EXPECT_NULL(test, path->dest.ah);
	KUNIT_EXPECT_EQ(test, world->intf->stat_paths_wrong, 1ULL);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(wrong_answers),
	KUNIT_CASE(odd_answers),
	KUNIT_CASE(rates_that_there_are),
	KUNIT_CASE(wrong_answers_keep_the_handle),
	KUNIT_CASE(a_refusal_with_a_record),
	KUNIT_CASE(records_of_omni_path),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_path_answer",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: path records that are wrong, or odd");
