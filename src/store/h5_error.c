// SPDX-License-Identifier: Apache-2.0
/* Raises errors of HDF5 as errors of this program. The library keeps a stack of records from its
 * innermost function to the called one, and prints it unless it is silenced; the innermost record
 * has the reason, in the words of the operating system when it has them. Every file of `store`
 * that calls HDF5 raises its failures here. */
#include "h5_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct reason {
    char text[256];
};

/* HDF5 walks from the innermost record outwards; the first one with a text has the reason. */
static herr_t first_reason(unsigned n, const H5E_error2_t *record, void *ctx)
{
    struct reason *r = ctx;
    (void)n;
    if (r->text[0] || !record->desc || !record->desc[0]) return 0;
    static const char quote[] = "error message = '";
    const char *os = strstr(record->desc, quote);
    const char *from = os ? os + sizeof quote - 1 : record->desc;
    size_t length = os ? strcspn(from, "'\n") : strcspn(from, "\n");
    (void)snprintf(r->text, sizeof r->text, "%.*s", (int)length, from);
    return 0;
}

enum wsc_err store_h5_raise(enum wsc_err code, const char *file, int line, const char *fmt, ...)
{
    char text[4096];
    struct reason why = {""};
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_reason, &why);
    (void)H5Eclear2(H5E_DEFAULT);
    if (!why.text[0]) return wsc_err_raise(code, file, line, "%s", text);
    return wsc_err_raise(code, file, line, "%s: %s", text, why.text);
}

void store_h5_silence(void)
{
    /* Files are closed one by one. At exit HDF5 would process what a damaged file has left half
     * open, and crash. */
    (void)H5dont_atexit();
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}
