// SPDX-License-Identifier: Apache-2.0
/* Computes the losses of heads on the mesh, from one table by kind. A row of the table names the
 * programs of loss and gradient, and the function with which the host adds the values that leave
 * the fabric. The functions below the table are common to all losses: their operands, their
 * cycles, their sums by leaf. */
#include "program_head_loss.h"
#include "program_loss.h"
#include "program_pairs.h"
#include "program_regression.h"
#include "program_spans.h"
#include "program_stage.h"

#include <wsc/mem.h>

/* ---- losses ---------------------------------------------------------------------------------- */

static enum wsc_err entropy(struct programs_model *k, const struct programs_loss *l,
                            const struct programs_losses *out, int64_t *cycles)
{
    TRY(programs_run_loss(&k->grid, l, out));
    *cycles = k->grid.stats.cycles;
    return WSC_OK;
}

static enum wsc_err entropy_backward(struct programs_model *k, const struct programs_loss *l)
{
    return programs_run_loss_backward(&k->grid, l);
}

static enum wsc_err squares(struct programs_model *k, const struct programs_loss *l,
                            const struct programs_losses *out, int64_t *cycles)
{
    TRY(programs_run_regression(&k->grid, l, out));
    *cycles = k->grid.stats.cycles;
    return WSC_OK;
}

static enum wsc_err squares_backward(struct programs_model *k, const struct programs_loss *l)
{
    return programs_run_regression_backward(&k->grid, l);
}

/* ---- sums of a leaf, the samples first .. first + n - 1 -------------------------------------- */

static void add_answers(struct programs_model *k, int i, int first, int n, struct model_loss *sum)
{
    programs_spans_loss(k, k->output[i].labels, first, n, sum);
}

/* Add losses and counts of the tokens to @p sum, in the order of the tokens and in double
 * precision; returns the sum of the losses. */
static double count_tokens(const struct programs_model *k, int i, int first, int n, bool classes,
                           struct model_loss *sum)
{
    const struct programs_head *o = &k->output[i];
    const int64_t T = k->model->T;
    struct model_loss total = {0};
    for (int64_t t = first * T; t < (first + n) * T; t++) {
        if (!o->mask[t]) continue;
        total.nats += (double)k->nats[t];
        total.n_tokens++;
        if (classes) total.n_correct += k->best[t] == o->labels[t];
    }
    if (i) {
        sum->n_sequences = total.n_tokens;
        sum->n_sequences_correct = total.n_correct;
        return total.nats;
    }
    sum->nats = total.nats;
    sum->n_tokens = total.n_tokens;
    sum->n_correct = total.n_correct;
    return total.nats;
}

void programs_model_count_classes(const struct programs_model *k, struct model_class_count *count)
{
    const struct programs_head *o = &k->output[0];
    const bool sequences = k->model->head[0].rows == MODEL_ROWS_FIRST;
    const int64_t n = k->grid.all_samples * k->model->T;
    for (int64_t t = 0; t < n; t++) {
        if (!o->mask[t]) continue;
        if (sequences) /* the label of its first token is the set of a sequence */
            model_count_sequence(&count[k->batch->labels[t]], k->best[t] == o->labels[t]);
        else
            model_count_class(count, k->model->head[0].outputs, o->labels[t], k->best[t]);
    }
}

static void add_entropies(struct programs_model *k, int i, int first, int n, struct model_loss *sum)
{
    sum->loss_sum += k->model->head[i].weight * count_tokens(k, i, first, n, true, sum);
}

static void add_squares(struct programs_model *k, int i, int first, int n, struct model_loss *sum)
{
    sum->loss_sum += k->model->head[i].weight * count_tokens(k, i, first, n, false, sum);
}

static void add_pairs(struct programs_model *k, int i, int first, int n, struct model_loss *sum)
{
    (void)count_tokens(k, i, first, n, true, sum);
    programs_pairs_loss(k, first, n, sum);
}

/* ---- by kind --------------------------------------------------------------------------------- */

/* Programs of each kind of loss. For a kind without a row, program_support.c refuses the model. */
static const struct loss_kind {
    /* The tile of logits becomes the input of the gradient; @p cycles: of all scripts. */
    enum wsc_err (*forward)(struct programs_model *k, const struct programs_loss *l,
                            const struct programs_losses *out, int64_t *cycles);
    enum wsc_err (*backward)(struct programs_model *k, const struct programs_loss *l);
    void (*add)(struct programs_model *k, int i, int first, int n, struct model_loss *sum);
    bool classes; /* labels are numbers of outputs */
    bool ends;    /* labels are set by programs_spans_label(); needs words on the PEs */
} losses[] = {
    [MODEL_CROSS_ENTROPY] = {entropy, entropy_backward, add_entropies, .classes = true},
    [MODEL_PREFERENCE] = {entropy, entropy_backward, add_pairs, .classes = true},
    [MODEL_SPAN_ENTROPY] = {programs_run_spans, programs_run_spans_backward, add_answers,
                            .ends = true},
    [MODEL_SQUARED_ERROR] = {squares, squares_backward, .add = add_squares},
    [MODEL_NOISE_ERROR] = {0},
};

static const struct loss_kind *kind_of(const struct programs_model *k, int i)
{
    return &losses[k->model->head[i].loss];
}

/* ---- memory and labels ----------------------------------------------------------------------- */

enum wsc_err programs_head_loss_reserve(struct programs_model *k, int i)
{
    struct programs_head *o = &k->output[i];
    struct programs_grid *g = &k->grid;
    TRY(programs_reserve_words(g, PROGRAMS_LOSS_ROWS * (int64_t)g->pitch, PROGRAMS_BANK_TOKENS,
                               "the loss", &o->rows));
    TRY(programs_reserve_words(g, o->f.slots, PROGRAMS_BANK_TILES, "numbers of features",
                               &o->number));
    if (kind_of(k, i)->ends)
        TRY(programs_reserve_words(g, programs_spans_words(g->max_samples, o->f.slots),
                                   PROGRAMS_BANK_TOKENS, "the ends of answers", &o->words));
    TRY(programs_reserve_sums(g, &o->logits, &o->f, "logits"));
    o->dlogits = o->logits;
    o->dlogits.half = g->half;
    return WSC_OK;
}

enum wsc_err programs_head_loss_allocate(struct programs_model *k, int i)
{
    int64_t words = 0;
    if (k->model->head[i].rows == MODEL_ROWS_FIRST) words = 2 * k->model->T;
    if (kind_of(k, i)->ends) words = MODEL_SPAN_ENDS;
    if (words) TRY_NEW(k->output[i].own, WSC_MEM_KERNELS, k->max_samples * words);
    return WSC_OK;
}

/* The class of a sequence is the label of its first token. Losses on values have targets instead
 * of labels. */
static void label_sequences(struct programs_model *k, int i)
{
    const struct data_batch *batch = k->batch;
    struct programs_head *o = &k->output[i];
    int32_t *label = o->own, *mask = o->own + k->max_samples * k->model->T;
    for (int64_t row = 0; row < batch->n * batch->T; row++) {
        const bool first = row % batch->T == 0;
        mask[row] = first;
        label[row] = first && kind_of(k, i)->classes ? (int32_t)batch->targets[row / batch->T] : 0;
    }
    o->labels = label;
    o->mask = mask;
}

void programs_head_loss_begin(struct programs_model *k, int i)
{
    struct programs_head *o = &k->output[i];
    o->labels = k->batch->labels;
    o->mask = k->batch->mask;
    if (k->model->head[i].rows == MODEL_ROWS_FIRST) label_sequences(k, i);
    if (!kind_of(k, i)->ends) return;
    programs_spans_label(k, o->own);
    o->labels = o->own;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* True for outputs of the vocabulary: they alone may have a soft cap. */
static bool has_vocabulary(const struct programs_model *k, int i)
{
    return k->model->head[i].output == MODEL_LM_HEAD_W;
}

float programs_head_cap(const struct programs_model *k, int i)
{
    return has_vocabulary(k, i) ? (float)k->model->zoo.final_logit_softcapping : 0;
}

static struct programs_loss operands(const struct programs_model *k, int i)
{
    const struct programs_head *o = &k->output[i];
    return (struct programs_loss){.logits = o->logits,
                                  .number = o->number,
                                  .tokens = o->rows,
                                  .words = o->words,
                                  .labels = o->labels,
                                  .mask = o->mask,
                                  .targets = k->batch->targets,
                                  .weight = k->pairs.weight,
                                  .scale = (float)k->model->logits_scale,
                                  .cap = programs_head_cap(k, i),
                                  .even = k->training ? (float)k->model->head[i].smoothing : 0,
                                  .capped = &k->capped,
                                  .tmp = &k->wide_tmp};
}

/* ---- forward --------------------------------------------------------------------------------- */

int programs_leaf_samples(const struct programs_model *k, int leaf, int *first)
{
    *first = leaf * k->grid.leaf_samples;
    const int left = k->grid.all_samples - *first;
    return left < k->grid.leaf_samples ? left : k->grid.leaf_samples;
}

enum wsc_err programs_head_loss(struct programs_model *k, int i)
{
    const struct programs_loss loss = operands(k, i);
    const struct programs_losses out = {k->nats, k->best};
    const int slots = k->output[i].f.slots;
    int64_t cycles = 0;
    const bool on = k->grid.repeats.on;
    k->grid.repeats.on = false; /* labels decide */
    TRY(kind_of(k, i)->forward(k, &loss, &out, &cycles));
    k->grid.repeats.on = on;
    programs_stage_book(k, PROGRAMS_ROW_LOSS, cycles);
    programs_stage_expect(k, PROGRAMS_ROW_LOSS,
                          cycles_loss_of(&k->layout, k->model->head[i].loss, slots) +
                              (has_vocabulary(k, i) ? cycles_logit_cap(&k->layout, slots) : 0));
    if (k->reference) {
        programs_pairs_refer(k);
        return WSC_OK;
    }
    for (int leaf = 0, first; leaf < k->n_leaves; leaf++) {
        const int n = programs_leaf_samples(k, leaf, &first);
        kind_of(k, i)->add(k, i, first, n, &k->loss[leaf]);
    }
    return WSC_OK;
}

/* ---- backward -------------------------------------------------------------------------------- */

enum wsc_err programs_head_loss_backward(struct programs_model *k, int i)
{
    const struct model_head *shape = &k->model->head[i];
    const int slots = k->output[i].f.slots;
    struct programs_loss loss = operands(k, i);
    loss.scale = (float)(k->model->logits_scale * k->gradient_scale * shape->weight);
    const bool on = k->grid.repeats.on;
    k->grid.repeats.on = false; /* labels decide */
    TRY(kind_of(k, i)->backward(k, &loss));
    k->grid.repeats.on = on;
    programs_stage_book(k, PROGRAMS_ROW_LOSS_BACKWARD, k->grid.stats.cycles);
    programs_stage_expect(
        k, PROGRAMS_ROW_LOSS_BACKWARD,
        cycles_loss_gradient_of(&k->layout, shape->loss, slots) +
            (loss.even > 0 ? cycles_even_labels_gradient(&k->layout, slots) : 0) +
            (has_vocabulary(k, i) ? cycles_logit_cap_gradient(&k->layout, slots) : 0));
    return WSC_OK;
}
