/** Errors: a code to branch on, one line for the user, a trace for the developer.
 *
 *  A failure that the program did not cause (file, configuration, MPI, capacity) is an `enum
 *  wsc_err`: it is raised once, with text and numbers, and returned through the callers with TRY.
 *  Programming errors go to <wsc/check.h>. Raising needs no memory: message and trace are fixed
 *  buffers of the host thread (64 KiB and 68 KiB; longer texts are cut). There is one trace per
 * host thread, not per fiber: a role never yields between raise and report.
 *
 *      static enum wsc_err read_it(const char *path)
 *      {
 *          TRY(open_it(path));
 *          if (bad) return WSC_RAISE(WSC_FORMAT, "%s: has %d rows, expected %d", path, n, want);
 *          return WSC_OK;
 *      }
 *
 *  A function that handles an error, instead of returning it, prints wsc_err_message() and, with
 *  WSC_TRACE=1, the trace. Read next: <wsc/check.h>, <wsc/mem.h>. */
#ifndef WSC_ERR_H
#define WSC_ERR_H

/** The table of error codes: name, exit status of the program, text. A new code is a row here;
 *  docs/RUNNING.md lists the statuses for users. CONFIG: error in a file written by a user: params,
 *  machine, figures; USAGE: error in a command line, or an invalid request; IO: error of the
 *  operating system; FORMAT: error in the content of another file; CAPACITY: the emulated machine,
 *  not the host, is too small; NUMERIC: a loss or norm is not finite. */
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

/** Error code, with the names of WSC_ERR_MAP. WSC_OK is 0, so that `if (rc)` means "if it failed".
 *  The numbers are internal: ranks of one program exchange them (comm_agree()), but no file has
 *  them. */
enum wsc_err {
#define XX(name, status, text) WSC_##name,
    WSC_ERR_MAP(XX)
#undef XX
};

/** Attribute of functions whose result must be used: the compiler warns about a call that ignores
 *  the code or leaks the memory, and -Werror makes it an error. */
#define WSC_CHECKED __attribute__((warn_unused_result))

/** Start a trace of this thread, which replaces an earlier one, with position and reason; returns
 *  @p code. The text is one sentence without a newline, with the form `file:line:col: key: problem`
 *  if there is a position; wsc_err_hint() may add a hint. Called through WSC_RAISE. */
enum wsc_err wsc_err_raise(enum wsc_err code, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5), cold));
/** Add one frame to the trace of this thread and return @p code. @p what is the source text of the
 *  call. The message does not change. */
enum wsc_err wsc_err_frame(enum wsc_err code, const char *file, int line, const char *what)
    __attribute__((cold));
/** Append "; hint: ..." to the message of the error just raised; returns @p code. A hint states an
 *  action of the user that solves the problem.
 *
 *      return wsc_err_hint(WSC_RAISE(WSC_IO, "%s: no such file", path), "run wsc data first"); */
enum wsc_err wsc_err_hint(enum wsc_err code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));
/** Message for the user: the sentence of the last raise (several lines only for a list of
 *  configuration errors) and its hint. Borrowed, valid until the next raise on this thread; ""
 *  before the first one. */
const char *wsc_err_message(void);
/** Code, message and frames, innermost first, one per line; borrowed, valid until the next raise or
 *  frame on this thread.  The hint is not in it. */
const char *wsc_err_trace(void);
/** Print wsc_err_trace() on stderr where the environment has WSC_TRACE=1; otherwise nothing. */
void wsc_err_show_trace(void);
/** The text of @p code in WSC_ERR_MAP, for instance "out of memory"; static. "unknown error" for a
 *  number that is not a code. */
const char *wsc_err_str(enum wsc_err code);
/** Exit status of the program for @p code, the second column of WSC_ERR_MAP; 1 for a number that is
 *  not a code. */
int wsc_err_exit_status(enum wsc_err code);

/** Start a trace here, see wsc_err_raise(): a code, a format and its values.  The value of the
 *  expression is @p code. */
#define WSC_RAISE(code, ...) wsc_err_raise((code), __FILE__, __LINE__, __VA_ARGS__)
/** If @p call fails, add a frame and return its error from the calling function, which returns
 *  `enum wsc_err`. Nothing is released: a function that owns something uses TRY_GOTO, or releases
 * it before. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        enum wsc_err try_rc_ = (call);                                                             \
        if (try_rc_) return wsc_err_frame(try_rc_, __FILE__, __LINE__, #call);                     \
    } while (0)
/** Set the variable `enum wsc_err rc` of the calling function to the result of @p call; if it
 * fails, add a frame and go to @p label. For functions that own several resources. */
#define TRY_GOTO(call, label)                                                                      \
    do {                                                                                           \
        rc = (call);                                                                               \
        if (rc) {                                                                                  \
            wsc_err_frame(rc, __FILE__, __LINE__, #call);                                          \
            goto label;                                                                            \
        }                                                                                          \
    } while (0)
#endif
