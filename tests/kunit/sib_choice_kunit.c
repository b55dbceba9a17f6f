// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Choices of a hostile HCA: the same with the same seed, others with another, by count without
 * one, and none of other HCAs.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "choice.c"
#include "profile.c"

#define DRAWS	400

/* What an HCA chooses, of each kind so many times */
struct choices {
	u8 taken[SIB_POST_SEND + 1][DRAWS];
	bool spurious[DRAWS];
	bool unasked[DRAWS];
	u32 late_us[DRAWS];
	u8 polled[DRAWS];
	bool early[DRAWS];
};

static struct choices *choose(struct kunit *test, const char *profile, u32 value)
{
	struct sib_chooser c = { .profile = sib_profile_find(profile), .seed = value };
	struct choices *choices = kunit_kzalloc(test, sizeof(*choices), GFP_KERNEL);
	u32 n, to;

	KUNIT_ASSERT_NOT_NULL(test, choices);
	for (n = 0; n < DRAWS; n++) {
		for (to = SIB_POST_SRQ; to <= SIB_POST_SEND; to++) {
			choices->taken[to][n] = sib_choice_taken(&c, to, n + 1, 16);
			KUNIT_EXPECT_LE(test, (int)choices->taken[to][n], 16);
		}
		choices->spurious[n] = sib_choice_spurious(&c, n + 1);
		choices->unasked[n] = sib_choice_unasked(&c, n + 1);
		choices->late_us[n] = sib_choice_late_us(&c, n + 1);
		choices->polled[n] = sib_choice_polled(&c, n + 1, 16);
		choices->early[n] = sib_choice_early(&c, n + 1);
		KUNIT_EXPECT_GE(test, (int)choices->polled[n], 1);
		KUNIT_EXPECT_LE(test, (int)choices->polled[n], 16);
		KUNIT_EXPECT_LE(test, choices->late_us[n], (u32)c.profile->late_us);
	}
	return choices;
}

static void same_seed(struct kunit *test)
{
	struct choices *one = choose(test, "hostile", 7), *other = choose(test, "hostile", 7);

	KUNIT_EXPECT_EQ(test, memcmp(one, other, sizeof(*one)), 0);
}

static void two_seeds(struct kunit *test)
{
	struct choices *one = choose(test, "hostile", 7), *other = choose(test, "hostile", 8);

	KUNIT_EXPECT_NE(test, memcmp(one->taken[SIB_POST_SRQ], other->taken[SIB_POST_SRQ],
				     sizeof(one->taken[0])), 0);
	/* those of sends are not those of receives */
	KUNIT_EXPECT_NE(test, memcmp(one->taken[SIB_POST_SEND], one->taken[SIB_POST_RECV],
				     sizeof(one->taken[0])), 0);
	KUNIT_EXPECT_NE(test, memcmp(one->spurious, other->spurious, sizeof(one->spurious)), 0);
	KUNIT_EXPECT_NE(test, memcmp(one->unasked, other->unasked, sizeof(one->unasked)), 0);
	KUNIT_EXPECT_NE(test, memcmp(one->late_us, other->late_us, sizeof(one->late_us)), 0);
	KUNIT_EXPECT_NE(test, memcmp(one->polled, other->polled, sizeof(one->polled)), 0);
	KUNIT_EXPECT_NE(test, memcmp(one->early, other->early, sizeof(one->early)), 0);
}

/* Each thing that can be chosen is, whatever the seed. */
static void all_of_it(struct kunit *test)
{
	struct seen {
		u32 refused[SIB_POST_SEND + 1], spurious, unasked, late, hidden, early;
	} seen;
	u32 value, n, to;
	struct choices *c;

	for (value = 1; value <= 20; value++) {
		c = choose(test, "hostile", value);
		seen = (struct seen) {};
		for (n = 0; n < DRAWS; n++) {
			for (to = SIB_POST_SRQ; to <= SIB_POST_SEND; to++)
				seen.refused[to] += c->taken[to][n] < 16;
			seen.spurious += c->spurious[n];
			seen.unasked += c->unasked[n];
			seen.late += c->late_us[n] > 0;
			seen.hidden += c->polled[n] < 16;
			seen.early += c->early[n];
		}
		for (to = SIB_POST_SRQ; to <= SIB_POST_SEND; to++) {
			KUNIT_EXPECT_GT(test, seen.refused[to], 0U);
			KUNIT_EXPECT_LT(test, seen.refused[to], DRAWS / 5U);
		}
		KUNIT_EXPECT_GT(test, seen.spurious, 0U);
		KUNIT_EXPECT_GT(test, seen.unasked, 0U);
		KUNIT_EXPECT_GT(test, seen.late, DRAWS / 4U);
		KUNIT_EXPECT_LT(test, seen.late, 3 * DRAWS / 4U);
		KUNIT_EXPECT_GT(test, seen.hidden, 0U);
		KUNIT_EXPECT_GT(test, seen.early, DRAWS / 4U);
		KUNIT_EXPECT_LT(test, seen.early, 3 * DRAWS / 4U);
	}
}

/* Every 20th list of requests loses all but its first, every 7th time an event is for nothing. */
static void by_count(struct kunit *test)
{
	struct sib_chooser c = { .profile = sib_profile_find("hostile") };
	struct choices *choices = choose(test, "hostile", 0);
	u32 n, to;

	for (n = 1; n <= DRAWS; n++) {
		for (to = SIB_POST_SRQ; to <= SIB_POST_SEND; to++)
			KUNIT_EXPECT_EQ(test, (int)choices->taken[to][n - 1], n % 20 ? 16 : 1);
		KUNIT_EXPECT_EQ(test, choices->spurious[n - 1], n % 7 == 0);
		KUNIT_EXPECT_FALSE(test, choices->unasked[n - 1]);
		KUNIT_EXPECT_EQ(test, choices->late_us[n - 1], 0U);
		KUNIT_EXPECT_EQ(test, (int)choices->polled[n - 1], 16);
		KUNIT_EXPECT_FALSE(test, choices->early[n - 1]);
	}
	/* a single request is refused itself */
	KUNIT_EXPECT_EQ(test, sib_choice_taken(&c, SIB_POST_SEND, 20, 1), 0U);
	KUNIT_EXPECT_EQ(test, sib_choice_taken(&c, SIB_POST_SEND, 21, 1), 1U);
}

/* The parameter is for devices that have something to choose. */
static void parameter(struct kunit *test)
{
	unsigned int before = seed, i;

	seed = 7;
	for (i = 0; i < NUM_PROFILES; i++)
		KUNIT_EXPECT_EQ(test, sib_choice_seed(&profiles[i]),
				strcmp(profiles[i].name, "hostile") ? 0U : 7U);
	seed = before;
}

static struct kunit_case cases[] = {
	KUNIT_CASE(same_seed),
	KUNIT_CASE(two_seeds),
	KUNIT_CASE(all_of_it),
	KUNIT_CASE(by_count),
	KUNIT_CASE(parameter),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_choice",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suite of the choices of a hostile HCA");
MODULE_LICENSE("Dual MIT/GPL");
