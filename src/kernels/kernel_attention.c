// SPDX-License-Identifier: Apache-2.0
/* Defines the rows of the table for rotary positions and attention, head by head. Tensors are
 * (samples, tokens, heads, head_dim). The host computes both only inside the parts QKV and ATTN of
 * a model. */
#include "kernel_rows.h"
#include "kernel_shapes.h"
#include "kernel_strips.h"

#include <wsc/num_reference.h>

#include <math.h>
#include <string.h>

/* Numbers of one sample. */
static int64_t sample_size(const struct programs_case *c)
{
    return c->tokens * c->heads * c->head_dim;
}

/* ---- rotary positions ------------------------------------------------------------------------ */

/* X in, X out. */
static struct kernels_sizes rotary_sizes(const struct programs_case *c)
{
    const int64_t n = c->samples * sample_size(c);
    return (struct kernels_sizes){.in = {n}, .out = n};
}

static double rotary_cycles(const struct cycles_layout *l, const struct programs_case *c)
{
    const int pair = 2;
    return cycles_rotary(l, programs_head_slots((int)c->heads, (int)c->head_dim, c->w, pair));
}

/* The gradient of a rotation is the rotation back. */
static void rotary_reference(const struct programs_case *c, const struct kernels_reference *o,
                             double *want)
{
    const int64_t n = sample_size(c);
    memcpy(want, o->x[0], (size_t)(c->samples * n) * sizeof *want);
    for (int64_t b = 0; b < c->samples; b++)
        num_ref_rotary(want + b * n, c->tokens, c->heads, c->head_dim, c->backward);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Number of probabilities of a sample. */
static int64_t probabilities(const struct programs_case *c)
{
    return c->heads * c->tokens * c->tokens;
}

/* Q, K, V, and for the gradient that of the output; the results are the output, or dQ, dK, dV. */
static struct kernels_sizes attention_sizes(const struct programs_case *c)
{
    const int64_t n = c->samples * sample_size(c);
    return (struct kernels_sizes){.in = {n, n, n, c->backward ? n : 0},
                                  .out = c->backward ? 3 * n : n,
                                  .scratch = probabilities(c) + sample_size(c) + c->heads};
}

/* Backward includes the forward: the program computes probabilities in both. */
static double attention_cycles(const struct cycles_layout *l, const struct programs_case *c)
{
    return cycles_attention(l) + (c->backward ? cycles_attention_gradient(l, false) : 0);
}

/* Slope h of H heads, H a power of two, is 2^(-8 (h + 1) / H); of other numbers the first ones are
 * those of the next smaller power of two, then every other one of the next larger (Press et al.
 * 2022, and its code). */
static void slopes_of(const struct programs_case *c, float *slope)
{
    int64_t whole = 1;
    while (2 * whole <= c->heads)
        whole *= 2;
    for (int64_t h = 0; h < c->heads; h++)
        slope[h] = (float)exp2(h < whole ? -8.0 * (double)(h + 1) / (double)whole
                                         : -4.0 * (double)(2 * (h - whole) + 1) / (double)whole);
}

/* Sample by sample, with the probabilities of one sample in memory. */
static void attention_reference(const struct programs_case *c, const struct kernels_reference *o,
                                double *want)
{
    const int64_t n = sample_size(c), all = c->samples * n;
    double *p = o->scratch, *out = p + probabilities(c);
    float *slope = (float *)(void *)(out + n);
    slopes_of(c, slope);
    for (int64_t at = 0; at < all; at += n) {
        const struct num_ref_attention a = {.T = c->tokens,
                                            .heads = c->heads,
                                            .d = c->head_dim,
                                            .scale = 1 / sqrt((double)c->head_dim),
                                            .both_ways = c->both_ways,
                                            .cap = c->softcap,
                                            .slope = c->alibi ? slope : NULL,
                                            .q = o->x[0] + at,
                                            .k = o->x[1] + at,
                                            .v = o->x[2] + at};
        num_ref_attend(&a, p, c->backward ? out : want + at);
        if (c->backward)
            num_ref_attend_gradient(&a, p, o->x[3] + at, want + at, want + all + at,
                                    want + 2 * all + at);
    }
}

static const struct kernels_strip rotary_strips[] = {
    {.bf16 = KERNELS_IN(GPTJ) | KERNELS_IN(LLAMA), .fp32 = KERNELS_IN(GPTJ)},
    {.bf16 = 0},
};

static const struct kernels_strip attention_strips[] = {
    {.bf16 = KERNELS_ALL,
     .fp32 = KERNELS_IN(BERT_BASE) | KERNELS_IN(BERT_LARGE) | KERNELS_IN(256M) | KERNELS_IN(2P7B) |
             KERNELS_IN(13B),
     .side = KERNELS_ONE_HEAD},
    {.bf16 = KERNELS_IN(BERT_BASE) | KERNELS_IN(BERT_LARGE) | KERNELS_IN(590M) | KERNELS_IN(2P7B) |
             KERNELS_IN(6P7B),
     .fp32 = KERNELS_IN(BERT_LARGE) | KERNELS_IN(590M) | KERNELS_IN(2P7B) | KERNELS_IN(20B),
     .side = KERNELS_ONE_HEAD,
     .backward = true},
    {.bf16 = 0},
};

const struct kernels_row kernels_attention_rows[] = {
    {.name = "rotary",
     .summary = "rotate adjacent pairs of features by position",
     KERNELS_OPERATION("--heads --head_dim --pass", 1 << MODEL_PART_QKV, kernels_head_shapes),
     .gradient = true,
     .sizes = rotary_sizes,
     .strips = rotary_strips,
     .program = programs_rotate_heads,
     .cycles = rotary_cycles,
     .reference = rotary_reference},
    {.name = "attention",
     .summary = "causal or both ways, head by head",
     KERNELS_OPERATION("--heads --head_dim --both_ways --softcap --alibi --pass",
                       1 << MODEL_PART_ATTN, kernels_attention_shapes),
     .gradient = true,
     .sizes = attention_sizes,
     .strips = attention_strips,
     .program = programs_attend,
     .cycles = attention_cycles,
     .reference = attention_reference},
    {.name = NULL},
};
