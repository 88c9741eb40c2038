/** Checks for mistakes of the program itself: shapes, indices, protocol order.
 *
 *  WSC_CHECK is always on, at module borders. WSC_ASSERT costs nothing in release builds and may
 *  stand in inner loops. Both print what failed and call the abort hook, so that one rank's bug
 *  ends the whole job instead of leaving the other ranks waiting for a message.
 *
 *  Use a check for a condition that always holds in a correct program. A failure that the user, a
 *  file or the host can cause is an error of <wsc/err.h>, which is returned and has its own exit
 *  status.
 *
 *      WSC_CHECK(n >= 0 && n <= max, "%lld of at most %lld", (long long)n, (long long)max); */
#ifndef WSC_CHECK_H
#define WSC_CHECK_H

/** Install the function that ends the whole job; NULL restores abort().  comm_create() installs one
 *  that calls MPI_Abort, which reaches every rank.  The hook should not return; when it does,
 *  abort() follows.  One per process, set before threads start. */
void wsc_check_set_abort(void (*hook)(void));
/** Print "wsc: internal error at FILE:LINE: CONDITION: REASON; please report this" on stderr, then
 *  end the job: the hook first, abort() when it returns.  Called by WSC_CHECK; may be called from
 *  any thread. */
_Noreturn void wsc_check_failed(const char *file, int line, const char *cond, const char *fmt, ...)
    __attribute__((format(printf, 4, 5), cold));

/** End the job unless @p cond holds; a format and its values say what is wrong, with the numbers
 *  that a bug report needs.  @p cond is evaluated once, in all builds, so it may have side effects;
 *  the values of the format are evaluated on failure alone. */
#define WSC_CHECK(cond, ...)                                                                       \
    ((cond) ? (void)0 : wsc_check_failed(__FILE__, __LINE__, #cond, __VA_ARGS__))
#ifdef WSC_DEBUG
/** Debug builds (WSC_DEBUG): WSC_CHECK without a reason of its own, for inner loops. */
#    define WSC_ASSERT(cond) WSC_CHECK(cond, "assertion")
#else
/** Release builds: not evaluated, but compiled, so that it cannot go stale.  @p cond must therefore
 *  have no side effect. */
#    define WSC_ASSERT(cond) ((void)sizeof((cond) ? 1 : 0))
#endif
#endif
