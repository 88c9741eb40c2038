// SPDX-License-Identifier: Apache-2.0
/* docs/MODEL.md lists every number of the model that was read off simulated cycles or published
 * rows: the table of coefficients in the source and the constants of kind calibrated in the machine
 * files.  With WSC_GOLDEN_UPDATE in the environment the lists are written again. */
#include "../../../src/cycles/cycles_fitted.h"
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/hw.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const page = "docs/MODEL.md";
static const char *const begin = "<!-- fitted numbers: written by make golden-update -->\n";
static const char *const end = "<!-- end of the fitted numbers -->\n";

static void add_coefficients(struct wsc_text *t)
{
#define ROW(name, value, term, equation) {#name, value, term, equation},
    static const struct {
        const char *name;
        double value;
        const char *term, *equation;
    } row[] = {CYCLES_FITTED_MAP(ROW)};
    const int n = (int)(sizeof row / sizeof *row);
    wsc_text_add(t,
                 "%d coefficients, read off simulated cycles:\n\n"
                 "| coefficient | value | term | equation |\n|---|---|---|---|\n",
                 n);
    for (int i = 0; i < n; i++)
        wsc_text_add(t, "| `%s` | %g | %s | `%s` |\n", row[i].name, row[i].value, row[i].term,
                     row[i].equation);
}

static void add_calibrated(struct wsc_text *t, const char *name)
{
    struct hw_machine c;
    char path[64], *text = NULL;
    size_t n = 0;
    (void)snprintf(path, sizeof path, "configs/cluster/%s.yaml", name);
    T_OK(hw_machine_read(path, &text, &n));
    T_OK(hw_machine_parse(&c, path, text, n, NULL, 0));
    for (int i = 0; i < c.n_sources; i++)
        if (!strcmp(c.source[i].kind, "calibrated"))
            wsc_text_add(t, "| `%s` | `%s.yaml` | %s |\n", c.source[i].key, name,
                         c.source[i].value);
    hw_machine_fini(&c);
    wsc_free(text);
}

static void add_lists(struct wsc_text *t)
{
    add_coefficients(t);
    wsc_text_add(t, "\nConstants, fitted to published rows (section 9):\n\n"
                    "| constant | machine | value |\n|---|---|---|\n");
    add_calibrated(t, "cs2");
    add_calibrated(t, "cs3");
}

static void write_page(const char *before, int n_before, const char *lists, const char *after)
{
    FILE *f = fopen(page, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fprintf(f, "%.*s%s%s", n_before, before, lists, after);
    (void)fclose(f);
}

TEST(cycles_golden, the_page_lists_every_fitted_number)
{
    struct wsc_text lists = {0};
    char *text = NULL;
    size_t n = 0;
    T_OK(conf_read_file(page, &text, &n));
    char *first = strstr(text, begin);
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    if (!first) return; /* what the analyzer does not see in the line above */
    first += strlen(begin);
    char *last = strstr(first, end);
    CU_ASSERT_PTR_NOT_NULL_FATAL(last);
    if (!last) return;
    add_lists(&lists);
    T_OK(wsc_text_check(&lists));
    if (getenv("WSC_GOLDEN_UPDATE")) {
        write_page(text, (int)(first - text), lists.bytes, last);
    } else {
        *last = '\0';
        T_STR(first, lists.bytes);
    }
    wsc_text_free(&lists);
    wsc_free(text);
}
