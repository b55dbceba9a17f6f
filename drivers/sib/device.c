// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What ib_core asks of a device as a whole and of its port: capabilities,
 * attributes, tables.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/utsname.h>
#include <rdma/ib_cache.h>

#include "sib.h"
#include "verbs.h"

static int sib_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			    struct ib_udata *udata)
{
	const struct sib_profile *profile = to_sib(ibdev)->profile;
	const int *max = to_sib(ibdev)->limit.max;

	attr->device_cap_flags = IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_BAD_PKEY_CNTR | IB_DEVICE_BAD_QKEY_CNTR |
				 IB_DEVICE_CURR_QP_STATE_MOD | IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_MEM_MGT_EXTENSIONS |
				 (profile->csum ? IB_DEVICE_UD_IP_CSUM : 0);
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG |
				 (profile->lso ? IBK_UD_TSO : 0) |
				 (profile->block_own ? IBK_BLOCK_MULTICAST_LOOPBACK : 0);
	attr->page_size_cap = PAGE_SIZE;
	attr->sys_image_guid = to_sib(ibdev)->port.sma.node_guid;
	attr->vendor_id = SIB_VENDOR_ID;
	attr->vendor_part_id = SIB_DEVICE_ID;
	attr->hw_ver = SIB_HW_REV;
	attr->max_mr_size = ~0ULL;
	attr->max_pd = max[SIB_KIND_PD];
	attr->max_ah = max[SIB_KIND_AH];
	attr->max_mr = max[SIB_KIND_MR];
	attr->max_cq = max[SIB_KIND_CQ];
	attr->max_qp = max[SIB_KIND_QP];
	attr->max_cqe = profile->max_cqe;
	attr->max_qp_wr = profile->max_qp_wr;
	attr->max_send_sge = profile->max_send_sge;
	attr->max_recv_sge = profile->max_recv_sge;
	attr->max_sge_rd = profile->max_send_sge;
	attr->max_srq = max[SIB_KIND_SRQ];
	attr->max_srq_wr = profile->max_srq_wr;
	attr->max_srq_sge = profile->max_srq_sge;
	attr->max_qp_rd_atom = SIB_MAX_RD_ATOMIC;
	attr->max_qp_init_rd_atom = SIB_MAX_RD_ATOMIC;
	attr->max_res_rd_atom = SIB_MAX_RD_ATOMIC * attr->max_qp;
	attr->atomic_cap = IB_ATOMIC_HCA;
	attr->max_fast_reg_page_list_len = SIB_MAX_FAST_REG;
	attr->local_ca_ack_delay = SIB_ACK_DELAY;
	attr->max_pkeys = profile->pkeys;
	attr->max_mcast_grp = max[SIB_KIND_MCAST];
	attr->max_mcast_qp_attach = profile->max_mcast_qp;
	attr->max_total_mcast_qp_attach = attr->max_mcast_grp * profile->max_mcast_qp;
	return 0;
}

static int sib_query_port(struct ib_device *ibdev, u32 port_num, struct ib_port_attr *attr)
{
	const struct sib_profile *profile = to_sib(ibdev)->profile;
	struct sib_sma *sma = &to_sib(ibdev)->port.sma;
	unsigned long flags;

	if (sib_fault_is_fatal(&to_sib(ibdev)->fault))
		return -EIO;
	spin_lock_irqsave(&sma->lock, flags);
	attr->state = sma->state;
	attr->phys_state = sma->phys;
	attr->lid = sma->lid;
	attr->lmc = sma->lmc;
	attr->sm_lid = sma->sm_lid;
	attr->sm_sl = sma->sm_sl;
	attr->port_cap_flags = sma->cap_mask;
	attr->subnet_timeout = sma->subnet_timeout;
	attr->bad_pkey_cntr = sma->pkey_violations;
	attr->qkey_viol_cntr = sma->qkey_violations;
	attr->max_mtu = sma->mtu_cap;
	attr->active_mtu = sma->mtu;
	spin_unlock_irqrestore(&sma->lock, flags);
	attr->phys_mtu = profile->phys_mtu;
	attr->max_msg_sz = SIB_MAX_MSG;
	attr->pkey_tbl_len = profile->pkeys;
	attr->gid_tbl_len = SIB_NUM_GUIDS;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_QDR;
	attr->max_vl_num = SIB_VL_CAP;
	return 0;
}

static int sib_modify_port(struct ib_device *ibdev, u32 port_num, int mask,
			   struct ib_port_modify *modify)
{
	struct sib_port *port = &to_sib(ibdev)->port;
	struct sib_sma *sma = &port->sma;
	unsigned long flags;

	if (mask & ~(IB_PORT_RESET_QKEY_CNTR | IB_PORT_SHUTDOWN | IB_PORT_INIT_TYPE))
		return -EOPNOTSUPP;
	sib_sma_set_caps(sma, modify->set_port_cap_mask, modify->clr_port_cap_mask, jiffies);
	if (mask & IB_PORT_RESET_QKEY_CNTR) {
		spin_lock_irqsave(&sma->lock, flags);
		sma->qkey_violations = 0;
		spin_unlock_irqrestore(&sma->lock, flags);
	}
	if (mask & IB_PORT_SHUTDOWN)
		sma->ops->phys(sma, SIB_PHYS_DISABLED);
	sib_port_kick(port);
	return 0;
}

static int sib_modify_device(struct ib_device *ibdev, int mask, struct ib_device_modify *modify)
{
	struct sib_port *port = &to_sib(ibdev)->port;

	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC) {
		memcpy(ibdev->node_desc, modify->node_desc, sizeof(ibdev->node_desc));
		sib_sma_set_node_desc(&port->sma, modify->node_desc, jiffies);
		sib_port_kick(port);
	}
	return 0;
}

static int sib_query_gid(struct ib_device *ibdev, u32 port_num, int index, union ib_gid *gid)
{
	struct sib_sma *sma = &to_sib(ibdev)->port.sma;

	if (index < 0 || index >= SIB_NUM_GUIDS)
		return -EINVAL;
	gid->global.interface_id = READ_ONCE(sma->guids[index]);
	gid->global.subnet_prefix = gid->global.interface_id ? READ_ONCE(sma->gid_prefix) : 0;
	return 0;
}

static int sib_query_pkey(struct ib_device *ibdev, u32 port_num, u16 index, u16 *pkey)
{
	if (index >= to_sib(ibdev)->profile->pkeys)
		return -EINVAL;
	*pkey = READ_ONCE(to_sib(ibdev)->port.sma.pkeys[index]);
	return 0;
}

static int sib_get_port_immutable(struct ib_device *ibdev, u32 port_num,
				  struct ib_port_immutable *immutable)
{
	const struct sib_profile *profile = to_sib(ibdev)->profile;

	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	if (profile->opa) {
		immutable->core_cap_flags = RDMA_CORE_PORT_INTEL_OPA | RDMA_CORE_CAP_OPA_AH;
		immutable->max_mad_size = OPA_MGMT_MAD_SIZE;
	}
	immutable->pkey_tbl_len = profile->pkeys;
	immutable->gid_tbl_len = SIB_NUM_GUIDS;
	return 0;
}

static void sib_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	strscpy(str, OPENIPOIB_VERSION, IB_FW_VERSION_NAME_MAX);
}

static int sib_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	to_spd(ibpd)->share = sib_share_of(udata);
	return sib_limit_take(&to_sib(ibpd->device)->limit, to_spd(ibpd)->share, SIB_KIND_PD);
}

static int sib_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	sib_limit_give(&to_sib(ibpd->device)->limit, to_spd(ibpd)->share, SIB_KIND_PD);
	return 0;
}

static struct sib_ucontext *to_suc(struct ib_ucontext *ibuc)
{
	return container_of(ibuc, struct sib_ucontext, ibuc);
}

static int sib_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct sib_share *share = sib_share_get(&to_sib(ibuc->device)->limit);

	if (IS_ERR(share))
		return PTR_ERR(share);
	to_suc(ibuc)->share = share;
	return 0;
}

static void sib_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	sib_share_put(&to_sib(ibuc->device)->limit, to_suc(ibuc)->share);
}

/*
 * A device may go while it is used: ib_core destroys what the process has of it,
 * and what the process has mapped is then only its own memory.
 */
static void sib_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

static void sib_dealloc_driver(struct ib_device *ibdev)
{
	struct sib_dev *dev = to_sib(ibdev);

	sib_device_cleanup(dev);
	sib_entry_gone(dev->entry);
}

static ssize_t hca_type_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "sib\n");
}
static DEVICE_ATTR_RO(hca_type);

static ssize_t hw_rev_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", SIB_HW_REV);
}
static DEVICE_ATTR_RO(hw_rev);

static ssize_t board_id_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "sib-%s\n", OPENIPOIB_VERSION);
}
static DEVICE_ATTR_RO(board_id);

static struct attribute *sib_attrs[] = {
	&dev_attr_hca_type.attr,
	&dev_attr_hw_rev.attr,
	&dev_attr_board_id.attr,
	NULL
};

static const struct attribute_group sib_attr_group = {
	.attrs = sib_attrs,
};

COMPAT_CREATE_CQ(sib_create_cq)
COMPAT_REG_USER_MR(sib_reg_user_mr)
COMPAT_RESIZE_CQ(sib_resize_cq)

const struct ib_device_ops sib_device_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_HFI1,
	.uverbs_abi_ver = 2,	/* of that provider: it maps its queues */

	.alloc_hw_port_stats = sib_alloc_hw_port_stats,
	.alloc_mr = sib_alloc_mr,
	.alloc_pd = sib_alloc_pd,
	.alloc_ucontext = sib_alloc_ucontext,
	.attach_mcast = sib_attach_mcast,
	.create_ah = sib_create_ah,
	.create_cq = compat_op(CREATE_CQ_BUNDLE, sib_create_cq),
	.create_qp = sib_create_qp,
	.create_srq = sib_create_srq,
	.create_user_ah = sib_create_ah,
	.dealloc_driver = sib_dealloc_driver,
	.dealloc_pd = sib_dealloc_pd,
	.dealloc_ucontext = sib_dealloc_ucontext,
	.dereg_mr = sib_dereg_mr,
	.destroy_ah = sib_destroy_ah,
	.destroy_cq = sib_destroy_cq,
	.destroy_qp = sib_destroy_qp,
	.destroy_srq = sib_destroy_srq,
	.device_group = &sib_attr_group,
	.detach_mcast = sib_detach_mcast,
	.disassociate_ucontext = sib_disassociate_ucontext,
	.get_dev_fw_str = sib_get_dev_fw_str,
	.get_dma_mr = sib_get_dma_mr,
	.get_hw_stats = sib_get_hw_stats,
	.get_port_immutable = sib_get_port_immutable,
	.map_mr_sg = sib_map_mr_sg,
	.mmap = sib_mmap,
	.mmap_free = sib_mmap_free,
	.modify_ah = sib_modify_ah,
	.modify_device = sib_modify_device,
	.modify_port = sib_modify_port,
	.modify_qp = sib_modify_qp,
	.modify_srq = sib_modify_srq,
	.poll_cq = sib_poll_cq,
	.post_recv = sib_post_recv,
	.post_send = sib_post_send,
	.post_srq_recv = sib_post_srq_recv,
	.process_mad = sib_process_mad,
	.query_ah = sib_query_ah,
	.query_device = sib_query_device,
	.query_gid = sib_query_gid,
	.query_pkey = sib_query_pkey,
	.query_port = sib_query_port,
	.query_qp = sib_query_qp,
	.query_srq = sib_query_srq,
	.reg_user_mr = compat_op(REG_USER_MR_DMAH, sib_reg_user_mr),
	.req_notify_cq = sib_req_notify_cq,
	.rereg_user_mr = sib_rereg_user_mr,
	.resize_user_cq = compat_op(RESIZE_USER_CQ, sib_resize_cq),

	INIT_RDMA_OBJ_SIZE(ib_ah, sib_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, sib_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, sib_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, sib_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, sib_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, sib_ucontext, ibuc),
};

/*
 * Data path commands of processes, which ib_core does not offer by itself. To poll
 * and to post receive requests they use what they have mapped.
 */
#define UVERBS_CMDS	(BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ) | \
			 BIT_ULL(IB_USER_VERBS_CMD_POST_SEND))

/**
 * sib_device_init - set up a device that is to be registered
 * @dev: from ib_alloc_device()
 * @name: name pattern given by the user
 * @guid: node and port GUID
 */
void sib_device_init(struct sib_dev *dev, const char *name, __be64 guid)
{
	struct ib_device *ibdev = &dev->ibdev;

	dev->profile = sib_profile_get();
	dev->chooser.profile = dev->profile;
	dev->chooser.seed = sib_choice_seed(dev->profile);
	sib_vectors_init(dev);
	sib_mem_init(&dev->mem);
	sib_limit_init(&dev->limit, dev->profile->max_srq, dev->profile->max_mcast);
	sib_port_init(&dev->port, guid);
	dev->port.sma.num_pkeys = dev->profile->pkeys;
	ibdev->node_guid = guid;
	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = dev->profile->vectors;
	ibdev->local_dma_lkey = SIB_LKEY;
	ibdev->uverbs_cmd_mask |= UVERBS_CMDS;
	snprintf(ibdev->node_desc, sizeof(ibdev->node_desc), "%.47s %.15s",
		 init_utsname()->nodename, name);
	memcpy(dev->port.sma.node_desc, ibdev->node_desc, SIB_NODE_DESC_LEN);
	ib_set_device_ops(ibdev, &sib_device_ops);
	sib_netdev_offer(dev);
}

/**
 * sib_device_cleanup - release what sib_device_init() set up
 * @dev: device that was never registered, or is not any more
 *
 * Context: process; takes rtnl.
 */
void sib_device_cleanup(struct sib_dev *dev)
{
	rtnl_lock();
	sib_port_detach(&dev->port);
	rtnl_unlock();
	sib_port_cleanup(&dev->port);
	sib_vectors_cleanup(dev);
	sib_mem_cleanup(&dev->mem);
}
