/** Output: atomic files, tables, CSV, JSON, TensorBoard events, Chrome traces, pictures, progress.
 *  Layer 1.
 *
 *  Owns jansson.  Drawing is gnuplot's, started as a program.  What is written parses back to the
 *  same value, and a number that is not finite is an error (WSC_NUMERIC), never text.
 *  Not collective: rank 0 writes.
 */
#ifndef WSC_OUT_H
#define WSC_OUT_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Bytes that out_real() and out_date() need. */
enum { OUT_REAL_SIZE = 40, OUT_DATE_SIZE = 20 };

/* ---- text ------------------------------------------------------------------------------------ */
/** Text that grows; starts all zero.  After a lack of memory it stays as it is and says so in
 *  @p failed (the error is raised), so that callers check once, at the end. */
struct out_text {
    char *bytes; /**< NUL-terminated once something was added; owned */
    size_t n, size;
    bool failed;
};
/** Append as printf() does. */
void out_text_add(struct out_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Append @p n bytes as they are. */
void out_text_bytes(struct out_text *t, const char *bytes, size_t n);
/** Append @p s escaped for HTML, text or attribute; what is not UTF-8 or not printable becomes
 * U+FFFD. */
void out_text_html(struct out_text *t, const char *s);
/** Append @p s as a JSON string with its quotes; what is not UTF-8 becomes U+FFFD. */
void out_text_json(struct out_text *t, const char *s);
/** Append @p s as a CSV field (RFC 4180), quoted when it needs to be. */
void out_text_csv(struct out_text *t, const char *s);
/** Append @p s as a string of gnuplot in single quotes, on one line. */
void out_text_gnuplot(struct out_text *t, const char *s);
/** Append the file @p path, at most @p limit bytes. */
enum wsc_err out_text_file(struct out_text *t, const char *path, size_t limit) WSC_CHECKED;
/** WSC_NOMEM when something could not be appended. */
enum wsc_err out_text_check(const struct out_text *t) WSC_CHECKED;
/** Make the file `<dir>/<name>` of it, whole or not at all, and frees the text either way. */
enum wsc_err out_text_write(struct out_text *t, const char *dir, const char *name) WSC_CHECKED;
/** Release the text and start again from nothing. */
void out_text_free(struct out_text *t);
/** Append all of @p t to the open file @p fd or, when the disk fills up in the middle, nothing;
 *  @p path is for the message. */
enum wsc_err out_append(int fd, const char *path, const struct out_text *t) WSC_CHECKED;
/** Bytes of the UTF-8 character at @p s (1 to 4), 0 when there is none. */
int out_utf8_length(const char *s);

/* ---- numbers --------------------------------------------------------------------------------- */
/** The shortest of 9, 15, 17 digits that parses back to @p value; always with a point or an
 *  exponent, so that typed readers see a real number.  @p value is finite. */
void out_real(char text[static OUT_REAL_SIZE], double value);
/** A number in JSON's grammar and nothing else: no hex, no nan, no trailing text. */
bool out_parse_real(const char *text, size_t n, double *value);

/** Picoseconds as `1.025 s`: four digits, so that neighbouring node counts differ. */
void out_step_time(char *text, int size, int64_t ps);
/** A number of parameters as model cards write it: `111 M`, `12.9 B`, `1.00 T`. */
void out_params(char *text, int size, int64_t params);

/** Seconds as a person says them: `3.9 days`, `26 h`. */
void out_duration(char *text, size_t size, double seconds);

/* ---- JSON out -------------------------------------------------------------------------------- */
/** A JSON text being written; starts all zero, text is released with out_text_free(). */
struct out_json {
    struct out_text text;
    int depth;
    bool pretty, comma;
    const char *bad_key; /**< first real that is not finite */
    double bad;
};
/** Begin an object; @p key is NULL for the outermost one and inside a list. */
void out_json_open(struct out_json *j, const char *key);
/** End the innermost object. */
void out_json_close(struct out_json *j);
/** Begin a list, whose members have no key. */
void out_json_open_list(struct out_json *j, const char *key);
/** End the innermost list. */
void out_json_close_list(struct out_json *j);
/** Add a whole number; @p key is NULL inside a list, here and below. */
void out_json_int(struct out_json *j, const char *key, int64_t value);
/** Add a null. */
void out_json_null(struct out_json *j, const char *key);
/** Add a boolean. */
void out_json_bool(struct out_json *j, const char *key, bool value);
/** Add a real number as out_real() writes it; one that is not finite is what out_json_check()
 *  reports. */
void out_json_real(struct out_json *j, const char *key, double value);
/** Add a string; nothing when @p value is NULL. */
void out_json_str(struct out_json *j, const char *key, const char *value);
/** Add a hash as 16 hexadecimal digits in quotes. */
void out_json_hash(struct out_json *j, const char *key, uint64_t value);
/** Errors of all that was added; @p what names the object in the sentence. */
enum wsc_err out_json_check(const struct out_json *j, const char *what) WSC_CHECKED;

/* ---- CSV in ---------------------------------------------------------------------------------- */
/** Longest line and most fields of a line that are read. */
enum { OUT_CSV_LINE = 8192, OUT_CSV_FIELDS = 64 };
/** A CSV file being read, line by line. */
struct out_csv {
    const char *path; /**< borrowed */
    FILE *file;
    int line, n_columns; /**< n_columns: of the head line, for the caller */
    int n_fields;
    char *field[OUT_CSV_FIELDS]; /**< into text */
    int column[OUT_CSV_FIELDS];  /**< where each starts in its line, from 1 */
    char text[OUT_CSV_LINE];
};
/** Open the file @p path (borrowed until out_csv_close()); WSC_IO names it. */
enum wsc_err out_csv_open(struct out_csv **out, const char *path) WSC_CHECKED;
/** The next line that is neither blank nor a comment, split; *@p more is false at the end. */
enum wsc_err out_csv_next(struct out_csv *r, bool *more) WSC_CHECKED;
/** Close and release; NULL inside allowed. */
void out_csv_close(struct out_csv **r);

/* ---- provenance ------------------------------------------------------------------------------ */
/** Local date and time, `2026-11-22 08:15:00`. */
void out_date(char text[static OUT_DATE_SIZE]);
/** Name of this host; "unknown" when there is none. */
void out_host(char *text, size_t size);
/** `<dir>/<name>`, owned by the caller; NULL (raised) without memory. */
char *out_file_path(const char *dir, const char *name) WSC_CHECKED;

/* ---- TensorBoard ----------------------------------------------------------------------------- */
/** An event file `<dir>/events.out.tfevents.<time>.<host>.<pid>.<n>`. */
struct out_events;
/** One value of an event. */
struct out_scalar {
    const char *tag;
    double value; /**< stored as a float; NaN: there is none, the tag stays away */
};
/** Make @p dir where it is missing and begin a file in it. */
enum wsc_err out_events_open(struct out_events **out, const char *dir) WSC_CHECKED;
/** One event with @p n values; on disk when it returns. */
enum wsc_err out_events_scalars(struct out_events *e, int64_t step, const struct out_scalar *scalar,
                                int n) WSC_CHECKED;
/** Close and release; NULL inside allowed. */
void out_events_close(struct out_events **e);

/* ---- Chrome trace ---------------------------------------------------------------------------- */
/** A trace for chrome://tracing and Perfetto, written event by event. */
struct out_trace;
/** Begin the file @p path, which appears whole when the trace is closed. */
enum wsc_err out_trace_open(struct out_trace **out, const char *path) WSC_CHECKED;
/** Name a row: @p group and @p row are numbers of our own choice. */
void out_trace_row(struct out_trace *t, int group, const char *group_name, int row,
                   const char *row_name);
/** A bar from @p begin_ps to @p end_ps, with the bytes that it moves (0: none). */
void out_trace_bar(struct out_trace *t, int group, int row, const char *name, int64_t begin_ps,
                   int64_t end_ps, int64_t bytes);
/** An arrow between bars: one end each; ends with the same @p id belong together. */
void out_trace_arrow(struct out_trace *t, int64_t id, bool head, int group, int row, int64_t at_ps);
/** End the file and release; the first failure of all calls. */
enum wsc_err out_trace_close(struct out_trace **t) WSC_CHECKED;

/* ---- progress -------------------------------------------------------------------------------- */
/** Begin to show progress of @p what, with @p total units: on a terminal (stderr) one line that is
 *  redrawn at most ten times a second, elsewhere nothing.  One at a time. */
void out_progress_start(const char *what, int64_t total);
/** Show that @p done of the total is done; @p note (may be NULL) stands behind the bar. */
void out_progress(int64_t done, const char *note);
/** Remove the line. */
void out_progress_end(void);

/* ---- tables, units, files -------------------------------------------------------------------- */
/** A table of text: cells are added row by row, columns are aligned when it is printed. */
struct out_table;
/** Make an empty table.  @p align has one letter per column, `l` or `r`; @p head may be NULL (no
 * head line).
 *  @p head is copied. */
enum wsc_err out_table_new(struct out_table **out, const char *align,
                           const char *const *head) WSC_CHECKED;
/** Add the next cell, left to right; a lack of memory is reported by out_table_print(). */
void out_table_cell(struct out_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/** Print to @p out, each line after @p indent spaces. */
enum wsc_err out_table_print(const struct out_table *t, FILE *out, int indent) WSC_CHECKED;
/** Release; NULL inside allowed. */
void out_table_free(struct out_table **t);

/** `12.3 k`, `4.50 M`, `950`: three significant digits with an SI prefix. */
void out_si(char *text, int size, double value);
/** Three significant digits with an SI prefix and a unit: `12.3 ms`, `4.50 Mtokens/s`, `950 s`. */
void out_si_unit(char *text, int size, double value, const char *unit);
/** Replace the file @p path by @p text at once: written beside, synced, renamed. */
enum wsc_err out_write_text(const char *path, const char *text) WSC_CHECKED;
/** Whether out_write_text(path) can go well: for a check before a long run. */
enum wsc_err out_can_write(const char *path) WSC_CHECKED;
/** Program version and source revision, e.g. "wsc 0.1.0 (a1b2c3d)". */
const char *out_version(void);

/* ---- pictures -------------------------------------------------------------------------------- */
/** Draw @p commands (a `plot` line) as NAME.svg and NAME.png, @p height for a width of 1000. */
void out_gnuplot_output(struct out_text *t, const char *name, const char *commands, int height);
/** Run gnuplot on @p script in @p dir; what it prints goes into the error. */
enum wsc_err out_gnuplot_run(const char *dir, char *script) WSC_CHECKED;
/** Write `<dir>/NAME.gp` and let gnuplot make NAME.svg and NAME.png of it.  After an error (WSC_IO:
 *  no gnuplot, no room) neither picture is there, nor one of an earlier call. */
enum wsc_err out_gnuplot(const char *dir, const char *name, struct out_text *script) WSC_CHECKED;
/** Write `<dir>/NAME.gp` and let gnuplot make NAME.pdf of it; errors as of out_gnuplot(). */
enum wsc_err out_gnuplot_pdf(const char *dir, const char *name, struct out_text *script) WSC_CHECKED;
#endif
