// SPDX-License-Identifier: Apache-2.0
/* Set-up of the tests of masks: a machine of one process, and tensors gathered from its shards. */
#include "masks_case.h"

#include "../../support/test.h"

#include <stdio.h>
#include <string.h>

void masks_make(struct masks_case *m, int n_shards, const char *sparsity)
{
    const struct memoryx_hooks hooks = {0};
    char shards[40];
    (void)snprintf(shards, sizeof shards, "cluster.memoryx.shards=%d", n_shards);
    const char *const sets[] = {shards, sparsity, NULL};
    memset(m, 0, sizeof *m);
    T_OK(small_config_init(&m->c, 1, sets));
    T_OK(comm_create(&m->comm, false));
    T_OK(cluster_create(&m->cluster, m->comm, &m->c.params, &m->c.cluster, true, &hooks));
    for (int i = 0; i < n_shards; i++)
        memoryx_init_weights(m->cluster->memoryx[i]);
}

void masks_unmake(struct masks_case *m)
{
    cluster_destroy(&m->cluster);
    comm_destroy(&m->comm);
    small_config_fini(&m->c);
}

int masks_n_shards(const struct masks_case *m)
{
    return m->cluster->net->topology->n_shards;
}

void masks_gather(const struct masks_case *m, int i, unsigned char *mask, float *w)
{
    for (int k = 0; k < masks_n_shards(m); k++) {
        const struct memoryx_part *s = &m->cluster->memoryx[k]->part[i];
        for (int64_t e = 0; e < s->n && mask; e++)
            mask[s->first + e] = s->mask[e / MEMORYX_WORD_BITS] >> e % MEMORYX_WORD_BITS & 1;
        memcpy(w + s->first, s->w, (size_t)s->n * sizeof *w);
    }
}
