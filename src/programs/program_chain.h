/** Communication patterns on lines of PEs: words from the edge, gathering, sums that pass from PE
 *  to PE, and keys of attention along the columns. */
#ifndef WSC_PROGRAMS_CHAIN_H
#define WSC_PROGRAMS_CHAIN_H
#include "program_grid.h"

#include <wsc/err.h>
#include <wsc/mesh.h>

#include <stdbool.h>

/** Neighbouring PEs: position p lies at (x, y) + p (dx, dy), to the east or to the south. */
struct programs_line {
    int x, y, dx, dy, n;
};
static inline struct programs_line programs_column(const struct programs_grid *g, int x)
{
    return (struct programs_line){x, 0, 0, 1, g->h};
}
/** @p n columns of row number @p row from column @p x of its lane on. */
static inline struct programs_line programs_row(const struct programs_grid *g, int row, int x,
                                                int n)
{
    return (struct programs_line){row / g->h * g->w + x, programs_y(g, row), 1, 0, n};
}
/** Route a colour from the north edge down all columns of active lanes to every PE. */
enum wsc_err programs_route_from_edge(struct programs_grid *g, int colour, int queue);
/** A gather with broadcast: the words of all positions, in order, are collected at position 0 on @p
 *  gather and sent from there to all positions, itself included, on @p colour. */
struct programs_gather {
    int gather, colour;
    int in_gather, in, out;
};
enum wsc_err programs_route_gather(struct programs_grid *g, const struct programs_line *l,
                                   const struct programs_gather *c);
/** Let the words of the positions after @p position (of @p n) pass, after its own words. */
enum wsc_err programs_gather_pass(struct mesh_pe *pe, const struct programs_gather *c, int position,
                                  int n, int thread);
/** The sending half of a gather at one PE. The PE sends its own words in up to two parts. Then the
 *  PE at position 0 relays the words of all others from the gathering colour to the broadcast
 *  colour; at other PEs only the switch changes. */
struct programs_gather_send {
    const struct programs_gather *gather;
    int position, n, task;
    struct mesh_dsd own[2], others; /**< memory; shape of all words of others */
    enum mesh_code own_move, move;  /**< codes for own and for relayed words */
};
/** Body of the task that sends; it runs again after each part. */
enum wsc_err programs_gather_step(struct mesh_pe *pe, const struct programs_gather_send *s);
/** Send the keys (rows of @p tile) of one sequence up and down the columns: token by token, all
 *  features of the column. */
enum wsc_err programs_send_keys(struct mesh_pe *pe, const struct programs_tile *tile, int sample);
/** Bind routes and tasks for programs_send_keys() on the columns that hold features; @p on_scalar
 *  NULL: keys start no task. */
enum wsc_err programs_route_keys(struct programs_grid *g, const struct programs_features *f,
                                 mesh_task_fn send, mesh_task_fn on_scalar);
/** Number of column groups that the heads occupy on a row. */
static inline int programs_head_groups(const struct programs_features *f)
{
    return (f->n / f->head_dim + f->heads_per_pe - 1) / f->heads_per_pe;
}
/** Number of lines of heads on all active rows. programs_head_line(): line @p i. */
static inline int programs_n_head_lines(const struct programs_grid *g,
                                        const struct programs_features *f)
{
    return programs_head_groups(f) * programs_rows(g);
}
static inline struct programs_line programs_head_line(const struct programs_grid *g,
                                                      const struct programs_features *f, int i)
{
    const int group = i / programs_rows(g), row = i % programs_rows(g);
    return programs_row(g, row, group * f->group_cols, f->group_cols);
}

/** Sums along a line: each PE receives, adds its own words and sends the sums. Four colours: @p
 *  colour and the next one toward the start, by the parity of the sender's position, and two more
 *  away from it. */
struct programs_chain {
    int colour;
    int in_far, in_near, out_start, out_away;
};
extern const struct programs_chain programs_line_chain,
    programs_edge_chain; /**< the second one is used toward the edge only */
/** Route a chain in both directions or, with @p to_edge, toward the start and off the fabric
 *  there. */
enum wsc_err programs_route_chain(struct programs_grid *g, const struct programs_line *l,
                                  const struct programs_chain *c, bool to_edge);
/** The part of one PE, position @c position of @c n, in a sum of @c own (@c code: MESH_FADDS or
 *  MESH_FMAXS) at position @c root (-1: off the edge), which gets @c result. */
struct programs_sum {
    const struct programs_chain *chain;
    enum mesh_code code;
    int position, n, root, thread;
    int activate;                /**< local task id + 1 to activate at the end, or 0 */
    struct mesh_dsd own, result; /**< of equal length, or own is a number */
    struct mesh_dsd wide;        /**< 32-bit sums of a 16-bit result; otherwise no operand */
    bool own_half;               /**< own is of 16-bit numbers */
};
enum wsc_err programs_sum_part(struct mesh_pe *pe, const struct programs_sum *s);
#endif
