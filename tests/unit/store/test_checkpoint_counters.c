// SPDX-License-Identifier: Apache-2.0
/* Counters of a checkpoint: what is written comes back, a file may have fewer, and a value out of
 * range is refused and changes nothing. */
#include "../../support/test.h"

#include <wsc/store.h>

#include <stdio.h>

enum { N = 3 };
struct numbers {
    int64_t step, due;
    double scale;
    struct store_counter row[N];
};

static void list(struct numbers *x, int64_t step, int64_t due, double scale)
{
    const struct numbers now = {step,
                                due,
                                scale,
                                {{"global_step", &x->step, NULL, 0, 1000},
                                 {"grad_scaler.loss_scale", NULL, &x->scale, 0, 0},
                                 {"wsc.due", &x->due, NULL, -1, 1}}};
    *x = now;
}

static const char *file_name(void)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/counters.mdl", test_tmpdir());
    return path;
}

/* A file with the first @p n of them. */
static enum wsc_err write_first(const struct numbers *x, int n)
{
    struct store_file *f = NULL;
    TRY(store_create(&f, file_name(), NULL));
    enum wsc_err rc = store_define_counters(f, x->row, n);
    if (!rc) rc = store_describe(f);
    if (!rc) rc = store_write_counters(f, x->row, n);
    const enum wsc_err committed = store_commit(&f);
    return rc ? rc : committed;
}

static enum wsc_err read_all(struct numbers *x)
{
    struct store_file *f = NULL;
    TRY(store_open(&f, file_name()));
    const enum wsc_err rc = store_read_counters(f, x->row, N);
    store_close(&f);
    return rc;
}

TEST(store_counters, come_back_and_pass_the_check)
{
    struct numbers x, y;
    list(&x, 1000, -1, 1.0 / 3.0);
    list(&y, 7, 1, 2);
    T_OK(write_first(&x, N));
    T_OK(store_check(file_name()));
    T_OK(read_all(&y));
    T_EQ(y.step, 1000);
    T_EQ(y.due, -1);
    CU_ASSERT(y.scale == 1.0 / 3.0);
}

TEST(store_counters, one_that_the_file_does_not_have_stays)
{
    struct numbers x, y;
    list(&x, 3, 0, 0.5);
    list(&y, 7, 1, 2);
    T_OK(write_first(&x, 1));
    T_OK(read_all(&y));
    T_EQ(y.step, 3);
    T_EQ(y.due, 1);
    CU_ASSERT(y.scale == 2);
}

TEST(store_counters, one_out_of_range_is_refused)
{
    struct numbers x, y;
    list(&x, 3, 2, 0.5);
    list(&y, 7, 1, 2);
    T_OK(write_first(&x, N));
    CU_ASSERT_EQUAL(read_all(&y), WSC_FORMAT);
    T_EQ(y.due, 1);
}
