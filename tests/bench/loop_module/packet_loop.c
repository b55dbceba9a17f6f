// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Time that a packet takes from one network namespace to another: a socket of the
 * kernel's in the first one sends, a second one in that of an open file receives, one
 * message after the other, so that no system call is measured with it.
 *
 * All is done while the module is loaded, by the process that loads it; it stays loaded
 * only if it could measure, and then its parameters @took and @lost are the result.
 */
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#define PORT		9900
#define MAX_ROUNDS	256
#define MAX_COUNT	1000000
#define MAX_OCTETS	65536
#define MAX_DATAGRAM	65507
#define MAX_LOST	5	/* in all rounds: what loses more is broken */
#define TIMEOUT		HZ
#define SEND_BUFFER	(8 * MAX_OCTETS)	/* a message of TCP's never waits for room */

static int netns = -1;
module_param(netns, int, 0444);
MODULE_PARM_DESC(netns, "open file of the loading process: the receiver's namespace");

static char *address = "";
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "IPv4 address in that namespace to send to");

static bool tcp;
module_param(tcp, bool, 0444);
MODULE_PARM_DESC(tcp, "send over a TCP connection (default: UDP)");

static unsigned int octets = 64;
module_param(octets, uint, 0444);
MODULE_PARM_DESC(octets, "octets of a message, 4 to 65507, TCP to 65536 (default 64)");

static unsigned int count = 2000;
module_param(count, uint, 0444);
MODULE_PARM_DESC(count, "messages of a round, 1 to 1000000 (default 2000)");

static unsigned int rounds = 25;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "rounds after the first, which is not counted, 1 to 256 (default 25)");

static unsigned int took[MAX_ROUNDS];
static unsigned int num_took;
module_param_array(took, uint, &num_took, 0444);
MODULE_PARM_DESC(took, "result: ns that a message took, of each round");

static unsigned int lost;
module_param(lost, uint, 0444);
MODULE_PARM_DESC(lost, "result: datagrams that did not arrive within a second");

/**
 * struct loop - what is sent between
 * @here: sends; in the first namespace
 * @there: receives; in the other one
 * @peer: @there's address
 * @buffer: MAX_OCTETS of what is sent and received
 * @number: of the message that was sent last, its first octets
 */
struct loop {
	struct socket *here;
	struct socket *there;
	struct sockaddr_in peer;
	void *buffer;
	u32 number;
};

static int send(struct loop *loop)
{
	struct kvec part = { .iov_base = loop->buffer, .iov_len = octets };
	struct msghdr message = {};
	int sent;

	*(u32 *)loop->buffer = ++loop->number;
	sent = kernel_sendmsg(loop->here, &message, &part, 1, octets);
	if (sent < 0)
		return sent;
	return sent == octets ? 0 : -EMSGSIZE;
}

static int receive(struct loop *loop)
{
	struct kvec part = { .iov_base = loop->buffer, .iov_len = MAX_OCTETS };
	struct msghdr message = {};
	int got;

	if (tcp)
		part.iov_len = octets;
	got = kernel_recvmsg(loop->there, &message, &part, 1, part.iov_len, tcp ? MSG_WAITALL : 0);
	if (got < 0)
		return got;
	return got == octets ? 0 : -EBADMSG;
}

/* Send a message and receive it; one that was thought lost may come before it. */
static int pass(struct loop *loop)
{
	int err = send(loop);

	while (!err) {
		err = receive(loop);
		if (!err && *(u32 *)loop->buffer == loop->number)
			return 0;
	}
	if (err != -EAGAIN || tcp)
		return err;
	return ++lost > MAX_LOST ? -ETIMEDOUT : 0;
}

static int run_round(struct loop *loop, unsigned int *ns)
{
	u64 start = ktime_get_ns();
	unsigned int i;
	int err;

	for (i = 0; i < count; i++) {
		err = pass(loop);
		if (err)
			return err;
		if (i % 64 == 0)
			cond_resched();
	}
	*ns = div_u64(ktime_get_ns() - start, count);
	return 0;
}

static int run_rounds(struct loop *loop)
{
	unsigned int ns, i;
	int err = 0;

	for (i = 0; i <= rounds && !err; i++) {
		err = run_round(loop, &ns);
		if (!err && i)
			took[num_took++] = ns;
	}
	if (err)
		pr_err("round %u of %u messages of %u octets: %pe, %u lost\n",
		       i, count, octets, ERR_PTR(err), lost);
	return err;
}

static int connect_here(struct loop *loop)
{
	int room = SEND_BUFFER;
	int err;

	err = sock_setsockopt(loop->here, SOL_SOCKET, SO_SNDBUFFORCE, KERNEL_SOCKPTR(&room),
			      sizeof(room));
	if (err)
		return err;
	if (tcp)
		tcp_sock_set_nodelay(loop->here->sk);
	return kernel_connect(loop->here, (struct sockaddr *)&loop->peer, sizeof(loop->peer), 0);
}

/* The receiving socket: of UDP's the one that is bound, of TCP's the accepted one. */
static int make_there(struct loop *loop, struct net *net)
{
	struct socket *bound;
	int err;

	err = sock_create_kern(net, AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0, &bound);
	if (err)
		return err;
	bound->sk->sk_rcvtimeo = TIMEOUT;
	sock_set_reuseaddr(bound->sk);
	err = kernel_bind(bound, (struct sockaddr *)&loop->peer, sizeof(loop->peer));
	if (!err && tcp)
		err = kernel_listen(bound, 1);
	if (!err)
		err = connect_here(loop);
	if (!err && tcp)
		err = kernel_accept(bound, &loop->there, 0);
	if (err || tcp)
		sock_release(bound);
	else
		loop->there = bound;
	if (!err)
		loop->there->sk->sk_rcvtimeo = TIMEOUT;
	return err;
}

static int run_in(struct loop *loop, struct net *net)
{
	int err;

	err = sock_create_kern(&init_net, AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0, &loop->here);
	if (err)
		return err;
	loop->here->sk->sk_sndtimeo = TIMEOUT;
	err = make_there(loop, net);
	if (err) {
		pr_err("no sockets to and at %s: %pe\n", address, ERR_PTR(err));
		goto err_here;
	}
	err = run_rounds(loop);
	sock_release(loop->there);
err_here:
	sock_release(loop->here);
	return err;
}

static int check_parameters(struct loop *loop)
{
	u8 *peer = (u8 *)&loop->peer.sin_addr.s_addr;
	const char *end;

	if (!in4_pton(address, -1, peer, -1, &end) || *end) {
		pr_err("address=%s: not an IPv4 address\n", address);
		return -EINVAL;
	}
	if (octets < sizeof(loop->number) || octets > (tcp ? MAX_OCTETS : MAX_DATAGRAM)) {
		pr_err("octets=%u: not 4 to %u\n", octets, tcp ? MAX_OCTETS : MAX_DATAGRAM);
		return -EINVAL;
	}
	if (!count || count > MAX_COUNT) {
		pr_err("count=%u: not 1 to %u\n", count, MAX_COUNT);
		return -EINVAL;
	}
	if (!rounds || rounds > MAX_ROUNDS) {
		pr_err("rounds=%u: not 1 to %u\n", rounds, MAX_ROUNDS);
		return -EINVAL;
	}
	if (num_took || lost) {
		pr_err("took and lost are results\n");
		return -EINVAL;
	}
	return 0;
}

static int __init packet_loop_init(void)
{
	struct loop loop = { .peer = { .sin_family = AF_INET, .sin_port = htons(PORT) } };
	struct net *net;
	int err;

	err = check_parameters(&loop);
	if (err)
		return err;
	net = get_net_ns_by_fd(netns);
	if (IS_ERR(net)) {
		pr_err("netns=%d: not an open file of a network namespace: %pe\n", netns, net);
		return PTR_ERR(net);
	}
	loop.buffer = kzalloc(MAX_OCTETS, GFP_KERNEL);
	err = loop.buffer ? run_in(&loop, net) : -ENOMEM;
	kfree(loop.buffer);
	put_net(net);
	return err;
}

static void __exit packet_loop_exit(void)
{
}

module_init(packet_loop_init);
module_exit(packet_loop_exit);
MODULE_DESCRIPTION("Time of a packet between two network namespaces");
MODULE_LICENSE("Dual MIT/GPL");
