/** Cycles of the operations between an encoder and a decoder: the norm of the encoder's output,
 *  projections of queries from the decoder and of keys and values from that output, attention
 *  between them. */
#ifndef WSC_CYCLES_CROSS_H
#define WSC_CYCLES_CROSS_H
#include <wsc/cycles_ops.h>

/** The layout of cross attention: queries as in @p l, the keys of the encoder without a mask,
 *  scores that are only scaled. */
struct cycles_layout cycles_cross_layout(const struct cycles_layout *l);

void cycles_memory_forward(const struct cycles_layout *l, struct cycles_breakdown *c);
void cycles_memory_backward(const struct cycles_layout *l, struct cycles_breakdown *c);
double cycles_memory_first(const struct cycles_layout *l);
void cycles_cross_qkv_forward(const struct cycles_layout *l, struct cycles_breakdown *c);
void cycles_cross_qkv_backward(const struct cycles_layout *l, struct cycles_breakdown *c);
double cycles_cross_qkv_first(const struct cycles_layout *l);
void cycles_cross_attn_forward(const struct cycles_layout *l, struct cycles_breakdown *c);
void cycles_cross_attn_backward(const struct cycles_layout *l, struct cycles_breakdown *c);
double cycles_cross_attn_first(const struct cycles_layout *l);
#endif
