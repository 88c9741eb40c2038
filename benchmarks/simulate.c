// SPDX-License-Identifier: Apache-2.0
/* Speed of the simulation itself: models that no host could hold, times without values.
 *
 *   simulate CONFIGS [FILE]     CONFIGS: the folder configs/params; FILE: results as JSON
 *
 * Set up, warm up, time, and verify: the same virtual time in every run, and in a sweep.
 *   one     13B on 64 CS-2: messages per CPU second, CPU seconds of a step, peak memory
 *   sweep   8 models x 1 .. 64 CS-2: CPU seconds, peak memory */
#include <wsc/clock.h>
#include <wsc/job.h>
#include <wsc/mem.h>
#include <wsc/scaling.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_MODELS = 8, N_COUNTS = 7, N_ROUNDS = 5, PASS_STEPS = 20, BIG = 6, BIG_CSX = 64 };

static const char *const file_of[N_MODELS] = {"gpt3_111m", "gpt3_256m", "gpt3_590m", "gpt3_1p3b",
                                              "gpt3_2p7b", "gpt3_6p7b", "gpt3_13b",  "gpt3_20b"};
static const int64_t num_csx[N_COUNTS] = {1, 2, 4, 8, 16, 32, 64};

struct bench {
    struct zoo_params params[N_MODELS];
    struct scaling_model model[N_MODELS];
    struct hw_machine cluster;
};
struct result {
    double pass_cpu_s, sweep_cpu_s, sweep_s;
    int64_t messages, step_time_ps, pass_rss, sweep_rss;
    bool valid;
};

static enum wsc_err load(struct bench *b, const char *folder)
{
    char path[4096];
    for (int i = 0; i < N_MODELS; i++) {
        char *bytes;
        size_t n;
        (void)snprintf(path, sizeof path, "%s/%s.yaml", folder, file_of[i]);
        TRY(conf_read_file(path, &bytes, &n));
        enum wsc_err rc = zoo_params_parse(&b->params[i], path, bytes, n, NULL, 0);
        wsc_free(bytes);
        TRY(rc);
        b->model[i] = (struct scaling_model){file_of[i], &b->params[i]};
    }
    const struct conf_set alike = {.text = "cluster.jitter=0"};
    return hw_machine_parse(&b->cluster, NULL, NULL, 0, &alike, 1);
}

static void unload(struct bench *b)
{
    for (int i = 0; i < N_MODELS; i++)
        zoo_params_fini(&b->params[i]);
    hw_machine_fini(&b->cluster);
}

/* Weak scaling, each system with the published share. */
static int64_t batch_of(const struct bench *b, int model, int64_t n)
{
    const struct zoo_params *p = &b->params[model];
    int64_t per_csx = p->train_input.batch_size / p->runconfig.num_csx;
    return n * (per_csx > 0 ? per_csx : 1);
}

/* The step that a sweep finds is that of the pass that is timed: two ways to one number. */
static enum wsc_err verify(const struct bench *b, struct result *r)
{
    struct scaling_row row;
    TRY(scaling_point(&b->model[BIG], &b->cluster, BIG_CSX, batch_of(b, BIG, BIG_CSX), &row));
    if (row.step_time_ps == r->step_time_ps) return WSC_OK;
    r->valid = false;
    (void)fprintf(stderr, "%s on %d CS-2: a step takes %lld ps in a sweep, %lld ps alone\n",
                  b->model[BIG].name, BIG_CSX, (long long)row.step_time_ps,
                  (long long)r->step_time_ps);
    return WSC_OK;
}

/* ---- one pass -------------------------------------------------------------------------------- */

static enum wsc_err keep_last(void *ctx, const struct memoryx_batch *batch)
{
    *(struct memoryx_batch *)ctx = *batch;
    return WSC_OK;
}

static enum wsc_err run_steps(struct comm *comm, const struct zoo_params *params,
                              const struct hw_machine *cluster, struct result *r)
{
    struct cluster *c = NULL;
    struct memoryx_batch last = {0};
    const struct memoryx_hooks hooks = {.on_batch = keep_last, .ctx = &last};
    struct cycles_plan plan;
    struct stream_pass pass = {.mode = STREAM_TRAIN, .n_steps = PASS_STEPS};
    const struct wafer_work work = {.plan = &plan};
    enum wsc_err rc;
    TRY_GOTO(cluster_create(&c, comm, params, cluster, false, &hooks), cleanup);
    TRY_GOTO(cluster_plan_batch(c, &params->train_input, true, &plan, &pass.batch), cleanup);
    double start = wsc_clock_cpu_s();
    TRY_GOTO(cluster_run_pass(c, &pass, &work), cleanup);
    r->pass_cpu_s = wsc_clock_cpu_s() - start;
    r->messages = comm_n_messages(comm);
    r->step_time_ps = last.time_ps;
cleanup:
    cluster_destroy(&c);
    return rc;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x)
{
    qsort(x, N_ROUNDS, sizeof *x, by_value);
    return x[N_ROUNDS / 2];
}

static enum wsc_err time_pass(const struct bench *b, struct result *r)
{
    struct zoo_params params = b->params[BIG]; /* a shallow copy: only numbers differ */
    double cpu[N_ROUNDS];
    params.runconfig.num_csx = BIG_CSX;
    params.train_input.batch_size = batch_of(b, BIG, BIG_CSX);
    for (int i = -1; i < N_ROUNDS; i++) { /* the first one warms up */
        struct comm *comm = NULL;
        int64_t before = r->step_time_ps;
        TRY(comm_create(&comm, false));
        enum wsc_err rc = run_steps(comm, &params, &b->cluster, r);
        comm_destroy(&comm);
        TRY(rc);
        if (i >= 0 && r->step_time_ps != before) r->valid = false;
        if (i >= 0) cpu[i] = r->pass_cpu_s;
    }
    r->pass_cpu_s = median(cpu);
    r->pass_rss = wsc_mem_peak_rss_bytes();
    return WSC_OK;
}

/* ---- the sweep ------------------------------------------------------------------------------- */

static enum wsc_err time_sweep(const struct bench *b, struct result *r)
{
    const struct scaling_sweep sweep = {.model = b->model,
                                        .n_models = N_MODELS,
                                        .num_csx = num_csx,
                                        .n_counts = N_COUNTS,
                                        .cluster = &b->cluster};
    double cpu[N_ROUNDS], wall[N_ROUNDS];
    for (int i = 0; i < N_ROUNDS; i++) {
        struct scaling_row *rows;
        double start = wsc_clock_s(), cpu_start = wsc_clock_cpu_s();
        TRY(scaling_run(&sweep, &rows));
        wall[i] = wsc_clock_s() - start;
        cpu[i] = wsc_clock_cpu_s() - cpu_start;
        wsc_free(rows);
    }
    r->sweep_s = median(wall);
    r->sweep_cpu_s = median(cpu);
    r->sweep_rss = wsc_mem_peak_rss_bytes();
    return WSC_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

static void print(const struct result *r)
{
    double mib = 1 << 20;
    (void)printf("simulation of 13B on 64 CS-2: %.2f million messages per CPU second, "
                 "%.1f ms and %lld messages a step, peak memory %.1f MiB\n",
                 (double)r->messages / r->pass_cpu_s * 1e-6, r->pass_cpu_s / PASS_STEPS * 1e3,
                 (long long)r->messages / PASS_STEPS, (double)r->pass_rss / mib);
    (void)printf("sweep of %d models x %d counts: %.2f s (%.2f CPU s), peak memory %.1f MiB\n",
                 N_MODELS, N_COUNTS, r->sweep_s, r->sweep_cpu_s, (double)r->sweep_rss / mib);
}

static bool write_json(const char *path, const struct result *r)
{
    FILE *f = fopen(path, "w");
    if (!f) return false;
    (void)fprintf(f,
                  "{\"messages_per_cpu_s\": %.1f, \"messages_per_step\": %lld, "
                  "\"step_cpu_s\": %.6f, \"step_time_ps\": %lld, \"pass_peak_rss_bytes\": %lld,\n"
                  " \"sweep_points\": %d, \"sweep_s\": %.4f, \"sweep_cpu_s\": %.4f, "
                  "\"sweep_peak_rss_bytes\": %lld, \"valid\": %s}\n",
                  (double)r->messages / r->pass_cpu_s, (long long)r->messages / PASS_STEPS,
                  r->pass_cpu_s / PASS_STEPS, (long long)r->step_time_ps, (long long)r->pass_rss,
                  N_MODELS * N_COUNTS, r->sweep_s, r->sweep_cpu_s, (long long)r->sweep_rss,
                  r->valid ? "true" : "false");
    return !fclose(f);
}

static enum wsc_err run(struct bench *b, const char *folder, struct result *r)
{
    TRY(load(b, folder));
    TRY(time_pass(b, r));
    TRY(verify(b, r));
    return time_sweep(b, r);
}

int main(int argc, char **argv)
{
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* lines as they come, into a pipe too */
    static struct bench b;
    struct result r = {.valid = true};
    if (argc < 2 || argc > 3) {
        (void)fprintf(stderr, "usage: simulate configs/params [FILE]\n");
        return EXIT_FAILURE;
    }
    wsc_mem_tune();
    enum wsc_err rc = run(&b, argv[1], &r);
    unload(&b);
    if (rc) {
        (void)fprintf(stderr, "%s\n", wsc_err_message());
        return EXIT_FAILURE;
    }
    print(&r);
    if (argc == 3 && !write_json(argv[2], &r)) r.valid = false;
    return r.valid ? EXIT_SUCCESS : EXIT_FAILURE;
}
