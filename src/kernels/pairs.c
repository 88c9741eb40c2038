// SPDX-License-Identifier: Apache-2.0
#include <wsc/check.h>
#include <wsc/kernels.h>
#include <wsc/rng.h>

#include <stdio.h>
#include <string.h>

/* Formula against mesh: kernels on grids and shapes that are drawn, each counted and by its form.
 */

/* ---- draws ----------------------------------------------------------------------------------- */

struct draw {
    uint64_t seed, stream, n;
};

/* A whole number in [low, high]. */
static int64_t pick(struct draw *d, int64_t low, int64_t high)
{
    WSC_CHECK(low <= high, "%lld to %lld", (long long)low, (long long)high);
    return low + (int64_t)(wsc_rng_u64(d->seed, d->stream, d->n++) % (uint64_t)(high - low + 1));
}

/* Fabrics of up to 24 x 24 PEs that hold up to 8 tokens of each sequence. */
static void draw_grid(struct draw *d, struct programs_case *c)
{
    enum { MOST_SIDE = 24, MOST_TOKENS = 8, MOST_SAMPLES = 3 };
    c->w = (int)pick(d, 1, MOST_SIDE);
    c->h = (int)pick(d, 1, MOST_SIDE);
    c->samples = pick(d, 1, MOST_SAMPLES);
    c->tokens = pick(d, INT64_C(2) * c->h, (int64_t)MOST_TOKENS * c->h);
}

/* Features for every column, up to 8 on each. */
static int64_t draw_features(struct draw *d, const struct programs_case *c)
{
    enum { LEAST = 8, MOST_PER_PE = 8 };
    return pick(d, c->w > LEAST ? c->w : LEAST, (int64_t)MOST_PER_PE * c->w + LEAST);
}

static void draw_matrix(struct draw *d, struct programs_case *c)
{
    c->m = draw_features(d, c);
    c->k = draw_features(d, c);
}

static void draw_rows(struct draw *d, struct programs_case *c)
{
    c->features = draw_features(d, c);
}

static void draw_heads(struct draw *d, struct programs_case *c)
{
    enum { MOST_HEADS = 6, LEAST_PAIRS = 2, MOST_PAIRS = 16, MOST_TOKENS = 5, MOST_PER_PE = 16 };
    const int64_t w = c->w;
    c->heads = pick(d, 1, MOST_HEADS < 2 * w ? MOST_HEADS : 2 * w);
    const int64_t fit = MOST_PER_PE * w / (2 * c->heads);
    const int64_t most = fit < LEAST_PAIRS ? LEAST_PAIRS : fit > MOST_PAIRS ? MOST_PAIRS : fit;
    c->head_dim = 2 * pick(d, LEAST_PAIRS, most);
    c->tokens = pick(d, INT64_C(2) * c->h, (int64_t)MOST_TOKENS * c->h);
}

/* Far more rows than a PE has tokens, as vocabularies have. */
static void draw_table(struct draw *d, struct programs_case *c)
{
    const int64_t tokens = c->samples * ((c->tokens + c->h - 1) / c->h);
    c->features = draw_features(d, c);
    c->vocab = pick(d, 32 * tokens, 64 * tokens);
}

static void draw_logits(struct draw *d, struct programs_case *c)
{
    c->vocab = draw_features(d, c);
}

static const struct kind {
    const char *kernel;
    bool both; /* has a backward pass of its own */
    void (*draw)(struct draw *d, struct programs_case *c);
} kinds[] = {
    {"linear", false, draw_matrix},
    {"wgrad", false, draw_matrix},
    {"layernorm", true, draw_rows},
    {"rmsnorm", true, draw_rows},
    {"softmax", true, draw_rows},
    {"gelu", true, draw_rows},
    {"silu", true, draw_rows},
    {"rotary", true, draw_heads},
    {"attention", true, draw_heads},
    {"embedding", true, draw_table},
    {"cross_entropy", true, draw_logits},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Products and weight gradients, where the time goes, come twice; the others forward and back. */
static void draw_case(struct draw *d, int i, const struct hw *hw, const struct kind **kind,
                      struct programs_case *c)
{
    *kind = &kinds[i / 2 % N_KINDS];
    *c = (struct programs_case){.hw = hw,
                                .features = 32,
                                .heads = 2,
                                .head_dim = 8,
                                .vocab = 64,
                                .threads = 1,
                                .seed = d->seed,
                                .backward = (*kind)->both && i % 2};
    draw_grid(d, c);
    (*kind)->draw(d, c);
}

static void describe(const struct kind *k, const struct programs_case *c, char *text, size_t size)
{
    const long long B = c->samples, T = c->tokens;
    if (k->draw == draw_matrix)
        (void)snprintf(text, size, "B %lld T %lld, %lld x %lld", B, T, (long long)c->m,
                       (long long)c->k);
    else if (k->draw == draw_heads)
        (void)snprintf(text, size, "B %lld T %lld, %lld heads of %lld", B, T, (long long)c->heads,
                       (long long)c->head_dim);
    else if (k->draw == draw_table)
        (void)snprintf(text, size, "B %lld T %lld, %lld rows of %lld", B, T, (long long)c->vocab,
                       (long long)c->features);
    else
        (void)snprintf(text, size, "B %lld T %lld, %lld features", B, T,
                       (long long)(k->draw == draw_logits ? c->vocab : c->features));
}

static const struct programs_kernel *find(const char *name)
{
    for (int i = 0; programs_transformer_at(i); i++)
        if (!strcmp(programs_transformer_at(i)->name, name)) return programs_transformer_at(i);
    WSC_CHECK(false, "kernel %s", name);
    return NULL;
}

enum wsc_err kernels_pairs(const struct hw *hw, uint64_t seed, int n, kernels_pair_fn report,
                           void *ctx)
{
    for (int i = 0; i < n; i++) {
        struct draw d = {seed, wsc_rng_stream(WSC_RNG_TEST, (uint64_t)i), 0};
        const struct kind *kind;
        struct kernels_pair pair;
        struct programs_result r;
        struct programs_case c;
        draw_case(&d, i, hw, &kind, &c);
        TRY(find(kind->kernel)->run(&c, &r));
        pair = (struct kernels_pair){.kernel = kind->kernel,
                                     .pass = c.backward ? "backward" : "forward",
                                     .w = c.w,
                                     .h = c.h,
                                     .cycles = r.stats.cycles,
                                     .form = r.form,
                                     .max_error = r.max_error};
        describe(kind, &c, pair.shape, sizeof pair.shape);
        TRY(report(ctx, &pair));
    }
    return WSC_OK;
}
