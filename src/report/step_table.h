/** Sums over the critical path and the links of a step, for tables and for the
 *  page (study_html.c). */
#ifndef WSC_STEP_TABLE_H
#define WSC_STEP_TABLE_H
#include <wsc/report.h>

/** The path by part, longest first; at most @p most. */
int report_path_parts(const struct timeline_step *a, struct timeline_module *part, int most);
/** Segments of the path of one kind: "spill, wafer *, layers.* forward". */
struct report_group {
    char name[160];
    int n;
    int64_t ps;
};
/** The path by kind of segment, longest first, at most 16; the last of many is the sum of the
 *  others. Owned by the caller. */
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
#endif
