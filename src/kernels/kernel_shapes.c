// SPDX-License-Identifier: Apache-2.0
/* Samples the shapes on which mesh and analytical model are compared: fabrics of up to 24 x 24 PEs,
 * and for each family of operations sizes that do not divide them. kernel_pairs.c runs the sampled
 * shapes. */
#include "kernel_shapes.h"

#include <wsc/check.h>
#include <wsc/rng.h>

#include <stdio.h>

int64_t kernels_pick(struct kernels_sampler *s, int64_t low, int64_t high)
{
    WSC_CHECK(low <= high, "%lld to %lld", (long long)low, (long long)high);
    return low + (int64_t)(wsc_rng_u64(s->seed, s->stream, s->n++) % (uint64_t)(high - low + 1));
}

struct programs_case kernels_small_case(const struct hw *hw, uint64_t seed, bool backward)
{
    return (struct programs_case){.hw = hw,
                                  .features = 32,
                                  .heads = 2,
                                  .head_dim = 8,
                                  .vocab = 64,
                                  .threads = 1,
                                  .seed = seed,
                                  .backward = backward};
}

/* Fabrics that hold up to 8 tokens of each sequence on a PE. */
void kernels_sample_grid(struct kernels_sampler *s, struct programs_case *c)
{
    enum { MOST_SIDE = 24, MOST_TOKENS = 8, MOST_SAMPLES = 3 };
    c->w = (int)kernels_pick(s, 1, MOST_SIDE);
    c->h = (int)kernels_pick(s, 1, MOST_SIDE);
    c->samples = kernels_pick(s, 1, MOST_SAMPLES);
    c->tokens = kernels_pick(s, INT64_C(2) * c->h, (int64_t)MOST_TOKENS * c->h);
}

/* Features for every column, up to 8 on each. */
static int64_t features(struct kernels_sampler *s, const struct programs_case *c)
{
    enum { LEAST = 8, MOST_PER_PE = 8 };
    return kernels_pick(s, c->w > LEAST ? c->w : LEAST, (int64_t)MOST_PER_PE * c->w + LEAST);
}

static void sample_matrix(struct kernels_sampler *s, struct programs_case *c)
{
    c->m = features(s, c);
    c->k = features(s, c);
}

static void describe_matrix(const struct programs_case *c, char *text, size_t size)
{
    (void)snprintf(text, size, "B %lld T %lld, %lld x %lld", (long long)c->samples,
                   (long long)c->tokens, (long long)c->m, (long long)c->k);
}

static void sample_features(struct kernels_sampler *s, struct programs_case *c)
{
    c->features = features(s, c);
}

static void describe_rows(const struct programs_case *c, int64_t width, char *text, size_t size)
{
    (void)snprintf(text, size, "B %lld T %lld, %lld features", (long long)c->samples,
                   (long long)c->tokens, (long long)width);
}

static void describe_features(const struct programs_case *c, char *text, size_t size)
{
    describe_rows(c, c->features, text, size);
}

/* Heads of 4 to 32 features, at most 16 features on a PE, so that memory suffices. */
static void sample_heads(struct kernels_sampler *s, struct programs_case *c)
{
    enum { MOST_HEADS = 6, LEAST_PAIRS = 2, MOST_PAIRS = 16, MOST_TOKENS = 5, MOST_PER_PE = 16 };
    const int64_t w = c->w;
    c->heads = kernels_pick(s, 1, MOST_HEADS < 2 * w ? MOST_HEADS : 2 * w);
    const int64_t fit = MOST_PER_PE * w / (2 * c->heads);
    const int64_t most = fit < LEAST_PAIRS ? LEAST_PAIRS : fit > MOST_PAIRS ? MOST_PAIRS : fit;
    c->head_dim = 2 * kernels_pick(s, LEAST_PAIRS, most);
    c->tokens = kernels_pick(s, INT64_C(2) * c->h, (int64_t)MOST_TOKENS * c->h);
}

/* Every fourth without a causal mask, every third with capped scores, every third of the causal
 * ones with slopes, every other in bfloat16. */
static void sample_attention(struct kernels_sampler *s, struct programs_case *c)
{
    enum { BOTH_WAYS_OF = 4, CAPPED_OF = 3, SLOPES_OF = 3, LEAST_CAP = 2, MOST_CAP = 50 };
    sample_heads(s, c);
    c->both_ways = kernels_pick(s, 1, BOTH_WAYS_OF) == 1;
    if (kernels_pick(s, 1, CAPPED_OF) == 1)
        c->softcap = (double)kernels_pick(s, LEAST_CAP, MOST_CAP);
    c->alibi = kernels_pick(s, 1, SLOPES_OF) == 1 && !c->both_ways;
    c->format = kernels_pick(s, 0, 1) ? NUM_BF16 : NUM_FP32;
}

static void describe_attention(const struct programs_case *c, char *text, size_t size)
{
    (void)snprintf(text, size, "B %lld T %lld, %lld heads of %lld%s%s%s%s", (long long)c->samples,
                   (long long)c->tokens, (long long)c->heads, (long long)c->head_dim,
                   c->both_ways ? ", both ways" : "", c->softcap > 0 ? ", capped" : "",
                   c->alibi ? ", slopes" : "", c->format == NUM_BF16 ? ", bf16" : "");
}

static void describe_heads(const struct programs_case *c, char *text, size_t size)
{
    (void)snprintf(text, size, "B %lld T %lld, %lld heads of %lld", (long long)c->samples,
                   (long long)c->tokens, (long long)c->heads, (long long)c->head_dim);
}

/* Far more rows than a PE has tokens, as vocabularies have. */
static void sample_table(struct kernels_sampler *s, struct programs_case *c)
{
    const int64_t tokens = c->samples * ((c->tokens + c->h - 1) / c->h);
    c->features = features(s, c);
    c->vocab = kernels_pick(s, 32 * tokens, 64 * tokens);
}

static void describe_table(const struct programs_case *c, char *text, size_t size)
{
    (void)snprintf(text, size, "B %lld T %lld, %lld rows of %lld", (long long)c->samples,
                   (long long)c->tokens, (long long)c->vocab, (long long)c->features);
}

static void sample_logits(struct kernels_sampler *s, struct programs_case *c)
{
    c->vocab = features(s, c);
}

static void describe_logits(const struct programs_case *c, char *text, size_t size)
{
    describe_rows(c, c->vocab, text, size);
}

/* Fabric, tiles of A, columns of B: all of a PE's memory holds the densest tile and its blocks of B
 * and C. */
static void sample_tiles(struct kernels_sampler *s, struct programs_case *c)
{
    enum { MOST_W = 40, MOST_H = 8, LEAST = 4, MOST_ROWS = 64, MOST_COLUMNS = 48, WORDS = 5000 };
    c->w = (int)kernels_pick(s, 1, MOST_W);
    c->h = (int)kernels_pick(s, 1, MOST_H);
    const int64_t rows = kernels_pick(s, LEAST, MOST_ROWS);
    const int64_t columns = kernels_pick(s, LEAST, MOST_COLUMNS);
    c->m = rows * c->h - kernels_pick(s, 0, c->h / 2);
    c->k = columns * c->w - kernels_pick(s, 0, c->w / 2);
    c->n = kernels_pick(s, LEAST, WORDS / (rows + columns));
}

static void describe_tiles(const struct programs_case *c, char *text, size_t size)
{
    (void)snprintf(text, size, "%lld x %lld x %lld, fp32, density %.3f", (long long)c->m,
                   (long long)c->k, (long long)c->n, c->density);
}

const struct kernels_shapes kernels_matrix_shapes = {sample_matrix, describe_matrix},
                            kernels_feature_shapes = {sample_features, describe_features},
                            kernels_head_shapes = {sample_heads, describe_heads},
                            kernels_attention_shapes = {sample_attention, describe_attention},
                            kernels_table_shapes = {sample_table, describe_table},
                            kernels_logit_shapes = {sample_logits, describe_logits},
                            kernels_tile_shapes = {sample_tiles, describe_tiles};
