// SPDX-License-Identifier: Apache-2.0
/* Reads and writes the counters of a checkpoint: numbers beside the tensors, such as the step and
 * the loss scale. Each is a dataset of one element, so that the sums of the file cover it and it
 * can be edited. It is also a number of the state dict, which cstorch reads without looking at
 * datasets. The owners list their counters in a table of struct store_counter: job_checkpoint.c
 * those of the run, memoryx_checkpoint.c those of the optimizer. */
#include "checkpoint_entries.h"

enum wsc_err store_define_counters(struct store_file *f, const struct store_counter *c, int n)
{
    const int64_t one = 1;
    for (int i = 0; i < n; i++) {
        const enum store_type type = c[i].real ? STORE_F64 : STORE_I64;
        const double value = c[i].real ? *c[i].real : (double)*c[i].whole;
        TRY(store_define(f, c[i].name, type, 1, &one));
        TRY(store_set_number(f, c[i].name, type, value));
    }
    return WSC_OK;
}

enum wsc_err store_write_counters(struct store_file *f, const struct store_counter *c, int n)
{
    for (int i = 0; i < n; i++) {
        const void *value = c[i].real ? (const void *)c[i].real : c[i].whole;
        TRY(store_write(f, c[i].name, 0, 1, value));
    }
    return WSC_OK;
}

enum wsc_err store_read_counters(struct store_file *f, const struct store_counter *c, int n)
{
    for (int i = 0; i < n; i++) {
        if (!store_has(f, c[i].name)) continue;
        if (c[i].real)
            TRY(store_read_f64(f, c[i].name, c[i].real));
        else
            TRY(store_read_i64(f, c[i].name, c[i].low, c[i].high, c[i].whole));
    }
    return WSC_OK;
}
