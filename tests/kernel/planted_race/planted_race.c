// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Two threads that count, and one thing wrong with it, which the parameter @kind names:
 *
 * none     both take the lock
 * plain    neither does
 * half     one of them does
 * barrier  both take a lock that is given back without a barrier, so that on other
 *          processors the count may be written after the lock is free
 *
 * All is done while the module is loaded, by the process that loads it.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#define THREADS		2
#define ROUNDS		300000
#define RESCHED_ROUNDS	1000
#define BARRIER_READS	8	/* in which a write may still be under way */

static char *kind = "none";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "none, plain, half or barrier");

static DEFINE_SPINLOCK(lock);
static atomic_t bad_lock;
static unsigned long count;
static unsigned long other_word;
static DECLARE_COMPLETION(done);
static atomic_t left;

static noinline void planted_none(int thread)
{
	spin_lock(&lock);
	count++;
	spin_unlock(&lock);
}

static noinline void planted_plain(int thread)
{
	count++;
}

static noinline void planted_half(int thread)
{
	if (thread)
		planted_none(thread);
	else
		planted_plain(thread);
}

static noinline void planted_barrier(int thread)
{
	int i;

	while (atomic_cmpxchg_acquire(&bad_lock, 0, 1))
		cpu_relax();
	count++;
	atomic_set(&bad_lock, 0);	/* to be atomic_set_release() */
	for (i = 0; i < BARRIER_READS; i++)
		READ_ONCE(other_word);
}

static const struct {
	const char *name;
	void (*round)(int thread);
} kinds[] = {
	{ "none", planted_none },
	{ "plain", planted_plain },
	{ "half", planted_half },
	{ "barrier", planted_barrier },
};

static void (*planted_round)(int thread);

static int planted_thread(void *thread)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		planted_round((long)thread);
		if (i % RESCHED_ROUNDS == 0)
			cond_resched();
	}
	if (atomic_dec_and_test(&left))
		complete(&done);
	/* the module stays until the thread is no longer in it */
	module_put_and_kthread_exit(0);
}

static int __init planted_init(void)
{
	struct task_struct *threads[THREADS];
	long i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kind, kinds[i].name))
			planted_round = kinds[i].round;
	if (!planted_round)
		return -EINVAL;
	for (i = 0; i < THREADS; i++) {
		threads[i] = kthread_create(planted_thread, (void *)i, "planted/%ld", i);
		if (IS_ERR(threads[i]))
			goto err_stop;
	}
	atomic_set(&left, THREADS);
	for (i = 0; i < THREADS; i++) {
		__module_get(THIS_MODULE);
		wake_up_process(threads[i]);
	}
	wait_for_completion(&done);
	return 0;

err_stop:
	while (i-- > 0)
		kthread_stop(threads[i]);	/* it has never run */
	return -ENOMEM;
}

static void __exit planted_exit(void)
{
}

module_init(planted_init);
module_exit(planted_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Data races planted on purpose");
