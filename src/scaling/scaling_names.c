// SPDX-License-Identifier: Apache-2.0
/* Names of models in tables, pictures and files of published points: those of their params files.
 * Files of one base name, as a search of hyperparameters has them, have their folders too.  Called
 * by `wsc scale`, `wsc law --predict` and the C interface. */
#include <wsc/scaling.h>

#include <stdio.h>
#include <string.h>

/* A part of a path. */
struct part {
    const char *at;
    size_t n;
};

/* The path without its extension, from the @p folders folders before its last component on. */
static struct part name_of(const char *path, int folders)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.'), *at = base;
    for (; folders && at > path; folders--)
        for (at--; at > path && at[-1] != '/'; at--) {
        }
    return (struct part){at, dot && dot != base ? (size_t)(dot - at) : strlen(at)};
}

static bool is_whole(const char *path, int folders)
{
    return name_of(path, folders).at == path;
}

/* The first other file that has the name of file @p i with so many folders; -1: none. */
static int find_other(const char *const *path, int n, int i, int folders)
{
    const struct part own = name_of(path[i], folders);
    for (int k = 0; k < n; k++) {
        const struct part other = name_of(path[k], folders);
        if (k != i && other.n == own.n && !memcmp(other.at, own.at, own.n)) return k;
    }
    return -1;
}

static enum wsc_err name_model(const char *const *path, int n, int i, char *name)
{
    int folders = 0, other;
    while ((other = find_other(path, n, i, folders)) >= 0) {
        if (is_whole(path[i], folders) && is_whole(path[other], folders))
            return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s and %s: their models would have one name",
                                          path[i < other ? i : other], path[i < other ? other : i]),
                                "each file once, under a name or in a folder of its own");
        folders++;
    }
    const struct part own = name_of(path[i], folders);
    if (own.n >= SCALING_NAME_BYTES)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE,
                                      "%s: the name of its model, %.*s, is longer than "
                                      "%d bytes",
                                      path[i], (int)own.n, own.at, SCALING_NAME_BYTES - 1),
                            "a link with a shorter name");
    memcpy(name, own.at, own.n);
    name[own.n] = '\0';
    return WSC_OK;
}

enum wsc_err scaling_name_models(const char *const *path, int n, char (*name)[SCALING_NAME_BYTES])
{
    for (int i = 0; i < n; i++)
        TRY(name_model(path, n, i, name[i]));
    return WSC_OK;
}
