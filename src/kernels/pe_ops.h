/** Operations of a transformer on the mesh, made of scripts (pe_script.c): pe_norm.c, pe_softmax.c,
 *  pe_loss.c, pe_embed.c. */
#ifndef WSC_KERNELS_PE_OPS_H
#define WSC_KERNELS_PE_OPS_H
#include "pe_impl.h"

/** What programs reserve from here on is given back by pe_release. */
enum wsc_err kernels_pe_mark(struct pe_grid *g, int *mark);
enum wsc_err kernels_pe_release(struct pe_grid *g, int mark);

/** A norm over the features of @p x.  Vectors lie on the PEs (addresses); stats holds the mean
 *  and 1/sigma of each token, pitch words apart. */
struct pe_norm {
    struct pe_tile x;
    int gain, bias;  /**< bias: -1 for none */
    int stats, sums; /**< sums: two vectors of scratch, for the gradient */
    float eps;
    bool rms; /**< Zhang and Sennrich 2019: no mean */
};
/** Steps: statistics of x (Ba, Kiros, Hinton 2016, eq. 3 and 4), then out = gain xhat + bias.
 *  @p tmp is a tile of scratch. */
void kernels_pe_norm_forward(struct pe_grid *g, struct pe_script *s, const struct pe_norm *n,
                             const struct pe_tile *out, const struct pe_tile *tmp);
/** Steps: out again from kept statistics. */
void kernels_pe_norm_again(struct pe_grid *g, struct pe_script *s, const struct pe_norm *n,
                           const struct pe_tile *out);
/** Steps: @p dres += gradient of x from that of the output in @p dy, which is overwritten. */
void kernels_pe_norm_backward(struct pe_grid *g, struct pe_script *s, const struct pe_norm *n,
                              const struct pe_tile *dy, const struct pe_tile *dres,
                              const struct pe_tile *tmp);
/** Steps over the samples of the script: vectors @p dgain and @p dbias (-1 for none). */
void kernels_pe_norm_gradients(struct pe_grid *g, struct pe_script *s, const struct pe_norm *n,
                               const struct pe_tile *dy, const struct pe_tile *tmp, int dgain,
                               int dbias);

/** Elementwise: out = f(x), out = dy f'(x). */
enum pe_nonlinearity { PE_GELU, PE_GELU_NEW, PE_SILU, PE_RELU };
void kernels_pe_activate(struct pe_grid *g, struct pe_script *s, enum pe_nonlinearity f,
                         const struct pe_tile *out, const struct pe_tile *x);
void kernels_pe_activate_backward(struct pe_grid *g, struct pe_script *s, enum pe_nonlinearity f,
                                  const struct pe_tile *out, const struct pe_tile *x,
                                  const struct pe_tile *dy);

/** exp(x - max), for maps. */
float kernels_pe_exp_of_difference(float x, float max);
/** Softmax over the features of a tile, in place; its gradient: dy becomes dx. */
void kernels_pe_softmax(struct pe_grid *g, struct pe_script *s, const struct pe_tile *x,
                        int tokens);
void kernels_pe_softmax_backward(struct pe_grid *g, struct pe_script *s, const struct pe_tile *y,
                                 const struct pe_tile *dy, int tokens);

/** Turn pairs of features (Su et al. 2021): slots 2 i and 2 i + 1 by the angle whose cosine and
 *  sine lie in slot 2 i of the tables; @p back turns the other way, which is the gradient. */
struct pe_rotary {
    struct pe_tile x, cosine, sine, tmp;
    bool back;
};
void kernels_pe_rotate(struct pe_script *s, const struct pe_rotary *r);

/** Scores of one sequence to probabilities over keys, in place (scaled first); @p tokens: 2 rows of
 *  heads x tokens words of scratch. */
struct pe_probabilities {
    int sample, scores, tokens;
    const struct pe_features *f;
    float scale;
};
enum wsc_err kernels_pe_run_probabilities(struct pe_grid *g, const struct pe_probabilities *p);
/** @p dscores: gradient of the probabilities, becomes that of the unscaled scores. */
enum wsc_err kernels_pe_run_probabilities_backward(struct pe_grid *g,
                                                   const struct pe_probabilities *p, int dscores);

/** Causal attention of one sequence and its gradient; tiles by heads.  @p scores keeps the
 *  probabilities for the gradient. */
struct pe_attention {
    int sample, scores, dscores, tokens; /**< addresses; dscores for the gradient only */
    struct pe_tile q, k, v, out;
    struct pe_tile dout, dq, dk, dv;
    int64_t room; /**< words of a PE for sums of the gradient */
    float scale;
};
enum wsc_err kernels_pe_run_attention(struct pe_grid *g, const struct pe_attention *a);
enum wsc_err kernels_pe_run_attention_backward(struct pe_grid *g, const struct pe_attention *a);

/** Cross entropy over the features of @p logits (the vocabulary), in pe_loss.c. */
struct pe_loss {
    struct pe_tile logits;
    int number;                   /**< address: minus the number of each feature, as floats */
    int tokens;                   /**< address: PE_LOSS_ROWS vectors of tokens */
    const int32_t *labels, *mask; /**< (samples, T), on the host: the input of the step */
    float scale;                  /**< of the logits */
    const struct pe_tile *tmp;
};
enum { PE_LOSS_ROWS = 5 };
/** nats and the predicted feature of each token (samples, T); the tile becomes exp(logit - max). */
struct pe_losses {
    float *nats;
    int32_t *best;
};
enum wsc_err kernels_pe_run_loss(struct pe_grid *g, const struct pe_loss *l,
                                 const struct pe_losses *out);
/** The tile becomes d(nats)/d(logit before its scale). */
enum wsc_err kernels_pe_run_loss_backward(struct pe_grid *g, const struct pe_loss *l);

/** A table whose rows stream past; each token takes (or its gradient adds to) one. */
struct pe_table {
    struct pe_tile x;
    int64_t rows;
    const int32_t *row_of_token; /**< (samples, T) */
    float scale;
    bool add; /**< to x; otherwise x is written */
    int first_sample, n_samples;
    int64_t first_cycle; /**< result of kernels_pe_run_scatter: the first word leaves */
};
/** @p table: (rows, features) row-major. */
enum wsc_err kernels_pe_run_gather(struct pe_grid *g, const struct pe_table *t, const float *table);
/** Sums of @p x over the tokens of each row, to @p grad (rows, features). */
enum wsc_err kernels_pe_run_scatter(struct pe_grid *g, struct pe_table *t, float *grad);
#endif
