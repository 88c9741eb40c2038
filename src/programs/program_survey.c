// SPDX-License-Identifier: Apache-2.0
/* Runs `wsc mesh survey`: collectives on rows and squares of growing size, compared with the
 * formulas of HPDC'24, and the chosen tree compared with the best of the fixed ones. Each formula
 * has its tolerance here, and the reason why some formulas are only estimates. */
#include "program_tree.h"

#include <wsc/err.h>
#include <wsc/programs.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

bool programs_point_scheduled(const struct programs_point *p)
{
    return p->reason && p->schedule >= 0 && (double)p->cycles < p->reference &&
           p->reference - (double)p->cycles > fmax(p->slack, p->tolerance * p->reference);
}

bool programs_point_holds(const struct programs_point *p)
{
    double reference = programs_point_scheduled(p) ? p->schedule : p->reference;
    double over = (double)p->cycles - reference, allowed = fmax(p->slack, p->tolerance * reference);
    return over <= allowed && (p->at_most || -over <= allowed);
}

typedef enum wsc_err (*run_fn)(const struct programs_case *c, struct programs_result *r);
static const struct collective {
    const char *name;
    run_fn run;
} broadcast = {"broadcast", programs_run_broadcast}, reduce = {"reduce", programs_run_reduce},
  allreduce = {"allreduce", programs_run_allreduce};

/* A collective with the tolerance of its formula: relative, or `slack` cycles if that is more; and
 * the reason if the formula is only an estimate. */
struct row {
    const struct collective *kernel;
    const char *algo;
    double tolerance, slack;
    const char *reason;
};
static const char overlap[] = "the formula adds up load, distance and depth, which overlap";
static const char bound[] = "the formula is the least over all trees without order and switches, "
                            "and adds up terms that overlap";
static const char whole_words[] = "the formula splits words over PEs without rounding up";

static const struct row in_a_row[] = {
    {&broadcast, "", 0.02, 6, NULL},
    {&reduce, "chain", 0.02, 6, NULL},
    {&reduce, "star", 0.10, 6, overlap},
    {&reduce, "tree", 0.10, 6, overlap},
    {&reduce, "two-phase", 0.10, 6, overlap},
    {&reduce, "auto", 0.10, 6, bound},
    {&allreduce, "chain", 0.02, 6, NULL},
    {&allreduce, "auto", 0.10, 6, bound},
    {&allreduce, "ring", 0.10, 6, whole_words},
};
/* On squares the formula is T(M) + T(N), rows first, then the first column; the snake is a chain
 * over all PEs. */
static const struct row in_a_square[] = {
    {&broadcast, "", 0.02, 6, NULL},          {&reduce, "chain", 0.02, 6, NULL},
    {&reduce, "snake", 0.02, 6, NULL},        {&reduce, "tree", 0.10, 6, overlap},
    {&reduce, "two-phase", 0.10, 6, overlap}, {&reduce, "auto", 0.10, 6, bound},
    {&allreduce, "chain", 0.02, 6, NULL},     {&allreduce, "snake", 0.02, 6, NULL},
    {&allreduce, "auto", 0.10, 6, bound},
};
enum {
    N_ROWS = sizeof in_a_row / sizeof *in_a_row,
    N_SQUARES = sizeof in_a_square / sizeof *in_a_square
};

/* Largest line and vector, and the function that receives the points. */
struct survey {
    int max_p;
    int64_t max_words;
    programs_point_fn point;
    void *ctx;
};

/* Run one case; a wrong sum ends the survey. */
static enum wsc_err run(const struct collective *kernel, const struct programs_case *c,
                        struct programs_result *r)
{
    TRY(kernel->run(c, r));
    if (!(r->max_error <= 0)) /* NaN too */
        return WSC_RAISE(WSC_NUMERIC, "%s %s, %d x %d PEs, %lld words: wrong by %g", kernel->name,
                         r->algo, c->w, c->h, (long long)c->words, r->max_error);
    return WSC_OK;
}

/* Report one point: simulated cycles, the formula, the formula for the tree that was built, and
 * the schedule. */
static enum wsc_err count(const struct survey *s, const struct row *row, struct programs_case c)
{
    struct programs_result r = {0};
    struct programs_point out = {.p = c.w,
                                 .h = c.h,
                                 .words = c.words,
                                 .tolerance = row->tolerance,
                                 .slack = row->slack,
                                 .reason = row->reason};
    c.algo = *row->algo ? row->algo : NULL;
    TRY(run(row->kernel, &c, &r));
    (void)snprintf(out.what, sizeof out.what, "%s%s", row->kernel->name,
                   c.h > 1 ? " of a square" : "");
    (void)snprintf(out.algo, sizeof out.algo, "%s", row->algo);
    out.cycles = r.stats.cycles;
    out.reference = r.analytical;
    out.built = r.built;
    out.schedule = r.schedule;
    return s->point(s->ctx, &out);
}

/* Rows of 4, 8, ... PEs with 1, 4, 16, ... words. */
static enum wsc_err rows(const struct survey *s)
{
    for (int i = 0; i < N_ROWS; i++)
        for (int p = 4; p <= s->max_p; p *= 2)
            for (int64_t words = 1; words <= s->max_words; words *= 4)
                TRY(count(s, &in_a_row[i],
                          (struct programs_case){.w = p, .h = 1, .words = words, .seed = 1}));
    return WSC_OK;
}

/* The cost of a square grows with the square of its side, so sides end at 64. */
static enum wsc_err squares(const struct survey *s)
{
    enum { LARGEST = 64 };
    for (int i = 0; i < N_SQUARES; i++)
        for (int p = 4; p <= s->max_p && p <= LARGEST; p *= 2)
            for (int64_t words = 1; words <= s->max_words && words <= 256; words *= 16)
                TRY(count(s, &in_a_square[i],
                          (struct programs_case){.w = p, .h = p, .words = words, .seed = 1}));
    return WSC_OK;
}

/* Least number of cycles: a root receives at most one word per cycle; in one group, two phases are
 * a chain. A tree that needs more than the best one is not run. */
static int64_t least_cycles(const struct programs_fixed_tree *tree, int p, int64_t words)
{
    int64_t children = 0;
    for (int i = 1; i < p; i++)
        children += !tree->parent(i, p);
    return children * words;
}

/* Compare the chosen tree with the fastest fixed one, both simulated; fixed trees that cannot be
 * faster are skipped. */
static enum wsc_err against_fixed(const struct survey *s, struct programs_case c)
{
    int n;
    const struct programs_fixed_tree *fixed = programs_fixed_trees(&n);
    struct programs_point out = {
        .p = c.w, .h = 1, .words = c.words, .built = -1, .tolerance = 0.03, .at_most = true};
    struct programs_result r = {0};
    c.algo = "auto";
    TRY(run(&reduce, &c, &r));
    out.cycles = r.stats.cycles;
    out.schedule = r.schedule;
    for (int i = 0; i < n; i++) {
        if (!fixed[i].is_candidate || least_cycles(&fixed[i], c.w, c.words) > out.cycles) continue;
        c.algo = fixed[i].name;
        TRY(run(&reduce, &c, &r));
        if (out.reference > 0 && (double)r.stats.cycles >= out.reference) continue;
        out.reference = (double)r.stats.cycles;
        (void)snprintf(out.algo, sizeof out.algo, "%s", fixed[i].name);
    }
    (void)snprintf(out.what, sizeof out.what, "auto against best fixed");
    return s->point(s->ctx, &out);
}

/* Rows of many lengths, also between powers of two, where fixed trees are unbalanced. */
static enum wsc_err chosen(const struct survey *s)
{
    static const int size[] = {3, 4, 5, 6, 7, 8, 12, 16, 32, 50, 64, 100, 128, 256, 512};
    for (int i = 0; i < (int)(sizeof size / sizeof *size) && size[i] <= s->max_p; i++)
        for (int64_t words = 1; words <= s->max_words; words *= 4)
            TRY(against_fixed(
                s, (struct programs_case){.w = size[i], .h = 1, .words = words, .seed = 1}));
    return WSC_OK;
}

enum wsc_err programs_survey(int max_p, int64_t max_words, programs_point_fn point, void *ctx)
{
    const struct survey s = {max_p, max_words, point, ctx};
    TRY(rows(&s));
    TRY(chosen(&s));
    return squares(&s);
}
