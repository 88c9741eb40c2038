/** The MemoryX shards of a small machine with sparse weights, and their tensors put together. */
#ifndef WSC_TEST_MASKS_CASE_H
#define WSC_TEST_MASKS_CASE_H
#include "../../../src/memoryx/memoryx_mask.h"
#include "../../support/small_run.h"

enum { MASKS_MOST = 1 << 14 }; /**< elements of the largest sparse tensor, at most */

/** A machine with values and weights; masks after cluster_make_masks(). */
struct masks_case {
    struct small_config c;
    struct comm *comm;
    struct cluster *cluster;
};
/** One system, @p n_shards shards; @p sparsity as after `--set`. */
void masks_make(struct masks_case *m, int n_shards, const char *sparsity);
void masks_unmake(struct masks_case *m);
int masks_n_shards(const struct masks_case *m);
/** The whole tensor @p i of all shards: its mask, a byte per element (NULL: not), and weights. */
void masks_gather(const struct masks_case *m, int i, unsigned char *mask, float *w);
#endif
