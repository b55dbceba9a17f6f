// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Verbs of memory regions. DMA addresses are kernel virtual addresses if ib_core
 * maps without a DMA device, and all memory has one (INFINIBAND_VIRT_DMA excludes
 * high memory); else they are those of the table of mappings (dma.h). A user region
 * keeps its pages pinned until it goes, and is accessed by their kernel addresses:
 * what they were mapped for is not asked.
 */
#include <linux/log2.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "dma.h"
#include "sib.h"
#include "umem.h"

/* Wait until nobody uses a region that has left the table or is not valid. */
static void quiesce(struct sib_port *port)
{
	spin_lock_bh(&port->lock);
	spin_unlock_bh(&port->lock);
}

static struct sib_mr *mr_alloc(struct ib_pd *ibpd, struct sib_share *share,
			       enum sib_mr_kind kind, int access)
{
	struct sib_limit *limit = &to_sib(ibpd->device)->limit;
	struct sib_mr *mr;

	if (sib_limit_take(limit, share, SIB_KIND_MR))
		return NULL;
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr) {
		sib_limit_give(limit, share, SIB_KIND_MR);
		return NULL;
	}
	mr->share = share;
	mr->kind = kind;
	mr->pd = ibpd;
	mr->access = access;
	mr->shift = PAGE_SHIFT;
	return mr;
}

/* Free a region that nobody knows. */
static void mr_free(struct sib_dev *dev, struct sib_mr *mr)
{
	if (mr->umem)
		ib_umem_release(mr->umem);
	kvfree(mr->pages);
	sib_limit_give(&dev->limit, mr->share, SIB_KIND_MR);
	kfree(mr);
}

/* Makes the region known, or frees it. */
static struct ib_mr *mr_publish(struct ib_pd *ibpd, struct sib_mr *mr)
{
	struct sib_dev *dev = to_sib(ibpd->device);
	int err = sib_mem_add(&dev->mem, mr);

	if (!err)
		return &mr->ibmr;
	mr_free(dev, mr);
	return ERR_PTR(err);
}

/**
 * sib_get_dma_mr - ib_device_ops.get_dma_mr
 * @ibpd: protection domain of a kernel consumer
 * @access: IB_ACCESS_*
 *
 * Context: process. Return: a region of all memory, or ERR_PTR(-ENOMEM).
 */
struct ib_mr *sib_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct sib_mr *mr = mr_alloc(ibpd, NULL, SIB_MR_DMA, access);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->length = U64_MAX;
	mr->valid = true;
	return mr_publish(ibpd, mr);
}

/* The kernel addresses of a user region's pages */
static int fill_pages(struct sib_mr *mr, struct ib_umem *umem)
{
	struct sg_page_iter it;
	size_t n = ib_umem_num_pages(umem);
	u32 i = 0;

	if (n > U32_MAX)
		return -EINVAL;
	mr->pages = kvmalloc_array(n, sizeof(*mr->pages), GFP_KERNEL_ACCOUNT);
	if (!mr->pages)
		return -ENOMEM;
	mr->max_pages = n;
	for_each_sgtable_page(&umem->sgt_append.sgt, &it, 0) {
		if (i == n)
			break;
		mr->pages[i++] = page_address(sg_page_iter_page(&it));
	}
	mr->num_pages = i;
	mr->first = ib_umem_offset(umem);
	return 0;
}

/* The pages of a process are shared with it, even if those of the kernel have to be mapped. */
static struct ib_umem *pin_pages(struct ib_device *ibdev, u64 start, u64 length, int access)
{
	struct sib_dma *dma = to_sib(ibdev)->mem.dma;
	struct sib_dma_pin pinning;
	struct ib_umem *umem;

	if (!dma)
		return ib_umem_get_va(ibdev, start, length, access);
	sib_dma_pin(dma, &pinning);
	umem = ib_umem_get_va(ibdev, start, length, access);
	sib_dma_unpin(dma, &pinning);
	return umem;
}

/* Pin memory of the calling process for a region that nobody knows yet. */
static int pin(struct ib_device *ibdev, struct sib_mr *mr, u64 start, u64 length, u64 iova,
	       int access)
{
	struct ib_umem *umem;
	int err;

	if (!length || iova + length < iova)
		return -EINVAL;
	umem = pin_pages(ibdev, start, length, access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	err = fill_pages(mr, umem);
	if (err) {
		ib_umem_release(umem);
		return err;
	}
	mr->umem = umem;
	mr->iova = iova;
	mr->length = length;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	return 0;
}

/**
 * sib_reg_user_mr - ib_device_ops.reg_user_mr
 * @ibpd: protection domain
 * @start: address in the calling process
 * @length: bytes
 * @iova: address of the first byte as requests will name it
 * @access: IB_ACCESS_*, checked by ib_core
 * @dmah: NULL: there is no DMA that could be steered
 * @udata: of the process
 *
 * Context: process. Return: the region, or ERR_PTR: -EOPNOTSUPP with @dmah, -EINVAL if
 * it is empty or wraps, -ENOMEM, or what pinning the memory returned.
 */
struct ib_mr *sib_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access,
			      struct ib_dmah *dmah, struct ib_udata *udata)
{
	struct sib_mr *mr;
	int err;

	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	mr = mr_alloc(ibpd, sib_share_of(udata), SIB_MR_USER, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = pin(ibpd->device, mr, start, length, iova, access);
	if (err) {
		mr_free(to_sib(ibpd->device), mr);
		return ERR_PTR(err);
	}
	mr->valid = true;
	return mr_publish(ibpd, mr);
}

/* Exchange the memory of a region for that of another that nobody knows. */
static void swap_memory(struct sib_mr *mr, struct sib_mr *other)
{
	swap(mr->umem, other->umem);
	swap(mr->pages, other->pages);
	swap(mr->num_pages, other->num_pages);
	swap(mr->max_pages, other->max_pages);
	mr->first = other->first;
	mr->iova = other->iova;
	mr->length = other->length;
}

/* Whether pages that are already pinned may be used that way */
static bool pinned_suffices(const struct sib_mr *mr, int access)
{
	return mr->umem->writable || !ib_access_writable(access);
}

/**
 * sib_rereg_user_mr - ib_device_ops.rereg_user_mr
 * @ibmr: a user region
 * @flags: IB_MR_REREG_*: what changes
 * @start: with IB_MR_REREG_TRANS, as for sib_reg_user_mr()
 * @length: likewise
 * @iova: likewise
 * @access: with IB_MR_REREG_ACCESS, IB_ACCESS_*
 * @ibpd: with IB_MR_REREG_PD, the protection domain
 * @udata: unused
 *
 * Its keys stay. Context: process. Return: NULL, or ERR_PTR with the region
 * unchanged; -EOPNOTSUPP if pages pinned for reading are to be written without
 * being registered again.
 */
struct ib_mr *sib_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
				int access, struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct sib_port *port = &to_sib(ibmr->device)->port;
	struct sib_mr *mr = to_smr(ibmr);
	struct sib_mr fresh = { };
	int err;

	if (flags & ~(IB_MR_REREG_TRANS | IB_MR_REREG_PD | IB_MR_REREG_ACCESS))
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	if (flags & IB_MR_REREG_TRANS) {
		err = pin(ibmr->device, &fresh, start, length, iova, access);
		if (err)
			return ERR_PTR(err);
	} else if (!pinned_suffices(mr, access)) {
		return ERR_PTR(-EOPNOTSUPP);
	}
	spin_lock_bh(&port->lock);
	mr->access = access;
	if (flags & IB_MR_REREG_PD)
		mr->pd = ibpd;
	if (flags & IB_MR_REREG_TRANS)
		swap_memory(mr, &fresh);
	spin_unlock_bh(&port->lock);
	kvfree(fresh.pages);
	if (fresh.umem)
		ib_umem_release(fresh.umem);
	if (flags & IB_MR_REREG_TRANS) {
		ibmr->iova = iova;
		ibmr->length = length;
	}
	return NULL;
}

/**
 * sib_dereg_mr - ib_device_ops.dereg_mr
 * @ibmr: the region
 * @udata: unused
 *
 * Nothing accesses it any more when this returns. Context: process. Return: 0.
 */
int sib_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct sib_dev *dev = to_sib(ibmr->device);
	struct sib_mr *mr = to_smr(ibmr);

	sib_mem_del(&dev->mem, mr);
	quiesce(&dev->port);
	mr_free(dev, mr);
	return 0;
}

/**
 * sib_alloc_mr - ib_device_ops.alloc_mr
 * @ibpd: protection domain
 * @type: IB_MR_TYPE_MEM_REG
 * @max_pages: pages it must be able to hold
 *
 * Context: process. Return: a region for fast registration, or ERR_PTR:
 * -EOPNOTSUPP, -EINVAL, -ENOMEM.
 */
struct ib_mr *sib_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_pages)
{
	struct sib_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_pages || max_pages > SIB_MAX_FAST_REG)
		return ERR_PTR(-EINVAL);
	mr = mr_alloc(ibpd, NULL, SIB_MR_FAST, 0);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->pages = kvcalloc(max_pages, sizeof(*mr->pages), GFP_KERNEL);
	if (!mr->pages) {
		mr_free(to_sib(ibpd->device), mr);
		return ERR_PTR(-ENOMEM);
	}
	mr->max_pages = max_pages;
	return mr_publish(ibpd, mr);
}

static int set_page(struct ib_mr *ibmr, u64 addr)
{
	struct sib_mr *mr = to_smr(ibmr);

	if (mr->num_pages == mr->max_pages)
		return -ENOMEM;
	mr->pages[mr->num_pages++] = (void *)(uintptr_t)addr;
	return 0;
}

/**
 * sib_map_mr_sg - ib_device_ops.map_mr_sg
 * @ibmr: region for fast registration that is not registered
 * @sg: memory
 * @sg_nents: its length
 * @sg_offset: bytes of the first entry to leave out, and where mapping ended
 *
 * Context: any. Return: entries mapped, or -EINVAL or -ENOMEM.
 */
int sib_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		  unsigned int *sg_offset)
{
	struct sib_mr *mr = to_smr(ibmr);

	if (mr->kind != SIB_MR_FAST || !is_power_of_2(ibmr->page_size))
		return -EINVAL;
	mr->num_pages = 0;
	return ib_sg_to_pages(ibmr, sg, sg_nents, sg_offset, set_page);
}
