// SPDX-License-Identifier: Apache-2.0
/* Scalars of YAML that are appended to a text: strings in double quotes, and doubles that read back
 * bit by bit.  conf_write.c and the special keys of zoo write dumps with them. */
#include <wsc/conf.h>

#include <stdio.h>

/* YAML's double-quoted style: everything below blank, and DEL, as \xNN. */
void conf_text_string(struct wsc_text *t, const char *s)
{
    wsc_text_add(t, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c < ' ' || c == 0x7f)
            wsc_text_add(t, "\\x%02x", c);
        else
            wsc_text_add(t, "%s%c", c == '"' || c == '\\' ? "\\" : "", c);
    }
    wsc_text_add(t, "\"");
}

/* 15 digits are enough for most decimal numbers, 17 for every double. */
void conf_text_double(struct wsc_text *t, double x)
{
    char text[40] = "";
    for (int digits = 15; digits <= 17; digits++) {
        double back = 0;
        (void)snprintf(text, sizeof text, "%.*g", digits, x);
        if (!wsc_units_double(text, &back) && back == x) break;
    }
    wsc_text_add(t, "%s", text);
}
