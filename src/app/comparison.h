/** The comparison with published figures.
 *
 *  `wsc scale` draws the figures; `wsc validate` and `wsc calibrate` compare with them.
 */
#ifndef WSC_APP_COMPARISON_H
#define WSC_APP_COMPARISON_H
#include "requests.h"
#include "shipped.h"

#include <wsc/hw.h>
#include <wsc/validation.h>

#include <limits.h>

/** Read all *.csv of @p dir, by name; *@p rows is owned by the caller. */
enum wsc_err app_read_references(const char *dir, struct validation_figure **rows,
                                 int *n) WSC_CHECKED;

/** What `wsc validate`, `wsc calibrate` and `wsc reproduce` compare. */
struct app_comparison {
    char reference_dir[PATH_MAX];
    char shipped_params[PATH_MAX], shipped_machines[PATH_MAX]; /**< come with the program */
    struct hw_machine cluster;                                 /**< of config.cluster_path */
    bool has_cluster;
    struct validation_figure *rows; /**< owned */
    struct validation_comparison comparison;
};
/** Read the published figures and find models and machines.  app_comparison_fini() @p c also after
 *  an error. */
enum wsc_err app_comparison_open(struct app_comparison *c, const struct app_config *config,
                                 const struct app_figures *figures) WSC_CHECKED;
void app_comparison_fini(struct app_comparison *c);
#endif
