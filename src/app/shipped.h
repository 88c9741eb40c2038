/** Folders of files that come with the program: published figures, models, machines.
 *
 *  Commands ask for one with app_find_folder() when the user names none.
 */
#ifndef WSC_APP_SHIPPED_H
#define WSC_APP_SHIPPED_H
#include <stdbool.h>
#include <stddef.h>

enum app_shipped { APP_REFERENCE, APP_PARAMS, APP_CLUSTER, APP_N_SHIPPED };
/** Find a folder that comes with the program: below $WSC_DATA_DIR where that is set, otherwise in
 *  the source tree or the installation that the program is part of.  Writes its absolute name to
 *  @p path of @p size bytes; false when it is not there. */
bool app_find_folder(enum app_shipped folder, char *path, size_t size);
/** Where app_find_folder() looks, for messages: "in WSC_DATA_DIR" or "beside the program". */
const char *app_find_place(void);
#endif
