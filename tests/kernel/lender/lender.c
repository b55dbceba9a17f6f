// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * /dev/lender: frames that are memory of the process that sends them, and may still change
 * when they are received.
 *
 * So Linux sends a file by TCP, and by UDP too where sendfile() copies nothing, from 6.5 on:
 * what comes out of a tunnel then is pages of the process at its other end. Late versions of
 * 6.1 copy it, veth copies what packet sockets have not copied; here nothing is copied.
 *
 * A file has the pages that were mapped of it, once. Writing a struct lender_frame sends
 * some octets of them. A file's memory is guarded by its lock; frames have references on
 * their pages.
 */
#include <linux/etherdevice.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#define MAX_PAGES	4096

/**
 * struct lender_frame - a frame to be sent
 * @ifindex: network device, in the namespace of the process
 * @offset: of its Ethernet header in the memory; it lies within a page
 * @length: octets
 */
struct lender_frame {
	__u32 ifindex;
	__u32 offset;
	__u32 length;
};

/**
 * struct lender - an open file
 * @lock: guards what follows
 * @count: how many pages it has
 * @pages: these
 */
struct lender {
	struct mutex lock;	/* pages, while they are made and sent */
	unsigned long count;
	struct page *pages[MAX_PAGES];
};

static void lender_free_pages(struct lender *lender)
{
	while (lender->count)
		put_page(lender->pages[--lender->count]);
}

static int lender_open(struct inode *inode, struct file *file)
{
	struct lender *lender = kvzalloc(sizeof(*lender), GFP_KERNEL);

	if (!lender)
		return -ENOMEM;
	mutex_init(&lender->lock);
	file->private_data = lender;
	return 0;
}

static int lender_release(struct inode *inode, struct file *file)
{
	struct lender *lender = file->private_data;

	lender_free_pages(lender);
	mutex_destroy(&lender->lock);
	kvfree(lender);
	return 0;
}

static int lender_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct lender *lender = file->private_data;
	unsigned long wanted = vma_pages(vma);
	int err = 0;

	if (wanted > MAX_PAGES || vma->vm_pgoff)
		return -EINVAL;
	mutex_lock(&lender->lock);
	if (lender->count)
		err = -EBUSY;
	while (!err && lender->count < wanted) {
		struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);

		if (page)
			lender->pages[lender->count++] = page;
		else
			err = -ENOMEM;
	}
	if (!err)
		err = vm_map_pages_zero(vma, lender->pages, wanted);
	if (err && err != -EBUSY)
		lender_free_pages(lender);
	mutex_unlock(&lender->lock);
	return err;
}

/* Put pages behind what is in the frame, as many as hold so many octets from @offset on. */
static void lend(struct lender *lender, struct sk_buff *skb, u32 offset, u32 length)
{
	u32 n;
	int i;

	for (i = 0; length; i++, offset += n, length -= n) {
		struct page *page = lender->pages[offset / PAGE_SIZE];

		n = min_t(u32, length, PAGE_SIZE - offset_in_page(offset));
		get_page(page);
		skb_fill_page_desc(skb, i, page, offset_in_page(offset), n);
		skb->len += n;
		skb->data_len += n;
		skb->truesize += PAGE_SIZE;
	}
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
}

static int lender_send(struct lender *lender, struct net_device *dev,
		       const struct lender_frame *frame)
{
	u32 at = offset_in_page(frame->offset);
	struct sk_buff *skb;

	if ((u64)frame->offset + frame->length > (u64)lender->count * PAGE_SIZE ||
	    frame->length < ETH_HLEN || at + ETH_HLEN > PAGE_SIZE ||
	    at + frame->length > MAX_SKB_FRAGS * PAGE_SIZE)
		return -EINVAL;
	skb = alloc_skb(LL_RESERVED_SPACE(dev) + ETH_HLEN, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	skb_reserve(skb, LL_RESERVED_SPACE(dev));
	skb_reset_mac_header(skb);
	skb_put_data(skb, page_address(lender->pages[frame->offset / PAGE_SIZE]) + at, ETH_HLEN);
	lend(lender, skb, frame->offset + ETH_HLEN, frame->length - ETH_HLEN);
	skb_set_network_header(skb, ETH_HLEN);
	skb->protocol = eth_hdr(skb)->h_proto;
	skb->dev = dev;
	dev_queue_xmit(skb);
	return 0;
}

static ssize_t lender_write(struct file *file, const char __user *from, size_t size, loff_t *pos)
{
	struct lender *lender = file->private_data;
	struct lender_frame frame;
	struct net_device *dev;
	int err;

	if (size != sizeof(frame))
		return -EINVAL;
	if (copy_from_user(&frame, from, sizeof(frame)))
		return -EFAULT;
	dev = dev_get_by_index(current->nsproxy->net_ns, frame.ifindex);
	if (!dev)
		return -ENODEV;
	mutex_lock(&lender->lock);
	err = lender_send(lender, dev, &frame);
	mutex_unlock(&lender->lock);
	dev_put(dev);
	return err ? err : sizeof(frame);
}

static const struct file_operations lender_fops = {
	.owner = THIS_MODULE,
	.open = lender_open,
	.release = lender_release,
	.mmap = lender_mmap,
	.write = lender_write,
};

static struct miscdevice lender_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "lender",
	.fops = &lender_fops,
	.mode = 0666,
};

module_misc_device(lender_device);

MODULE_DESCRIPTION("Sends frames that are memory of a process, for tests");
MODULE_LICENSE("Dual MIT/GPL");
