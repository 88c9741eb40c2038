// SPDX-License-Identifier: Apache-2.0
/* What `wsc data` and `wsc data train-bpe` have in common: the key or column of the text, checked
 * against the formats of the inputs, and the display of progress. */
#include "text_input.h"
#include "option_parse.h"

#include <wsc/clock.h>
#include <wsc/log.h>
#include <wsc/report.h>

#include <string.h>
#include <unistd.h>

/* Seconds between two progress lines when stderr is no terminal. */
static const double print_every_s = 30;

const char *app_text_key(const struct app_text_input *t)
{
    return t->jsonl_key ? t->jsonl_key : t->column ? t->column : "text";
}

enum wsc_err app_check_text_input(const struct app_call *call, const struct app_text_input *t)
{
    bool objects, tables;
    if (!app_given(call, "jsonl_key") && !app_given(call, "column")) return WSC_OK;
    TRY(data_input_formats(t->path.item, t->path.n, t->format, &objects, &tables));
    if (t->jsonl_key && !objects)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--jsonl_key: no input is JSON Lines"),
                            "--format jsonl, where the ending does not say it");
    if (t->column && !tables)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--column: no input is CSV or TSV"),
                            "--format csv, where the ending does not say it");
    return WSC_OK;
}

void app_show_text_progress(void *display, const char *what, int64_t done, int64_t total)
{
    struct app_text_display *d = display;
    double now = wsc_clock_s();
    if (!d->what || strcmp(d->what, what) != 0) {
        out_progress_start("data", total);
        *d = (struct app_text_display){what, now, now};
    }
    out_progress(done, what);
    if (isatty(STDERR_FILENO) || now - d->printed_s < print_every_s || done <= 0) return;
    double per_s = (double)done / (now - d->start_s);
    d->printed_s = now;
    WSC_INFO("data: %lld of %lld %s, %.0f per second, %.0f s left", (long long)done,
             (long long)total, what, per_s, (double)(total - done) / per_s);
}
