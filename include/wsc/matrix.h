/** Small dense matrices of doubles for fits: the inverse of a normal matrix, the factor of a
 *  covariance. A matrix of @p n rows lies in rows of @p stride doubles.
 *
 *      double a[4][4];
 *      if (!wsc_matrix_invert(&a[0][0], 2, 4, 0)) return singular; */
#ifndef WSC_MATRIX_H
#define WSC_MATRIX_H
#include <stdbool.h>

/** Replace the symmetric, positive definite @p a by its inverse (Gauss and Jordan, without a
 *  search for pivots). False when a pivot is not above @p tiny in magnitude: @p a is singular and
 *  its contents are lost. */
bool wsc_matrix_invert(double *a, int n, int stride, double tiny);
/** Write the lower triangle L, L L' = @p a, into @p factor, from the lower triangle of @p a.
 *  @return the number of rows that were factored: n, or less when what is left of a diagonal
 *  element is not above @p tiny, which means that @p a is not positive definite. */
int wsc_matrix_cholesky(const double *a, int n, int stride, double tiny, double *factor);
#endif
