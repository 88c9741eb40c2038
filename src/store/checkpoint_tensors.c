// SPDX-License-Identifier: Apache-2.0
/* Reads and writes the tensors of a model in a checkpoint, under up to three names each, with the
 * levels that trainers add. The state dict of a trainer has its model below "model.", a plain one
 * at the root; tied tensors may have either of their names. So a tensor is searched under each of
 * its names, and written under all. */
#include "checkpoint_entries.h"
#include "h5_info.h"

#include <wsc/mem.h>
#include <wsc/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char level[] = "model.";

/* Endings of names up to release 2.0. */
static const struct {
    const char *now, *then;
} older[] = {{".position_embeddings.embed.weight", ".position_embeddings.weight"}};
enum { N_OLDER = sizeof older / sizeof *older };

/* Buffers of a model that are computed, not learned: slopes of ALiBi, the table of fixed positions,
 * counts of the metrics. */
static const char *const buffer[] = {".position_embed_helper.slopes", ".relative_pe_helper.slopes",
                                     ".position_embeddings.fpe", "model.accuracy_metric.",
                                     "model.perplexity_metric."};
enum { N_BUFFERS = sizeof buffer / sizeof *buffer };

/* Ending of the masks of sparse tensors, from release 2.2 on. */
static const char mask_suffix[] = "_mask";
/* Ending of the masks of weights that train. */
static const char selected_suffix[] = "_requires_grad";
/* Name of a mask in releases 1.8 to 2.1, with the tensor's name. */
static const char mask_state[] = "optimizer.sparsity.state.%s.mask";

static enum wsc_err define(struct store_file *f, const struct store_tensor *t, enum store_type type)
{
    const char *const base[3] = {t->name, t->alias, t->also};
    char below[STORE_NAME_BYTES];
    TRY(store_define(f, t->name, type, t->n_dims, t->shape));
    for (int i = 0; i < 3 && base[i][0]; i++) {
        (void)snprintf(below, sizeof below, "%s%s", level, base[i]);
        if (i) TRY(store_link(f, t->name, base[i]));
        TRY(store_link(f, t->name, below));
    }
    return WSC_OK;
}

enum wsc_err store_define_tensor(struct store_file *f, const struct store_tensor *t)
{
    return define(f, t, STORE_F32);
}

/* The names of a buffer that belongs to a tensor; the result borrows from @p name. */
static struct store_tensor beside(const struct store_tensor *t, const char *suffix,
                                  char name[2][STORE_NAME_BYTES])
{
    const char *const base[2] = {t->name, t->alias};
    for (int i = 0; i < 2; i++)
        (void)snprintf(name[i], STORE_NAME_BYTES, "%s%s", base[i], base[i][0] ? suffix : "");
    return (struct store_tensor){name[0], name[1], t->n_dims, t->shape, ""};
}

enum wsc_err store_define_mask(struct store_file *f, const struct store_tensor *t)
{
    char name[2][STORE_NAME_BYTES];
    const struct store_tensor mask = beside(t, mask_suffix, name);
    return define(f, &mask, STORE_BOOL);
}

enum wsc_err store_define_selected(struct store_file *f, const struct store_tensor *t)
{
    char name[2][STORE_NAME_BYTES];
    const struct store_tensor selected = beside(t, selected_suffix, name);
    return define(f, &selected, STORE_BOOL);
}

bool store_find_mask(const struct store_file *f, const struct store_tensor *t,
                     char name[STORE_NAME_BYTES])
{
    char own[2][STORE_NAME_BYTES];
    const struct store_tensor mask = beside(t, mask_suffix, own);
    const char *const base[2] = {t->name, t->alias};
    if (store_find_tensor(f, &mask, name)) return true;
    for (int i = 0; i < 4; i++) {
        const char *at = base[i / 2];
        const size_t n = sizeof level - 1;
        if (i % 2) at += strncmp(at, level, n) ? 0 : n;
        (void)snprintf(name, STORE_NAME_BYTES, mask_state, at);
        if (*at && store_has(f, name)) return true;
    }
    return false;
}

/* Levels of the two models of preference optimization. Each may be initialized from a single model,
 * and the policy may be read as a single model. */
static const char *const pair_level[] = {"policy_model.", "ref_model."};
enum { N_PAIR_LEVELS = sizeof pair_level / sizeof *pair_level };

/* The part of a name after such a level; NULL: the name has none. */
static const char *after_pair_level(const char *name)
{
    for (int i = 0; i < N_PAIR_LEVELS; i++) {
        const size_t n = strlen(pair_level[i]);
        if (!strncmp(name, pair_level[i], n)) return name + n;
    }
    return NULL;
}

/* The name of the tensor in a single model if @p name is of a pair, and in the policy otherwise. */
static void other_level(const char *name, char other[STORE_NAME_BYTES])
{
    const char *alone = after_pair_level(name);
    (void)snprintf(other, STORE_NAME_BYTES, "%s%s", alone || !*name ? "" : pair_level[0],
                   alone ? alone : name);
}

/* Older name of the tensor; "" if it always had its name. */
static void older_name(const struct store_tensor *t, char name[STORE_NAME_BYTES])
{
    name[0] = '\0';
    for (int i = 0; i < N_OLDER; i++)
        if (wsc_ends_with(t->name, older[i].now))
            (void)snprintf(name, STORE_NAME_BYTES, "%.*s%s",
                           (int)(strlen(t->name) - strlen(older[i].now)), t->name, older[i].then);
}

/* Name of an encoder's tensor in the other one of the Model Zoo's BERT classes (pre-training,
 * fine-tuning), which name the encoder differently; "" for other tensors. */
static void other_encoder(const char *name, char other[STORE_NAME_BYTES])
{
    static const char *const encoder[] = {"model.bert.", "model.bert_encoder."};
    other[0] = '\0';
    for (int i = 0; i < 2; i++) {
        const size_t n = strlen(encoder[i]);
        if (!strncmp(name, encoder[i], n))
            (void)snprintf(other, STORE_NAME_BYTES, "%s%s", encoder[!i], name + n);
    }
}

bool store_find_tensor(const struct store_file *f, const struct store_tensor *t,
                       char name[STORE_NAME_BYTES])
{
    enum { N_BASES = 7 };
    char before[STORE_NAME_BYTES], other[2][STORE_NAME_BYTES], encoder[STORE_NAME_BYTES];
    const char *const base[N_BASES] = {t->name,  t->alias, t->also, before,
                                       other[0], other[1], encoder};
    older_name(t, before);
    other_encoder(t->name, encoder);
    other_level(t->name, other[0]);
    other_level(t->alias, other[1]);
    for (int i = 0; i < 2 * N_BASES; i++) {
        if (!base[i / 2][0]) continue;
        (void)snprintf(name, STORE_NAME_BYTES, "%s%s", i % 2 ? level : "", base[i / 2]);
        if (store_has(f, name)) return true;
    }
    return false;
}

enum { SHAPE_BYTES = 24 * STORE_MAX_DIMS };

/* "(256,)" or "(256, 64)", as PyTorch prints a shape. */
static const char *shape_text(char text[SHAPE_BYTES], int n_dims, const int64_t *shape)
{
    int n = snprintf(text, SHAPE_BYTES, "(");
    for (int d = 0; d < n_dims; d++)
        n += snprintf(text + n, (size_t)(SHAPE_BYTES - n), "%s%lld", d ? ", " : "",
                      (long long)shape[d]);
    (void)snprintf(text + n, (size_t)(SHAPE_BYTES - n), n_dims == 1 ? ",)" : ")");
    return text;
}

enum wsc_err store_check_shape(const struct store_file *f, const char *name,
                               const struct store_tensor *t)
{
    int n_dims;
    int64_t shape[STORE_MAX_DIMS] = {0};
    TRY(store_shape(f, name, &n_dims, shape));
    if (n_dims == t->n_dims && shape[0] == t->shape[0] && (n_dims < 2 || shape[1] == t->shape[1]))
        return WSC_OK;
    char in_file[SHAPE_BYTES], given[SHAPE_BYTES];
    enum wsc_err rc =
        WSC_RAISE(WSC_FORMAT, "%s: %s has shape %s, the params give %s", f->path, name,
                  shape_text(in_file, n_dims, shape), shape_text(given, t->n_dims, t->shape));
    return wsc_err_hint(rc, "the checkpoint belongs to other params");
}

bool store_find_selected(const struct store_file *f, const struct store_tensor *t,
                         char name[STORE_NAME_BYTES])
{
    char own[2][STORE_NAME_BYTES];
    const struct store_tensor selected = beside(t, selected_suffix, own);
    return store_find_tensor(f, &selected, name);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_buffer(const char *name)
{
    for (int i = 0; i < N_BUFFERS; i++)
        if (strstr(name, buffer[i])) return true;
    return false;
}

static bool was_known(const struct store_tensor *t, int n, const char *name)
{
    char before[STORE_NAME_BYTES];
    for (int i = 0; i < n; i++) {
        older_name(&t[i], before);
        if (before[0] && wsc_ends_with(name, before)) return true;
    }
    return false;
}

/* True for the name of a tensor, or of a buffer that belongs to one. */
static bool is_known(const char *const *known, size_t n, const char *name)
{
    char tensor[STORE_NAME_BYTES];
    const char *at = tensor, *below = tensor + sizeof level - 1;
    const char *alone = after_pair_level(name + sizeof level - 1);
    size_t n_name = strlen(name);
    if (wsc_ends_with(name, mask_suffix)) n_name -= sizeof mask_suffix - 1;
    if (wsc_ends_with(name, selected_suffix)) n_name -= sizeof selected_suffix - 1;
    (void)snprintf(tensor, sizeof tensor, "%.*s", (int)n_name, name);
    if (alone && bsearch(&alone, known, n, sizeof *known, by_text)) return true;
    return is_buffer(name) || bsearch(&at, known, n, sizeof *known, by_text) ||
           bsearch(&below, known, n, sizeof *known, by_text);
}

enum wsc_err store_count_unknown(const struct store_file *f, const struct store_tensor *t, int n,
                                 const char **first, int *n_unknown)
{
    const char **known;
    size_t n_known = 0;
    *first = NULL;
    *n_unknown = 0;
    TRY_NEW(known, WSC_MEM_STORE, 5 * n);
    for (int i = 0; i < n; i++) {
        const char *const own[] = {t[i].name, t[i].alias[0] ? t[i].alias : NULL,
                                   t[i].also[0] ? t[i].also : NULL, after_pair_level(t[i].name),
                                   after_pair_level(t[i].alias)};
        for (int k = 0; k < 5; k++)
            if (own[k]) known[n_known++] = own[k];
    }
    if (n_known) qsort(known, n_known, sizeof *known, by_text);
    for (int i = 0; i < f->n_entries; i++) {
        const char *name = f->entry[i]->name;
        if (strncmp(name, level, sizeof level - 1) != 0 || is_known(known, n_known, name) ||
            was_known(t, n, name))
            continue;
        if (!*first) *first = name;
        ++*n_unknown;
    }
    wsc_free(known);
    return WSC_OK;
}
