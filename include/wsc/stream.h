/** Stream: the protocol that MemoryX, SwarmX and wafers share: tree, order of transfers, messages.
 *
 *  It defines which roles are connected, in which order they exchange messages, how far a sender
 *  may run ahead, and how the vectors of a stage are cut over MemoryX shards. The three kinds of
 *  roles share no other interface. Upwards, an edge carries in each micro-batch a credit for each
 *  transfer (on a link of its own), the losses after the last forward stage, the gradients of a
 *  stage after its backward pass; and the times at the end of the batch.
 *
 *  Canonical order: the micro-shards of the global batch are numbered 0 .. n-1. Micro-batch j takes
 *  a contiguous range of these numbers, and wafer w a contiguous range inside it. A list of sums
 *  has one sum for each maximal reduction subtree of such a range (struct num_nodes of
 *  <wsc/num.h>). Both ends of a link therefore know its length, and a total is bit-identical for
 *  any number of wafers, nodes and shards.
 *
 *  A role executes a step as a loop over the walk:
 *
 *      struct stream_walk walk = stream_walk_of_step(model, pass, step);
 *      while (stream_walk_next(&walk)) {
 *          TRY(stream_recv_weights(ports, &walk.at, &msg));
 *          TRY(stream_pass_weights(ports, &walk.at, &msg));
 *      }
 *
 *  Functions that receive block the fiber of the role; functions that send may block it, see
 *  comm_send(). The role itself calls them, on its rank. Start with struct stream_topology, struct
 *  stream_walk and STREAM_MSG_MAP. Read next: src/memoryx/memoryx_step.c, src/swarmx/swarmx_step.c,
 *  src/wafer/wafer_step.c. */
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

/** The kinds of roles. */
enum stream_kind { STREAM_MEMORYX, STREAM_SWARMX, STREAM_WAFER };

/** One SwarmX node of a tree that is in use. */
struct stream_node {
    int position;                /**< in the machine; index and position differ after losses */
    int parent;                  /**< SwarmX node, or -1: the root, whose parents are the shards */
    int first_child, n_children; /**< SwarmX nodes; wafers of a leaf switch */
    bool leaf_switch;            /**< its children are wafers */
    int first_wafer, end_wafer;  /**< all wafers below */
};
/** The tree of a machine. Roles are numbered: shards 0 .. M-1, then SwarmX nodes (root first), then
 *  wafers. All roles of the machine have a number, lost or not. `node` and `wafer_position` list
 *  only nodes and wafers that are not lost, in this order. The tree is equal on every rank and
 *  constant after stream_topology_create(). */
struct stream_topology {
    int n_shards, n_nodes, n_wafers, n_roles, fanout;
    int n_machine_nodes, n_machine_wafers; /**< lost ones too */
    struct stream_node *node;              /**< owned, n_nodes, level by level from the root */
    int *wafer_position;                   /**< owned, n_wafers: in the machine */
};
/** Make the tree of @p n_wafers wafers: ceil(log_fanout N) levels, ceil(children / fanout) nodes in
 *  each, children spread evenly; no node for one wafer.  *@p out is owned by the caller.
 *  WSC_NOMEM; then it is NULL. */
enum wsc_err stream_topology_create(struct stream_topology **out, int n_shards, int n_wafers,
                                    int fanout) WSC_CHECKED;
/** Make the tree of @p machine without its lost parts: @p lost_wafer (n_wafers) and @p lost_node
 *  (of the whole machine) are true for these; NULL: none. The remaining nodes of a level share the
 *  children of the level evenly, in their order, so a node may get more children than the fan-out.
 *  The first node of the highest level with nodes replaces a lost root. A level without nodes is
 *  left out. At last, lost wafers and nodes without children are removed. Errors: no node is left,
 *  or one would get more than STREAM_MAX_FANOUT children. */
enum wsc_err stream_topology_create_without(struct stream_topology **out,
                                            const struct stream_topology *machine,
                                            const bool *lost_wafer,
                                            const bool *lost_node) WSC_CHECKED;
/** Release *@p t and null it; NULL allowed. */
void stream_topology_destroy(struct stream_topology **t);
/** Role of shard @p m. */
static inline int stream_role_of_shard(const struct stream_topology *t, int m)
{
    (void)t;
    return m;
}
/** Role of the SwarmX node with index @p i. */
static inline int stream_role_of_node(const struct stream_topology *t, int i)
{
    return t->n_shards + t->node[i].position;
}
/** Role of the wafer with index @p w. */
static inline int stream_role_of_wafer(const struct stream_topology *t, int w)
{
    return t->n_shards + t->n_machine_nodes + t->wafer_position[w];
}
/** Kind of role @p role, 0 .. n_roles-1; *@p index is its position in the machine. */
enum stream_kind stream_kind_of_role(const struct stream_topology *t, int role, int *index);
/** Write "wafer 3", "SwarmX node 0" or "MemoryX shard 11" into @p text, cut to @p size. */
void stream_role_name(const struct stream_topology *t, int role, char *text, int size);
/** Rate at which node @p node adds, bytes/s. */
int64_t stream_rate_of_node(const struct hw *hw, const struct stream_topology *t, int node);
/** Choose a rank for each role: one role per rank when there are enough ranks, otherwise wafers in
 *  contiguous blocks. Ranks are filled host by host. A SwarmX node is on the host of its first
 *  wafer, if that host has a rank for it, and each host has shards. Shard 0 is on rank 0. All ranks
 *  get the same result, because it depends on the arguments only; values and virtual time do not
 *  depend on it.
 *
 *  @p host_of_rank (n_ranks) is the host of each rank, with hosts numbered by their first rank;
 *  NULL: all ranks on one host. @p rank_of_role has t->n_roles entries. WSC_NOMEM. */
enum wsc_err stream_place(const struct stream_topology *t, int n_ranks, const int *host_of_rank,
                          int *rank_of_role) WSC_CHECKED;

/* ---- the batch over wafers ------------------------------------------------------------------- */

/** Division of a global batch: samples form micro-shards, whose gradients are computed separately,
 *  and micro-shards are divided into micro-batches and over wafers. It depends on batch, wafers and
 *  micro-batches only. cluster_plan_batch() fills it. */
struct stream_batch {
    int64_t batch_size;          /**< samples */
    int64_t micro_shard_samples; /**< the last micro-shard may have fewer */
    int64_t n_micro_shards;      /**< ceil(batch_size / micro_shard_samples) */
    int64_t n_micro;             /**< micro-batches */
    int n_wafers;                /**< wafers that are not lost */
    /** First micro-shard of each share as the emulator computes it, micro-batch by micro-batch and
     *  wafer by wafer, then the end (n_micro n_wafers + 1 entries). Borrowed, see
     *  stream_cut_batch(). NULL: the shares are those of the emulated wafers. */
    const int64_t *cut;
};
/** Compute the range [*@p first, *@p end) of micro-shards that wafers [@p w_first, @p w_end) of
 *  this host compute in micro-batch @p micro.  Without cuts shares of wafers differ by at most one
 *  micro-shard; wafers with the larger share come first. */
void stream_micro_shards(const struct stream_batch *b, int64_t micro, int w_first, int w_end,
                         int64_t *first, int64_t *end);
/** Samples of the emulated wafer @p w in micro-batch @p micro, which determine virtual time. These
 *  shares are always even; the shares that the host computes may differ. */
int64_t stream_timed_samples(const struct stream_batch *b, int64_t micro, int w);
/** Compute the maximal reduction subtrees inside the range of stream_micro_shards(). One sum is
 *  sent up for each. */
void stream_subtrees(const struct stream_batch *b, int64_t micro, int w_first, int w_end,
                     struct num_nodes *out);
/** Samples of the micro-shards [first, end). */
int64_t stream_samples(const struct stream_batch *b, int64_t first, int64_t end);
/** Largest number of samples of one wafer in one micro-batch, as the host computes them; the size
 *  of its buffers. */
int64_t stream_max_samples(const struct stream_batch *b);

/* ---- tensors over shards --------------------------------------------------------------------- */

/** Tensors are cut in whole blocks of this many elements, so that sums and hashes over blocks do
 *  not depend on the number of shards. */
enum { STREAM_BLOCK_ELEMS = 1024 };
/** Compute the elements [*@p first, *@p first + *@p n) of a tensor of @p n_elems that shard @p m of
 *  @p n_shards holds. They are whole blocks of STREAM_BLOCK_ELEMS, divided as evenly as possible;
 *  the part may be empty. */
void stream_part(int64_t n_elems, int m, int n_shards, int64_t *first, int64_t *n);
/** Elements of @p stage that shard @p m streams: its parts of the stage's tensors, in view order.
 */
int64_t stream_stage_part_elems(const struct model *model, int stage, int m, int n_shards);
/** Elements of the gradients of @p stage that shard @p m receives: its parts of the trained
 *  tensors, in view order. */
int64_t stream_stage_part_grads(const struct model *model, int stage, int m, int n_shards);

/* ---- payloads of sparse stages --------------------------------------------------------------- */

/** True when tensors of the stage have masks, so that its payloads are packed: masks and non-zero
 *  weights down, gradients of the non-zeros up (src/stream/stream_packed.h). A tied tensor is never
 *  packed. */
bool stream_is_packed(const struct model *model, int stage);
/** True when tensor @p tensor, @p n_kept of whose elements are kept, takes fewer bytes as mask and
 *  non-zeros than as a whole. */
bool stream_packs_tensor(const struct model *model, int tensor, int64_t n_kept);
/** The part of a stage that shard m of n_shards holds. m = 0 and n_shards = 1 is the whole stage.
 */
struct stream_part_of {
    int m, n_shards;
};
/** Lay out the weights of a part of a packed stage in @p payload; returns the bytes of the payload.
 *  @p w has an entry for each view: `bits` not NULL, n_kept of the part and dense_gradient select
 *  its format. The heads are written, and bits and values of @p w are set to the addresses at which
 *  the caller stores them. @p payload NULL: only count the bytes. */
int64_t stream_packed_layout(const struct model *model, int stage, struct stream_part_of of,
                             struct model_weights *w, void *payload);
/** Find the weights of a part of a packed stage in @p payload; @p w, one for each view, points into
 *  it. */
void stream_packed_open(const struct model *model, int stage, struct stream_part_of of,
                        const void *payload, struct model_weights *w);
/** Bytes before the vectors of a packed stage's gradients that are cut in @p n_shards parts. */
int64_t stream_packed_grad_head(const struct model *model, int stage, int n_shards);
/** Write the head before the vectors of a packed stage's gradients, from its weights. */
void stream_packed_grad_start(const struct model *model, int stage, int n_shards,
                              const struct model_weights *w, void *payload);
/** Elements of view @p v in part @p m that the gradients in @p payload have. */
int64_t stream_packed_grad_count(const void *payload, int n_shards, int v, int m);
/** Elements of one vector of the gradients in @p payload (NULL: dense ones) of a stage. */
int64_t stream_grad_elems(const struct model *model, int stage, int n_shards, const void *payload);

/* ---- amounts -------------------------------------------------------------------------------- */

/** Amounts of a stage in one step: bytes that move and parameters that are updated. They depend on
 *  counts only, so they are equal with and without values. */
struct stream_amounts {
    /** Bytes of the whole weights and of the whole gradient (32 bits per parameter) on an emulated
     *  link. A sparse tensor has stream.sparse_weight_bytes for each non-zero (two more for weights
     *  of 32 bits) and stream.sparse_gradient_bytes for its gradient. It is sent dense when that
     *  takes fewer bytes. */
    int64_t weight_bytes, grad_bytes;
    int64_t updated;  /**< parameters that the optimizer updates; 0 for a tied head */
    int64_t selected; /**< elements of the tensors whose mask is chosen again after the step */
    bool sparse;      /**< `density` is valid; false: the stage is dense */
    struct model_density density;
    uint64_t key; /**< key of the density: equal keys mean equal densities; 0: dense */
};
/** Amounts of @p stage in the step after @p updates updates, which may be MODEL_DENSEST. */
void stream_amounts_of(const struct hw *hw, const struct model *model, int stage, int64_t updates,
                       struct stream_amounts *out);
/** Part of @p amount (bytes, parameters) on one of @p n_shards shards, striped evenly, rounded up.
 */
int64_t stream_per_shard(int64_t amount, int n_shards);

/* ---- one pass over batches ------------------------------------------------------------------- */

/** Mode of a pass: train on each batch, evaluate it, or generate the next tokens. */
enum stream_mode { STREAM_TRAIN, STREAM_EVAL, STREAM_GENERATE };
/** A sequence of batches that all roles work through; equal on every rank, and borrowed until the
 *  pass has ended. */
struct stream_pass {
    enum stream_mode mode;
    /** TRAIN: finished steps before the pass; EVAL: first batch; messages carry it. */
    int64_t first_step;
    /** Number of batches, or of generated tokens, at least 1. */
    int64_t n_steps;
    int64_t first_sample; /**< position in the sample stream at which first_step begins */
    struct stream_batch batch;
    /** EVAL and GENERATE: updates before the pass, which determine the sparse weights. */
    int64_t updates;
    /** TRAIN: steps of the run before its masks began to count, less those that they counted in
     *  another run. */
    int64_t uncounted;
    /** TRAIN: number of finished steps after which an evaluation follows, at most the end of the
     *  pass; 0: none. */
    int64_t eval_step;
    bool values;  /**< messages have payloads; false: sizes only */
    bool squares; /**< TRAIN with values: times carry squares of the micro-shards' gradients */
    bool scores;  /**< EVAL with values, micro-shards of one sample: times carry struct
                       stream_score of every sample */
    /** EVAL with values of a model with one head: times carry struct model_class_count for as many
     *  classes, its outputs, or sets of sequences; 0: none. */
    int64_t n_classes;
};
/** Score of one sample of an evaluation batch. */
struct stream_score {
    double sample;    /**< its index in the batch, a whole number */
    double nats;      /**< sum of -log p over the tokens inside its loss mask */
    double n_tokens;  /**< tokens inside its loss mask, a whole number */
    double n_correct; /**< of these tokens, those with the largest probability */
};
/** Updates of the sparse weights, as the schedules of masks count them, before step @p step. */
static inline int64_t stream_updates_before(const struct stream_pass *pass, int64_t step)
{
    return pass->mode == STREAM_TRAIN ? step - pass->uncounted : pass->updates;
}
/** The step after the last one of @p pass. */
static inline int64_t stream_end_step(const struct stream_pass *pass)
{
    return pass->first_step + pass->n_steps;
}
/** True when the wafers send the texts that they generated, after the last step of @p pass. */
static inline bool stream_sends_texts(const struct stream_pass *pass)
{
    return pass->mode == STREAM_GENERATE && pass->values;
}

/** Position in the walk over a batch: one transfer of weights and its properties. */
struct stream_at {
    int64_t step;
    int64_t updates; /**< updates of the weights before this step; determines densities */
    int64_t micro;   /**< micro-batch */
    /** Number of the transfer in the batch, over all micro-batches; messages carry it. */
    int index;
    /** Index in model->stage. */
    int stage;
    bool backward;                 /**< the stage runs backward, and its gradients go up */
    bool losses_after;             /**< loss sums of the micro-batch go up after the stage */
    bool starts_micro, ends_micro; /**< first and last transfer of its micro-batch */
};
/** Is @p at the first transfer of its batch? */
static inline bool stream_starts_batch(const struct stream_at *at)
{
    return at->starts_micro && at->micro == 0;
}
/** Iterator over the transfers of one batch: micro-batch by micro-batch, in each the stages
 *  forward, then in training backward. Usage: `while (stream_walk_next(&walk)) use(&walk.at);`
 *  Every role has its own iterator, which is only a few counters. */
struct stream_walk {
    struct stream_at at;       /**< valid after stream_walk_next() returned true */
    const struct model *model; /**< borrowed */
    int in_micro;              /**< position of the transfer in its micro-batch */
    int first;                 /**< position of the first transfer; earlier ones are skipped */
    int losses_after;          /**< the position after which losses go up; -1: none do */
    int n_per_micro;           /**< transfers of a micro-batch */
    int n;                     /**< transfers of the batch */
};
/** Begin the walk over step @p step of @p pass; stream_walk_next() moves to the first transfer. In
 *  generation, steps after the first skip the stages of an encoder, whose output stays on the
 *  wafers. */
struct stream_walk stream_walk_of_step(const struct model *model, const struct stream_pass *pass,
                                       int64_t step);
/** Move to the next transfer; false after the last one. */
static inline bool stream_walk_next(struct stream_walk *walk)
{
    struct stream_at *at = &walk->at;
    if (++at->index >= walk->n) return false;
    if (++walk->in_micro == walk->n_per_micro) {
        walk->in_micro = walk->first;
        at->micro++;
    }
    const struct model_transfer transfer = model_transfer_at(walk->model, walk->in_micro);
    at->stage = transfer.stage;
    at->backward = transfer.backward;
    at->starts_micro = walk->in_micro == walk->first;
    at->ends_micro = walk->in_micro == walk->n_per_micro - 1;
    at->losses_after = walk->in_micro == walk->losses_after;
    return true;
}

/* ---- messages -------------------------------------------------------------------------------- */

/** Fields of STREAM_MSG_WEIGHTS: times of the previous update and the gradient scale, which wafers
 *  need with a stage. */
struct stream_weights {
    struct vtime step_start; /**< end of the previous step on the slowest wafer */
    struct vtime reduced;    /**< MemoryX had the last gradient of that step */
    struct vtime ready;      /**< the optimizer had updated the weights of this stage */
    double gradient_scale;   /**< factor that gradients of this step carry */
};
/** Fields of STREAM_MSG_TIMES: times of a step on the slowest wafer. */
struct stream_times {
    /** When the step ended on that wafer. */
    struct vtime end;
    /** Its position in the machine; among equally slow ones the lowest index. */
    int64_t wafer;
    struct vtime_breakdown spent; /**< adds up to end - step_start */
};
/** Every kind of message: name, number, bytes of its fields, text for errors. A new kind is a row
 *  here, a struct above when it has fields, and a member of the union below. A number never
 *  changes, because it is an input of the random losses of a lossy link. Fields are stored in the
 *  eight words of struct comm_msg, so a struct has at most 64 bytes. */
#define STREAM_MSG_MAP(XX)                                                                         \
    XX(WEIGHTS, 1, sizeof(struct stream_weights), "weights")                                       \
    XX(CREDIT, 2, 0, "a credit")                                                                   \
    XX(LOSSES, 3, 0, "losses")                                                                     \
    XX(GRADIENTS, 4, 0, "gradients")                                                               \
    XX(TIMES, 5, sizeof(struct stream_times), "times")                                             \
    XX(UPDATED, 6, 0, "the end of an update")                                                      \
    XX(PART, 10, 0, "a part of an exchange")                                                       \
    XX(TOTAL, 11, 0, "the total of an exchange")                                                   \
    XX(TEXTS, 12, 0, "texts")

/** The kinds of STREAM_MSG_MAP. */
enum stream_msg_kind {
#define XX(name, number, bytes, text) STREAM_MSG_##name = (number),
    STREAM_MSG_MAP(XX)
#undef XX
};
/** A message as roles see it. Kind, step and index identify it: the receiver names the message that
 *  it expects, and any other one is a bug that ends the job. To build a message, set kind, step,
 *  index, span, bytes, the fields of the kind and the payload; all other bytes are zero. */
struct stream_msg {
    union {
        struct {
            enum stream_msg_kind kind;
            int index; /**< transfer in the batch, or round of an exchange */
            int64_t step;
            struct vtime_span span; /**< sent: first and last byte ready; received: their arrival */
            int64_t bytes;          /**< on the emulated link */
            union {
                int64_t word[COMM_MSG_FIELDS]; /**< all of them travel */
                struct stream_weights weights;
                struct stream_times times;
            } field;                  /**< the member of the kind */
            struct comm_buf *payload; /**< values, or NULL; a message owns one reference */
        };
        struct comm_msg wire; /**< these bytes as comm sends and receives them */
    };
};
/** A generated text, as STREAM_MSG_TEXTS carries it: its tokens after STREAM_TEXT_HEAD words. */
struct stream_text {
    int64_t n;             /**< tokens */
    int64_t n_live_steps;  /**< steps until all texts of its wafer had ended */
    double score;          /**< of a beam search; 0 without one */
    const int32_t *tokens; /**< borrowed */
};
/** Words before the tokens of a text: their number, that of steps, and the score in two. */
enum { STREAM_TEXT_HEAD = 4 };
/** Write @p text to @p words; returns the number of words written. */
int64_t stream_text_put(int32_t *words, const struct stream_text *text);
/** Read the text at @p words; text->tokens points into it. Returns the number of words read. */
int64_t stream_text_get(const int32_t *words, struct stream_text *text);
/** Loss sums of one subtree of the canonical reduction. */
struct stream_loss {
    /** The trained loss: nats over masked tokens; with several heads the weighted sum. */
    double loss_sum;
    /** Masked tokens, and those of them whose most likely token is the label. */
    int64_t n_tokens, n_correct;
    double nats; /**< sum over masked tokens, without weights */
    /** Sequences of a second head, and those it classified correctly; or preference pairs, and
     *  those whose chosen text has the greater reward. */
    int64_t n_sequences, n_sequences_correct;
    struct model_rewards rewards; /**< of these pairs */
};
/** Bytes of loss sums and of a signal on the emulated link; the host's payload may have another
 *  size. */
enum { STREAM_LOSS_BYTES = 24, STREAM_SIGNAL_BYTES = 64 };

/* ---- the net --------------------------------------------------------------------------------- */

/** Most children of a SwarmX node, and most shards. */
enum { STREAM_MAX_FANOUT = 64 };
/** Bytes of payloads (of the host) that an edge of the tree has carried. `dense_` fields: bytes
 *  without masks. least_gradients: bytes with one vector for each micro-batch that has any. */
struct stream_carried {
    int parent, child;     /**< roles */
    int64_t between_ranks; /**< 1: they travel over MPI; 0: within a rank */
    int64_t weights, dense_weights;
    int64_t gradients, dense_gradients, least_gradients;
};
/** The links of one role to its parents or to its children; the arrays are parallel. Two connected
 *  roles have three links: weights down, credits up, data up. A link is NULL when neither of its
 *  roles is on this rank. */
struct stream_side {
    int n;
    struct comm_link *weights[STREAM_MAX_FANOUT];
    struct comm_link *credit[STREAM_MAX_FANOUT];
    struct comm_link *data[STREAM_MAX_FANOUT];
    struct stream_carried *carried[STREAM_MAX_FANOUT]; /**< of the edge; counted by the sender */
};
/** The links of one role. */
struct stream_ports {
    struct stream_net *net; /**< borrowed */
    /** Number of the role. */
    int role;
    struct stream_parts *parts; /**< owned; NULL: the role has one parent, or is not on this rank */
    struct stream_side up;      /**< towards MemoryX: parents */
    struct stream_side down;    /**< towards the wafers: children */
    struct comm_link *ready;    /**< shards: from the receiving program to the sending one */
    /** Between shards: shard 0 has one pair per other shard, the others one pair. */
    struct comm_link *peer_out[STREAM_MAX_FANOUT], *peer_in[STREAM_MAX_FANOUT];
    int n_peers;
};
/** The network of a job: machine, model, tree and links of the local roles. There is one per rank
 *  and job; the module cluster owns it. */
struct stream_net {
    struct comm *comm;                /**< borrowed */
    const struct hw *hw;              /**< borrowed */
    const struct model *model;        /**< borrowed */
    struct stream_topology *topology; /**< owned; without lost parts */
    struct stream_ports *ports;       /**< owned, n_roles; filled for local roles only */
    uint64_t seed;                    /**< seed of packet losses */
    struct stream_carried *carried;   /**< owned, n_carried: what each edge has carried */
    int n_carried;                    /**< shards and roles: edges of shards, then of children */
    struct stream_ledger *ledger;     /**< owned; stream_amounts() */
    int64_t *cut;                     /**< owned; of stream_cut_batch(), or NULL */
};
/** Amounts of @p stage in the step after @p updates updates. They are cached, so roles may call
 *  this for each transfer. Borrowed from @p net, until it was called for two more steps. */
const struct stream_amounts *stream_amounts(const struct stream_net *net, int stage,
                                            int64_t updates);
/** Place the roles on the ranks of @p comm and open the links; @p seed is that of the packets which
 *  lossy links lose.  @p take_topology belongs to the net, after an error too; *@p out is then
 *  NULL.  Collective in the sense of comm_link_open(): every rank calls it with equal arguments; it
 *  does not block.  WSC_NOMEM, WSC_MPI. */
enum wsc_err stream_net_create(struct stream_net **out, struct comm *comm, const struct hw *hw,
                               const struct model *model, struct stream_topology *take_topology,
                               uint64_t seed) WSC_CHECKED;
/** Release *@p net and null it; NULL allowed.  The links stay with comm. */
void stream_net_destroy(struct stream_net **net);
/** Connect the roles again by another tree of the same machine, between passes. The net takes
 *  ownership of @p take_topology; links between shards stay. Every rank calls it. */
enum wsc_err stream_net_form(struct stream_net *net,
                             struct stream_topology *take_topology) WSC_CHECKED;
/** Set rates and losses of the links by the faults of the current step, between passes. Local; the
 *  tree does not change. */
void stream_net_tune(struct stream_net *net);
/** Bytes that all links of the local roles have carried, by direction, as counted by the sending
 *  ends. */
void stream_net_bytes(const struct stream_net *net, int64_t *down, int64_t *up);

/** Maximum bytes of weights that the local roles keep, to avoid sending them twice in a step
 *  (stream.keep). Shards keep packed weights, links between ranks what they carried, the root the
 *  joined weights of several shards. Sparse tensors are counted without zeros. 0 on one rank. */
int64_t stream_net_kept_bytes(const struct stream_net *net);
/** Collect the bytes that each edge has carried from all ranks, in the order of the tree, in *@p
 *  out (*@p n entries, owned by the caller). Collective. WSC_NOMEM, WSC_MPI. */
enum wsc_err stream_net_carried(const struct stream_net *net, struct stream_carried **out,
                                int *n) WSC_CHECKED;

/* ---- credits --------------------------------------------------------------------------------- */

/** Prefetch window: transfer q of a batch may start when the receivers have begun to consume
 *  transfer need[q] of this batch; -1: at once. The transfers after need[q] up to q fit the window
 *  together; one transfer ahead is always allowed. Credits bound bytes, not the number of
 *  transfers, because stages differ in size. */
struct stream_window {
    int64_t n_transfers; /**< of one batch, all micro-batches */
    int64_t *need;       /**< owned */
};
/** Compute the window of every batch of @p pass for @p window_bytes of weights; 0 allows one
 *  transfer at a time. A sparse stage counts with the bytes of its densest step, for which buffers
 *  are allocated. Owned by the caller. WSC_NOMEM. */
enum wsc_err stream_window_create(struct stream_window **out, const struct hw *hw,
                                  const struct model *model, const struct stream_pass *pass,
                                  int64_t window_bytes) WSC_CHECKED;
/** Release *@p w and null it; NULL allowed. */
void stream_window_destroy(struct stream_window **w);

/* ---- lists of sums --------------------------------------------------------------------------- */

/** A list of gradient sums of consecutive subtrees. New sums are appended at the end, and two
 *  siblings of the canonical tree are added as soon as both are there. */
struct stream_sums {
    struct num_nodes nodes; /**< the subtrees */
    /** Bytes of the head before the vectors, equal in all buffers. */
    int64_t head_bytes;
    struct comm_buf *head;               /**< owned: a buffer with the head; NULL: none */
    float *vector[NUM_MAX_NODES];        /**< one for each subtree, inside a buffer */
    struct comm_buf *buf[NUM_MAX_NODES]; /**< owned reference to the buffer of vector[i] */
};
/** Append the sums of the subtrees @p nodes of a reduction over @p n_items, and add siblings, left
 *  += right. The sums are vectors of @p n_elems floats in @p take_buf, after s->head_bytes; its
 *  reference is taken, and the vectors may be changed. The range of @p nodes begins where the list
 *  ends. */
void stream_sums_append(struct stream_sums *s, const struct num_nodes *nodes, int64_t n_items,
                        int64_t n_elems, struct comm_buf *take_buf);
/** Put the head and all vectors in order into one buffer *@p out; the caller owns its reference. A
 *  single vector is not copied. The list is empty afterwards. WSC_NOMEM. */
enum wsc_err stream_sums_pack(struct stream_sums *s, struct comm *comm, int64_t n_elems,
                              struct comm_buf **out) WSC_CHECKED;
/** Release all vectors; the list is empty afterwards. */
void stream_sums_clear(struct stream_sums *s);

/** A list of loss sums of consecutive subtrees, like struct stream_sums; starts all zero. */
struct stream_losses {
    struct num_nodes nodes; /**< the subtrees */
    struct stream_loss sum[NUM_MAX_NODES];
};
/** Append @p sums of the subtrees @p nodes of a reduction over @p n_items, and add siblings. */
void stream_losses_append(struct stream_losses *s, const struct num_nodes *nodes, int64_t n_items,
                          const struct stream_loss *sums);
/** A list of numbers (sums of squares) of consecutive subtrees, like struct stream_sums; starts all
 *  zero. */
struct stream_scalars {
    struct num_nodes nodes; /**< the subtrees */
    double sum[NUM_MAX_NODES];
};
/** Append @p sums of the subtrees @p nodes of a reduction over @p n_items, and add siblings. */
void stream_scalars_append(struct stream_scalars *s, const struct num_nodes *nodes, int64_t n_items,
                           const double *sums);
/** Join the lists of numbers of STREAM_MSG_TIMES. A list has, micro-batch after micro-batch of a
 *  step, one number for each maximal subtree of the wafers' micro-shards. @p part[i] is the list of
 *  wafers [first_wafer[i], first_wafer[i + 1]), i = 0 .. n-1; it may be NULL when they have none.
 *  @p out has room for stream_scalars_count() numbers of all these wafers. */
void stream_scalars_join(const struct stream_batch *b, int n, const int *first_wafer,
                         const double *const *part, double *out);
/** Length of a list of stream_scalars_join() for wafers [w_first, w_end). */
int64_t stream_scalars_count(const struct stream_batch *b, int w_first, int w_end);
/** Sum over all micro-shards of the batch along the canonical tree; @p list is that of all wafers.
 */
double stream_scalars_total(const struct stream_batch *b, const double *list);

/* ---- shares of the host ---------------------------------------------------------------------- */

/** Maximum gradient vectors that an edge carries up in a micro-batch when shares are cut. */
enum { STREAM_CUT_VECTORS = 2 };
/** Cut @p batch at subtrees of the canonical tree where even shares would send more than
 *  STREAM_CUT_VECTORS vectors over an edge. With `stream.shares: even` in the machine file nothing
 *  is cut. Values and virtual time do not change (docs/decisions/0032). @p net owns the cuts, of
 *  one batch at a time. Not collective: a function of batch and tree. WSC_NOMEM. */
enum wsc_err stream_cut_batch(struct stream_net *net, struct stream_batch *batch) WSC_CHECKED;

/* ---- sending and receiving ------------------------------------------------------------------- */

/** Send @p msg over @p link; takes the payload's reference. */
enum wsc_err stream_send(struct comm_link *link, const struct stream_msg *msg) WSC_CHECKED;
/** Send @p msg without waiting for the link or occupying it; takes the payload's reference. */
enum wsc_err stream_signal(struct comm_link *link, const struct stream_msg *msg) WSC_CHECKED;
/** End the job with an error message: the role of @p ports received @p msg, but the protocol allows
 *  only @p kind of step @p step and index @p index. */
void stream_unexpected(const struct stream_ports *ports, const struct stream_msg *msg,
                       enum stream_msg_kind kind, int64_t step, int index);
/** Receive the next message of @p link, one that ends at the role of @p ports.  The job ends when
 *  it is not @p kind of step @p step and index @p index.  The payload's reference passes to the
 *  caller. */
static inline WSC_CHECKED enum wsc_err stream_recv(const struct stream_ports *ports,
                                                   struct comm_link *link,
                                                   enum stream_msg_kind kind, int64_t step,
                                                   int index, struct stream_msg *msg)
{
    TRY(comm_recv(link, &msg->wire));
    if (msg->kind != kind || msg->step != step || msg->index != index)
        stream_unexpected(ports, msg, kind, step, index);
    return WSC_OK;
}

/** Receive the weights of transfer @p at from every parent as one vector; parts of several shards
 *  are joined. The bytes of msg->payload may still be arriving; it is NULL without values and after
 *  an error. */
enum wsc_err stream_recv_weights(const struct stream_ports *ports, const struct stream_at *at,
                                 struct stream_msg *msg) WSC_CHECKED;
/** Wait until bytes [first, end) of the weights of transfer @p at have arrived, and all bytes that
 *  are used before them. @p weights is the payload of stream_recv_weights(). */
enum wsc_err stream_wait_weights(const struct stream_ports *ports, const struct stream_at *at,
                                 struct comm_buf *weights, int64_t first, int64_t end) WSC_CHECKED;
/** Send the weights of transfer @p at to every child, which share the payload; takes its reference.
 */
enum wsc_err stream_send_weights(const struct stream_ports *ports, const struct stream_at *at,
                                 struct stream_msg *msg) WSC_CHECKED;
/** Forward the weights of stream_recv_weights() to every child, each byte as it arrives; takes the
 *  payload's reference. */
enum wsc_err stream_pass_weights(const struct stream_ports *ports, const struct stream_at *at,
                                 struct stream_msg *msg) WSC_CHECKED;
/** Send every parent the credit of transfer @p index of step @p step, which the role consumes from
 *  @p time on. It is a signal and never blocks. */
enum wsc_err stream_send_credit(const struct stream_ports *ports, int64_t step, int index,
                                struct vtime time) WSC_CHECKED;
/** Wait for the credit of transfer @p index from every child; *@p time is the latest. */
enum wsc_err stream_recv_credit(const struct stream_ports *ports, int64_t step, int index,
                                struct vtime *time) WSC_CHECKED;
/** Send the gradients of the stage of @p at to every parent: @p n_sums whole vectors in @p
 *  take_sums (its reference is taken, after an error too; NULL without values), complete at @p
 *  ready.  Several shards get their parts. */
enum wsc_err stream_send_gradients(const struct stream_ports *ports, const struct stream_at *at,
                                   struct vtime_span ready, struct comm_buf *take_sums,
                                   int n_sums) WSC_CHECKED;
/** Send gradients while they are being computed; otherwise as stream_send_gradients(). *@p sums is
 *  a buffer of @p n_sums vectors, whose reference the caller owns, after an error too. The caller
 *  writes it from the last element to the first and reports the progress with
 *  stream_fill_gradients(). For stages without masks. */
enum wsc_err stream_open_gradients(const struct stream_ports *ports, const struct stream_at *at,
                                   struct vtime_span ready, int n_sums,
                                   struct comm_buf **sums) WSC_CHECKED;
/** Report that the last @p n_final elements of each of the @p n_sums vectors in @p sums are final;
 *  they are sent. @p n_final never decreases. */
enum wsc_err stream_fill_gradients(const struct stream_ports *ports, const struct stream_at *at,
                                   struct comm_buf *sums, int n_sums, int64_t n_final) WSC_CHECKED;
/** Send the loss sums of the micro-batch at @p at, complete at @p ready, to every parent. @p sums
 *  is NULL without values. */
enum wsc_err stream_send_losses(const struct stream_ports *ports, const struct stream_at *at,
                                struct vtime_span ready,
                                const struct stream_losses *sums) WSC_CHECKED;
/** Send @p msg whole to every parent; takes its payload's reference, after an error too. */
enum wsc_err stream_send_up(const struct stream_ports *ports, struct stream_msg *msg) WSC_CHECKED;
#endif
