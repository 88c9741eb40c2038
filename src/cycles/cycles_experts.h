/** Cycles of a mixture of experts beside the products of its networks: the router, the choice, and
 *  the copies of tokens to the experts and back. */
#ifndef WSC_CYCLES_EXPERTS_H
#define WSC_CYCLES_EXPERTS_H
#include <wsc/cycles_ops.h>

/** Cycles of the product that gives the router's logits; 0 without experts. */
double cycles_router_product(const struct cycles_layout *l);
/** Cycles of the gradients of the router's input and of its weights. */
double cycles_router_product_gradient(const struct cycles_layout *l);
/** Cycles to choose experts and their weights from the logits, and to copy tokens to the places of
 *  all networks. */
double cycles_dispatch(const struct cycles_layout *l);
/** Cycles of the gradient of cycles_dispatch(): the inputs are copied again, their gradients are
 *  added up by token, and the gradients of the expert weights and of the load-balancing loss go
 *  back to the logits. */
double cycles_dispatch_gradient(const struct cycles_layout *l);
/** Cycles to add up the outputs of the networks of each token, times the weights of the experts. */
double cycles_combine(const struct cycles_layout *l);
/** Cycles of the gradient of cycles_combine(): gradients of the networks' outputs and of the expert
 *  weights. */
double cycles_combine_gradient(const struct cycles_layout *l);
#endif
