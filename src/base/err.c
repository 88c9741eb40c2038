// SPDX-License-Identifier: Apache-2.0
/* The error trace of a thread: the sentence of the last raise with its hint, and the frames that
 * TRY adds on the way up, in two fixed buffers, so that raising needs no memory.  A raise starts
 * both again; what does not fit is cut.  The texts and exit statuses of the codes come from
 * WSC_ERR_MAP. */
#include <wsc/err.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A message holds the list of up to 50 configuration errors; the trace holds a message and its
 * frames. */
enum { MESSAGE_BYTES = 65536, TRACE_BYTES = 69632 };

/* What the user reads: the sentence, then "; hint: ..." when there is one. */
static _Thread_local char message[MESSAGE_BYTES];
/* What a developer reads: "text of the code: sentence", then one line per frame. */
static _Thread_local char trace[TRACE_BYTES];

/* Append to a buffer of @p size bytes that holds a string; cut at its end. */
__attribute__((format(printf, 3, 0))) static void vappend(char *text, size_t size, const char *fmt,
                                                          va_list ap)
{
    size_t used = strlen(text);
    if (used + 1 < size) (void)vsnprintf(text + used, size - used, fmt, ap);
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size, const char *fmt,
                                                         ...)
{
    va_list ap;
    va_start(ap, fmt);
    vappend(text, size, fmt, ap);
    va_end(ap);
}

enum wsc_err wsc_err_raise(enum wsc_err code, const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    message[0] = '\0';
    va_start(ap, fmt);
    vappend(message, sizeof message, fmt, ap);
    va_end(ap);
    trace[0] = '\0';
    append(trace, sizeof trace, "%s: %s\n  at %s:%d", wsc_err_str(code), message, file, line);
    return code;
}

enum wsc_err wsc_err_frame(enum wsc_err code, const char *file, int line, const char *what)
{
    append(trace, sizeof trace, "\n  in %s (%s:%d)", what, file, line);
    return code;
}

enum wsc_err wsc_err_hint(enum wsc_err code, const char *fmt, ...)
{
    va_list ap;
    append(message, sizeof message, "; hint: ");
    va_start(ap, fmt);
    vappend(message, sizeof message, fmt, ap);
    va_end(ap);
    return code;
}

const char *wsc_err_message(void)
{
    return message;
}

const char *wsc_err_trace(void)
{
    return trace;
}

void wsc_err_show_trace(void)
{
    const char *wanted = getenv("WSC_TRACE");
    if (wanted && *wanted == '1') (void)fprintf(stderr, "%s\n", trace);
}

const char *wsc_err_str(enum wsc_err code)
{
    static const char *const text[] = {
#define XX(name, status, text) [WSC_##name] = text,
        WSC_ERR_MAP(XX)
#undef XX
    };
    return (unsigned)code < sizeof text / sizeof *text ? text[code] : "unknown error";
}

int wsc_err_exit_status(enum wsc_err code)
{
    static const int status_of[] = {
#define XX(name, status, text) [WSC_##name] = status,
        WSC_ERR_MAP(XX)
#undef XX
    };
    return (unsigned)code < sizeof status_of / sizeof *status_of ? status_of[code] : 1;
}
