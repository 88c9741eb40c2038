/** Output: atomic files, tables, CSV, JSON, TensorBoard events, Chrome traces, pictures, progress.
 *
 *  It knows no result type: callers hand over numbers and texts, this module knows the formats.
 *  What is written parses back to the same value, and a number that is not finite is an error
 *  (WSC_NUMERIC), never text.  Files appear whole or not at all (<wsc/file.h>).  It owns jansson;
 *  drawing is gnuplot's, started as a program.  Not collective: rank 0 writes.
 *
 *  Writers have the same life: a struct that starts all zero, calls that append and remember a
 *  failure, one check or write at the end.  Memory is counted under the tag "report".
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
/** Append @p s escaped for HTML, text or attribute: & < > and both quotes become entities; what is
 *  not UTF-8, and control characters but tab and newline, become U+FFFD. */
void out_text_html(struct wsc_text *t, const char *s);
/** Append @p s as a cell of a Markdown table: a bar is escaped, & and < become entities, control
 *  characters blanks; what is not UTF-8 becomes U+FFFD. */
void out_text_markdown_cell(struct wsc_text *t, const char *s);
/** Append @p s as a JSON string with its quotes (RFC 8259); what is not UTF-8 becomes U+FFFD,
 *  control characters \\uXXXX. */
void out_text_json(struct wsc_text *t, const char *s);
/** Append @p s as a CSV field (RFC 4180): quoted when it has a comma, quote, newline or `#`, which
 *  out_csv_next() would take for a comment. */
void out_text_csv(struct wsc_text *t, const char *s);
/** Append a comma and @p value as out_real() writes it; a field that is empty when @p value is not
 *  finite, which stands for `does not apply` in all CSV files. */
void out_text_csv_real(struct wsc_text *t, double value);
/** Append @p s as a string of gnuplot in single quotes, on one line: quotes doubled, control
 *  characters become blanks. */
void out_text_gnuplot(struct wsc_text *t, const char *s);
/** Make the file `<dir>/<name>` of the text, whole or not at all, and free the text either way.
 *  The folder exists.  WSC_NOMEM of an earlier append, WSC_IO. */
enum wsc_err out_text_write(struct wsc_text *t, const char *dir, const char *name) WSC_CHECKED;
/** Append all of @p t to the file open at @p fd (O_APPEND) or, when the disk fills up in the
 *  middle, nothing: what was written is cut off again.  One write() for a text, so readers of a
 *  growing file see whole lines.  @p path is for the message of WSC_IO. */
enum wsc_err out_append(int fd, const char *path, const struct wsc_text *t) WSC_CHECKED;
/** Bytes of the UTF-8 character at @p s (1 to 4), 0 when there is none: at the end, and for
 *  sequences that Unicode 15, table 3-7, does not allow. */
int out_utf8_length(const char *s);

/* ---- numbers --------------------------------------------------------------------------------- */
/** Write @p value, finite, with the shortest of 9, 15, 17 digits that parses back to it; always
 *  with a point or an exponent, so that typed readers see a real number. */
void out_real(char text[static OUT_REAL_SIZE], double value);
/** Read a number in JSON's grammar and nothing else: no hexadecimal, no nan, no trailing text.
 *  False, and *@p value untouched, for anything else. */
bool out_parse_real(const char *text, size_t n, double *value);

/** Write picoseconds as `1.025 s`: four significant digits with an SI prefix, so that neighbouring
 *  node counts differ. */
void out_step_time(char *text, int size, int64_t ps);
/** Write a number of parameters as model cards do: `111 M`, `12.9 B`, `1.00 T`. */
void out_params(char *text, int size, int64_t params);

/** Write seconds as a person says them, three digits: `90 s`, `26 h`, `3.9 days`, `2.1 years`; the
 *  unit changes at two of the next one. */
void out_duration(char *text, size_t size, double seconds);

/* ---- JSON out -------------------------------------------------------------------------------- */
/** A JSON text being written; starts all zero (set @c pretty for one member a line), its text is
 *  released with wsc_text_free().  Opening and closing calls must match; keys are the caller's
 *  duty, each once.
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
    /** pretty: indented by four blanks; comma: the next member needs a comma before it. */
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
/** Add a boolean. */
void out_json_bool(struct out_json *j, const char *key, bool value);
/** Add a real number as out_real() writes it.  One that is not finite makes the text invalid, which
 *  out_json_check() reports with the key. */
void out_json_real(struct out_json *j, const char *key, double value);
/** Add a string; nothing when @p value is NULL. */
void out_json_str(struct out_json *j, const char *key, const char *value);
/** Add a hash as 16 hexadecimal digits in quotes: JSON readers round integers above 2^53. */
void out_json_hash(struct out_json *j, const char *key, uint64_t value);
/** Errors of all that was added: WSC_NUMERIC for the first number that was not finite, WSC_NOMEM.
 *  @p what names the object in the sentence.  Call it before the text is used. */
enum wsc_err out_json_check(const struct out_json *j, const char *what) WSC_CHECKED;

/* ---- CSV in ---------------------------------------------------------------------------------- */
/** Longest line in bytes, and most fields of a line, that are read; more is WSC_CONFIG. */
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
    /** line: number of the present line, from 1.  n_columns: of the head line, for the caller,
     *  which this module neither sets nor reads. */
    int line, n_columns;
    /** Fields of the present line, at least 1. */
    int n_fields;
    char *field[OUT_CSV_FIELDS]; /**< into text */
    /** Column at which each field starts in its line, from 1, for messages; after the quote where
     *  there is none is that of the quote. */
    int column[OUT_CSV_FIELDS];
    char text[OUT_CSV_LINE];
};
/** Open the file @p path (borrowed until out_csv_close()); WSC_CONFIG names it, WSC_NOMEM; *@p out
 * is NULL then. */
enum wsc_err out_csv_open(struct out_csv **out, const char *path) WSC_CHECKED;
/** Read the next line that is neither blank nor a comment (`#`) and split it; *@p more is false at
 *  the end.  Fields are separated by commas, blanks around them dropped; a quoted field ends on its
 *  line.  WSC_CONFIG with file and line: a line that is too long, too many fields, a quote out of
 *  place; WSC_IO. */
enum wsc_err out_csv_next(struct out_csv *r, bool *more) WSC_CHECKED;
/** Close and release; NULL inside allowed. */
void out_csv_close(struct out_csv **r);

/* ---- provenance ------------------------------------------------------------------------------ */
/** Write the local date and time, `2026-11-22 08:15:00`, for provenance; never for a name that two
 *  runs are compared by. */
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
    double value; /**< stored as a float; NaN: there is none, the tag stays away */
};
/** Make @p dir where it is missing and begin a new file in it; files of earlier runs stay,
 *  TensorBoard joins them.  WSC_IO, WSC_NOMEM; *@p out is NULL then. */
enum wsc_err out_events_open(struct out_events **out, const char *dir) WSC_CHECKED;
/** Append one event of @p step with @p n values; written (not synced) when it returns.  Nothing is
 *  written when all values are NaN.  WSC_IO, WSC_NOMEM. */
enum wsc_err out_events_scalars(struct out_events *e, int64_t step, const struct out_scalar *scalar,
                                int n) WSC_CHECKED;
/** Close and release; NULL inside allowed. */
void out_events_close(struct out_events **e);

/* ---- Chrome trace ---------------------------------------------------------------------------- */
/** A trace for chrome://tracing and Perfetto (Trace Event Format), written event by event: groups
 *  are processes, rows are threads. */
struct out_trace;
/** Begin the file @p path, which appears whole when the trace is closed; until then
 *  `<path>.<pid>.tmp`.  WSC_IO, WSC_NOMEM; *@p out is NULL then. */
enum wsc_err out_trace_open(struct out_trace **out, const char *path) WSC_CHECKED;
/** Name row @p row of group @p group: numbers of the caller's choice, by which bars and arrows
 *  refer to them.  Rows of a group are drawn in the order of their numbers. */
void out_trace_row(struct out_trace *t, int group, const char *group_name, int row,
                   const char *row_name);
/** Add a bar from @p begin_ps to @p end_ps, picoseconds, with the bytes that it moves (0: none).
 *  The file has microseconds with six digits, so that no picosecond is lost. */
void out_trace_bar(struct out_trace *t, int group, int row, const char *name, int64_t begin_ps,
                   int64_t end_ps, int64_t bytes);
/** Add one end of an arrow between bars, at @p at_ps on a row: its tail, or with @p head its head;
 *  ends with the same @p id belong together. */
void out_trace_arrow(struct out_trace *t, int64_t id, bool head, int group, int row, int64_t at_ps);
/** End the file, give it its name, and release; returns the first failure of all calls since
 *  out_trace_open(), after which no file is left.  NULL inside allowed. */
enum wsc_err out_trace_close(struct out_trace **t) WSC_CHECKED;

/* ---- progress -------------------------------------------------------------------------------- */
/** Check the variable WSC_PROGRESS_SECONDS: WSC_USAGE when it is set to what is no number of
 * seconds.  A program calls this once; reports take such a value as if it were not set. */
enum wsc_err out_progress_check(void);
/** Begin to show progress of @p what, with @p total units (0: unknown), on stderr: on a terminal
 *  (TERM not dumb) one line that is redrawn in place, elsewhere plain lines, the first after five
 *  seconds of work, later ones every thirty (WSC_PROGRESS_SECONDS: other seconds, 0: none).  A
 *  thread keeps the display alive between two reports.  One at a time: an earlier one ends.  Log
 *  lines are printed above it (wsc_log_set_hook()). */
void out_progress_start(const char *what, int64_t total);
/** Show that @p done units of the total are done, with the rate since the first call and the time
 *  left; @p note (may be NULL) stands at the end of the line.  Cheap when nothing is to be shown.
 *  Nothing happens when no work was begun, as on ranks that print nothing. */
void out_progress(int64_t done, const char *note);
/** Progress of work that has several parts: the part @p what takes the place of the one in
 * progress, unless it is that one with that @p total, and @p done units of it are done. */
void out_progress_at(const char *what, int64_t done, int64_t total, const char *note);
/** Remove the line of a terminal until the next report, before something is printed on stdout. */
void out_progress_hide(void);
/** Remove the line; nothing happens when none is shown. */
void out_progress_end(void);

/* ---- tables, units, files -------------------------------------------------------------------- */
/** A table of text: cells are added row by row, columns are aligned by the width of their
 *  characters when it is printed. */
struct out_table;
/** Make an empty table.  @p align has one letter per column, `l` or `r`, at most 32; @p head
 *  (copied) has as many texts, or is NULL (no head line).  WSC_NOMEM; *@p out is NULL then. */
enum wsc_err out_table_new(struct out_table **out, const char *align,
                           const char *const *head) WSC_CHECKED;
/** Add the next cell, left to right, at most 1023 bytes; a lack of memory is reported by
 *  out_table_print(). */
void out_table_cell(struct out_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/** Print to @p out, each line after @p indent blanks, two blanks between columns, a rule below the
 *  head.  The number of cells is a multiple of the columns.  WSC_NOMEM of an earlier cell, WSC_IO.
 */
enum wsc_err out_table_print(const struct out_table *t, FILE *out, int indent) WSC_CHECKED;
/** Release; NULL inside allowed. */
void out_table_free(struct out_table **t);

/** Write a number with three significant digits and an SI prefix, p to E: `12.3 k`, `4.50 M`,
 *  `950`. */
void out_si(char *text, int size, double value);
/** Write a number with three significant digits, an SI prefix and a unit: `12.3 ms`, `4.50
 *  Mtokens/s`, `950 s`. */
void out_si_unit(char *text, int size, double value, const char *unit);
/** Write @p share of 1 in percent with @p decimals, `12.3 %`; no minus where they show none of it.
 *  The text. */
const char *out_percent(char text[static OUT_PERCENT_SIZE], int decimals, double share);
/** Write a change or an error as out_percent() does, with its sign: `+12.3 %`; what shows as zero
 * has a plus. */
const char *out_change(char text[static OUT_PERCENT_SIZE], int decimals, double share);
/** Replace the file @p path by @p text at once: written beside, synced, renamed
 *  (wsc_file_replace()).  WSC_IO, WSC_NOMEM. */
enum wsc_err out_write_text(const char *path, const char *text) WSC_CHECKED;
/** Check that out_write_text(path) can go well, by making a file beside it and removing it: for a
 *  check before a long run.  WSC_IO says why not, also when @p path is a folder. */
enum wsc_err out_can_write(const char *path) WSC_CHECKED;
/** Program version and source revision, e.g. "wsc 0.1.0 (a1b2c3d)"; static. */
const char *out_version(void);

/* ---- manual pages ---------------------------------------------------------------------------- */

/** Begin a page of the manual in the man(7) macros: its title and the section NAME.  @p name
 *  "wsc-run", @p section 1 or 5, @p summary one line. */
void out_manual_begin(struct wsc_text *t, const char *name, int section, const char *summary);
/** Begin a section (@p level 1, in capitals) or a subsection (2). */
void out_manual_heading(struct wsc_text *t, int level, const char *title);
/** Add a paragraph; `code` and **strong** words stand bold, lines are filled. */
void out_manual_paragraph(struct wsc_text *t, const char *text);
/** Add an item of a list: bold @p name, @p value in italics (NULL: none), indented @p text. */
void out_manual_item(struct wsc_text *t, const char *name, const char *value, const char *text);
/** Add lines that stay as they are: usage and examples. */
void out_manual_lines(struct wsc_text *t, const char *text);
/** Add a page of Markdown with headings, paragraphs and tables: a row is an item, named by its
 * first cell that is not empty and explained by its last; the other cells follow with the titles of
 * their columns. */
void out_manual_markdown(struct wsc_text *t, const char *page);

/* ---- pictures -------------------------------------------------------------------------------- */
/** Append to a script the lines that draw @p commands (with a `plot` line) as NAME.svg and
 *  NAME.png, 1000 x @p height points; the PNG has twice as many pixels. */
void out_gnuplot_output(struct wsc_text *t, const char *name, const char *commands, int height);
/** Run gnuplot on the script @p script (a file name) in the folder @p dir and wait for it.  WSC_IO:
 *  it cannot be started, or it failed; what it printed goes into the error. */
enum wsc_err out_gnuplot_run(const char *dir, char *script) WSC_CHECKED;
/** Write `<dir>/NAME.gp` (@p script is freed) and let gnuplot make NAME.svg and NAME.png of it.
 *  After an error (WSC_IO: no gnuplot, no room) neither picture is there, nor one of an earlier
 *  call: a picture counts only when its file ends as its format does. */
enum wsc_err out_gnuplot(const char *dir, const char *name, struct wsc_text *script) WSC_CHECKED;
/** Write `<dir>/NAME.gp` and let gnuplot make NAME.pdf of it; errors as of out_gnuplot(). */
enum wsc_err out_gnuplot_pdf(const char *dir, const char *name,
                             struct wsc_text *script) WSC_CHECKED;
#endif
