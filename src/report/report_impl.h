/** What the files of report share: a growing text, JSON out, numbers in, a sorted view of rows. */
#ifndef REPORT_IMPL_H
#define REPORT_IMPL_H
#include <wsc/report.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OUT_REAL_SIZE = 40, OUT_DATE_SIZE = 20, REPORT_N_PARTS = 5 };

/* ---- text ------------------------------------------------------------------------------------ */
/** Text that grows; starts all zero.  After a lack of memory it stays as it is and says so in
 *  @p failed (the error is raised), so that callers check once, at the end. */
struct out_text {
    char *bytes; /**< NUL-terminated once something was added; owned */
    size_t n, size;
    bool failed;
};
void out_text_add(struct out_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void out_text_bytes(struct out_text *t, const char *bytes, size_t n);
/** Escaped for HTML, text or attribute; what is not UTF-8 or not printable becomes U+FFFD. */
void out_text_html(struct out_text *t, const char *s);
/** A JSON string with its quotes; what is not UTF-8 becomes U+FFFD. */
void out_text_json(struct out_text *t, const char *s);
/** A CSV field (RFC 4180), quoted when it needs to be. */
void out_text_csv(struct out_text *t, const char *s);
/** A string of gnuplot in single quotes, on one line. */
void out_text_gnuplot(struct out_text *t, const char *s);
/** Append the file @p path, at most @p limit bytes. */
enum wsc_err out_text_file(struct out_text *t, const char *path, size_t limit) WSC_CHECKED;
enum wsc_err out_text_check(const struct out_text *t) WSC_CHECKED;
/** Makes the file `<dir>/<name>` of it, whole or not at all, and frees the text either way. */
enum wsc_err out_text_write(struct out_text *t, const char *dir, const char *name) WSC_CHECKED;
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
struct out_json {
    struct out_text text;
    int depth;
    bool pretty, comma;
    const char *bad_key; /**< first real that is not finite */
    double bad;
};
/** @p key is NULL for the outermost object. */
void out_json_open(struct out_json *j, const char *key);
void out_json_close(struct out_json *j);
/** What is added between them has no key. */
void out_json_open_list(struct out_json *j, const char *key);
void out_json_close_list(struct out_json *j);
void out_json_int(struct out_json *j, const char *key, int64_t value);
void out_json_null(struct out_json *j, const char *key);
void out_json_bool(struct out_json *j, const char *key, bool value);
void out_json_real(struct out_json *j, const char *key, double value);
/** Nothing when @p value is NULL. */
void out_json_str(struct out_json *j, const char *key, const char *value);
void out_json_hash(struct out_json *j, const char *key, uint64_t value);
void out_json_breakdown(struct out_json *j, const struct vtime_breakdown *b);
/** Errors of all that was added; @p what names the object in the sentence. */
enum wsc_err out_json_check(const struct out_json *j, const char *what) WSC_CHECKED;

/* ---- CSV in ---------------------------------------------------------------------------------- */
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
enum wsc_err out_csv_open(struct out_csv **out, const char *path) WSC_CHECKED;
/** The next line that is neither blank nor a comment, split; *@p more is false at the end. */
enum wsc_err out_csv_next(struct out_csv *r, bool *more) WSC_CHECKED;
void out_csv_close(struct out_csv **r);

/* ---- provenance ------------------------------------------------------------------------------ */
void out_date(char text[static OUT_DATE_SIZE]);
void out_host(char *text, size_t size);
/** `<dir>/<name>`, owned by the caller; NULL (raised) without memory. */
char *out_file_path(const char *dir, const char *name) WSC_CHECKED;

/* ---- one step -------------------------------------------------------------------------------- */
/** The path by part, longest first; at most @p most. */
int report_path_parts(const struct report_anatomy *a, struct report_module *part, int most);
/** Stretches of the path of one kind: "spill, wafer *, layers.* forward". */
struct report_group {
    char name[160];
    int n;
    int64_t ps;
};
/** The path by kind of stretch, longest first; owned by the caller. */
enum wsc_err report_path_groups(const struct report_anatomy *a, struct report_group **out,
                                int *n) WSC_CHECKED;
/** Links between the same kinds of roles. */
struct report_link_kind {
    char name[64];
    int n;
    int64_t bytes; /**< of all */
    int64_t least_busy_ps, most_busy_ps;
};
int report_link_kinds(const struct report_anatomy *a, struct report_link_kind *kind, int most);

/* ---- pictures -------------------------------------------------------------------------------- */
/** Draw @p commands (a `plot` line) as NAME.svg and NAME.png, @p height for a width of 1000. */
void out_gnuplot_output(struct out_text *t, const char *name, const char *commands, int height);
/** Run gnuplot on @p script in @p dir; what it says goes into the error. */
enum wsc_err out_gnuplot_run(const char *dir, char *script) WSC_CHECKED;
/** Write `<dir>/NAME.gp` and let gnuplot make NAME.svg and NAME.png of it. */
enum wsc_err out_gnuplot(const char *dir, const char *name, struct out_text *script) WSC_CHECKED;

/** validation.gp, and from it validation.svg and validation.png. */
enum wsc_err report_validation_plot(const char *dir, const struct report_validation *v) WSC_CHECKED;

/* ---- studies --------------------------------------------------------------------------------- */
/** effects.csv, sweep.csv, sensitivity.csv, training.csv and their pictures, as far as there is
 *  something to write. */
enum wsc_err report_study_write(const char *dir, const struct report_scaling *s) WSC_CHECKED;
/** The same as tables on stdout. */
enum wsc_err report_study_print(const struct report_scaling *s) WSC_CHECKED;
/** Sections of report.html, with the pictures of @p dir inside. */
enum wsc_err report_study_html(struct out_text *t, const char *dir,
                               const struct report_scaling *s) WSC_CHECKED;
/** The picture `<dir>/<name>` inside a page, without the XML head that HTML does not want. */
enum wsc_err report_html_picture(struct out_text *t, const char *dir, const char *name,
                                 const char *caption) WSC_CHECKED;

/* ---- scaling --------------------------------------------------------------------------------- */
/** Rows by model (in order of appearance) and node count. */
struct report_view {
    const struct report_scaling *in;
    struct report_scale_row *row; /**< owned copy, sorted */
    struct report_span {
        int first, end;
    } * model; /**< owned; rows of each model */
    int n_models;
    int64_t *tick; /**< owned; distinct node counts, rising */
    int n_ticks;
};
/** Check all numbers, then sort. */
enum wsc_err report_view_make(struct report_view *v, const struct report_scaling *s) WSC_CHECKED;
void report_view_fini(struct report_view *v);
/** The row of model @p m at @p num_csx; NULL when it was not swept. */
const struct report_scale_row *report_view_find(const struct report_view *v, int m,
                                                int64_t num_csx);
/** Choose at most about @p most of the rising node counts @p tick, so that labels do not touch:
 *  all when they are few, else the powers of two and the last.  Returns how many stay. */
int report_ticks_choose(int64_t *tick, int n, int most);

/** The parts of @p b in the order of report_part_name. */
void report_parts(const struct vtime_breakdown *b, double part[static REPORT_N_PARTS]);
extern const char *const report_part_name[REPORT_N_PARTS];
/** Where the loss from the first to the last row of model @p m comes from, in words. */
void report_loss_words(struct out_text *t, const struct report_view *v, int m);

enum wsc_err report_csv_write(const char *dir, const struct report_view *v) WSC_CHECKED;
/** scaling.gp, and from it scaling.svg and scaling.png by gnuplot. */
enum wsc_err report_plot_write(const char *dir, const struct report_view *v) WSC_CHECKED;
/** report.html, with scaling.svg of @p dir inside. */
enum wsc_err report_html_write(const char *dir, const struct report_view *v) WSC_CHECKED;
#endif
