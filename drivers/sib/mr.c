// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Memory: DMA regions of kernel consumers, and copying from and to the scatter
 * lists of work requests. ib_core maps without a DMA device, so an address
 * with the local DMA key is a kernel virtual address.
 */
#include <linux/slab.h>
#include <linux/bitops.h>
#include <net/checksum.h>

#include "sib.h"

/**
 * sib_get_dma_mr - ib_device_ops.get_dma_mr
 * @ibpd: unused, the region covers all memory
 * @access: unused, likewise
 *
 * Context: process. Return: the region, or ERR_PTR(-ENOMEM).
 */
struct ib_mr *sib_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct sib_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->ibmr.lkey = SIB_LKEY;
	mr->ibmr.rkey = SIB_LKEY;
	return &mr->ibmr;
}

/**
 * sib_reg_user_mr - ib_device_ops.reg_user_mr
 * @ibpd: unused
 * @start: unused
 * @length: unused
 * @iova: unused
 * @access: unused
 * @udata: unused
 *
 * ib_core offers a device without it to no kernel client at all. There are no
 * user space consumers, so nothing can call it.
 *
 * Return: ERR_PTR(-EOPNOTSUPP).
 */
struct ib_mr *sib_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access,
			      struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

/**
 * sib_dereg_mr - ib_device_ops.dereg_mr
 * @ibmr: the region
 * @udata: unused
 *
 * Return: 0.
 */
int sib_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	kfree(container_of(ibmr, struct sib_mr, ibmr));
	return 0;
}

static void *sge_ptr(const struct ib_sge *sge)
{
	return (void *)(uintptr_t)sge->addr;
}

/**
 * sib_sge_gather - copy a message out of a gather list, and sum it up
 * @sge: the list
 * @num_sge: its length
 * @to: @len bytes
 * @len: what the list holds in all
 * @sum: unfolded Internet checksum of @to is added to it
 *
 * Return: 0, or -EACCES if a key is not valid.
 */
int sib_sge_gather(const struct ib_sge *sge, u32 num_sge, void *to, u32 len, __wsum *sum)
{
	u32 off = 0, n, i;
	__wsum part;

	for (i = 0; i < num_sge && off < len; i++) {
		if (sge[i].lkey != SIB_LKEY)
			return -EACCES;
		n = min(sge[i].length, len - off);
		if (!n)
			continue;
		part = csum_partial_copy_nocheck(sge_ptr(&sge[i]), to + off, n);
		*sum = csum_block_add(*sum, part, off);
		off += n;
	}
	return off == len ? 0 : -EACCES;
}

/**
 * sib_sge_scatter - copy packet data into a scatter list
 * @sge: the list
 * @num_sge: its length
 * @skip: bytes of the list to leave alone
 * @skb: where the data are
 * @off: at which offset
 * @len: how many; the list holds at least @skip + @len
 *
 * Return: 0, or -EACCES if a key is not valid.
 */
int sib_sge_scatter(const struct ib_sge *sge, u32 num_sge, u32 skip, struct sk_buff *skb,
		    unsigned int off, u32 len)
{
	u32 n, i;

	for (i = 0; i < num_sge && len; i++) {
		if (skip >= sge[i].length) {
			skip -= sge[i].length;
			continue;
		}
		if (sge[i].lkey != SIB_LKEY)
			return -EACCES;
		n = min(sge[i].length - skip, len);
		if (skb_copy_bits(skb, off, sge_ptr(&sge[i]) + skip, n))
			return -EACCES;
		off += n;
		len -= n;
		skip = 0;
	}
	return len ? -EACCES : 0;
}

/**
 * sib_sge_write - copy memory to the start of a scatter list
 * @sge: the list
 * @num_sge: its length
 * @from: @len bytes
 * @len: how many; the list holds at least as many
 *
 * Return: 0, or -EACCES if a key is not valid.
 */
int sib_sge_write(const struct ib_sge *sge, u32 num_sge, const void *from, u32 len)
{
	u32 n, i;

	for (i = 0; i < num_sge && len; i++) {
		if (sge[i].lkey != SIB_LKEY)
			return -EACCES;
		n = min(sge[i].length, len);
		memcpy(sge_ptr(&sge[i]), from, n);
		from += n;
		len -= n;
	}
	return len ? -EACCES : 0;
}
