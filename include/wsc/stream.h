/** Streaming: the tree, the plan of a pass, weights down, sums up.  Layer 4.
 *
 *  Who is connected to whom, what is sent in which order, how far a sender may run ahead, and how
 *  parts of a stage vector are cut over MemoryX shards.  The three roles meet here and nowhere
 *  else.  What goes up an edge in one micro-batch, in this order: for each transfer k a credit (on
 *  a channel of its own); after the last forward stage the losses; after each backward stage its
 *  gradients; at the end of the batch the times.
 *
 *  Canonical order: the leaves of the global batch are numbered 0 .. n-1.  Micro-batch j takes a
 *  contiguous range of leaves, and inside it wafer w a contiguous range.  A list of sums always
 *  belongs to the maximal nodes of such a range (<wsc/num.h>), so both ends know its length.
 *  Start reading at struct stream_topology, then stream_net_create.
 */
#ifndef WSC_STREAM_H
#define WSC_STREAM_H
#include <wsc/comm.h>
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/model.h>
#include <wsc/num.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- topology -------------------------------------------------------------------------------- */

enum stream_kind { STREAM_MEMORYX, STREAM_SWARMX, STREAM_WAFER };

/** One SwarmX node. */
struct stream_node {
    int place;  /**< which one of the machine; index and place differ after losses */
    int parent; /**< SwarmX node, or -1: the root, whose parents are the shards */
    int first_child, n_children; /**< SwarmX nodes, or wafers when leaf */
    bool leaf;
    int first_wafer, end_wafer; /**< all wafers below */
};
/** Roles are numbered: shards 0 .. M-1, then SwarmX nodes (root first), then wafers; all those that
 *  the machine has, lost or not.  Nodes and wafers here are those that are left, in their order. */
struct stream_topology {
    int n_shards, n_nodes, n_wafers, n_roles, fanout;
    int n_node_places, n_wafer_places; /**< of the machine */
    struct stream_node *node;          /**< owned, n_nodes, level by level from the root */
    int *wafer_place;                  /**< owned, n_wafers: which ones of the machine */
};
/** The tree of @p n_wafers: ceil(log_fanout N) levels, ceil(children / fanout) nodes in each,
 *  children spread evenly; no node for one wafer. */
enum wsc_err stream_topology_create(struct stream_topology **out, int n_shards, int n_wafers,
                                    int fanout) WSC_CHECKED;
/** The same machine without the wafers and nodes for which @p lost_wafer (n_wafers) and
 *  @p lost_node (of the whole machine) are true; NULL: none.  How the tree is formed anew: the
 *  other nodes of a level share its children evenly, in their order, so that one may get more than
 *  the fan-out; the first node of the highest level that has any stands in for a lost root; a
 *  level without nodes is left out.  Then lost wafers leave, and nodes with nothing below.
 *  Errors: no node is left, or one would get more than STREAM_MAX_FANOUT children. */
enum wsc_err stream_topology_create_without(struct stream_topology **out,
                                            const struct stream_topology *machine,
                                            const bool *lost_wafer,
                                            const bool *lost_node) WSC_CHECKED;
void stream_topology_destroy(struct stream_topology **t);
static inline int stream_role_of_shard(const struct stream_topology *t, int m)
{
    (void)t;
    return m;
}
static inline int stream_role_of_node(const struct stream_topology *t, int i)
{
    return t->n_shards + t->node[i].place;
}
static inline int stream_role_of_wafer(const struct stream_topology *t, int w)
{
    return t->n_shards + t->n_node_places + t->wafer_place[w];
}
/** @p index: its number in the machine. */
enum stream_kind stream_kind_of_role(const struct stream_topology *t, int role, int *index);
/** "wafer 3", "SwarmX node 0", "MemoryX shard 11". */
void stream_role_name(const struct stream_topology *t, int role, char *text, int size);
/** Rate and loss of the link from node @p parent (-1: a shard) to its child @p child (a node, or a
 *  wafer when the parent is a leaf; of a shard the root, or the only wafer), faults included.  A
 *  node with more children than the fan-out shares the rate of as many links among them. */
struct stream_cable {
    int64_t rate_bytes_per_s;
    double loss; /**< probability for a packet */
};
struct stream_cable stream_cable_below(const struct hw *hw, const struct stream_topology *t,
                                       int parent, int child);
/** Rate at which node @p node adds, bytes/s. */
int64_t stream_rate_of_node(const struct hw *hw, const struct stream_topology *t, int node);
/** Choose a rank for each role: one role per rank when there are enough, otherwise wafers in
 *  contiguous blocks.  Ranks are filled host by host: a SwarmX node shares the host of its first
 *  wafer, as far as that has ranks for it, and each host has shards.  Shard 0 is on rank 0.
 *
 *  @param host_of_rank  (n_ranks), hosts numbered by their first rank; NULL: all on one
 *  @param[out] rank_of_role  (t->n_roles)
 */
enum wsc_err stream_place(const struct stream_topology *t, int n_ranks, const int *host_of_rank,
                          int *rank_of_role) WSC_CHECKED;

/* ---- shares ---------------------------------------------------------------------------------- */

/** How a global batch is cut. */
struct stream_batch {
    int64_t batch_size; /**< samples */
    int64_t leaf_samples;
    int64_t n_leaves; /**< ceil(batch_size / leaf_samples) */
    int64_t n_micro;  /**< micro-batches */
    int n_wafers;     /**< those that are left */
};
/** Range [*first, *end) of global leaves of wafers [w_first, w_end) in micro-batch @p micro. */
void stream_leaves(const struct stream_batch *b, int64_t micro, int w_first, int w_end,
                   int64_t *first, int64_t *end);
/** Samples of a range of leaves. */
int64_t stream_samples(const struct stream_batch *b, int64_t first_leaf, int64_t end_leaf);
/** Most samples that one wafer gets in one micro-batch. */
int64_t stream_max_samples(const struct stream_batch *b);

/* ---- slices: tensors over shards ------------------------------------------------------------- */

/** Tensors are cut in whole blocks of this many elements, so that sums and hashes over blocks do
 *  not depend on the number of shards. */
enum { STREAM_BLOCK_ELEMS = 1024 };
/** Elements [*first, *first + *n) of a tensor of @p n_elems that shard @p m of @p n_shards owns. */
void stream_slice(int64_t n_elems, int m, int n_shards, int64_t *first, int64_t *n);
/** Elements of @p stage that shard @p m streams: its slices of the stage's tensors, in view order.
 */
int64_t stream_stage_slice_elems(const struct model *model, int stage, int m, int n_shards);
/** Copy shard @p m's part @p slice into or out of the whole vector @p stage_vector; elements of
 *  @p elem_bytes bytes. */
void stream_slice_scatter(const struct model *model, int stage, int m, int n_shards,
                          const void *slice, void *stage_vector, int64_t elem_bytes);
void stream_slice_gather(const struct model *model, int stage, int m, int n_shards,
                         const void *stage_vector, void *slice, int64_t elem_bytes);

/* ---- one pass over a batch ------------------------------------------------------------------- */

enum stream_mode { STREAM_TRAIN, STREAM_EVAL, STREAM_GENERATE };
/** What the roles do next; the same on every rank. */
struct stream_pass {
    enum stream_mode mode;
    int64_t first_step;   /**< TRAIN: finished steps before; EVAL: first batch; names messages */
    int64_t n_steps;      /**< batches, or generated tokens */
    int64_t first_sample; /**< of the sample stream, where first_step begins */
    struct stream_batch batch;
    bool values;  /**< payloads travel; false: sizes only */
    bool squares; /**< TRAIN with values: times carry sums of squares of the leaves' gradients */
};

enum stream_msg_kind {
    STREAM_MSG_WEIGHTS = 1,
    STREAM_MSG_CREDIT,
    STREAM_MSG_LOSS,
    STREAM_MSG_GRADS,
    STREAM_MSG_TIMES,
    STREAM_MSG_READY,
    STREAM_MSG_NORM,
    STREAM_MSG_SCALE,
    STREAM_MSG_HASH,
    STREAM_MSG_SUMS,   /**< shards to shard 0: parts of sums over whole tensors */
    STREAM_MSG_TOTALS, /**< and back: the sums */
    STREAM_MSG_TOKENS
};
/** Fields of STREAM_MSG_WEIGHTS: when the step before ended on the slowest wafer, when its last
 *  gradient was complete in MemoryX, when this stage's weights were updated (ps); the factor that
 *  gradients of this step carry (the bits of a double); the event of the first one. */
enum {
    STREAM_F_STEP_START,
    STREAM_F_REDUCED,
    STREAM_F_READY,
    STREAM_F_GRADIENT_SCALE,
    STREAM_F_STEP_EVENT
};
/** Fields of STREAM_MSG_TIMES: end of the step on the slowest wafer, which one (lowest of equals),
 *  and where its time went, parts that add up to end - step start; the event of the end. */
enum {
    STREAM_F_END,
    STREAM_F_WAFER,
    STREAM_F_COMPUTE,
    STREAM_F_WEIGHTS,
    STREAM_F_REDUCE,
    STREAM_F_BOUNDARY,
    STREAM_F_INPUT,
    STREAM_F_END_EVENT
};

/** Loss sums of one canonical node, as they travel. */
struct stream_loss {
    double loss_sum; /**< nats over masked tokens */
    int64_t n_tokens, n_correct;
};
enum { STREAM_LOSS_BYTES = 24 /**< on the emulated link */, STREAM_SIGNAL_BYTES = 64 };

/* ---- the net --------------------------------------------------------------------------------- */

enum { STREAM_MAX_FANOUT = 64 };
/** The links of one role towards one side; arrays are parallel.  Where two roles are joined there
 *  are three links: weights down, credits up, data up. */
struct stream_side {
    int n;
    struct comm_link *weights[STREAM_MAX_FANOUT];
    struct comm_link *credit[STREAM_MAX_FANOUT];
    struct comm_link *data[STREAM_MAX_FANOUT];
};
/** All links of one role. */
struct stream_ports {
    struct stream_side up;   /**< towards MemoryX: parents */
    struct stream_side down; /**< towards the wafers: children */
    struct comm_link *ready; /**< shards: from the updating half to the sending half */
    /** Between shards: shard 0 has one pair per other shard, the others one pair. */
    struct comm_link *peer_out[STREAM_MAX_FANOUT], *peer_in[STREAM_MAX_FANOUT];
    int n_peers;
};
/** Everything that is fixed for a job: machine, model, tree, links of the local roles. */
struct stream_net {
    struct comm *comm;                /**< borrowed */
    const struct hw *hw;              /**< borrowed */
    const struct model *model;        /**< borrowed */
    struct stream_topology *topology; /**< owned; without what is lost */
    struct stream_ports *ports;       /**< owned, n_roles; filled for local roles only */
    uint64_t seed;                    /**< of lost packets */
};
/** Place the roles on the ranks of @p comm and open the links.  @p seed draws what lossy links
 *  lose.  Collective. */
enum wsc_err stream_net_create(struct stream_net **out, struct comm *comm, const struct hw *hw,
                               const struct model *model, struct stream_topology *take_topology,
                               uint64_t seed) WSC_CHECKED;
void stream_net_destroy(struct stream_net **net);
/** Between passes: join the roles anew, along @p take_topology of the same machine; links between
 *  shards stay.  Collective. */
enum wsc_err stream_net_form(struct stream_net *net,
                             struct stream_topology *take_topology) WSC_CHECKED;
/** Between passes: give the links the rates and losses of the faults of the present step. */
void stream_net_tune(struct stream_net *net);
/** Bytes that all links of the local roles have carried, by direction, as counted by the sending
 *  ends. */
void stream_net_bytes(const struct stream_net *net, int64_t *down, int64_t *up);

/* ---- what a stage weighs on the emulated links ----------------------------------------------- */

/** Bytes of a stage's weights, and of its gradient (32 bits per parameter), whole. */
int64_t stream_weight_bytes(const struct model *model, int stage);
int64_t stream_grad_bytes(const struct model *model, int stage);
/** One shard's part: the bytes are striped evenly. */
int64_t stream_per_shard_bytes(int64_t bytes, int n_shards);

/* ---- credits --------------------------------------------------------------------------------- */

/** How far a sender may run ahead: transfer q of a batch may start when the receivers have begun
 *  to consume transfer stream_window_need(q) of the same batch; -1 needs nothing.  All transfers
 *  after that one up to q fit the window; the next one always may. */
struct stream_window {
    int64_t n_transfers; /**< of one batch, all micro-batches */
    int64_t *need;       /**< owned */
};
enum wsc_err stream_window_create(struct stream_window **out, const struct model *model,
                                  bool training, int64_t n_micro, int64_t window_bytes) WSC_CHECKED;
void stream_window_destroy(struct stream_window **w);

/* ---- sending and receiving ------------------------------------------------------------------- */

/** Receive from every parent the weights of transfer @p index of batch @p step: one whole vector.
 *  From several shards the parts are put together.  @p msg->payload NULL without values. */
enum wsc_err stream_recv_weights(struct stream_net *net, const struct stream_ports *ports,
                                 int64_t step, int index, int stage,
                                 struct comm_msg *msg) WSC_CHECKED;
/** Send to every child; the payload is shared, its reference taken.  msg->span: ready times. */
enum wsc_err stream_send_weights(const struct stream_ports *ports,
                                 struct comm_msg *msg) WSC_CHECKED;
/** Tell every parent at @p at that transfer @p index is being consumed. */
enum wsc_err stream_send_credit(const struct stream_ports *ports, int64_t step, int index,
                                struct vtime at) WSC_CHECKED;
/** Wait for that credit of every child; *@p at is the latest. */
enum wsc_err stream_recv_credit(const struct stream_net *net, const struct stream_ports *ports,
                                int64_t step, int index, struct vtime *at) WSC_CHECKED;
/** Send @p msg (kind, index, step, span, bytes of the whole, fields, payload: a list of
 *  @p n_sums vectors for GRADS) to every parent; several shards get their parts. */
enum wsc_err stream_send_up(struct stream_net *net, const struct stream_ports *ports,
                            struct comm_msg *msg, int stage, int n_sums) WSC_CHECKED;
/** Receive the next message of a child's data link and check what it is. */
enum wsc_err stream_recv_data(struct comm_link *link, int32_t kind, int64_t step, int index,
                              struct comm_msg *msg) WSC_CHECKED;

/* ---- lists of sums --------------------------------------------------------------------------- */

/** A list of gradient sums that grows to the right: it merges siblings as they meet. */
struct stream_sums {
    struct num_nodes nodes;
    float *vector[NUM_MAX_NODES];        /**< one per node, inside a buffer */
    struct comm_buf *buf[NUM_MAX_NODES]; /**< owned reference that keeps it alive */
};
/** Append the list @p nodes of @p n_elems-vectors in @p take_buf (its reference is taken; the
 *  vectors may be changed) and add siblings. */
void stream_sums_append(struct stream_sums *s, const struct num_nodes *nodes, int64_t n_leaves,
                        int64_t n_elems, struct comm_buf *take_buf);
/** One buffer with all vectors in order; the list is empty afterwards. */
enum wsc_err stream_sums_pack(struct stream_sums *s, struct comm *comm, int64_t n_elems,
                              struct comm_buf **out) WSC_CHECKED;
void stream_sums_clear(struct stream_sums *s);

/** The same for losses; values, not buffers. */
struct stream_losses {
    struct num_nodes nodes;
    struct stream_loss sum[NUM_MAX_NODES];
};
void stream_losses_append(struct stream_losses *s, const struct num_nodes *nodes, int64_t n_leaves,
                          const struct stream_loss *sums);
/** Scalars of canonical blocks (norms), the same way. */
struct stream_scalars {
    struct num_nodes nodes;
    double sum[NUM_MAX_NODES];
};
void stream_scalars_append(struct stream_scalars *s, const struct num_nodes *nodes, int64_t n_items,
                           const double *sums);
/** Numbers of all micro-batches of a step, as STREAM_MSG_TIMES may carry them: for each micro-batch
 *  a list by the maximal nodes of wafers' leaves, one behind the other.  Make one list of the lists
 *  @p part[i] (NULL allowed when the wafers have no leaves) of wafers [first[i], first[i + 1]), i =
 *  0 .. n-1; @p out has room for stream_scalars_count() of all of them. */
void stream_scalars_join(const struct stream_batch *b, int n, const int *first_wafer,
                         const double *const *part, double *out);
/** Numbers of such a list for wafers [w_first, w_end). */
int64_t stream_scalars_count(const struct stream_batch *b, int w_first, int w_end);
/** The sum over all leaves of the batch, of a list of all wafers. */
double stream_scalars_total(const struct stream_batch *b, const double *list);
#endif
