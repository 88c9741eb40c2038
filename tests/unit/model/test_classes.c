// SPDX-License-Identifier: Apache-2.0
/* F1 of classes of tokens: by its definition, and invariance of the counts to how tokens are
 * divided. */
#include "../../support/test.h"

#include <wsc/model.h>

#include <math.h>
#include <string.h>

enum { CLASSES = 4 };

/* Class 1 is found 2 times of 3 and predicted 4 times (P 1/2, R 2/3, F1 4/7), class 2 is never
 * predicted, class 3 neither labelled nor predicted. */
static const struct {
    int32_t label, predicted;
} token[] = {{1, 1}, {1, 1}, {1, 0}, {0, 1}, {2, 1}, {0, 0}, {2, 0}};
enum { TOKENS = sizeof token / sizeof *token };

static void count(struct model_class_count *counts, int first, int end)
{
    for (int i = first; i < end; i++)
        model_count_class(counts, CLASSES, token[i].label, token[i].predicted);
}

TEST(model_classes, f1_is_the_mean_over_classes_that_are_not_ignored)
{
    const bool none[CLASSES] = {false}, first[CLASSES] = {true},
               all[CLASSES] = {true, true, true, true};
    const bool others[CLASSES] = {true, false, true, true};
    struct model_class_count counts[CLASSES] = {{0}};
    count(counts, 0, TOKENS);
    T_EQ(counts[1].labels, 3);
    T_EQ(counts[1].predicted, 4);
    T_EQ(counts[1].found, 2);
    /* class 0: found 1, predicted 3, labelled 2 */
    CU_ASSERT_DOUBLE_EQUAL(model_macro_f1(counts, none, CLASSES), (2.0 / 5 + 4.0 / 7) / 4, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(model_macro_f1(counts, first, CLASSES), 4.0 / 7 / 3, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(model_macro_f1(counts, others, CLASSES), 4.0 / 7, 1e-15);
    CU_ASSERT(isnan(model_macro_f1(counts, all, CLASSES)));
}

TEST(model_classes, parts_add_up_and_a_prediction_that_is_no_class_counts_for_none)
{
    struct model_class_count whole[CLASSES + 1] = {{0}}, part[CLASSES] = {{0}},
                                             sum[CLASSES] = {{0}};
    count(whole, 0, TOKENS);
    count(sum, 0, 3);
    count(part, 3, TOKENS);
    model_add_classes(sum, part, CLASSES);
    CU_ASSERT(!memcmp(sum, whole, sizeof sum));
    model_count_class(whole, CLASSES, 1, -1);
    model_count_class(whole, CLASSES, 1, CLASSES);
    T_EQ(whole[1].labels, sum[1].labels + 2);
    T_EQ(whole[CLASSES].predicted, 0); /* beyond the counts */
    for (int i = 0; i < CLASSES; i++)
        T_EQ(whole[i].predicted, sum[i].predicted);
}
