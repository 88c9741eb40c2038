// SPDX-License-Identifier: Apache-2.0
/* Numbers for programs: as few digits as parse back to the same double, in JSON's grammar, alone or
 * as a field of a CSV.  Numbers for people are in out_units.c. */
#include <wsc/out.h>

#include <jansson.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* jansson's parser decides what a number of JSON is; integers count as reals. */
bool out_parse_real(const char *text, size_t n, double *value)
{
    json_t *number = json_loadb(text, n, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
    bool good = json_is_real(number);
    if (good) *value = json_real_value(number);
    json_decref(number);
    return good;
}

/* Try the precisions until the text reads back to the same double; 17 digits always do. */
void out_real(char text[static OUT_REAL_SIZE], double value)
{
    static const int digits[] = {9, 15, 17};
    for (int i = 0; i < 3; i++) {
        double back = 0;
        (void)snprintf(text, OUT_REAL_SIZE, "%.*g", digits[i], value);
        if (out_parse_real(text, strlen(text), &back) && back == value) break;
    }
    size_t n = strlen(text);
    if (!strpbrk(text, ".en")) (void)snprintf(text + n, OUT_REAL_SIZE - n, ".0");
}

void out_text_csv_real(struct wsc_text *t, double value)
{
    char text[OUT_REAL_SIZE] = "";
    if (isfinite(value)) out_real(text, value);
    wsc_text_add(t, ",%s", text);
}
