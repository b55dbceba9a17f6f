// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Packets as the HCA reads them: their head and their fragments, mapped, as the
 * pieces of a send request.
 */
#include "ipoib.h"

/**
 * ipoib_tx_unmap - the HCA has done with a packet
 * @ca: HCA
 * @slot: mapped by ipoib_tx_map()
 */
void ipoib_tx_unmap(struct ib_device *ca, struct ipoib_tx_slot *slot)
{
	bool head = skb_headlen(slot->skb);
	int i;

	for (i = 0; i < slot->wr.wr.num_sge; i++) {
		if (!i && head)
			ib_dma_unmap_single(ca, slot->sge[i].addr,
					    slot->sge[i].length, DMA_TO_DEVICE);
		else
			ib_dma_unmap_page(ca, slot->sge[i].addr,
					  slot->sge[i].length, DMA_TO_DEVICE);
	}
}

/**
 * ipoib_tx_map - make a packet readable for the HCA
 * @ca: HCA
 * @slot: its packet set; pieces and their number are set here
 *
 * Return: 0, or -EIO with nothing mapped.
 */
int ipoib_tx_map(struct ib_device *ca, struct ipoib_tx_slot *slot)
{
	struct skb_shared_info *shinfo = skb_shinfo(slot->skb);
	u32 lkey = slot->sge[0].lkey;
	int *n = &slot->wr.wr.num_sge;
	u64 addr;
	int i;

	*n = 0;
	if (skb_headlen(slot->skb)) {
		addr = ib_dma_map_single(ca, slot->skb->data,
					 skb_headlen(slot->skb), DMA_TO_DEVICE);
		if (ib_dma_mapping_error(ca, addr))
			return -EIO;
		slot->sge[(*n)++] = (struct ib_sge) {
			.addr = addr, .lkey = lkey,
			.length = skb_headlen(slot->skb),
		};
	}
	for (i = 0; i < shinfo->nr_frags; i++) {
		const skb_frag_t *frag = &shinfo->frags[i];

		addr = ib_dma_map_page(ca, skb_frag_page(frag),
				       skb_frag_off(frag), skb_frag_size(frag),
				       DMA_TO_DEVICE);
		if (ib_dma_mapping_error(ca, addr)) {
			ipoib_tx_unmap(ca, slot);
			return -EIO;
		}
		slot->sge[(*n)++] = (struct ib_sge) {
			.addr = addr, .lkey = lkey,
			.length = skb_frag_size(frag),
		};
	}
	return 0;
}

/**
 * ipoib_tx_fits_sges - can the HCA gather a packet, if need be after copying it
 * @intf: interface
 * @skb: packet
 * @hlen: octets at its front, in one piece, that are given apart
 */
bool ipoib_tx_fits_sges(const struct ipoib_intf *intf, struct sk_buff *skb, unsigned int hlen)
{
	unsigned int need = skb_shinfo(skb)->nr_frags + (skb_headlen(skb) > hlen);

	return need <= intf->tx_sge || !skb_linearize(skb);
}
