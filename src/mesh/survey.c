// SPDX-License-Identifier: Apache-2.0
#include "kernels_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool mesh_point_holds(const struct mesh_point *p)
{
    double off = fabs((double)p->cycles - p->form);
    return off <= p->slack || off <= p->tolerance * p->form;
}

struct row {
    const char *kernel, *algo;
    double tolerance, slack;
    const char *reason;
};

/* Where the closed form is only a bound, or leaves something out, the reason is told. */
static const struct row rows[] = {
    {"broadcast", "", 0.02, 6, NULL},
    {"reduce", "chain", 0.02, 6, NULL},
    {"reduce", "star", 0.10, 6,
     "the form has no cost of switches: here a control wavelet and a turn of the switch a PE, "
     "(B + 2)(P - 1); for small B it adds up a load and a distance that overlap"},
    {"reduce", "tree", 0.10, 6,
     "the form has no cost of switches, and adds up a load and a distance that overlap"},
    {"reduce", "two-phase", 0.10, 6,
     "the form adds up a load and a distance that overlap, and has no cost of switches"},
    {"reduce", "auto", 0.10, 6,
     "a lower bound over all trees (mean load of the links), without the cost of switches"},
    {"allreduce", "chain", 0.02, 6, NULL},
    {"allreduce", "ring", 0.10, 6, "the form splits words over PEs without rounding up"},
};

static enum wsc_err count(const struct row *row, int p, int64_t words, mesh_point_fn point,
                          void *ctx)
{
    const struct mesh_case c = {
        .algo = *row->algo ? row->algo : NULL, .w = p, .h = 1, .words = words, .seed = 1};
    const struct mesh_kernel *k;
    struct mesh_result r;
    struct mesh_point out = {.p = p,
                             .words = words,
                             .tolerance = row->tolerance,
                             .slack = row->slack,
                             .reason = row->reason};
    TRY(mesh_kernel_find(row->kernel, &k));
    TRY(k->run(&c, &r));
    if (r.max_error > 0)
        return WSC_RAISE(WSC_NUMERIC, "%s %s, %d PEs, %lld words: wrong by %g", row->kernel,
                         row->algo, p, (long long)words, r.max_error);
    (void)snprintf(out.what, sizeof out.what, "%s", row->kernel);
    (void)snprintf(out.algo, sizeof out.algo, "%s", row->algo);
    out.cycles = r.stats.cycles;
    out.form = r.form;
    return point(ctx, &out);
}

enum wsc_err mesh_survey(int max_p, int64_t max_words, mesh_point_fn point, void *ctx)
{
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++)
        for (int p = 4; p <= max_p; p *= 2)
            for (int64_t words = 1; words <= max_words; words *= 4)
                TRY(count(&rows[i], p, words, point, ctx));
    return WSC_OK;
}
