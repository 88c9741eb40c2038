/** Memory of a mixture of experts on the mesh: tiles of places, results of a router for each layer,
 *  registers of the rows (struct programs_choice and struct programs_experts). */
#ifndef WSC_PROGRAMS_CHOICE_H
#define WSC_PROGRAMS_CHOICE_H
#include "program_state.h"

#include <wsc/err.h>

/** Reserve a tile of filter features: for tokens or, with experts, for places. */
enum wsc_err programs_reserve_filter(struct programs_model *k, struct programs_tile *t,
                                     const char *what);
/** Reserve the results of a layer's router. */
enum wsc_err programs_reserve_choice(struct programs_model *k, struct programs_choice *c);
/** Reserve what the layers of a model with experts share. */
enum wsc_err programs_reserve_experts(struct programs_model *k);
/** Prepare a micro-batch: the layouts of the analytical model. */
void programs_experts_begin(struct programs_model *k);
/** Free the memory of experts; does nothing without experts. */
void programs_experts_fini(struct programs_model *k);

/** Number of experts that a token chooses. programs_n_slots(): number of networks that it goes
 *  through, shared ones included. */
static inline int programs_n_chosen(const struct programs_model *k)
{
    return (int)k->model->active_experts;
}
static inline int programs_n_slots(const struct programs_model *k)
{
    return (int)model_active_ffns(k->model);
}
/** Addresses of vectors of tokens of a layer: minus the number of the expert chosen as number @p i,
 *  its weight, and 1 over the sum of the weights. */
static inline int programs_chosen_at(const struct programs_model *k,
                                     const struct programs_choice *c, int i)
{
    return c->vectors + 4 * i * k->grid.pitch;
}
static inline int programs_weight_at(const struct programs_model *k,
                                     const struct programs_choice *c, int i)
{
    return programs_chosen_at(k, c, programs_n_chosen(k) + i);
}
static inline int programs_inverse_at(const struct programs_model *k,
                                      const struct programs_choice *c)
{
    return programs_chosen_at(k, c, 2 * programs_n_chosen(k));
}
/** Addresses of scratch vectors of tokens: gradients of the weights, two of a softmax, a further
 *  one, the loss mask. */
static inline int programs_dweight_at(const struct programs_model *k, int i)
{
    return k->experts.tokens + 4 * i * k->grid.pitch;
}
enum { PROGRAMS_SCRATCH_MAX, PROGRAMS_SCRATCH_SUM, PROGRAMS_SCRATCH, PROGRAMS_SCRATCH_MASK };
static inline int programs_scratch_at(const struct programs_model *k, int which)
{
    return programs_dweight_at(k, programs_n_chosen(k) + which);
}
/** Address of the number of the place that token slot @p token of a row has in its network number
 *  @p slot. */
static inline int programs_place_at(const struct programs_model *k, const struct programs_choice *c,
                                    int slot, int token)
{
    return c->places + 4 * (slot * k->grid.pitch + token);
}
/** Sums over the tokens of the loss mask for each expert, in layer @p l and sample @p sample of the
 *  micro-batch: of the selection scores (@p which 0) or of the choices (1). */
static inline float *programs_balance_of(const struct programs_model *k, int64_t l, int64_t sample,
                                         int which)
{
    return k->experts.balance + ((l * k->max_samples + sample) * 2 + which) * k->model->experts;
}
#endif
