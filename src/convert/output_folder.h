/** The folder of --out, and the names of the files that a conversion makes there.  Nothing that
 *  lies in the folder is written over. */
#ifndef WSC_CONVERT_OUTPUT_FOLDER_H
#define WSC_CONVERT_OUTPUT_FOLDER_H
#include <wsc/convert.h>

/** WSC_USAGE with the path when `<dir>/<name>` exists, or when the path is too long; @p names ends
 *  with NULL, and a name with `*` is a pattern of fnmatch(). */
enum wsc_err convert_check_new(const char *dir, const char *const *names) WSC_CHECKED;
/** Set the paths of model.mdl and params.yaml below job->out in @p result, the rest of which
 * becomes zero.  Errors as convert_check_new(). */
enum wsc_err convert_name_checkpoint(const struct convert_job *job,
                                     struct convert_result *result) WSC_CHECKED;
#endif
