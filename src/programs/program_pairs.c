// SPDX-License-Identifier: Apache-2.0
/* Computes the loss of preference optimization at the edge of the mesh. Log-probabilities of
 * sequences come from the cross entropies of their tokens, which arrive there; the weights of
 * tokens are an input of the backward pass, as labels are of the forward pass (model_pairs.c has
 * the loss). */
#include "program_pairs.h"

#include <wsc/check.h>
#include <wsc/mem.h>

enum wsc_err programs_pairs_allocate(struct programs_model *k)
{
    if (!k->model->zoo.dpo.on) return WSC_OK;
    TRY_NEW(k->pairs.reference, WSC_MEM_KERNELS, k->max_samples);
    TRY_NEW(k->pairs.weight, WSC_MEM_KERNELS, k->max_samples * k->model->T);
    return WSC_OK;
}

void programs_pairs_fini(struct programs_model *k)
{
    wsc_free(k->pairs.reference);
    wsc_free(k->pairs.weight);
}

/* Sum the cross entropies of the tokens of sequence @p s that are in the loss, in their order;
 * returns their number. */
static int64_t sum_tokens(const struct programs_model *k, int64_t s, double *nats)
{
    const int64_t T = k->model->T;
    int64_t n = 0;
    *nats = 0;
    for (int64_t i = s * T; i < s * T + T; i++) {
        if (!k->batch->mask[i]) continue;
        *nats += (double)k->nats[i];
        n++;
    }
    return n;
}

static double log_probability(const struct programs_model *k, int64_t s)
{
    double nats;
    const int64_t n = sum_tokens(k, s, &nats);
    return model_sequence_logp(&k->model->zoo.dpo, nats, n);
}

void programs_pairs_refer(struct programs_model *k)
{
    for (int64_t s = 0; s < k->grid.all_samples; s++)
        k->pairs.reference[s] = log_probability(k, s);
}

static void weigh_tokens(struct programs_model *k, int64_t s, double slope)
{
    const int64_t T = k->model->T;
    double nats;
    const int64_t n = sum_tokens(k, s, &nats);
    for (int64_t i = s * T; i < s * T + T; i++)
        k->pairs.weight[i] = (float)model_pair_weight(&k->model->zoo.dpo, slope, n);
}

void programs_pairs_loss(struct programs_model *k, int first, int n, struct model_loss *sum)
{
    WSC_CHECK(n % 2 == 0, "%d sequences are no pairs", n);
    for (int64_t s = first; s < first + n; s += 2) {
        const struct model_pair pair = {.chosen = log_probability(k, s),
                                        .rejected = log_probability(k, s + 1),
                                        .reference_chosen = k->pairs.reference[s],
                                        .reference_rejected = k->pairs.reference[s + 1]};
        const double slope = model_pair_add(&k->model->zoo.dpo, &pair, sum);
        weigh_tokens(k, s, slope);
        weigh_tokens(k, s + 1, -slope);
    }
}
