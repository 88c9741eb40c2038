// SPDX-License-Identifier: Apache-2.0
/* Predictions of rows whose params are not those of a plain dense training: sparsity that changes,
 * pairs of sequences, adapters, an encoder with a decoder. */
#include "../../../src/validation/validation_impl.h"
#include "../../support/case_files.h"
#include "../../support/params_case.h"
#include "../../support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct validation_figure row(const char *id, const char *model, const char *set)
{
    struct validation_figure r = {.quantity = VALIDATION_RATE,
                                  .unit = "samples/s",
                                  .value = 1,
                                  .num_csx = 1,
                                  .global_batch = 120,
                                  .micro_batch = CONF_AUTO,
                                  .msl = 512,
                                  .cluster = "cs2",
                                  .kind = VALIDATION_KIND_VALIDATION,
                                  .high = 1e9};
    (void)snprintf(r.id, sizeof r.id, "%s", id);
    (void)snprintf(r.model, sizeof r.model, "%s", model);
    (void)snprintf(r.set, sizeof r.set, "%s", set);
    return r;
}

static struct validation_comparison comparison_of(const struct validation_figure *ref, int n,
                                                  const struct conf_set *sets, int n_sets)
{
    static char folder[200];
    (void)snprintf(folder, sizeof folder, "%s", case_path("t5.yaml"));
    case_write(folder, params_t5);
    *strrchr(folder, '/') = '\0';
    return (struct validation_comparison){.ref = ref,
                                          .n_refs = n,
                                          .params = {{"configs/params", folder}},
                                          .machines = {{"configs/cluster"}},
                                          .sets = sets,
                                          .n_sets = n_sets};
}

static void check_parts(const struct validation_prediction *p, int64_t most_jitter_ps)
{
    if (llabs(p->jitter_ps) > most_jitter_ps) T_STR(p->ref->id, "without jitter");
    CU_ASSERT(p->products_ps > 0 && p->attention_ps > 0 && p->elementwise_ps > 0);
}

/* Without jitter in the machine, one system has none: the parts of any model are the compute time
 * of its simulated step, to the picosecond.  With it, steps of a pair whose weights differ keep a
 * hundred-thousandth. */
TEST(validate, parts_of_every_kind_of_model_leave_no_jitter)
{
    enum { N = 7 };
    static const struct conf_set still = {.text = "cluster.jitter=0"};
    static const char gmp[] = "sparsity={algorithm: gmp, sparsity: {type: linear, init: 0.0, "
                              "slope: 0.01}, update: {freq: 1, start: 0}}",
                      rigl[] = "sparsity={algorithm: rigl, sparsity: 0.75, drop_fraction: 0.3, "
                               "update: {freq: 4, start: 0}}",
                      pairs[] = "train_input.data_processor=DpoHDF5DataProcessor;eval_input=null;"
                                "model.dpo={beta: 0.1}",
                      lora[] = "model.lora_params={r: 16, alpha: 32, target_modules: "
                               "[TransformerDecoderLayer, Linear]}";
    struct validation_figure ref[N] = {
        row("dense", "gpt3_111m", ""),  row("pairs", "gpt3_111m", pairs),
        row("rigl", "gpt3_111m", rigl), row("gmp", "gpt3_111m", gmp),
        row("lora", "gpt3_111m", lora), row("t5", "t5", ""),
        row("eval", "gpt3_111m", gmp)};
    ref[1].micro_batch = 7;
    ref[N - 1].quantity = VALIDATION_EVAL_RATE;
    for (int jitters = 0; jitters < 2; jitters++) {
        const struct validation_comparison c = comparison_of(ref, N, &still, !jitters);
        struct validation_result v;
        T_OK(validation_run(&c, &v));
        for (int i = 0; i < N; i++) {
            const struct validation_prediction *p = &v.report.row[i];
            check_parts(p, jitters ? p->step_time_ps / 1000 : 0);
        }
        T_EQ(v.report.row[1].micro_batch, 7); /* pairs, as the row says it */
        validation_result_fini(&v);
    }
}

/* Zeros grow from 0 to 70 % over the 1000 steps of a training: it takes the mean of trainings with
 * fixed zeros, at four values in even distances. */
TEST(validate, a_training_time_follows_the_schedule_of_the_sparsity)
{
    enum { FIXED = 4, N = FIXED + 1 };
    static const struct conf_set sets[] = {{.text = "cluster.jitter=0"},
                                           {.text = "runconfig.checkpoint_steps=0"}};
    struct validation_figure ref[N];
    struct validation_result v;
    double mean = 0;
    ref[FIXED] = row("grows", "gpt3_1p3b",
                     "sparsity={algorithm: gmp, sparsity: {type: linear, init: 0.0, slope: 0.0007},"
                     " update: {freq: 1, start: 0}}");
    ref[FIXED].quantity = VALIDATION_TRAINING_TIME;
    for (int i = 0; i < FIXED; i++) {
        ref[i] = row("fixed", "gpt3_1p3b", "");
        ref[i].id[4] = (char)('0' + i);
        ref[i].quantity = VALIDATION_TIME;
        (void)snprintf(ref[i].set, sizeof ref[i].set, "sparsity={algorithm: static, sparsity: %g}",
                       0.7 * (2 * i + 1) / (2 * FIXED));
    }
    for (int i = 0; i < N; i++) {
        (void)snprintf(ref[i].unit, sizeof ref[i].unit, "s");
        ref[i].samples = 120 * 1000;
    }
    const struct validation_comparison c = comparison_of(ref, N, sets, 2);
    T_OK(validation_run(&c, &v));
    for (int i = 0; i < FIXED; i++)
        mean += v.report.row[i].predicted / FIXED;
    CU_ASSERT(v.report.row[0].predicted > 1.1 * mean); /* nearly dense */
    T_NEAR(v.report.row[FIXED].predicted / mean, 1, 0.01);
    validation_result_fini(&v);
}

/* A message is about the override of its key, not about one whose name is a part of it, and not
 * about what stands between two semicolons. */
TEST(validate, messages_about_overrides_name_their_keys)
{
    static const struct {
        const char *set, *text;
        bool about;
    } item[] = {{"lanes=2;model.dropout_rate=2", "--set model.dropout_rate: must be less", true},
                {"sparsity={sparsity: 2}", "--set sparsity.sparsity: must be less", true},
                {"runconfig.num_csx=2", "--set runconfig.num_csx", true},
                {"model.moe.num_experts=1", "--set model.moe.num_experts_x: no such key", false},
                {"lanes=2;;trace_hash=true", "--set runconfig.num_csx", false},
                {"lanes=2;", "--set runconfig.num_csx", false},
                {"lanes=2", "lanes: 2", false}};
    for (size_t i = 0; i < sizeof item / sizeof *item; i++) {
        const struct validation_figure r = row("r", "m", item[i].set);
        T_EQ(validation_is_about_set(&r, item[i].text), item[i].about);
    }
}
