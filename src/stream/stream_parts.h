/** Parts of several shards, at the role below them: the root of the tree, or the only wafer.
 *  stream_transfer.c receives and sends the messages; with one shard it does not call. */
#ifndef WSC_STREAM_PARTS_H
#define WSC_STREAM_PARTS_H
#include <wsc/stream.h>

/* Stages in transfer, one in each direction. */
struct stream_parts {
    struct comm_kept kept; /* whole vectors of weights, by stage */
    int64_t updates;       /* number of updates of the weights in `kept` */
    /* Weights that arrive: one reference to each part and to the whole vector until it is complete.
     */
    struct comm_buf *weights[STREAM_MAX_FANOUT], *whole;
    int64_t n_joined; /* elements of `whole` that are written, in the order of their use */
    /* Gradients that are sent: one reference to each part until all vectors are cut. */
    struct comm_buf *gradients[STREAM_MAX_FANOUT];
    int64_t n_cut; /* elements of all vectors that are cut, from the last one on */
};

/* Allocate @p ports->parts, unless it exists. WSC_NOMEM. */
enum wsc_err stream_parts_create(struct stream_ports *ports) WSC_CHECKED;
/* Free *@p parts and set it to NULL; NULL allowed. */
void stream_parts_destroy(struct comm *comm, struct stream_parts **parts);

/* Join the parts of all shards to the whole weights of transfer @p at; the parts may still be
 * arriving. Takes the reference of each part. *@p whole: a reference for the caller. It is complete
 * on return if links deliver whole messages, if tensors have masks, or if it was joined before in
 * this step; otherwise stream_wait_weights() writes it. */
enum wsc_err stream_parts_join(const struct stream_ports *ports, const struct stream_at *at,
                               struct comm_buf *const *take_part,
                               struct comm_buf **whole) WSC_CHECKED;
/* Write the first @p n_wanted elements in the order of their use, which is from the last one on in
 * the backward pass. */
enum wsc_err stream_parts_join_until(const struct stream_ports *ports, const struct stream_at *at,
                                     int64_t n_wanted) WSC_CHECKED;

/* The complete part of shard @p m of a list of @p n_sums whole vectors of gradients; NULL if there
 * are none. */
enum wsc_err stream_parts_cut(const struct stream_ports *ports, int stage, int m,
                              struct comm_buf *whole, int n_sums,
                              struct comm_buf **part) WSC_CHECKED;
/* Create a part for each shard, which stream_parts_cut_until() fills; @p part gets a reference of
 * each. */
enum wsc_err stream_parts_open(const struct stream_ports *ports, int stage, int n_sums,
                               struct comm_buf **part) WSC_CHECKED;
/* Cut the last @p n_final elements of @p n_sums vectors at @p whole, which are final, and let them
 * be sent. */
enum wsc_err stream_parts_cut_until(const struct stream_ports *ports, int stage, int n_sums,
                                    const float *whole, int64_t n_final) WSC_CHECKED;
#endif
