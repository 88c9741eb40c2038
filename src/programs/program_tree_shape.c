// SPDX-License-Identifier: Apache-2.0
/* Assigns colours and changes of switches to a tree on a line of PEs, independent of any fabric.
 * For each position it computes the colour on which the position sends, the blocks in which it
 * receives its children, and the messages that pass it. program_path.c sets the routes of the PEs.
 */
#include "program_tree_shape.h"

#include <wsc/mem.h>

/* Colours of a tree. A message uses a colour that is free between sender and receiver, if there is
 * one; no router on its path then needs a switch. Otherwise a PE first uses the colour for its own
 * messages, and its switch then changes to passing messages: at a sender after its last word, at a
 * receiver by a control wavelet of the last child on that colour. A star uses all available
 * colours. Any other tree uses only two, as in HPDC'24: with more colours, messages of far PEs
 * would arrive early and occupy links that near PEs need, and still have to wait for these. */
enum { DEEP = 2 };

void programs_tree_shape_fini(struct programs_tree_shape *s)
{
    wsc_free(s->children);
    wsc_free(s->last);
    wsc_free(s->previous);
    wsc_free(s->colour);
    wsc_free(s->passing);
    wsc_free(s->node);
}

/* Allocate the arrays of all positions, zeroed; all are freed on failure. */
static enum wsc_err allocate(struct programs_tree_shape *s, int n)
{
    s->children = wsc_alloc(WSC_MEM_MESH, (size_t)n, sizeof *s->children);
    s->last = wsc_alloc(WSC_MEM_MESH, (size_t)n, sizeof *s->last);
    s->previous = wsc_alloc(WSC_MEM_MESH, (size_t)n, sizeof *s->previous);
    s->colour = wsc_alloc(WSC_MEM_MESH, (size_t)n, sizeof *s->colour);
    s->passing = wsc_alloc(WSC_MEM_MESH, (size_t)n, sizeof *s->passing);
    s->node = wsc_alloc(WSC_MEM_MESH, (size_t)n, sizeof *s->node);
    if (s->children && s->last && s->previous && s->colour && s->passing && s->node) return WSC_OK;
    programs_tree_shape_fini(s);
    return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "a tree");
}

/* Make lists of children; returns true for a star. */
static bool list_children(struct programs_tree_shape *s)
{
    for (int i = 1; i < s->n; i++) {
        int p = s->parent[i];
        s->children[p]++;
        s->previous[i] = s->last[p];
        s->last[p] = i;
    }
    return s->children[0] == s->n - 1;
}

/* Colours for the children of @p i: those on which no message passes @p i, or otherwise all but
 * its own. */
static unsigned free_colours(const struct programs_tree_shape *s, int i)
{
    unsigned all = (1U << s->colours.n) - 1U;
    if (i) all &= ~(1U << s->colour[i]);
    return all & ~s->passing[i] ? all & ~s->passing[i] : all;
}

/* Ratio of the sizes of consecutive blocks, so that @p blocks blocks hold @p children children.
 * Blocks grow: while one block is added, the words of the next one close their gaps in the routers
 * on the path, which hides the cycle of each switch. */
static int block_ratio(int children, int blocks)
{
    for (int ratio = 1;; ratio++) {
        int64_t sum = 0, size = 1;
        for (int i = 0; i < blocks && sum < children; i++, size *= ratio)
            sum += size;
        if (sum >= children) return ratio;
    }
}

static void add_block(struct programs_node *node, int colour, int size)
{
    node->colour[node->n_blocks] = (int8_t)colour;
    node->count[node->n_blocks++] = (int16_t)size;
}

/* Divide the children of position @p i into blocks, nearest first; the last block has the rest. */
static void cut_blocks(const struct programs_tree_shape *s, int i, struct programs_node *node)
{
    unsigned set = free_colours(s, i);
    int left = s->children[i], blocks = __builtin_popcount(set), size = 1;
    const int ratio = blocks > 1 ? block_ratio(left, blocks) : 1;
    for (; left; set &= set - 1, size *= ratio, blocks--) {
        int now = blocks == 1 || size > left ? left : size;
        add_block(node, s->colours.first + __builtin_ctz(set), now);
        left -= now;
    }
}

/* Set what child @p k does after its words; @p closes: it is the last one of its block. */
static void end_of_message(const struct programs_tree_shape *s, int k, bool closes,
                           struct programs_node *node)
{
    static const enum mesh_command all[8] = {MESH_ADVANCE, MESH_ADVANCE, MESH_ADVANCE,
                                             MESH_ADVANCE, MESH_ADVANCE, MESH_ADVANCE,
                                             MESH_ADVANCE, MESH_ADVANCE};
    int colour = s->colour[k];
    bool own = s->passing[k] >> colour & 1;
    node->send = (int8_t)(s->colours.first + colour);
    node->control = closes && s->passing[s->parent[k]] >> colour & 1;
    node->switches = own && !node->control;
    node->payload = mesh_control(all, own ? 8 : 1, -1);
}

/* Set the blocks of position @p i and the colours of its children. The messages of nearer
 * children, and those that pass @p i, do not pass a child. */
static void place_children(struct programs_tree_shape *s, int i)
{
    struct programs_node *node = &s->node[i];
    unsigned passing = s->passing[i];
    cut_blocks(s, i, node);
    int block = node->n_blocks - 1, used = 0;
    for (int k = s->last[i]; block >= 0; k = s->previous[k]) {
        s->colour[k] = (int16_t)(node->colour[block] - s->colours.first);
        s->passing[k] = (uint8_t)passing;
        passing |= 1U << s->colour[k];
        end_of_message(s, k, !used, &s->node[k]);
        if (++used < node->count[block]) continue;
        used = 0;
        block--;
    }
}

enum wsc_err programs_tree_shape_init(struct programs_tree_shape *s, int n,
                                      struct programs_colours colours, const int *parent)
{
    *s = (struct programs_tree_shape){.n = n, .colours = colours, .parent = parent};
    TRY(allocate(s, n));
    s->node[0].send = -1;
    s->colour[0] = -1; /* the root sends to nobody */
    if (!list_children(s)) s->colours.n = DEEP;
    for (int i = 0; i < n; i++)
        place_children(s, i);
    return WSC_OK;
}

bool programs_node_receives(const struct programs_node *node, int colour)
{
    for (int i = 0; i < node->n_blocks; i++)
        if (node->colour[i] == colour) return true;
    return false;
}
