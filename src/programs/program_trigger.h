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

/** What a program says about its items; kept by the program, which runs on g->trigger. */
struct programs_trigger {
    int accumulators; /**< items whose sums have not ended, and the one under way; 1 .. 16 */
    int parts;        /**< consecutive items that share an accumulator, and are summed up as one */
    /** Items of a PE. */
    int (*items)(const struct mesh_pe *pe);
    /** Fill in the multiply-adds of item @p i but for thread, wait, activate, writes; false when
     *  nothing arrives for it. */
    bool (*item)(const struct mesh_pe *pe, int i, struct mesh_trigger *t);
    /** The part of the PE in adding item @p i up; @p any: something has arrived for it.  False
     *  when there is nothing to add up, or not yet (an item that is not the last of its parts). */
    bool (*sum)(const struct mesh_pe *pe, int i, bool any, struct programs_sum *s);
    /** The sums of item @p i have ended at this PE; NULL: nothing to do. */
    enum wsc_err (*ended)(struct mesh_pe *pe, int i);
};
/** Bind the tasks of the items (MAIN, ITEM, SUMMED) to the PEs of @p rect and start them. */
enum wsc_err programs_trigger_bind(struct programs_grid *g, struct mesh_rect rect);
/** A control wavelet that ends an item. */
uint32_t programs_item_end(void);
#endif
