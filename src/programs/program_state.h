/** State of a model on the mesh of one wafer, shared by program_model.c and program_parts.c.
 *  Activations stay in the PEs between forward and backward. Weights come through the north edge
 *  stage by stage, gradients leave there leaf by leaf, a leaf of each lane at a time. The edge
 *  adds the leaves' gradients along the canonical tree (<wsc/num.h>), so that values do not depend
 *  on who owns which leaf. */
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

enum { PROGRAMS_VECTORS = 5 }; /* vectors of a stage on the PEs at a time */

/** Expert networks of the tokens of a layer. A token with one of its networks is a place. The
 * places of a row of PEs are sorted by network, then by token, and are columns of tiles. */
struct programs_choice {
    struct programs_tile routed, weighing; /* values of experts that choose, that weigh; 32 bits */
    int vectors; /* address, 2 A + 1 vectors of tokens: minus the numbers of the A chosen experts,
                    their weights, 1 over the sum of the weights before it divided them */
    int places;  /* address, a vector of tokens for each network of a token: their places */
    int *start;  /* owned, registers of a row (rows, networks, samples + 1): first place of the
                    tokens of a sample or later ones */
};

/** Data of the operations of a stage instead of one network's places: tokens of all samples, or
 *  places of all networks. */
enum { PROGRAMS_ALL_TOKENS = -1, PROGRAMS_ALL_PLACES = -2 };

/** What the layers of a mixture of experts share; unused otherwise. */
struct programs_experts {
    struct programs_features f;      /* the experts on the columns */
    struct programs_tile x, dx;      /* of places: networks' input or output, its gradient */
    struct programs_tile tmp, marks; /* of experts: scratch */
    struct programs_tile d, apart;   /* gradients of the values that choose, that weigh */
    int number;                      /* address: minus the numbers of the experts */
    int samples;                     /* address, of Sinkhorn's normalisation: two values for each
                                        expert and sample */
    int weights, dweights;           /* addresses, a vector of places: their weights, gradients */
    int tokens;  /* address, A + 4 vectors of tokens: gradients of weights, scratch, loss mask */
    int network; /* current one, or PROGRAMS_ALL_TOKENS, _ALL_PLACES */
    int *columns, *leaf_columns;     /* owned, of the two spans */
    struct programs_span span, leaf; /* of the current network, of a leaf in it */
    float *balance; /* owned (layers, samples, 2, experts): sums of what selects, of choices */
    struct cycles_layout one, one_leaf, places; /* of a network, of a leaf in it, of all places */
};

/** Trained weights by distance; unused without them. Every column of a head has the weights of the
 *  head. They are streamed in with the embeddings and stay on the PEs, like the sums of their
 *  gradients. */
struct programs_distances {
    struct programs_features f; /* the weights of the heads of a PE, head by head */
    int weights;                /* address: of f; then gradients that leave */
    int table;                  /* address: relative positions, a weight for each distance */
    int sums;                   /* address: gradients of each leaf (struct programs_by_distance) */
    int words, pitch;           /* of the table */
    int *first;                 /* owned (buckets + 1): least distance of a bucket or later ones */
    float *edge;                /* owned (lanes, f.n): words from or to the edge */
};

/** Low-rank adapters of matrices; unused otherwise. */
struct programs_adapters {
    struct programs_features f[MODEL_N_KINDS]; /* the r features between A and B of each adapter */
    struct programs_tile low;                  /* s A x of one adapter at a time */
    struct programs_tile dlow[MODEL_N_KINDS];  /* s B' dy, kept for the weight gradients */
};

/** Sums of the squares of each leaf's gradient; unused where they are not measured. */
struct programs_squares {
    double *of_leaf; /* owned (leaves) */
    float *tied;     /* owned (leaves, elements of a tied table): the head's gradient of it */
    float *one;      /* owned: the wanted elements of one gradient */
};

/** Tiles that exist once per layer in training, once otherwise. */
struct programs_layer {
    struct programs_tile x, mid, q, k, v, ctx, pre;
    struct programs_tile raw[2];    /* queries and keys before their norms */
    int stats_heads[2];             /* their statistics: two vectors for each head of a PE */
    struct programs_tile gate;      /* of a gated network: input of the nonlinearity */
    struct programs_tile normed;    /* norm1's output where the feed-forward network shares it */
    struct programs_tile branch[2]; /* attention, feed-forward network before norms after them, or
                                       with norm_last the sums */
    int scores;                     /* address, of all samples */
    int capped;                     /* address: tanh of the scores, with soft caps */
    int stats1, stats3;             /* of the two norms: 2 vectors of tokens each */
    int stats_post[2];              /* of the norms after the branches */
    struct programs_choice choice;
};

/** A head: its outputs, and the layers before them that it has. */
struct programs_head {
    struct programs_features f;   /* its outputs on the columns */
    struct programs_tile logits;  /* of 32 bits; after the loss exp(logit - maximum) */
    struct programs_tile dlogits; /* the gradient of the logits, in their place */
    struct programs_tile pre;     /* a layer before the outputs: before its nonlinearity */
    struct programs_tile act;     /* after it; without such a layer, the dropped-out input */
    int number;                   /* address: minus the numbers of the outputs */
    int rows;                     /* address: PROGRAMS_LOSS_ROWS vectors of tokens */
    int words;                    /* address, of spans: programs_spans_words() */
    int stats_input, stats;       /* addresses: of the norms before and after that layer */
    const int32_t *labels, *mask; /* (samples, T): of the tokens that it takes; of spans labels as
                                     programs_spans_label() sets them */
    int32_t *own;                 /* owned: both, where it takes first tokens, or labels of spans;
                                     else NULL */
};

/** Data of preference optimization; unused otherwise. */
struct programs_pairs {
    double *reference; /* owned (samples): log-probabilities under the reference model */
    float *weight;     /* owned (samples, T): d loss / d cross entropy */
};

struct programs_model {
    const struct model *model; /* borrowed */
    struct hw_machine machine; /* a copy, with the documented rates of a PE */
    struct hw hw;              /* of that copy, for the analytical model */
    struct programs_grid grid;
    double asked_s; /* host time at which a request to stop was first seen; 0: none */
    bool training;
    double gradient_scale; /* factor of all gradients (loss scaling) */
    struct programs_features hidden, heads, filter;
    struct programs_features head; /**< of a norm by heads: one head of each PE */
    struct programs_layer *layer;  /* owned */
    struct programs_tile last;     /* residual stream at the head */
    struct programs_tile wide_tmp; /* tmp in 32 bits */
    struct programs_tile dres, xn, dxn, act, dpre, dgate, dq, dk, dv, dctx, tmp;
    struct programs_tile dside;        /* a second gradient of hidden features */
    struct programs_tile dbranch;      /* gradient of a branch before its dropout */
    struct programs_tile raw;          /* embeddings before their norm */
    struct programs_tile cosine, sine; /* of queries and keys */
    struct programs_tile capped;       /* tanh of logits, with a soft cap */
    int n_turned;                      /* samples whose angles are on the PEs, from position 0 */
    int stats_embed;
    float table_scale; /* of the embedding's tables: embeddings_scale, unless a norm follows */
    float *slope;      /* owned, of each head; NULL without ALiBi */
    float *shared;     /* owned, by lanes: gradients of keys shared by heads, for each head */
    int64_t n_shared;  /* of a lane */
    int vector[PROGRAMS_VECTORS], sums, head_tokens, dscores;
    int dropped; /* address: probabilities of a sample after dropout */
    /* the micro-batch */
    struct data_share share;
    const struct data_batch *batch;    /* borrowed */
    int n_leaves, max_samples;         /* leaves of the micro-batch; samples of any micro-batch */
    int32_t *position;                 /* owned, (samples, T) */
    int32_t *position_row;             /* owned, (samples, T): row of the table of positions */
    int32_t *trained_row;              /* owned, (samples, T): row of the token table, or -1 */
    float *token_factor;               /* owned, (samples, T); NULL without token dropout */
    float *nats;                       /* owned, (samples, T) */
    int32_t *best;                     /* owned, (samples, T) */
    struct model_loss *loss;           /* owned */
    int64_t *wanted;                   /* owned, a position for each sample; -1: none */
    float *wanted_logits, *all_logits; /* owned; made on first use */
    bool any_wanted;
    struct programs_experts experts;
    struct programs_distances distances;
    struct programs_adapters adapters;
    struct programs_head output[MODEL_MAX_HEADS];
    struct programs_pairs pairs;
    /* the current stage */
    const struct model_stage *stage;
    const float *elements; /* its vector */
    int l;                 /* its layer */
    bool reference;        /* it belongs to the reference model of preference optimization */
    const float *weight[MODEL_N_TENSOR_KINDS];
    const struct model_weights *masks;          /* borrowed, of its views; NULL: none */
    const struct model_weights *given;          /* like masks; set even without zeros */
    const uint64_t *kept[MODEL_N_TENSOR_KINDS]; /* masks; NULL: all elements */
    double density[MODEL_N_TENSOR_KINDS], gradient_density[MODEL_N_TENSOR_KINDS];
    bool trains[MODEL_N_TENSOR_KINDS]; /* not frozen */
    int64_t offset[MODEL_N_TENSOR_KINDS], rows[MODEL_N_TENSOR_KINDS], n_elems;
    float *wide;       /* owned: the stage's weights widened from 16 bits; NULL in fp32 */
    float *leaf_grads; /* owned, max_leaves x longest stage */
    struct programs_squares squares;
    int64_t cycles, first_gradient; /* of the current visit; first_gradient -1: none yet */
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
