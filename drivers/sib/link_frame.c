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

/* Room for the payload's fragments as in a new frame; nobody else has this one. */
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

/**
 * sib_link_frame_new - an empty DATA frame
 * @link: the link that will send it
 *
 * Return: frame with headroom for all headers, for fragments, or NULL.
 */
struct sk_buff *sib_link_frame_new(struct sib_link *link)
{
	struct sk_buff *skb;

	if (link->spares)
		return link->spare[--link->spares];
	skb = alloc_skb_fclone(HEADROOM, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, HEADROOM);
	/* clones may write their Ethernet headers in front: all the same */
	__skb_header_release(skb);
	return skb;
}

/**
 * sib_link_frame_done - a frame has been acknowledged
 * @link: the link that has sent it
 * @skb: from sib_link_frame_new(); consumed
 */
void sib_link_frame_done(struct sib_link *link, struct sk_buff *skb)
{
	if (link->spares == SIB_LINK_SPARES || skb_cloned(skb) || skb_shared(skb) ||
	    skb_pfmemalloc(skb)) {
		consume_skb(skb);
		return;
	}
	empty(skb);
	link->spare[link->spares++] = skb;
}

/**
 * sib_link_frame_free - give back the frames that wait to be used again
 * @link: the link
 */
void sib_link_frame_free(struct sib_link *link)
{
	while (link->spares)
		kfree_skb(link->spare[--link->spares]);
}
