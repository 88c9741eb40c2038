/** Hooks of the shards of a cluster, through which a recorded pass sees their batches.
 *
 *  cluster.c gives them to every shard that it creates; cluster_run_recorded() is in
 *  <wsc/cluster.h>. */
#ifndef WSC_CLUSTER_CLUSTER_RECORD_H
#define WSC_CLUSTER_CLUSTER_RECORD_H
#include <wsc/cluster.h>

/** Hook of the shards, struct cluster as @p ctx: a record in progress keeps a copy of the batch,
 *  then the hook of whoever created the cluster is called. */
enum wsc_err cluster_on_batch(void *ctx, const struct memoryx_batch *batch);
/** Hook of the shards: hand the texts of a generation on to whoever created the cluster. */
enum wsc_err cluster_on_texts(void *ctx, const int32_t *words, int64_t n_words);
/** Hook of the shards: hand the scores of an evaluation's samples on. */
enum wsc_err cluster_on_scores(void *ctx, int64_t step, const struct stream_score *score,
                               int64_t n);
/** Hook of the shards: hand the counts of a batch's classes on. */
enum wsc_err cluster_on_classes(void *ctx, const struct model_class_count *count, int64_t n);
#endif
