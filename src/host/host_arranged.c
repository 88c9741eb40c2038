// SPDX-License-Identifier: Apache-2.0
/* Weights of a part of a stage, written once in the order of the product library, for all blocks of
 * rows of the micro-batch.  Worth it where a leaf has the rows of a whole block: the choice follows
 * from the model and the leaf alone, so that a product is computed the same way in every share. */
#include "host_arranged.h"
#include "host_buffers.h"
#include "host_operands.h"

enum { MOST = 3 };

/* The matrices that a part multiplies activations by, in both passes; of a mixture of experts and
 * of a vocabulary none. */
static const struct matrices {
    int n;
    enum model_tensor_kind kind[MOST];
} part_matrices[] = {
    [MODEL_PART_QKV] = {3, {MODEL_Q_W, MODEL_K_W, MODEL_V_W}},
    [MODEL_PART_ATTN] = {1, {MODEL_O_W}},
    [MODEL_PART_CROSS_QKV] = {3, {MODEL_CROSS_Q_W, MODEL_CROSS_K_W, MODEL_CROSS_V_W}},
    [MODEL_PART_CROSS_ATTN] = {1, {MODEL_CROSS_O_W}},
    [MODEL_PART_FFN0] = {2, {MODEL_FFN0_W, MODEL_GLU_W}},
    [MODEL_PART_FFN1] = {1, {MODEL_FFN1_W}},
    [MODEL_PART_HEAD] = {0},
};
enum { N_PARTS = sizeof part_matrices / sizeof *part_matrices };

/* Vectors of a processor's cache lines. */
static int64_t aligned(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Bytes of a matrix (out, in) in either pass. */
static int64_t bytes_of(const struct model *m, int64_t out, int64_t in)
{
    const int64_t forward = num_arranged_bytes(m->format, in, out);
    const int64_t backward = num_arranged_bytes(m->format, out, in);
    return aligned(forward > backward ? forward : backward);
}

int64_t host_arranged_bytes(const struct model *m)
{
    int64_t most = 0;
    for (int s = 0; s < m->n_stages; s++) {
        int64_t of_part[N_PARTS] = {0};
        for (int v = 0; v < m->stage[s].n_views; v++) {
            const struct model_tensor *t = &m->tensor[m->stage[s].view[v].tensor];
            for (int p = 0; p < N_PARTS; p++)
                for (int i = 0; i < part_matrices[p].n; i++)
                    if (t->kind == part_matrices[p].kind[i] && !m->experts)
                        of_part[p] += bytes_of(m, t->shape[0], t->shape[1]);
        }
        for (int p = 0; p < N_PARTS; p++)
            most = of_part[p] > most ? of_part[p] : most;
    }
    return most;
}

/* Generation has an order of additions of its own, and products that leave zeros out. */
static bool arranges(const struct host *k)
{
    const int64_t least = k->limits.arranged_rows ? k->limits.arranged_rows : HOST_BLOCK_ROWS;
    return !k->cached && !k->stage.weights && !k->model->experts &&
           k->share.leaf_samples * k->T >= least;
}

void host_arrange(struct host *k, enum model_part part, bool backward)
{
    const struct matrices *list = &part_matrices[part];
    char *at = k->buffer[HOST_ARRANGED];
    for (int i = 0; i < MODEL_N_TENSOR_KINDS; i++)
        k->stage.arranged[i] = NULL;
    for (int i = 0; i < list->n && arranges(k); i++) {
        const enum model_tensor_kind kind = list->kind[i];
        const void *w = k->stage.weight[kind];
        if (!w) continue;
        const int64_t out = k->stage.rows[kind], in = k->stage.cols[kind];
        const struct num_product p = backward ? host_linear_back_shape(HOST_BLOCK_ROWS, in, out)
                                              : host_linear_shape(HOST_BLOCK_ROWS, in, out);
        if (!num_arranges(k->model->format, &p)) continue;
        num_arrange(k->model->format, &p, w, at);
        k->stage.arranged[kind] = at;
        at += bytes_of(k->model, out, in);
    }
}
