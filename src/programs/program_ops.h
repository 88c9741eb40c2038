/** Operations of a transformer on the mesh, made of scripts (program_vector_ops.c) and patterns
 *  (program_grid.h): norms and nonlinearities (program_norm.c), softmax and attention
 *  (program_softmax.c), loss (program_loss.c), tables of rows (program_embedding.c). */
#ifndef WSC_PROGRAMS_OPS_H
#define WSC_PROGRAMS_OPS_H
#include "program_grid.h"

/** A norm over the features of @p x.  Vectors lie on the PEs (addresses); stats holds the mean
 *  and 1/sigma of each token, pitch words apart. */
struct programs_norm {
    struct programs_tile x;
    int gain, bias;  /**< bias: -1 for none */
    int stats, sums; /**< sums: two vectors of scratch */
    float eps;
    bool rms; /**< Zhang and Sennrich 2019: no mean */
};
/** Steps: statistics of x (Ba, Kiros, Hinton 2016, eq. 3 and 4), then out = gain xhat + bias.
 *  @p tmp is a tile of scratch. */
void programs_norm_forward(struct programs_grid *g, struct programs_script *s,
                           const struct programs_norm *n, const struct programs_tile *out,
                           const struct programs_tile *tmp);
/** Steps: out again from kept statistics. */
void programs_norm_again(struct programs_grid *g, struct programs_script *s,
                         const struct programs_norm *n, const struct programs_tile *out);
/** Steps: @p dres += gradient of x from that of the output in @p dy, which is overwritten. */
void programs_norm_backward(struct programs_grid *g, struct programs_script *s,
                            const struct programs_norm *n, const struct programs_tile *dy,
                            const struct programs_tile *dres, const struct programs_tile *tmp);
/** Steps over the samples of the script: vectors @p dgain and @p dbias (-1 for none). */
void programs_norm_gradients(struct programs_grid *g, struct programs_script *s,
                             const struct programs_norm *n, const struct programs_tile *dy,
                             const struct programs_tile *tmp, int dgain, int dbias);

/** Elementwise: out = f(x), out = dy f'(x). */
enum programs_nonlinearity { PROGRAMS_GELU, PROGRAMS_GELU_NEW, PROGRAMS_SILU, PROGRAMS_RELU };
void programs_activate(struct programs_grid *g, struct programs_script *s,
                       enum programs_nonlinearity f, const struct programs_tile *out,
                       const struct programs_tile *x);
void programs_activate_backward(struct programs_grid *g, struct programs_script *s,
                                enum programs_nonlinearity f, const struct programs_tile *out,
                                const struct programs_tile *x, const struct programs_tile *dy);

/** exp(x - max), for maps. */
float programs_exp_of_difference(float x, float max);
/** Softmax over the features of a tile, in place; its gradient: dy becomes dx. */
void programs_softmax(struct programs_grid *g, struct programs_script *s,
                      const struct programs_tile *x, int tokens);
void programs_softmax_backward(struct programs_grid *g, struct programs_script *s,
                               const struct programs_tile *y, const struct programs_tile *dy,
                               int tokens);

/** Turn pairs of features (Su et al. 2021): slots 2 i and 2 i + 1 by the angle whose cosine and
 *  sine lie in slot 2 i of the tables; @p back turns the other way, which is the gradient. */
struct programs_rotary {
    struct programs_tile x, cosine, sine, tmp;
    bool back;
};
void programs_rotate(struct programs_script *s, const struct programs_rotary *r);

/** Causal attention of one sequence and its gradient; tiles by heads.  @p scores keeps the
 *  probabilities for the gradient. */
struct programs_attention {
    int sample, scores, dscores, tokens; /**< addresses; dscores for the gradient only */
    struct programs_tile q, k, v, out;
    struct programs_tile dout, dq, dk, dv;
    int64_t room; /**< words of a PE for sums of the gradient */
    float scale;
};
enum wsc_err programs_run_attention(struct programs_grid *g, const struct programs_attention *a);
enum wsc_err programs_run_attention_backward(struct programs_grid *g,
                                             const struct programs_attention *a);

/** Cross entropy over the features of @p logits (the vocabulary), in program_loss.c. */
struct programs_loss {
    struct programs_tile logits;
    int number;                   /**< address: minus the number of each feature, as floats */
    int tokens;                   /**< address: PROGRAMS_LOSS_ROWS vectors of tokens */
    const int32_t *labels, *mask; /**< (samples, T), on the host: the input of the step */
    float scale;                  /**< of the logits */
    const struct programs_tile *tmp;
};
enum { PROGRAMS_LOSS_ROWS = 5 };
/** nats and the predicted feature of each token (samples, T); the tile becomes exp(logit - max). */
struct programs_losses {
    float *nats;
    int32_t *best;
};
enum wsc_err programs_run_loss(struct programs_grid *g, const struct programs_loss *l,
                               const struct programs_losses *out);
/** The tile becomes d(nats)/d(logit before its scale). */
enum wsc_err programs_run_loss_backward(struct programs_grid *g, const struct programs_loss *l);

/** A table whose rows stream past; each token takes (or its gradient adds to) one. */
struct programs_table {
    struct programs_tile x;
    int64_t rows;
    const int32_t *row_of_token; /**< (samples, T) */
    float scale;
    bool add; /**< to x; otherwise x is written */
    int first_sample, n_samples;
    int64_t first_cycle; /**< result of programs_run_table_scatter: the first word leaves */
};
/** @p table: (rows, features) row-major. */
enum wsc_err programs_run_table_gather(struct programs_grid *g, const struct programs_table *t,
                                       const float *table);
/** Sums of @p x over the tokens of each row, to @p grad (rows, features). */
enum wsc_err programs_run_table_scatter(struct programs_grid *g, struct programs_table *t,
                                        float *grad);
#endif
