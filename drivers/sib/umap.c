// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Memory that the kernel and a process share: the queues of the process.
 *
 * A queue's memory belongs to the CQ, QP or SRQ and is offered, under an offset
 * of the process's own context, from its creation to its end; a mmap() that runs
 * meanwhile holds a reference. What has been mapped has references on its pages,
 * not on the queue: it stays as long as the process wants, and is nothing but
 * memory of the process once the queue has gone, by destroy, by the end of the
 * process or by `rdma link delete`. So nothing has to be unmapped for it.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "sib.h"

static struct sib_umap *to_umap(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct sib_umap, entry);
}

static void umap_free(struct sib_umap *map)
{
	vfree(map->mem);
	sib_share_uncharge(map->share, map->size);
	kfree(map);
}

/* Consumes the memory if it fails. */
static int offer(struct sib_umap *map, struct ib_udata *udata)
{
	struct sib_ucontext *uc = rdma_udata_to_drv_context(udata, struct sib_ucontext, ibuc);
	u64 offset;
	int err;

	err = rdma_user_mmap_entry_insert(&uc->ibuc, &map->entry, map->size);
	if (err) {
		umap_free(map);
		return err;
	}
	offset = rdma_user_mmap_get_offset(&map->entry);
	err = ib_copy_to_udata(udata, &offset, sizeof(offset));
	if (err)
		sib_umap_destroy(map);
	return err;
}

/**
 * sib_umap_create - make memory that a process may map
 * @udata: where the process is told the offset for it
 * @size: bytes; it can only be mapped as a whole
 *
 * Context: process. Return: zeroed memory; -EINVAL if the process does not want to
 * know the offset; -ENOMEM, also if it may not lock so much; -EFAULT.
 */
struct sib_umap *sib_umap_create(struct ib_udata *udata, size_t size)
{
	struct sib_umap *map;
	int err;

	if (udata->outlen < sizeof(u64))
		return ERR_PTR(-EINVAL);
	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return ERR_PTR(-ENOMEM);
	err = sib_share_charge(sib_share_of(udata), size);
	if (err) {
		kfree(map);
		return ERR_PTR(err);
	}
	map->share = sib_share_of(udata);
	map->size = size;
	map->mem = __vmalloc(PAGE_ALIGN(size), GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!map->mem) {
		umap_free(map);
		return ERR_PTR(-ENOMEM);
	}
	err = offer(map, udata);
	return err ? ERR_PTR(err) : map;
}

/**
 * sib_umap_destroy - the kernel uses it no more
 * @map: the memory, or NULL
 *
 * Context: process.
 */
void sib_umap_destroy(struct sib_umap *map)
{
	if (map)
		rdma_user_mmap_entry_remove(&map->entry);
}

/**
 * sib_mmap - ib_device_ops.mmap
 * @ibuc: the process's context
 * @vma: where it wants one of its queues: all of it, shared
 *
 * Context: process. Return: 0; -EINVAL if there is no such queue; -ENOMEM.
 */
int sib_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry = rdma_user_mmap_entry_get(ibuc, vma);
	unsigned long off;
	int err = 0;

	if (!entry)
		return -EINVAL;
	for (off = 0; off < entry->npages * PAGE_SIZE && !err; off += PAGE_SIZE)
		err = vm_insert_page(vma, vma->vm_start + off,
				     vmalloc_to_page(to_umap(entry)->mem + off));
	rdma_user_mmap_entry_put(entry);
	return err;
}

/**
 * sib_mmap_free - ib_device_ops.mmap_free
 * @entry: that of memory whose last user has gone
 *
 * Context: process.
 */
void sib_mmap_free(struct rdma_user_mmap_entry *entry)
{
	umap_free(to_umap(entry));
}
