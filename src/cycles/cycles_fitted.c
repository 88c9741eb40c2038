// SPDX-License-Identifier: Apache-2.0
/* The table of coefficients that were read off simulated cycles, as values for the equations
 * (cycles_product.c, cycles_attention.c, cycles_rows.c, cycles_vector.c) and as rows for the
 * documents. */
#include "cycles_fitted.h"

#include <wsc/cycles.h>

#define VALUE(name, value, term, equation) .name = (value),
const struct cycles_fit cycles_fit = {CYCLES_FITTED_MAP(VALUE)};

const struct cycles_fitted *cycles_fitted(int *n)
{
#define ROW(name, value, term, equation) {#name, value, term, equation},
    static const struct cycles_fitted row[] = {CYCLES_FITTED_MAP(ROW)};
    *n = (int)(sizeof row / sizeof *row);
    return row;
}
