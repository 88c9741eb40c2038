/** What `wsc mesh KERNEL` shows besides the cycles: heat map, trace, where the cycles went. */
#ifndef WSC_APP_MESH_SHOW_H
#define WSC_APP_MESH_SHOW_H
#include <wsc/mesh.h>

/* As asked for; all zero: nothing. */
struct app_show {
    const char *heatmap, *trace, *trace_pe; /* files, PEs; NULL: not given */
    int64_t trace_events;                   /* 0: not given */
    bool explain;
    struct mesh_watch *watch; /* owned; NULL when nothing is shown */
};
/* Options that need each other, PEs outside the fabric, files that cannot be written; then a watch
 * for the run when there is something to show. */
enum wsc_err app_show_begin(struct app_show *s, int w, int h) WSC_CHECKED;
/* The first option that was given, or NULL. */
const char *app_show_option(const struct app_show *s);
/* Heat map and trace; @p title names the run. */
enum wsc_err app_show_files(const struct app_show *s, int w, int h, const char *title) WSC_CHECKED;
/* Where the cycles went, as text, or as the last member of a JSON object. */
enum wsc_err app_show_explain(const struct app_show *s, bool json) WSC_CHECKED;
void app_show_fini(struct app_show *s);
#endif
