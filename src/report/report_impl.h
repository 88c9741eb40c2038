/** What the files of report share: a growing text, JSON out, numbers in, a sorted view of rows. */
#ifndef REPORT_IMPL_H
#define REPORT_IMPL_H
#include <wsc/report.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REPORT_N_PARTS = 5 };

/* ---- one step -------------------------------------------------------------------------------- */
/** The path by part, longest first; at most @p most. */
int report_path_parts(const struct timeline_step *a, struct timeline_module *part, int most);
/** Stretches of the path of one kind: "spill, wafer *, layers.* forward". */
struct report_group {
    char name[160];
    int n;
    int64_t ps;
};
/** The path by kind of stretch, longest first; owned by the caller. */
enum wsc_err report_path_groups(const struct timeline_step *a, struct report_group **out,
                                int *n) WSC_CHECKED;
/** Links between the same kinds of roles. */
struct report_link_kind {
    char name[64];
    int n;
    int64_t bytes; /**< of all */
    int64_t least_busy_ps, most_busy_ps;
};
int report_link_kinds(const struct timeline_step *a, struct report_link_kind *kind, int most);

/** validation.gp, and from it validation.svg and validation.png. */
enum wsc_err report_validation_plot(const char *dir, const struct validation_table *v) WSC_CHECKED;

/* ---- studies --------------------------------------------------------------------------------- */
/** Write effects.csv, faults.csv, sweep.csv, sensitivity.csv, training.csv, as far as @p s has what
 *  they hold. */
enum wsc_err report_study_write(const char *dir, const struct report_scaling *s) WSC_CHECKED;
/** Draw sweep.svg and tornado.svg with their PNGs; one that fails does not keep the other away. */
enum wsc_err report_study_draw(const char *dir, const struct report_scaling *s) WSC_CHECKED;
/** Print what report_study_write() writes as tables on stdout. */
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
    struct scaling_row *row; /**< owned copy, sorted */
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
const struct scaling_row *report_view_find(const struct report_view *v, int m, int64_t num_csx);
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
