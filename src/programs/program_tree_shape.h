/** A tree on a line of PEs with its colours, independent of any fabric: the messages that each
 *  position receives, sends and lets pass. program_path.c lays it on PEs, program_tree_cost.c
 *  computes its time. */
#ifndef WSC_PROGRAMS_TREE_SHAPE_H
#define WSC_PROGRAMS_TREE_SHAPE_H
#include <wsc/err.h>
#include <wsc/mesh.h>

#include <stdbool.h>
#include <stdint.h>

/* Colours 0 .. 7 are for trees of lines, each with the input queue of its number; higher colours
 * have other uses. */
enum { PROGRAMS_LINE_COLOURS = 8, PROGRAMS_COLOUR_BCAST = 10 };
struct programs_colours {
    int first, n;
};

/* Role of a PE in the tree of a line: it receives from its children in blocks, one colour each,
 * nearest first; after its own words its switch changes, or it sends a control wavelet. */
struct programs_node {
    int16_t count[PROGRAMS_LINE_COLOURS];
    int8_t colour[PROGRAMS_LINE_COLOURS];
    uint8_t n_blocks;
    int8_t send; /* colour, -1: none */
    bool switches, control;
    uint32_t payload;
};
/* A reduction on a line of n PEs. */
struct programs_load {
    enum mesh_arch arch;
    int n;
    int64_t words;
    struct programs_colours colours;
};
/* The tree on a line. Children of position i, from the far end: last[i], previous[last[i]] and so
 * on. */
struct programs_tree_shape {
    int n;
    struct programs_colours colours;
    const int *parent;               /* borrowed */
    int *children, *last, *previous; /* owned arrays, as those that follow */
    int16_t *colour;                 /* on which it sends, relative to colours.first; -1: none */
    uint8_t *passing;                /* set of colours on which messages of others pass */
    struct programs_node *node;
};
/* @p parent in pre-order; at least two colours, at most PROGRAMS_LINE_COLOURS. */
enum wsc_err programs_tree_shape_init(struct programs_tree_shape *s, int n,
                                      struct programs_colours colours, const int *parent);
void programs_tree_shape_fini(struct programs_tree_shape *s);
bool programs_node_receives(const struct programs_node *node, int colour);
#endif
