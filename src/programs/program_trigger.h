/** Sequences of items whose multiply-adds arriving data start. The sums of an item travel along a
 *  line while the next items are computed in other accumulators. The patterns contract, mix and
 *  outer consist of such items (docs/MESH.md, "Transformer programs"). */
#ifndef WSC_PROGRAMS_TRIGGER_H
#define WSC_PROGRAMS_TRIGGER_H
#include "program_chain.h"
#include "program_grid.h"

#include <wsc/err.h>
#include <wsc/mesh.h>

#include <stdbool.h>

/** Description of a program's items; g->trigger points to it while the program runs. */
struct programs_trigger {
    int accumulators; /**< most items without finished sums, the current one included */
    int parts;        /**< consecutive items that share an accumulator and have one sum */
    /** Number of items of a PE. */
    int (*items)(const struct mesh_pe *pe);
    /** Set the multiply-adds of item @p i, except thread, wait, activate and writes; false when
     *  nothing arrives for the item. */
    bool (*item)(const struct mesh_pe *pe, int i, struct mesh_trigger *t);
    /** Set the part of the PE in the sum of item @p i; @p any: data have arrived for it. False when
     *  there is nothing to add, or not yet (an item that is not the last of its parts). */
    bool (*sum)(const struct mesh_pe *pe, int i, bool any, struct programs_sum *s);
    /** Called when the sums of item @p i have ended at this PE; NULL: nothing to do. */
    enum wsc_err (*ended)(struct mesh_pe *pe, int i);
};
/** Bind the tasks of the items (MAIN, ITEM, SUMMED) to the PEs of @p rect and start them. */
enum wsc_err programs_trigger_bind(struct programs_grid *g, struct mesh_rect rect);
/** A control wavelet that ends an item. */
uint32_t programs_item_end(void);
#endif
