// SPDX-License-Identifier: Apache-2.0
/* Defines the values of the fitted coefficients, from their rows in cycles_fitted.h. The equations
 * of cycles_product.c, cycles_attention.c, cycles_rows.c and cycles_vector.c read them. */
#include "cycles_fitted.h"

#define VALUE(name, value, term, equation) .name = (value),
const struct cycles_fit cycles_fit = {CYCLES_FITTED_MAP(VALUE)};
