// SPDX-License-Identifier: Apache-2.0
/* The plan of `wsc mesh KERNEL --plan`.  Work is counted in router-cycles: expected cycles times
 * PEs.  The rate is that of the same kernel on a corner of the fabric, at most 32 x 32 PEs that
 * hold what a PE holds on the whole one, on one thread for a quarter of a second, or one run of it:
 *
 *     time(n) = cycles PEs / (rate n) + cycles meeting,   n > 1
 *     memory  = PEs bytes(PE)
 *
 * The meeting of n ranks after every cycle is an assumed constant; threads meet more seldom. */
#include "mesh_plan.h"

#include <wsc/clock.h>
#include <wsc/mem.h>

#include <stdio.h>

enum { SIDE = 32, MOST_RUNS = 64, MOST_WORKERS = 64 };
static const double measured_s = 0.25;
/* Assumed: two messages and a reduction within a host take some microseconds. */
static const double meeting_s = 5e-6;

struct plan {
    struct programs_case probe; /* what was measured */
    double cycles, router_cycles, rate, probe_s;
    bool of_wse2;       /* cycles are by a formula for that generation */
    int64_t base_bytes; /* of the emulator before the probe */
    double pe_bytes;
};

int64_t app_plan_cycles(const struct kernels_row *k, const struct programs_case *c)
{
    const double cycles = kernels_row_cycles(k, c);
    return cycles > 0 ? (int64_t)cycles : 0;
}

/* ---- the small run --------------------------------------------------------------------------- */

static int64_t part_of(int64_t n, int part, int whole)
{
    const int64_t of = (n * part + whole - 1) / whole;
    return of > 0 ? of : n;
}

/* The corner's part of the features of all heads, in whole heads as large as on the fabric, or in
 * one smaller head, which has pairs of features for rotary positions. */
static void cut_heads(struct programs_case *p, const struct programs_case *c)
{
    const int64_t all = part_of(c->heads * c->head_dim, p->w, c->w);
    p->heads = part_of(c->heads, p->w, c->w);
    const int64_t each = (all + p->heads - 1) / p->heads, even = each + each % 2;
    p->head_dim = even < c->head_dim ? even : c->head_dim;
    p->groups = 0;
}

/* A corner of the fabric with its part of rows and columns of the operands. */
static struct programs_case probe_of(const struct kernels_row *k, const struct programs_case *c)
{
    struct programs_case p = *c;
    p.w = c->w < SIDE ? c->w : SIDE;
    p.h = c->h < SIDE ? c->h : SIDE;
    p.m = k->m_on_columns ? part_of(c->m, p.w, c->w) : part_of(c->m, p.h, c->h);
    p.tokens = part_of(c->tokens, p.h, c->h);
    p.n = part_of(c->n, p.w, c->w);
    p.k = part_of(c->k, p.w, c->w);
    p.features = part_of(c->features, p.w, c->w);
    if (k->vocab_on_columns) p.vocab = part_of(c->vocab, p.w, c->w);
    if (c->heads) cut_heads(&p, c);
    p.threads = 1;
    p.share = NULL;
    p.watch = NULL;
    p.stop = NULL;
    p.snapshots = NULL;
    return p;
}

/* Called while the small fabric runs: its memory. */
static void sample_memory(void *ctx, int64_t cycle)
{
    struct plan *p = ctx;
    const int64_t bytes = wsc_mem_in_use(WSC_MEM_MESH) - p->base_bytes;
    const double each = (double)bytes / ((double)p->probe.w * p->probe.h);
    (void)cycle;
    if (each > p->pe_bytes) p->pe_bytes = each;
}

static enum wsc_err measure(struct plan *plan, const struct kernels_row *k,
                            const struct programs_case *c)
{
    struct programs_result r;
    double done = 0, seconds = 0;
    const double start = wsc_clock_s();
    plan->probe = probe_of(k, c);
    plan->probe.progress = sample_memory;
    plan->probe.progress_ctx = plan;
    plan->base_bytes = wsc_mem_in_use(WSC_MEM_MESH);
    for (int i = 0; i < MOST_RUNS && wsc_clock_s() - start < measured_s; i++) {
        TRY(kernels_row_run(k, &plan->probe, &r));
        done += (double)r.stats.cycles * plan->probe.w * plan->probe.h;
        seconds += r.host_seconds;
    }
    plan->probe_s = wsc_clock_s() - start;
    plan->rate = seconds > 0 ? done / seconds : 0;
    return WSC_OK;
}

/* ---- printing -------------------------------------------------------------------------------- */

static double seconds_on(const struct plan *p, int n)
{
    const double work = p->rate > 0 ? p->router_cycles / (p->rate * n) : 0;
    return work + (n > 1 ? p->cycles * meeting_s : 0);
}

/* The generation that the analytical model is of; "" without a model. */
static const char *arch_of_model(const struct plan *p, const struct app_mesh *o)
{
    if (!(p->cycles > 0)) return "";
    return p->of_wse2 || o->c.arch == MESH_WSE2 ? "wse2" : "wse3";
}

static void print_json(const struct plan *p, const struct app_mesh *o, int most)
{
    (void)printf("{\"kernel\": \"%s\", \"fabric\": [%d, %d], \"expected_cycles\": %.0f, "
                 "\"model_arch\": \"%s\", \"router_cycles\": %.0f, \"measured_on\": [%d, %d], "
                 "\"router_cycles_per_s\": %.0f, \"bytes_per_pe\": %.0f, \"memory_bytes\": %.0f, "
                 "\"seconds\": {",
                 o->what, o->c.w, o->c.h, p->cycles, arch_of_model(p, o), p->router_cycles,
                 p->probe.w, p->probe.h, p->rate, p->pe_bytes, p->pe_bytes * o->c.w * o->c.h);
    for (int n = 1; n <= most && p->cycles > 0; n *= 2)
        (void)printf("%s\"%d\": %.3g", n > 1 ? ", " : "", n, seconds_on(p, n));
    (void)printf("}}\n");
}

static void print_text(const struct plan *p, const struct app_mesh *o, int most)
{
    char bytes[32], all[32];
    out_si_unit(bytes, sizeof bytes, p->pe_bytes, "B");
    out_si_unit(all, sizeof all, p->pe_bytes * o->c.w * o->c.h, "B");
    (void)printf("%s on %d x %d PEs: ", o->what, o->c.w, o->c.h);
    if (p->cycles > 0)
        (void)printf("about %.0f cycles by its analytical model%s, %.3g router-cycles\n", p->cycles,
                     p->of_wse2 && o->c.arch != MESH_WSE2 ? " of WSE-2" : "", p->router_cycles);
    else
        (void)printf("no analytical model, so its cycles are not known beforehand\n");
    (void)printf("measured on %d x %d PEs for %.2f s: %.3g M router-cycles/s on one thread, %s a "
                 "PE\nmemory of all PEs at most about %s, divided by the ranks\n",
                 p->probe.w, p->probe.h, p->probe_s, 1e-6 * p->rate, bytes, all);
    for (int n = 1; n <= most && p->cycles > 0; n *= 2)
        (void)printf("  %3d thread%s or rank%s  about %.3g s\n", n, n > 1 ? "s" : " ",
                     n > 1 ? "s" : " ", seconds_on(p, n));
}

enum wsc_err app_plan_print(const struct app_mesh *o, const struct kernels_row *k)
{
    struct plan p = {.cycles = (double)app_plan_cycles(k, &o->c), .of_wse2 = k->expected};
    int most = 1;
    p.router_cycles = p.cycles * o->c.w * o->c.h;
    TRY(measure(&p, k, &o->c));
    while (2 * most <= o->c.h && 2 * most <= MOST_WORKERS)
        most *= 2;
    (o->json ? print_json : print_text)(&p, o, most);
    return WSC_OK;
}
