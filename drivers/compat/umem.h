/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Memory of processes that is pinned. */
#ifndef OPENIPOIB_COMPAT_UMEM_H
#define OPENIPOIB_COMPAT_UMEM_H

#include <rdma/ib_umem.h>

#if !COMPAT_UMEM_GET_VA
#define ib_umem_get_va ib_umem_get
#endif

#endif /* OPENIPOIB_COMPAT_UMEM_H */
