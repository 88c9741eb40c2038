// SPDX-License-Identifier: Apache-2.0
/* Every constant of the machine, changed one at a time in several runs: where
 * cluster_idle_why() has a reason, virtual time stays as it is; where it has none, the time changes
 * in some run, or the constant is one of the bounds below that these small runs do not reach. */
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <stdio.h>
#include <string.h>

enum { STEPS = 4 };

/* Limits that a run of a tiny model does not reach, settings of the host, and what is reported
 * beside time. */
static const char *const bounds[] = {"wafer.masked_scores",
                                     "wafer.sram_per_pe",
                                     "wafer.sram_reserved_per_pe",
                                     "wafer.peak",
                                     "wafer.system_power",
                                     "wafer.io_rate",
                                     "swarmx.node_power",
                                     "memoryx.shard_power",
                                     "memoryx.capacity",
                                     "memoryx.bytes_per_parameter",
                                     "stream.chunk",
                                     "stream.chunks_in_flight",
                                     "stream.keep",
                                     "stream.shares",
                                     "systems",
                                     "stream.prefetch_window",
                                     "input.rate",
                                     "input.nodes",
                                     "input.bytes_per_token",
                                     "input.workers",
                                     "input.worker_rate",
                                     "input.workers_per_node",
                                     "input.sample_time",
                                     "activation.rate",
                                     "activation.server_rate",
                                     "activation.servers",
                                     "activation.nodes",
                                     "effects.input",
                                     "effects.activation",
                                     "reliability.restart",
                                     "reliability.mtbf_hours",
                                     "effects.restarts"};

static bool is_bound(const char *path)
{
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (!strcmp(bounds[i], path)) return true;
    return false;
}

/* Runs that differ in what they use. */
#define SPARSE  "sparsity={algorithm: set, sparsity: 0.75, update: {freq: 1}}"
#define EFFECTS "cluster.effects."
static const struct {
    int64_t num_csx;
    const char *sets[8];
} runs[] = {
    {6, {"cluster.jitter=0.01", "cluster.jitter_stage=0.01", "cluster.jitter_system=0.01"}},
    {6,
     {"model.mixed_precision=true", "model.fp16_type=bfloat16", SPARSE,
      "runconfig.checkpoint_steps=2"}},
    {6,
     {SPARSE, "cluster.wafer.data_triggered=false", "cluster.swarmx.forwarding=packet",
      "cluster.faults+=lossy_link:wafer=1,loss=0.2", "cluster.jitter=0.01"}},
    {6,
     {"cluster.faults+=lost_wafer:wafer=1,from=2", "cluster.faults+=lost_node:node=1,from=3",
      "cluster.faults+=lost_planes:node=1,planes=1", "cluster.swarmx.forwarding=message"}},
    {1, {"cluster.input.worker_rate=100", "cluster.input.sample_time=1 s"}},
    {6,
     {EFFECTS "boundary=off", EFFECTS "latency=off", EFFECTS "jitter=off", EFFECTS "input=off",
      EFFECTS "activation=off", EFFECTS "network=off", EFFECTS "control=off"}},
    {6, {EFFECTS "reduce=off"}}};
enum { N_RUNS = sizeof runs / sizeof *runs };

static void open_config(struct small_config *c, int run)
{
    T_OK(small_config_init(c, runs[run].num_csx, runs[run].sets));
}

/* End of the last step. */
static int64_t end_of(const struct small_config *c)
{
    struct small_result r;
    const enum wsc_err rc = small_run_alone(c, STEPS, NULL, &r);
    CU_ASSERT_EQUAL_FATAL(rc, WSC_OK);
    return r.batch[STEPS - 1].end.ps;
}

/* Another value of @p key, in its range. */
static void change(const struct conf_key *key, struct hw_machine *m)
{
    void *field = (char *)m + key->offset;
    struct hw_constant c;
    if (key->type == CONF_T_BOOL) {
        *(bool *)field = !*(bool *)field;
    } else if (key->type == CONF_T_CHOICE) {
        int *value = field;
        *value = key->choices[*value == key->choices[0].value].value;
    } else {
        T_OK(hw_constant_find(key->path, &c));
        const double value = hw_constant_get(&c, m);
        const double other = value > 0 ? value / 2 : key->max / 2;
        T_OK(hw_constant_set(&c, m, c.whole && value == 1 ? 2 : other));
    }
}

/* Does virtual time depend on @p key?  It does not where there is a reason, which counts as one. */
static bool changes(const struct small_config *c, const struct conf_key *key, int64_t before,
                    int64_t num_csx)
{
    const struct cluster_use use = {
        .params = &c->params, .machine = &c->cluster, .num_csx = num_csx};
    struct small_config other = *c; /* a shallow copy: only numbers differ */
    const char *why = cluster_idle_why(&use, key->path);
    change(key, &other.cluster);
    const bool changed = end_of(&other) != before;
    if (changed && why) (void)fprintf(stderr, "%s: not \"%s\"\n", key->path, why);
    CU_ASSERT(!changed || !why);
    return changed || why;
}

TEST(cluster_idle, constants_change_the_time_or_there_is_a_reason)
{
    static struct small_config c[N_RUNS];
    int64_t before[N_RUNS];
    const struct conf_table *table = hw_machine_table();
    for (int r = 0; r < N_RUNS; r++) {
        open_config(&c[r], r);
        before[r] = end_of(&c[r]);
    }
    for (int i = 0; i < table->n; i++) {
        const struct conf_key *key = &table->key[i];
        int n = 0;
        if (!hw_key_is_constant(key) || is_bound(key->path)) continue;
        for (int r = 0; r < N_RUNS; r++)
            n += changes(&c[r], key, before[r], runs[r].num_csx);
        if (!n) (void)fprintf(stderr, "%s: without effect and without a reason\n", key->path);
        CU_ASSERT(n > 0);
    }
    for (int r = 0; r < N_RUNS; r++)
        small_config_fini(&c[r]);
}

/* ---- effects that are switched off ------------------------------------------------------------
 */

/* Runs in which many constants have an effect. */
static const char *const busy[][4] = {
    {"cluster.jitter=0.01", "cluster.jitter_stage=0.01", "cluster.jitter_system=0.01",
     "cluster.swarmx.forwarding=packet"},
    {"cluster.faults+=lossy_link:wafer=1,loss=0.2", "cluster.swarmx.header=64 B",
     "cluster.memoryx.incast=0.5", SPARSE},
    {"cluster.swarmx.forwarding=message", "cluster.input.worker_rate=100",
     "cluster.input.sample_time=1 s"},
};
enum { N_BUSY = sizeof busy / sizeof *busy, N_SETS = sizeof busy[0] / sizeof *busy[0] };

/* Constants whose effect other work hides in these runs. */
static bool is_hidden(const char *path)
{
    return !strcmp(path, "swarmx.link_rate") || !strcmp(path, "wafer.vector_setup_fp32_cycles");
}

static void open_busy(struct small_config *c, int run, const char *off)
{
    const char *sets[8] = {off};
    for (int i = 0; i < N_SETS && busy[run][i]; i++)
        sets[i + !!off] = busy[run][i];
    T_OK(small_config_init(c, 6, sets));
}

/* A constant that only works with the effect @p off, which is `effects.NAME=off`, has a reason. */
static void check_switch(int run, const char *off)
{
    static struct small_config with, without;
    const struct conf_table *table = hw_machine_table();
    open_busy(&with, run, NULL);
    open_busy(&without, run, off);
    const int64_t end_with = end_of(&with), end_without = end_of(&without);
    for (int i = 0; i < table->n; i++) {
        const struct conf_key *key = &table->key[i];
        if (!hw_key_is_constant(key) || is_bound(key->path) || is_hidden(key->path)) continue;
        if (changes(&without, key, end_without, 6) || !changes(&with, key, end_with, 6)) continue;
        (void)fprintf(stderr, "%s, %s: without effect and without a reason\n", off, key->path);
        CU_FAIL("no reason");
    }
    small_config_fini(&with);
    small_config_fini(&without);
}

TEST(cluster_idle, what_an_effect_switches_off_has_a_reason)
{
    static const char *const off[] = {EFFECTS "boundary=off", EFFECTS "reduce=off",
                                      EFFECTS "latency=off",  EFFECTS "jitter=off",
                                      EFFECTS "input=off",    EFFECTS "activation=off",
                                      EFFECTS "network=off",  EFFECTS "control=off"};
    for (int run = 0; run < N_BUSY; run++)
        for (size_t i = 0; i < sizeof off / sizeof *off; i++)
            check_switch(run, off[i]);
}

/* A restart takes time only where whole trainings fail. */
TEST(cluster_idle, restarts_need_failures)
{
    static struct small_config c;
    const char *sets[2] = {"cluster.reliability.mtbf_hours=0"};
    T_OK(small_config_init(&c, 6, sets));
    const struct cluster_use use = {
        .kind = CLUSTER_USE_TRAININGS, .params = &c.params, .machine = &c.cluster, .num_csx = 6};
    const char *why = cluster_idle_why(&use, "reliability.restart");
    CU_ASSERT(why && !strcmp(why, "reliability.mtbf_hours is 0"));
    c.cluster.reliability.mtbf_hours = 1000;
    CU_ASSERT_PTR_NULL(cluster_idle_why(&use, "reliability.restart"));
    small_config_fini(&c);
}

/* The emulated fabric keeps several sums of dense products as well, if arriving data start them. */
TEST(idle_keys, accumulators_of_dense_products_on_the_mesh)
{
    for (int i = 0; i < 4; i++) {
        static const struct zoo_params params;
        const bool on_mesh = i & 1, by_data = i & 2;
        const struct hw_machine machine = {.wafer.data_triggered = by_data};
        const struct cluster_use use = {
            .params = &params, .machine = &machine, .num_csx = 1, .on_mesh = on_mesh};
        const bool idle = cluster_idle_why(&use, "wafer.sum_accumulators") != NULL;
        CU_ASSERT_EQUAL(idle, !(on_mesh && by_data));
    }
}

/* Only a training by `wsc run` compares the micro-batches; elsewhere the planner chooses. */
TEST(idle_keys, exploring_micro_batches_where_none_are_compared)
{
    static const struct {
        const char *set;
        bool explores;
        int n_warnings;
    } row[] = {{"train_input.micro_batch_size=explore", true, 0},
               {"train_input.micro_batch_size=explore", false, 1},
               {"train_input.micro_batch_size={explore: {min: 1, max: 2}}", false, 1},
               {"eval_input.micro_batch_size=explore", true, 1},
               {"train_input.micro_batch_size=auto", false, 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        static struct small_config c;
        const char *sets[] = {"eval_input={data_processor: GptHDF5DataProcessor, data_dir: x, "
                              "batch_size: 4}",
                              row[i].set, NULL};
        T_OK(small_config_init(&c, 1, sets));
        const int before = c.params.n_warnings;
        const struct cluster_use use = {
            .params = &c.params, .machine = &c.cluster, .num_csx = 1, .explores = row[i].explores};
        T_OK(cluster_warn_idle(&use, &c.params));
        int n = 0;
        for (int k = before; k < c.params.n_warnings; k++)
            n += strstr(c.params.warning[k].text, "micro_batch_size: explore: without") != NULL;
        T_EQ(n, row[i].n_warnings);
        small_config_fini(&c);
    }
}
