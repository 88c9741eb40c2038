// SPDX-License-Identifier: Apache-2.0
/* Fills the tables of positions once, from model_positions.c: rotary angles (Su et al. 2021) or
 * sines (Vaswani et al. 2017). Rows are rotated in place, or back for the gradient. */
#include "host_positions.h"
#include "host_state.h"

#include <wsc/num_math.h>

#include <math.h>

/* ---- rotary: Su et al. 2021, eq. 34, on neighbouring pairs */

/* Fill the table (T, rotary_dim): cosine and sine of each pair side by side, computed in double
 * precision. */
static void fill_rotary(const struct model *m, float *table)
{
    const double factor = model_rotary_factor(m);
    for (int64_t i = 0; i < m->rotary_dim / 2; i++) {
        const double frequency = model_rotary_frequency(m, i);
        for (int64_t t = 0; t < model_longest(m); t++) {
            const double angle = (double)t * frequency;
            table[t * m->rotary_dim + 2 * i] = (float)(cos(angle) * factor);
            table[t * m->rotary_dim + 2 * i + 1] = (float)(sin(angle) * factor);
        }
    }
}

/* Rotate each pair (even, odd) by its angle, or by minus its angle (@p sign -1). */
NUM_CLONES static void rotate_head(float *x, const float *cos_sin, int64_t dims, float sign)
{
    for (int64_t j = 0; j < dims; j += 2) {
        float even = x[j], odd = x[j + 1], c = cos_sin[j], s = sign * cos_sin[j + 1];
        x[j] = even * c - odd * s;
        x[j + 1] = odd * c + even * s;
    }
}

void host_rotate(const struct host *k, const struct host_span *b, float *rows, int64_t cols,
                 bool back)
{
    const struct model *m = k->model;
    for (int64_t i = 0; i < b->n; i++) {
        const float *cos_sin =
            (const float *)k->buffer[HOST_TABLE] + host_position(k, b->row + i) * m->rotary_dim;
        for (int64_t first = 0; first < cols; first += m->head_dim)
            rotate_head(rows + i * cols + first, cos_sin, m->rotary_dim, back ? -1.0F : 1.0F);
    }
}

/* ---- a table of sines */

static void fill_sines(const struct model *m, float *table)
{
    for (int64_t t = 0; t < model_longest(m); t++)
        for (int64_t c = 0; c < m->C; c++)
            table[t * m->C + c] = model_sine(m, t, c);
}

void host_positions(struct host *k)
{
    if (k->model->rotary_dim) fill_rotary(k->model, k->buffer[HOST_TABLE]);
    if (k->model->zoo.position_embedding_type == ZOO_POSITION_FIXED)
        fill_sines(k->model, k->buffer[HOST_TABLE]);
}
