// SPDX-License-Identifier: Apache-2.0
/* The list of input files: folders are walked in the order of names, formats follow from endings.
 */
#include "documents.h"

#include <wsc/log.h>
#include <wsc/mem.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ROW(name) &data_format_##name,
static const struct data_format *const formats[] = {DATA_EACH_TEXT_FORMAT(ROW)};
#undef ROW
enum { N_FORMATS = sizeof formats / sizeof *formats, MAX_DEPTH = 32 };

/* Arguments of the search for files. */
struct request {
    struct data_inputs *inputs;
    const struct data_format *format; /* NULL: by ending */
};

/* True when the path ends so, in any case, and something precedes the ending. */
static bool ends_with(const char *path, size_t length, const char *ending)
{
    size_t n = strlen(ending);
    return length > n && !strncasecmp(path + length - n, ending, n);
}

/* Format by the ending before .gz or .zst; NULL: the ending is of no format. */
static const struct data_format *format_of(const char *path)
{
    static const char *const packed[] = {".gz", ".zst", ".zstd"};
    size_t length = strlen(path);
    for (int i = 0; i < 3; i++) {
        if (!ends_with(path, length, packed[i])) continue;
        length -= strlen(packed[i]);
        break;
    }
    for (int f = 0; f < N_FORMATS; f++)
        for (int e = 0; e < DATA_MAX_ENDINGS && formats[f]->ending[e]; e++)
            if (ends_with(path, length, formats[f]->ending[e])) return formats[f];
    return NULL;
}

static enum wsc_err add(struct data_inputs *in, const struct data_input *file)
{
    TRY_GROW(in->file, WSC_MEM_DATA, in->room, in->n + 1);
    in->file[in->n++] = *file;
    in->bytes += file->bytes;
    return WSC_OK;
}

/* Size and time of the last change are part of the identity of a dataset (make_state.c). */
static enum wsc_err add_file(struct request *r, const char *path, const struct stat *info,
                             const struct data_format *format)
{
    struct data_input file = {.format = format,
                              .bytes = info->st_size,
                              .device = (uint64_t)info->st_dev,
                              .inode = (uint64_t)info->st_ino};
    file.changed_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
    file.path = wsc_strdup(WSC_MEM_DATA, path);
    enum wsc_err rc = file.path ? add(r->inputs, &file) : WSC_NOMEM;
    if (rc) wsc_free(file.path);
    return rc;
}

static enum wsc_err look_at(const char *path, struct stat *info)
{
    if (stat(path, info))
        return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    return WSC_OK;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The order of names must not depend on the locale of the host. */
static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static enum wsc_err add_folder(struct request *r, const char *path, int depth);

/* Add an entry of a folder: a folder, or a file with a known ending; others are ignored. */
static enum wsc_err add_entry(struct request *r, const char *folder, const char *name, int depth)
{
    struct stat info;
    size_t length = strlen(folder);
    char *path;
    TRY_MEM(path, wsc_asprintf(WSC_MEM_DATA, "%s%s%s", folder,
                               length && folder[length - 1] == '/' ? "" : "/", name));
    enum wsc_err rc = look_at(path, &info);
    const struct data_format *format = format_of(name);
    if (format && r->format) format = r->format;
    if (!rc && S_ISDIR(info.st_mode))
        rc = add_folder(r, path, depth + 1);
    else if (!rc && S_ISREG(info.st_mode) && format)
        rc = add_file(r, path, &info, format);
    else if (!rc)
        r->inputs->n_ignored++;
    wsc_free(path);
    return rc;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the folders, at most MAX_DEPTH */
static enum wsc_err add_folder(struct request *r, const char *path, int depth)
{
    struct dirent **entry = NULL;
    enum wsc_err rc = WSC_OK;
    if (depth == MAX_DEPTH)
        return WSC_RAISE(WSC_IO, "%s: folders are nested more than %d deep", path, MAX_DEPTH);
    int n = scandir(path, &entry, visible, by_bytes);
    if (n < 0) return WSC_RAISE(WSC_IO, "%s: cannot be listed: %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        if (!rc) rc = add_entry(r, path, entry[i]->d_name, depth);
        free(entry[i]);
    }
    free(entry);
    return rc;
}

/* Container formats, whose texts cannot be read; read as text, they would give noise without an
 * error. */
static const struct {
    const char *magic, *what;
} containers[] = {{"PAR1", "Parquet"},
                  {"ARROW1", "Arrow"},
                  {"\x89HDF\r\n\x1A\n", "HDF5"},
                  {"PK\x03\x04", "zip"},
                  {"\xFD"
                   "7zXZ",
                   "xz"},
                  {"BZh91AY&SY", "bzip2"}};

/* A file without a known ending is text, unless its first bytes are those of a container. */
static enum wsc_err refuse_container(const char *path)
{
    char start[16] = "";
    FILE *f = fopen(path, "rb");
    if (!f) return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    const size_t n = fread(start, 1, sizeof start - 1, f);
    (void)fclose(f);
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++)
        if (n && !strncmp(start, containers[i].magic, strlen(containers[i].magic)))
            return wsc_err_hint(
                WSC_RAISE(WSC_FORMAT, "%s: this is no text but %s", path, containers[i].what),
                "write its texts as JSON Lines; --format text takes its bytes");
    return WSC_OK;
}

/* Error: no file below @p path has a known ending. */
static enum wsc_err raise_empty(const char *path)
{
    char endings[128] = "";
    for (int f = 0; f < N_FORMATS; f++)
        for (int e = 0; e < DATA_MAX_ENDINGS && formats[f]->ending[e]; e++) {
            const size_t used = strlen(endings);
            (void)snprintf(endings + used, sizeof endings - used, "%s ", formats[f]->ending[e]);
        }
    return wsc_err_hint(WSC_RAISE(WSC_IO, "%s: holds no file of text", path),
                        "known endings: %salso with .gz or .zst", endings);
}

/* A file that the user named is read with any ending; files of a folder only with a known one. */
static enum wsc_err add_path(struct request *r, const char *path)
{
    struct stat info;
    int before = r->inputs->n;
    TRY(look_at(path, &info));
    if (S_ISDIR(info.st_mode)) {
        TRY(add_folder(r, path, 0));
        if (r->inputs->n > before) return WSC_OK;
        return raise_empty(path);
    }
    if (!S_ISREG(info.st_mode))
        return wsc_err_hint(WSC_RAISE(WSC_IO, "%s: is not a regular file", path),
                            "an interrupted run reads its inputs again: give files");
    const struct data_format *format = r->format ? r->format : format_of(path);
    if (!format) TRY(refuse_container(path));
    return add_file(r, path, &info, format ? format : &data_format_text);
}

/* The format of --format; NULL: by endings. */
static enum wsc_err find_format(const char *name, const struct data_format **format)
{
    *format = NULL;
    for (int f = 0; name && f < N_FORMATS; f++)
        if (!strcmp(formats[f]->name, name)) *format = formats[f];
    if (!name || *format) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "format %s is not known", name), DATA_TEXT_FORMATS);
}

static enum wsc_err list_all(struct data_inputs *inputs, const char *const *path, int n,
                             const char *format)
{
    struct request r = {.inputs = inputs};
    *inputs = (struct data_inputs){0};
    TRY(find_format(format, &r.format));
    for (int i = 0; i < n; i++)
        TRY(add_path(&r, path[i]));
    return WSC_OK;
}

/* ---- files that are there twice -------------------------------------------------------------- */

static bool is_same_file(const struct data_input *a, const struct data_input *b)
{
    return a->device == b->device && a->inode == b->inode;
}

/* By file, then in the given order, which is that of the addresses. */
static int by_file(const void *a, const void *b)
{
    const struct data_input *x = *(const struct data_input *const *)a,
                            *y = *(const struct data_input *const *)b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode) return x->inode < y->inode ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Name the first file that stands for an earlier one, and count the others: a folder that is given
 * twice would have a line for each of its files. */
static enum wsc_err warn_of_repeats(const struct data_inputs *in)
{
    const struct data_input **file, *first = NULL, *again = NULL;
    int n = 0;
    TRY_NEW(file, WSC_MEM_DATA, in->n);
    for (int i = 0; i < in->n; i++)
        file[i] = &in->file[i];
    qsort((void *)file, (size_t)in->n, sizeof *file, by_file);
    for (int i = 1; i < in->n; i++) {
        if (!is_same_file(file[i - 1], file[i])) continue;
        n++;
        if (again && again < file[i]) continue;
        first = file[i - 1];
        again = file[i];
    }
    wsc_free((void *)file);
    if (n == 1)
        WSC_WARNING("%s: is read again, as it is the file %s", again->path, first->path);
    else if (n)
        WSC_WARNING("%s: is read again, as it is the file %s, and so are %d other files",
                    again->path, first->path, n - 1);
    return WSC_OK;
}

enum wsc_err data_inputs_list(struct data_inputs *inputs, const char *const *path, int n,
                              const char *format)
{
    TRY(list_all(inputs, path, n, format));
    return warn_of_repeats(inputs);
}

enum wsc_err data_input_formats(const char *const *path, int n, const char *format, bool *objects,
                                bool *tables)
{
    struct data_inputs inputs;
    enum wsc_err rc = list_all(&inputs, path, n, format);
    *objects = *tables = false;
    for (int i = 0; i < inputs.n; i++) {
        const struct data_format *f = inputs.file[i].format;
        *objects |= f == &data_format_jsonl;
        *tables |= f == &data_format_csv || f == &data_format_tsv;
    }
    data_inputs_fini(&inputs);
    return rc;
}

void data_inputs_fini(struct data_inputs *inputs)
{
    for (int i = 0; i < inputs->n; i++)
        wsc_free(inputs->file[i].path);
    wsc_free(inputs->file);
    *inputs = (struct data_inputs){0};
}
