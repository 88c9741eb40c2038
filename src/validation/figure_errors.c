// SPDX-License-Identifier: Apache-2.0
/* Errors about a published figure name the place of its row: file, line and column, and what is
 * wrong there. The error of another module stays, with the place before it. */
#include "validation_impl.h"

#include <stdio.h>
#include <string.h>

enum wsc_err validation_at_place(enum wsc_err rc, const char *file, int line, int column,
                                 const char *key)
{
    char why[4096];
    const char *message = wsc_err_message();
    const size_t prefix = sizeof VALIDATION_SET_OPTION - 1;
    if (!rc || !line) return rc;
    if (!strncmp(message, VALIDATION_SET_OPTION, prefix))
        message += prefix; /* no option of the command */
    (void)snprintf(why, sizeof why, "%s", message);
    return WSC_RAISE(rc, "%s:%d:%d: %s: %s", file, line, column, key, why);
}

enum wsc_err validation_at_row(enum wsc_err rc, const struct validation_figure *ref, int column,
                               const char *key)
{
    return validation_at_place(rc, ref->file, ref->line, column, key);
}
