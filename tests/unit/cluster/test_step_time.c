// SPDX-License-Identifier: Apache-2.0
/* Virtual time of whole clusters: against an analytical model for one wafer, and properties that
 * hold for any machine.  Runs without values, so that models may be large. */
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { STEPS = 6, MOST_STAGES = 64 };

/* A model whose time is of the size of its streams, so that every constant of the machine shows. */
#define LARGER                                                                                     \
    "model.hidden_size=1024", "model.filter_size=4096", "model.num_heads=16",                      \
        "model.max_position_embeddings=256", "train_input.batch_size=48"

static void run_with(int64_t num_csx, const char *const *sets, int n_steps, struct small_result *r)
{
    struct small_config c;
    T_OK(small_config_init(&c, num_csx, sets));
    T_OK(small_run_alone(&c, n_steps, NULL, r));
    small_config_fini(&c);
    T_EQ(r->n, n_steps);
}

/* ---- one wafer, one shard ---------------------------------------------------------------------
 *
 * With one shard, one wafer and a window that holds the whole step, nothing waits for a credit.
 * Let R, L be rate and latency of the link, w_k and g_k the bytes of a stage's weights and
 * gradient, c_k the time of its cycles, l the stage latency, d the way across the wafer.  The link
 * down sends transfer i when its weights are updated (r_s) and the transfer before has left:
 *     sent_i = max(r_s, left_{i-1}),  left_i = sent_i + w_s / R,
 *     first byte at sent_i + L, last byte at left_i + L.
 * The wafer begins a stage with its first byte and ends it when it has computed, when the last
 * byte is at its PE, and (backward) when the gradient has left through the link up, which starts
 * with the first finished row f_k and carries what has passed the I/O:
 *     begin_i = max(end_{i-1}, sent_i + L)
 *     end_i = max(begin_i + l + c_i, left_i + L + d, begin_i + l + bytes_i / io + d,
 *                 begin_i + spill_i / io)
 *     first_i = min(begin_i + l + f_i, end_i)
 *     up_i = max(end_i, first_i + g_s / io, max(first_i, up_{i-1}) + g_s / R); end_i := up_i.
 * The step ends when the samples of the next one have come in, which began when it did.
 * The gradient is complete in MemoryX at up_i + L.  When the last one is, and with it the norm,
 * stages are updated in forward order after the fixed latency u at rate U:
 *     r_0 = max(r_last of the step before, last gradient + u) + n_0 / U,  r_s = r_{s-1} + n_s / U.
 */

struct form {
    const struct hw_machine *cluster;
    const struct model *model;
    const struct cycles_plan *plan;
    struct hw hw;
    int64_t n_samples;
    int64_t down_free, up_free, now, reduced, updating;
    int64_t ready[MOST_STAGES];
};

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* amount / rate in picoseconds, rounded up; amounts here are far below 2^63 / 10^6. */
static int64_t duration(int64_t amount, int64_t per_s)
{
    const int64_t whole = amount / per_s, rest = amount % per_s;
    __extension__ typedef __int128 wide;
    wide part = (wide)rest * 1000000000000LL;
    return whole * 1000000000000LL + (int64_t)((part + per_s - 1) / per_s);
}

static int64_t cycles_ps(const struct form *f, int64_t cycles)
{
    return duration(cycles, f->cluster->wafer.clock_hz);
}

/* Rate of the link up, at a port that gradients of several planes crowd. */
static int64_t rate_up(const struct form *f)
{
    const struct hw_machine *c = f->cluster;
    const double part = c->swarmx.planes > 1 ? c->memoryx.incast : 1;
    return (int64_t)((double)c->memoryx.link_rate_bytes_per_s * part);
}

static void form_gradient(struct form *f, int stage, int64_t begin)
{
    const struct hw_memoryx *mx = &f->cluster->memoryx;
    int64_t rows = cycles_first_gradient(&f->hw, f->model, f->plan, stage, f->n_samples, NULL);
    int64_t first = begin + hw_stage_latency_ps(f->cluster, 0, 0, true) + cycles_ps(f, rows);
    if (first > f->now) first = f->now;
    const int64_t bytes = 4 * f->model->stage[stage].n_elems;
    const int64_t out = first + duration(bytes, f->cluster->wafer.io_rate_bytes_per_s);
    f->up_free = most(most(f->now, out), most(first, f->up_free) + duration(bytes, rate_up(f)));
    f->now = f->up_free;
    f->reduced = most(f->reduced, f->up_free + mx->link_latency_ps);
}

static void form_transfer(struct form *f, int stage, bool backward)
{
    const struct hw_memoryx *mx = &f->cluster->memoryx;
    const struct hw_wafer *wafer = &f->cluster->wafer;
    const int64_t bytes = (f->model->format == NUM_BF16 ? 2 : 4) * f->model->stage[stage].n_elems;
    const int64_t sent = most(f->ready[stage], f->down_free);
    f->down_free = sent + duration(bytes, mx->link_rate_bytes_per_s);
    const int64_t begin = most(f->now, sent + mx->link_latency_ps);
    const int64_t cycles =
        cycles_stage(&f->hw, f->model, f->plan, stage, backward, f->n_samples, NULL);
    const int64_t spill = cycles_spill_bytes(f->model, f->plan, stage, f->n_samples);
    const int64_t start = hw_stage_latency_ps(f->cluster, 0, 0, backward);
    f->now = begin + start + cycles_ps(f, cycles);
    f->now = most(f->now, f->down_free + mx->link_latency_ps + hw_traversal_ps(&f->hw));
    f->now = most(f->now, begin + start + duration(bytes, wafer->io_rate_bytes_per_s) +
                              hw_traversal_ps(&f->hw));
    f->now = most(f->now, begin + duration(spill, wafer->io_rate_bytes_per_s));
    if (backward) form_gradient(f, stage, begin);
}

static void form_update(struct form *f)
{
    const struct hw_memoryx *mx = &f->cluster->memoryx;
    f->updating = most(f->updating, f->reduced + mx->update_latency_ps);
    for (int s = 0; s < f->model->n_stages; s++) {
        int64_t n = 0;
        for (int v = 0; v < f->model->stage[s].n_views; v++) {
            const struct model_tensor *t = &f->model->tensor[f->model->stage[s].view[v].tensor];
            if (s == 0 || t->kind != MODEL_WTE) n += t->n_elems; /* the head borrows it */
        }
        f->updating += duration(n, mx->update_rate_params_per_s);
        f->ready[s] = f->updating;
    }
    f->reduced = 0;
}

/* The step's end; a signal of the losses and one of the times also use the link up. */
static int64_t form_step(struct form *f)
{
    const int n = f->model->n_stages;
    const int64_t rate = rate_up(f);
    const struct hw_feed *input = &f->cluster->input;
    const int64_t tokens = f->n_samples * f->model->T, start = f->now;
    const int64_t made = f->n_samples * input->sample_ps / input->workers +
                         duration(tokens, input->workers * input->worker_tokens_per_s);
    const int64_t fed =
        most(duration(tokens * input->bytes_per_token, input->rate_bytes_per_s), made);
    for (int s = 0; s < n; s++)
        form_transfer(f, s, false);
    f->up_free = most(f->up_free, f->now) + duration(STREAM_LOSS_BYTES, rate);
    for (int s = n - 1; s >= 0; s--)
        form_transfer(f, s, true);
    f->now = most(f->now, start + fed);
    f->up_free = most(f->up_free, f->now) + duration(STREAM_SIGNAL_BYTES, rate);
    form_update(f);
    return f->now;
}

static void check_form(const char *const *sets)
{
    struct small_config c;
    struct small_result r;
    struct cycles_plan plan;
    struct form f = {.plan = &plan};
    struct hw_machine effective;
    struct model *model = NULL;
    T_OK(small_config_init(&c, 1, sets));
    T_OK(small_run_alone(&c, STEPS, NULL, &r));
    T_OK(model_create(&model, &c.params, c.cluster.stream.granularity));
    CU_ASSERT_FATAL(model->n_stages <= MOST_STAGES);
    hw_apply_effects(&effective, &c.cluster);
    f.cluster = f.hw.cluster = &effective;
    f.model = model;
    f.n_samples = c.params.train_input.batch_size;
    T_OK(cycles_plan_wafer(&plan, &f.hw, model, f.n_samples,
                           &(struct cycles_asked){.micro_batch = CONF_NULL}, true, NULL));
    T_EQ(r.n_micro, 1);
    for (int i = 0; i < STEPS; i++)
        T_EQ(r.batch[i].end.ps, form_step(&f));
    model_destroy(&model);
    small_config_fini(&c);
}

#define ALONE "cluster.memoryx.shards=1", "cluster.stream.prefetch_window=1 TB"

TEST(run_time, one_wafer_is_the_closed_form)
{
    const char *const micro = "train_input.micro_batch_size=null";
    check_form((const char *const[]){ALONE, micro, NULL});
    check_form((const char *const[]){ALONE, micro, LARGER, NULL});
    check_form(
        (const char *const[]){ALONE, micro, LARGER, "cluster.stream.granularity=matrix", NULL});
    check_form((const char *const[]){ALONE, micro, LARGER, "cluster.memoryx.link_rate=1 GB/s",
                                     "cluster.wafer.stage_latency=3 us",
                                     "cluster.wafer.backward_kernels=0.5", NULL});
    check_form((const char *const[]){ALONE, micro, LARGER,
                                     "cluster.memoryx.update_rate=1e6 params/s",
                                     "model.share_embedding_weights=false", NULL});
    check_form(
        (const char *const[]){ALONE, micro, LARGER, "cluster.input.worker_rate=10000", NULL});
    check_form((const char *const[]){ALONE, micro, LARGER, "cluster.swarmx.header=500 B",
                                     "cluster.input.rate=1 MB/s", NULL});
    check_form((const char *const[]){ALONE, micro, LARGER, "cluster.memoryx.link_rate=1 GB/s",
                                     "cluster.memoryx.incast=0.4", NULL});
    check_form((const char *const[]){ALONE, micro, LARGER, "cluster.wafer.io_rate=2 GB/s", NULL});
    check_form((const char *const[]){ALONE, micro, LARGER, "cluster.memoryx.link_rate=1 GB/s",
                                     "cluster.memoryx.incast=0.4", "cluster.swarmx.planes=1",
                                     NULL});
}

/* ---- servers and coordination ---------------------------------------------------------------- */

static struct memoryx_batch steady_step(int64_t num_csx, const char *const *sets)
{
    struct small_result r;
    run_with(num_csx, sets, STEPS, &r);
    return r.batch[STEPS - 1];
}

/* Where the workers are slow, a step takes what they take: 8 samples of 256 tokens for each of six
 * systems; with two nodes for six systems three times as long. */
TEST(run_time, a_starved_step_takes_what_its_input_takes)
{
#define STARVED                                                                                    \
    LARGER, "cluster.input.worker_rate=1000", "cluster.input.workers_per_node=1",                  \
        "cluster.input.sample_time=0 s"
    const int64_t input_ps = 8LL * 256 * 1000000000;
    struct memoryx_batch b = steady_step(6, (const char *const[]){STARVED, NULL});
    T_EQ(b.time_ps, input_ps);
    CU_ASSERT(b.breakdown.input_wait_ps > input_ps / 2);
    b = steady_step(6, (const char *const[]){STARVED, "cluster.input.nodes=2", NULL});
    T_EQ(b.time_ps, 3 * input_ps);
    b = steady_step(6, (const char *const[]){STARVED, "cluster.input.workers_per_node=4",
                                             "runconfig.num_workers_per_csx=4", NULL});
    T_EQ(b.time_ps, input_ps / 4);
    b = steady_step(
        6, (const char *const[]){STARVED, "cluster.faults+=slow_input:wafer=4,factor=2", NULL});
    T_EQ(b.time_ps, 2 * input_ps);
}

/* Where nothing else holds a step back, it begins later by what the coordinator takes. */
TEST(run_time, coordination_delays_the_step_of_several_systems)
{
    const char *const at_once[] = {LARGER, "cluster.effects.control=off",
                                   "cluster.effects.boundary=off", "cluster.effects.reduce=off",
                                   NULL};
    const char *const slow[] = {LARGER, "cluster.control.latency=1 s",
                                "cluster.effects.boundary=off", "cluster.effects.reduce=off", NULL};
    const int64_t more_ps = steady_step(6, slow).time_ps - steady_step(6, at_once).time_ps;
    /* 2 x 1 s and 6 x 20 us, less what the first weights took anyway. */
    CU_ASSERT(more_ps > 1990000000000 && more_ps <= 2000120000000);
    T_EQ(steady_step(1, slow).time_ps, steady_step(1, at_once).time_ps);
}

/* The step after a checkpoint begins when it is written. */
TEST(run_time, a_checkpoint_holds_up_the_next_step)
{
    const char *const sets[] = {LARGER, "runconfig.checkpoint_steps=2",
                                "cluster.checkpoint.rate=1e6 params/s", NULL};
    const char *const none[] = {LARGER, "cluster.effects.checkpoint=off",
                                "runconfig.checkpoint_steps=2", NULL};
    struct small_config c;
    struct model *model;
    struct small_result with, without;
    T_OK(small_config_init(&c, 3, sets));
    T_OK(model_create(&model, &c.params, HW_STREAM_BLOCK));
    run_with(3, sets, STEPS, &with);
    run_with(3, none, STEPS, &without);
    const int64_t pause_ps = duration(model->n_params, 1000000);
    const int64_t more_ps = with.batch[2].time_ps - without.batch[2].time_ps;
    T_EQ(with.batch[1].end.ps, without.batch[1].end.ps);
    CU_ASSERT(more_ps > pause_ps / 10 * 9 && more_ps < pause_ps / 10 * 11);
    T_EQ(with.batch[5].end.ps - with.batch[4].end.ps, with.batch[3].time_ps);
    model_destroy(&model);
    small_config_fini(&c);
}

/* Storing costs a packet's or a message's time in every node, and crowded ports a part of them. */
TEST(run_time, stored_packets_and_crowded_ports_cost_time)
{
#define AT_ONCE LARGER, "cluster.effects.control=off" /* which would hide a part of it */
    const char *const cut[] = {AT_ONCE, NULL};
    const char *const packet[] = {AT_ONCE, "cluster.swarmx.forwarding=packet", NULL};
    const char *const message[] = {AT_ONCE, "cluster.swarmx.forwarding=message", NULL};
    const char *const crowded[] = {AT_ONCE, "cluster.memoryx.incast=0.5", NULL};
    const int64_t cut_ps = steady_step(6, cut).time_ps, packet_ps = steady_step(6, packet).time_ps;
    CU_ASSERT(packet_ps > cut_ps && steady_step(6, message).time_ps > packet_ps);
    CU_ASSERT(steady_step(6, crowded).time_ps > cut_ps);
}

/* ---- any cluster ----------------------------------------------------------------------------- */

/* Every picosecond of a step is booked once; *end is the sum of the steps so far. */
static void check_parts(const struct memoryx_batch *b, int64_t *end)
{
    T_EQ(b->breakdown.compute_ps + b->breakdown.weights_wait_ps + b->breakdown.reduce_wait_ps +
             b->breakdown.boundary_ps,
         b->time_ps);
    CU_ASSERT(b->breakdown.compute_ps > 0 && b->breakdown.weights_wait_ps >= 0 &&
              b->breakdown.reduce_wait_ps >= 0 && b->breakdown.boundary_ps >= 0);
    *end += b->time_ps;
    T_EQ(*end, b->end.ps);
}

TEST(run_time, parts_add_up_to_the_step)
{
    static const int counts[] = {1, 2, 3, 5, 16, 21};
    const char *const sets[] = {LARGER, "train_input.micro_batch_size=2", NULL};
    struct small_result r;
    for (int i = 0; i < (int)(sizeof counts / sizeof *counts); i++) {
        int64_t end = 0;
        run_with(counts[i], sets, STEPS, &r);
        for (int k = 0; k < STEPS; k++)
            check_parts(&r.batch[k], &end);
    }
}

TEST(run_time, twice_the_steps_take_twice_the_steady_time)
{
    static const int counts[] = {1, 4, 7};
    const char *const sets[] = {LARGER, "cluster.memoryx.shards=3", NULL};
    struct small_result r;
    for (int i = 0; i < 3; i++) {
        run_with(counts[i], sets, 14, &r);
        for (int k = 3; k < 14; k++)
            T_EQ(r.batch[k].time_ps, r.batch[2].time_ps);
        T_EQ(r.batch[13].end.ps - r.batch[1].end.ps, 2 * (r.batch[7].end.ps - r.batch[1].end.ps));
    }
}

/* ---- a better machine is never slower -------------------------------------------------------- */

/* Values of one constant, from bad to good. */
static const struct {
    const char *key;
    const char *value[4];
} better[] = {
    {"cluster.memoryx.link_rate", {"1 GB/s", "10 GB/s", "150 GB/s", "10 TB/s"}},
    {"cluster.memoryx.link_latency", {"1 ms", "10 us", "100 ns", "0 ps"}},
    {"cluster.memoryx.update_rate",
     {"1e7 params/s", "1e8 params/s", "1e10 params/s", "1e12 params/s"}},
    {"cluster.memoryx.update_latency", {"1 ms", "10 us", "100 ns", "0 ps"}},
    {"cluster.memoryx.shards", {"1", "2", "4", "12"}},
    {"cluster.swarmx.link_rate", {"1 GB/s", "10 GB/s", "150 GB/s", "10 TB/s"}},
    {"cluster.swarmx.link_latency", {"1 ms", "10 us", "100 ns", "0 ps"}},
    {"cluster.swarmx.latency", {"1 ms", "10 us", "100 ns", "0 ps"}},
    {"cluster.swarmx.add_latency", {"1 ms", "10 us", "100 ns", "0 ps"}},
    {"cluster.wafer.stage_latency", {"1 ms", "10 us", "100 ns", "0 ps"}},
    {"cluster.wafer.backward_kernels", {"4", "2", "0.5", "0"}},
};

static void check_better(int i, int num_csx, const char *grain)
{
    int64_t before = INT64_MAX, first = 0;
    for (int k = 0; k < 4; k++) {
        char set[96];
        struct small_result r;
        (void)snprintf(set, sizeof set, "%s=%s", better[i].key, better[i].value[k]);
        /* The default latency of stages hides all else in small models. */
        const char *const sets[] = {LARGER, "cluster.wafer.stage_latency=10 us", grain, set, NULL};
        run_with(num_csx, sets, 4, &r);
        if (r.batch[3].end.ps > before)
            (void)fprintf(stderr, "%d wafers, %s is slower: %lld ps, before %lld ps\n", num_csx,
                          set, (long long)r.batch[3].end.ps, (long long)before);
        CU_ASSERT(r.batch[3].end.ps <= before);
        before = r.batch[3].end.ps;
        if (k == 0) first = before;
    }
    if (before == first) (void)fprintf(stderr, "%s, %s: no effect\n", grain, better[i].key);
    CU_ASSERT(before < first); /* from the worst to the best it shows */
}

TEST(run_time, more_bandwidth_and_less_latency_are_never_slower)
{
    for (int i = 0; i < (int)(sizeof better / sizeof *better); i++) {
        check_better(i, 6, "cluster.stream.granularity=block");
        check_better(i, 6, "cluster.stream.granularity=matrix");
    }
}

/* Where a link is long, weights must be on their way before the wafer asks for them. */
TEST(run_time, a_wider_window_hides_latency)
{
    static const char *const window[] = {
        "cluster.stream.prefetch_window=0 B", "cluster.stream.prefetch_window=12 MiB",
        "cluster.stream.prefetch_window=30 MiB", "cluster.stream.prefetch_window=1 GiB"};
    int64_t before = INT64_MAX, first = 0;
    for (int k = 0; k < 4; k++) {
        const char *const sets[] = {LARGER, "cluster.stream.granularity=matrix",
                                    "cluster.swarmx.link_latency=1 ms", window[k], NULL};
        struct small_result r;
        run_with(6, sets, 4, &r);
        CU_ASSERT(r.batch[3].end.ps <= before);
        before = r.batch[3].end.ps;
        if (k == 0) first = before;
    }
    CU_ASSERT(before < first);
}

TEST(run_time, more_layers_are_never_faster)
{
    int64_t before = 0;
    for (int layers = 1; layers <= 16; layers *= 2) {
        char set[64];
        struct small_result r;
        (void)snprintf(set, sizeof set, "model.num_hidden_layers=%d", layers);
        const char *const sets[] = {LARGER, set, NULL};
        run_with(3, sets, 3, &r);
        CU_ASSERT(r.batch[2].end.ps > before);
        before = r.batch[2].end.ps;
    }
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Sums over the plan: weights go down every edge once a transfer, gradients up every edge once a
 * backward transfer; the shards' links carry equal stripes of them.  Losses (a micro-batch) are
 * not striped, and the times of a step take no bytes of a link. */
static void planned_bytes(const struct small_config *c, const struct model *m, int64_t n_micro,
                          int64_t bytes[2])
{
    struct stream_topology *t = NULL;
    const int shards = (int)c->cluster.memoryx.shards;
    T_OK(stream_topology_create(&t, shards, (int)c->params.runconfig.num_csx,
                                (int)c->cluster.swarmx.fanout));
    const int64_t edges = t->n_nodes ? t->n_nodes - 1 + t->n_wafers : 0;
    stream_topology_destroy(&t);
    bytes[0] = bytes[1] = 0;
    for (int s = 0; s < m->n_stages; s++) {
        struct stream_amounts a;
        const struct hw hw = {.cluster = &c->cluster};
        stream_amounts_of(&hw, m, s, 0, &a);
        const int64_t weights = a.weight_bytes, grads = a.grad_bytes;
        bytes[0] += 2 * (edges * weights + shards * stream_per_shard(weights, shards));
        bytes[1] += edges * grads + shards * stream_per_shard(grads, shards);
    }
    bytes[0] *= n_micro;
    bytes[1] = n_micro * (bytes[1] + (edges + shards) * STREAM_LOSS_BYTES);
}

static void check_bytes(int num_csx, const char *shards, const char *micro)
{
    const char *const sets[] = {shards, micro, "cluster.stream.granularity=matrix", NULL};
    struct small_config c;
    struct small_result r;
    struct model *model = NULL;
    int64_t planned[2];
    T_OK(small_config_init(&c, num_csx, sets));
    T_OK(small_run_alone(&c, STEPS, NULL, &r));
    T_OK(model_create(&model, &c.params, c.cluster.stream.granularity));
    planned_bytes(&c, model, r.n_micro, planned);
    T_EQ(r.bytes_down, STEPS * planned[0]);
    T_EQ(r.bytes_up, STEPS * planned[1]);
    model_destroy(&model);
    small_config_fini(&c);
}

TEST(run_time, links_carry_the_bytes_of_the_plan)
{
    static const int counts[] = {1, 2, 5, 16, 19};
    for (int i = 0; i < 5; i++) {
        check_bytes(counts[i], "cluster.memoryx.shards=1", "train_input.micro_batch_size=null");
        check_bytes(counts[i], "cluster.memoryx.shards=5", "train_input.micro_batch_size=1");
    }
}

/* ---- values or none -------------------------------------------------------------------------- */

static void check_same_times(const struct small_result *a, const struct small_result *b)
{
    for (int k = 0; k < STEPS; k++) {
        T_EQ(a->batch[k].end.ps, b->batch[k].end.ps);
        T_EQ(a->batch[k].breakdown.compute_ps, b->batch[k].breakdown.compute_ps);
        T_EQ(a->batch[k].breakdown.weights_wait_ps, b->batch[k].breakdown.weights_wait_ps);
        T_EQ(a->batch[k].breakdown.reduce_wait_ps, b->batch[k].breakdown.reduce_wait_ps);
    }
    T_EQ(a->bytes_down, b->bytes_down);
    T_EQ(a->bytes_up, b->bytes_up);
}

static void check_values_and_none(int num_csx, const char *dir)
{
    const char *const sets[] = {"cluster.memoryx.shards=2", "train_input.micro_batch_size=1", NULL};
    struct small_config c;
    struct small_result with, without;
    T_OK(small_config_init(&c, num_csx, sets));
    T_OK(small_run_alone(&c, STEPS, dir, &with));
    T_OK(small_run_alone(&c, STEPS, NULL, &without));
    small_config_fini(&c);
    CU_ASSERT(with.batch[0].has_values && !without.batch[0].has_values);
    check_same_times(&with, &without);
}

TEST(run_time, values_change_no_time)
{
    static const int counts[] = {1, 3, 8};
    char dir[128];
    (void)snprintf(dir, sizeof dir, "%s/small_run", test_tmpdir());
    CU_ASSERT_FATAL(mkdir(dir, 0700) == 0);
    T_OK(small_data_write(dir, 20));
    for (int i = 0; i < 3; i++)
        check_values_and_none(counts[i], dir);
}
