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

/* ---- trees whose shape does not depend on the load ------------------------------------------- */

static int group_size(int p)
{
    int s = (int)lround(sqrt(p));
    return s > 1 ? s : 1;
}

static int star_parent(int i, int group)
{
    (void)i;
    (void)group;
    return 0;
}

static int chain_parent(int i, int group)
{
    (void)group;
    return i - 1;
}

static int binary_parent(int i, int group)
{
    (void)group;
    return i & (i - 1);
}

/* A chain in each group, and one chain of the first PEs of the groups. */
static int two_phase_parent(int i, int group)
{
    return i % group ? i - 1 : i - group;
}

static double star_cycles(double n, double words)
{
    return fmax(words * (n - 1), words * n / 2 + n - 1) + MESSAGE;
}

static double chain_cycles(double n, double words)
{
    return words + (MESSAGE + 1) * (n - 1);
}

static double binary_cycles(double n, double words)
{
    const double levels = ceil(log2(n));
    return fmax(words * levels, words * n * levels / (2 * (n - 1)) + n - 1) + MESSAGE * levels;
}

static double two_phase_cycles(double n, double words)
{
    const double s = group_size((int)n);
    return fmax(2 * words, 2 * words * (n - s) / (n - 1) + n - 1) + (2 * s - 2) * MESSAGE;
}

static const struct programs_fixed_tree fixed[] = {
    {"star", star_parent, star_cycles, true},
    {"tree", binary_parent, binary_cycles, true},
    {"two-phase", two_phase_parent, two_phase_cycles, true},
    {"chain", chain_parent, chain_cycles, true},
    {"snake", chain_parent, chain_cycles, false}, /* its line of PEs is a snake */
};
enum { N_FIXED = sizeof fixed / sizeof *fixed };

const struct programs_fixed_tree *programs_fixed_trees(int *n)
{
    *n = N_FIXED;
    return fixed;
}

/* NULL: there is none of this name. */
static const struct programs_fixed_tree *find_fixed(const char *algo)
{
    for (int i = 0; i < N_FIXED; i++)
        if (!strcmp(algo, fixed[i].name)) return &fixed[i];
    return NULL;
}

static void fill_fixed(const struct programs_fixed_tree *tree, int p, int *parent)
{
    for (int i = 1; i < p; i++)
        parent[i] = tree->parent(i, group_size(p));
}

/* ---- trees of the dynamic programme ---------------------------------------------------------- */

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

/* The least cycles of a tree so far, and that tree. */
struct choice {
    const struct programs_load *load;
    int64_t cycles;
    int *parent;
};

/* Take the tree @p trial if its messages need fewer cycles. */
static enum wsc_err compare(struct choice *c, const int *trial)
{
    int64_t cycles;
    TRY(programs_tree_cycles(c->load, trial, &cycles));
    if (cycles >= c->cycles) return WSC_OK;
    c->cycles = cycles;
    memcpy(c->parent, trial, (size_t)c->load->n * sizeof *trial);
    return WSC_OK;
}

/* Choose the tree whose messages need the fewest cycles, among the fixed trees and those of the
 * dynamic programme, one for each depth. The bound of the dynamic programme does not include the
 * order of messages or switches. */
static enum wsc_err choose(const struct programme *e, const struct programs_load *load, int *trial,
                           int *parent)
{
    struct choice best = {load, INT64_MAX, parent};
    trial[0] = -1;
    for (int i = 0; i < N_FIXED; i++) {
        if (!fixed[i].is_candidate) continue;
        fill_fixed(&fixed[i], e->p, trial);
        TRY(compare(&best, trial));
    }
    for (int d = 1; d < e->depths; d++) {
        if (e->energy[at(e, d, e->p)] >= impossible) continue;
        build(e, 0, e->p, d, trial);
        TRY(compare(&best, trial));
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

/* ---- by name --------------------------------------------------------------------------------- */

enum wsc_err programs_tree(const char *algo, const struct programs_load *load, int *parent)
{
    const struct programs_fixed_tree *tree = find_fixed(algo);
    parent[0] = -1;
    if (!strcmp(algo, "auto")) return auto_tree(load, parent);
    if (!tree)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--algo %s: no such algorithm", algo),
                            "wsc mesh list shows those of each kernel");
    fill_fixed(tree, load->n, parent);
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
    const struct programs_fixed_tree *tree = find_fixed(algo);
    if (p == 1) return 0;
    if (tree) return tree->cycles(p, (double)words);
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
