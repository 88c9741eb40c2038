// SPDX-License-Identifier: Apache-2.0
/* Predictions of rows whose params are not those of a plain dense training: sparsity that changes.
 */
#include "../../../src/validation/validation_impl.h"
#include "../../support/test.h"

#include <math.h>
#include <stdio.h>
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
    return (struct validation_comparison){.ref = ref,
                                          .n_refs = n,
                                          .params = {{"configs/params"}},
                                          .machines = {{"configs/cluster"}},
                                          .sets = sets,
                                          .n_sets = n_sets};
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
