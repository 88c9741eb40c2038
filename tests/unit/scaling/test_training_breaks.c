// SPDX-License-Identifier: Apache-2.0
/* Time, energy, FLOPs and loss of a whole training from the rate of its steps: evaluations,
 * checkpoints, failures, against the equations by hand.  Trainings on a machine: test_study.c. */
#include "../../../src/scaling/training_breaks.h"
#include "../../support/test.h"

#include <wsc/scaling.h>

#include <math.h>

TEST(scaling_training, tokens_are_a_number_or_per_parameter)
{
    double tokens, per_param;
    T_OK(scaling_tokens_parse("300B", &tokens, &per_param));
    CU_ASSERT(tokens == 300e9 && per_param == 0);
    T_OK(scaling_tokens_parse("2.5T", &tokens, &per_param));
    CU_ASSERT(tokens == 2.5e12);
    T_OK(scaling_tokens_parse("2e9", &tokens, &per_param));
    CU_ASSERT(tokens == 2e9);
    T_OK(scaling_tokens_parse("20xparams", &tokens, &per_param));
    CU_ASSERT(tokens == 0 && per_param == 20);
    static const char *const bad[] = {"",        "B",    "-3B", "20params", "0",
                                      "xparams", "3 GB", "0.5", "1e-9k",    "1e-30xparams"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        T_EQ(scaling_tokens_parse(bad[i], &tokens, &per_param), WSC_USAGE);
}

static const struct scaling_breaks no_breaks;

/* The FLOPs alone tell the loss only near the law's 20 tokens for each parameter. */
TEST(scaling_training, a_loss_is_expected_near_the_tokens_of_the_law)
{
    static const struct {
        double per_param;
        bool known;
    } row[] = {{0.1, false}, {9.9, false}, {10, true}, {20, true}, {40, true}, {41, false}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct scaling_row of = {
            .params = 100, .tokens_per_s = 1, .flop_per_token_hoffmann = 600};
        const double loss = scaling_training_of(&of, 0, row[i].per_param, &no_breaks).loss;
        T_EQ(isfinite(loss), row[i].known);
        if (row[i].known) T_NEAR(loss, scaling_published_loss(6e4 * row[i].per_param), 1e-15);
    }
}

/* 10 tokens/s, 2 J and 8 or 9 FLOP per token: 1000 tokens take 100 s, 2 kJ, 8000 or 9000 FLOP. */
TEST(scaling_training, time_energy_and_flop)
{
    const struct scaling_row row = {.model = "m",
                                    .params = 50,
                                    .num_csx = 2,
                                    .tokens_per_s = 10,
                                    .joules_per_token = 2,
                                    .flop_per_token = 8,
                                    .flop_per_token_hoffmann = 9};
    struct scaling_training t = scaling_training_of(&row, 1000, 0, &no_breaks);
    T_NEAR(t.seconds, 100, 1e-15);
    T_NEAR(t.joules, 2000, 1e-15);
    T_NEAR(t.flop, 8000, 1e-15);
    T_NEAR(t.flop_hoffmann, 9000, 1e-15);
    T_NEAR(t.loss, scaling_published_loss(9000), 1e-15);
    t = scaling_training_of(&row, 0, 20, &no_breaks);
    T_NEAR(t.tokens, 1000, 1e-15);
    struct scaling_row sparse = row;
    sparse.useful_flop_per_token = 4;
    t = scaling_training_of(&sparse, 1000, 0, &no_breaks);
    T_NEAR(t.flop_useful, 4000, 1e-15);
    CU_ASSERT(isnan(t.loss)); /* the law is one of dense weights */
}

/* A thousand failures for each time that the training takes: exp(1000) is above all numbers. */
TEST(scaling_training, failures_that_leave_no_end_cost_all_of_the_time)
{
    const struct scaling_row row = {.tokens_per_s = 1, .joules_per_token = 2};
    const struct scaling_breaks b = {.failures_per_s = 1, .restart_s = 5};
    const struct scaling_training t = scaling_training_of(&row, 1000, 0, &b);
    CU_ASSERT(isinf(t.seconds));
    T_NEAR(scaling_restart_fraction(&t), 1, 0);
}

/* 100 s of steps, a checkpoint of 2 s after each 10 s: ten segments of 12 s.  With one failure in
 * 50 s and 5 s to restart each takes (50 + 5) (exp(12 / 50) - 1) = 14.9187 s. */
TEST(scaling_training, checkpoints_and_failures_add_time)
{
    const struct scaling_row row = {.tokens_per_s = 10, .joules_per_token = 2};
    struct scaling_breaks b = {.checkpoint_s = 2, .interval_s = 10};
    struct scaling_training t = scaling_training_of(&row, 1000, 0, &b);
    T_NEAR(t.seconds, 120, 1e-12);
    T_NEAR(t.checkpoint_s, 20, 1e-12);
    T_EQ(t.restart_s, 0); /* no rounding, which would be printed as -0.00 % */
    T_NEAR(t.joules, 2400, 1e-9);
    b.failures_per_s = 0.02;
    b.restart_s = 5;
    t = scaling_training_of(&row, 1000, 0, &b);
    T_NEAR(t.seconds, 550 * expm1(0.24), 1e-9);
    T_NEAR(t.restart_s, t.seconds - 120, 1e-9);
    T_NEAR(scaling_restart_fraction(&t), 1 - 120 / t.seconds, 1e-12);
    b.interval_s = 0; /* nothing is saved: a failure begins the whole training again */
    t = scaling_training_of(&row, 1000, 0, &b);
    T_NEAR(t.seconds, 55 * expm1(2), 1e-9);
    T_NEAR(t.checkpoint_s, 0, 0);
}

/* The last step writes a checkpoint as well: after 105 s of steps the eleventh, and the only one
 * when the interval is longer than the training. */
TEST(scaling_training, the_last_interval_is_shorter)
{
    const struct scaling_row row = {.tokens_per_s = 10};
    struct scaling_breaks b = {.checkpoint_s = 2, .interval_s = 10};
    struct scaling_training t = scaling_training_of(&row, 1050, 0, &b);
    T_NEAR(t.seconds, 127, 1e-12);
    T_NEAR(t.checkpoint_s, 22, 1e-12);
    b.failures_per_s = 0.02;
    b.restart_s = 5;
    t = scaling_training_of(&row, 1050, 0, &b);
    T_NEAR(t.seconds, 550 * expm1(0.24) + 55 * expm1(0.14), 1e-9);
    T_NEAR(t.restart_s, t.seconds - 127, 1e-9);
    b = (struct scaling_breaks){.checkpoint_s = 2, .interval_s = 200};
    t = scaling_training_of(&row, 1000, 0, &b);
    T_NEAR(t.seconds, 102, 1e-12);
    b.interval_s = 100.0 / 3; /* three intervals, but for rounding */
    t = scaling_training_of(&row, 1000, 0, &b);
    T_NEAR(t.checkpoint_s, 6, 1e-12);
    T_NEAR(t.seconds, 106, 1e-9);
}

/* How much longer than the training an interval is makes no difference: one end, after the last
 * step. With failures the training is repeated as a whole. */
TEST(scaling_training, an_interval_of_any_length_has_one_end)
{
    static const double interval_s[] = {101, 1e9, 1e12, 1e30};
    const struct scaling_row row = {.tokens_per_s = 10, .joules_per_token = 2};
    for (size_t i = 0; i < sizeof interval_s / sizeof *interval_s; i++) {
        struct scaling_breaks b = {.checkpoint_s = 2,
                                   .interval_s = interval_s[i],
                                   .evaluation_s = 3,
                                   .evaluation_interval_s = interval_s[i]};
        struct scaling_training t = scaling_training_of(&row, 1000, 0, &b);
        T_NEAR(t.seconds, 105, 1e-12);
        T_NEAR(t.checkpoint_s, 2, 1e-12);
        T_NEAR(t.eval_s, 3, 1e-12);
        T_NEAR(t.joules, 2100, 1e-9);
        b.failures_per_s = 0.02;
        b.restart_s = 5;
        t = scaling_training_of(&row, 1000, 0, &b);
        T_NEAR(t.seconds, 55 * expm1(0.02 * 105), 1e-9);
        T_NEAR(t.restart_s, t.seconds - 105, 1e-9);
    }
}

/* 100 s of steps, an evaluation of 3 s after each 20 s and after the last step: five, and six in
 * 105 s.  An interval between checkpoints of 2 s then has 11.5 s of work. */
TEST(scaling_training, evaluations_add_time)
{
    const struct scaling_row row = {.tokens_per_s = 10, .joules_per_token = 2};
    struct scaling_breaks b = {.evaluation_s = 3, .evaluation_interval_s = 20};
    struct scaling_training t = scaling_training_of(&row, 1000, 0, &b);
    T_NEAR(t.seconds, 115, 1e-12);
    T_NEAR(t.eval_s, 15, 1e-12);
    T_NEAR(t.joules, 2300, 1e-9);
    t = scaling_training_of(&row, 1050, 0, &b);
    T_NEAR(t.seconds, 123, 1e-12);
    b.checkpoint_s = 2;
    b.interval_s = 10;
    t = scaling_training_of(&row, 1000, 0, &b);
    T_NEAR(t.seconds, 135, 1e-12);
    T_NEAR(t.checkpoint_s, 20, 1e-12);
    b.failures_per_s = 0.02;
    b.restart_s = 5;
    t = scaling_training_of(&row, 1000, 0, &b);
    T_NEAR(t.seconds, 550 * expm1(0.02 * 13.5), 1e-9);
    T_NEAR(t.restart_s, t.seconds - 135, 1e-9);
}

/* Training FLOPs and Pile test loss of the family, Dey et al. 2023, arXiv 2304.03208, table of
 * zero-shot results, as the model cards repeat it: the law is within 2 %. */
TEST(scaling_training, the_scaling_law_meets_the_family)
{
    static const double flop[] = {2.6e18, 1.3e19, 6.1e19, 2.8e20, 2.3e22};
    static const double loss[] = {2.608, 2.349, 2.181, 1.997, 1.572};
    for (size_t i = 0; i < sizeof flop / sizeof *flop; i++)
        CU_ASSERT(fabs(scaling_published_loss(flop[i]) / loss[i] - 1) < 0.02);
    T_NEAR(scaling_published_loss(5.984e22), 1.5066, 1e-12);
    CU_ASSERT(scaling_published_loss(1e24) < scaling_published_loss(1e23));
}
