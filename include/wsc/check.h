/** Checks of our own mistakes: shapes, indices, protocol order.  Layer 0.
 *
 *  WSC_CHECK is always on, at module borders.  WSC_ASSERT costs nothing in release builds and may
 *  stand in kernels.  Both print what failed and call the abort hook, so that one rank's bug ends
 *  the job instead of hanging it.
 */
#ifndef WSC_CHECK_H
#define WSC_CHECK_H

/** Install what ends the whole job (comm installs one that reaches every rank); NULL restores
 *  abort(). */
void wsc_check_set_abort(void (*hook)(void));
/** Print "internal error" with place and reason, then end the job. */
_Noreturn void wsc_check_failed(const char *file, int line, const char *cond, const char *fmt, ...)
    __attribute__((format(printf, 4, 5), cold));

/** End the job unless @p cond holds; a format and its values say what is wrong. */
#define WSC_CHECK(cond, ...)                                                                       \
    ((cond) ? (void)0 : wsc_check_failed(__FILE__, __LINE__, #cond, __VA_ARGS__))
#ifdef WSC_DEBUG
/** WSC_CHECK in debug builds, for inner loops. */
#    define WSC_ASSERT(cond) WSC_CHECK(cond, "assertion")
#else
/** Not evaluated in release builds, but compiled, so that it cannot go stale. */
#    define WSC_ASSERT(cond) ((void)sizeof((cond) ? 1 : 0))
#endif
#endif
