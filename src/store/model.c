// SPDX-License-Identifier: Apache-2.0
/* Tensors of a model in a checkpoint: two names each, and the levels that trainers add. */
#include "store_impl.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char level[] = "model.";

enum wsc_err store_define_tensor(struct store_file *f, const struct store_tensor *t)
{
    TRY(store_define(f, t->name, STORE_F32, t->n_dims, t->shape));
    return t->alias[0] ? store_link(f, t->name, t->alias) : WSC_OK;
}

bool store_find_tensor(const struct store_file *f, const struct store_tensor *t,
                       char name[STORE_NAME_BYTES])
{
    const char *const base[2] = {t->name, t->alias};
    for (int i = 0; i < 4; i++) {
        if (!base[i / 2][0]) continue;
        (void)snprintf(name, STORE_NAME_BYTES, "%s%s", i % 2 ? level : "", base[i / 2]);
        if (store_has(f, name)) return true;
    }
    return false;
}

enum wsc_err store_check_shape(const struct store_file *f, const char *name,
                               const struct store_tensor *t)
{
    int n_dims;
    int64_t shape[STORE_MAX_DIMS] = {0};
    TRY(store_shape(f, name, &n_dims, shape));
    if (n_dims == t->n_dims && shape[0] == t->shape[0] && (n_dims < 2 || shape[1] == t->shape[1]))
        return WSC_OK;
    enum wsc_err rc =
        WSC_RAISE(WSC_FORMAT, "%s: %s has shape (%lld, %lld), the params give (%lld, %lld)",
                  f->path, name, (long long)shape[0], (long long)shape[1], (long long)t->shape[0],
                  t->n_dims > 1 ? (long long)t->shape[1] : 0LL);
    return wsc_err_hint(rc, "the checkpoint belongs to other params");
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_known(const char *const *known, size_t n, const char *name)
{
    const char *below = name + sizeof level - 1;
    return bsearch(&name, known, n, sizeof *known, by_text) ||
           bsearch(&below, known, n, sizeof *known, by_text);
}

enum wsc_err store_count_unknown(const struct store_file *f, const struct store_tensor *t, int n,
                                 const char **first, int *n_unknown)
{
    const char **known;
    size_t n_known = 0;
    *first = NULL;
    *n_unknown = 0;
    TRY_NEW(known, WSC_MEM_STORE, 2 * n);
    for (int i = 0; i < n; i++) {
        known[n_known++] = t[i].name;
        if (t[i].alias[0]) known[n_known++] = t[i].alias;
    }
    if (n_known) qsort(known, n_known, sizeof *known, by_text);
    for (int i = 0; i < f->n_entries; i++) {
        const char *name = f->entry[i]->name;
        if (strncmp(name, level, sizeof level - 1) != 0 || is_known(known, n_known, name)) continue;
        if (!*first) *first = name;
        ++*n_unknown;
    }
    wsc_free(known);
    return WSC_OK;
}
