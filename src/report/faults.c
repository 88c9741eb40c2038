// SPDX-License-Identifier: Apache-2.0
#include "report_impl.h"

#include <wsc/mem.h>

static void add_row(struct report_table *t, const struct report_fault *f)
{
    char cost[32], tokens[32];
    const int64_t cost_ps = f->with_ps - f->without_ps;
    report_si_unit(cost, sizeof cost, (double)cost_ps * 1e-12, "s");
    report_si(tokens, sizeof tokens, (double)f->repeated_tokens);
    report_table_cell(t, "%s", f->fault);
    report_table_cell(t, "%lld", (long long)f->n_events);
    report_table_cell(t, "%s", cost);
    report_table_cell(t, "%.3g", f->without_ps ? 100 * (double)cost_ps / (double)f->without_ps : 0);
    report_table_cell(t, "%s", tokens);
}

enum wsc_err report_faults_print(const struct report_fault *fault, int n)
{
    static const char *const head[] = {"fault", "times", "cost", "cost %", "tokens again", NULL};
    struct report_table *t;
    TRY(report_table_new(&t, "lrrrr", head));
    for (int i = 0; i < n; i++)
        add_row(t, &fault[i]);
    enum wsc_err rc = report_table_print(t, stdout, 0);
    report_table_free(&t);
    return rc;
}
