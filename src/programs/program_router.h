/** The router of a mixture of experts on the mesh: which networks every token gets, with which
 *  weights and at which places, and the load-balancing loss. program_experts.c calls it. */
#ifndef WSC_PROGRAMS_ROUTER_H
#define WSC_PROGRAMS_ROUTER_H
#include "program_state.h"

#include <wsc/err.h>

/** Run the router on @p x, the input of the networks: values of the experts, the choice, the
 *  weights, the places. */
enum wsc_err programs_route(struct programs_model *k, const struct programs_tile *x);
/** Compute the gradients of the router's weights and of its input (@p dx), from the gradients of
 *  the weights of places and of the load-balancing loss. The results of programs_route() are
 *  overwritten. */
enum wsc_err programs_route_backward(struct programs_model *k, const struct programs_tile *x,
                                     const struct programs_tile *dx);
/** Load-balancing loss of the samples first .. first + n - 1, times the number by which the mean
 *  loss is divided; 0 without experts. */
double programs_balance_loss(const struct programs_model *k, int first, int n);
#endif
