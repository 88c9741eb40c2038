// SPDX-License-Identifier: Apache-2.0
/* Implements the canonical binary tree over n items: which maximal subtrees cover a range, and in
 * which order two neighbouring lists of subtrees are added. All sums over micro-shards follow this
 * tree, for any number of wafers (docs/ARCHITECTURE.md, values): floating-point addition is not
 * associative, so a sum has one value only if every addition is fixed. Example of 5 items:
 * ((0 + 1) + (2 + 3)) + 4. The owner of the items 1 to 3 has the maximal nodes 1 and (2 + 3) and
 * cannot add them, because 1 has to be added to its sibling 0 first. */
#include "num_impl.h"

#include <wsc/check.h>

/* A range of up to 2^30 items has at most 60 maximal nodes, so two lists fit NUM_MAX_NODES. */
static const int64_t max_items = INT64_C(1) << 30;

/* Number of levels above the items: the root covers 2^level >= n_items. */
static int root_level(int64_t n_items)
{
    int level = 0;
    while (INT64_C(1) << level < n_items)
        level++;
    return level;
}

/* First item and end item that a node covers. */
static void node_span(const struct num_node *node, int64_t n_items, int64_t *first, int64_t *end)
{
    int64_t size = INT64_C(1) << node->level;
    int64_t last = (node->index + 1) * size;
    *first = node->index * size;
    *end = last < n_items ? last : n_items;
}

/* The largest node that begins at `first` and does not go beyond `end`. */
static struct num_node largest_node(int64_t first, int64_t end, int64_t n_items)
{
    struct num_node best = {.level = 0, .index = first};
    for (int level = 1; level <= root_level(n_items); level++) {
        int64_t size = INT64_C(1) << level, node_first, node_end;
        if (first % size != 0) break;
        struct num_node node = {.level = level, .index = first / size};
        node_span(&node, n_items, &node_first, &node_end);
        if (node_end > end) break;
        best = node;
    }
    return best;
}

void num_nodes_of_range(struct num_nodes *out, int64_t first, int64_t end, int64_t n_items)
{
    WSC_CHECK(n_items >= 0 && n_items <= max_items, "%lld items", (long long)n_items);
    out->n = 0;
    if (first >= end) return;
    WSC_CHECK(first >= 0 && end <= n_items, "range [%lld, %lld) of %lld items", (long long)first,
              (long long)end, (long long)n_items);
    for (int64_t at = first; at < end;) {
        struct num_node node = largest_node(at, end, n_items);
        int64_t ignored;
        out->node[out->n++] = node;
        node_span(&node, n_items, &ignored, &at);
    }
}

/* Move a node up while its right sibling would lie beyond the last item: such a node is its own
 * parent. */
static void promote(struct num_node *node, int64_t n_items)
{
    while (node->level < root_level(n_items) && node->index % 2 == 0 &&
           (node->index + 1) << node->level >= n_items) {
        node->level++;
        node->index /= 2;
    }
}

/* True when the nodes are the left and the right child of one parent. */
static bool siblings(const struct num_node *left, const struct num_node *right)
{
    return left->level == right->level && left->index % 2 == 0 && right->index == left->index + 1;
}

/* Append a node to the merged list, and add the last two nodes as long as they are siblings. So
 * the list always has the maximal nodes of the range. */
static void push(struct num_merge *out, struct num_node node, int slot, int64_t n_items)
{
    struct num_nodes *stack = &out->result;
    promote(&node, n_items);
    stack->node[stack->n] = node;
    out->slot[stack->n++] = slot;
    while (stack->n >= 2 && siblings(&stack->node[stack->n - 2], &stack->node[stack->n - 1])) {
        int left = stack->n - 2;
        out->step[out->n_steps++] =
            (struct num_merge_step){.into = out->slot[left], .from = out->slot[left + 1]};
        stack->n--;
        stack->node[left].level++;
        stack->node[left].index /= 2;
        promote(&stack->node[left], n_items);
    }
}

void num_merge_plan(struct num_merge *out, const struct num_nodes *left,
                    const struct num_nodes *right, int64_t n_items)
{
    WSC_CHECK(left->n >= 0 && right->n >= 0 && left->n + right->n <= NUM_MAX_NODES,
              "merge of %d and %d nodes", left->n, right->n);
    if (left->n > 0 && right->n > 0) {
        int64_t ignored, left_end, right_first;
        node_span(&left->node[left->n - 1], n_items, &ignored, &left_end);
        node_span(&right->node[0], n_items, &right_first, &ignored);
        WSC_CHECK(left_end == right_first, "merge of ranges that end at %lld and start at %lld",
                  (long long)left_end, (long long)right_first);
    }
    out->n_steps = 0;
    out->result.n = 0;
    for (int i = 0; i < left->n; i++)
        push(out, left->node[i], i, n_items);
    for (int i = 0; i < right->n; i++)
        push(out, right->node[i], left->n + i, n_items);
}
