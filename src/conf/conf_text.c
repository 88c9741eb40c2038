// SPDX-License-Identifier: Apache-2.0
/* A growing text for dumps and tables, with YAML strings and doubles that read back bit by bit.
 * A failure to get memory is remembered and reported once, by conf_text_take(). */
#include <wsc/conf.h>

#include <wsc/mem.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Doubling, so that a text of n bytes costs O(n).  A failure frees the text and is remembered. */
static bool reserve(struct conf_text *t, size_t more)
{
    if (t->failed) return false;
    if (t->n + more <= t->capacity) return true;
    size_t capacity = (t->n + more) * 2 + 1024;
    char *longer = wsc_realloc(WSC_MEM_CONF, t->text, capacity, 1);
    if (!longer) {
        wsc_free(t->text);
        *t = (struct conf_text){.failed = true};
        return false;
    }
    t->text = longer;
    t->capacity = capacity;
    return true;
}

void conf_text_add(struct conf_text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || !reserve(t, (size_t)n + 1)) return;
    va_start(ap, fmt);
    (void)vsnprintf(t->text + t->n, (size_t)n + 1, fmt, ap);
    va_end(ap);
    t->n += (size_t)n;
}

enum wsc_err conf_text_take(struct conf_text *t, char **out)
{
    conf_text_add(t, "%s", "");
    if (t->failed) return WSC_NOMEM;
    *out = t->text;
    *t = (struct conf_text){0};
    return WSC_OK;
}

/* YAML's double-quoted style: everything below blank, and DEL, as \xNN. */
void conf_text_string(struct conf_text *t, const char *s)
{
    conf_text_add(t, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c < ' ' || c == 0x7f)
            conf_text_add(t, "\\x%02x", c);
        else
            conf_text_add(t, "%s%c", c == '"' || c == '\\' ? "\\" : "", c);
    }
    conf_text_add(t, "\"");
}

/* 15 digits are enough for most decimal numbers, 17 for every double. */
void conf_text_double(struct conf_text *t, double x)
{
    char text[40] = "";
    for (int digits = 15; digits <= 17; digits++) {
        double back = 0;
        (void)snprintf(text, sizeof text, "%.*g", digits, x);
        if (!wsc_units_double(text, &back) && back == x) break;
    }
    conf_text_add(t, "%s", text);
}
