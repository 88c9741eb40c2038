/** Output: atomic files, tables, CSV, JSON, TensorBoard events, Chrome traces, pictures, progress.
 *
 *  This module knows formats, not result types: callers pass numbers and texts. Written numbers
 *  parse back to the same values; a number that is not finite is an error (WSC_NUMERIC), never
 *  text. Files appear whole or not at all (<wsc/file.h>). It owns jansson; gnuplot, started as a
 *  program, draws pictures. Not collective: rank 0 writes.
 *
 *  All writers are used alike: a struct starts all zero, calls append and remember a failure, one
 *  check or write ends it. Memory is counted under the tag "report".
 *
 *      struct wsc_text t = {0};
 *      wsc_text_add(&t, "num_csx,tokens_per_s\n");
 *      wsc_text_add(&t, "%d,%.9g\n", n, rate);
 *      TRY(out_text_write(&t, dir, "rates.csv"));
 *
 *  Read next: struct wsc_text, struct out_json, out_table_new(); src/report for reports made with
 *  them. */
#ifndef WSC_OUT_H
#define WSC_OUT_H
#include <wsc/err.h>
#include <wsc/text.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Bytes, NUL included, of the buffers for out_real(), out_date(), out_percent() and out_change().
 */
enum { OUT_REAL_SIZE = 40, OUT_DATE_SIZE = 20, OUT_PERCENT_SIZE = 40 };

/* ---- text ------------------------------------------------------------------------------------ */
/** Append @p s escaped for HTML, text or attribute: & < > and both quotes become entities; bytes
 *  that are not UTF-8, and control characters except tab and newline, become U+FFFD. */
void out_text_html(struct wsc_text *t, const char *s);
/** Append @p s as a cell of a Markdown table: `|` is escaped, & and < become entities, control
 *  characters become blanks, bytes that are not UTF-8 become U+FFFD. */
void out_text_markdown_cell(struct wsc_text *t, const char *s);
/** Append @p s as a JSON string with its quotes (RFC 8259); bytes that are not UTF-8 become U+FFFD,
 *  control characters become \\uXXXX. */
void out_text_json(struct wsc_text *t, const char *s);
/** Append @p s as a CSV field (RFC 4180), quoted if it has a comma, a quote, a newline or `#`,
 *  which starts a comment in out_csv_next(). Bytes that are not UTF-8 become U+FFFD. */
void out_text_csv(struct wsc_text *t, const char *s);
/** Append a comma and @p value as out_real() writes it. The field is empty if @p value is not
 *  finite: an empty field means `does not apply` in all CSV files. */
void out_text_csv_real(struct wsc_text *t, double value);
/** Append @p s as a string of gnuplot in single quotes, on one line: quotes doubled, control
 *  characters become blanks. */
void out_text_gnuplot(struct wsc_text *t, const char *s);
/** Append @p s as out_text_gnuplot() does, for the label of a tick, which gnuplot takes for a format
 *  of the tick's position: percent signs are doubled too. */
void out_text_gnuplot_tick(struct wsc_text *t, const char *s);
/** Write the text to the file `<dir>/<name>`, whole or not at all, and free the text also after an
 *  error. The folder must exist. WSC_NOMEM of an earlier append, WSC_IO. */
enum wsc_err out_text_write(struct wsc_text *t, const char *dir, const char *name) WSC_CHECKED;
/** Append all of @p t to the file open at @p fd (O_APPEND), or nothing: if the disk becomes full,
 *  a part already written is truncated. One write() per text, so readers of a growing file see
 * whole lines. @p path is for the message of WSC_IO. */
enum wsc_err out_append(int fd, const char *path, const struct wsc_text *t) WSC_CHECKED;
/** Bytes of the UTF-8 character at @p s (1 to 4); 0 at the end of the text, and for sequences that
 *  Unicode 15, table 3-7, does not allow. */
int out_utf8_length(const char *s);

/* ---- numbers --------------------------------------------------------------------------------- */
/** Write @p value, finite, with the shortest of 9, 15, 17 digits that parses back to it; always
 *  with a point or an exponent, so that typed readers see a real number. */
void out_real(char text[static OUT_REAL_SIZE], double value);
/** Read a number by the grammar of JSON: no hexadecimal, no nan, no trailing text. False, and *@p
 *  value unchanged, for any other text. */
bool out_parse_real(const char *text, size_t n, double *value);

/** Write picoseconds as `1.025 s`: four significant digits with an SI prefix, so that times of
 *  neighbouring node counts differ. */
void out_step_time(char *text, int size, int64_t ps);
/** Write a number of parameters as model cards do: `111 M`, `12.9 B`, `1.00 T`. */
void out_params(char *text, int size, int64_t params);

/** Write seconds in units for people: `90 s`, `26 h`, `3.9 days`, `2.1 years`; three digits. A unit
 *  is used from two of it on. Infinity is `never ends`. */
void out_duration(char *text, size_t size, double seconds);

/* ---- JSON out -------------------------------------------------------------------------------- */
/** A JSON text being written. It starts all zero (set @c pretty for one member per line);
 *  wsc_text_free() releases its text. Opening and closing calls must match, and the caller must use
 *  each key once.
 *
 *      struct out_json j = {.pretty = true};
 *      out_json_open(&j, NULL);
 *      out_json_int(&j, "num_csx", 4);
 *      out_json_close(&j);
 *      TRY(out_json_check(&j, "performance.json")); */
struct out_json {
    struct wsc_text text;
    /** Objects and lists that are open. */
    int depth;
    /** pretty: indent by four blanks; comma: the next member needs a comma before it. */
    bool pretty, comma;
    const char *bad_key; /**< first real that is not finite */
    /** The value at bad_key. */
    double bad;
};
/** Begin an object; @p key is NULL for the outermost one and inside a list. */
void out_json_open(struct out_json *j, const char *key);
/** End the innermost object; after the outermost one a newline follows. */
void out_json_close(struct out_json *j);
/** Begin a list, whose members have no key. */
void out_json_open_list(struct out_json *j, const char *key);
/** End the innermost list. */
void out_json_close_list(struct out_json *j);
/** Add a whole number; @p key is NULL inside a list, here and below. */
void out_json_int(struct out_json *j, const char *key, int64_t value);
/** Add a null. */
void out_json_null(struct out_json *j, const char *key);
/** A number, null where it is not finite: a value that does not exist is no error. */
void out_json_finite(struct out_json *j, const char *key, double value);
/** Add a boolean. */
void out_json_bool(struct out_json *j, const char *key, bool value);
/** Add a real number as out_real() writes it. If it is not finite, the text is invalid, and
 *  out_json_check() reports the key. */
void out_json_real(struct out_json *j, const char *key, double value);
/** Add a string; nothing when @p value is NULL. */
void out_json_str(struct out_json *j, const char *key, const char *value);
/** Add a hash as 16 hexadecimal digits in quotes: JSON readers round integers above 2^53. */
void out_json_hash(struct out_json *j, const char *key, uint64_t value);
/** Return the error of all earlier calls: WSC_NUMERIC for the first number that was not finite,
 *  WSC_NOMEM. @p what names the object in the message. Call it before the text is used. */
enum wsc_err out_json_check(const struct out_json *j, const char *what) WSC_CHECKED;

/* ---- CSV in ---------------------------------------------------------------------------------- */
/** Maximum length of a line in bytes, and maximum number of its fields; WSC_CONFIG above. */
enum { OUT_CSV_LINE = 8192, OUT_CSV_FIELDS = 64 };
/** A CSV file being read, line by line.  Fields are unquoted in place in @c text, so they are valid
 *  until the next line.
 *
 *      TRY(out_csv_open(&r, path));
 *      while (!(rc = out_csv_next(r, &more)) && more)
 *          use(r->field[0], r->line, r->column[0]);
 *      out_csv_close(&r); */
struct out_csv {
    const char *path; /**< borrowed */
    FILE *file;
    /** line: number of the current line, from 1. n_columns: columns of the head line, for the
     *  caller; this module neither sets nor reads it. */
    int line, n_columns;
    /** Fields of the current line, at least 1. */
    int n_fields;
    char *field[OUT_CSV_FIELDS]; /**< pointers into `text` */
    /** Column at which each field starts in its line, from 1, for messages. */
    int column[OUT_CSV_FIELDS];
    char text[OUT_CSV_LINE];
};
/** Open the file @p path (borrowed until out_csv_close()). WSC_CONFIG with its name if it cannot be
 *  opened, WSC_NOMEM; *@p out is NULL then. */
enum wsc_err out_csv_open(struct out_csv **out, const char *path) WSC_CHECKED;
/** Read the next line that is neither blank nor a comment (`#`) and split it; *@p more is false at
 *  the end. Commas separate fields; blanks around them are dropped; a quoted field ends on its
 * line. WSC_CONFIG with file and line: a line that is too long, too many fields, a misplaced quote;
 *  WSC_IO. */
enum wsc_err out_csv_next(struct out_csv *r, bool *more) WSC_CHECKED;
/** Close and release; NULL inside allowed. */
void out_csv_close(struct out_csv **r);

/* ---- provenance ------------------------------------------------------------------------------ */
/** Write the local date and time, `2026-11-22 08:15:00`, for provenance. Not for data by which two
 *  runs are compared. */
void out_date(char text[static OUT_DATE_SIZE]);
/** Write the name of this host; "unknown" when there is none; cut to @p size. */
void out_host(char *text, size_t size);
/** `<dir>/<name>`, for wsc_free(); NULL, with WSC_NOMEM raised, without memory. */
char *out_file_path(const char *dir, const char *name) WSC_CHECKED;

/* ---- TensorBoard ----------------------------------------------------------------------------- */
/** A TensorBoard event file `<dir>/events.out.tfevents.<time>.<host>.<pid>.<n>` being written:
 *  TFRecords of protocol buffers (tensorflow/core/util/event.proto), each with its checksums. */
struct out_events;
/** One value of an event, a point of the curve called @c tag. */
struct out_scalar {
    const char *tag;
    double value; /**< stored as a float; NaN: no value, the tag is not written */
};
/** Begin a new file in @p dir, which is made if it is missing. Files of earlier runs stay;
 *  TensorBoard joins them. WSC_IO, WSC_NOMEM; *@p out is NULL then. */
enum wsc_err out_events_open(struct out_events **out, const char *dir) WSC_CHECKED;
/** Append one event of @p step with @p n values; it is written, but not synced, on return. Nothing
 *  is written if all values are NaN. WSC_IO, WSC_NOMEM. */
enum wsc_err out_events_scalars(struct out_events *e, int64_t step, const struct out_scalar *scalar,
                                int n) WSC_CHECKED;
/** Close and release; NULL inside allowed. */
void out_events_close(struct out_events **e);

/* ---- Chrome trace ---------------------------------------------------------------------------- */
/** A trace for chrome://tracing and Perfetto (Trace Event Format), written event by event: groups
 *  are processes, rows are threads. */
struct out_trace;
/** Begin the file @p path. It has the name `<path>.<pid>.tmp` until the trace is closed. WSC_IO,
 *  WSC_NOMEM; *@p out is NULL then. */
enum wsc_err out_trace_open(struct out_trace **out, const char *path) WSC_CHECKED;
/** Name row @p row of group @p group. The caller chooses these numbers; bars and arrows refer to
 *  them. Rows of a group are drawn in the order of their numbers. */
void out_trace_row(struct out_trace *t, int group, const char *group_name, int row,
                   const char *row_name);
/** Add a bar from @p begin_ps to @p end_ps, picoseconds, with the bytes that it moves (0: none).
 *  The file has microseconds with six digits, so that no picosecond is lost. */
void out_trace_bar(struct out_trace *t, int group, int row, const char *name, int64_t begin_ps,
                   int64_t end_ps, int64_t bytes);
/** Add one end of an arrow between bars, at @p at_ps on a row: its tail, or its head if @p head.
 *  Two ends with one @p id make an arrow. */
void out_trace_arrow(struct out_trace *t, int64_t id, bool head, int group, int row, int64_t at_ps);
/** End the file, give it its final name, and release the trace. Returns the first failure of all
 *  calls since out_trace_open(); no file is left then. NULL inside allowed. */
enum wsc_err out_trace_close(struct out_trace **t) WSC_CHECKED;

/* ---- progress -------------------------------------------------------------------------------- */
/** Check the environment variable WSC_PROGRESS_SECONDS: WSC_USAGE if its value is not a number of
 *  seconds. A program calls this once; progress functions ignore an invalid value. */
enum wsc_err out_progress_check(void);
/** Begin to show progress of the work @p what, with @p total units (0: unknown), on stderr. On a
 *  terminal (TERM not dumb) one line is redrawn in place; elsewhere plain lines are printed, the
 *  first after five seconds of work, later ones every thirty seconds (WSC_PROGRESS_SECONDS: other
 *  seconds, 0: none). A thread updates the display between two reports. Only one display exists at
 * a time: an earlier one ends. Log lines are printed above it (wsc_log_set_hook()). */
void out_progress_start(const char *what, int64_t total);
/** Report that @p done units of the total are done; the display adds the rate since the first call
 *  and the remaining time; less than 0 counts as 0. @p note (may be NULL) is the end of the line.
 * The call is cheap when there is nothing to print, and has no effect when no work was begun, as on
 * ranks that do not print. */
void out_progress(int64_t done, const char *note);
/** Report @p done units of the part @p what of work that has several parts. Unless @p what and
 *  @p total are those of the part in progress, the new part replaces it. */
void out_progress_at(const char *what, int64_t done, int64_t total, const char *note);
/** Hold (@p on) the part in progress, or release it: until then, or until out_progress_start(), the
 *  names of other parts are its notes. For work that some of its units need in between, as a
 *  training checks a checkpoint. */
void out_progress_hold(bool on);
/** Remove the line from a terminal until the next report, before other output to stdout. */
void out_progress_hide(void);
/** Remove the line; nothing happens when none is shown. */
void out_progress_end(void);

/* ---- tables, units, files -------------------------------------------------------------------- */
/** A table of text: cells are added row by row; columns are aligned when the table is printed. */
struct out_table;
/** Make an empty table. @p align has one letter per column, `l` or `r`, at most 32; @p head
 *  (copied) has one text per column, or is NULL (no head line). WSC_NOMEM; *@p out is NULL then. */
enum wsc_err out_table_new(struct out_table **out, const char *align,
                           const char *const *head) WSC_CHECKED;
/** Add the next cell, left to right, at most 1023 bytes. out_table_print() reports a lack of
 *  memory. */
void out_table_cell(struct out_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/** Print to @p out with @p indent blanks before each line, two blanks between columns and a rule
 *  below the head. The number of cells must be a multiple of the number of columns. WSC_NOMEM of an
 *  earlier cell, WSC_IO. */
enum wsc_err out_table_print(const struct out_table *t, FILE *out, int indent) WSC_CHECKED;
/** Release; NULL inside allowed. */
void out_table_free(struct out_table **t);

/** Write a number with three significant digits and an SI prefix, p to E: `12.3 k`, `4.50 M`,
 *  `950`. */
void out_si(char *text, int size, double value);
/** Write a number with three significant digits, an SI prefix and a unit: `12.3 ms`, `4.50
 *  Mtokens/s`, `950 s`. */
void out_si_unit(char *text, int size, double value, const char *unit);
/** Write the fraction @p share in percent with @p decimals, `12.3 %`; no minus sign if the result
 *  rounds to 0. Returns @p text. */
const char *out_percent(char text[static OUT_PERCENT_SIZE], int decimals, double share);
/** Write a change or an error like out_percent(), with its sign: `+12.3 %`; zero has a plus.
 * Returns
 *  @p text. */
const char *out_change(char text[static OUT_PERCENT_SIZE], int decimals, double share);
/** Replace the file @p path by @p text atomically: a new file is written, synced and renamed
 *  (wsc_file_replace()). WSC_IO, WSC_NOMEM. */
enum wsc_err out_write_text(const char *path, const char *text) WSC_CHECKED;
/** Check before a long run that out_write_text(path) can succeed: make a file in the same folder
 *  and remove it. WSC_IO with the reason, also if @p path is a folder. */
enum wsc_err out_can_write(const char *path) WSC_CHECKED;
/** Program version and source revision, e.g. "wsc 0.1.0 (a1b2c3d)"; static. */
const char *out_version(void);

/* ---- manual pages ---------------------------------------------------------------------------- */

/** Begin a manual page in man(7) macros: its title and the section NAME. @p name is for example
 *  "wsc-run", @p section 1 or 5, @p summary one line. */
void out_manual_begin(struct wsc_text *t, const char *name, int section, const char *summary);
/** Begin a section (@p level 1, in capitals) or a subsection (2). */
void out_manual_heading(struct wsc_text *t, int level, const char *title);
/** Add a paragraph; `code` and **strong** words are bold, lines are filled. */
void out_manual_paragraph(struct wsc_text *t, const char *text);
/** Add an item of a list: bold @p name, @p value in italics (NULL: none), indented @p text. */
void out_manual_item(struct wsc_text *t, const char *name, const char *value, const char *text);
/** Add lines without changes: usage and examples. */
void out_manual_lines(struct wsc_text *t, const char *text);
/** Add a page of Markdown with headings, paragraphs and tables. A row becomes an item: its first
 *  cell that is not empty is the name, its last cell the text; the other cells follow with the
 *  titles of their columns. */
void out_manual_markdown(struct wsc_text *t, const char *page);

/* ---- pictures -------------------------------------------------------------------------------- */
/** Maximum number of bytes of a NAME below. */
enum { OUT_PICTURE_NAME_BYTES = 59 };
/** Append to a gnuplot script the lines that draw @p commands (with a `plot` line) as NAME.svg and
 *  NAME.png, 1000 x @p height points; the PNG has two pixels per point in each direction. */
void out_gnuplot_output(struct wsc_text *t, const char *name, const char *commands, int height);
/** Run gnuplot on the script @p script (a file name) in the folder @p dir and wait for it. WSC_IO
 *  with its output: gnuplot cannot be started, or it failed. */
enum wsc_err out_gnuplot_run(const char *dir, char *script) WSC_CHECKED;
/** Write `<dir>/NAME.gp` (@p script is freed) and let gnuplot draw NAME.svg and NAME.png. After an
 *  error (WSC_IO: no gnuplot, no space) neither picture exists, not even one of an earlier call. A
 *  picture file must end as its format requires. */
enum wsc_err out_gnuplot(const char *dir, const char *name, struct wsc_text *script) WSC_CHECKED;
/** Write `<dir>/NAME.gp` and let gnuplot draw NAME.pdf; errors of out_gnuplot(). */
enum wsc_err out_gnuplot_pdf(const char *dir, const char *name,
                             struct wsc_text *script) WSC_CHECKED;
#endif
