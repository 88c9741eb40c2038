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

TEST(products, what_is_wrong_is_told)
{
#define HEAD                                                                                       \
    "id,layout,figure,unit,value,grid,matrix,density,count,floor,model,set,kind,tolerance,"        \
    "conditions,source\n"
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
