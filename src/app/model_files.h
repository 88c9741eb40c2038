/** Lists of params files in an option, and the names of their models.
 *
 *  `wsc scale --params` and `wsc law --predict` take such lists.
 */
#ifndef WSC_APP_MODEL_FILES_H
#define WSC_APP_MODEL_FILES_H
#include <wsc/scaling.h>

enum { APP_MODEL_FILES = 64 };

/** The files of a list, each once; app_model_files_fini() frees them. */
struct app_model_files {
    int n;
    char *text; /**< owned: the list, cut into its items */
    const char *path[APP_MODEL_FILES];
    char name[APP_MODEL_FILES]
             [SCALING_NAME_BYTES]; /**< of their models, see scaling_name_models() */
};
/** Take the files of @p list, separated by commas, which the user gave to @p option. A file that
 *  stands twice is taken once, with a warning. WSC_USAGE: more than APP_MODEL_FILES files, or
 *  as of scaling_name_models(). WSC_NOMEM. */
enum wsc_err app_model_files_take(struct app_model_files *files, const char *option,
                                  const char *list) WSC_CHECKED;
/** Release the list; nothing when none was taken. */
void app_model_files_fini(struct app_model_files *files);
#endif
