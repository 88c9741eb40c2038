// SPDX-License-Identifier: Apache-2.0
/* Implements the common interface of the two ways to compute values: every call goes to the host or
 * to the mesh, as kernels_create() was asked. The wafer role calls it; next: host.c and
 * program_model.c. */
#include <wsc/kernels.h>

#include <wsc/check.h>
#include <wsc/host.h>
#include <wsc/mem.h>
#include <wsc/num_sparse.h>

#include <string.h>

struct kernels {
    const struct model *model;   /* borrowed */
    struct host *host;           /* owned; NULL on the mesh */
    struct programs_model *mesh; /* owned; NULL on the host */
    int64_t n_nodes;             /* of the micro-batch: vectors of gradients */
};

const char *kernels_numerics_option(enum kernels_numerics numerics)
{
    static const char *const word[] = {"none", "host", "mesh"};
    return word[numerics];
}

enum wsc_err kernels_create(struct kernels **out, enum kernels_numerics numerics,
                            const struct hw *hw, const struct model *model,
                            const struct programs_room *room, bool training)
{
    struct kernels *k;
    *out = NULL;
    WSC_CHECK(numerics != KERNELS_NONE, "values without numerics");
    TRY_NEW(k, WSC_MEM_KERNELS, 1);
    k->model = model;
    enum wsc_err rc = numerics == KERNELS_MESH
                          ? programs_model_create(&k->mesh, hw, model, room, training)
                          : host_create(&k->host, model, room->samples, training);
    if (rc) {
        kernels_destroy(&k);
        return rc;
    }
    *out = k;
    return WSC_OK;
}

void kernels_destroy(struct kernels **handle)
{
    struct kernels *k = *handle;
    *handle = NULL;
    if (!k) return;
    host_destroy(&k->host);
    programs_model_destroy(&k->mesh);
    wsc_free(k);
}

void kernels_begin(struct kernels *k, const struct data_share *share,
                   const struct data_batch *batch)
{
    struct num_nodes nodes;
    num_nodes_of_range(&nodes, share->first_leaf, share->end_leaf, share->n_leaves);
    k->n_nodes = nodes.n;
    if (k->mesh)
        programs_model_begin(k->mesh, share, batch);
    else
        host_begin(k->host, share, batch);
}

/* A step of generation on the mesh: all positions again, every text a leaf of its own. */
static enum wsc_err begin_whole(struct programs_model *mesh, const struct data_batch *batch,
                                const struct data_step *step)
{
    const int64_t n = batch->n;
    const struct data_share share = {
        .end_leaf = n, .n_leaves = n, .leaf_samples = 1, .batch_size = n};
    int64_t *last;
    TRY_NEW(last, WSC_MEM_KERNELS, n);
    for (int64_t i = 0; i < n; i++)
        last[i] = step->positions[i].end - 1;
    programs_model_begin(mesh, &share, batch);
    enum wsc_err rc = programs_model_want_logits(mesh, last);
    wsc_free(last);
    return rc;
}

enum wsc_err kernels_begin_cached(struct kernels *k, const struct data_batch *batch,
                                  const struct data_step *step)
{
    return k->mesh ? begin_whole(k->mesh, batch, step) : host_begin_cached(k->host, batch, step);
}

enum wsc_err kernels_forward(struct kernels *k, int stage, const void *weights,
                             struct kernels_simulated *simulated)
{
    *simulated = (struct kernels_simulated){.known = k->mesh != NULL};
    if (k->mesh) return programs_model_forward(k->mesh, stage, weights, &simulated->cycles);
    host_forward(k->host, stage, weights);
    return WSC_OK;
}

/* ---- stages with masks or frozen tensors on the mesh: with zeros --------------------------------
 */

/* The dense vector of a stage, in the model's format; owned by the caller. */
static enum wsc_err expand(const struct kernels *k, int stage, const struct model_weights *weights,
                           char **out)
{
    const struct model_stage *plan = &k->model->stage[stage];
    const int64_t bytes = num_format_bytes(k->model->format);
    TRY_NEW(*out, WSC_MEM_KERNELS, plan->n_elems * bytes);
    for (int v = 0; v < plan->n_views; v++) {
        const struct model_tensor *t = &k->model->tensor[plan->view[v].tensor];
        const struct model_weights *w = &weights[v];
        const struct num_packed packed = {1, t->n_elems, w->bits, w->values, w->n_kept};
        char *to = *out + plan->view[v].offset * bytes;
        if (w->bits)
            num_packed_expand(k->model->format, &packed, to);
        else
            memcpy(to, w->values, (size_t)(t->n_elems * bytes));
    }
    return WSC_OK;
}

/* Copy what travels of one dense vector of gradients; returns where the next one goes.  @p weights
 * NULL: no tensor has a mask. */
static float *gather(const struct kernels *k, int stage, const struct model_weights *weights,
                     const float *dense, float *to)
{
    const struct model_stage *plan = &k->model->stage[stage];
    for (int v = 0; v < plan->n_views; v++) {
        const struct model_tensor *t = &k->model->tensor[plan->view[v].tensor];
        const int64_t n = t->n_elems;
        const int64_t n_kept = model_gradient_elems(t, weights ? &weights[v] : NULL);
        const float *from = dense + plan->view[v].offset;
        if (!n_kept) continue;
        if (n_kept < n)
            num_packed_gather(weights[v].bits, 0, n, from, to);
        else
            memcpy(to, from, (size_t)n * sizeof *to);
        to += n_kept;
    }
    return to;
}

/* Backward on the mesh, which makes dense gradients, and of these what travels. */
static enum wsc_err mesh_backward_some(struct kernels *k, int stage, const void *vector,
                                       const struct model_weights *weights, float *grads,
                                       struct kernels_simulated *simulated)
{
    const int64_t n_elems = k->model->stage[stage].n_elems;
    float *dense = wsc_alloc(WSC_MEM_KERNELS, (size_t)(k->n_nodes * n_elems), sizeof *dense);
    if (!dense) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "expand gradients");
    const enum wsc_err rc = programs_model_backward(k->mesh, stage, vector, dense,
                                                    &simulated->cycles, &simulated->first_gradient);
    for (int64_t i = 0; i < k->n_nodes && !rc; i++)
        grads = gather(k, stage, weights, dense + i * n_elems, grads);
    wsc_free(dense);
    return rc;
}

static enum wsc_err mesh_backward_sparse(struct kernels *k, int stage,
                                         const struct model_weights *weights, float *grads,
                                         struct kernels_simulated *simulated)
{
    char *vector = NULL;
    simulated->known = true;
    TRY(expand(k, stage, weights, &vector));
    programs_model_mask(k->mesh, weights);
    const enum wsc_err rc = mesh_backward_some(k, stage, vector, weights, grads, simulated);
    wsc_free(vector);
    return rc;
}

enum wsc_err kernels_backward(struct kernels *k, int stage, const void *weights, float *grads,
                              struct kernels_simulated *simulated)
{
    *simulated = (struct kernels_simulated){.known = k->mesh != NULL};
    if (k->mesh && k->model->stage[stage].n_grads < k->model->stage[stage].n_elems)
        return mesh_backward_some(k, stage, weights, NULL, grads, simulated);
    if (k->mesh)
        return programs_model_backward(k->mesh, stage, weights, grads, &simulated->cycles,
                                       &simulated->first_gradient);
    host_backward(k->host, stage, weights, grads);
    return WSC_OK;
}

enum wsc_err kernels_forward_sparse(struct kernels *k, int stage,
                                    const struct model_weights *weights,
                                    struct kernels_simulated *simulated)
{
    char *vector = NULL;
    *simulated = (struct kernels_simulated){0};
    if (k->host) return host_forward_sparse(k->host, stage, weights);
    TRY(expand(k, stage, weights, &vector));
    programs_model_mask(k->mesh, weights);
    const enum wsc_err rc = kernels_forward(k, stage, vector, simulated);
    wsc_free(vector);
    return rc;
}

enum wsc_err kernels_backward_sparse(struct kernels *k, int stage,
                                     const struct model_weights *weights, float *grads,
                                     struct kernels_simulated *simulated)
{
    *simulated = (struct kernels_simulated){0};
    return k->host ? host_backward_sparse(k->host, stage, weights, grads)
                   : mesh_backward_sparse(k, stage, weights, grads, simulated);
}

bool kernels_has_parts(const struct kernels *k)
{
    return k && k->host;
}

void kernels_forward_part(struct kernels *k, int stage, int part, const void *weights)
{
    host_forward_part(k->host, stage, part, weights);
}

void kernels_backward_part(struct kernels *k, int stage, int part, const void *weights,
                           float *grads)
{
    host_backward_part(k->host, stage, part, weights, grads);
}

int64_t kernels_final_gradients(const struct kernels *k)
{
    return host_final_gradients(k->host);
}

bool kernels_share_threads(const struct kernels *k)
{
    return k && k->host;
}

/* ---- beside the stages -------------------------------------------------------------------------
 */

void kernels_scale_gradients(struct kernels *k, double scale)
{
    if (k->mesh)
        programs_model_scale_gradients(k->mesh, scale);
    else
        host_scale_gradients(k->host, scale);
}

const struct model_loss *kernels_losses(const struct kernels *k)
{
    return k->mesh ? programs_model_losses(k->mesh) : host_losses(k->host);
}

void kernels_count_classes(struct kernels *k, struct model_class_count *count)
{
    if (k->mesh)
        programs_model_count_classes(k->mesh, count);
    else
        host_count_classes(k->host, count);
}

enum wsc_err kernels_measure_leaves(struct kernels *k)
{
    return k->mesh ? programs_model_measure_leaves(k->mesh) : host_measure_leaves(k->host);
}

const double *kernels_leaf_squares(const struct kernels *k)
{
    return k->mesh ? programs_model_leaf_squares(k->mesh) : host_leaf_squares(k->host);
}

const float *kernels_logits(const struct kernels *k, int64_t i)
{
    return k->mesh ? programs_model_logits(k->mesh, i) : host_logits(k->host, i);
}

const struct programs_row *kernels_rows(const struct kernels *k)
{
    return k->mesh ? programs_model_rows(k->mesh) : NULL;
}

bool kernels_have_recordings(const struct kernels *k)
{
    return k && k->mesh && programs_model_repeats(k->mesh).recorded > 0;
}
