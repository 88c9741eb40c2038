// SPDX-License-Identifier: Apache-2.0
/* What `wsc data` and `wsc data train-bpe` have in common: the key or column of the text, checked
 * against the formats of the inputs, and the display of progress. */
#include "text_input.h"
#include "option_parse.h"

#include <wsc/out.h>

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

void app_show_text_progress(void *unused, const char *what, int64_t done, int64_t total)
{
    (void)unused;
    out_progress_at(what, done, total, NULL);
}
