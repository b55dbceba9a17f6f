// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 7.2: ib_umem_get() became ib_umem_get_va()
#include <rdma/ib_umem.h>

#ifdef PROBE_NEW
struct ib_umem *probe(struct ib_device *dev, unsigned long va, size_t size, int access);
struct ib_umem *probe(struct ib_device *dev, unsigned long va, size_t size, int access)
{
	return ib_umem_get_va(dev, va, size, access);
}
#else
struct probe *ib_umem_get_va;
struct ib_umem *probe(struct ib_device *dev, unsigned long va, size_t size, int access);
struct ib_umem *probe(struct ib_device *dev, unsigned long va, size_t size, int access)
{
	return ib_umem_get(dev, va, size, access);
}
#endif
