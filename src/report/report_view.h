/** The rows of a sweep, in the order in which tables, plots and the page show them, and sentences
 *  on the causes of the loss against linear scaling. */
#ifndef WSC_REPORT_VIEW_H
#define WSC_REPORT_VIEW_H
#include <wsc/report.h>

enum { REPORT_N_PARTS = 5 };
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
/** The end (exclusive) of the rows of the model whose rows begin at row @p first. */
int report_end_of_model(const struct report_scaling *s, int first);
/** Fill @p order with the indices of s->varied (n_varied of them, at most SCALING_MAX_VALUES) by
 *  ascending value, whatever the order in which the user gave the values. */
void report_varied_order(const struct report_scaling *s, int *order);
/** Choose at most about @p most of the rising node counts @p tick, so that labels do not touch:
 *  all when they are few, else the powers of two and the last.  Returns how many stay. */
int report_ticks_choose(int64_t *tick, int n, int most);

/** The parts of @p b in the order of report_part_name. */
void report_parts(const struct vtime_breakdown *b, double part[static REPORT_N_PARTS]);
extern const char *const report_part_name[REPORT_N_PARTS];
/** Where the loss from the first to the last row of model @p m comes from, in words. */
void report_loss_words(struct wsc_text *t, const struct report_view *v, int m);
#endif
