/** Text: a string that grows as text is appended.
 *
 *  Everything that is printed into memory piece by piece is built with it. Callers append without
 *  checking each result and check once at the end: after a failed allocation the text does not
 *  change and reports the failure. Start reading at struct wsc_text; <wsc/out.h> has a text with
 *  escapes for HTML, JSON and CSV, <wsc/conf.h> one for YAML.
 *
 *      struct wsc_text t = {0};
 *      wsc_text_add(&t, "%d of %d", done, total);
 *      TRY(wsc_text_take(&t, &text)); */
#ifndef WSC_TEXT_H
#define WSC_TEXT_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A growing text; all zero is an empty one.  Its memory is counted under the tag "base".  It grows
 *  by half of its size, so that a text of n bytes costs O(n) copies.  Not to be copied while it
 *  holds memory. */
struct wsc_text {
    char *bytes; /**< NUL-terminated once something was added, else NULL; owned */
    size_t n;    /**< bytes without the NUL */
    size_t size; /**< bytes allocated */
    bool failed; /**< a lack of memory was met and raised */
};
/** Append formatted text; nothing after a failure. */
void wsc_text_add(struct wsc_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Append @p n bytes, NULs among them allowed; nothing after a failure. */
void wsc_text_bytes(struct wsc_text *t, const char *bytes, size_t n);
/** WSC_NOMEM when something could not be appended, otherwise WSC_OK. */
enum wsc_err wsc_text_check(const struct wsc_text *t) WSC_CHECKED;
/** Release the text and start again from nothing; an empty one is allowed. */
void wsc_text_free(struct wsc_text *t);
/** Hand the text over as *@p out, NUL-terminated, for wsc_free(); "" when nothing was added.  @p t
 *  is empty after it, and after a failure (WSC_NOMEM of any earlier append), when *@p out is NULL.
 *  A text that is not taken is released with wsc_text_free(). */
enum wsc_err wsc_text_take(struct wsc_text *t, char **out) WSC_CHECKED;
/** The ending of a regular noun after the number @p n: "" for 1, else "s"; static. */
const char *wsc_plural(int64_t n);
/** True when @p text ends with @p ending, or is equal to it. */
bool wsc_ends_with(const char *text, const char *ending);
#endif
