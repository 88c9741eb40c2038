// SPDX-License-Identifier: Apache-2.0
#include "program_fixture.h"

#include "../../support/test.h"
#include "../model/model_case.h"

#include <wsc/check.h>
#include <wsc/hw.h>
#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/programs.h>

#include <math.h>
#include <string.h>

/* T_OK with less nesting: it stands in loops here. */
void program_ok(enum wsc_err rc)
{
    T_OK(rc);
}

float *program_floats(int64_t n)
{
    float *x = wsc_alloc(WSC_MEM_TEST, (size_t)n, sizeof *x);
    WSC_CHECK(x, "no memory for a test");
    for (int64_t i = 0; i < n; i++)
        x[i] = NAN; /* every element must be written */
    return x;
}

/* A mask of every matrix of a stage: each @p every th element, or NULL for none. */
static struct model_weights *new_masks(const struct model *m, int stage, int every)
{
    const struct model_stage *s = &m->stage[stage];
    struct model_weights *w = wsc_alloc(WSC_MEM_TEST, (size_t)s->n_views, sizeof *w);
    WSC_CHECK(w, "no memory for a test");
    for (int i = 0; i < s->n_views; i++) {
        const struct model_tensor *t = &m->tensor[s->view[i].tensor];
        const bool matrix = t->kind == MODEL_Q_W || t->kind == MODEL_K_W || t->kind == MODEL_O_W ||
                            t->kind == MODEL_FFN0_W || t->kind == MODEL_FFN1_W;
        w[i] = (struct model_weights){.n_kept = t->n_elems};
        if (!every || !matrix) continue;
        uint64_t *bits = wsc_alloc(WSC_MEM_TEST, (size_t)(t->n_elems / 64 + 1), sizeof *bits);
        WSC_CHECK(bits, "no memory for a test");
        w[i].n_kept = 0;
        for (int64_t e = 0; e < t->n_elems; e += every, w[i].n_kept++)
            bits[e / 64] |= UINT64_C(1) << e % 64;
        w[i].bits = bits;
    }
    return w;
}

static void free_masks(const struct model *m, int stage, struct model_weights *w)
{
    for (int i = 0; i < m->stage[stage].n_views; i++)
        wsc_free((void *)(uintptr_t)w[i].bits);
    wsc_free(w);
}

/* Zeros outside the masks, in a vector of the stage in @p format. */
static void apply_masks(const struct model *m, int stage, const struct model_weights *w,
                        enum num_format format, void *x)
{
    const size_t bytes = (size_t)num_format_bytes(format);
    for (int i = 0; i < m->stage[stage].n_views; i++) {
        const struct model_view *v = &m->stage[stage].view[i];
        for (int64_t e = 0; w[i].bits && e < m->tensor[v->tensor].n_elems; e++)
            if (!(w[i].bits[e / 64] >> e % 64 & 1))
                memset((char *)x + (size_t)(v->offset + e) * bytes, 0, bytes);
    }
}

/* The weights of a stage from back to front; the caller frees. */
static void *reversed(const struct fixture *f, int stage)
{
    const size_t bytes = (size_t)num_format_bytes(f->model.format);
    const int64_t n = f->model.stage[stage].n_elems;
    char *x = wsc_alloc(WSC_MEM_TEST, (size_t)n, bytes);
    WSC_CHECK(x, "no memory for a test");
    for (int64_t i = 0; i < n; i++)
        memcpy(x + (size_t)i * bytes,
               (const char *)f->stage_weights[stage] + (size_t)(n - 1 - i) * bytes, bytes);
    return x;
}

/* Row s is row s + @p by of @p x (n, T), if there is one; the caller frees. */
static int32_t *rotated(const int32_t *x, int64_t n, int64_t T, int by)
{
    int32_t *y = x ? wsc_alloc(WSC_MEM_TEST, (size_t)(n * T), sizeof *y) : NULL;
    for (int64_t i = 0; y && i < n * T; i++)
        y[i] = x[(i + by * T) % (n * T)];
    return y;
}

/* One pass of stage @p s, with other weights unless @p number is 0. */
static void earlier_pass(struct programs_model *k, const struct fixture *f,
                         const struct program_masked *masked, int number, int s, bool backward)
{
    const struct model *m = &f->model;
    int64_t one, to_gradient;
    struct model_weights *w = new_masks(m, s, masked->every);
    void *x = number ? reversed(f, s) : NULL;
    float *grads = program_floats(FIXTURE_MAX_NODES * m->stage[s].n_elems);
    const void *weights = x ? x : f->stage_weights[s];
    if (x) apply_masks(m, s, w, m->format, x);
    programs_model_mask(k, masked->shown ? w : NULL);
    program_ok(backward ? programs_model_backward(k, s, weights, grads, &one, &to_gradient)
                        : programs_model_forward(k, s, weights, &one));
    free_masks(m, s, w);
    wsc_free(grads);
    wsc_free(x);
}

/* Forward and backward passes of number @p number before the step: other tokens, masks, labels and
 * weights. */
static void earlier_step(struct programs_model *k, const struct fixture *f,
                         const struct data_share *share, const struct data_batch *batch,
                         const struct program_masked *masked, int number)
{
    const struct model *m = &f->model;
    const int64_t n = batch->n * batch->T;
    int32_t *ids = wsc_alloc(WSC_MEM_TEST, (size_t)n, sizeof *ids);
    WSC_CHECK(ids, "no memory for a test");
    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)((batch->input_ids[i] + 1 + number) % m->V);
    struct data_batch other = *batch;
    int32_t **const row[] = {&other.attends, &other.labels, &other.mask, &other.attention_span,
                             &other.position_ids};
    other.input_ids = ids;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        *row[i] = rotated(*row[i], batch->n, batch->T, number + 1);
    programs_model_begin(k, share, &other);
    for (int s = 0; s < m->n_stages; s++)
        earlier_pass(k, f, masked, number, s, false);
    for (int s = m->n_stages - 1; s >= 0; s--)
        earlier_pass(k, f, masked, number, s, true);
    wsc_free(ids);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        wsc_free(*row[i]);
}

struct mesh_repeat_counts program_repeats;
struct programs_row program_rows[PROGRAMS_ROWS];

/* As fixture_step, on the mesh; *cycles of all stages. */
void program_step(const struct fixture *f, const struct fixture_run *run,
                  const struct program_fabric *fabric, const struct program_masked *masked,
                  struct fixture_result *out, int64_t *cycles)
{
    const struct model *m = &f->model;
    struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    int64_t first = run->first_leaf * run->leaf_samples, end = run->end_leaf * run->leaf_samples;
    int64_t one, to_gradient;
    if (end > f->batch.n) end = f->batch.n;
    struct data_batch batch = fixture_slice(f, first, end - first);
    struct data_share share = {.first_leaf = run->first_leaf,
                               .end_leaf = run->end_leaf,
                               .n_leaves = fixture_n_leaves(f, run->leaf_samples),
                               .leaf_samples = run->leaf_samples,
                               .batch_size = f->batch.n};
    struct programs_model *k;
    cluster.wafer.pe_cols = fabric->w;
    cluster.wafer.pe_rows = fabric->h;
    cluster.wafer.hop_cycles = fabric->hop;
    *cycles = 0;
    const struct programs_room room = {
        .samples = batch.n + 1, .leaf_samples = run->leaf_samples, .lanes = fabric->lanes};
    program_ok(programs_model_create(&k, &hw, m, &room, true));
    for (int i = 0; i < masked->earlier; i++)
        earlier_step(k, f, &share, &batch, masked, i);
    if (masked->scale > 0) programs_model_scale_gradients(k, masked->scale);
    programs_model_begin(k, &share, &batch);
    num_nodes_of_range(&out->nodes, run->first_leaf, run->end_leaf, share.n_leaves);
    for (int s = 0; s < m->n_stages; s++) {
        struct model_weights *w = new_masks(m, s, masked->every);
        apply_masks(m, s, w, m->format, f->stage_weights[s]);
        programs_model_mask(k, masked->shown ? w : NULL);
        program_ok(programs_model_forward(k, s, f->stage_weights[s], &one));
        *cycles += one;
        free_masks(m, s, w);
    }
    out->n_leaves = run->end_leaf - run->first_leaf;
    memcpy(out->loss, programs_model_losses(k), (size_t)out->n_leaves * sizeof out->loss[0]);
    for (int s = m->n_stages - 1; s >= 0; s--) {
        out->grads[s] = program_floats(out->nodes.n * m->stage[s].n_elems);
        struct model_weights *w = new_masks(m, s, masked->every);
        for (int i = 0; i < m->stage[s].n_views; i++)
            w[i].dense_gradient = masked->dense;
        programs_model_mask(k, masked->shown ? w : NULL);
        program_ok(
            programs_model_backward(k, s, f->stage_weights[s], out->grads[s], &one, &to_gradient));
        for (int i = 0; i < out->nodes.n; i++)
            apply_masks(m, s, w, NUM_FP32, out->grads[s] + i * m->stage[s].n_elems);
        free_masks(m, s, w);
        CU_ASSERT(to_gradient > 0 && to_gradient <= one);
        *cycles += one;
    }
    program_repeats = programs_model_repeats(k);
    memcpy(program_rows, programs_model_rows(k), sizeof program_rows);
    programs_model_destroy(&k);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

static double largest(const float *x, int64_t n)
{
    double most = 0;
    for (int64_t j = 0; j < n; j++)
        most = fmax(most, fabs((double)x[j]));
    return most;
}

/* What an error of the gradient of tensor @p i is measured by: its largest element, or @p least
 * where that is larger, since a gradient may be 0.  That of the keys' biases is 0, as they move all
 * scores of a query alike; it is what rounding leaves of terms that are as large as those of the
 * keys' matrix, or of the gain of the keys' norm, which stands before it. */
static double scale_of(const struct fixture *f, const struct fixture_result *of, int i,
                       double least)
{
    const enum model_tensor_kind kind = f->tensor[i].kind;
    const bool key_bias = (kind == MODEL_K_B && f->tensor[i - 1].kind == MODEL_K_W) ||
                          (kind == MODEL_K_NORM_B && f->tensor[i - 1].kind == MODEL_K_NORM_W);
    double scale = least;
    for (int t = key_bias ? i - 1 : i; t <= i; t++) {
        float *grad = fixture_tensor_grad(f, of, t);
        scale = fmax(scale, largest(grad, f->tensor[t].n_elems));
        wsc_free(grad);
    }
    return scale;
}

/* Largest difference relative to the scale of the tensor's gradient. */
double program_difference(const struct fixture *f, const struct fixture_result *a,
                          const struct fixture_result *b, double least)
{
    double worst = 0;
    for (int i = 0; i < f->model.n_tensors; i++) {
        float *x = fixture_tensor_grad(f, a, i), *y = fixture_tensor_grad(f, b, i);
        double off = 0;
        for (int64_t j = 0; j < f->tensor[i].n_elems; j++)
            off = num_max_error(off, fabs((double)x[j] - (double)y[j]));
        worst = num_max_error(worst, off / scale_of(f, b, i, least));
        wsc_free(x);
        wsc_free(y);
    }
    return worst;
}

/* Where a model has no such loss it is NaN. */
static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_loss(const struct model_loss *a, const struct model_loss *b)
{
    const double *x = &a->rewards.chosen, *y = &b->rewards.chosen;
    bool same = same_number(a->loss_sum, b->loss_sum) && same_number(a->nats, b->nats) &&
                a->n_tokens == b->n_tokens && a->n_correct == b->n_correct &&
                a->n_sequences == b->n_sequences &&
                a->n_sequences_correct == b->n_sequences_correct;
    for (size_t i = 0; i < sizeof a->rewards / sizeof *x; i++)
        same = same && same_number(x[i], y[i]);
    return same;
}

void program_same_step(const struct fixture *f, const struct fixture_result *a,
                       const struct fixture_result *b)
{
    T_EQ(a->n_leaves, b->n_leaves);
    for (int64_t i = 0; i < a->n_leaves; i++)
        CU_ASSERT(same_loss(&a->loss[i], &b->loss[i]));
    for (int s = 0; s < f->model.n_stages; s++)
        CU_ASSERT(!memcmp(a->grads[s], b->grads[s],
                          (size_t)(a->nodes.n * f->model.stage[s].n_elems) * sizeof(float)));
}

/* After two micro-batches with other numbers, programs that repeat are played. */
static void check_played(const struct fixture *f, const struct fixture_run *run,
                         const struct program_fabric *fabric, const struct fixture_result *fresh,
                         int64_t fresh_cycles)
{
    struct fixture_result later;
    int64_t cycles;
    program_step(f, run, fabric, &(struct program_masked){.earlier = 2}, &later, &cycles);
    CU_ASSERT(program_repeats.played > 0 && program_repeats.different == 0);
    T_EQ(cycles, fresh_cycles);
    program_same_step(f, &later, fresh);
    fixture_result_destroy(f, &later);
}

void program_check(const struct fixture *f, int64_t leaf_samples,
                   const struct program_fabric *fabric)
{
    struct fixture_result host, mesh;
    int64_t cycles;
    const struct fixture_run run = {.end_leaf = fixture_n_leaves(f, leaf_samples),
                                    .leaf_samples = leaf_samples};
    fixture_step(f, &run, &host);
    program_step(f, &run, fabric, &(struct program_masked){0}, &mesh, &cycles);
    for (int64_t i = 0; i < run.end_leaf; i++) {
        T_NEAR(mesh.loss[i].loss_sum, host.loss[i].loss_sum, 1e-5);
        T_NEAR(mesh.loss[i].nats, host.loss[i].nats, 1e-5);
        T_EQ(mesh.loss[i].n_tokens, host.loss[i].n_tokens);
        T_EQ(mesh.loss[i].n_correct, host.loss[i].n_correct);
        T_EQ(mesh.loss[i].n_sequences, host.loss[i].n_sequences);
        T_EQ(mesh.loss[i].n_sequences_correct, host.loss[i].n_sequences_correct);
    }
    CU_ASSERT(program_difference(f, &mesh, &host, 1e-2) < 2e-5);
    CU_ASSERT(cycles > 0);
    check_played(f, &run, fabric, &mesh, cycles);
    fixture_result_destroy(f, &host);
    fixture_result_destroy(f, &mesh);
}

struct zoo_params program_params(int64_t heads, int64_t length)
{
    struct zoo_params p = model_case_params((struct model_case){24, 1, heads, 10, length});
    p.model.vocab_size = 17;
    p.model.mixed_precision = false;
    p.model.use_ffn_bias_in_attention = p.model.use_projection_bias_in_attention = false;
    return p;
}
