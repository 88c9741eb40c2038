// SPDX-License-Identifier: Apache-2.0
/* Counters beyond 31 and 53 bits: a checkpoint that says it is from there, and what is written
 * after it.  Values do not depend on where the step stands, once the rate of learning does not. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/mem.h>
#include <wsc/store.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a checkpoint with other counters -------------------------------------------------------- */

enum { ELEMENT_BYTES = 8, MOST_DATASETS = 400 };

struct counter {
    const char *name;
    int64_t value;  /* of its first element */
    int64_t extent; /* 0: that of the file it comes from */
};
struct copy {
    struct store_file *from, *to;
    const struct counter *counter;
    int n_counters, n;
    char name[MOST_DATASETS][STORE_NAME_BYTES];
    enum store_type type[MOST_DATASETS];
    int64_t elems[MOST_DATASETS], added[MOST_DATASETS];
};

static enum store_type type_of(const char *stored)
{
    if (!strncmp(stored, "float", 5)) return strcmp(stored, "float64") != 0 ? STORE_F32 : STORE_F64;
    return STORE_I64;
}

static enum wsc_err define_longer(struct copy *c, int i, int64_t extent)
{
    c->added[i] = extent - c->elems[i];
    return store_define(c->to, c->name[i], c->type[i], 1, &extent);
}

static enum wsc_err define(void *ctx, const struct store_item *item)
{
    struct copy *c = ctx;
    const int i = c->n++;
    if (c->n > MOST_DATASETS) abort();
    (void)snprintf(c->name[i], STORE_NAME_BYTES, "%s", item->name);
    c->type[i] = type_of(item->type);
    c->elems[i] = 1;
    for (int d = 0; d < item->n_dims; d++)
        c->elems[i] *= item->shape[d];
    for (int k = 0; k < c->n_counters; k++)
        if (c->counter[k].extent && !strcmp(c->counter[k].name, item->name))
            return define_longer(c, i, c->counter[k].extent);
    return store_define(c->to, item->name, c->type[i], item->n_dims, item->shape);
}

static enum wsc_err copy_values(const struct copy *c, int i)
{
    const int64_t n = c->elems[i] + c->added[i];
    void *values = wsc_alloc(WSC_MEM_TEST, (size_t)n, ELEMENT_BYTES);
    if (!values) abort();
    enum wsc_err rc = store_read(c->from, c->name[i], c->type[i], 0, c->elems[i], values);
    for (int k = 0; k < c->n_counters; k++)
        if (!strcmp(c->counter[k].name, c->name[i]))
            memcpy(values, &c->counter[k].value, sizeof(int64_t));
    if (!rc) rc = store_write(c->to, c->name[i], 0, n, values);
    wsc_free(values);
    return rc;
}

static void doctor(const char *from, const char *to, const struct counter *counter, int n)
{
    static struct copy c;
    c = (struct copy){.counter = counter, .n_counters = n};
    T_OK(store_open(&c.from, from));
    T_OK(store_create(&c.to, to, NULL));
    T_OK(store_visit(c.from, define, &c));
    for (int i = 0; i < c.n; i++)
        T_OK(copy_values(&c, i));
    T_OK(store_commit(&c.to));
    store_close(&c.from);
}

/* ---- the run --------------------------------------------------------------------------------- */

#define JOB                                                                                        \
    "--num_csx 2 --set runconfig.max_steps=null --set optimizer.learning_rate=0.001 "              \
    "--set runconfig.checkpoint_steps=3 "                                                          \
    "--set runconfig.max_checkpoints=2"

static const char *first_checkpoint(void)
{
    static char path[200];
    if (path[0]) return path;
    const char *dir = job_path("first");
    CU_ASSERT_FATAL(spawn_ok("%s %s --num_steps 3 --model_dir %s", job_tiny(), JOB, dir));
    (void)snprintf(path, sizeof path, "%s/checkpoint_3.mdl", dir);
    return path;
}

static void go_on(const char *checkpoint, const char *dir, const char *options)
{
    CU_ASSERT_FATAL(spawn_ok("%s %s --num_steps 5 --model_dir %s %s%s", job_tiny(), JOB, dir,
                             checkpoint ? "--checkpoint_path " : "",
                             checkpoint ? checkpoint : options));
}

static bool has_line(const char *dir, long long step, const char *key, long long value)
{
    return spawn_ok("grep '\"step\": %lld,' %s/metrics.jsonl | grep -q '\"%s\": %lld,'", step, dir,
                    key, value);
}

/* From step @p step on, the same as from step 3, five steps further, with all counters exact. */
static void count_from(int64_t step)
{
    const int64_t batch = 8, T = 64, samples = step * batch;
    const struct counter counter[] = {{"global_step", step, 0},
                                      {"dataloader.samples_streamed", samples, 0},
                                      {"schedulers.0.last_epoch", step, 0}};
    char doctored[200], dir[160], name[64];
    struct job_metrics m;
    (void)snprintf(doctored, sizeof doctored, "%s", job_path("doctored.mdl"));
    (void)snprintf(dir, sizeof dir, "%s", job_path("counted"));
    doctor(first_checkpoint(), doctored, counter, 3);
    go_on(doctored, dir, "");
    CU_ASSERT_FATAL(job_read(dir, &m));
    T_EQ(m.n, 5);
    T_EQ(m.step[0].step, step + 1);
    T_EQ(m.step[4].step, step + 5);
    CU_ASSERT(has_line(dir, step + 5, "tokens", (samples + 5 * batch) * T));
    (void)snprintf(name, sizeof name, "checkpoint_%" PRId64 ".mdl", step + 5);
    CU_ASSERT(spawn_ok("test -s %s/%s && \"$WSC\" inspect %s/%s | grep -q 'global step %" PRId64
                       "'",
                       dir, name, dir, name, step + 5));
    CU_ASSERT(spawn_ok("grep -q 'Step=%" PRId64 ", ' %s/run.log", step + 5, dir));
    /* Its own newest checkpoint is found again, and on three ranks. */
    CU_ASSERT(
        spawn_ok("mpirun --quiet -n 3 %s %s --num_steps 1 --model_dir %s", job_tiny(), JOB, dir));
    CU_ASSERT(has_line(dir, step + 6, "tokens", (samples + 6 * batch) * T));
}

TEST(counters, beyond_31_bits)
{
    count_from((INT64_C(1) << 31) - 2);
}

TEST(counters, beyond_53_bits)
{
    count_from((INT64_C(1) << 53) - 2);
}

static void check_refused(const struct counter *counter, int n, int status, const char *said)
{
    struct spawn_result r;
    char doctored[200];
    (void)snprintf(doctored, sizeof doctored, "%s", job_path("doctored.mdl"));
    doctor(first_checkpoint(), doctored, counter, n);
    spawn_run(&r, "%s %s --num_steps 5 --model_dir %s --checkpoint_path %s", job_tiny(), JOB,
              job_path("refused"), doctored);
    T_EQ(r.status, status);
    const bool printed = strstr(r.err, said) != NULL;
    if (!printed) (void)fprintf(stderr, "%s\n", r.err);
    CU_ASSERT(printed);
    spawn_free(&r);
}

/* Another run's checkpoint says which faults that run has met; a new training meets its own, and
 * goes back to where it began. */
TEST(counters, a_new_training_meets_all_of_its_faults)
{
    const struct counter reached = {"wsc.reached_step", 40, 0};
    struct job_metrics m;
    char doctored[200], dir[160];
    (void)snprintf(doctored, sizeof doctored, "%s", job_path("doctored.mdl"));
    (void)snprintf(dir, sizeof dir, "%s", job_path("faulty"));
    doctor(first_checkpoint(), doctored, &reached, 1);
    CU_ASSERT_FATAL(spawn_ok("%s %s --num_steps 5 --model_dir %s --checkpoint_path %s --fault "
                             "lost_shard:shard=0,from=6",
                             job_tiny(), JOB, dir, doctored));
    CU_ASSERT_FATAL(job_read(dir, &m));
    T_EQ(m.n, 7);
}

TEST(counters, what_does_not_fit_is_refused)
{
    const struct counter negative = {"global_step", -1, 0};
    const struct counter samples = {"dataloader.samples_streamed", INT64_MIN, 0};
    const struct counter digits = {"global_step", STORE_LAST_STEP + 1, 0};
    const struct counter five = {"global_step", 3, 5};
    const struct counter reached = {"wsc.reached_step", INT64_C(1) << 62, 0};
    const struct counter past = {"wsc.virtual_time_ps", -5, 0};
    const struct counter epochs = {"schedulers.0.last_epoch", -2, 0};
    const struct counter tokens = {"dataloader.samples_streamed", INT64_MAX / 64 - 39, 0};
    check_refused(&negative, 1, 1, "global_step is -1, expected 0 to 999999999999999999");
    check_refused(&samples, 1, 1, "dataloader.samples_streamed is -9223372036854775808");
    check_refused(&digits, 1, 1, "global_step is 1000000000000000000, expected 0 to ");
    check_refused(&five, 1, 1, "global_step has 5 elements, expected a number");
    check_refused(&reached, 1, 1, "wsc.reached_step is 4611686018427387904, expected -1 to ");
    check_refused(&past, 1, 1, "wsc.virtual_time_ps holds -5 ps");
    check_refused(&epochs, 1, 1, "schedulers.0.last_epoch is -2, expected 0 to ");
    check_refused(&tokens, 1, 2, "more tokens than 64 bits count");
}

/* Gradients multiplied by 0 would have no value. */
TEST(counters, a_loss_scale_of_zero_is_refused)
{
    static const char half[] = "--num_csx 2 --set model.mixed_precision=true "
                               "--set model.fp16_type=float16 "
                               "--set optimizer.loss_scaling_factor=dynamic";
    const struct counter scale = {"grad_scaler.loss_scale", 0, 0}; /* 0.0 has no bits */
    char from[200], doctored[200];
    struct spawn_result r;
    (void)snprintf(from, sizeof from, "%s", job_path("half"));
    (void)snprintf(doctored, sizeof doctored, "%s", job_path("doctored.mdl"));
    CU_ASSERT_FATAL(spawn_ok("%s %s --num_steps 1 --model_dir %s", job_tiny(), half, from));
    (void)snprintf(from + strlen(from), sizeof from - strlen(from), "/checkpoint_1.mdl");
    doctor(from, doctored, &scale, 1);
    spawn_run(&r, "%s %s --num_steps 2 --model_dir %s --checkpoint_path %s", job_tiny(), half,
              job_path("unscaled"), doctored);
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, ": a loss scale of 0"));
    spawn_free(&r);
}

/* Number and hash of the samples, each by itself; a file without them, as of an earlier release, is
 * not compared. */
TEST(counters, samples_of_a_checkpoint_are_compared)
{
    static const char warning[] = "the samples are not those of the checkpoint";
    const struct counter n = {"wsc.samples_per_epoch", 12345, 0};
    const struct counter hash = {"wsc.samples_hash", 12345, 0};
    const struct counter none[] = {{"wsc.samples_per_epoch", 0, 0}, {"wsc.samples_hash", 0, 0}};
    check_refused(&n, 1, 0, "12345 there; the training continues with sample 24 of these");
    check_refused(&hash, 1, 0, "there, of other files; the training continues with sample 24");
    struct spawn_result r;
    char doctored[200];
    (void)snprintf(doctored, sizeof doctored, "%s", job_path("doctored.mdl"));
    doctor(first_checkpoint(), doctored, none, 2);
    spawn_run(&r, "%s %s --num_steps 5 --model_dir %s --checkpoint_path %s", job_tiny(), JOB,
              job_path("unknown"), doctored);
    T_EQ(r.status, 0);
    CU_ASSERT(strstr(r.err, warning) == NULL);
    spawn_free(&r);
}

/* The clock of a run continues from its checkpoint, and ends the run where it ends. */
TEST(counters, the_clock_of_a_checkpoint_at_the_end_of_time)
{
    const struct counter clock = {"wsc.virtual_time_ps", INT64_MAX - 1000, 0};
    char doctored[200];
    check_refused(&clock, 1, 3, "step 4: the virtual time is beyond 106 days");
    (void)snprintf(doctored, sizeof doctored, "%s", job_path("doctored.mdl"));
    doctor(first_checkpoint(), doctored, &clock, 1);
    /* The way out that the message names. */
    CU_ASSERT(spawn_ok("%s %s --num_steps 2 --model_dir %s --checkpoint_path %s "
                       "--set runconfig.load_checkpoint_states=model",
                       job_tiny(), JOB, job_path("anew"), doctored));
}
