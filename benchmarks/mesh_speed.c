// SPDX-License-Identifier: Apache-2.0
/* Speed of the mesh: busy fabrics of 128 x 128 PEs, and one number over a whole wafer.
 *
 *   mesh_speed [ROUNDS [FILE]]     FILE: results as JSON
 *
 * Every run is verified: values against the host, cycles against the pinned count.  Printed are
 * router-cycles per second (cycles x PEs over the time of the run), median and range over rounds,
 * on 1 and 2 threads, and what 2 threads gain over 1 in the same rounds.  Two processes that run
 * the same workload at the same time show what the second processor of this machine adds: a bound
 * for the threads of one run, up to the caches that processes do not share.  Beside them stands
 * what public simulators reach: BookSim2 0.241 M on busy 128 x 128 uniform traffic, MuchiSim 1.39 M
 * tile-cycles/s on 32 x 32, each on two cores of a shared Xeon. */
#include <wsc/err.h>
#include <wsc/kernels.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ROUNDS = 32, N_CASES = 6, N_WAYS = 3 };

/* How a workload runs. */
static const struct way {
    const char *name;
    int threads, processes;
} ways[N_WAYS] = {{"1 thread", 1, 1}, {"2 threads", 2, 1}, {"2 processes", 1, 2}};

static const struct workload {
    const char *kernel;
    struct programs_case c;
    int64_t cycles; /* pinned: exact on every host */
} workloads[N_CASES] = {
    {"allreduce", {.algo = "chain", .w = 128, .h = 128, .words = 1024, .seed = 1}, 4855},
    {"allreduce", {.algo = "two-phase", .w = 128, .h = 128, .words = 1024, .seed = 1}, 5821},
    {"allreduce", {.algo = "auto", .w = 128, .h = 128, .words = 1024, .seed = 1}, 4855},
    {"gemm", {.algo = "stream", .w = 128, .h = 128, .m = 64, .n = 512, .k = 512, .seed = 1}, 7055},
    {"gemm",
     {.algo = "stream", .w = 128, .h = 128, .m = 64, .n = 2048, .k = 512, .seed = 1},
     10607},
    {"allreduce", {.algo = "auto", .w = 750, .h = 994, .words = 1, .seed = 1}, 3548},
};

struct measured {
    double rate[MAX_ROUNDS], seconds[MAX_ROUNDS]; /* by round, then sorted */
    double gain[MAX_ROUNDS];                      /* over the first way */
    struct mesh_stats stats;
    bool valid;
};

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* One run: its seconds. */
static enum wsc_err run_once(const struct workload *w, int threads, struct measured *m, double *s)
{
    const struct kernels_row *kernel;
    struct programs_case c = w->c;
    struct programs_result r;
    c.threads = threads;
    TRY(kernels_row_find(w->kernel, &kernel));
    TRY(kernels_row_run(kernel, &c, &r));
    m->valid = m->valid && r.max_error <= 0 && r.stats.cycles == w->cycles;
    m->stats = r.stats;
    *s = r.host_seconds;
    return WSC_OK;
}

/* This program again for one run, which writes its seconds into the pipe; -1: it did not start. */
static pid_t start_process(const char *program, int workload, int out)
{
    char number[16];
    (void)snprintf(number, sizeof number, "%d", workload);
    const pid_t child = fork();
    if (child) return child;
    (void)dup2(out, STDOUT_FILENO);
    (void)execl(program, program, "--once", number, (char *)NULL);
    _exit(127);
}

/* The same workload in two processes at the same time: the mean of their seconds. */
static bool run_processes(const char *program, int workload, double *seconds)
{
    int ends[2], status;
    pid_t child[2];
    double of[2];
    bool ok = true;
    if (pipe(ends)) return false;
    for (int i = 0; i < 2; i++)
        child[i] = start_process(program, workload, ends[1]);
    (void)close(ends[1]);
    for (int i = 0; i < 2; i++)
        ok = ok && read(ends[0], &of[i], sizeof of[i]) == sizeof of[i];
    (void)close(ends[0]);
    for (int i = 0; i < 2; i++)
        ok = child[i] > 0 && waitpid(child[i], &status, 0) == child[i] && status == 0 && ok;
    if (ok) *seconds = (of[0] + of[1]) / 2;
    return ok;
}

static enum wsc_err measure_round(const char *program, int workload, int round, struct measured *m)
{
    const struct workload *w = &workloads[workload];
    const double router_cycles = (double)w->cycles * w->c.w * w->c.h;
    for (int i = 0; i < N_WAYS; i++) {
        double *seconds = &m[i].seconds[round];
        if (ways[i].processes == 1)
            TRY(run_once(w, ways[i].threads, &m[i], seconds));
        else if (!run_processes(program, workload, seconds))
            return WSC_RAISE(WSC_IO, "%s: two processes at once failed", w->kernel);
        m[i].rate[round] = 1e-6 * ways[i].processes * router_cycles / *seconds;
        m[i].gain[round] = m[i].rate[round] / m[0].rate[round];
    }
    return WSC_OK;
}

static void print(const struct workload *w, const struct way *way, int rounds,
                  const struct measured *m, FILE *json)
{
    const double events = (double)(m->stats.wavelet_hops + m->stats.elements) * way->processes;
    const double median = m->rate[rounds / 2], seconds = m->seconds[rounds / 2];
    (void)printf("%-10s %-10s %4d x %-4d %-11s %8lld cycles  %7.1f [%.1f, %.1f] M "
                 "router-cycles/s  %5.1f M events/s  %6.2f s  %.2f times 1 thread [%.2f, %.2f]%s\n",
                 w->kernel, w->c.algo, w->c.w, w->c.h, way->name, (long long)m->stats.cycles,
                 median, m->rate[0], m->rate[rounds - 1], 1e-6 * events / seconds, seconds,
                 m->gain[rounds / 2], m->gain[0], m->gain[rounds - 1], m->valid ? "" : "  WRONG");
    if (!json) return;
    (void)fprintf(json,
                  "%s{\"kernel\": \"%s\", \"algo\": \"%s\", \"fabric\": [%d, %d], \"threads\": %d, "
                  "\"processes\": %d, \"cycles\": %lld, \"router_cycles_per_s\": %.0f, "
                  "\"seconds\": %.3f, \"over_one_thread\": %.3f, \"valid\": %s}",
                  ftell(json) > 1 ? ",\n " : "", w->kernel, w->c.algo, w->c.w, w->c.h, way->threads,
                  way->processes, (long long)m->stats.cycles, 1e6 * median, seconds,
                  m->gain[rounds / 2], m->valid ? "true" : "false");
}

/* All rounds of a workload, each way once in each, and its lines. */
static enum wsc_err measure(const char *program, int workload, int rounds, FILE *json, bool *valid)
{
    struct measured m[N_WAYS] = {{.valid = true}, {.valid = true}, {.valid = true}};
    for (int round = 0; round < rounds; round++)
        TRY(measure_round(program, workload, round, m));
    m[2].stats = m[0].stats;
    for (int i = 0; i < N_WAYS; i++) {
        qsort(m[i].rate, (size_t)rounds, sizeof m[i].rate[0], by_size);
        qsort(m[i].seconds, (size_t)rounds, sizeof m[i].seconds[0], by_size);
        qsort(m[i].gain, (size_t)rounds, sizeof m[i].gain[0], by_size);
        print(&workloads[workload], &ways[i], rounds, &m[i], json);
        *valid = *valid && m[i].valid;
    }
    return WSC_OK;
}

static enum wsc_err run_all(const char *program, int rounds, FILE *json, bool *valid)
{
    if (json) (void)fputs("[", json);
    for (int i = 0; i < N_CASES; i++)
        TRY(measure(program, i, rounds, json, valid));
    (void)printf("peak memory %.2f GB\n", 1e-9 * (double)wsc_mem_peak_rss_bytes());
    if (json) (void)fputs("]\n", json);
    return WSC_OK;
}

/* One verified run on one thread; its seconds go to standard output, as they are in memory. */
static int run_for_other(const char *number)
{
    const long workload = strtol(number, NULL, 10);
    struct measured m = {.valid = true};
    double seconds = 0;
    if (workload < 0 || workload >= N_CASES) return 2;
    if (run_once(&workloads[workload], 1, &m, &seconds) || !m.valid) return 1;
    return write(STDOUT_FILENO, &seconds, sizeof seconds) != sizeof seconds;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--once")) return run_for_other(argv[2]);
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* lines as they come, into a pipe too */
    const long asked = argc > 1 ? strtol(argv[1], NULL, 10) : 3;
    const int rounds = asked < 1 ? 1 : asked > MAX_ROUNDS ? MAX_ROUNDS : (int)asked;
    FILE *json = argc > 2 ? fopen(argv[2], "w") : NULL;
    bool valid = true;
    if (argc > 2 && !json) {
        (void)fprintf(stderr, "mesh_speed: %s cannot be written\n", argv[2]);
        return 1;
    }
    enum wsc_err rc = run_all(argv[0], rounds, json, &valid);
    if (rc) (void)fprintf(stderr, "mesh_speed: %s\n", wsc_err_message());
    if (json && fclose(json)) rc = WSC_IO;
    return rc || !valid;
}
