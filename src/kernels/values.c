// SPDX-License-Identifier: Apache-2.0
#include <wsc/kernels.h>

#include <wsc/check.h>
#include <wsc/mem.h>

struct kernels_values {
    struct kernels_host *host; /* owned; NULL on the mesh */
    struct kernels_mesh *mesh; /* owned; NULL on the host */
};

enum wsc_err kernels_values_create(struct kernels_values **out, enum kernels_numerics numerics,
                                   const struct hw *hw, const struct model *model,
                                   int64_t max_samples, bool training)
{
    struct kernels_values *k;
    *out = NULL;
    WSC_CHECK(numerics != KERNELS_NONE, "values without numerics");
    if (numerics == KERNELS_MESH) TRY(kernels_mesh_check(model, training));
    TRY_NEW(k, WSC_MEM_KERNELS, 1);
    enum wsc_err rc = numerics == KERNELS_MESH
                          ? kernels_mesh_create(&k->mesh, hw, model, max_samples, training)
                          : kernels_host_create(&k->host, model, max_samples, training);
    if (rc) {
        kernels_values_destroy(&k);
        return rc;
    }
    *out = k;
    return WSC_OK;
}

void kernels_values_destroy(struct kernels_values **handle)
{
    struct kernels_values *k = *handle;
    *handle = NULL;
    if (!k) return;
    kernels_host_destroy(&k->host);
    kernels_mesh_destroy(&k->mesh);
    wsc_free(k);
}

void kernels_values_begin(struct kernels_values *k, const struct kernels_share *share,
                          const struct data_batch *batch)
{
    if (k->mesh)
        kernels_mesh_begin(k->mesh, share, batch);
    else
        kernels_host_begin(k->host, share, batch);
}

static enum wsc_err begin_whole(struct kernels_mesh *mesh, const struct data_batch *batch,
                                const struct kernels_positions *positions)
{
    const int64_t n = batch->n;
    const struct kernels_share share = {
        .end_leaf = n, .n_leaves = n, .leaf_samples = 1, .batch_size = n};
    int64_t *last;
    TRY_NEW(last, WSC_MEM_KERNELS, n);
    for (int64_t i = 0; i < n; i++)
        last[i] = positions[i].end - 1;
    kernels_mesh_begin(mesh, &share, batch);
    enum wsc_err rc = kernels_mesh_want_logits(mesh, last);
    wsc_free(last);
    return rc;
}

enum wsc_err kernels_values_begin_cached(struct kernels_values *k, const struct data_batch *batch,
                                         const struct kernels_positions *positions)
{
    return k->mesh ? begin_whole(k->mesh, batch, positions)
                   : kernels_host_begin_cached(k->host, batch, positions);
}

enum wsc_err kernels_values_forward(struct kernels_values *k, int stage, const void *weights,
                                    struct kernels_counted *counted)
{
    *counted = (struct kernels_counted){.known = k->mesh != NULL};
    if (k->mesh) return kernels_mesh_forward(k->mesh, stage, weights, &counted->cycles);
    kernels_host_forward(k->host, stage, weights);
    return WSC_OK;
}

enum wsc_err kernels_values_backward(struct kernels_values *k, int stage, const void *weights,
                                     float *grads, struct kernels_counted *counted)
{
    *counted = (struct kernels_counted){.known = k->mesh != NULL};
    if (k->mesh)
        return kernels_mesh_backward(k->mesh, stage, weights, grads, &counted->cycles,
                                     &counted->first_gradient);
    kernels_host_backward(k->host, stage, weights, grads);
    return WSC_OK;
}

void kernels_values_scale_gradients(struct kernels_values *k, double scale)
{
    WSC_CHECK(k->host || scale == 1, "gradients times %g on the mesh", scale);
    if (k->host) kernels_host_scale_gradients(k->host, scale);
}

const struct kernels_leaf_loss *kernels_values_losses(const struct kernels_values *k)
{
    return k->mesh ? kernels_mesh_losses(k->mesh) : kernels_host_losses(k->host);
}

enum wsc_err kernels_values_measure_leaves(struct kernels_values *k)
{
    WSC_CHECK(k->host, "leaves are measured on the mesh");
    return kernels_host_measure_leaves(k->host);
}

const double *kernels_values_leaf_squares(const struct kernels_values *k)
{
    return kernels_host_leaf_squares(k->host);
}

enum wsc_err kernels_values_want_logits(struct kernels_values *k, const int64_t *position_of_sample)
{
    return k->mesh ? kernels_mesh_want_logits(k->mesh, position_of_sample)
                   : kernels_host_want_logits(k->host, position_of_sample);
}

const float *kernels_values_logits(const struct kernels_values *k, int64_t i)
{
    return k->mesh ? kernels_mesh_logits(k->mesh, i) : kernels_host_logits(k->host, i);
}

const struct kernels_mesh_row *kernels_values_rows(const struct kernels_values *k)
{
    return k->mesh ? kernels_mesh_rows(k->mesh) : NULL;
}
