/** Parts of several shards, at the role below them: the root of the tree or a lone wafer.
 *  stream_transfer.c receives and sends the messages, see there; without several shards nothing
 *  here is called.
 */
#ifndef WSC_STREAM_PARTS_H
#define WSC_STREAM_PARTS_H
#include <wsc/stream.h>

/* What is under way, one stage in each direction. */
struct stream_parts {
    struct comm_kept kept; /* whole vectors of weights, by stage */
    int64_t updates;       /* of the weights that they have */
    /* Weights that come: one reference of each part and of the whole vector until all is there. */
    struct comm_buf *weights[STREAM_MAX_FANOUT], *whole;
    int64_t n_joined; /* elements of the whole that are written, in the order of their use */
    /* Gradients that leave: one reference of each part until all is cut. */
    struct comm_buf *gradients[STREAM_MAX_FANOUT];
    int64_t n_cut; /* elements of all vectors, from the last one on */
};

/* Memory for @p ports->parts, unless it has it.  WSC_NOMEM. */
enum wsc_err stream_parts_create(struct stream_ports *ports) WSC_CHECKED;
/* Release all of *@p parts and null it; NULL allowed. */
void stream_parts_destroy(struct comm *comm, struct stream_parts **parts);

/* The whole weights of transfer @p at from the parts of all shards, which may still be coming;
 * takes the reference of each part.  *@p whole (a reference of the caller's) is written by
 * stream_wait_weights(), or is there: before this returns where links hand over whole messages and
 * where tensors have masks, and where it was put together before in this step. */
enum wsc_err stream_parts_join(const struct stream_ports *ports, const struct stream_at *at,
                               struct comm_buf *const *take_part,
                               struct comm_buf **whole) WSC_CHECKED;
/* Write elements up to the @p n_wanted-th in the order of their use: from the last one on in the
 * backward pass. */
enum wsc_err stream_parts_join_until(const struct stream_ports *ports, const struct stream_at *at,
                                     int64_t n_wanted) WSC_CHECKED;

/* Shard @p m's part of a list of @p n_sums whole vectors of gradients, complete; NULL of none. */
enum wsc_err stream_parts_cut(const struct stream_ports *ports, int stage, int m,
                              struct comm_buf *whole, int n_sums,
                              struct comm_buf **part) WSC_CHECKED;
/* Open a part for each shard, which stream_parts_cut_until() fills; @p part gets a reference of
 * each. */
enum wsc_err stream_parts_open(const struct stream_ports *ports, int stage, int n_sums,
                               struct comm_buf **part) WSC_CHECKED;
/* The last @p n_final elements of @p n_sums vectors at @p whole are final: cut them, let them
 * leave. */
enum wsc_err stream_parts_cut_until(const struct stream_ports *ports, int stage, int n_sums,
                                    const float *whole, int64_t n_final) WSC_CHECKED;
#endif
