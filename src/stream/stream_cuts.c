// SPDX-License-Identifier: Apache-2.0
/* Cuts the shares of wafers at subtrees of the canonical tree, so that no edge of the SwarmX tree
 * carries more than STREAM_CUT_VECTORS gradient vectors in a micro-batch (docs/decisions/0032).
 * Micro-batches, SwarmX nodes and wafers form one tree. From its root down, dynamic programming
 * over the points of a grid cuts the range of a node among its children: every child gets at most
 * two maximal subtrees, and the time of the host is minimal (the largest share of a wafer, summed
 * over micro-batches). A range of two subtrees is cut in the same way at any position, so there are
 * few different cases. Values do not depend on which wafer computes a micro-shard, and the emulated
 * wafers keep even shares (stream_batch.c). job calls stream_cut_batch() before the first pass. */
#include "stream_cuts.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

/* ---- ranges ---------------------------------------------------------------------------------- */

/* A range of at most two maximal subtrees, whatever its position. Levels count from 1; 0: no
 * subtree. */
struct range_kind {
    int left, right;
    bool truncated; /* the last subtree has fewer items than its level has room for */
};

static int root_level(int64_t n_items)
{
    int level = 0;
    while (INT64_C(1) << level < n_items)
        level++;
    return level;
}

static int64_t end_of(int64_t n_items, int64_t first, int level)
{
    const int64_t last = first + (INT64_C(1) << level);
    return last < n_items ? last : n_items;
}

/* Level of the largest subtree that starts at @p first and ends at @p end or before; of levels with
 * equal items the lowest. *@p stop: end of the subtree. */
static int level_at(int64_t n_items, int64_t first, int64_t end, int64_t *stop)
{
    int level = first ? __builtin_ctzll((uint64_t)first) : root_level(n_items);
    while (end_of(n_items, first, level) > end)
        level--;
    *stop = end_of(n_items, first, level);
    while (level > 0 && end_of(n_items, first, level - 1) == *stop)
        level--;
    return level;
}

/* False: the range has more than two subtrees. */
static bool kind_of(int64_t n_items, int64_t first, int64_t end, struct range_kind *kind)
{
    int64_t at = end;
    *kind = (struct range_kind){0};
    if (first >= end) return true;
    kind->left = 1 + level_at(n_items, first, end, &at);
    int64_t begin = first;
    if (at < end) {
        begin = at;
        kind->right = 1 + level_at(n_items, begin, end, &at);
    }
    const int last = kind->right ? kind->right : kind->left;
    kind->truncated = at - begin < INT64_C(1) << (last - 1);
    return at == end;
}

/* ---- the tree of shares ---------------------------------------------------------------------- */

/* A shape: nodes with equal subtrees have one shape. Shape 0 is a wafer, which has no children. */
struct shape {
    int first_child, n_children; /* indices in cuts.child */
    bool in_turn;                /* the children are micro-batches, which run one after the other */
    int64_t n_wafers;
    struct answer *answer; /* owned; one for each kind of range, computed when it is needed */
};
/* The result for a range: its time in micro-shards, and the ends of the ranges of the children,
 * relative to its start. */
struct answer {
    bool known;
    int64_t time;
    int64_t *end; /* owned, n_children */
};
enum { MICRO_FANOUT = 64 }; /* fan-out of the part of the tree that has micro-batches */
struct cuts {
    int64_t n_items;
    int n_levels; /* levels of a range are 0 to n_levels - 1 */
    struct shape *shape;
    int *child; /* owned: shapes of children, in the order of the wafers */
    int n_shapes, n_child, most_shapes;
};

static bool same_children(const struct cuts *c, const struct shape *s, const int *child, int n)
{
    return s->n_children == n &&
           !memcmp(c->child + s->first_child, child, (size_t)n * sizeof *child);
}

/* The shape with these children, which is added if there is none. */
static int shape_of(struct cuts *c, const int *child, int n, bool in_turn)
{
    for (int i = 1; i < c->n_shapes; i++)
        if (c->shape[i].in_turn == in_turn && same_children(c, &c->shape[i], child, n)) return i;
    WSC_CHECK(c->n_shapes < c->most_shapes, "more than %d shapes", c->most_shapes);
    struct shape s = {.first_child = c->n_child, .n_children = n, .in_turn = in_turn};
    for (int i = 0; i < n; i++) {
        c->child[c->n_child++] = child[i];
        s.n_wafers += c->shape[child[i]].n_wafers;
    }
    c->shape[c->n_shapes] = s;
    return c->n_shapes++;
}

/* Shape of the whole SwarmX tree. @p of_node: scratch memory for all nodes. Children have higher
 * numbers than their parent. */
static int shape_of_tree(struct cuts *c, const struct stream_topology *t, int *of_node)
{
    int child[STREAM_MAX_FANOUT] = {0};
    for (int i = t->n_nodes - 1; i >= 0; i--) {
        const struct stream_node *node = &t->node[i];
        for (int k = 0; k < node->n_children; k++)
            child[k] = node->leaf_switch ? 0 : of_node[node->first_child + k];
        of_node[i] = shape_of(c, child, node->n_children, false);
    }
    return t->n_nodes ? of_node[0] : 0;
}

/* Shape of @p n micro-batches of shape @p micro. */
static int shape_of_micros(struct cuts *c, int micro, int64_t n)
{
    int child[MICRO_FANOUT] = {0};
    const int64_t n_children = n < MICRO_FANOUT ? n : MICRO_FANOUT;
    if (n == 1) return micro;
    for (int64_t k = 0; k < n_children; k++)
        child[k] = shape_of_micros(c, micro, n * (k + 1) / n_children - n * k / n_children);
    return shape_of(c, child, (int)n_children, true);
}

/* ---- the best cut of a range ----------------------------------------------------------------- */

static enum wsc_err best_cut(struct cuts *c, int shape, int64_t first, int64_t end,
                             struct answer **out);

/* Time of @p shape with a range of at most two subtrees. */
static enum wsc_err time_of(struct cuts *c, int shape, int64_t first, int64_t end, int64_t *time)
{
    struct answer *answer;
    *time = end - first;
    if (!shape || first == end) return WSC_OK;
    TRY(best_cut(c, shape, first, end, &answer));
    *time = answer->time;
    return WSC_OK;
}

/* A state of the dynamic programming: the ranges of the children so far end at a point of the grid.
 */
struct state {
    int64_t most, sum; /* largest time and sum of times of the children; most < 0: impossible */
    int from;          /* point at which the range of the last child begins */
};
/* The grid of one range, and the states of all its points after each child. */
struct grid {
    int n;               /* number of points */
    int64_t *point;      /* owned, n */
    struct state *state; /* owned, (n_children + 1) n */
};

static int bits_of(int n)
{
    int bits = 0;
    while (1 << bits < n)
        bits++;
    return bits;
}

/* Make a grid with at least eight cells for the mean share of a child, at subtrees of one level.
 * The border between the two subtrees of the range is a point. */
static enum wsc_err grid_create(struct grid *g, const struct cuts *c, int n_children, int64_t first,
                                int64_t end)
{
    enum { CELLS_BITS = 3 };
    struct range_kind kind;
    const int bits = bits_of(n_children) + CELLS_BITS;
    int64_t join = end;
    *g = (struct grid){0};
    (void)kind_of(c->n_items, first, end, &kind);
    if (kind.right) (void)level_at(c->n_items, first, end, &join);
    const int level = (kind.left > kind.right ? kind.left : kind.right) - 1 - bits;
    const int64_t step = INT64_C(1) << (level > 0 ? level : 0);
    const int64_t most = (end - first) / step + 3;
    TRY_NEW(g->point, WSC_MEM_STREAM, most);
    TRY_NEW(g->state, WSC_MEM_STREAM, most * (n_children + 1));
    for (int64_t at = first; at < join; at += step)
        g->point[g->n++] = at;
    for (int64_t at = join; at < end; at += step)
        g->point[g->n++] = at;
    g->point[g->n++] = end;
    return WSC_OK;
}

static void grid_fini(struct grid *g)
{
    wsc_free(g->point);
    wsc_free(g->state);
}

/* Compare two states. Wafers run at the same time, so the largest time counts first; micro-batches
 * run one after the other, so the sum counts first. The other value decides between equals. */
static bool is_better(const struct shape *s, const struct state *a, const struct state *b)
{
    const int64_t a_time = s->in_turn ? a->sum : a->most, b_time = s->in_turn ? b->sum : b->most;
    const int64_t a_other = s->in_turn ? a->most : a->sum, b_other = s->in_turn ? b->most : b->sum;
    if (b->most < 0) return true;
    return a_time < b_time || (a_time == b_time && a_other < b_other);
}

/* A trial: points at which a child would begin and end, and the states before and after it. */
struct trial {
    int child, from, to;
    const struct state *before;
    struct state *after;
};

/* Improve the state at the end of the trial, if its range has at most two subtrees. */
static enum wsc_err try_child(struct cuts *c, const struct grid *g, const struct shape *s,
                              const struct trial *t)
{
    const int64_t first = g->point[t->from], end = g->point[t->to];
    const struct state *before = &t->before[t->from];
    struct range_kind kind;
    int64_t time;
    if (before->most < 0 || !kind_of(c->n_items, first, end, &kind)) return WSC_OK;
    TRY(time_of(c, t->child, first, end, &time));
    const struct state new = {.most = time > before->most ? time : before->most,
                              .sum = before->sum + time,
                              .from = t->from};
    if (is_better(s, &new, &t->after[t->to])) t->after[t->to] = new;
    return WSC_OK;
}

/* Find the best state at t->to, from all points at most @p limit items before it. */
static enum wsc_err try_points(struct cuts *c, const struct grid *g, const struct shape *s,
                               struct trial *t, int64_t limit)
{
    t->after[t->to] = (struct state){.most = -1};
    for (t->from = t->to; t->from >= 0; t->from--) {
        if (g->point[t->to] - g->point[t->from] > limit) break;
        TRY(try_child(c, g, s, t));
    }
    return WSC_OK;
}

/* Compute the states after child @p k, which gets at most @p limit items. */
static enum wsc_err add_child(struct cuts *c, const struct grid *g, const struct shape *s, int k,
                              int64_t limit)
{
    struct trial t = {.child = c->child[s->first_child + k],
                      .before = g->state + (ptrdiff_t)k * g->n,
                      .after = g->state + (ptrdiff_t)(k + 1) * g->n};
    for (t.to = 0; t.to < g->n; t.to++)
        TRY(try_points(c, g, s, &t, limit));
    return WSC_OK;
}

/* Most items that are tried for child @p k of @p s: four times its even share. One or two subtrees
 * of equal level for each child are always within this limit (docs/decisions/0032). */
static int64_t limit_of(const struct cuts *c, const struct shape *s, int k, int64_t total)
{
    const int64_t n = c->shape[c->child[s->first_child + k]].n_wafers;
    const int64_t by_wafers = (4 * total * n + s->n_wafers - 1) / s->n_wafers;
    const int64_t by_children = (4 * total + s->n_children - 1) / s->n_children;
    return 1 + (by_wafers > by_children ? by_wafers : by_children);
}

/* Follow the states from the last one back, and store the ends of the children's ranges. */
static void read_ends(const struct grid *g, const struct shape *s, struct answer *out)
{
    int at = g->n - 1;
    const struct state *last = &g->state[(ptrdiff_t)s->n_children * g->n + at];
    WSC_CHECK(last->most >= 0, "a range is not cut in %d", s->n_children);
    out->time = s->in_turn ? last->sum : last->most;
    for (int k = s->n_children; k > 0; k--) {
        out->end[k - 1] = g->point[at] - g->point[0];
        at = g->state[(ptrdiff_t)k * g->n + at].from;
    }
}

static enum wsc_err cut_on_grid(struct cuts *c, const struct shape *s, const struct grid *g,
                                struct answer *out)
{
    const int64_t total = g->point[g->n - 1] - g->point[0];
    for (int i = 0; i < g->n; i++)
        g->state[i] = (struct state){.most = i ? -1 : 0};
    for (int k = 0; k < s->n_children; k++)
        TRY(add_child(c, g, s, k, limit_of(c, s, k, total)));
    read_ends(g, s, out);
    return WSC_OK;
}

/* The answer for a kind of range. NULL: no memory. */
static struct answer *answer_of(const struct cuts *c, struct shape *s,
                                const struct range_kind *kind)
{
    const int64_t n = c->n_levels + 1;
    if (!s->answer) s->answer = wsc_alloc(WSC_MEM_STREAM, (size_t)(2 * n * n), sizeof *s->answer);
    if (!s->answer) return NULL;
    return &s->answer[(kind->left * n + kind->right) * 2 + kind->truncated];
}

static enum wsc_err best_cut(struct cuts *c, int shape, int64_t first, int64_t end,
                             struct answer **out)
{
    struct shape *s = &c->shape[shape];
    struct range_kind kind;
    struct grid g;
    WSC_CHECK(kind_of(c->n_items, first, end, &kind), "more than two subtrees");
    struct answer *answer = *out = answer_of(c, s, &kind);
    if (!answer) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "cut a batch");
    if (answer->known) return WSC_OK;
    if (!answer->end) TRY_NEW(answer->end, WSC_MEM_STREAM, s->n_children);
    enum wsc_err rc = grid_create(&g, c, s->n_children, first, end);
    if (!rc) rc = cut_on_grid(c, s, &g, answer);
    grid_fini(&g);
    answer->known = !rc;
    return rc;
}

/* ---- the shares ------------------------------------------------------------------------------ */

/* Write the first micro-shards of the shares of all wafers below @p shape, from *@p to on. */
static enum wsc_err write_cuts(struct cuts *c, int shape, int64_t first, int64_t end, int64_t **to)
{
    const struct shape *s = &c->shape[shape];
    struct answer *answer = NULL;
    int64_t begin = first;
    if (!shape) {
        *(*to)++ = first;
        return WSC_OK;
    }
    if (first < end) TRY(best_cut(c, shape, first, end, &answer));
    for (int k = 0; k < s->n_children; k++) {
        const int64_t stop = answer ? first + answer->end[k] : end;
        TRY(write_cuts(c, c->child[s->first_child + k], begin, stop, to));
        begin = stop;
    }
    return WSC_OK;
}

static enum wsc_err cuts_create(struct cuts *c, const struct stream_topology *t,
                                const struct stream_batch *b)
{
    enum { MICRO_SHAPES = 2 * 64 }; /* two sizes on each level */
    const int64_t n_nodes = t->n_nodes + t->n_wafers;
    *c = (struct cuts){.n_items = b->n_micro_shards,
                       .n_levels = root_level(b->n_micro_shards) + 1,
                       .n_shapes = 1,
                       .most_shapes = 1 + t->n_nodes + MICRO_SHAPES};
    TRY_NEW(c->shape, WSC_MEM_STREAM, c->most_shapes);
    TRY_NEW(c->child, WSC_MEM_STREAM, n_nodes + (int64_t)MICRO_SHAPES * MICRO_FANOUT);
    c->shape[0].n_wafers = 1;
    return WSC_OK;
}

static void cuts_fini(struct cuts *c)
{
    const int n = c->n_levels + 1;
    for (int i = 0; c->shape && i < c->n_shapes; i++) {
        for (int k = 0; c->shape[i].answer && k < 2 * n * n; k++)
            wsc_free(c->shape[i].answer[k].end);
        wsc_free(c->shape[i].answer);
    }
    wsc_free(c->shape);
    wsc_free(c->child);
}

/* Write the cuts of all micro-batches of @p b, and the end, to @p cut. */
static enum wsc_err cut_batch(struct cuts *c, const struct stream_topology *t,
                              const struct stream_batch *b, int64_t *cut)
{
    int *of_node;
    WSC_CHECK(c->shape && c->child, "cuts without room for shapes");
    TRY_NEW(of_node, WSC_MEM_STREAM, t->n_nodes + 1);
    const int all = shape_of_micros(c, shape_of_tree(c, t, of_node), b->n_micro);
    enum wsc_err rc = write_cuts(c, all, 0, b->n_micro_shards, &cut);
    *cut = b->n_micro_shards;
    wsc_free(of_node);
    return rc;
}

enum wsc_err stream_cuts_make(const struct stream_topology *t, const struct stream_batch *b,
                              int64_t *cut)
{
    struct cuts c;
    enum wsc_err rc = cuts_create(&c, t, b);
    if (!rc) rc = cut_batch(&c, t, b, cut);
    cuts_fini(&c);
    return rc;
}

/* ---- which batches need it ------------------------------------------------------------------- */

static bool is_within(const struct stream_batch *b, int64_t micro, int w_first, int w_end)
{
    struct num_nodes nodes;
    stream_subtrees(b, micro, w_first, w_end, &nodes);
    return nodes.n <= STREAM_CUT_VECTORS;
}

bool stream_cuts_hold(const struct stream_topology *t, const struct stream_batch *b)
{
    bool holds = true;
    for (int64_t micro = 0; micro < b->n_micro && holds; micro++) {
        for (int i = 0; i < t->n_nodes && holds; i++)
            holds = is_within(b, micro, t->node[i].first_wafer, t->node[i].end_wafer);
        for (int w = 0; w < t->n_wafers && holds; w++)
            holds = is_within(b, micro, w, w + 1);
    }
    return holds;
}

enum wsc_err stream_cut_batch(struct stream_net *net, struct stream_batch *batch)
{
    const struct stream_topology *t = net->topology;
    WSC_CHECK(t->n_wafers == batch->n_wafers, "a batch for %d of %d wafers", batch->n_wafers,
              t->n_wafers);
    batch->cut = NULL;
    wsc_free(net->cut);
    net->cut = NULL;
    if (net->hw->cluster->stream.shares == HW_SHARES_EVEN || stream_cuts_hold(t, batch))
        return WSC_OK;
    TRY_NEW(net->cut, WSC_MEM_STREAM, batch->n_micro * batch->n_wafers + 1);
    TRY(stream_cuts_make(t, batch, net->cut));
    batch->cut = net->cut;
    return WSC_OK;
}
