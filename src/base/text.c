// SPDX-License-Identifier: Apache-2.0
/* A text in one block of memory that grows by half of its size, so that a text of n bytes costs
 * O(n) copies in all. */
#include <wsc/text.h>

#include <wsc/mem.h>

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Room for n more bytes and the final NUL. */
static bool reserve(struct wsc_text *t, size_t n)
{
    size_t need;
    if (t->failed) return false;
    if (__builtin_add_overflow(t->n + 1, n, &need)) need = SIZE_MAX;
    if (need <= t->size) return true;
    const size_t size = need < SIZE_MAX / 2 ? need + need / 2 + 128 : need;
    char *bigger = wsc_realloc(WSC_MEM_BASE, t->bytes, size, 1);
    t->failed = !bigger;
    if (!bigger) return false;
    t->bytes = bigger;
    t->size = size;
    return true;
}

void wsc_text_add(struct wsc_text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const int length = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (length < 0 || !reserve(t, (size_t)length)) return;
    va_start(ap, fmt);
    (void)vsnprintf(t->bytes + t->n, (size_t)length + 1, fmt, ap);
    va_end(ap);
    t->n += (size_t)length;
}

void wsc_text_bytes(struct wsc_text *t, const char *bytes, size_t n)
{
    if (!reserve(t, n)) return;
    if (n) memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    t->bytes[t->n] = '\0';
}

enum wsc_err wsc_text_check(const struct wsc_text *t)
{
    if (t->failed) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "a growing text");
    return WSC_OK;
}

void wsc_text_free(struct wsc_text *t)
{
    wsc_free(t->bytes);
    *t = (struct wsc_text){0};
}

enum wsc_err wsc_text_take(struct wsc_text *t, char **out)
{
    wsc_text_bytes(t, "", 0);
    const enum wsc_err rc = wsc_text_check(t);
    *out = rc ? NULL : t->bytes;
    if (rc) wsc_free(t->bytes);
    *t = (struct wsc_text){0};
    return rc;
}

const char *wsc_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

bool wsc_ends_with(const char *text, const char *ending)
{
    const size_t n = strlen(text), length = strlen(ending);
    return n >= length && !strcmp(text + n - length, ending);
}
