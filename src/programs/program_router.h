/** The router of a mixture of experts on the mesh: which networks every token gets, with which
 *  weights and at which places, and the load-balancing loss. program_experts.c calls it. */
#ifndef WSC_PROGRAMS_ROUTER_H
#define WSC_PROGRAMS_ROUTER_H
#include "program_state.h"

#include <wsc/err.h>

/** Values of the experts from @p x (what networks take), the choice, the weights, the places. */
enum wsc_err programs_route(struct programs_model *k, const struct programs_tile *x);
/** Gradients of the router's weights, and *@p dx = that of @p x, from those of the weights of
 * places and of the load-balancing loss; what the router left is used up. */
enum wsc_err programs_route_backward(struct programs_model *k, const struct programs_tile *x,
                                     const struct programs_tile *dx);
/** Load-balancing loss of the samples first .. first + n - 1, times what the mean loss is divided
 *  by; 0 without experts. */
double programs_balance_loss(const struct programs_model *k, int first, int n);
#endif
