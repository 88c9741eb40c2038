// SPDX-License-Identifier: Apache-2.0
/* The table of cycles by kernel after a run with --numerics mesh, on standard output: simulated
 * cycles beside those of the analytical model. */
#include "job_kernel_table.h"

#include <wsc/out.h>
#include <wsc/units.h>

/* The ratio shows how far the analytical model is off; the fraction, which kernel to look at first.
 */
static void add_row(struct out_table *t, const struct job_kernel *k, int64_t all)
{
    char time[32];
    out_si_unit(time, sizeof time, wsc_seconds((double)k->time_ps), "s");
    out_table_cell(t, "%s", k->kernel);
    out_table_cell(t, "%s", k->pass);
    out_table_cell(t, "%lld", (long long)k->calls);
    out_table_cell(t, "%lld", (long long)k->cycles);
    out_table_cell(t, "%lld", (long long)k->analytical_cycles);
    out_table_cell(t, "%.2f",
                   k->analytical_cycles ? (double)k->cycles / (double)k->analytical_cycles : 0);
    out_table_cell(t, "%s", time);
    out_table_cell(t, "%.1f", all ? 100 * (double)k->cycles / (double)all : 0);
}

enum wsc_err job_kernels_print(const struct job_kernel *kernel, int n)
{
    static const char *const head[] = {"kernel",     "pass",  "calls", "simulated cycles",
                                       "analytical", "ratio", "time",  "fraction %",
                                       NULL};
    struct out_table *t;
    int64_t all = 0;
    TRY(out_table_new(&t, "llrrrrrr", head));
    for (int i = 0; i < n; i++)
        all += kernel[i].cycles;
    for (int i = 0; i < n; i++)
        if (kernel[i].calls) add_row(t, &kernel[i], all);
    enum wsc_err rc = out_table_print(t, stdout, 0);
    out_table_free(&t);
    return rc;
}
