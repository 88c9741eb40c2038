// SPDX-License-Identifier: Apache-2.0
#include "kernels_impl.h"

#include <math.h>
#include <string.h>

/* Closed forms and the dynamic programme: Luczynski et al., "Near-Optimal Wafer-Scale Reduce",
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
    int p;
    int32_t *energy; /* [d][r], d < p, r <= p */
    int16_t *last;
};
static const int32_t impossible = INT32_MAX / 4;

static int64_t at(const struct programme *e, int d, int r)
{
    return (int64_t)d * (e->p + 1) + r;
}

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

static enum wsc_err programme_init(struct programme *e, int p)
{
    e->p = p;
    e->energy = wsc_alloc(WSC_MEM_MESH, (size_t)p * ((size_t)p + 1), sizeof *e->energy);
    e->last = wsc_alloc(WSC_MEM_MESH, (size_t)p * ((size_t)p + 1), sizeof *e->last);
    if (!e->energy || !e->last) {
        programme_fini(e);
        return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "the dynamic programme");
    }
    for (int r = 2; r <= p; r++)
        e->energy[r] = impossible;
    for (int d = 1; d < p; d++)
        for (int r = 2; r <= p; r++)
            best_split(e, d, r);
    return WSC_OK;
}

static double best_depth(const struct programme *e, int64_t words, int *depth)
{
    double best = INFINITY;
    for (int d = 1; d < e->p; d++) {
        int32_t energy = e->energy[at(e, d, e->p)];
        double cycles = (double)words * energy / (e->p - 1) + e->p - 1 + (double)d * MESSAGE;
        if (energy >= impossible || cycles >= best) continue;
        best = cycles;
        *depth = d;
    }
    return best;
}

static void build(const struct programme *e, int first, int r, int d, int *parent)
{
    for (int s; r > 1; r -= s) {
        s = e->last[at(e, d, r)];
        parent[first + r - s] = first;
        build(e, first + r - s, s, d - 1, parent);
    }
}

static enum wsc_err auto_tree(int p, int64_t words, int *parent, double *cycles)
{
    enum { LARGEST = 1024 }; /* the programme grows with the cube */
    struct programme e;
    int depth = 0;
    *cycles = 0;
    if (p == 1) return WSC_OK;
    if (p > LARGEST)
        return WSC_RAISE(WSC_USAGE, "auto: %d PEs in a line, expected at most %d", p, LARGEST);
    TRY(programme_init(&e, p));
    *cycles = best_depth(&e, words, &depth);
    if (parent) build(&e, 0, p, depth, parent);
    programme_fini(&e);
    return WSC_OK;
}

static int parent_of(const char *algo, int i, int s)
{
    if (!strcmp(algo, "star")) return 0;
    if (!strcmp(algo, "tree")) return i & (i - 1);
    if (!strcmp(algo, "two-phase")) return i % s ? i - 1 : i - s;
    return i - 1;
}

enum wsc_err mesh_tree(const char *algo, int p, int64_t words, int *parent)
{
    static const char *const known[] = {"star", "chain", "tree", "two-phase", "snake"};
    double cycles;
    bool found = false;
    parent[0] = -1;
    if (!strcmp(algo, "auto")) return auto_tree(p, words, parent, &cycles);
    for (int i = 0; i < (int)(sizeof known / sizeof *known); i++)
        found |= !strcmp(algo, known[i]);
    if (!found)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--algo %s: no such algorithm", algo),
                            "wsc mesh list shows those of each kernel");
    for (int i = 1; i < p; i++)
        parent[i] = parent_of(algo, i, group_size(p));
    return WSC_OK;
}

double mesh_form_reduce(const char *algo, int p, int64_t words)
{
    double n = p, b = (double)words, s = group_size(p), levels = ceil(log2(n)), best;
    if (p == 1) return 0;
    if (!strcmp(algo, "chain") || !strcmp(algo, "snake")) return b + (MESSAGE + 1) * (n - 1);
    if (!strcmp(algo, "star")) return fmax(b * (n - 1), b * n / 2 + n - 1) + MESSAGE;
    if (!strcmp(algo, "tree"))
        return fmax(b * levels, b * n * levels / (2 * (n - 1)) + n - 1) + MESSAGE * levels;
    if (!strcmp(algo, "two-phase"))
        return fmax(2 * b, 2 * b * (n - s) / (n - 1) + n - 1) + (2 * s - 2) * MESSAGE;
    if (strcmp(algo, "auto") != 0 || auto_tree(p, words, NULL, &best)) return -1;
    return best;
}

double mesh_form_broadcast(int w, int h, int64_t words)
{
    return (double)words + w + h - 2 + MESSAGE;
}

double mesh_form_ring(int p, int64_t words)
{
    double n = p;
    return 2 * (n - 1) * (double)words / n + 4 * n - 6 + 2 * (n - 1) * MESSAGE;
}
