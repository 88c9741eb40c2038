// SPDX-License-Identifier: Apache-2.0
/* The values of the coefficients that were read off simulated cycles, from their rows in
 * cycles_fitted.h, for the equations of cycles_product.c, cycles_attention.c, cycles_rows.c and
 * cycles_vector.c. */
#include "cycles_fitted.h"

#define VALUE(name, value, term, equation) .name = (value),
const struct cycles_fit cycles_fit = {CYCLES_FITTED_MAP(VALUE)};
