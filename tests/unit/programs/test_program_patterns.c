// SPDX-License-Identifier: Apache-2.0
#include "../../../src/programs/program_attention_out.h"
#include "../../../src/programs/program_grid.h"
#include "../../../src/programs/program_product.h"
#include "../../../src/programs/program_scores.h"
#include "../../../src/programs/program_vector_ops.h"
#include "../../../src/programs/program_weight_grad.h"
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/rng.h>

#include <math.h>
#include <stdlib.h>

/* The patterns of the mesh kernels against sums in double precision, over shapes that do not
 * divide the grid. */

enum { CASES = 60, MAX_FEATURES = 40, MAX_TOKENS = 64 };

struct shape {
    int w, h, T, samples, in, out, heads, d;
};

static int draw(int seed, int i, int low, int high)
{
    return low + (int)(wsc_rng_u64((uint64_t)seed, wsc_rng_stream(WSC_RNG_TEST, 77), (uint64_t)i) %
                       (uint64_t)(high - low + 1));
}

static struct shape shape_of(int seed)
{
    return (struct shape){.w = draw(seed, 0, 1, 9),
                          .h = draw(seed, 1, 1, 7),
                          .T = draw(seed, 2, 1, 16),
                          .samples = draw(seed, 3, 1, 3),
                          .in = draw(seed, 4, 1, 24),
                          .out = draw(seed, 5, 1, 24),
                          .heads = draw(seed, 6, 1, 5),
                          .d = 2 * draw(seed, 7, 1, 4)};
}

static void ok(enum wsc_err rc)
{
    T_OK(rc);
}

static void grid_init(struct programs_grid *g, const struct shape *s, enum mesh_arch arch)
{
    ok(programs_grid_init(
        g, &(struct programs_grid_config){.mesh = {.w = s->w, .h = s->h, .arch = arch},
                                          .T = s->T,
                                          .max_samples = s->samples}));
}

static float *floats(int64_t n, uint64_t seed)
{
    float *x = calloc((size_t)(n ? n : 1), sizeof *x);
    if (seed) test_fill(x, n, seed);
    return x;
}

static void near_all(const float *got, const double *want, int64_t n)
{
    int wrong = 0;
    for (int64_t i = 0; i < n; i++)
        wrong += !(fabs((double)got[i] - want[i]) <= 1e-5 * (1 + fabs(want[i])));
    T_EQ(wrong, 0);
}

/* want (rows, m) = a (rows, k) b', b (m, k). */
static double *product(const float *a, const float *b, int rows, int m, int k)
{
    double *y = calloc((size_t)rows * (size_t)m, sizeof *y);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < m; i++)
            for (int l = 0; l < k; l++)
                y[r * m + i] += (double)a[r * k + l] * b[i * k + l];
    return y;
}

static void check_product(const struct shape *s, enum mesh_arch arch)
{
    struct programs_grid g;
    grid_init(&g, s, arch);
    struct programs_features in, out;
    struct programs_product p = {.n_parts = 1};
    const int rows = s->samples * s->T;
    float *x = floats((int64_t)rows * s->in, 1), *w = floats((int64_t)s->out * s->in, 2);
    float *y = floats((int64_t)rows * s->out, 0);
    double *want = product(x, w, rows, s->out, s->in);
    ok(programs_features_init(&in, s->in, s->w));
    ok(programs_features_init(&out, s->out, s->w));
    ok(programs_reserve_tile(&g, &p.in[0], &in, "x"));
    ok(programs_reserve_tile(&g, &p.out[0], &out, "y"));
    p.w[0] = (struct programs_weights){.at = w, .ld_out = s->in, .ld_in = 1};
    ok(programs_tile_in(&g, &p.in[0], x));
    ok(programs_run_product(&g, &p));
    ok(programs_tile_out(&g, &p.out[0], y));
    near_all(y, want, (int64_t)rows * s->out);
    programs_features_fini(&in);
    programs_features_fini(&out);
    programs_grid_fini(&g);
    free(x);
    free(w);
    free(y);
    free(want);
}

TEST(pe, products_over_random_grids)
{
    for (int seed = 0; seed < CASES; seed++) {
        struct shape s = shape_of(seed);
        check_product(&s, seed % 2 ? MESH_WSE3 : MESH_WSE2);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_KERNELS), 0);
}

static void check_gradient(const struct shape *s, enum mesh_arch arch)
{
    struct programs_grid g;
    grid_init(&g, s, arch);
    struct programs_features in, out;
    struct programs_weight_gradient p = {
        .first_sample = s->samples - 1, .n_samples = 1, .ld = s->in};
    const int rows = s->samples * s->T, first = (s->samples - 1) * s->T;
    float *x = floats((int64_t)rows * s->in, 1), *dy = floats((int64_t)rows * s->out, 2);
    float *dw = floats((int64_t)s->out * s->in, 0);
    double *want = calloc((size_t)s->out * (size_t)s->in, sizeof *want);
    for (int r = first; r < rows; r++)
        for (int i = 0; i < s->out * s->in; i++)
            want[i] += (double)dy[r * s->out + i / s->in] * x[r * s->in + i % s->in];
    ok(programs_features_init(&in, s->in, s->w));
    ok(programs_features_init(&out, s->out, s->w));
    ok(programs_reserve_tile(&g, &p.x, &in, "x"));
    ok(programs_reserve_tile(&g, &p.dy, &out, "dy"));
    p.host = dw;
    ok(programs_tile_in(&g, &p.x, x));
    ok(programs_tile_in(&g, &p.dy, dy));
    ok(programs_run_weight_gradient(&g, &p));
    near_all(dw, want, (int64_t)s->out * s->in);
    programs_features_fini(&in);
    programs_features_fini(&out);
    programs_grid_fini(&g);
    free(x);
    free(dy);
    free(dw);
    free(want);
}

TEST(pe, weight_gradients_over_random_grids)
{
    for (int seed = 0; seed < CASES; seed++) {
        struct shape s = shape_of(seed);
        check_gradient(&s, seed % 2 ? MESH_WSE3 : MESH_WSE2);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_KERNELS), 0);
}

/* Unnormalised causal attention: out_i = sum over j <= i of (q_i k_j) v_j, and what its patterns
 * give backward: key_j = sum over i >= j of (q_i k_j) v_i. */
/* What sequence @p b of (samples, T, C) gives forward and backward. */
static void attend(const struct shape *s, float *const x[3], int b, double *want, double *back)
{
    const int C = s->heads * s->d;
    for (int hij = 0; hij < s->heads * s->T * s->T; hij++) {
        const int h = hij / (s->T * s->T), i = b * s->T + hij / s->T % s->T,
                  j = b * s->T + hij % s->T;
        double dot = 0;
        for (int c = h * s->d; c < (h + 1) * s->d && j <= i; c++)
            dot += (double)x[0][i * C + c] * (double)x[1][j * C + c];
        for (int c = h * s->d; c < (h + 1) * s->d && j <= i; c++) {
            want[i * C + c] += dot * (double)x[2][j * C + c];
            back[j * C + c] += dot * (double)x[2][i * C + c];
        }
    }
}

struct tiles {
    struct programs_tile q, k, v, out, key;
    int scores;
};

static void run_patterns(struct programs_grid *g, const struct tiles *t, int sample, float *got[2])
{
    ok(programs_run_scores(g, &(struct programs_scores){sample, t->q, t->k, t->scores}));
    ok(programs_run_mix(g, &(struct programs_mix){sample, t->scores, t->v, t->out}));
    ok(programs_tile_out(g, &t->out, got[0]));
    /* room 0: one key at a time */
    ok(programs_run_key_gradient(
        g, &(struct programs_key_gradient){
               .sample = sample, .scores = t->scores, .rows = t->v, .out = t->key, .room = 0}));
    ok(programs_tile_out(g, &t->key, got[1]));
}

static void check_scores(const struct shape *s, enum programs_pairing pairing)
{
    struct programs_grid g;
    struct programs_features f;
    struct tiles t;
    const int last = s->samples - 1, one = s->T * s->heads * s->d;
    const int64_t n = (int64_t)s->samples * one, at = (int64_t)last * one;
    float *x[3] = {floats(n, 1), floats(n, 2), floats(n, 3)},
          *got[2] = {floats(n, 0), floats(n, 0)};
    double *want = calloc((size_t)n, sizeof *want), *back = calloc((size_t)n, sizeof *back);
    struct programs_tile *tile[] = {&t.q, &t.k, &t.v, &t.out, &t.key};
    grid_init(&g, s, MESH_WSE2);
    attend(s, x, last, want, back);
    ok(programs_features_init_heads(&f, s->heads, s->d, s->w, pairing));
    for (int i = 0; i < 5; i++)
        ok(programs_reserve_tile(&g, tile[i], &f, "a tile"));
    for (int i = 0; i < 3; i++)
        ok(programs_tile_in(&g, tile[i], x[i]));
    ok(programs_reserve_words(&g, programs_score_words(&g, &f), 0, "scores", &t.scores));
    run_patterns(&g, &t, last, got);
    near_all(got[0] + at, want + at, one);
    near_all(got[1] + at, back + at, one);
    programs_features_fini(&f);
    programs_grid_fini(&g);
    void *const owned[] = {x[0], x[1], x[2], got[0], got[1], want, back};
    for (int i = 0; i < 7; i++)
        free(owned[i]);
}

TEST(pe, attention_patterns_over_random_grids)
{
    for (int seed = 0; seed < CASES; seed++) {
        struct shape s = shape_of(seed);
        check_scores(&s, (enum programs_pairing)(seed % 3));
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_KERNELS), 0);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* ---- rows that leave at the west edge -------------------------------------------------------- */

/* PEs send each word once, and for each row a switch turns between two lanes: not after the last
 * one, which nobody follows. */
TEST(pe, rows_leave_lane_after_lane)
{
    enum { W = 2, H = 3, T = 7, VECTORS = 2, MOST = 3 };
    for (int lanes = 1; lanes <= MOST; lanes++) {
        struct programs_grid g;
        struct programs_script s = {.n_samples = 1};
        int address;
        ok(programs_grid_init(&g, &(struct programs_grid_config){.mesh = {.w = lanes * W, .h = H},
                                                                 .T = T,
                                                                 .max_samples = lanes,
                                                                 .lanes = lanes,
                                                                 .leaf_samples = 1}));
        ok(programs_reserve_words(&g, (int64_t)VECTORS * g.pitch, PROGRAMS_BANK_TOKENS, "rows",
                                  &address));
        programs_row_out(&s, programs_view(PROGRAMS_VIEW_TOKENS, address), VECTORS);
        ok(programs_run_script(&g, &s));
        T_EQ(g.stats.wavelets, (int64_t)lanes * VECTORS * T);
        T_EQ(g.stats.elements, g.stats.wavelets + (int64_t)(lanes - 1) * H);
        programs_script_fini(&s);
        programs_grid_fini(&g);
    }
}
