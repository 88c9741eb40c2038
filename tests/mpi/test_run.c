// SPDX-License-Identifier: Apache-2.0
/* A training run on any number of ranks gives, to the last bit, what one process gives: losses,
 * norms, hashes of the weights, virtual times and where they went, bytes on the links. */
#include "../support/small_run.h"
#include "../support/test.h"

#include <wsc/mem.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3, SAMPLES = 20 };

struct shape {
    int num_csx;
    const char *shards, *fanout, *granularity;
};

static const char *data_dir(void)
{
    static char dir[256];
    int rank;
    if (dir[0]) return dir;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    enum wsc_err rc = WSC_OK;
    if (rank == 0) (void)snprintf(dir, sizeof dir, "%s", test_tmpdir());
    if (rank == 0) rc = small_data_write(dir, SAMPLES);
    (void)MPI_Bcast(dir, sizeof dir, MPI_CHAR, 0, MPI_COMM_WORLD);
    CU_ASSERT_FATAL(test_agree(rc == WSC_OK));
    return dir;
}

static bool same_bytes(const void *a, const void *b, size_t n)
{
    return !memcmp(a, b, n);
}

/* Bits, not values: a NaN equals itself, and -0 is not 0. */
static bool same_bits(double a, double b)
{
    return same_bytes(&a, &b, sizeof a);
}

static bool same_batch(const struct memoryx_batch *a, const struct memoryx_batch *b)
{
    bool values = same_bits(a->loss, b->loss) && same_bits(a->grad_norm, b->grad_norm) &&
                  same_bits(a->learning_rate, b->learning_rate) &&
                  a->weights_hash == b->weights_hash && a->sums.n_tokens == b->sums.n_tokens &&
                  a->sums.n_correct == b->sums.n_correct && a->has_values == b->has_values;
    bool times = a->end.ps == b->end.ps && a->time_ps == b->time_ps &&
                 a->breakdown.compute_ps == b->breakdown.compute_ps &&
                 a->breakdown.weights_wait_ps == b->breakdown.weights_wait_ps &&
                 a->breakdown.reduce_wait_ps == b->breakdown.reduce_wait_ps &&
                 a->breakdown.boundary_ps == b->breakdown.boundary_ps &&
                 a->breakdown.input_wait_ps == b->breakdown.input_wait_ps;
    return a->step == b->step && values && times;
}

static bool same_result(const struct small_result *a, const struct small_result *b)
{
    bool same = a->n == STEPS && b->n == STEPS;
    for (int i = 0; same && i < STEPS; i++)
        same = same_batch(&a->batch[i], &b->batch[i]);
    return same && a->bytes_down == b->bytes_down && a->bytes_up == b->bytes_up;
}

/* Rank 0 hears the batches; bytes are counted where links start. */
static void spread(struct small_result *r)
{
    int64_t bytes[2] = {r->bytes_down, r->bytes_up};
    (void)MPI_Allreduce(MPI_IN_PLACE, bytes, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    (void)MPI_Bcast(r, sizeof *r, MPI_BYTE, 0, MPI_COMM_WORLD);
    r->bytes_down = bytes[0];
    r->bytes_up = bytes[1];
}

/* Bytes between ranks of the last run, of all ranks. */
static int64_t sent_bytes;

static enum wsc_err run_on_all(const struct small_config *c, const char *dir,
                               struct small_result *out)
{
    struct comm *comm = NULL;
    enum wsc_err rc = comm_create(&comm, true);
    if (!rc) rc = small_run(comm, c, STEPS, dir, out);
    if (rc) (void)fprintf(stderr, "%s\n", wsc_err_trace());
    if (rc) abort(); /* the other ranks would wait for ever for this one's messages */
    sent_bytes = comm_sent_bytes(comm);
    (void)MPI_Allreduce(MPI_IN_PLACE, &sent_bytes, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    comm_destroy(&comm);
    return rc;
}

/* What one process gives in the way of one host, whatever the test has chosen. */
static enum wsc_err run_alone(const struct small_config *c, const char *dir,
                              struct small_result *out)
{
    const bool ahead = getenv("WSC_AHEAD") != NULL;
    (void)unsetenv("WSC_AHEAD");
    const enum wsc_err rc = small_run_alone(c, STEPS, dir, out);
    if (ahead) (void)setenv("WSC_AHEAD", "1", 1);
    return rc;
}

static bool shape_is_exact(const struct shape *s, const char *dir)
{
    const char *const sets[] = {s->shards, s->fanout, s->granularity, NULL};
    struct small_config c;
    struct small_result together = {0}, alone = {0};
    enum wsc_err rc = small_config_init(&c, s->num_csx, sets);
    if (!rc) rc = run_alone(&c, dir, &alone);
    if (rc) (void)fprintf(stderr, "%s\n", wsc_err_trace());
    bool same = test_agree(rc == WSC_OK) && !run_on_all(&c, dir, &together);
    if (same) {
        spread(&together);
        same = same_result(&together, &alone);
    }
    small_config_fini(&c);
    if (!same)
        (void)fprintf(stderr, "num_csx %d, %s, %s, %s, %s differ\n", s->num_csx, s->shards,
                      s->fanout, s->granularity, dir ? "values" : "no values");
    return same;
}

static const int counts[] = {1, 2, 3, 5, 8};
static const char *const shards[] = {"cluster.memoryx.shards=1", "cluster.memoryx.shards=3"};
static const char *const fanouts[] = {"cluster.swarmx.fanout=2", "cluster.swarmx.fanout=4"};
static const char *const grains[] = {"cluster.stream.granularity=block",
                                     "cluster.stream.granularity=matrix"};

TEST(run_mpi, times_are_those_of_one_process)
{
    for (int i = 0; i < 5 * 8; i++) {
        const struct shape s = {counts[i / 8], shards[i & 1], fanouts[i >> 1 & 1],
                                grains[i >> 2 & 1]};
        CU_ASSERT_FATAL(test_agree(shape_is_exact(&s, NULL)));
    }
}

/* Every count with both numbers of shards; fan-out and granularity alternate, so that each pair of
 * settings occurs. */
TEST(run_mpi, values_are_those_of_one_process)
{
    const char *dir = data_dir();
    for (int i = 0; i < 5 * 2; i++) {
        const struct shape s = {counts[i / 2], shards[i & 1], fanouts[(i / 2 + i) & 1],
                                grains[i / 4 & 1]};
        CU_ASSERT_FATAL(test_agree(shape_is_exact(&s, dir)));
    }
}

static const char *const sparsities[] = {
    "sparsity=0.75", "sparsity={sparsity: 0.5, init_method: topk, param_filter: '*weight'}",
    "sparsity={algorithm: rigl, sparsity: 0.75}"};
enum { N_SPARSITIES = sizeof sparsities / sizeof *sparsities };

/* Masks are selections among shards on different ranks. */
TEST(run_mpi, sparse_values_are_those_of_one_process)
{
    const char *dir = data_dir();
    for (int i = 0; i < N_SPARSITIES * 2; i++) {
        const struct shape s = {counts[1 + i % 3], shards[i & 1], grains[i / 2 & 1],
                                sparsities[i / 2]};
        CU_ASSERT_FATAL(test_agree(shape_is_exact(&s, dir)));
    }
}

/* What systems share, with values and without: input workers on too few nodes, a coordinator,
 * checkpoints, nodes that store, crowded ports, all kinds of jitter. */
TEST(run_mpi, servers_keep_the_times_of_one_process)
{
    static const struct shape shape[] = {
        {5, "cluster.input.worker_rate=3000", "cluster.input.nodes=2",
         "cluster.input.workers_per_node=2"},
        {3, "runconfig.num_workers_per_csx=2", "cluster.input.worker_rate=2000",
         "cluster.faults+=slow_input:wafer=1,factor=3"},
        {8, "cluster.control.latency=1ms", "cluster.control.per_system=50us",
         "cluster.swarmx.forwarding=packet"},
        {5, "runconfig.checkpoint_steps=2", "cluster.checkpoint.rate=1e6 params/s",
         "cluster.memoryx.incast=0.4"},
        {7, "cluster.jitter_stage=0.03", "cluster.jitter_system=0.02",
         "cluster.swarmx.forwarding=message"}};
    const char *dir = data_dir();
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        CU_ASSERT_FATAL(test_agree(shape_is_exact(&shape[i], NULL)));
        CU_ASSERT_FATAL(test_agree(shape_is_exact(&shape[i], dir)));
    }
}

/* Two runs of different shape on the same ranks: the values are the same, whatever the shape. */
TEST(run_mpi, values_do_not_depend_on_the_cluster)
{
    const char *dir = data_dir();
    struct small_result first = {0}, r;
    for (int i = 0; i < 5; i++) {
        const char *const sets[] = {shards[i & 1], fanouts[i >> 1 & 1], "reduction_leaf=1", NULL};
        struct small_config c;
        bool same = small_config_init(&c, counts[i], sets) == WSC_OK;
        CU_ASSERT_FATAL(test_agree(same));
        CU_ASSERT_FATAL(test_agree(run_on_all(&c, dir, &r) == WSC_OK));
        small_config_fini(&c);
        spread(&r);
        if (i == 0) first = r;
        for (int k = 0; k < STEPS; k++)
            same = same && same_bits(r.batch[k].loss, first.batch[k].loss) &&
                   same_bits(r.batch[k].grad_norm, first.batch[k].grad_norm) &&
                   r.batch[k].weights_hash == first.batch[k].weights_hash &&
                   r.batch[k].weights_hash;
        CU_ASSERT(test_agree(same));
    }
}

/* The host's transport must not show: tiny chunks, one or eight in flight, against the default. */
TEST(run_mpi, chunks_change_nothing)
{
    static const char *const in_flight[] = {"cluster.stream.chunks_in_flight=1",
                                            "cluster.stream.chunks_in_flight=8"};
    for (int i = 0; i < 2; i++) {
        const struct shape s = {3, "cluster.stream.chunk=4 KiB", in_flight[i], shards[1]};
        CU_ASSERT(test_agree(shape_is_exact(&s, data_dir())));
    }
}

/* Bytes that travelled for @p n_wafers with the settings @p keep and @p n_shards. */
static int64_t sent_with(int n_wafers, const char *keep, const char *n_shards)
{
    const struct shape s = {n_wafers, keep, fanouts[1], n_shards};
    CU_ASSERT_FATAL(test_agree(shape_is_exact(&s, data_dir())));
    return sent_bytes;
}

/* Weights that a receiver keeps do not travel again in a step, and nothing else changes: with room
 * for none, for some of the stages and for all, with and without a SwarmX node between, whole or
 * put together from the parts of several shards. */
TEST(run_mpi, kept_weights_travel_once)
{
    static const char *const keep[] = {"cluster.stream.keep=0 B", "cluster.stream.keep=40 KiB",
                                       "cluster.stream.keep=16 MiB"};
    enum { N_KEEP = 3, MOST_WAFERS = 3 };
    (void)setenv("WSC_AHEAD", "1", 1);
    for (int k = 0; k < 4; k++) {
        int64_t sent[N_KEEP];
        for (int i = 0; i < N_KEEP; i++)
            sent[i] = sent_with(k < 2 ? 1 : MOST_WAFERS, keep[i], shards[k % 2]);
        CU_ASSERT(!sent[0] || (sent[1] < sent[0] && sent[2] < sent[1]));
        CU_ASSERT(!sent[0] || (double)sent[2] < 0.8 * (double)sent[0]);
        if (sent[0] && (sent[2] * 10 > sent[0] * 8 || sent[1] >= sent[0]))
            (void)fprintf(stderr, "sent %lld, %lld, %lld bytes\n", (long long)sent[0],
                          (long long)sent[1], (long long)sent[2]);
    }
    (void)unsetenv("WSC_AHEAD");
}

/* Bytes that this rank keeps of a model on one wafer, by hand: all weights, packed, at each end. */
static void expect_kept(int n_shards, const char *keep, int64_t limit)
{
    struct small_config c;
    struct comm *comm = NULL;
    struct cluster *cluster = NULL;
    const struct memoryx_hooks hooks = {0};
    char shards_set[48];
    (void)snprintf(shards_set, sizeof shards_set, "cluster.memoryx.shards=%d", n_shards);
    const char *const sets[] = {shards_set, keep, NULL};
    CU_ASSERT_FATAL(test_agree(!small_config_init(&c, 1, sets)));
    CU_ASSERT_FATAL(test_agree(!comm_create(&comm, true)));
    CU_ASSERT_FATAL(
        test_agree(!cluster_create(&cluster, comm, &c.params, &c.cluster, true, &hooks)));
    int64_t all = 0, expected = 0;
    for (int s = 0; s < cluster->model->n_stages; s++)
        all += cluster->model->stage[s].n_elems * num_format_bytes(cluster->model->format);
    const bool several = comm_size(comm) > 1;
    int n_far = 0;
    for (int m = 0; several && m < n_shards; m++) {
        if (comm_is_local(comm, m)) expected += all / n_shards;
        n_far += comm_is_local(comm, m) != comm_is_local(comm, n_shards);
    }
    if (several && comm_is_local(comm, n_shards))
        expected += all / n_shards * n_far + (n_shards > 1 ? all : 0);
    const int64_t kept = stream_net_kept_bytes(cluster->net);
    const int64_t rounding = (int64_t)2 * n_shards * cluster->model->n_stages;
    const bool is_right = limit >= all ? llabs(kept - expected) <= rounding
                                       : kept <= limit && (kept > 0) == (expected && limit);
    CU_ASSERT(is_right);
    if (!is_right)
        (void)fprintf(stderr, "kept %lld, by hand %lld\n", (long long)kept, (long long)expected);
    cluster_destroy(&cluster);
    comm_destroy(&comm);
    small_config_fini(&c);
}

TEST(run_mpi, kept_weights_are_counted)
{
    (void)setenv("WSC_AHEAD", "1", 1);
    expect_kept(1, "cluster.stream.keep=0 B", 0);
    expect_kept(1, "cluster.stream.keep=40 KiB", 40 << 10);
    expect_kept(1, "cluster.stream.keep=256 MiB", 256 << 20);
    expect_kept(3, "cluster.stream.keep=256 MiB", 256 << 20);
    (void)unsetenv("WSC_AHEAD");
}

/* SwarmX nodes pass on pieces while they arrive, and add those of gradients, and wafers compute
 * with what has come, also of weights that come again for the backward pass: nothing shows, with
 * one shard and several, one level of nodes and three, one vector of gradients and several. */
TEST(run_mpi, pieces_through_nodes_change_nothing)
{
    static const struct shape shape[] = {
        {3, "cluster.stream.chunk=1 KiB", "cluster.stream.chunks_in_flight=2",
         "cluster.memoryx.shards=1"},
        {7, "cluster.stream.chunk=1000 B", "cluster.swarmx.fanout=2", "cluster.memoryx.shards=1"},
        {6, "cluster.stream.chunk=3 KiB", "cluster.swarmx.fanout=2", "cluster.memoryx.shards=3"},
        {5, "cluster.stream.chunk=1 KiB", "cluster.stream.shares=even", "cluster.memoryx.shards=1"},
        {1, "cluster.stream.chunk=1 KiB", "cluster.stream.keep=0 B", "cluster.memoryx.shards=1"},
        {3, "cluster.stream.chunk=500 B", "cluster.stream.keep=0 B", "cluster.memoryx.shards=1"},
        {4, "cluster.stream.chunk=1 KiB", "train_input.batch_size=7", "cluster.memoryx.shards=1"},
        {1, "cluster.stream.chunk=1 KiB", "cluster.stream.keep=0 B", "cluster.memoryx.shards=3"},
        {1, "cluster.stream.granularity=matrix", "reduction_leaf=1", "cluster.memoryx.shards=2"},
        {3, "cluster.stream.chunk=500 B", "cluster.stream.keep=0 B", "cluster.memoryx.shards=2"},
        {5, "cluster.stream.chunk=1 KiB", "cluster.stream.shares=even", "cluster.memoryx.shards=5"},
        {2, "sparsity=0.5", "cluster.stream.chunk=200 B", "cluster.memoryx.shards=3"}};
    (void)setenv("WSC_AHEAD", "1", 1);
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        CU_ASSERT_FATAL(test_agree(shape_is_exact(&shape[i], data_dir())));
    (void)unsetenv("WSC_AHEAD");
}

/* Without a hash of the weights stages are updated as they are sent, with clipping and without, by
 * one shard and several, by optimizers whose rule changes from update to update; a tied table is
 * updated once. */
TEST(run_mpi, updates_as_stages_are_sent_change_nothing)
{
    static const struct shape shape[] = {
        {1, "trace_hash=false", "cluster.memoryx.shards=1", "cluster.stream.keep=0 B"},
        {3, "trace_hash=false", "cluster.memoryx.shards=3", "optimizer.optimizer_type=NAdam"},
        {2, "trace_hash=false", "optimizer.max_gradient_norm=null",
         "train_input.micro_batch_size=1"},
        {2, "trace_hash=false", "optimizer.optimizer_type=Lamb", "cluster.memoryx.shards=1"},
        {2, "trace_hash=false",
         "optimizer.learning_rate=[{scheduler: Linear, initial_learning_rate: 0.02, "
         "end_learning_rate: 0.001, total_iters: 3}]",
         "optimizer.optimizer_type=SGD"}};
    (void)setenv("WSC_AHEAD", "1", 1);
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        CU_ASSERT_FATAL(test_agree(shape_is_exact(&shape[i], data_dir())));
    (void)unsetenv("WSC_AHEAD");
}

TEST(run_mpi, memory_is_balanced)
{
    bool balanced = true;
    for (int tag = 0; tag < WSC_MEM_N_TAGS; tag++)
        balanced = balanced && wsc_mem_in_use((enum wsc_mem_tag)tag) == 0;
    CU_ASSERT(test_agree(balanced));
}
