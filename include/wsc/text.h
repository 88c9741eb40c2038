/** Text that grows.  Layer 0.
 *
 *  Everything that is printed into memory piece by piece is built with it.  Callers add without
 *  looking at each result and check once, at the end: after a lack of memory the text stays as it
 *  is and says so.  Start reading at struct wsc_text.
 */
#ifndef WSC_TEXT_H
#define WSC_TEXT_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stddef.h>

/** A growing text; all zero is an empty one.  Its memory is counted under the tag "base". */
struct wsc_text {
    char *bytes; /**< NUL-terminated once something was added, else NULL; owned */
    size_t n;    /**< bytes without the NUL */
    size_t size; /**< bytes allocated */
    bool failed; /**< a lack of memory was met and raised */
};
/** Append formatted text. */
void wsc_text_add(struct wsc_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Append @p n bytes. */
void wsc_text_bytes(struct wsc_text *t, const char *bytes, size_t n);
/** WSC_NOMEM when something could not be appended. */
enum wsc_err wsc_text_check(const struct wsc_text *t) WSC_CHECKED;
/** Release the text and start again from nothing. */
void wsc_text_free(struct wsc_text *t);
/** Hand the text over as *@p out, for wsc_free(); "" when nothing was added.  @p t is empty after
 *  it, and after a failure, when *@p out is NULL. */
enum wsc_err wsc_text_take(struct wsc_text *t, char **out) WSC_CHECKED;
#endif
