/** State of a model on the mesh of one wafer, shared by program_model.c and program_parts.c.
 *  Activations stay in the PEs between forward and backward. Weights arrive over the north edge
 *  stage by stage. Gradients leave over it in rounds, one leaf of each lane in a round; the edge
 *  adds the gradients of the leaves along the canonical tree (<wsc/num.h>), so that values do not
 *  depend on the wafer or lane that computes a leaf. Addresses are those of arrays in the memory of
 *  the PEs. */
#ifndef WSC_PROGRAMS_STATE_H
#define WSC_PROGRAMS_STATE_H
#include "program_grid.h"

#include <wsc/cycles_ops.h>
#include <wsc/data.h>
#include <wsc/hw.h>
#include <wsc/model.h>
#include <wsc/programs.h>

/** Kernels to which a model adds its cycles: name, pass. */
#define PROGRAMS_ROW_MAP(XX)                                                                       \
    XX(EMBEDDING, "embedding", "forward")                                                          \
    XX(EMBEDDING_BACKWARD, "embedding", "backward")                                                \
    XX(NORM, "norm", "forward")                                                                    \
    XX(NORM_BACKWARD, "norm", "backward")                                                          \
    XX(PRODUCT, "product", "forward")                                                              \
    XX(INPUT_GRADIENT, "product", "input gradient")                                                \
    XX(WEIGHT_GRADIENT, "product", "weight gradient")                                              \
    XX(ROTARY, "rotary", "forward")                                                                \
    XX(ROTARY_BACKWARD, "rotary", "backward")                                                      \
    XX(ATTENTION, "attention", "forward")                                                          \
    XX(ATTENTION_BACKWARD, "attention", "backward")                                                \
    XX(POINTWISE, "bias, residual", "forward")                                                     \
    XX(POINTWISE_BACKWARD, "bias", "backward")                                                     \
    XX(NONLINEARITY, "nonlinearity", "forward")                                                    \
    XX(NONLINEARITY_BACKWARD, "nonlinearity", "backward")                                          \
    XX(ROUTER, "router", "forward")                                                                \
    XX(ROUTER_BACKWARD, "router", "backward")                                                      \
    XX(DISPATCH, "dispatch", "forward")                                                            \
    XX(DISPATCH_BACKWARD, "dispatch", "backward")                                                  \
    XX(LOSS, "loss", "forward")                                                                    \
    XX(LOSS_BACKWARD, "loss", "backward")                                                          \
    XX(DROPOUT, "dropout", "forward")                                                              \
    XX(DROPOUT_BACKWARD, "dropout", "backward")                                                    \
    XX(DISTANCES, "weights by distance", "forward")                                                \
    XX(DISTANCES_BACKWARD, "weights by distance", "backward")
enum programs_row_kind {
#define XX(kind, name, pass) PROGRAMS_ROW_##kind,
    PROGRAMS_ROW_MAP(XX)
#undef XX
};
_Static_assert(PROGRAMS_ROW_DISTANCES_BACKWARD + 1 == PROGRAMS_ROWS, "one row for each");

/* Most one-dimensional tensors of a stage that are on the PEs at a time. */
enum { PROGRAMS_VECTORS = 5 };

/** Expert networks of the tokens of a layer. A token with one of its networks is a place. The
 * places of a row of PEs are sorted by network, then by token, and are columns of tiles. */
struct programs_choice {
    struct programs_tile routed, weighing; /* for each expert: values by which experts are chosen,
                                              and values that weigh their results; 32 bits */
    int vectors; /* address of 2 A + 1 vectors of tokens: the negated numbers of the A chosen
                    experts, the A weights, and 1 / the sum by which the weights were divided */
    int places;  /* address of a vector of tokens for each network of a token: the places */
    int *start;  /* owned (rows of PEs, networks, samples + 1), in registers of the PEs of a row:
                    first place of a network whose token belongs to the sample or to a later one */
};

/** Data of the operations of a stage instead of one network's places: tokens of all samples, or
 *  places of all networks. */
enum { PROGRAMS_ALL_TOKENS = -1, PROGRAMS_ALL_PLACES = -2 };

/** What the layers of a mixture of experts share; unused otherwise. */
struct programs_experts {
    struct programs_features f; /* the experts, distributed over the columns */
    /* columns are places: input or output of the networks, and its gradient */
    struct programs_tile x, dx;
    struct programs_tile tmp, marks; /* for each expert: scratch */
    /* gradients of the values that choose experts, and of those that weigh them */
    struct programs_tile d, apart;
    int number;  /* address of the negated numbers of the experts */
    int samples; /* address of 2 values for each expert and sample, for Sinkhorn normalisation */
    /* addresses of a vector of places: weight of each place, and its gradient */
    int weights, dweights;
    int tokens;  /* address of A + 4 vectors of tokens: gradients of the A weights, scratch, loss
                    mask */
    int network; /* current network, or PROGRAMS_ALL_TOKENS, PROGRAMS_ALL_PLACES */
    int *columns, *leaf_columns; /* owned; arrays of `span` and `leaf` */
    /* places of the current network; those of one leaf among them */
    struct programs_span span, leaf;
    float *balance; /* owned (layers, samples, 2, experts), sums over tokens: values by which
                       experts are chosen, and number of choices */
    /* for the places of a network, of one leaf in a network, of all networks */
    struct cycles_layout one, one_leaf, places;
};

/** Trained weights by distance; unused without them. Every column of a head has the weights of the
 *  head. They are streamed in with the embeddings and stay on the PEs, like the sums of their
 *  gradients. */
struct programs_distances {
    struct programs_features f; /* weights of the heads of a PE, head by head, as features */
    int weights; /* address of the weights, later of the gradients that leave the wafer */
    int table;   /* address of a weight for each distance, for relative positions */
    int sums;    /* address of the gradients of each leaf (struct programs_by_distance) */
    /* size of the table in words, and words from one row of distances to the next */
    int words, pitch;
    int *first;  /* owned (buckets + 1): least distance in a bucket or in a later one */
    float *edge; /* owned (lanes, f.n): words that come from the edge or go to it */
};

/** Low-rank adapters of matrices; unused otherwise. */
struct programs_adapters {
    struct programs_features f[MODEL_N_KINDS]; /* of each adapter: the r features between A and B */
    struct programs_tile low;                  /* s A x of the current adapter */
    struct programs_tile dlow[MODEL_N_KINDS];  /* s B' dy, kept for the weight gradients */
};

/** Sums of the squares of each leaf's gradient; unused where they are not measured. */
struct programs_squares {
    double *of_leaf; /* owned (leaves) */
    float *tied; /* owned (leaves, elements of a tied table): gradient of the table from the head */
    float *one;  /* owned: the elements of one gradient that count */
};

/** Tiles that exist once per layer in training, once otherwise. */
struct programs_layer {
    struct programs_tile x, mid, q, k, v, ctx, pre;
    struct programs_tile raw[2]; /* queries and keys before their norms */
    int stats_heads[2]; /* address of the statistics of these norms: two vectors for each head of a
                           PE */
    struct programs_tile gate;   /* input of the nonlinearity of a gated network */
    struct programs_tile normed; /* norm1's output where the feed-forward network shares it */
    /* results of attention and of the feed-forward network before the norms that follow them; with
     * norm_last, the sums with the residual stream */
    struct programs_tile branch[2];
    int scores;         /* address of the scores of all samples */
    int capped;         /* address of tanh of the scores, with soft caps */
    int stats1, stats3; /* addresses of the statistics of the two norms, 2 vectors of tokens each */
    int stats_post[2];  /* addresses of the statistics of the norms after the two branches */
    struct programs_choice choice;
};

/** A head: its outputs, and the layers before them that it has. */
struct programs_head {
    struct programs_features f;   /* its outputs, distributed over the columns */
    struct programs_tile logits;  /* 32 bits; after the loss it has exp(logit - maximum) */
    struct programs_tile dlogits; /* gradient of the logits; overwrites them */
    struct programs_tile pre; /* result of the layer before the outputs, before its nonlinearity */
    /* result after the nonlinearity; without such a layer, the input after dropout */
    struct programs_tile act;
    int number; /* address of the negated numbers of the outputs */
    int rows;   /* address of PROGRAMS_LOSS_ROWS vectors of tokens */
    int words;  /* address of programs_spans_words() words, for answers as spans */
    /* addresses of the statistics of the norms before and after that layer */
    int stats_input, stats;
    const int32_t *labels, *mask; /* (samples, T), of the tokens that the head takes; labels of
                                     spans are those of programs_spans_label() */
    int32_t *own; /* owned: memory of labels and mask if the head takes first tokens, or of labels
                     of spans; else NULL */
};

/** Data of preference optimization; unused otherwise. */
struct programs_pairs {
    double *reference; /* owned (samples): log-probabilities under the reference model */
    float *weight;     /* owned (samples, T): d loss / d cross entropy */
};

struct programs_model {
    const struct model *model; /* borrowed */
    struct hw_machine machine; /* copy of the machine file with the documented rates of a PE */
    struct hw hw;              /* the machine of that copy, for the analytical model */
    struct programs_grid grid;
    double asked_s; /* host time at which a request to stop was first seen; 0: none */
    bool training;
    double gradient_scale; /* factor of all gradients (loss scaling) */
    struct programs_features hidden, heads, filter;
    struct programs_features head; /* for norms head by head: features of one head of each PE */
    struct programs_layer *layer;  /* owned */
    struct programs_tile last;     /* residual stream after the last layer */
    struct programs_tile wide_tmp; /* like `tmp`, in 32 bits */
    struct programs_tile dres, xn, dxn, act, dpre, dgate, dq, dk, dv, dctx, tmp;
    /* a second gradient of hidden features (program_branch.c) */
    struct programs_tile dside;
    struct programs_tile dbranch;      /* gradient of the result of a branch before its dropout */
    struct programs_tile raw;          /* embeddings before their norm */
    struct programs_tile cosine, sine; /* of the rotary angles of queries and keys */
    struct programs_tile capped;       /* tanh of the logits, with a soft cap */
    int n_rotated; /* number of samples whose rotary angles are on the PEs, from position 0 */
    int stats_embed;
    float table_scale; /* factor of the embedding's tables: embeddings_scale, or 1 where a norm
                          follows */
    float *slope;      /* owned (heads): slope of ALiBi; NULL without ALiBi */
    float *shared; /* owned (lanes, n_shared): gradients of keys and values that heads share, before
                      they are added over the heads */
    int64_t n_shared; /* elements of `shared` for one lane */
    int vector[PROGRAMS_VECTORS], sums, head_tokens, dscores;
    int dropped; /* address of the probabilities of a sample after dropout */
    /* the micro-batch */
    struct data_share share;
    const struct data_batch *batch; /* borrowed */
    /* leaves of the current micro-batch; most samples of a micro-batch */
    int n_leaves, max_samples;
    int32_t *position;       /* owned, (samples, T) */
    int32_t *position_row;   /* owned, (samples, T): row of the position table */
    int32_t *trained_row;    /* owned, (samples, T): row of the token table, or -1 */
    float *token_factor;     /* owned, (samples, T); NULL without token dropout */
    float *nats;             /* owned, (samples, T) */
    int32_t *best;           /* owned, (samples, T) */
    struct model_loss *loss; /* owned */
    int64_t *wanted;         /* owned (samples): position whose logits are wanted; -1: none */
    float *wanted_logits, *all_logits; /* owned; made on first use */
    bool any_wanted;
    struct programs_experts experts;
    struct programs_distances distances;
    struct programs_adapters adapters;
    struct programs_head output[MODEL_MAX_HEADS];
    struct programs_pairs pairs;
    /* the current stage */
    const struct model_stage *stage;
    const float *elements; /* values of its tensors, in the order of the stage */
    int l;                 /* index of its layer */
    bool reference;        /* the stage belongs to the reference model of preference optimization */
    const float *weight[MODEL_N_TENSOR_KINDS];
    /* borrowed, for each view of the stage; NULL: no tensor has a mask */
    const struct model_weights *masks;
    const struct model_weights *given; /* as `masks`, but set also where a mask has no zeros */
    const uint64_t *kept[MODEL_N_TENSOR_KINDS]; /* bits of the mask of each tensor; NULL: all
                                                   elements are kept */
    double density[MODEL_N_TENSOR_KINDS], gradient_density[MODEL_N_TENSOR_KINDS];
    bool trains[MODEL_N_TENSOR_KINDS]; /* false: the tensor is frozen */
    int64_t offset[MODEL_N_TENSOR_KINDS], rows[MODEL_N_TENSOR_KINDS], n_elems;
    float *wide;       /* owned: the stage's weights widened from 16 bits; NULL in fp32 */
    float *leaf_grads; /* owned, (most leaves, elements of the longest stage): gradients of the
                          leaves */
    struct programs_squares squares;
    int64_t cycles, first_gradient; /* of the current pass through a stage: cycles so far; cycle in
                                       which the first gradient word leaves, -1: none yet */
    /* tables */
    struct cycles_layout layout, leaf_layout;
    struct programs_row row[PROGRAMS_ROWS];
};

/** Layer @p l; outside training the only one. */
static inline struct programs_layer *programs_layer_of(struct programs_model *k, int64_t l)
{
    return &k->layer[k->training ? l : 0];
}
/** Residual stream before layer @p l; outside training one tile serves all layers. */
static inline struct programs_tile *programs_x(struct programs_model *k, int64_t l)
{
    return l == k->model->L && k->training ? &k->last : &programs_layer_of(k, l)->x;
}
#endif
