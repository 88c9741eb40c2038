// SPDX-License-Identifier: Apache-2.0
/* The loops of sparse products in plain C for any processor: a vector is an array of sixteen
 * lanes, with fmaf() and the tree over the lanes that all vector units use. This file defines the
 * bits of the results. */
#include <math.h>

typedef struct {
    float lane[16];
} vec;

#define UNIT

static inline vec vec_load(const float *x)
{
    vec v;
    for (int i = 0; i < 16; i++)
        v.lane[i] = x[i];
    return v;
}

static inline void vec_store(float *x, vec v)
{
    for (int i = 0; i < 16; i++)
        x[i] = v.lane[i];
}

static inline vec vec_fill(float x)
{
    vec v;
    for (int i = 0; i < 16; i++)
        v.lane[i] = x;
    return v;
}

static inline vec vec_fma(vec a, vec b, vec c)
{
    for (int i = 0; i < 16; i++)
        c.lane[i] = fmaf(a.lane[i], b.lane[i], c.lane[i]);
    return c;
}

/* Sums over the lanes: lanes j and j + 8 are added, then j and j + 4, j + 2, j + 1. */
static inline void vec_sums(vec v[4], float out[4])
{
    for (int i = 0; i < 4; i++) {
        for (int width = 8; width > 0; width /= 2)
            for (int j = 0; j < width; j++)
                v[i].lane[j] += v[i].lane[j + width];
        out[i] = v[i].lane[0];
    }
}

#include "sparse_loops.h"

static bool here(void)
{
    return true;
}

const struct num_sparse_unit num_sparse_portable = {"portable", here, multiply, dots};
