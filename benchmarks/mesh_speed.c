// SPDX-License-Identifier: Apache-2.0
/* Speed of the mesh: busy fabrics of 128 x 128 PEs, and one number over a whole wafer.
 *
 *   mesh [ROUNDS [FILE]]     FILE: results as JSON
 *
 * Every run is verified: values against the host, cycles against the pinned count.  Printed are
 * router-cycles per second (cycles x PEs over the time of the run), median and range over rounds,
 * on 1 and 2 threads.  Beside them stands what public simulators reach: BookSim2 0.241 M on busy
 * 128 x 128 uniform traffic, MuchiSim 1.39 M tile-cycles/s on 32 x 32, each on two cores of a
 * shared Xeon. */
#include <wsc/kernels.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 32, N_CASES = 6, MAX_THREADS = 2 };

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
    double rate[MAX_ROUNDS], seconds[MAX_ROUNDS]; /* sorted */
    struct mesh_stats stats;
    bool valid;
};

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static enum wsc_err measure(const struct workload *w, int threads, int rounds, struct measured *out)
{
    const struct kernels_row *kernel;
    struct programs_case c = w->c;
    struct programs_result r;
    c.threads = threads;
    out->valid = true;
    TRY(kernels_row_find(w->kernel, &kernel));
    for (int i = 0; i < rounds; i++) {
        TRY(kernels_row_run(kernel, &c, &r));
        out->valid = out->valid && r.max_error <= 0 && r.stats.cycles == w->cycles;
        out->stats = r.stats;
        out->seconds[i] = r.host_seconds;
        out->rate[i] = 1e-6 * (double)r.stats.cycles * c.w * c.h / r.host_seconds;
    }
    qsort(out->rate, (size_t)rounds, sizeof out->rate[0], by_size);
    qsort(out->seconds, (size_t)rounds, sizeof out->seconds[0], by_size);
    return WSC_OK;
}

static void print(const struct workload *w, int threads, int rounds, const struct measured *m,
                  FILE *json)
{
    const double events = (double)(m->stats.wavelet_hops + m->stats.elements);
    const double median = m->rate[rounds / 2], seconds = m->seconds[rounds / 2];
    (void)printf("%-10s %-10s %4d x %-4d %d thread%s %8lld cycles  %7.1f [%.1f, %.1f] M "
                 "router-cycles/s  %5.1f M events/s  %6.2f s%s\n",
                 w->kernel, w->c.algo, w->c.w, w->c.h, threads, threads > 1 ? "s" : " ",
                 (long long)m->stats.cycles, median, m->rate[0], m->rate[rounds - 1],
                 1e-6 * events / seconds, seconds, m->valid ? "" : "  WRONG");
    if (!json) return;
    (void)fprintf(json,
                  "%s{\"kernel\": \"%s\", \"algo\": \"%s\", \"fabric\": [%d, %d], \"threads\": %d, "
                  "\"cycles\": %lld, \"router_cycles_per_s\": %.0f, \"seconds\": %.3f, "
                  "\"valid\": %s}",
                  ftell(json) > 1 ? ",\n " : "", w->kernel, w->c.algo, w->c.w, w->c.h, threads,
                  (long long)m->stats.cycles, 1e6 * median, seconds, m->valid ? "true" : "false");
}

static enum wsc_err run_all(int rounds, FILE *json, bool *valid)
{
    if (json) (void)fputs("[", json);
    for (int i = 0; i < N_CASES * MAX_THREADS; i++) {
        const struct workload *w = &workloads[i / MAX_THREADS];
        const int threads = 1 + i % MAX_THREADS;
        struct measured m = {0};
        TRY(measure(w, threads, rounds, &m));
        print(w, threads, rounds, &m, json);
        *valid = *valid && m.valid;
    }
    (void)printf("peak memory %.2f GB\n", 1e-9 * (double)wsc_mem_peak_rss_bytes());
    if (json) (void)fputs("]\n", json);
    return WSC_OK;
}

int main(int argc, char **argv)
{
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* lines as they come, into a pipe too */
    const long asked = argc > 1 ? strtol(argv[1], NULL, 10) : 3;
    const int rounds = asked < 1 ? 1 : asked > MAX_ROUNDS ? MAX_ROUNDS : (int)asked;
    FILE *json = argc > 2 ? fopen(argv[2], "w") : NULL;
    bool valid = true;
    if (argc > 2 && !json) {
        (void)fprintf(stderr, "mesh: %s cannot be written\n", argv[2]);
        return 1;
    }
    enum wsc_err rc = run_all(rounds, json, &valid);
    if (rc) (void)fprintf(stderr, "mesh: %s\n", wsc_err_message());
    if (json && fclose(json)) rc = WSC_IO;
    return rc || !valid;
}
