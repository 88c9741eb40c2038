// SPDX-License-Identifier: Apache-2.0
/* Scores of classes: counts of tokens by label and prediction, and their F1, the harmonic mean of
 * precision and recall; counts of sequences by the set of the evaluation that they are of. */
#include <wsc/model.h>

#include <math.h>

void model_count_class(struct model_class_count *count, int64_t n, int32_t label, int32_t predicted)
{
    count[label].labels++;
    if (predicted >= 0 && predicted < n) count[predicted].predicted++;
    if (predicted == label) count[label].found++;
}

void model_count_sequence(struct model_class_count *set, bool correct)
{
    set->labels++;
    set->found += correct;
}

void model_add_classes(struct model_class_count *sum, const struct model_class_count *more,
                       int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        sum[i].labels += more[i].labels;
        sum[i].predicted += more[i].predicted;
        sum[i].found += more[i].found;
    }
}

/* 2 P R / (P + R) = 2 found / (predicted + labels), 0 without either. */
static double f1(const struct model_class_count *c)
{
    const int64_t both = c->predicted + c->labels;
    return both ? 2 * (double)c->found / (double)both : 0;
}

double model_macro_f1(const struct model_class_count *count, const bool *ignored, int64_t n)
{
    double sum = 0;
    int64_t n_counted = 0;
    for (int64_t i = 0; i < n; i++) {
        if (ignored[i]) continue;
        sum += f1(&count[i]);
        n_counted++;
    }
    return n_counted ? sum / (double)n_counted : NAN;
}
