/** Errors: a code to branch on, one line for the user, a trace for the developer.  Layer 0.
 *
 *  The world said no (file, configuration, MPI, capacity): a function returns `enum wsc_err`,
 *  raised once with text and numbers, passed on with TRY.  Our own mistakes go to <wsc/check.h>.
 *  One trace per host thread; a role that yields never does so between raise and report.
 */
#ifndef WSC_ERR_H
#define WSC_ERR_H

/** name, exit status of the program, text */
#define WSC_ERR_MAP(XX)                                                                            \
    XX(OK, 0, "success")                                                                           \
    XX(NOMEM, 1, "out of memory")                                                                  \
    XX(CONFIG, 2, "configuration rejected")                                                        \
    XX(USAGE, 2, "wrong usage")                                                                    \
    XX(IO, 1, "file could not be read or written")                                                 \
    XX(FORMAT, 1, "file has the wrong format or version")                                          \
    XX(MPI, 1, "MPI call failed")                                                                  \
    XX(DEADLOCK, 1, "no role can move any more")                                                   \
    XX(CAPACITY, 3, "does not fit the emulated machine")                                           \
    XX(NUMERIC, 4, "non-finite value in training")                                                 \
    XX(INTERRUPTED, 5, "stopped by a signal")                                                      \
    XX(TOLERANCE, 1, "a prediction leaves its tolerance")

/** What went wrong, WSC_OK (0) for success: the names of WSC_ERR_MAP. */
enum wsc_err {
#define XX(name, status, text) WSC_##name,
    WSC_ERR_MAP(XX)
#undef XX
};

/** On functions whose result must not be dropped. */
#define WSC_CHECKED __attribute__((warn_unused_result))

/** Start a trace: remember where and why, return @p code.  One sentence, no newline; a hint may
 *  follow with wsc_err_hint(). */
enum wsc_err wsc_err_raise(enum wsc_err code, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5), cold));
/** Add one frame to the trace of this thread and pass @p code on. */
enum wsc_err wsc_err_frame(enum wsc_err code, const char *file, int line, const char *what)
    __attribute__((cold));
/** Say what the user can do about the error just raised; returns @p code. */
enum wsc_err wsc_err_hint(enum wsc_err code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));
/** What the user reads: the sentence of the last raise (several lines only for a list of
 *  configuration errors) and its hint.  Borrowed, valid until the next raise on this thread. */
const char *wsc_err_message(void);
/** Message and frames, innermost first; borrowed, valid until the next raise. */
const char *wsc_err_trace(void);
/** wsc_err_trace() to stderr where WSC_TRACE=1 in the environment asks for it. */
void wsc_err_show_trace(void);
/** The text of @p code in WSC_ERR_MAP. */
const char *wsc_err_str(enum wsc_err code);
/** The program's exit status for @p code. */
int wsc_err_exit_status(enum wsc_err code);

/** Start a trace here, see wsc_err_raise(); the value is @p code. */
#define WSC_RAISE(code, ...) wsc_err_raise((code), __FILE__, __LINE__, __VA_ARGS__)
/** Return from the calling function with the error of @p call, if it fails, and one more frame. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        enum wsc_err try_rc_ = (call);                                                             \
        if (try_rc_) return wsc_err_frame(try_rc_, __FILE__, __LINE__, #call);                     \
    } while (0)
/** Like TRY, for functions that own several resources: needs `enum wsc_err rc`. */
#define TRY_GOTO(call, label)                                                                      \
    do {                                                                                           \
        rc = (call);                                                                               \
        if (rc) {                                                                                  \
            wsc_err_frame(rc, __FILE__, __LINE__, #call);                                          \
            goto label;                                                                            \
        }                                                                                          \
    } while (0)
#endif
