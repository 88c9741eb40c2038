// SPDX-License-Identifier: Apache-2.0
/* Makes trees of a reduction on a line of PEs: star, chain, binary tree, two phases, and those of
 * the dynamic program of HPDC'24 (Luczynski et al., arXiv 2404.15888), with its formulas.
 * program_tree_cost.c chooses among them by their schedule. */
#include "program_tree.h"
#include "program_tree_cost.h"
#include "program_tree_shape.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

/* Analytical model and the dynamic programme: Luczynski et al., "Near-Optimal Wafer-Scale Reduce",
 * HPDC'24, arXiv 2404.15888.  A message costs 2 T_R + 1 cycles besides words and distance. */
enum { T_R = 2, MESSAGE = 2 * T_R + 1 };

static int group_size(int p)
{
    int s = (int)lround(sqrt(p));
    return s > 1 ? s : 1;
}

/* E*(r, d): least wavelet-hops to add up r PEs with at most d messages in a row, and the size of
 * the subtree that is received last. */
struct programme {
    int p, depths;   /* known for d < depths */
    int32_t *energy; /* [d][r], d < p, r <= p */
    int16_t *last;
};
static const int32_t impossible = INT32_MAX / 4;

static int64_t at(const struct programme *e, int d, int r)
{
    return (int64_t)d * (e->p + 1) + r;
}

/* E*(r, d) = min over s of E*(s, d - 1) + E*(r - s, d) + r - s: the last s of r PEs send over r -
 * s hops. */
static void best_split(struct programme *e, int d, int r)
{
    int32_t best = impossible;
    for (int s = 1; s < r; s++) {
        int32_t cost = e->energy[at(e, d - 1, s)] + e->energy[at(e, d, r - s)] + r - s;
        if (cost >= best) continue;
        best = cost;
        e->last[at(e, d, r)] = (int16_t)s;
    }
    e->energy[at(e, d, r)] = best;
}

static void programme_fini(struct programme *e)
{
    wsc_free(e->energy);
    wsc_free(e->last);
}

/* Bound on the cycles of the tree of depth @p d: energy over the p - 1 links, distance, depth. */
static double bound_at(const struct programme *e, int64_t words, int d)
{
    int32_t energy = e->energy[at(e, d, e->p)];
    if (energy >= impossible) return INFINITY;
    return (double)words * energy / (e->p - 1) + e->p - 1 + (double)d * MESSAGE;
}

/* Fill the table depth by depth, until a deeper tree cannot be better even with the least energy.
 * Returns the least bound. */
static double programme_fill(struct programme *e, int64_t words)
{
    double best = INFINITY, least = (double)words + e->p - 1;
    for (int r = 2; r <= e->p; r++)
        e->energy[r] = impossible;
    for (e->depths = 1; e->depths < e->p && least + (double)e->depths * MESSAGE < best;
         e->depths++) {
        for (int r = 2; r <= e->p; r++)
            best_split(e, e->depths, r);
        best = fmin(best, bound_at(e, words, e->depths));
    }
    return best;
}

static enum wsc_err programme_init(struct programme *e, int p)
{
    enum { LARGEST = 1024 }; /* the dynamic programme takes time p^3 */
    if (p > LARGEST)
        return WSC_RAISE(WSC_USAGE, "auto: %d PEs in a line, expected at most %d", p, LARGEST);
    e->p = p;
    e->energy = wsc_alloc(WSC_MEM_MESH, (size_t)p * ((size_t)p + 1), sizeof *e->energy);
    e->last = wsc_alloc(WSC_MEM_MESH, (size_t)p * ((size_t)p + 1), sizeof *e->last);
    if (e->energy && e->last) return WSC_OK;
    programme_fini(e);
    return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "the dynamic programme");
}

/* The tree of E*(r, d) on PEs first .. first + r - 1, root first, in pre-order. */
static void build(const struct programme *e, int first, int r, int d, int *parent)
{
    for (int s; r > 1; r -= s) {
        s = e->last[at(e, d, r)];
        parent[first + r - s] = first;
        build(e, first + r - s, s, d - 1, parent);
    }
}

static const char *const fixed[] = {"chain", "two-phase", "tree", "star"};
enum { N_FIXED = sizeof fixed / sizeof *fixed };
static void fill_fixed(const char *algo, int p, int *parent);

/* Choose the tree whose messages need the fewest cycles, among the trees of the dynamic programme,
 * one for each depth, and the fixed trees. The bound of the dynamic programme does not include the
 * order of messages or switches. */
static enum wsc_err choose(const struct programme *e, const struct programs_load *load, int *trial,
                           int *parent)
{
    int64_t best = INT64_MAX, cycles;
    for (int i = 1 - N_FIXED; i < e->depths; i++) {
        trial[0] = -1;
        if (i <= 0)
            fill_fixed(fixed[-i], e->p, trial);
        else if (e->energy[at(e, i, e->p)] < impossible)
            build(e, 0, e->p, i, trial);
        else
            continue;
        TRY(programs_tree_cycles(load, trial, &cycles));
        if (cycles >= best) continue;
        best = cycles;
        memcpy(parent, trial, (size_t)e->p * sizeof *parent);
    }
    return WSC_OK;
}

/* Set @p parent to the tree with the shortest schedule for this load; nothing for a single PE. */
static enum wsc_err auto_tree(const struct programs_load *load, int *parent)
{
    struct programme e = {0};
    int *trial;
    if (load->n == 1) return WSC_OK;
    TRY(programme_init(&e, load->n));
    trial = wsc_alloc(WSC_MEM_MESH, (size_t)load->n, sizeof *trial);
    (void)programme_fill(&e, load->words);
    enum wsc_err rc = trial ? choose(&e, load, trial, parent) : WSC_NOMEM;
    wsc_free(trial);
    programme_fini(&e);
    return rc ? wsc_err_frame(rc, __FILE__, __LINE__, "the best tree") : WSC_OK;
}

/* Bound of HPDC'24 for the best tree; -1 when the line is too long for the dynamic programme. */
static double auto_bound(int p, int64_t words)
{
    struct programme e = {0};
    if (programme_init(&e, p)) return -1;
    double bound = programme_fill(&e, words);
    programme_fini(&e);
    return bound;
}

/* Parent of position @p i in a fixed tree; two-phase has groups of @p s PEs, with a chain in each
 * and one chain of their first PEs. */
static int parent_of(const char *algo, int i, int s)
{
    if (!strcmp(algo, "star")) return 0;
    if (!strcmp(algo, "tree")) return i & (i - 1);
    if (!strcmp(algo, "two-phase")) return i % s ? i - 1 : i - s;
    return i - 1;
}

static void fill_fixed(const char *algo, int p, int *parent)
{
    for (int i = 1; i < p; i++)
        parent[i] = parent_of(algo, i, group_size(p));
}

enum wsc_err programs_tree(const char *algo, const struct programs_load *load, int *parent)
{
    bool found = !strcmp(algo, "snake");
    parent[0] = -1;
    if (!strcmp(algo, "auto")) return auto_tree(load, parent);
    for (int i = 0; i < N_FIXED; i++)
        found |= !strcmp(algo, fixed[i]);
    if (!found)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--algo %s: no such algorithm", algo),
                            "wsc mesh list shows those of each kernel");
    fill_fixed(algo, load->n, parent);
    return WSC_OK;
}

enum wsc_err programs_tree_formula(const struct programs_load *load, const int *parent,
                                   double *cycles)
{
    const double b = (double)load->words, links = load->n - 1;
    int64_t energy = 0;
    int *depth, *children, deepest = 0, most = 1;
    *cycles = 0;
    if (load->n == 1) return WSC_OK;
    TRY_NEW(depth, WSC_MEM_MESH, 2 * (int64_t)load->n);
    children = depth + load->n;
    for (int i = 1; i < load->n; i++) {
        depth[i] = depth[parent[i]] + 1;
        if (depth[i] > deepest) deepest = depth[i];
        if (++children[parent[i]] > most) most = children[parent[i]];
        energy += i - parent[i];
    }
    wsc_free(depth);
    *cycles = fmax(b * most, b * (double)energy / links + links) + MESSAGE * deepest;
    return WSC_OK;
}

double programs_formula_reduce(const char *algo, int p, int64_t words)
{
    double n = p, b = (double)words, s = group_size(p), levels = ceil(log2(n));
    if (p == 1) return 0;
    if (!strcmp(algo, "chain") || !strcmp(algo, "snake")) return b + (MESSAGE + 1) * (n - 1);
    if (!strcmp(algo, "star")) return fmax(b * (n - 1), b * n / 2 + n - 1) + MESSAGE;
    if (!strcmp(algo, "tree"))
        return fmax(b * levels, b * n * levels / (2 * (n - 1)) + n - 1) + MESSAGE * levels;
    if (!strcmp(algo, "two-phase"))
        return fmax(2 * b, 2 * b * (n - s) / (n - 1) + n - 1) + (2 * s - 2) * MESSAGE;
    return strcmp(algo, "auto") != 0 ? -1 : auto_bound(p, words);
}

double programs_formula_broadcast(int w, int h, int64_t words)
{
    return (double)words + w + h - 2 + MESSAGE;
}

double programs_formula_ring(int p, int64_t words)
{
    double n = p;
    return 2 * (n - 1) * (double)words / n + 4 * n - 6 + 2 * (n - 1) * MESSAGE;
}
