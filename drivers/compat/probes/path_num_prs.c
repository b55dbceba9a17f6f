// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.2: the number of records in the answer to ib_sa_path_rec_get() lost its sign
#include <rdma/ib_sa.h>

#ifdef PROBE_NEW
#define probe_count unsigned int
#else
#define probe_count int
#endif

static void probe_done(int status, struct sa_path_rec *rec, probe_count num, void *context)
{
}

int probe(struct ib_sa_client *client, struct ib_device *dev, struct sa_path_rec *rec,
	  struct ib_sa_query **query)
{
	return ib_sa_path_rec_get(client, dev, 1, rec, 0, 0, 0, probe_done, NULL, query);
}
