// SPDX-License-Identifier: Apache-2.0
/* The table of what faults cost a training, on standard output: virtual time with and without each
 * of them.  The figures come from fault_costs.c. */
#include "fault_table.h"

#include <wsc/out.h>

#include <wsc/mem.h>
#include <wsc/units.h>

/* The cost in percent is of the time without this fault. */
static void add_row(struct out_table *t, const struct job_fault_cost *f)
{
    char cost[32], tokens[32];
    const int64_t cost_ps = f->with_ps - f->without_ps;
    out_si_unit(cost, sizeof cost, wsc_seconds((double)cost_ps), "s");
    out_si(tokens, sizeof tokens, (double)f->repeated_tokens);
    out_table_cell(t, "%s", f->fault);
    out_table_cell(t, "%lld", (long long)f->n_events);
    out_table_cell(t, "%s", cost);
    out_table_cell(t, "%.3g", f->without_ps ? 100 * (double)cost_ps / (double)f->without_ps : 0);
    out_table_cell(t, "%s", tokens);
}

enum wsc_err job_fault_costs_print(const struct job_fault_cost *fault, int n)
{
    static const char *const head[] = {"fault", "times", "cost", "cost %", "tokens again", NULL};
    struct out_table *t;
    TRY(out_table_new(&t, "lrrrr", head));
    for (int i = 0; i < n; i++)
        add_row(t, &fault[i]);
    enum wsc_err rc = out_table_print(t, stdout, 0);
    out_table_free(&t);
    return rc;
}
