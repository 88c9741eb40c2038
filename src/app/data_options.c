// SPDX-License-Identifier: Apache-2.0
#include "data_options.h"

#include <wsc/clock.h>
#include <wsc/log.h>
#include <wsc/report.h>

#include <string.h>
#include <unistd.h>

static const double tell_s = 30;

void app_data_options_init(struct data_options *o)
{
    *o = (struct data_options){.key = "text"};
}

enum wsc_err app_data_input(struct data_options *o, const char *path)
{
    if (o->n_inputs == DATA_MAX_INPUTS)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--input: more than %d paths", DATA_MAX_INPUTS),
                            "give the folder they are in");
    o->input[o->n_inputs++] = path;
    return WSC_OK;
}

enum wsc_err app_data_word(const char *option, const char *value, const char *const *words,
                           int *place)
{
    for (*place = 0; words[*place]; ++*place)
        if (!strcmp(words[*place], value)) return WSC_OK;
    (void)WSC_RAISE(WSC_USAGE, "%s: %s is not supported", option, value);
    return words[2] ? wsc_err_hint(WSC_USAGE, "%s, %s or %s", words[0], words[1], words[2])
                    : wsc_err_hint(WSC_USAGE, "%s or %s", words[0], words[1]);
}

static enum wsc_err take_errors(struct data_options *o, const char *value)
{
    static const char *const words[] = {"strict", "replace", "keep", NULL};
    int place = 0;
    TRY(app_data_word("--errors", value, words, &place));
    o->errors = (enum data_errors)place;
    o->errors_given = true;
    return WSC_OK;
}

enum wsc_err app_data_option(struct data_options *o, int option, const char *value)
{
    switch (option) {
    case DATA_OPT_INPUT:
        return app_data_input(o, value);
    case DATA_OPT_OUT:
        o->out_dir = value;
        return WSC_OK;
    case DATA_OPT_FORMAT:
        o->format = value;
        return WSC_OK;
    case DATA_OPT_KEY:
        o->key = value;
        return WSC_OK;
    default:
        return take_errors(o, value);
    }
}

void app_data_progress(void *display, const char *what, int64_t done, int64_t total)
{
    struct data_display *d = display;
    double now = wsc_clock_s();
    if (!d->what || strcmp(d->what, what) != 0) {
        out_progress_start("data", total);
        *d = (struct data_display){what, now, now};
    }
    out_progress(done, what);
    if (isatty(STDERR_FILENO) || now - d->told_s < tell_s || done <= 0) return;
    double per_s = (double)done / (now - d->start_s);
    d->told_s = now;
    WSC_INFO("data: %lld of %lld %s, %.0f per second, %.0f s left", (long long)done,
             (long long)total, what, per_s, (double)(total - done) / per_s);
}
