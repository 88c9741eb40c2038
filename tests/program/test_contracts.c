// SPDX-License-Identifier: Apache-2.0
/* The two contracts over models, machines and ways to run them that are drawn at random from the
 * tables below: values are the same on any systems, ranks and threads, virtual time on any ranks
 * and threads and without values, and a run that stops and resumes has both.  A choice that the
 * program refuses, with another one that does not fit, is drawn again.  WSC_CONTRACTS=N draws N
 * cases instead of six, WSC_CONTRACTS_SEED=N others. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/rng.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 6, MOST_REFUSED = 4, STEPS = 4, MOST_OPTIONS = 8, OPTIONS_SIZE = 3000 };

/* With a probability one of the options is taken. */
struct choice {
    int percent;
    const char *option[MOST_OPTIONS]; /* what follows `--set`; a second one after a blank */
};

/* ---- what decides the values ----------------------------------------------------------------- */

static const struct choice model[] = {
    {60, {"model.num_hidden_layers=1", "model.num_hidden_layers=3", "model.hidden_size=48"}},
    {30, {"model.filter_size=100", "model.filter_size=36"}},
    {80,
     {"model.position_embedding_type=fixed", "model.position_embedding_type=alibi",
      "model.position_embedding_type=relative",
      "model.position_embedding_type=rotary model.rotary_dim=8"}},
    {60,
     {"model.nonlinearity=swiglu", "model.nonlinearity=relu", "model.nonlinearity=squared_relu",
      "model.nonlinearity=gelu_new"}},
    {50, {"model.norm_type=rmsnorm", "model.norm_type=biasless-layernorm"}},
    {30,
     {"model.attention_module=multiquery_attention "
      "model.extra_attention_params.num_kv_groups=1"}},
    {30, {"model.attention_sliding_window_length=5", "model.attention_logit_softcapping=5"}},
    {20, {"model.share_embedding_weights=false", "model.embedding_layer_norm=true"}},
    {20, {"model.label_smoothing=0.1", "model.recompute=true", "model.loss_scaling=batch_size"}},
    {30,
     {"model.moe.num_experts=4 model.moe.top_k=2 model.moe.load_balancing_loss_coef=0.01",
      "model.moe.num_experts=2 model.moe.routing_algorithm=hash",
      "model.moe.num_experts=4 model.moe.num_shared_experts=1 "
      "model.moe.router_selection_nonlinearity=sigmoid"}},
    {40, {"model.dropout_rate=0.2 model.attention_dropout_rate=0.1"}},
    {50,
     {"model.mixed_precision=true",
      "model.mixed_precision=true model.fp16_type=float16 "
      "optimizer.loss_scaling_factor=dynamic",
      "model.mixed_precision=true model.fp16_type=cbfloat16 "
      "optimizer.loss_scaling_factor=dynamic"}},
    {70,
     {"optimizer.optimizer_type=SGD", "optimizer.optimizer_type=Adafactor",
      "optimizer.optimizer_type=Lion", "optimizer.optimizer_type=Lamb",
      "optimizer.optimizer_type=NAdam", "optimizer.optimizer_type=RMSprop"}},
    {30, {"optimizer.max_gradient_norm=null optimizer.max_gradient_value=0.01"}},
    {25,
     {"sparsity=0.5",
      "sparsity={algorithm:\\ rigl,\\ sparsity:\\ 0.6,\\ update:\\ {freq:\\ 2,\\ "
      "stop:\\ 100}}",
      "model.lora_params={r:\\ 4,\\ alpha:\\ 8,\\ target_modules:\\ [Linear]}",
      "model.freeze=[embedding]"}},
    {100,
     {"train_input.batch_size=4", "train_input.batch_size=6", "train_input.batch_size=8",
      "train_input.batch_size=12"}},
    {30, {"reduction_leaf=2", "reduction_leaf=3", "train_input.shuffle=false"}},
};

/* ---- what decides the time ------------------------------------------------------------------- */

static const struct choice machine[] = {
    {50, {"train_input.micro_batch_size=1", "train_input.micro_batch_size=2"}},
    {50, {"cluster.swarmx.fanout=2", "cluster.swarmx.fanout=3"}},
    {50, {"cluster.jitter=0.05", "cluster.jitter_system=0.01", "cluster.jitter_stage=0.02"}},
    {30, {"cluster.swarmx.forwarding=packet", "cluster.stream.granularity=matrix"}},
    {30, {"cluster.control.latency=2ms", "cluster.checkpoint.rate=1e6params/s"}},
    {20, {"runconfig.num_workers_per_csx=2 cluster.input.worker_rate=100000"}},
};
static const struct choice faults[] = {
    {50,
     {"straggler:wafer=0,factor=3,from=2,steps=2", "slow_link:wafer=0,factor=4,from=2",
      "lossy_link:wafer=0,loss=0.01", "jitter:deviation=0.02,from=2,steps=2"}},
};

/* ---- drawing --------------------------------------------------------------------------------- */

/* Numbers of a case. */
struct draw {
    uint64_t seed, n;
};

static int below(struct draw *d, int n)
{
    const uint64_t x = wsc_rng_u64(d->seed, wsc_rng_stream(WSC_RNG_TEST, 7), d->n++);
    return n > 1 ? (int)(x % (uint64_t)n) : 0;
}

/* Append the options of a row, each after @p flag; a blank that belongs to a value has a backslash
 * before it. */
static void add(char *text, const char *flag, const char *options)
{
    size_t n = strlen(text);
    n += (size_t)snprintf(text + n, OPTIONS_SIZE - n, "%s '", flag);
    for (; *options && n + 16 < OPTIONS_SIZE; options++) {
        if (*options == ' ')
            n += (size_t)snprintf(text + n, OPTIONS_SIZE - n, "' %s '", flag);
        else if (*options != '\\')
            text[n++] = *options;
    }
    (void)snprintf(text + n, OPTIONS_SIZE - n, "' ");
}

static void draw_options(struct draw *d, const struct choice *row, size_t n, const char *flag,
                         char *text)
{
    for (size_t i = 0; i < n; i++) {
        int options = 0;
        while (options < MOST_OPTIONS && row[i].option[options])
            options++;
        if (below(d, 100) < row[i].percent) add(text, flag, row[i].option[below(d, options)]);
    }
}

#define DRAW(d, table, flag, text)                                                                 \
    draw_options((d), (table), sizeof(table) / sizeof *(table), flag, text)

/* ---- runs ------------------------------------------------------------------------------------ */

/* One case: options that decide the values, options of the machine, its size. */
struct contract {
    char values[OPTIONS_SIZE], time[OPTIONS_SIZE];
    int n_csx, n_shards;
};

/* A run of all options; the exit status. */
static int run(const struct contract *c, const char *before, const char *dir, const char *more)
{
    struct spawn_result r;
    spawn_run(&r, "%s%s %s --model_dir %s %s", before, job_tiny(), c->values, dir, more);
    const int status = r.status;
    if (status && status != 2) (void)fprintf(stderr, "%s\n", r.err);
    spawn_free(&r);
    return status;
}

/* The options of the machine, of which a run in steps @p steps has all. */
static const char *on_machine(const struct contract *c, int steps, const char *more)
{
    static char text[OPTIONS_SIZE + 200];
    (void)snprintf(text, sizeof text,
                   "%s--num_csx %d --set cluster.memoryx.shards=%d --num_steps %d %s", c->time,
                   c->n_csx, c->n_shards, steps, more);
    return text;
}

static const char *on_ranks(struct draw *d, int most)
{
    static char text[80];
    (void)snprintf(text, sizeof text, "OMP_NUM_THREADS=%d mpirun --quiet -n %d ", 1 + below(d, 2),
                   1 + below(d, most));
    return text;
}

/* Ranks and threads; no values; other systems; a run in two parts. */
static bool check_ways(struct draw *d, const struct contract *c, const struct job_metrics *one)
{
    static struct job_metrics other;
    const bool counts = strstr(c->values, "sparsity") != NULL; /* decide times, and need values */
    const int most = c->n_csx + c->n_shards;
    char dir[160], more[200];
    (void)snprintf(dir, sizeof dir, "%s", job_path("ways"));
    bool good = !run(c, on_ranks(d, most), dir, on_machine(c, STEPS, "")) &&
                job_read(dir, &other) && job_same_values(one, &other) &&
                job_same_times(one, &other);
    (void)snprintf(dir, sizeof dir, "%s", job_path("none"));
    good = good && !run(c, on_ranks(d, 2), dir, on_machine(c, STEPS, "--numerics none")) &&
           job_read(dir, &other) && (counts || job_same_times(one, &other));
    (void)snprintf(dir, sizeof dir, "%s", job_path("systems"));
    (void)snprintf(more, sizeof more, "--num_csx %d --set cluster.memoryx.shards=%d --num_steps %d",
                   1 + below(d, 6), 1 + below(d, 4), STEPS);
    good = good && !run(c, on_ranks(d, 2), dir, more) && job_read(dir, &other) &&
           job_same_values(one, &other);
    (void)snprintf(dir, sizeof dir, "%s", job_path("parts"));
    good = good && !run(c, "", dir, on_machine(c, 1 + below(d, STEPS - 1), "")) &&
           !run(c, on_ranks(d, most), dir, on_machine(c, STEPS, "--set runconfig.max_steps=4")) &&
           job_read(dir, &other) && job_same_values(one, &other) && job_same_times(one, &other);
    return good;
}

/* -1: the program refuses these options together; else whether both contracts hold. */
static int check_case(uint64_t seed)
{
    static struct job_metrics one;
    struct contract c = {.values = ""};
    struct draw d = {.seed = seed};
    DRAW(&d, model, "--set", c.values);
    DRAW(&d, machine, "--set", c.time);
    DRAW(&d, faults, "--fault", c.time);
    add(c.values, "--set", "runconfig.checkpoint_steps=100");
    c.n_csx = 1 + below(&d, 4);
    c.n_shards = 1 + below(&d, 4);
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("one"));
    const int status = run(&c, "", dir, on_machine(&c, STEPS, ""));
    if (status == 2) return -1;
    const bool good = !status && job_read(dir, &one) && one.n == STEPS && check_ways(&d, &c, &one);
    if (!good)
        (void)fprintf(stderr, "seed %llu: %s%s--num_csx %d\n", (unsigned long long)seed, c.values,
                      c.time, c.n_csx);
    return good;
}

/* A whole number in the environment. */
static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

TEST(contracts, values_and_times_of_random_models_and_machines)
{
    const long n = number("WSC_CONTRACTS", CASES);
    uint64_t seed = (uint64_t)number("WSC_CONTRACTS_SEED", 1) << 32;
    long refused = 0;
    for (long i = 0; i < n && refused <= MOST_REFUSED * n;) {
        const int held = check_case(seed++);
        CU_ASSERT(held != 0);
        refused += held < 0;
        i += held >= 0;
    }
    CU_ASSERT(refused <= MOST_REFUSED * n);
}
