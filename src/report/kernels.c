// SPDX-License-Identifier: Apache-2.0
#include "report_impl.h"

static void add_row(struct report_table *t, const struct report_kernel *k, int64_t all)
{
    char time[32];
    report_si_unit(time, sizeof time, (double)k->time_ps * 1e-12, "s");
    report_table_cell(t, "%s", k->kernel);
    report_table_cell(t, "%s", k->pass);
    report_table_cell(t, "%lld", (long long)k->calls);
    report_table_cell(t, "%lld", (long long)k->cycles);
    report_table_cell(t, "%lld", (long long)k->form_cycles);
    report_table_cell(t, "%.2f", k->form_cycles ? (double)k->cycles / (double)k->form_cycles : 0);
    report_table_cell(t, "%s", time);
    report_table_cell(t, "%.1f", all ? 100 * (double)k->cycles / (double)all : 0);
}

enum wsc_err report_kernels_print(const struct report_kernel *kernel, int n)
{
    static const char *const head[] = {"kernel",         "pass",        "calls",
                                       "cycles counted", "closed form", "ratio",
                                       "time",           "share %",     NULL};
    struct report_table *t;
    int64_t all = 0;
    TRY(report_table_new(&t, "llrrrrrr", head));
    for (int i = 0; i < n; i++)
        all += kernel[i].cycles;
    for (int i = 0; i < n; i++)
        if (kernel[i].calls) add_row(t, &kernel[i], all);
    enum wsc_err rc = report_table_print(t, stdout, 0);
    report_table_free(&t);
    return rc;
}
