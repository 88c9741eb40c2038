// SPDX-License-Identifier: Apache-2.0
/* Defines the rows of the table for operations of the size of the vocabulary: rows of an embedding
 * table, and the cross entropy of logits. The host computes both only inside the parts EMBED and
 * HEAD of a model. */
#include "kernel_rows.h"
#include "kernel_shapes.h"
#include "kernel_strips.h"

#include <wsc/num_reference.h>

#include <string.h>

/* ---- embedding ------------------------------------------------------------------------------- */

/* X (rows, features) and the table (vocab, features); forward X is only what lay there before. */
static struct kernels_sizes embedding_sizes(const struct programs_case *c)
{
    const int64_t tokens = kernels_tokens_of(c), n = tokens * c->features;
    return (struct kernels_sizes){.in = {n, c->vocab * c->features},
                                  .ids = tokens,
                                  .below = c->vocab,
                                  .out = c->backward ? c->vocab * c->features : n};
}

static double embedding_cycles(const struct cycles_layout *l, const struct programs_case *c)
{
    return c->backward ? cycles_scatter(l, (double)c->vocab) : cycles_gather(l, (double)c->vocab);
}

/* Forward copies rows of the table; backward adds rows of X to rows of the table. */
static void embedding_reference(const struct programs_case *c, const struct kernels_reference *o,
                                double *want)
{
    const int64_t n = c->features;
    for (int64_t i = 0; i < kernels_tokens_of(c) * n; i++) {
        const int64_t at = o->ids[i / n] * n + i % n;
        if (c->backward)
            want[at] += o->x[0][i];
        else
            want[i] = o->x[1][at];
    }
}

/* ---- cross entropy --------------------------------------------------------------------------- */

/* Logits and scratch (rows, vocab); nats of each token, backward also d(nats)/d(logits). */
static struct kernels_sizes entropy_sizes(const struct programs_case *c)
{
    const int64_t tokens = kernels_tokens_of(c), n = tokens * c->vocab;
    return (struct kernels_sizes){
        .in = {n, n}, .ids = tokens, .below = c->vocab, .out = c->backward ? tokens + n : tokens};
}

static double entropy_cycles(const struct cycles_layout *l, const struct programs_case *c)
{
    const double k = cycles_side_of(l, c->vocab).k;
    return cycles_loss(l, k) + (c->backward ? cycles_loss_gradient(l, k) : 0);
}

static void entropy_reference(const struct programs_case *c, const struct kernels_reference *o,
                              double *want)
{
    const int64_t tokens = kernels_tokens_of(c), n = c->vocab;
    for (int64_t t = 0; t < tokens; t++) {
        const double *logits = o->x[0] + t * n;
        if (c->backward) {
            double *row = want + tokens + t * n;
            memcpy(row, logits, (size_t)n * sizeof *row);
            want[t] = num_ref_cross_entropy(row, n, o->ids[t]);
        } else {
            want[t] = num_ref_nats(logits, n, o->ids[t]);
        }
    }
}

static const struct kernels_strip embedding_strips[] = {
    {.bf16 = KERNELS_IN(256M) | KERNELS_IN(6P7B), .fp32 = KERNELS_IN(590M)},
    {.bf16 = KERNELS_IN(2P7B), .fp32 = KERNELS_IN(256M), .backward = true},
    {.bf16 = 0},
};

static const struct kernels_strip cross_entropy_strips[] = {
    {.bf16 = KERNELS_IN(256M), .fp32 = KERNELS_IN(2P7B), .side = KERNELS_LOGITS},
    {.bf16 = 0},
};

const struct kernels_row kernels_vocabulary_rows[] = {
    {.name = "embedding",
     .summary = "rows of a streamed table; backward: sums of rows",
     KERNELS_OPERATION("--features --vocab --pass", 1 << MODEL_PART_EMBED, kernels_table_shapes),
     .gradient = true,
     .sizes = embedding_sizes,
     .strips = embedding_strips,
     .program = programs_embedding,
     .cycles = embedding_cycles,
     .reference = embedding_reference},
    {.name = "cross_entropy",
     .summary = "loss of logits; backward: their gradient",
     KERNELS_OPERATION("--vocab --pass", 1 << MODEL_PART_HEAD, kernels_logit_shapes),
     .gradient = true,
     .vocab_on_columns = true,
     .sizes = entropy_sizes,
     .strips = cross_entropy_strips,
     .program = programs_cross_entropy,
     .cycles = entropy_cycles,
     .reference = entropy_reference},
    {.name = NULL},
};
