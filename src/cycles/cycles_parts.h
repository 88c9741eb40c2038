/** Cycles of the parts of a stage (embedding, q k v, attention, feed-forward, head) and of stages:
 *  which operations each one has, by the model's features. */
#ifndef WSC_CYCLES_PARTS_H
#define WSC_CYCLES_PARTS_H
#include <wsc/cycles_ops.h>

/** What backward of a block computes again, by what is kept. */
struct cycles_keep_row {
    bool qkv, attention, output, ffn0;
    bool branch;  /**< with gates: the last product too */
    bool gated;   /**< a choice of models with gates alone */
    bool by_part; /**< needs no weights of another part: possible when parts stream one by one */
};
extern const struct cycles_keep_row cycles_keep_rows[CYCLES_N_KEEPS];

/** What @p keep makes necessary to compute again in @p part. */
double cycles_part_again(const struct cycles_layout *l, enum model_part part,
                         enum cycles_keep keep);
/** From the start of the part's backward to its first gradient row, all that @p keep makes
 *  necessary for this part included. */
double cycles_part_first_gradient(const struct cycles_layout *l, enum model_part part,
                                  enum cycles_keep keep);
/** Cycles of a stage: its parts, times the machine's kernel factor. */
struct cycles_breakdown cycles_layout_stage(const struct cycles_layout *l,
                                            const struct model_stage *stage, enum cycles_keep keep,
                                            bool backward);
/** Sum of the four kinds. */
double cycles_total(const struct cycles_breakdown *c);
#endif
