// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * DATA frames, used again once they are acknowledged: an skb that goes from one
 * processor to another and back is dear to allocate and dearer to free.
 *
 * What leaves for the cable are clones. While one is under way, its frame's
 * memory is not touched.
 */
#include "frag_ref.h"
#include "link.h"

#define HEADROOM	(LL_MAX_HEADER + SIB_LINK_HLEN)
/* Octets of short packets that need no fragment */
#define ROOM		512
/* And of all packets of a linear frame, from 64 KiB of memory */
#define ROOM_LINEAR	SKB_WITH_OVERHEAD(SZ_64K - HEADROOM)

/* Room for the payload as in a new frame; nobody else has this one. */
static void empty(struct sk_buff *skb)
{
	int i;

	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++)
		skb_frag_unref(skb, i);
	skb_shinfo(skb)->nr_frags = 0;
	skb->truesize = SKB_TRUESIZE(skb_end_offset(skb));
	skb->len = 0;
	skb->data_len = 0;
	skb->data = skb->head;
	skb_reset_tail_pointer(skb);
	skb_reserve(skb, HEADROOM);
}

static struct sk_buff *oldest_spare(struct sib_link *link)
{
	struct sk_buff *skb = link->spare[link->spare_first];

	link->spare_first = (link->spare_first + 1) % SIB_LINK_SPARES;
	link->spares--;
	return skb;
}

/* Who has sent a clone may free it long after the peer has answered. */
static struct sk_buff *use_again(struct sib_link *link, unsigned int room)
{
	struct sk_buff *skb;

	if (!link->spares || skb_cloned(link->spare[link->spare_first]))
		return NULL;
	skb = oldest_spare(link);
	empty(skb);
	if (skb_tailroom(skb) >= room)
		return skb;
	consume_skb(skb);	/* of a cable that was not linear */
	return NULL;
}

/**
 * sib_link_frame_new - an empty DATA frame
 * @link: the link that will send it
 *
 * Return: frame with headroom for all headers, with tailroom for short packets or,
 * on a linear cable, usually for as many as fit, and for fragments; or NULL.
 */
struct sk_buff *sib_link_frame_new(struct sib_link *link)
{
	unsigned int room = ROOM;
	struct sk_buff *skb;

	if (link->cfg.linear)
		room = min_t(unsigned int, sib_link_max_frame(link), ROOM_LINEAR);
	skb = use_again(link, room);
	if (skb)
		return skb;
	skb = alloc_skb_fclone(HEADROOM + room, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb && room > ROOM)
		skb = alloc_skb_fclone(HEADROOM + ROOM, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, HEADROOM);
	/* clones may write their Ethernet headers in front: all the same */
	__skb_header_release(skb);
	return skb;
}

/**
 * sib_link_frame_takes - whether there is room for another packet
 * @link: the link that will send it
 * @skb: from sib_link_frame_new()
 * @len: bytes of the packet
 */
bool sib_link_frame_takes(const struct sib_link *link, const struct sk_buff *skb, u32 len)
{
	if (SIB_LINK_HLEN + skb->len + len > sib_link_max_frame(link))
		return false;
	if (link->cfg.linear && skb->len && !skb_is_nonlinear(skb))
		return skb_tailroom(skb) >= len;
	return skb_shinfo(skb)->nr_frags < MAX_SKB_FRAGS;
}

/**
 * sib_link_frame_done - a frame has been acknowledged
 * @link: the link that has sent it
 * @skb: from sib_link_frame_new(); consumed
 */
void sib_link_frame_done(struct sib_link *link, struct sk_buff *skb)
{
	if (skb_shared(skb) || skb_pfmemalloc(skb)) {
		consume_skb(skb);
		return;
	}
	if (!skb_cloned(skb))
		empty(skb);
	if (link->spares == SIB_LINK_SPARES)
		consume_skb(oldest_spare(link));
	link->spare[(link->spare_first + link->spares++) % SIB_LINK_SPARES] = skb;
}

/**
 * sib_link_frame_free - give back the frames that wait to be used again
 * @link: the link
 */
void sib_link_frame_free(struct sib_link *link)
{
	while (link->spares)
		kfree_skb(oldest_spare(link));
}
