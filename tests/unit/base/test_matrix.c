// SPDX-License-Identifier: Apache-2.0
/* Small dense matrices whose inverses and factors are known. */
#include "../../support/test.h"

#include <wsc/matrix.h>

#include <math.h>
#include <stdbool.h>

enum { STRIDE = 6 };

/* H_ij = 1 / (i + j + 1); its inverse is whole (Choi 1983), for n = 4 in rows below. */
TEST(matrix, the_inverse_of_hilbert_is_whole)
{
    static const double expected[4][4] = {{16, -120, 240, -140},
                                          {-120, 1200, -2700, 1680},
                                          {240, -2700, 6480, -4200},
                                          {-140, 1680, -4200, 2800}};
    double a[4][STRIDE];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < STRIDE; j++)
            a[i][j] = 1.0 / (i + j + 1);
    CU_ASSERT(wsc_matrix_invert(&a[0][0], 4, STRIDE, 0));
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++)
            T_NEAR(a[i][j] / expected[i][j], 1, 1e-10);
        for (int j = 4; j < STRIDE; j++)
            T_NEAR(a[i][j], 1.0 / (i + j + 1), 0); /* what is beside the matrix stays */
    }
}

TEST(matrix, a_singular_matrix_is_told)
{
    double exact[2][2] = {{1, 2}, {2, 4}}, nearly[2][2] = {{1, 1}, {1, 1 + 1e-13}};
    CU_ASSERT(!wsc_matrix_invert(&exact[0][0], 2, 2, 0));
    CU_ASSERT(!wsc_matrix_invert(&nearly[0][0], 2, 2, 1e-12));
}

/* The matrix of the smaller index, M_ij = min(i, j) + 1, is L L' with ones in L. */
TEST(matrix, the_factor_of_the_smaller_index_is_ones)
{
    double a[STRIDE][STRIDE] = {{0}}, factor[STRIDE][STRIDE] = {{0}};
    for (int i = 0; i < STRIDE; i++)
        for (int j = 0; j <= i; j++) /* the lower triangle alone is read */
            a[i][j] = j + 1;
    T_EQ(wsc_matrix_cholesky(&a[0][0], STRIDE, STRIDE, 0, &factor[0][0]), STRIDE);
    for (int i = 0; i < STRIDE; i++)
        for (int j = 0; j < STRIDE; j++)
            T_NEAR(factor[i][j], j <= i ? 1 : 0, 0);
    a[4][4] = 4; /* what rows before it leave of it is 0 */
    T_EQ(wsc_matrix_cholesky(&a[0][0], STRIDE, STRIDE, 0, &factor[0][0]), 4);
}
