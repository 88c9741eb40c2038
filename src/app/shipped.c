// SPDX-License-Identifier: Apache-2.0
/* Finds the files that come with the program from where the program is: in the source tree, in an
 * installation that may have been moved, or below $WSC_DATA_DIR, which has the layout of either.
 * Commands call app_find_folder(); mpi_launch/packaging/install.sh makes the layout of an installation. */
#include "shipped.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The two layouts: their root as seen from the folder of the program (build/VARIANT/bin of the
 * tree, PREFIX/bin), and the folders below it. */
static const struct {
    const char *root, *folder[APP_N_SHIPPED];
} layout[] = {{"../../..",
               {[APP_REFERENCE] = "benchmarks/reference",
                [APP_PARAMS] = "configs/params",
                [APP_CLUSTER] = "configs/cluster"}},
              {"../share/wsc",
               {[APP_REFERENCE] = "reference",
                [APP_PARAMS] = "configs/params",
                [APP_CLUSTER] = "configs/cluster"}}};

/* The folder that the program lies in, symbolic links followed. */
static bool find_program(char path[PATH_MAX])
{
    const ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (n <= 0) return false;
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (slash) *slash = '\0';
    return slash != NULL;
}

/* $WSC_DATA_DIR; NULL when it is not set. */
static const char *chosen_root(void)
{
    const char *root = getenv("WSC_DATA_DIR");
    return root && *root ? root : NULL;
}

const char *app_find_place(void)
{
    return chosen_root() ? "in WSC_DATA_DIR" : "beside the program";
}

bool app_find_folder(enum app_shipped folder, char *path, size_t size)
{
    char bin[PATH_MAX], found[PATH_MAX];
    const char *root = chosen_root();
    if (!root && !find_program(bin)) return false;
    for (int i = 0; i < (int)(sizeof layout / sizeof *layout); i++) {
        char name[3 * PATH_MAX];
        if (root)
            (void)snprintf(name, sizeof name, "%s/%s", root, layout[i].folder[folder]);
        else
            (void)snprintf(name, sizeof name, "%s/%s/%s", bin, layout[i].root,
                           layout[i].folder[folder]);
        if (!realpath(name, found) || strlen(found) >= size) continue;
        memcpy(path, found, strlen(found) + 1);
        return true;
    }
    return false;
}
