/** Files that a command line names: no output may be a file that the command reads, or that it
 *  writes for another option.
 *
 *  Which options name inputs and outputs is in the table of options: app_option.writes. */
#ifndef WSC_APP_PATH_CHECK_H
#define WSC_APP_PATH_CHECK_H
#include "option.h"

/** A path that the params name beside the command line. */
struct app_path {
    const char *label; /**< what messages call it, a key of the params */
    const char *path;  /**< NULL: none */
    const char *like;  /**< name of the command's option that has such a path */
};
/** Check the paths of the options of @p call, and @p n @p more of the params, before anything is
 *  written.  Two paths are one file if device and inode are equal, or before it exists the names
 *  after links are followed.  WSC_USAGE names the options. */
enum wsc_err app_check_paths(const struct app_call *call, const struct app_path *more,
                             int n) WSC_CHECKED;
#endif
