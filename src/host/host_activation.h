/** The nonlinearity of the FFN on one row of its hidden features, forward and backward, in fp32. A
 *  gated one has two inputs for each output. */
#ifndef WSC_HOST_ACTIVATION_H
#define WSC_HOST_ACTIVATION_H
#include <wsc/model.h>

#include <stdint.h>

/** out (F) = the nonlinearity of one row (F, or 2 F when gated). */
void host_activate(const struct model *m, float *out, const float *pre);
/** Recompute out, and compute the gradient of the row from that of out. */
void host_activate_backward(const struct model *m, float *out, float *dpre, const float *dout,
                            const float *pre);
/** out (n) = @p function of a row (n). */
void host_function(enum zoo_nonlinearity function, float *out, const float *x, int64_t n);
/** out = function(x) and dx = dout function'(x); dx may be dout. */
void host_function_backward(enum zoo_nonlinearity function, float *out, float *dx,
                            const float *dout, const float *x, int64_t n);
#endif
