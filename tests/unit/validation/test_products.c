// SPDX-License-Identifier: Apache-2.0
/* Published figures of single products: the shipped rows hold, errors of a file name the place. */
#include "../../support/test.h"
#include "../report/report_case.h"

#include <wsc/mem.h>
#include <wsc/validation_products.h>

#include <math.h>
#include <string.h>

static const char *const shipped = "benchmarks/reference/products/sparse.csv";

static void predict(struct validation_product **rows, int *n)
{
    const struct validation_folders folders = {{"configs/params"}};
    struct hw_machine machine;
    *rows = NULL;
    *n = 0;
    T_OK(validation_products_read(shipped, rows, n));
    T_OK(hw_machine_parse(&machine, NULL, NULL, 0, NULL, 0));
    T_OK(validation_products_predict(*rows, *n, &folders, &machine));
    hw_machine_fini(&machine);
}

static const struct validation_product *find(const struct validation_product *rows, int n,
                                             const char *id)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(rows[i].id, id)) return &rows[i];
    CU_FAIL_FATAL("no such row");
    return NULL;
}

TEST(products, shipped_rows_hold)
{
    struct validation_product *rows;
    int n, judged = 0;
    predict(&rows, &n);
    CU_ASSERT(n > 30);
    for (int i = 0; i < n; i++) {
        judged += rows[i].kind != VALIDATION_KIND_CONTEXT;
        if (!validation_product_holds(&rows[i])) T_STR(rows[i].id, "outside its tolerance");
        CU_ASSERT(rows[i].predicted > 0 && strlen(rows[i].source) > 8);
    }
    CU_ASSERT(judged >= 33);
    wsc_free(rows);
}

/* The law by hand: 24 columns, 768 768 0.05 / 192 non-zeros of 39.2 + 1.188 68 cycles. */
TEST(products, laws_by_hand)
{
    struct validation_product *rows;
    int n;
    predict(&rows, &n);
    T_NEAR(find(rows, n, "csc_32x6")->predicted, 1511 + 53.05 * 24 + 153.6 * (39.2 + 1.188 * 68),
           1e-12);
    CU_ASSERT(find(rows, n, "csc_32x24_most")->predicted >
              1.1 * find(rows, n, "csc_32x24")->predicted);
    /* Without zeros each output has 17 features of 22 + 13 / 0.49 cycles, and no index. */
    const double each = 17 * (22 + ceil(13 / 0.49));
    T_NEAR(find(rows, n, "alcf_12288_dense")->predicted,
           8.36 + 2400 * (12288 * each / 1.1e9 + 0.00327), 0.01);
    T_NEAR(find(rows, n, "spdf_gpt3_xl_flops")->predicted, 2.49, 0.01);
    wsc_free(rows);
}

#define HEAD                                                                                       \
    "id,layout,figure,unit,value,grid,matrix,density,count,floor,model,set,kind,tolerance,"        \
    "conditions,source\n"
#define FLOPS(set)  HEAD "a,flops,total,1,2,,,0.25,,,gpt3_1p3b," set ",context,,x,y\n"
#define STREAM(set) HEAD "a,stream,total,s,1,,64x64x64,1,1,0,," set ",context,,x,y\n"

/* Predict the only row of a file; its prediction, or NaN after an error. */
static double predict_text(const char *text)
{
    const struct validation_folders folders = {{"configs/params"}};
    struct validation_product *rows = NULL;
    struct hw_machine machine;
    int n = 0;
    case_write(case_path("sets.csv"), text);
    T_OK(validation_products_read(case_path("sets.csv"), &rows, &n));
    T_EQ(n, 1);
    T_OK(hw_machine_parse(&machine, NULL, NULL, 0, NULL, 0));
    const enum wsc_err rc = validation_products_predict(rows, n, &folders, &machine);
    const double predicted = rc ? NAN : rows->predicted;
    CU_ASSERT(!rc || rc == WSC_CONFIG);
    hw_machine_fini(&machine);
    wsc_free(rows);
    return predicted;
}

/* Each override acts, wherever it stands in the list. */
TEST(products, all_overrides_of_a_row_act)
{
    const double one = predict_text(FLOPS("sparsity=0.5")),
                 deep = predict_text(FLOPS("model.num_hidden_layers=4")),
                 both = predict_text(FLOPS("sparsity=0.5;model.num_hidden_layers=4"));
    T_NEAR(deep, 1, 1e-12); /* a dense model */
    CU_ASSERT(one > 1 && both > 1 && fabs(both - one) > 0.01);
    T_NEAR(predict_text(FLOPS("model.num_hidden_layers=4;sparsity=0.5;")), both, 0);
    const double fast = predict_text(STREAM("cluster.wafer.stage_latency=0 s")),
                 slow = predict_text(STREAM("cluster.wafer.clock=1.1 GHz;"
                                            "cluster.wafer.stage_latency=1 s"));
    T_NEAR(slow - fast, 1, 1e-6);
}

TEST(products, overrides_that_do_not_act_are_refused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {STREAM("cluster.wafer.clock=1 GHz;sparsity=0.5"),
         "sets.csv:2:37: set: sparsity=0.5: expected cluster.KEY=VALUE"},
        {STREAM("cluster.wafer.clock"), "sets.csv:2:37: set: cluster.wafer.clock: has no value"},
        {STREAM("cluster.wafer.klock=1 GHz"), "sets.csv:2:37: set: cluster"},
        {STREAM("cluster.wafer.clock=9 m"), "sets.csv:2:37: set: cluster.wafer.clock: "},
        {FLOPS("cluster.wafer.clock=1 GHz"), ": set: cluster.wafer.clock=1 GHz: is no key of"},
        {FLOPS("sparsity=0.5;model.no_such_key=1"), "sets.csv:2:38: set: model.no_such_key"},
        {HEAD "a,csc,mean,cycles,1,4x4,8x8x8,1,,,,sparsity=0.5,context,,x,y\n",
         ": set: the formulas of tiles have no overrides"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT(isnan(predict_text(cases[i].text)));
        if (!strstr(wsc_err_message(), cases[i].message))
            T_STR(wsc_err_message(), cases[i].message);
    }
}

TEST(products, what_is_wrong_is_told)
{
    static const struct {
        const char *text, *message;
    } cases[] = {{"", "empty"},
                 {"id,layout\n", "the column figure is missing"},
                 {HEAD "a,csr,mean,cycles,1,,,1,,,,,context,,x,y\n", "2:3: layout: expected csc"},
                 {HEAD "a,csc,least,cycles,1,,,1,,,,,context,,x,y\n", "figure: expected mean"},
                 {HEAD "a,csc,mean,cycles,0,,,1,,,,,context,,x,y\n", "value: expected a number"},
                 {HEAD "a,csc,mean,cycles,1,4,,1,,,,,context,,x,y\n", "grid: expected PEs"},
                 {HEAD "a,csc,mean,cycles,1,4x4,1x2,1,,,,,context,,x,y\n", "matrix: expected"},
                 {HEAD "a,csc,mean,cycles,1,4x4,1x2x3,1,,,,,fitted,,x,y\n", "kind: expected"},
                 {HEAD "a,csc,mean,cycles,1,4x4,1x2x3,1,,,,,validation,,x,y\n", "tolerance: "},
                 {HEAD "a,csc\n", "2 fields"}};
    struct validation_product *rows = NULL;
    int n = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        case_write(case_path("bad.csv"), cases[i].text);
        T_EQ(validation_products_read(case_path("bad.csv"), &rows, &n), WSC_CONFIG);
        if (!strstr(wsc_err_message(), cases[i].message))
            T_STR(wsc_err_message(), cases[i].message);
    }
    wsc_free(rows);
}
