/** What `wsc mesh KERNEL` shows besides the cycles: heat map, trace, where the cycles went.
 *
 *  app_show_begin(), the run, app_show_explain(), app_show_files(), app_show_fini().
 */
#ifndef WSC_APP_MESH_SHOW_H
#define WSC_APP_MESH_SHOW_H
#include "requests.h"

/** Before a run of `wsc mesh KERNEL`: check PEs and files, create a watch when something is to be
 *  shown. */
enum wsc_err app_show_begin(struct app_show *s, int w, int h) WSC_CHECKED;
/** After the run: write heat map and trace; @p title names the run. */
enum wsc_err app_show_files(const struct app_show *s, int w, int h, const char *title) WSC_CHECKED;
/** After the run: print where the cycles went, as text, or as the last member of a JSON object. */
enum wsc_err app_show_explain(const struct app_show *s, bool json) WSC_CHECKED;
void app_show_fini(struct app_show *s);
#endif
