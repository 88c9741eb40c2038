// SPDX-License-Identifier: Apache-2.0
/* The table of kernels, row by row: mesh and host against the definition over random shapes that do
 * not divide the grid, the definition's gradients against finite differences, and how many places a
 * row takes. */
#include "../../support/test.h"
#include "../model/model_case.h"

#include <wsc/hw.h>
#include <wsc/kernels.h>
#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/rng.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t draw(uint64_t seed, uint64_t i, int64_t low, int64_t high)
{
    const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, 78);
    return low + (int64_t)(wsc_rng_u64(seed, stream, i) % (uint64_t)(high - low + 1));
}

static struct programs_case random_case(uint64_t seed, const struct hw *hw, int64_t side)
{
    return (struct programs_case){.w = (int)draw(seed, 0, 1, side),
                                  .h = (int)draw(seed, 1, 1, side),
                                  .arch = seed % 2 ? MESH_WSE3 : MESH_WSE2,
                                  .tokens = draw(seed, 2, 1, 20),
                                  .samples = draw(seed, 3, 1, 3),
                                  .m = draw(seed, 4, 1, 30),
                                  .k = draw(seed, 5, 1, 30),
                                  .features = draw(seed, 6, 1, 40),
                                  .heads = draw(seed, 7, 1, 5),
                                  .head_dim = 2 * draw(seed, 8, 1, 6),
                                  .vocab = draw(seed, 9, 1, 50),
                                  .hw = hw,
                                  .seed = seed};
}

/* Rows with operands, which are compared with a reference. */
static const struct kernels_row *operation_at(int i)
{
    const struct kernels_row *row;
    for (int j = 0; (row = kernels_row_at(j)); j++)
        if (!row->collective && i-- == 0) break;
    return row;
}

static void report(const struct kernels_row *k, const struct programs_case *c, const char *where,
                   double error)
{
    (void)printf("%s%s on %d x %d, seed %llu, %s: error %g\n", k->name,
                 c->backward ? " backward" : "", c->w, c->h, (unsigned long long)c->seed, where,
                 error);
}

/* ---- mesh and host against the definition ---------------------------------------------------- */

static void check_mesh(const struct kernels_row *k, const struct programs_case *c)
{
    struct programs_result r;
    enum wsc_err rc = kernels_row_run(k, c, &r);
    const bool good = !rc && r.max_error < 2e-6 && r.stats.cycles > 0 && r.analytical > 0;
    if (!good) report(k, c, rc ? wsc_err_message() : "mesh", r.max_error);
    CU_ASSERT(good);
}

static void check_host(const struct kernels_row *k, const struct programs_case *c)
{
    double error = NAN;
    if (!k->host) {
        T_EQ(kernels_row_run_host(k, c, &error), WSC_USAGE);
        return;
    }
    T_OK(kernels_row_run_host(k, c, &error));
    if (!(error < 2e-6)) report(k, c, "host", error);
    CU_ASSERT(error < 2e-6);
}

static void check_row(const struct kernels_row *k, const struct hw *hw, int n, int64_t side)
{
    for (uint64_t seed = 1; seed <= (uint64_t)n; seed++) {
        struct programs_case c = random_case(seed, hw, side);
        for (int pass = 0; pass <= k->gradient; pass++) {
            c.backward = pass;
            check_mesh(k, &c);
            check_host(k, &c);
        }
    }
}

/* The words of --numerics stand in the order of the enumeration. */
TEST(kernels_table, words_of_numerics_are_in_order)
{
    char words[64] = "";
    for (int i = 0; i < KERNELS_N_NUMERICS; i++)
        (void)snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s", i ? " " : "",
                       kernels_numerics_option((enum kernels_numerics)i));
    T_STR(words, KERNELS_NUMERICS_OPTIONS);
}

/* More rows of a table pass a PE than one operation can have. */
TEST(kernel_rows, tables_of_many_rows)
{
    static const int64_t vocab[] = {65535, 65536, 65540, 140000};
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    const struct kernels_row *k;
    T_OK(kernels_row_find("embedding", &k));
    for (int i = 0; i < 4; i++) {
        struct programs_case c = random_case(1, &hw, 3);
        c.features = c.w;
        c.vocab = vocab[i];
        c.tokens = 1 + 2 * i;
        for (int pass = 0; pass < 2; pass++) {
            c.backward = pass;
            check_mesh(k, &c);
        }
    }
}

TEST(kernel_rows, mesh_and_host_over_random_grids)
{
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    const struct kernels_row *k;
    int n = 0;
    for (; (k = operation_at(n)); n++) {
        check_row(k, &hw, 20, 9);
        check_row(k, &hw, 1, 64);
    }
    CU_ASSERT(n >= 11);
    T_EQ(wsc_mem_in_use(WSC_MEM_KERNELS), 0);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* Scores with a cap that they reach, with slopes, with both: values, and what the caps and slopes
 * add to the cycles, against the same without. */
TEST(kernel_rows, caps_and_slopes_of_scores)
{
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    const struct kernels_row *k;
    T_OK(kernels_row_find("attention", &k));
    for (uint64_t seed = 1; seed <= 24; seed++) {
        struct programs_case c = random_case(seed, &hw, 7);
        struct programs_result plain, shaped;
        c.backward = seed % 4 < 2;
        c.format = seed % 3 ? NUM_FP32 : NUM_BF16;
        T_OK(kernels_row_run(k, &c, &plain));
        c.softcap = seed % 5 ? 0.4 : 0;
        c.alibi = seed % 5 == 0 || seed % 7 < 4;
        T_OK(kernels_row_run(k, &c, &shaped));
        CU_ASSERT(shaped.max_error <= kernels_row_tolerance(k, &c));
        const double more = (double)(shaped.stats.cycles - plain.stats.cycles);
        CU_ASSERT(more > 0);
        T_NEAR(shaped.analytical - plain.analytical, more, 0.11 * more + 8);
    }
}

/* ---- norms of few features in 16 bits -------------------------------------------------------- */

/* First order in u of the bound of a gradient of LayerNorm: each operation of the program rounds,
 * the mean of the row among them. */
static double first_order(const double *x, const double *dy, const double *gain, int64_t n,
                          int64_t at)
{
    double mean = 0, var = 0, g_mean = 0, size = 0, along = 0, along_off = 0;
    for (int64_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        var += (x[i] - mean) * (x[i] - mean) / (double)n;
    const double eps = (double)PROGRAMS_NORM_EPS, rstd = 1 / sqrt(var + eps);
    const double moved = rstd * fabs(mean), root = 1 + 1.5 * var / (var + eps);
    for (int64_t i = 0; i < n; i++) {
        const double g = dy[i] * gain[i], h = (x[i] - mean) * rstd;
        g_mean += g / (double)n;
        size += fabs(g) / (double)n;
        along += g * h / (double)n;
        along_off += fabs(g) * (moved + (4 + root) * fabs(h)) / (double)n;
    }
    const double g = dy[at] * gain[at], h = (x[at] - mean) * rstd, left = g - g_mean - h * along;
    const double product =
        fabs(along) * (moved + (2 + root) * fabs(h)) + fabs(h) * (along_off + 2 * fabs(along));
    return rstd *
           (fabs(g) + size + fabs(g_mean) + fabs(g - g_mean) + product + (2 + root) * fabs(left));
}

TEST(kernel_rows, bound_of_a_gradient_of_layernorm)
{
    const double gain[] = {1, -0.5, 2, 0.25}, bias[4] = {0};
    const struct kernels_rounding by = {1e-5, 0};
    const struct kernels_row *row;
    T_OK(kernels_row_find("layernorm", &row));
    for (uint64_t seed = 1; seed <= 50; seed++) {
        const int64_t n = 2 + (int64_t)(seed % 3);
        const double near = seed % 2 ? 0.05 : 1; /* rows of small variance */
        double x[4], dy[4], bound[4];
        for (int i = 0; i < 4; i++) {
            x[i] = 0.7 + near * 1e-3 * (double)draw(seed, (uint64_t)i, -900, 900);
            dy[i] = 1e-3 * (double)draw(seed, 4 + (uint64_t)i, -900, 900);
        }
        const struct programs_case c = {
            .tokens = 1, .samples = 1, .features = n, .backward = true, .seed = seed};
        const struct kernels_reference in = {.x = {x, dy, gain, bias}};
        row->bound(&c, &in, &by, bound);
        for (int64_t i = 0; i < n; i++)
            T_NEAR(bound[i] / (by.roundoff * first_order(x, dy, gain, n, i)), 1, 0.1);
    }
}

/* A bound that is never reached by a tenth would find nothing. */
TEST(kernel_rows, norms_of_few_features_in_16_bits)
{
    static const char *const names[] = {"layernorm", "rmsnorm"};
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    const struct kernels_row *row;
    for (int i = 0; i < 2; i++)
        for (enum num_format format = NUM_FP32 + 1; format < NUM_N_FORMATS; format++) {
            double most = 0;
            for (uint64_t seed = 1; seed <= 48; seed++) {
                struct programs_case c = random_case(seed, &hw, 4);
                struct programs_result r;
                c.features = 1 + (int64_t)(seed % 8);
                c.format = format;
                c.backward = seed % 3 > 0;
                T_OK(kernels_row_find(names[i], &row));
                T_OK(kernels_row_run(row, &c, &r));
                most = fmax(most, r.max_error / kernels_row_tolerance(row, &c));
            }
            CU_ASSERT(most <= 1 && most > 0.1);
        }
}

static bool takes_density(const struct kernels_row *k)
{
    const struct programs_case any = {
        .tokens = 1, .samples = 1, .m = 1, .k = 1, .features = 1, .vocab = 1, .density = 0.5};
    return k->sizes(&any).masked > 0;
}

/* Few enough elements that gradients of non-zeros alone are faster, and outputs without any. */
TEST(kernel_rows, zeros_of_sparse_matrices_are_left_out)
{
    static const double densities[] = {0.6, 0.2, 0.03};
    struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    const struct kernels_row *k;
    int n = 0;
    for (int i = 0; (k = operation_at(i)); i++)
        for (uint64_t seed = 1; takes_density(k) && seed <= 36; seed++, n++) {
            struct programs_case c = random_case(seed, &hw, 7);
            c.density = densities[seed % 3];
            c.backward = k->gradient && seed % 4 < 2;
            cluster.wafer.sum_accumulators = seed % 5 ? 8 : 1 + (int)seed % 3;
            check_mesh(k, &c);
            check_host(k, &c);
        }
    CU_ASSERT(n >= 72);
    T_EQ(wsc_mem_in_use(WSC_MEM_KERNELS), 0);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* Dense matrices have no places, whatever the option says. */
TEST(kernel_rows, density_one_is_the_dense_matrix)
{
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    const struct kernels_row *k;
    for (int i = 0; (k = operation_at(i)); i++) {
        struct programs_case c = random_case(4, &hw, 5);
        struct programs_result dense, one, sparse;
        if (!takes_density(k)) continue;
        T_OK(kernels_row_run(k, &c, &dense));
        c.density = 1;
        T_OK(kernels_row_run(k, &c, &one));
        c.density = 0.05;
        T_OK(kernels_row_run(k, &c, &sparse));
        T_EQ(one.stats.cycles, dense.stats.cycles);
        T_NEAR(one.analytical, dense.analytical, 0);
        CU_ASSERT(sparse.stats.cycles < dense.stats.cycles && sparse.analytical < dense.analytical);
    }
}

TEST(kernel_rows, sparse_products_want_arriving_data)
{
    struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    const struct kernels_row *k;
    struct programs_result r;
    struct programs_case c = random_case(4, &hw, 5);
    cluster.wafer.data_triggered = false;
    c.density = 0.5;
    T_OK(kernels_row_find("linear", &k));
    T_EQ(kernels_row_run(k, &c, &r), WSC_CONFIG);
    CU_ASSERT(strstr(wsc_err_message(), "data_triggered") != NULL);
}

TEST(kernel_rows, shapes_that_cannot_run_say_why)
{
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    const struct kernels_row *k;
    struct programs_result r;
    for (int i = 0; (k = operation_at(i)); i++) {
        struct programs_case c = random_case(1, &hw, 2);
        c.w = c.h = 1;
        c.tokens = c.features = c.vocab = c.m = c.k = c.head_dim = 400;
        T_EQ(kernels_row_run(k, &c, &r), WSC_CAPACITY);
        CU_ASSERT(strstr(wsc_err_message(), "PE (0, 0): ") != NULL);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_KERNELS), 0);
}

/* ---- gradients against finite differences ---------------------------------------------------- */

enum { MOST = 4096 };

/* Which input of the backward pass is the gradient of the output (-1: that of a loss, 1 for each
 * row), which ones it gives gradients of, and where these stand in its result. */
static const struct gradient {
    const char *name;
    int dy, n_inputs;
    double softcap;
    bool alibi;
} gradients[] = {{"layernorm", 1, 1, 0, false},     {"rmsnorm", 1, 1, 0, false},
                 {"softmax", 1, 1, 0, false},       {"gelu", 1, 1, 0, false},
                 {"silu", 1, 1, 0, false},          {"attention", 3, 3, 0, false},
                 {"attention", 3, 3, 0.5, false},   {"attention", 3, 3, 0.3, true},
                 {"cross_entropy", -1, 1, 0, false}};

struct numbers {
    double x[PROGRAMS_MAX_INPUTS][MOST], want[MOST], trial[MOST], scratch[MOST];
    int32_t ids[MOST];
};

/* Sum over the outputs of the forward pass, each times the gradient that comes in. */
static double objective(const struct kernels_row *k, struct programs_case c, struct numbers *v,
                        int dy)
{
    struct kernels_reference o = {.ids = v->ids, .scratch = v->scratch};
    double sum = 0;
    c.backward = false;
    const struct kernels_sizes n = k->sizes(&c);
    for (int i = 0; i < PROGRAMS_MAX_INPUTS; i++)
        o.x[i] = n.in[i] ? v->x[i] : NULL;
    memset(v->trial, 0, sizeof v->trial);
    k->reference(&c, &o, v->trial);
    for (int64_t i = 0; i < n.out; i++)
        sum += v->trial[i] * (dy < 0 ? 1 : v->x[dy][i]);
    return sum;
}

static double worst_difference(const struct kernels_row *k, const struct gradient *g,
                               const struct programs_case *c, struct numbers *v)
{
    const double h = 1e-5;
    const struct kernels_sizes n = k->sizes(c);
    const int64_t first = g->dy < 0 ? c->tokens * c->samples : 0; /* the nats come first */
    double worst = 0;
    for (int64_t i = 0; i < g->n_inputs * n.in[0]; i++) {
        double *x = &v->x[i / n.in[0]][i % n.in[0]];
        const double at = *x;
        *x = at + h;
        const double up = objective(k, *c, v, g->dy);
        *x = at - h;
        const double down = objective(k, *c, v, g->dy);
        *x = at;
        worst = num_max_error(worst, fabs(v->want[first + i] - (up - down) / (2 * h)));
    }
    return worst;
}

static void check_gradient(const struct gradient *g, const struct hw *hw, struct numbers *v)
{
    const struct kernels_row *k;
    struct programs_case c = random_case(3, hw, 2);
    struct kernels_reference o = {.ids = v->ids, .scratch = v->scratch};
    c.backward = true;
    c.tokens = 5;
    c.samples = 2;
    c.softcap = g->softcap;
    c.alibi = g->alibi;
    T_OK(kernels_row_find(g->name, &k));
    const struct kernels_sizes n = k->sizes(&c);
    CU_ASSERT_FATAL(n.out <= MOST && n.in[0] <= MOST && n.ids <= MOST && n.scratch <= MOST);
    for (int i = 0; i < PROGRAMS_MAX_INPUTS; i++) {
        o.x[i] = n.in[i] ? v->x[i] : NULL;
        for (int64_t j = 0; j < n.in[i]; j++)
            v->x[i][j] = 2 * wsc_rng_uniform(5, (uint64_t)i, (uint64_t)j) - 1;
    }
    for (int64_t j = 0; j < n.ids; j++)
        v->ids[j] = (int32_t)(wsc_rng_u64(5, 9, (uint64_t)j) % (uint64_t)n.below);
    memset(v->want, 0, sizeof v->want);
    k->reference(&c, &o, v->want);
    const double worst = worst_difference(k, g, &c, v);
    if (!(worst < 1e-8)) report(k, &c, "finite differences", worst);
    CU_ASSERT(worst < 1e-8);
}

TEST(kernel_rows, gradients_of_the_definitions_are_finite_differences)
{
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    static struct numbers v;
    for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++)
        check_gradient(&gradients[i], &hw, &v);
}

/* ---- one row is all -------------------------------------------------------------------------- */

/* A row that no file of the project holds: twice the input, by a program that is silu's. */
static struct kernels_sizes dummy_sizes(const struct programs_case *c)
{
    const int64_t n = c->tokens * c->samples * c->features;
    return (struct kernels_sizes){.in = {n, n}, .out = n};
}

static double dummy_cycles(const struct cycles_layout *l, const struct programs_case *c)
{
    return l->t * (double)c->features;
}

static double dummy_factor = 1;

static void dummy_reference(const struct programs_case *c, const struct kernels_reference *o,
                            double *want)
{
    for (int64_t i = 0; i < c->tokens * c->samples * c->features; i++)
        want[i] = dummy_factor * o->x[0][i] / (1 + exp(-o->x[0][i]));
}

static void dummy_sample(struct kernels_sampler *s, struct programs_case *c)
{
    (void)s;
    c->features = c->w;
}

static void dummy_describe(const struct programs_case *c, char *text, size_t size)
{
    (void)snprintf(text, size, "%lld dummies", (long long)c->features);
}

/* The row runs, is compared with its definition and with its formula; a wrong one shows. */
TEST(kernel_rows, a_new_operation_is_one_row)
{
    static const struct kernels_shapes shapes = {dummy_sample, dummy_describe};
    const struct kernels_row row = {.name = "dummy",
                                    .summary = "a test",
                                    .options = "--tokens --samples --features",
                                    .tolerance = 1e-5,
                                    .sizes = dummy_sizes,
                                    .shapes = &shapes,
                                    .program = programs_silu,
                                    .cycles = dummy_cycles,
                                    .reference = dummy_reference};
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    struct kernels_pair pair;
    dummy_factor = 1;
    T_OK(kernels_pair_of(&row, &hw, 1, 4, &pair));
    T_STR(pair.kernel, "dummy");
    CU_ASSERT(strstr(pair.shape, " dummies") != NULL && pair.cycles > 0 && pair.analytical > 0);
    CU_ASSERT(pair.max_error <= pair.tolerance);
    dummy_factor = 2;
    T_OK(kernels_pair_of(&row, &hw, 1, 4, &pair));
    CU_ASSERT(!(pair.max_error <= pair.tolerance));
    dummy_factor = NAN;
    T_OK(kernels_pair_of(&row, &hw, 1, 4, &pair));
    CU_ASSERT(isnan(pair.max_error));
}

/* The name of an operation stands once in the sources that deal with operations: in its row.  (A
 * model on the mesh books cycles under names of groups of operations: program_state.h.) */
TEST(kernel_rows, the_name_of_an_operation_stands_in_one_place)
{
    const struct kernels_row *k;
    for (int i = 0; (k = operation_at(i)); i++) {
        char command[256], line[64] = "";
        (void)snprintf(command, sizeof command,
                       "cat src/kernels/*.[ch] src/programs/*.c src/cycles/*.[ch] "
                       "src/app/*mesh*.[ch] src/app/options.c | grep -c '\"%s\"'",
                       k->name);
        FILE *f = popen(command, "r");
        CU_ASSERT_FATAL(f != NULL);
        CU_ASSERT(fgets(line, sizeof line, f) != NULL);
        (void)pclose(f);
        const long n = strtol(line, NULL, 10);
        if (n != 1) (void)printf("\"%s\" stands in %s places\n", k->name, line);
        T_EQ(n, 1);
    }
}
