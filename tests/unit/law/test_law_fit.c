// SPDX-License-Identifier: Apache-2.0
/* The fit of a law against scipy's (tests/fixtures/make_law_fit.py), and points that support none.
 */
#include "../../support/case_files.h"
#include "../../support/test.h"

#include <wsc/law.h>
#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_FLOOR = 7, N_PUBLISHED = 7 };

/* Seven trainings of 1.5 (f / 1e17)^-0.15 + 1.2 with scatter. */
static void make_floor(struct law_point p[N_FLOOR])
{
    static const double flop[N_FLOOR] = {1e15, 4e15, 2e16, 1e17, 6e17, 3e18, 1e19};
    static const double loss[N_FLOOR] = {
        4.1948934724533196, 3.6279848950391438, 3.1105751733196354, 2.702,
        2.3454855133854493, 2.1020816027072513, 1.9497808504409082};
    for (int i = 0; i < N_FLOOR; i++) {
        p[i] = (struct law_point){.flop = flop[i], .loss = loss[i]};
        (void)snprintf(p[i].name, sizeof p[i].name, "%d", i);
    }
}

TEST(law_fit, a_law_with_a_floor_is_that_of_scipy)
{
    struct law_point p[N_FLOOR];
    struct law_fit fit;
    make_floor(p);
    T_OK(law_fit(p, N_FLOOR, &fit));
    T_EQ(fit.support, LAW_SUPPORTED);
    CU_ASSERT(fit.floor);
    T_EQ(fit.dof, N_FLOOR - 3);
    CU_ASSERT_DOUBLE_EQUAL(fit.scale, 1.0534725241e+17, 1e8);
    CU_ASSERT_DOUBLE_EQUAL(fit.amplitude, 1.4905962386, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(fit.b, -0.1498489822, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(fit.c, 1.1978963248, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(fit.b_high - fit.b, 0.0021509599, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(fit.c - fit.c_low, 0.0230510316, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(law_loss(&fit, 1e20), 1.7314807444, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(law_half_width(&fit, 1e20), 0.00861518, 1e-6);
    /* The form of publications, and its inverse. */
    CU_ASSERT_DOUBLE_EQUAL(pow(1e20 / fit.a, fit.b) + fit.c, law_loss(&fit, 1e20), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(law_flop(&fit, law_loss(&fit, 1e18)) / 1e18, 1, 1e-10);
    CU_ASSERT(isnan(law_flop(&fit, fit.c)));
}

TEST(law_fit, points_that_do_not_determine_a_floor_get_none)
{
    struct law_point *p;
    struct law_fit fit;
    int n;
    T_OK(law_points_read("benchmarks/reference/laws/cerebras_gpt.csv", &p, &n));
    T_EQ(n, N_PUBLISHED);
    T_OK(law_fit(p, n, &fit));
    T_EQ(fit.n, N_PUBLISHED - 1); /* 13B is judged */
    CU_ASSERT(!fit.floor);
    CU_ASSERT_DOUBLE_EQUAL(fit.amplitude, 2.0898561962, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(fit.b, -0.0554327025, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(fit.b_high - fit.b, 0.0031850776, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(law_half_width(&fit, 1e20), 0.04612838, 1e-6);
    /* The publication's own law lies within the scatter at all its points. */
    for (int i = 0; i < n; i++)
        CU_ASSERT(fabs(scaling_published_loss(p[i].flop) - p[i].loss) < 0.02 * p[i].loss);
    wsc_free(p);
}

/* Numbers that no integer holds, and a file without trainings. */
TEST(law_fit, points_that_cannot_be_read_are_named)
{
    static const struct {
        const char *rows, *message;
    } cases[] = {{"a,1e19,1,3\n", "points.csv:2:3: params: expected a number above 0, up to 1e18"},
                 {"a,1,2e18,3\n", "points.csv:2:5: tokens: expected a number above 0, up to 1e18"},
                 {"", "points.csv: no training after the head line"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct law_point *p;
        int n;
        const char *path = case_path("points.csv");
        char text[80];
        (void)snprintf(text, sizeof text, "name,params,tokens,loss\n%s", cases[i].rows);
        case_write(path, text);
        T_EQ(law_points_read(path, &p, &n), WSC_CONFIG);
        if (!strstr(wsc_err_message(), cases[i].message))
            T_STR(wsc_err_message(), cases[i].message);
    }
}

/* Without FLOPs, points count 6 params tokens; a column says it of points that have FLOPs. */
TEST(law_fit, points_have_one_convention)
{
    static const struct {
        const char *rows, *message;
        enum law_convention convention;
        double flop;
    } cases[] = {{"name,params,tokens,loss\na,2,3,3\nb,4,5,2\n", NULL, LAW_6PD, 36},
                 {"name,flop,loss\na,40,3\nb,50,2\n", NULL, LAW_HOFFMANN, 40},
                 {"name,flop,loss,convention\na,40,3,6pd\nb,50,2,6pd\n", NULL, LAW_6PD, 40},
                 {"name,flop,params,tokens,loss\na,40,2,3,3\nb,,4,5,2\n",
                  "points.csv:3: b: its FLOPs are counted by 6pd, those of a by hoffmann", 0, 0},
                 {"name,flop,loss,convention\na,40,3,hoffmann\nb,50,2,6pd\n",
                  "points.csv:3: b: its FLOPs are counted by 6pd, those of a by hoffmann", 0, 0},
                 {"name,flop,loss,convention\na,40,3,7pd\n",
                  "points.csv:2:8: convention: expected hoffmann or 6pd, got \"7pd\"", 0, 0},
                 {"name,params,tokens,loss,convention\na,2,3,3,hoffmann\n",
                  "points.csv:2: a: FLOPs or loss are missing", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct law_point *p = NULL;
        int n;
        const char *path = case_path("points.csv");
        case_write(path, cases[i].rows);
        const enum wsc_err rc = law_points_read(path, &p, &n);
        T_EQ(rc, cases[i].message ? WSC_CONFIG : WSC_OK);
        if (rc && cases[i].message && !strstr(wsc_err_message(), cases[i].message))
            T_STR(wsc_err_message(), cases[i].message);
        if (rc) continue;
        T_EQ(p[1].convention, cases[i].convention);
        T_NEAR(p->flop, cases[i].flop, 1e-12);
        wsc_free(p);
    }
}

TEST(law_fit, the_convention_is_that_of_the_points)
{
    struct law_point p[N_FLOOR];
    struct law_fit fit;
    make_floor(p);
    for (int i = 0; i < N_FLOOR; i++)
        p[i].convention = LAW_6PD;
    T_OK(law_fit(p, N_FLOOR, &fit));
    T_EQ(fit.convention, LAW_6PD);
    p[3].convention = LAW_HOFFMANN;
    T_EQ(law_fit(p, N_FLOOR, &fit), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(wsc_err_message(), "3: its FLOPs are counted by hoffmann, those of 0 by 6pd"));
}

TEST(law_fit, the_largest_is_predicted_from_the_others)
{
    struct law_point p[N_FLOOR], others[N_FLOOR];
    struct law_fit fit;
    make_floor(p);
    make_floor(others);
    T_OK(law_fit(others, N_FLOOR - 1, &fit));
    const double expected = law_loss(&fit, p[N_FLOOR - 1].flop) / p[N_FLOOR - 1].loss - 1;
    CU_ASSERT_DOUBLE_EQUAL(law_leave_out_last(p, N_FLOOR), expected, 1e-15);
    CU_ASSERT(fabs(expected) < 0.01);
    CU_ASSERT(isnan(law_leave_out_last(p, 3))); /* two are left */
}

static void check_refused(const struct law_point *p)
{
    struct law_fit fit;
    T_EQ(law_fit(p, N_FLOOR, &fit), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "3: 1e+17 FLOPs and a loss of nan"));
}

TEST(law_fit, points_without_support)
{
    struct law_point p[N_FLOOR];
    struct law_fit fit;
    make_floor(p);
    T_OK(law_fit(p, 2, &fit));
    T_EQ(fit.support, LAW_TOO_FEW);
    p[2].flop = p[1].flop; /* three points of two FLOPs */
    T_OK(law_fit(p, 3, &fit));
    T_EQ(fit.support, LAW_TOO_FEW);
    make_floor(p);
    for (int i = 0; i < N_FLOOR; i++)
        p[i].loss = i % 2 ? 2.1 : 2;
    T_OK(law_fit(p, N_FLOOR, &fit));
    T_EQ(fit.support, LAW_NOT_FALLING);
    p[3].loss = NAN;
    check_refused(p);
    p[3].judged = true; /* a judged point has to be a number as well */
    check_refused(p);
}
