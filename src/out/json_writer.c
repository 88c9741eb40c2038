// SPDX-License-Identifier: Apache-2.0
/* Writes JSON objects and lists into a growing text, compact or indented.  A number that is not
 * finite is kept as the first bad key, so that callers check once, at the end (out_json_check). */
#include <wsc/out.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* In a pretty text: a new line, indented by the depth. */
static void new_line(struct out_json *j)
{
    if (j->pretty) wsc_text_add(&j->text, "\n%*s", 4 * j->depth, "");
}

/* What comes before every member: comma, line break, and inside an object its key. */
static void add_key(struct out_json *j, const char *key)
{
    if (j->comma) wsc_text_add(&j->text, j->pretty ? "," : ", ");
    if (j->depth) new_line(j);
    j->comma = true;
    if (!key) return;
    out_text_json(&j->text, key);
    wsc_text_add(&j->text, ": ");
}

void out_json_open(struct out_json *j, const char *key)
{
    add_key(j, key);
    wsc_text_add(&j->text, "{");
    j->comma = false;
    j->depth++;
}

void out_json_close(struct out_json *j)
{
    j->depth--;
    new_line(j);
    wsc_text_add(&j->text, j->depth ? "}" : "}\n");
    j->comma = true;
}

void out_json_open_list(struct out_json *j, const char *key)
{
    add_key(j, key);
    wsc_text_add(&j->text, "[");
    j->comma = false;
    j->depth++;
}

void out_json_close_list(struct out_json *j)
{
    j->depth--;
    new_line(j);
    wsc_text_add(&j->text, "]");
    j->comma = true;
}

void out_json_int(struct out_json *j, const char *key, int64_t value)
{
    add_key(j, key);
    wsc_text_add(&j->text, "%lld", (long long)value);
}

void out_json_null(struct out_json *j, const char *key)
{
    add_key(j, key);
    wsc_text_add(&j->text, "null");
}

void out_json_bool(struct out_json *j, const char *key, bool value)
{
    add_key(j, key);
    wsc_text_add(&j->text, value ? "true" : "false");
}

void out_json_real(struct out_json *j, const char *key, double value)
{
    char text[OUT_REAL_SIZE];
    if (!isfinite(value) && !j->bad_key) {
        j->bad_key = key;
        j->bad = value;
    }
    add_key(j, key);
    out_real(text, value);
    wsc_text_add(&j->text, "%s", text);
}

void out_json_finite(struct out_json *j, const char *key, double value)
{
    if (isfinite(value))
        out_json_real(j, key, value);
    else
        out_json_null(j, key);
}

void out_json_str(struct out_json *j, const char *key, const char *value)
{
    if (!value) return;
    add_key(j, key);
    out_text_json(&j->text, value);
}

void out_json_hash(struct out_json *j, const char *key, uint64_t value)
{
    add_key(j, key);
    wsc_text_add(&j->text, "\"%016llx\"", (unsigned long long)value);
}

enum wsc_err out_json_check(const struct out_json *j, const char *what)
{
    if (j->bad_key) {
        return WSC_RAISE(WSC_NUMERIC, "%s: %s is %g, expected a finite number", what, j->bad_key,
                         j->bad);
    }
    return wsc_text_check(&j->text);
}
