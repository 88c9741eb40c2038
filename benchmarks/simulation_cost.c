// SPDX-License-Identifier: Apache-2.0
/* CPU time and messages of a simulated step over a grid of systems and stages.
 *
 *   simulation_cost CONFIGS FILE [ROUNDS]   CONFIGS: the folder configs/params; FILE: JSON
 *
 * The 13B model with 5 to 40 layers, streamed by block and by matrix, on 1 to 4096 CS-2 with one
 * sequence each; times only, no values.  The messages of every run must be the analytical count of
 * messages_of(), which is linear in stages and in links: on up to 64 systems before anything is
 * measured, on more in the measured runs themselves; otherwise nothing is written.  CPU seconds are
 * medians over ROUNDS (3), the whole grid in each round.  Printed is a table that gnuplot reads,
 * with the slope of log CPU seconds over log (stages x systems) as its last line;
 * benchmarks/simulation_cost.sh draws docs/simulation_cost.png from it. */
#include <wsc/clock.h>
#include <wsc/job.h>
#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_DEPTHS = 4, N_COUNTS = 13, N_POINTS = 2 * N_DEPTHS * N_COUNTS, MOST_ROUNDS = 15 };
/* A run takes as many steps as have this many messages, so that the clock's ticks do not count. */
enum { LEAST_MESSAGES = 50000, MOST_STEPS = 1000 };

static const int64_t depths[N_DEPTHS] = {5, 10, 20, 40};

struct point {
    enum hw_granularity granularity;
    int64_t layers, n_systems;
    int64_t stages, links, messages, n_steps; /* of a step: messages */
    double cpu_s[MOST_ROUNDS];                /* of a step */
};
struct grid {
    struct zoo_params params;
    struct hw_machine cluster;
    struct point point[N_POINTS];
    int n_rounds;
};

/* Links of the tree: shards to the root, SwarmX nodes and wafers to their parents. */
static int64_t links_of(const struct hw_machine *cluster, int64_t n_systems)
{
    int64_t n = cluster->memoryx.shards, below = n_systems;
    while (below > 1) {
        n += below;
        below = (below + cluster->swarmx.fanout - 1) / cluster->swarmx.fanout;
    }
    return n;
}

/* Of n steps.  A link carries weights and a credit for each stage forward and backward and the
 * stage's gradient, and once a step losses and times; shards combine their norms at shard 0, and
 * each begins the next step with one message to itself. */
static int64_t messages_of(const struct grid *g, const struct point *p, int64_t n)
{
    const int64_t shards = g->cluster.memoryx.shards;
    return n * (p->links * (5 * p->stages + 2) + 2 * (shards - 1)) + (n - 1) * shards;
}

static enum wsc_err load(struct grid *g, const char *folder)
{
    const struct conf_set alike = {.text = "cluster.jitter=0"};
    char path[4096], *bytes;
    size_t n;
    (void)snprintf(path, sizeof path, "%s/gpt3_13b.yaml", folder);
    TRY(conf_read_file(path, &bytes, &n));
    enum wsc_err rc = zoo_params_parse(&g->params, path, bytes, n, NULL, 0);
    wsc_free(bytes);
    TRY(rc);
    TRY(hw_machine_parse(&g->cluster, NULL, NULL, 0, &alike, 1));
    for (int i = 0; i < N_POINTS; i++) {
        struct point *p = &g->point[i];
        p->granularity = i < N_POINTS / 2 ? HW_STREAM_BLOCK : HW_STREAM_MATRIX;
        p->layers = depths[i / N_COUNTS % N_DEPTHS];
        p->n_systems = (int64_t)1 << i % N_COUNTS;
        p->links = links_of(&g->cluster, p->n_systems);
        p->stages = (p->granularity == HW_STREAM_BLOCK ? 1 : 4) * p->layers + 2;
        p->messages = messages_of(g, p, 1);
        p->n_steps = LEAST_MESSAGES / p->messages + 1;
        if (p->n_steps > MOST_STEPS) p->n_steps = MOST_STEPS;
    }
    return WSC_OK;
}

/* ---- one point ------------------------------------------------------------------------------- */

static enum wsc_err run_pass(struct cluster *c, const struct zoo_params *params, int64_t n_steps,
                             double *cpu_s)
{
    struct cycles_plan plan;
    struct stream_pass pass = {.mode = STREAM_TRAIN, .n_steps = n_steps};
    const struct wafer_work work = {.plan = &plan};
    TRY(cluster_plan_batch(c, &params->train_input, true, &plan, &pass.batch));
    const double start = wsc_clock_cpu_s();
    TRY(cluster_run_pass(c, &pass, &work));
    *cpu_s = (wsc_clock_cpu_s() - start) / (double)n_steps;
    return WSC_OK;
}

/* Simulate @p n_steps of @p p; false in *@p valid when another number of messages was exchanged. */
static enum wsc_err run_point(const struct grid *g, const struct point *p, int64_t n_steps,
                              double *cpu_s, bool *valid)
{
    struct zoo_params params = g->params; /* shallow copies: only numbers differ */
    struct hw_machine cluster = g->cluster;
    const struct memoryx_hooks hooks = {0};
    struct comm *comm = NULL;
    struct cluster *c = NULL;
    params.model.num_hidden_layers = p->layers;
    params.runconfig.num_csx = p->n_systems;
    params.train_input.batch_size = p->n_systems;
    cluster.stream.granularity = p->granularity;
    TRY(comm_create(&comm, false));
    enum wsc_err rc = cluster_create(&c, comm, &params, &cluster, false, &hooks);
    if (!rc) rc = run_pass(c, &params, n_steps, cpu_s);
    const int64_t n = comm_n_messages(comm), expected = messages_of(g, p, n_steps);
    if (!rc && (n != expected || c->model->n_stages != p->stages)) {
        *valid = false;
        (void)fprintf(stderr,
                      "%lld layers, %lld systems: %d stages, %lld messages; "
                      "%lld and %lld expected\n",
                      (long long)p->layers, (long long)p->n_systems, c->model->n_stages,
                      (long long)n, (long long)p->stages, (long long)expected);
    }
    cluster_destroy(&c);
    comm_destroy(&comm);
    return rc;
}

static enum wsc_err verify(const struct grid *g, bool *valid)
{
    double cpu_s;
    for (int i = 0; i < N_POINTS; i++)
        if (g->point[i].n_systems <= 64) TRY(run_point(g, &g->point[i], 2, &cpu_s, valid));
    return WSC_OK;
}

static enum wsc_err measure_round(struct grid *g, int round, bool *valid)
{
    for (int i = 0; i < N_POINTS; i++) {
        struct point *p = &g->point[i];
        TRY(run_point(g, p, p->n_steps, &p->cpu_s[round], valid));
        if (i % N_COUNTS < N_COUNTS - 1) continue;
        (void)fprintf(stderr, "round %d of %d: %d of %d points\n", round + 1, g->n_rounds, i + 1,
                      N_POINTS);
    }
    return WSC_OK;
}

static enum wsc_err measure(struct grid *g, bool *valid)
{
    for (int round = 0; round < g->n_rounds; round++)
        TRY(measure_round(g, round, valid));
    return WSC_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort_rounds(struct grid *g)
{
    for (int i = 0; i < N_POINTS; i++)
        qsort(g->point[i].cpu_s, (size_t)g->n_rounds, sizeof(double), by_value);
}

static double median(const struct grid *g, const struct point *p)
{
    return p->cpu_s[g->n_rounds / 2];
}

/* Least squares of log median CPU seconds over log (stages x systems), from @p least of it on. */
static double slope(const struct grid *g, double least)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < N_POINTS; i++) {
        const struct point *p = &g->point[i];
        const double size = (double)(p->stages * p->n_systems);
        if (size < least) continue;
        const double u = log(size), v = log(median(g, p));
        n += 1, x += u, y += v, xx += u * u, xy += u * v;
    }
    return (n * xy - x * y) / (n * xx - x * x);
}

static void print(const struct grid *g)
{
    (void)printf("# streamed layers stages systems links messages_of_step steps cpu_s_of_step "
                 "cpu_us_of_message\n");
    for (int i = 0; i < N_POINTS; i++) {
        const struct point *p = &g->point[i];
        if (i && i % N_COUNTS == 0) (void)printf("\n");
        if (i == N_POINTS / 2) (void)printf("\n"); /* a block of data of gnuplot's own */
        (void)printf("%s %lld %lld %lld %lld %lld %lld %.4g %.3f\n",
                     p->granularity == HW_STREAM_BLOCK ? "block" : "matrix", (long long)p->layers,
                     (long long)p->stages, (long long)p->n_systems, (long long)p->links,
                     (long long)p->messages, (long long)p->n_steps, median(g, p),
                     median(g, p) / (double)p->messages * 1e6);
    }
    (void)printf("# slope %.3f from_1000 %.3f peak_mib %.0f\n", slope(g, 0), slope(g, 1000),
                 (double)wsc_mem_peak_rss_bytes() / (1 << 20));
}

static bool write_json(const struct grid *g, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f) return false;
    (void)fprintf(f,
                  "{\"rounds\": %d, \"slope\": %.4f, \"slope_from_1000\": %.4f, "
                  "\"peak_rss_bytes\": %lld, \"valid\": true, \"points\": [",
                  g->n_rounds, slope(g, 0), slope(g, 1000), (long long)wsc_mem_peak_rss_bytes());
    for (int i = 0; i < N_POINTS; i++) {
        const struct point *p = &g->point[i];
        (void)fprintf(f,
                      "%s\n {\"streamed\": \"%s\", \"layers\": %lld, \"stages\": %lld, "
                      "\"systems\": %lld, \"links\": %lld, \"messages\": %lld, \"steps\": %lld, "
                      "\"cpu_s\": %.6g, \"cpu_s_min\": %.6g, \"cpu_s_max\": %.6g}",
                      i ? "," : "", p->granularity == HW_STREAM_BLOCK ? "block" : "matrix",
                      (long long)p->layers, (long long)p->stages, (long long)p->n_systems,
                      (long long)p->links, (long long)p->messages, (long long)p->n_steps,
                      median(g, p), p->cpu_s[0], p->cpu_s[g->n_rounds - 1]);
    }
    (void)fprintf(f, "]}\n");
    return !fclose(f);
}

static enum wsc_err run(struct grid *g, const char *folder, bool *valid)
{
    TRY(load(g, folder));
    TRY(verify(g, valid));
    if (*valid) TRY(measure(g, valid));
    return WSC_OK;
}

int main(int argc, char **argv)
{
    static struct grid g;
    bool valid = true;
    g.n_rounds = argc == 4 ? (int)strtol(argv[3], NULL, 10) : 3;
    if (argc < 3 || argc > 4 || g.n_rounds < 1 || g.n_rounds > MOST_ROUNDS) {
        (void)fprintf(stderr, "usage: simulation_cost configs/params FILE [ROUNDS, at most %d]\n",
                      MOST_ROUNDS);
        return EXIT_FAILURE;
    }
    wsc_mem_tune();
    enum wsc_err rc = run(&g, argv[1], &valid);
    zoo_params_fini(&g.params);
    hw_machine_fini(&g.cluster);
    if (rc || !valid) {
        (void)fprintf(stderr, "%s\n", rc ? wsc_err_message() : "messages differ: nothing measured");
        return EXIT_FAILURE;
    }
    sort_rounds(&g);
    print(&g);
    if (write_json(&g, argv[2])) return EXIT_SUCCESS;
    (void)fprintf(stderr, "%s cannot be written\n", argv[2]);
    return EXIT_FAILURE;
}
