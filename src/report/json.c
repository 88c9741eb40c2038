// SPDX-License-Identifier: Apache-2.0
#include "report_impl.h"

#include <jansson.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

bool report_parse_real(const char *text, size_t n, double *value)
{
    json_t *number = json_loadb(text, n, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
    bool good = json_is_real(number);
    if (good) *value = json_real_value(number);
    json_decref(number);
    return good;
}

void report_real(char text[static REPORT_REAL_SIZE], double value)
{
    static const int digits[] = {9, 15, 17};
    for (int i = 0; i < 3; i++) {
        double back = 0;
        (void)snprintf(text, REPORT_REAL_SIZE, "%.*g", digits[i], value);
        if (report_parse_real(text, strlen(text), &back) && back == value) break;
    }
    size_t n = strlen(text);
    if (!strpbrk(text, ".en")) (void)snprintf(text + n, REPORT_REAL_SIZE - n, ".0");
}

static void new_line(struct report_json *j)
{
    if (j->pretty) report_text_add(&j->text, "\n%*s", 4 * j->depth, "");
}

static void add_key(struct report_json *j, const char *key)
{
    if (j->comma) report_text_add(&j->text, j->pretty ? "," : ", ");
    if (j->depth) new_line(j);
    j->comma = true;
    if (!key) return;
    report_text_json(&j->text, key);
    report_text_add(&j->text, ": ");
}

void report_json_open(struct report_json *j, const char *key)
{
    add_key(j, key);
    report_text_add(&j->text, "{");
    j->comma = false;
    j->depth++;
}

void report_json_close(struct report_json *j)
{
    j->depth--;
    new_line(j);
    report_text_add(&j->text, j->depth ? "}" : "}\n");
    j->comma = true;
}

void report_json_open_list(struct report_json *j, const char *key)
{
    add_key(j, key);
    report_text_add(&j->text, "[");
    j->comma = false;
    j->depth++;
}

void report_json_close_list(struct report_json *j)
{
    j->depth--;
    new_line(j);
    report_text_add(&j->text, "]");
    j->comma = true;
}

void report_json_int(struct report_json *j, const char *key, int64_t value)
{
    add_key(j, key);
    report_text_add(&j->text, "%lld", (long long)value);
}

void report_json_null(struct report_json *j, const char *key)
{
    add_key(j, key);
    report_text_add(&j->text, "null");
}

void report_json_bool(struct report_json *j, const char *key, bool value)
{
    add_key(j, key);
    report_text_add(&j->text, value ? "true" : "false");
}

void report_json_real(struct report_json *j, const char *key, double value)
{
    char text[REPORT_REAL_SIZE];
    if (!isfinite(value) && !j->bad_key) {
        j->bad_key = key;
        j->bad = value;
    }
    add_key(j, key);
    report_real(text, value);
    report_text_add(&j->text, "%s", text);
}

void report_json_str(struct report_json *j, const char *key, const char *value)
{
    if (!value) return;
    add_key(j, key);
    report_text_json(&j->text, value);
}

void report_json_hash(struct report_json *j, const char *key, uint64_t value)
{
    add_key(j, key);
    report_text_add(&j->text, "\"%016llx\"", (unsigned long long)value);
}

void report_json_breakdown(struct report_json *j, const struct vtime_breakdown *b)
{
    report_json_open(j, "breakdown");
    report_json_int(j, "compute", b->compute_ps);
    report_json_int(j, "weights_wait", b->weights_wait_ps);
    report_json_int(j, "reduce_wait", b->reduce_wait_ps);
    report_json_int(j, "boundary", b->boundary_ps);
    report_json_int(j, "input_wait", b->input_wait_ps);
    report_json_close(j);
}

enum wsc_err report_json_check(const struct report_json *j, const char *what)
{
    if (j->bad_key) {
        return WSC_RAISE(WSC_NUMERIC, "%s: %s is %g, expected a finite number", what, j->bad_key,
                         j->bad);
    }
    return report_text_check(&j->text);
}
