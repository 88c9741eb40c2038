// SPDX-License-Identifier: Apache-2.0
/* Published figures as CSV: what is read, what is refused and how that is said. */
#include "../../../src/validation/validation_impl.h"
#include "../../support/test.h"
#include "../report/report_case.h"

#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEAD                                                                                       \
    "id,quantity,unit,value,samples,model,num_csx,global_batch,micro_batch,msl,cluster,set,kind,"  \
    "tolerance,reason,conditions,source,other_batches,site,family,release,date\n"

static void read_text(const char *text, struct validation_figure **rows, int *n)
{
    *rows = NULL;
    *n = 0;
    case_write(case_path("reference.csv"), text);
    T_OK(validation_figures_read(case_path("reference.csv"), rows, n));
}

TEST(reference, rows_are_read_as_written)
{
    struct validation_figure *r;
    int n;
    read_text(
        "# a comment\n" HEAD
        "a,time,h,157,211043181,gpt,2,256,128,2048,cs2,x=1;y=2,calibration,10 %,why,"
        "\"one, two\",src,,st,fa,,\n\n"
        "b,speedup,1,15.3,,gpt,16,1472,auto,2048,cs3,,validation,14.5..15.8,why,,src,,st,fa,,\n"
        "c,other,apples,3,,,,1000000000,,,cs2,,context,,why not,,src,,st,fa,,\n",
        &r, &n);
    T_EQ(n, 3);
    T_STR(r[0].id, "a");
    T_EQ(r[0].quantity, VALIDATION_TIME);
    T_NEAR(r[0].value, 157, 0);
    T_NEAR(r[0].samples, 211043181, 0);
    T_EQ(r[0].num_csx, 2);
    T_EQ(r[0].micro_batch, 128);
    T_STR(r[0].set, "x=1;y=2");
    T_STR(r[0].conditions, "one, two");
    T_EQ(r[0].kind, VALIDATION_KIND_CALIBRATION);
    T_NEAR(r[0].low, 157 * 0.9, 1e-15);
    T_NEAR(r[0].high, 157 * 1.1, 1e-15);
    T_EQ(r[1].micro_batch, CONF_AUTO);
    T_NEAR(r[1].low, 14.5, 0);
    T_NEAR(r[1].high, 15.8, 0);
    T_EQ(r[2].kind, VALIDATION_KIND_CONTEXT);
    T_EQ(r[2].num_csx, 0);
    T_EQ(r[2].global_batch, 1000000000);
    wsc_free(r);
    T_EQ(wsc_mem_in_use(WSC_MEM_REPORT), 0);
}

TEST(reference, columns_come_in_any_order)
{
    struct validation_figure *r;
    int n;
    read_text(
        "source,reason,id,quantity,unit,value,samples,model,num_csx,global_batch,micro_batch,"
        "msl,cluster,set,kind,tolerance,conditions,date,release,family,site,other_batches\n"
        "src,why,a,rate,tokens/s,2048,,gpt,1,4,auto,1024,cs2,,validation,5 %,,2024,R2,fa,st,\n",
        &r, &n);
    T_EQ(n, 1);
    T_STR(r[0].source, "src");
    T_NEAR(r[0].high, 2048 * 1.05, 1e-15);
    wsc_free(r);
}

/* 3600 samples in half an hour are two a second, as are 2048 tokens of 1024 a sequence, and a step
 * of eight in four seconds; an evaluation has no rate of a training. */
TEST(reference, rates_of_figures_by_hand)
{
    struct validation_figure *r;
    int n;
    read_text(HEAD "h,time,h,0.5,3600,g,1,1,auto,1024,c,,validation,5 %,w,,s,,st,fa,,\n"
                   "s,time,s,1800,3600,g,1,1,auto,1024,c,,validation,5 %,w,,s,,st,fa,,\n"
                   "ms,time,ms,1.8e6,3600,g,1,1,auto,1024,c,,validation,5 %,w,,s,,st,fa,,\n"
                   "d,time,d,0.25,43200,g,1,1,auto,1024,c,,validation,5 %,w,,s,,st,fa,,\n"
                   "r,rate,samples/s,2,,g,1,1,auto,1024,c,,validation,5 %,w,,s,,st,fa,,\n"
                   "t,rate,tokens/s,2048,,g,1,1,auto,1024,c,,validation,5 %,w,,s,,st,fa,,\n"
                   "p,step_time,ms,4000,,g,1,8,auto,1024,c,,validation,5 %,w,,s,,st,fa,,\n"
                   "e,eval_rate,samples/s,2,,g,1,8,auto,1024,c,,validation,5 %,w,,s,,st,fa,,\n",
              &r, &n);
    T_EQ(n, 8);
    for (int i = 0; i < 7; i++)
        T_NEAR(validation_rate_of_figure(&r[i]), 2, 1e-12);
    T_NEAR(validation_rate_of_figure(&r[7]), 0, 0);
    wsc_free(r);
}

TEST(reference, lines_through_batches_say_which)
{
    struct validation_figure *r;
    int n;
    read_text(HEAD
              "a,slope,ms/sequence,2,,g,1,64,null,8,c,,validation,5 %,w,,s,8 16,st,fa,R1,2024\n",
              &r, &n);
    T_EQ(n, 1);
    T_EQ(r[0].n_other_batches, 2);
    T_EQ(r[0].other_batch[0], 8);
    T_EQ(r[0].other_batch[1], 16);
    T_EQ(r[0].micro_batch, CONF_NULL);
    T_STR(r[0].site, "st");
    T_STR(r[0].family, "fa");
    T_STR(r[0].release, "R1");
    T_STR(r[0].date, "2024");
    wsc_free(r);
}

/* Points for a plot: rates and times that are compared and not overridden, with their conditions.
 */
TEST(reference, points_are_rates_of_compared_rows)
{
    struct validation_figure *r;
    struct validation_point *p;
    int n, n_points;
    read_text(HEAD "a,time,s,10,100,g,1,1,auto,1024,c,,calibration,5 %,w,,s,,st,fa,,\n"
                   "b,rate,samples/s,11,,g,1,2,auto,1024,c,,validation,5 %,w,,s,,st,fa,,\n"
                   "c,rate,tokens/s,512,,g,2,2,auto,1024,c,,validation,5 %,w,,s,,st,fa,,\n"
                   "d,rate,samples/s,9,,g,1,1,auto,1024,c,x=1,validation,5 %,w,,s,,st,fa,,\n"
                   "e,rate,samples/s,9,,g,1,1,auto,1024,c,,context,,w,,s,,st,fa,,\n"
                   "f,speedup,1,9,,g,16,16,auto,1024,c,,validation,5 %,w,,s,,st,fa,,\n",
              &r, &n);
    T_OK(validation_points_of(r, n, &p, &n_points));
    T_EQ(n_points, 3);
    T_STR(p[0].model, "g");
    T_NEAR(p[0].tokens_per_s, 10, 1e-15);
    T_EQ(p[0].unit, VALIDATION_SAMPLES_PER_S); /* what a sample has is known in the sweep */
    T_NEAR(p[1].tokens_per_s, 11, 1e-15);
    T_EQ(p[1].global_batch, 2);
    T_STR(p[1].cluster, "c");
    T_NEAR(p[2].tokens_per_s, 512, 1e-15);
    T_EQ(p[2].unit, VALIDATION_TOKENS_PER_S);
    T_NEAR(p[2].num_csx, 2, 0);
    wsc_free(p);
    wsc_free(r);
}

/* A row, and what its error says. */
struct bad_row {
    const char *row, *message;
};

static void check_row(const struct bad_row *bad)
{
    char *text = wsc_asprintf(WSC_MEM_TEST, HEAD "%s", bad->row);
    struct validation_figure *rows = NULL;
    int n = 0;
    case_write(case_path("bad.csv"), text);
    T_EQ(validation_figures_read(case_path("bad.csv"), &rows, &n), WSC_CONFIG);
    if (!strstr(wsc_err_message(), bad->message)) T_STR(wsc_err_message(), bad->message);
    T_EQ(n, 0);
    wsc_free(rows);
    wsc_free(text);
}

TEST(reference, errors_name_file_line_column_and_field)
{
    const struct bad_row rows[] = {
        {"a,speed,1,1,,g,1,1,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "bad.csv:2:3: quantity: \"speed\" is not known; hint: one of time, training_time, rate, "
         "eval_rate, "
         "step_time, slope"},
        {"a,rate,miles,1,,g,1,1,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "bad.csv:2:8: unit: \"miles\" is no unit of rate; hint: such as samples/s"},
        {"a,rate,samples/s,x,,g,1,1,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "bad.csv:2:18: value: expected a number of at least 0, got \"x\""},
        {"a,rate,samples/s,,,g,1,1,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "bad.csv:2:18: value: is empty"},
        {"a,rate,samples/s,1,,g,0,1,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "bad.csv:2:23: num_csx: expected a whole number above 0, got \"0\""},
        {"a,rate,samples/s,1,,g,1,1.5,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "bad.csv:2:25: global_batch: expected a whole number"},
        {"a,rate,samples/s,1,,g,1,1000000001,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "bad.csv:2:25: global_batch: expected a whole number"},
        {"a,rate,samples/s,1,,g,2,2000001,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "bad.csv:2:25: global_batch: 1000001 sequences of a system, expected at most 1000000"},
        {"a,rate,samples/s,1,,g,1,1,some,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "bad.csv:2:27: micro_batch"},
        {"a,rate,samples/s,1,,g,1,1,auto,8,c,,guess,5 %,w,,s,,st,fa,,\n",
         "kind: \"guess\" is not known; hint: one of calibration, validation, context"},
        {"a,rate,samples/s,1,,g,1,1,auto,8,c,,validation,often,w,,s,,st,fa,,\n",
         "tolerance: \"often\" is no tolerance; hint: 10 % around the value, or 14.5..15.8"},
        {"a,rate,samples/s,1,,g,1,1,auto,8,c,,validation,3..2,w,,s,,st,fa,,\n", "is no tolerance"},
        {"a,rate,samples/s,1,,g,1,1,auto,8,c,,validation,0 %,w,,s,,st,fa,,\n", "is no tolerance"},
        {"a,rate,samples/s,1,,g,1,1,auto,8,c,,validation,5 %,,,s,,st,fa,,\n", "reason: is empty"},
        {"a,rate,samples/s,1,,,1,1,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n", "model: is empty"},
        {"a,rate,samples/s,1,,g,1,1,,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "micro_batch: is empty; hint: auto where it is not known"},
        {"a,speedup,,1,,g,1,1,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "unit: is empty; hint: 1 for a ratio"},
        {"a,rate,samples/s,1,,g,1,1,auto,8,c,,validation,5 %,w,,s,,,fa,,\n", "site: is empty"},
        {"a,rate,samples/s,1,,g,1,1,auto,8,c,,validation,5 %,w,,s,,st,,,\n", "family: is empty"},
        {"a,rate,samples/s,1\n", "bad.csv:2: 4 fields, the head line has 22"},
        {"a_name_that_is_far_too_long_to_be_the_name_of_any_row,rate,samples/s,1,,g,1,1,auto,8,c,,"
         "validation,5 %,w,,s,,st,fa,,\n",
         "id: longer than 47 bytes"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(&rows[i]);
}

/* Columns that a quantity needs, or does not read, and numbers that contradict each other. */
TEST(reference, errors_of_a_row_as_a_whole)
{
    const struct bad_row rows[] = {
        {"a,time,h,1,,g,1,1,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n", "samples: is empty"},
        {"a,other,h,1,,g,1,1,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n", "other cannot be compared"},
        {"a,slope,ms/sequence,1,,g,1,1,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "other_batches: is empty"},
        {"a,slope,ms/sequence,1,,g,1,1,auto,8,c,,validation,5 %,w,,s,4 x,st,fa,,\n",
         "other_batches: expected at most 4 whole numbers above 0, got \"4 x\""},
        {"a,slope,ms/sequence,1,,g,1,1,auto,8,c,,validation,5 %,w,,s,1 2 3 4 5,st,fa,,\n",
         "other_batches: expected at most 4 whole numbers above 0"},
        {"a,rate,samples/s,0,,g,1,1,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "bad.csv:2:18: value: expected a number above 0, got \"0\""},
        {"a,rate,samples/s,1,7,g,1,1,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "bad.csv:2:20: samples: a row of rate has none"},
        {"a,rate,samples/s,1,,g,1,1,auto,8,c,,validation,5 %,w,,s,2,st,fa,,\n",
         "other_batches: a row of rate has none"},
        {"a,slope,ms/sequence,1,,g,1,4,auto,8,c,,validation,5 %,w,,s,4 4,st,fa,,\n",
         "other_batches: a line needs a batch beside global_batch, 4"},
        {"a,rate,samples/s,1,,g,8,4,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "bad.csv:2:25: global_batch: 4 sequences for 8 systems"},
        {"a,rate,samples/s,1,,g,2,7,5,8,c,,validation,5 %,w,,s,,st,fa,,\n",
         "bad.csv:2:27: micro_batch: 5 sequences, a system has 4"},
        {"a,slope,ms/sequence,1,,g,2,7,4,8,c,,validation,5 %,w,,s,9 6,st,fa,,\n",
         "bad.csv:2:30: micro_batch: 4 sequences, a system has 3"},
        {"a,slope,ms/sequence,1,,g,2,7,auto,8,c,,validation,5 %,w,,s,9 1,st,fa,,\n",
         "bad.csv:2:60: other_batches: 1 sequences for 2 systems"},
        {"a,rate,samples/s,2924,,g,1,1,auto,8,c,,validation,1..2,w,,s,,st,fa,,\n",
         "bad.csv:2:51: tolerance: 1..2 is without the value, 2924; hint: LOW..HIGH in the unit of "
         "the value, samples/s"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(&rows[i]);
}

static void read_uneven(void)
{
    struct validation_figure *r;
    int n;
    read_text(HEAD "a,speedup,1,1.9,,g,2,65,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n"
                   "b,efficiency,1,0.9,,g,4,64,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n"
                   "c,speedup,1,1.9,,g,2,65,auto,8,c,,context,5 %,w,,s,,st,fa,,\n"
                   "d,rate,samples/s,9,,g,2,65,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n",
              &r, &n);
    T_EQ(n, 4);
    wsc_free(r);
}

/* A ratio is against one system with the share of each, which whole sequences may not give. */
TEST(reference, a_ratio_of_an_uneven_batch_has_a_warning)
{
    const char *text = case_capture(2, read_uneven);
    const char *first = strstr(text, "reference.csv:2:22: global_batch: 65 sequences do not divide "
                                     "evenly among 2 systems: speedup is against one system with "
                                     "32");
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    if (first) CU_ASSERT_PTR_NULL(strstr(first, "WARNING"));
}

TEST(reference, an_id_that_comes_again_is_an_error)
{
    static const char good[] = "a,rate,samples/s,1,,g,1,1,auto,8,c,,validation,5 %,w,,s,,st,fa,,\n";
    struct validation_figure *rows = NULL;
    int n = 0;
    char *text = wsc_asprintf(WSC_MEM_TEST, HEAD "%s%s", good, good);
    case_write(case_path("bad.csv"), text);
    T_EQ(validation_figures_read(case_path("bad.csv"), &rows, &n), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "bad.csv:3:1: id: a names an earlier row"));
    T_EQ(n, 1);
    wsc_free(rows);
    wsc_free(text);
}

TEST(reference, errors_of_the_head_line)
{
    const struct {
        const char *text, *message;
    } cases[] = {{"", "bad.csv: empty"},
                 {"id,quantity\n", "bad.csv:1: the column unit is missing"},
                 {"id,quantity,unit,value,model,num_csx,global_batch,msl,cluster\n",
                  "bad.csv:1: the column micro_batch is missing"},
                 {"id,quantity,unit,valu\n",
                  "bad.csv:1:18: \"valu\" is no column; hint: did you mean value?"},
                 {"id,quantity,id\n", "bad.csv:1:13: a second column id"}};
    struct validation_figure *rows = NULL;
    int n = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        case_write(case_path("bad.csv"), cases[i].text);
        T_EQ(validation_figures_read(case_path("bad.csv"), &rows, &n), WSC_CONFIG);
        if (!strstr(wsc_err_message(), cases[i].message))
            T_STR(wsc_err_message(), cases[i].message);
    }
    T_EQ(validation_figures_read(case_path("none.csv"), &rows, &n), WSC_CONFIG);
    CU_ASSERT_PTR_NULL(rows);
}

static void check_shipped(const struct validation_figure *row)
{
    char path[128];
    (void)snprintf(path, sizeof path, "configs/cluster/%s.yaml", row->cluster);
    CU_ASSERT(!access(path, R_OK));
    if (row->kind == VALIDATION_KIND_CONTEXT) return;
    (void)snprintf(path, sizeof path, "configs/params/%s.yaml", row->model);
    CU_ASSERT(!access(path, R_OK));
    CU_ASSERT(row->low < row->high && strlen(row->source) > 8);
}

static void read_one(const char *file, struct validation_figure **rows, int *n)
{
    char path[96];
    (void)snprintf(path, sizeof path, "benchmarks/reference/%s.csv", file);
    T_OK(validation_figures_read(path, rows, n));
}

static void read_shipped(struct validation_figure **rows, int *n)
{
    read_one("single_system", rows, n);
    read_one("scaling", rows, n);
    read_one("time_to_train", rows, n);
}

/* The shipped figures: every compared row has a model and a machine in the tree. */
TEST(reference, shipped_rows_have_their_files)
{
    struct validation_figure *rows = NULL;
    int n = 0, n_of[3] = {0};
    read_shipped(&rows, &n);
    for (int i = 0; i < n; i++) {
        n_of[rows[i].kind]++;
        check_shipped(&rows[i]);
    }
    T_EQ(n_of[VALIDATION_KIND_CALIBRATION], 13);
    CU_ASSERT(n_of[VALIDATION_KIND_VALIDATION] >= 34 && n_of[VALIDATION_KIND_CONTEXT] >= 25);
    wsc_free(rows);
}

/* The rules of docs/decisions/0021-rows.md, applied to a row that states its tolerance in percent:
 * the widest that its columns allow. */
static double widest(const struct validation_figure *row)
{
    const bool inferred = !strcmp(row->family, "flor") || !strncmp(row->release, "1.", 2);
    if (row->quantity == VALIDATION_INTERCEPT) return 25;
    if (row->quantity == VALIDATION_SPEEDUP) return inferred ? 10 : 5;
    if (!strcmp(row->site, "usc")) return 10;
    return inferred ? 25 : 20;
}

TEST(reference, tolerances_and_kinds_follow_the_rules)
{
    struct validation_figure *rows = NULL;
    int n = 0;
    read_shipped(&rows, &n);
    for (int i = 0; i < n; i++) {
        const struct validation_figure *row = &rows[i];
        if (row->kind == VALIDATION_KIND_CONTEXT) continue;
        if (strchr(row->tolerance, '%'))
            CU_ASSERT(row->high <= row->value * (1 + widest(row) / 100 + 1e-12));
        if (row->kind != VALIDATION_KIND_CALIBRATION) continue;
        const bool usc = !strcmp(row->site, "usc") &&
                         (!strcmp(row->model, "gpt3_256m") || !strcmp(row->model, "gpt3_13b") ||
                          !strcmp(row->model, "bert_base"));
        const bool cs3 = !strcmp(row->cluster, "cs3") && row->quantity != VALIDATION_EVAL_RATE;
        CU_ASSERT(usc || cs3);
    }
    wsc_free(rows);
}

/* The sign is that of speed: a time that is too short is positive, as is a rate that is too high.
 */
TEST(reference, a_speed_error_is_positive_when_the_prediction_is_too_fast)
{
    const struct validation_figure time = {.quantity = VALIDATION_TIME, .value = 100},
                                   rate = {.quantity = VALIDATION_RATE, .value = 100},
                                   bound = {.quantity = VALIDATION_BOUNDARY, .value = 100},
                                   none = {.quantity = VALIDATION_RATE};
    T_NEAR(validation_speed_error(&time, 80), 0.25, 1e-15);
    T_NEAR(validation_speed_error(&time, 125), -0.2, 1e-15);
    T_NEAR(validation_speed_error(&rate, 125), 0.25, 1e-15);
    T_NEAR(validation_speed_error(&rate, 80), -0.2, 1e-15);
    CU_ASSERT(isnan(validation_speed_error(&bound, 80)));
    CU_ASSERT(isnan(validation_speed_error(&none, 80)));
}
