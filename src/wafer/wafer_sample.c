// SPDX-License-Identifier: Apache-2.0
/* Chooses the next token of a text: the most likely one, or a sample from the logits divided by a
 * temperature, among the k most likely tokens or the nucleus of probability p (Holtzman et al.
 * 2020). Random numbers are functions of seed, prompt and position. wafer_generate.c calls. */
#include "wafer_sample.h"

#include <wsc/rng.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t most_likely(const float *logits, int64_t n)
{
    int64_t best = 0;
    for (int64_t v = 1; v < n; v++)
        if (logits[v] > logits[best]) best = v;
    return best;
}

static int descending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* The lowest logit that can be sampled: the k-th largest one, or the lowest of the most likely
 * tokens that together have probability top_p among the remaining ones. */
static float smallest_sampled(struct wafer_texts *g, const float *logits, int64_t n)
{
    const struct wafer_prompts *p = g->w->work.prompts;
    const int64_t k = p->top_k > 0 && p->top_k < n ? p->top_k : n;
    double total = 0, sum = 0;
    int64_t last = 0;
    if (k == n && p->top_p >= 1) return -INFINITY;
    memcpy(g->scratch, logits, (size_t)n * sizeof(float));
    qsort(g->scratch, (size_t)n, sizeof(float), descending);
    const float *s = g->scratch;
    if (p->top_p >= 1) return s[k - 1];
    for (int64_t i = 0; i < k; i++)
        total += exp((double)(s[i] - s[0]) / p->temperature);
    for (; last < k - 1; last++) {
        sum += exp((double)(s[last] - s[0]) / p->temperature);
        if (sum >= p->top_p * total) break;
    }
    return s[last];
}

int64_t wafer_sample_token(struct wafer_texts *g, const float *logits, int prompt, int64_t position)
{
    const struct wafer_prompts *p = g->w->work.prompts;
    const int64_t V = g->w->net->model->V;
    const int64_t best = most_likely(logits, V);
    if (p->temperature <= 0) return best;
    const float bound = smallest_sampled(g, logits, V);
    double total = 0;
    for (int64_t v = 0; v < V; v++)
        if (logits[v] >= bound) total += exp((double)(logits[v] - logits[best]) / p->temperature);
    double u = total * wsc_rng_uniform(p->seed, wsc_rng_stream(WSC_RNG_SAMPLE, (uint64_t)prompt),
                                       (uint64_t)position);
    for (int64_t v = 0; v < V; v++) {
        if (logits[v] < bound) continue;
        u -= exp((double)(logits[v] - logits[best]) / p->temperature);
        if (u <= 0) return v;
    }
    return best;
}
