// SPDX-License-Identifier: Apache-2.0
/* The section `sparsity`: every spelling, its dump, steps with updates, fractions and counts.
 * Counts were computed with the rounding of fp32 by an independent script. */
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/zoo.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define INPUT                                                                                      \
    "train_input: {data_processor: GptHDF5MapDataProcessor, data_dir: ./d, batch_size: 8}\n"
#define MODEL                                                                                      \
    "model: {vocab_size: 256, hidden_size: 64, num_heads: 2}\n"                                    \
    "optimizer: {optimizer_type: AdamW, learning_rate: 1e-3}\n"

static bool parse(struct zoo_params *p, const char *sparsity)
{
    char text[2048];
    (void)snprintf(text, sizeof text, INPUT MODEL "sparsity: %s\n", sparsity);
    const enum wsc_err rc = zoo_params_parse(p, "t.yaml", text, strlen(text), NULL, 0);
    if (rc) (void)printf("\n  %s: %s\n", sparsity, wsc_err_message());
    return rc == WSC_OK;
}

/* The dump of @p text, which reads back to the same dump; owned. */
static char *dump_of(const char *text)
{
    struct zoo_params p;
    char *first = NULL, *again = NULL;
    if (!parse(&p, text)) return NULL;
    T_OK(zoo_params_text(&p, "sparsity", &first));
    zoo_params_fini(&p);
    if (!parse(&p, first)) return first;
    T_OK(zoo_params_text(&p, "sparsity", &again));
    T_STR(first, again);
    zoo_params_fini(&p);
    wsc_free(again);
    return first;
}

/* What files of all releases write, and its one spelling. */
static const struct {
    const char *written, *dumped;
} spelling[] = {
    {"null", " null"},
    {"0", " null"},
    {"0.0", " null"},
    {"{sparsity: null}", " null"},
    {"0.75", "\n    - {algorithm: static, sparsity: 0.75, init_method: random, param_filter: null, "
             "param_name_patterns: null, add_summaries: false}"},
    {"{type: sideband, sparsity: 0.5, init_method: topk, seed: 7}",
     "\n    - {algorithm: static, sparsity: 0.5, init_method: topk, param_filter: null, "
     "param_name_patterns: null, seed: 7, add_summaries: false}"},
    {"{type: rigl, sparsity: 0.75, schedule: {freq: 100, stop: 3584}, drop_fraction: {type: "
     "cosine, "
     "init: 0.3, half_period: 3584}, param_name_patterns: ['.*proj_[qkv]_dense_layer.weight']}",
     "\n    - {algorithm: rigl, sparsity: 0.75, init_method: random, update: {freq: 100, start: 0, "
     "stop: 3584}, drop_fraction: {type: cosine, init: 0.3, half_period: 3584, minimum: 0}, "
     "param_filter: null, param_name_patterns: [\".*proj_[qkv]_dense_layer.weight\"], "
     "add_summaries: false}"},
    {"{algorithm: set, schedule: [0.5, 0.7], update: {steps: [9, 3, 3]}, param_filter: '*linear*'}",
     "\n    - {algorithm: set, sparsity: {type: cycling, values: [0.5, 0.7]}, init_method: random, "
     "update: {steps: [3, 9]}, drop_fraction: 0.3, param_filter: [\"*linear*\"], "
     "param_name_patterns: null, add_summaries: false}"},
    {"{algorithm: set, sparsity: 0.5, schedule: 10}",
     "\n    - {algorithm: set, sparsity: 0.5, init_method: random, update: {freq: 10, start: 0}, "
     "drop_fraction: 0.3, param_filter: null, param_name_patterns: null, add_summaries: false}"},
    {"{type: gmp, sparsity_schedule: [[0, 0.1], [6, 0.3]], tiebreak: first, param_name_patterns: "
     "{a.*b: {init_method: topk}, c: null}}",
     "\n    - {algorithm: gmp, sparsity: {type: cycling, values: [0.1, 0.3]}, init_method: topk, "
     "update: {steps: [0, 6]}, param_filter: null, param_name_patterns: [\"a.*b\"], "
     "add_summaries: false}"
     "\n    - {algorithm: gmp, sparsity: {type: cycling, values: [0.1, 0.3]}, init_method: random, "
     "update: {steps: [0, 6]}, param_filter: null, param_name_patterns: [\"c\"], "
     "add_summaries: false}"},
    {"[{sparsity: 0.5, param_filter: ['*a', '*b']}, {algorithm: gmp, sparsity: {type: exp, init: "
     "0, gamma: -0.01}}]",
     "\n    - {algorithm: static, sparsity: 0.5, init_method: random, param_filter: [\"*a\", "
     "\"*b\"], param_name_patterns: null, add_summaries: false}"
     "\n    - {algorithm: gmp, sparsity: {type: exp, init: 0, gamma: -0.01, final: 1}, "
     "init_method: "
     "random, update: {freq: 1, start: 0}, param_filter: null, param_name_patterns: null, "
     "add_summaries: false}"},
};

TEST(zoo_sparsity, every_spelling_reads_and_is_written_as_one)
{
    for (size_t i = 0; i < sizeof spelling / sizeof *spelling; i++) {
        char *text = dump_of(spelling[i].written);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        T_STR(text, spelling[i].dumped);
        wsc_free(text);
    }
}

TEST(zoo_sparsity, counts_round_as_fp32_does)
{
    static const struct {
        float s;
        int64_t n, kept;
    } row[] = {{0.75F, 589824, 147456},
               {0.9F, 589824, 58982},
               {0.9F, 10, 1},
               {0.3F, 10, 7},
               {0.5F, 7, 3},
               {0.9F, 16777216, 1677722},
               {0.9F, 16777217, 1677722},
               {0.9F, 2147483648, 214748416},
               {0.1F, 2147483647, 1932735232},
               {0.0F, 16777217, 16777216},
               {0.99F, 1000003, 10000},
               {0.95F, 100663296, 5033166},
               {0.0F, 2147483647, 2147483647},
               {1.0F, 1000, 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        T_EQ(zoo_sparsity_kept(row[i].s, row[i].n), row[i].kept);
}

/* The steps as cstorch's FreqSchedule and ListSchedule have them. */
static bool updates_by_definition(const struct zoo_mask_update *u, int64_t step)
{
    bool listed = false;
    for (int i = 0; i < u->n_steps; i++)
        listed = listed || u->step[i] == step;
    if (u->n_steps) return listed;
    return step >= u->start && (step - u->start) % u->freq == 0 &&
           (u->stop == CONF_NULL || step < u->stop);
}

TEST(zoo_sparsity, steps_with_updates_follow_their_definition)
{
    static const struct zoo_mask_update update[] = {{.freq = 1, .stop = CONF_NULL},
                                                    {.freq = 3, .stop = CONF_NULL},
                                                    {.freq = 4, .start = 5, .stop = 14},
                                                    {.freq = 4, .start = 5, .stop = 5},
                                                    {.freq = 7, .stop = 21},
                                                    {CONF_NULL, .n_steps = 3, .step = {0, 4, 9}},
                                                    {CONF_NULL, .n_steps = 1, .step = {12}}};
    for (size_t i = 0; i < sizeof update / sizeof *update; i++) {
        const struct zoo_sparsity e = {.algorithm = ZOO_SPARSITY_RIGL, .update = update[i]};
        int64_t n = 0;
        for (int64_t step = 0; step < 40; step++) {
            const bool expected = updates_by_definition(&update[i], step);
            n += expected;
            T_EQ(zoo_sparsity_updates(&e, step), expected);
            T_EQ(zoo_sparsity_n_updates(&e, step), n);
            T_EQ(zoo_sparsity_needs_dense_gradient(&e, step),
                 updates_by_definition(&update[i], step + 1));
        }
    }
}

TEST(zoo_sparsity, fractions_follow_their_formulas)
{
    struct zoo_params p;
    CU_ASSERT_FATAL(
        parse(&p, "[{algorithm: gmp, sparsity: {type: linear, init: 0.1, slope: 0.01}},"
                  "{algorithm: gmp, sparsity: {type: exp, init: 0, gamma: -0.02, final: 0.9}},"
                  "{algorithm: set, sparsity: 0.5, drop_fraction: {type: power, init: 0.4, beta: "
                  "0.99}},"
                  "{algorithm: rigl, sparsity: 0.5, drop_fraction: {type: cosine, init: 0.3, "
                  "half_period: 50, minimum: 0.1}}]"));
    const struct zoo_sparsity *e = p.sparsity.entry;
    for (int t = 0; t < 200; t += 7) {
        const double linear = 0.1 + 0.01 * t;
        T_NEAR(zoo_fraction_at(&e[0].sparsity, t, 0), linear > 1 ? 1 : linear, 1e-6);
        T_NEAR(zoo_fraction_at(&e[1].sparsity, t, 0), 0.9 - 0.9 * exp(-0.02 * t), 1e-6);
        T_NEAR(zoo_fraction_at(&e[2].drop_fraction, t, 0), 0.4 * pow(0.99, t), 1e-6);
        T_NEAR(zoo_fraction_at(&e[3].drop_fraction, t, 0), 0.2 + 0.1 * cos(M_PI * t / 50), 1e-6);
    }
    zoo_params_fini(&p);
}

/* Between updates the last one counts; before the first one all weights are there. */
TEST(zoo_sparsity, a_mask_holds_until_the_next_update)
{
    struct zoo_params p;
    CU_ASSERT_FATAL(parse(&p, "[{algorithm: gmp, sparsity: [0.2, 0.5, 0.8], update: {freq: 10, "
                              "start: 5}}, {algorithm: rigl, sparsity: 0.5, update: {freq: 10, "
                              "start: 10}}, 0.75]"));
    const struct zoo_sparsity *e = p.sparsity.entry;
    T_EQ(zoo_sparsity_count(&e[0], 1000, 4), 1000);
    T_EQ(zoo_sparsity_count(&e[0], 1000, 5), 800);
    T_EQ(zoo_sparsity_count(&e[0], 1000, 14), 800);
    T_EQ(zoo_sparsity_count(&e[0], 1000, 15), 500);
    T_EQ(zoo_sparsity_count(&e[0], 1000, 25), 199);
    T_EQ(zoo_sparsity_count(&e[0], 1000, 35), 800);
    /* RigL from a dense start drops 0.3 of what is left at each update. */
    T_EQ(zoo_sparsity_count(&e[1], 1000, 9), 1000);
    T_EQ(zoo_sparsity_count(&e[1], 1000, 10), 700);
    T_EQ(zoo_sparsity_count(&e[1], 1000, 20), 500);
    T_EQ(zoo_sparsity_count(&e[1], 1000, 2000), 500);
    T_EQ(zoo_sparsity_count(&e[2], 1000, 0), 250);
    T_EQ(zoo_sparsity_count(&e[2], 1000, 99), 250);
    zoo_params_fini(&p);
}

TEST(zoo_sparsity, the_first_filter_that_matches_counts)
{
    struct zoo_params p;
    CU_ASSERT_FATAL(parse(&p, "[{sparsity: 0.5, param_filter: '*linear_layer.weight'},"
                              "{sparsity: 0.6, param_name_patterns: 'proj_[qk]_'}, 0.7]"));
    const struct zoo_sparsities *s = &p.sparsity;
    T_EQ(zoo_sparsity_find(s, "m.ffn.0.linear_layer.weight", 2), 0);
    T_EQ(zoo_sparsity_find(s, "m.proj_q_dense_layer.weight", 2), 1);
    T_EQ(zoo_sparsity_find(s, "m.proj_q_dense_layer.bias", 1), 1);
    T_EQ(zoo_sparsity_find(s, "m.ffn.0.linear_layer_for_glu.weight", 2), 2);
    T_EQ(zoo_sparsity_find(s, "m.ffn.gate.weight", 2), 2);
    T_EQ(zoo_sparsity_find(s, "m.ffn.gate.bias", 1), -1);
    T_EQ(zoo_sparsity_find(s, "m.Embedding_layer.weight", 2), -1);
    T_EQ(zoo_sparsity_find(s, "m.lm_head.weight", 2), -1);
    zoo_params_fini(&p);
}

/* Kept of 1,000 at the updates 1, 2, 3 and 4 after the first mask, or after a dense start. */
static void check_cycle(const char *update, const int64_t *step)
{
    static const int64_t kept[] = {900, 700, 500, 900};
    char text[200];
    struct zoo_params p;
    (void)snprintf(text, sizeof text,
                   "{algorithm: set, sparsity: 0.5, update: %s, drop_fraction: "
                   "{type: cycling, values: [0.1, 0.3, 0.5]}}",
                   update);
    CU_ASSERT_FATAL(parse(&p, text));
    for (int i = 0; i < 4; i++)
        T_NEAR((double)zoo_sparsity_dropped_to(&p.sparsity.entry[0], 1000, step[i]) -
                   (double)kept[i],
               0, 1);
    zoo_params_fini(&p);
}

TEST(zoo_sparsity, a_cycling_drop_fraction_advances_with_the_updates)
{
    check_cycle("{freq: 10}", (const int64_t[]){10, 20, 30, 40});
    check_cycle("{freq: 10, start: 10}", (const int64_t[]){10, 20, 30, 40});
    check_cycle("{steps: [0, 7, 8, 30, 31]}", (const int64_t[]){7, 8, 30, 31});
}

TEST(zoo_sparsity, the_steps_of_an_old_schedule_rise)
{
    struct zoo_params p;
    const char *const pairs[] = {"[[0, 0.1], [0, 0.2]]", "[[5, 0.1], [4, 0.2]]",
                                 "[[0, 0.1], [5, 0.2], [5, 0.3]]",
                                 "[[0, 0.1], [5, 0.2], [3, 0.3]]"};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "{type: gmp, sparsity_schedule: %s, tiebreak: first}",
                       pairs[i]);
        CU_ASSERT(!parse(&p, text));
        zoo_params_fini(&p);
    }
    CU_ASSERT_FATAL(parse(
        &p, "{type: gmp, tiebreak: first, sparsity_schedule: [[0, 0.1], [5, 0.2], [6, 0.3]]}"));
    zoo_params_fini(&p);
}

/* k of 13 elements is 3, of four groups of 13 it is 12; 12 of 52 are dropped to 4 of the 12. */
TEST(zoo_sparsity, groups_keep_equally_many)
{
    struct zoo_params p;
    CU_ASSERT_FATAL(parse(&p, "[{algorithm: rigl, sparsity: 0.75, update: {freq: 10}, "
                              "drop_fraction: 0.5, balance_in_groups: 4, param_filter: a}, "
                              "{algorithm: rigl, sparsity: 0.75, update: {freq: 10}}]"));
    const struct zoo_sparsity *in = &p.sparsity.entry[0], *whole = &p.sparsity.entry[1];
    T_EQ(zoo_sparsity_groups(in), 4);
    T_EQ(zoo_sparsity_groups(whole), 1);
    T_EQ(zoo_sparsity_target(in, 52, 0), 12);
    T_EQ(zoo_sparsity_target(whole, 52, 0), 13);
    T_EQ(zoo_sparsity_count(in, 52, 25), 12);
    T_EQ(zoo_sparsity_dropped_to(in, 12, 10), 4);
    T_EQ(zoo_sparsity_dropped_to(in, 18, 10), 8);
    zoo_params_fini(&p);
}

/* The number of kept elements by all updates, one after the other. */
static int64_t replayed(const struct zoo_sparsity *e, int64_t n, int64_t step)
{
    int64_t kept = zoo_sparsity_target(e, n, 0);
    for (int64_t t = 1; t <= step; t++) {
        if (!zoo_sparsity_updates(e, t)) continue;
        const int64_t target = zoo_sparsity_target(e, n, t);
        const int64_t left = zoo_sparsity_dropped_to(e, kept, t);
        kept = left > target ? left : target;
    }
    return kept;
}

/* Counts need only the last updates; the step of 10^12 would not end otherwise. */
TEST(zoo_sparsity, counts_of_changing_sparsity_are_those_of_all_updates)
{
#define GROWING "{algorithm: set, sparsity: {type: exp, init: 0.3, gamma: -0.0001}, "
    static const char *const entries[] = {
        GROWING "drop_fraction: 0.3}",
        GROWING "drop_fraction: 0.01}",
        GROWING "drop_fraction: 0}",
        GROWING "update: {freq: 7, start: 5, stop: 900}}",
        GROWING "drop_fraction: {type: cosine, init: 0.3, half_period: 400}}",
        "{algorithm: rigl, sparsity: {type: linear, init: 0, slope: 0.02}, drop_fraction: 0.1, "
        "balance_in_groups: 8}",
        "{algorithm: set, sparsity: [0.9, 0.1, 0.5, 0.7], drop_fraction: [0.2, 0.05, 0.5]}",
        "{algorithm: set, sparsity: {type: cosine, init: 0.9, half_period: 300}}"};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        struct zoo_params p;
        CU_ASSERT_FATAL(parse(&p, entries[i]));
        int n_wrong = 0;
        for (int64_t step = 0; step < 1200; step += step < 100 ? 1 : 41)
            for (int64_t n = 1000; n < 1000000000; n *= 997)
                n_wrong += zoo_sparsity_count(&p.sparsity.entry[0], n, step) !=
                           replayed(&p.sparsity.entry[0], n, step);
        T_EQ(n_wrong, 0);
        zoo_params_fini(&p);
    }
    struct zoo_params p;
    CU_ASSERT_FATAL(parse(&p, entries[0]));
    const int64_t late = INT64_C(1000000000000);
    T_EQ(zoo_sparsity_count(&p.sparsity.entry[0], 1000, late), 0);
    zoo_params_fini(&p);
}

/* A tensor belongs to the first entry that names it, and `null` keeps it dense. */
TEST(zoo_sparsity, null_keeps_the_tensors_of_its_entry_dense)
{
    static const char *const sections[] = {
        "[{algorithm: gmp, sparsity: null, param_filter: '*a'}, {sparsity: 0.5}]",
        "{algorithm: gmp, sparsity: {type: linear, init: 0, slope: 0.1}, param_name_patterns: {a$: "
        "{sparsity: null}, '.': {}}}"};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        struct zoo_params p;
        CU_ASSERT_FATAL(parse(&p, sections[i]));
        T_EQ(p.sparsity.n, 2);
        T_EQ(zoo_sparsity_find(&p.sparsity, "layer.a", 2), 0);
        T_EQ(zoo_sparsity_find(&p.sparsity, "layer.b", 2), 1);
        CU_ASSERT(zoo_sparsity_keeps_dense(&p.sparsity.entry[0]));
        CU_ASSERT(!zoo_sparsity_keeps_dense(&p.sparsity.entry[1]));
        T_EQ(zoo_sparsity_count(&p.sparsity.entry[0], 1000, 5), 1000);
        zoo_params_fini(&p);
    }
    char *text = dump_of("[{sparsity: null, param_filter: a}, {sparsity: null}]");
    T_STR(text,
          "\n    - {algorithm: static, sparsity: 0, init_method: random, param_filter: [\"a\"], "
          "param_name_patterns: null, add_summaries: false}");
    wsc_free(text);
}
