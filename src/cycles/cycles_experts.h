/** Cycles of a mixture of experts beside the products of its networks: the router, the choice, and
 *  the copies of tokens to the experts and back. */
#ifndef WSC_CYCLES_EXPERTS_H
#define WSC_CYCLES_EXPERTS_H
#include <wsc/cycles_ops.h>

/** The router's logits, forward. */
double cycles_router_product(const struct cycles_layout *l);
/** Gradients of their input and of the router's weights. */
double cycles_router_product_gradient(const struct cycles_layout *l);
/** From logits to chosen experts and their weights, and the inputs of all networks. */
double cycles_dispatch(const struct cycles_layout *l);
/** Collected again, their gradients added up by token, those of the chosen weights and of the
 *  load-balancing loss to the logits. */
double cycles_dispatch_gradient(const struct cycles_layout *l);
/** Sum of a token's networks, each times its weight. */
double cycles_combine(const struct cycles_layout *l);
/** Gradients to the networks, and those of their weights. */
double cycles_combine_gradient(const struct cycles_layout *l);
#endif
