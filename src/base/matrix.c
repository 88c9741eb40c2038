// SPDX-License-Identifier: Apache-2.0
/* Small dense matrices: the inverse by Gauss and Jordan in place, and Cholesky's factor. Fits of
 * constants (validation) and of scaling laws (law) call them. */
#include <wsc/matrix.h>

#include <math.h>
#include <stddef.h>

bool wsc_matrix_invert(double *a, int n, int stride, double tiny)
{
    for (int k = 0; k < n; k++) {
        double *row = a + (ptrdiff_t)k * stride;
        const double pivot = row[k];
        if (!(fabs(pivot) > tiny)) return false;
        row[k] = 1;
        for (int j = 0; j < n; j++)
            row[j] /= pivot;
        for (int i = 0; i < n; i++) {
            double *other = a + (ptrdiff_t)i * stride;
            const double factor = other[k];
            if (i == k) continue;
            other[k] = 0;
            for (int j = 0; j < n; j++)
                other[j] -= factor * row[j];
        }
    }
    return true;
}

int wsc_matrix_cholesky(const double *a, int n, int stride, double tiny, double *factor)
{
    for (int i = 0; i < n; i++) {
        double *row = factor + (ptrdiff_t)i * stride;
        for (int j = 0; j <= i; j++) {
            const double *other = factor + (ptrdiff_t)j * stride;
            double rest = a[(ptrdiff_t)i * stride + j];
            for (int k = 0; k < j; k++)
                rest -= row[k] * other[k];
            if (i == j && !(rest > tiny)) return i;
            row[j] = i == j ? sqrt(rest) : rest / other[j];
        }
    }
    return n;
}
