// SPDX-License-Identifier: Apache-2.0
/* Matches tensors of both sides and their lines: the rules of a family (hf_families.c) for every
 * block and expert of a model. If queries, keys and values are three tensors on one side and one on
 * the other, they are joined by lines. Rotary halves (i, i + d/2) of Hugging Face are pairs (2i, 2i
 * + 1) here, which is a permutation of lines. tensor_mover.c copies the values. */
#include "tensor_map.h"
#include "hf_family.h"
#include "hf_key.h"
#include "json_file.h"

#include <wsc/mem.h>

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ----------------------------------------------------------------------------------- */

/* The values of the placeholders in the names of a rule. */
struct place {
    const struct convert_family *family;
    int layer, expert;
    const char *field; /* "weight" or "bias" for `*` */
    bool bare;
};

/* Append text to a name; a name that became too long matches nothing. */
__attribute__((format(printf, 2, 3))) static void add(char name[CONVERT_NAME_BYTES],
                                                      const char *format, ...)
{
    const size_t used = strlen(name);
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(name + used, CONVERT_NAME_BYTES - used, format, ap);
    va_end(ap);
}

/* Beginning of the names, and positions of the blocks: those of the only or first stack, and of the
 * decoder after it. */
struct level {
    const char *prefix, *blocks[MODEL_MAX_STACKS];
};

/* Stack of the blocks that a pattern is for; -1: the pattern is for tensors outside of blocks. */
static int stack_of(const char *pattern)
{
    return *pattern == '#' ? 0 : *pattern == '&' ? 1 : -1;
}

/* The name of a rule at one block or expert: prefix or block, then the text with * and @ replaced.
 */
static void expand(char name[CONVERT_NAME_BYTES], const char *pattern, const struct level *level,
                   const struct place *at)
{
    const int stack = stack_of(pattern);
    name[0] = '\0';
    if (*pattern != '/') add(name, "%s", level->prefix);
    if (stack >= 0) add(name, "%s.%d.", level->blocks[stack], at->layer);
    for (const char *c = pattern + (stack >= 0 || *pattern == '/'); *c; c++) {
        if (*c == '*')
            add(name, "%s", at->field);
        else if (*c == '@')
            add(name, "%d", at->expert);
        else
            add(name, "%c", *c);
    }
}

/* ---- an index of the model's tensors --------------------------------------------------------- */

/* A tensor of the model; `used`: a rule has matched it. */
struct named {
    const char *name;
    int tensor;
    bool used;
};
/* Tensors of the model by name. */
struct finder {
    struct named *named; /* owned, sorted by name */
    int n;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static enum wsc_err finder_init(struct finder *f, const struct model *model)
{
    f->n = model->n_tensors;
    TRY_NEW(f->named, WSC_MEM_CONVERT, f->n);
    for (int i = 0; i < f->n; i++)
        f->named[i] = (struct named){model->tensor[i].name, i, false};
    qsort(f->named, (size_t)f->n, sizeof *f->named, by_name);
    return WSC_OK;
}

/* By name, or NULL. */
static struct named *find(const struct finder *f, const char *name)
{
    const struct named key = {.name = name};
    return bsearch(&key, f->named, (size_t)f->n, sizeof key, by_name);
}

/* ---- factors of muP -------------------------------------------------------------------------- */

/* Factor of the keys: the scores of a folder's model have the factor 1 / sqrt(width of a head). */
static double key_factor(const struct model *m)
{
    const double factor = m->stack[0].qk_scale * sqrt((double)m->head_dim);
    return fabs(factor - 1) > 1e-12 ? factor : 1;
}

bool convert_unties(const struct model *model)
{
    return model->tied && (model->zoo.embeddings_scale != 1 || model->logits_scale != 1);
}

bool convert_has_factors(const struct model *model)
{
    return model->zoo.embeddings_scale != 1 || model->logits_scale != 1 || key_factor(model) != 1;
}

/* Factor of a tensor of kind @p kind in a folder, which has no key for it. If embeddings are
 * multiplied after their norm, the tensors of the norm take the factor. */
static double factor_of(const struct model *m, enum model_tensor_kind kind)
{
    const bool embedding = kind == MODEL_WTE || kind == MODEL_WPE || kind == MODEL_WTT,
               norm = kind == MODEL_NORME_W || kind == MODEL_NORME_B,
               key = kind == MODEL_K_W || kind == MODEL_K_B,
               head = kind == MODEL_LM_HEAD_W || kind == MODEL_LM_HEAD_B || kind == MODEL_CLASS_W ||
                      kind == MODEL_CLASS_B;
    const bool in_norm = m->zoo.embedding_layer_norm && !m->scale_first;
    if (in_norm ? norm : embedding) return m->zoo.embeddings_scale;
    if (key) return key_factor(m);
    return head ? m->logits_scale : 1;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* State while the pairs are made. */
struct builder {
    const struct convert_side *cs;
    struct convert_map *map;
    struct finder finder;
    int room;
    int64_t rotary_dim;
};

/* Set sizes and layout of a pair from the tensors of this program; vectors are never transposed. */
static void fill_pair(const struct builder *b, struct convert_pair *p, const struct convert_rule *r)
{
    const struct model *model = b->cs->model;
    for (int i = 0; i < p->n_parts; i++) {
        const struct model_tensor *t = &model->tensor[p->tensor[i]];
        p->n_dims = t->n_dims;
        p->width = t->n_dims > 1 ? t->shape[1] : 1;
        p->factor[i] = b->cs->fold ? (float)factor_of(model, t->kind) : 1;
        p->lines[i] = t->shape[0];
        p->n_lines += t->shape[0];
    }
    p->layout = r->layout;
    p->offset = r->layout & CONVERT_OFFSET ? 1.0F : 0.0F;
    if (p->n_dims == 1) p->layout &= ~CONVERT_TRANSPOSED;
    p->head_dim = model->head_dim;
    p->rotary_dim = r->layout & CONVERT_ROTARY ? b->rotary_dim : 0;
    p->groups = r->layout & CONVERT_GROUPED ? p->lines[1] / p->head_dim : 1;
    if (r->layout & CONVERT_QUARTERS) p->groups = 4;
}

/* Add the pair of a rule at one position, if the model has its tensors: biases are often absent. */
static enum wsc_err add_pair(struct builder *b, const struct convert_rule *r,
                             const struct place *at)
{
    struct convert_pair p = {0};
    bool *used[CONVERT_MAX_PARTS] = {NULL};
    char name[CONVERT_NAME_BYTES];
    const struct convert_family *f = at->family;
    const struct level ours = {
        "model.", {f->stack ? f->stack : "transformer_decoder.layers", f->decoder_stack}};
    const struct level theirs = {at->bare ? "" : f->prefix, {f->blocks, f->decoder_blocks}};
    for (int i = 0; i < CONVERT_MAX_PARTS && r->cs[i]; i++, p.n_parts++) {
        expand(name, r->cs[i], &ours, at);
        struct named *found = find(&b->finder, name);
        if (!found) return WSC_OK;
        p.tensor[i] = found->tensor;
        used[i] = &found->used;
    }
    expand(p.hf, r->hf, &theirs, at);
    for (int i = 0; i < CONVERT_MAX_PARTS; i++)
        if (used[i]) *used[i] = true;
    fill_pair(b, &p, r);
    TRY_GROW(b->map->pair, WSC_MEM_CONVERT, b->room, b->map->n_pairs + 1);
    b->map->pair[b->map->n_pairs++] = p;
    return WSC_OK;
}

/* Apply a rule to one block: for each expert, and for weight and bias, as its name has
 * placeholders. */
static enum wsc_err add_block(struct builder *b, const struct convert_rule *r, struct place *at)
{
    const int experts = strchr(r->hf, '@') ? (int)b->cs->model->experts : 1;
    const int fields = strchr(r->hf, '*') ? 2 : 1;
    for (int i = 0; i < experts * fields; i++) {
        at->expert = i / fields;
        at->field = i % fields ? "bias" : "weight";
        TRY(add_pair(b, r, at));
    }
    return WSC_OK;
}

/* A rule whose name begins with # or & is applied to each block of its stack. */
static enum wsc_err add_rule(struct builder *b, const struct convert_rule *r, struct place *at)
{
    const int stack = stack_of(r->hf);
    const int layers = stack >= 0 ? (int)b->cs->model->stack[stack].L : 1;
    for (at->layer = 0; at->layer < layers; at->layer++)
        TRY(add_block(b, r, at));
    return WSC_OK;
}

/* Error for a tensor that no rule matches, because it would be lost without a message. */
static enum wsc_err check_all_used(const struct builder *b)
{
    for (int i = 0; i < b->finder.n; i++) {
        if (b->finder.named[i].used) continue;
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s: a %s model has no tensor for %s",
                                      b->cs->params->file, b->cs->family->name,
                                      b->finder.named[i].name),
                            "is it a model of another family?");
    }
    return WSC_OK;
}

/* Apply the rules in their order, each to all blocks; this is the order of the pairs. */
static enum wsc_err build(struct builder *b, bool bare)
{
    const struct convert_family *family = b->cs->family;
    struct place at = {.family = family, .bare = bare};
    TRY(finder_init(&b->finder, b->cs->model));
    for (int i = 0; i < family->n_rules; i++)
        TRY(add_rule(b, &family->rule[i], &at));
    return check_all_used(b);
}

/* The pairs own nothing but their array; names are copies. */
enum wsc_err convert_map_create(struct convert_map *map, const struct convert_side *cs, bool bare)
{
    struct builder b = {.cs = cs, .map = map, .rotary_dim = cs->model->rotary_dim};
    *map = (struct convert_map){0};
    enum wsc_err rc = build(&b, bare);
    wsc_free(b.finder.named);
    if (rc) convert_map_fini(map);
    return rc;
}

void convert_map_fini(struct convert_map *map)
{
    wsc_free(map->pair);
    *map = (struct convert_map){0};
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* (lines, width), or transposed; a vector has width 1. */
void convert_pair_shape(const struct convert_pair *p, int64_t shape[2])
{
    const bool transposed = p->layout & CONVERT_TRANSPOSED;
    shape[0] = transposed ? p->width : p->n_lines;
    shape[1] = transposed ? p->n_lines : p->width;
}

/* True when the part is rotated: queries and keys; in a pair of one tensor, this tensor. */
static bool turns(const struct convert_pair *p, int part)
{
    return p->rotary_dim && part < 2;
}

/* Line of a row of a part: rotary pairs (2 i, 2 i + 1) to halves (i, i + half), then the position
 * of the part in its group. */
int64_t convert_pair_line(const struct convert_pair *p, int part, int64_t row)
{
    const int64_t half = p->rotary_dim / 2, per_group = p->lines[part] / p->groups;
    int64_t before = 0;
    for (int i = 0; i < part; i++)
        before += p->lines[i] / p->groups;
    if (turns(p, part) && row % p->head_dim < p->rotary_dim) {
        /* element of pair i / 2; the halves are `half` apart */
        const int64_t i = row % p->head_dim;
        row += (i % 2 ? half : 0) + i / 2 - i;
    }
    return row / per_group * (p->n_lines / p->groups) + before + row % per_group;
}

/* The inverse of convert_pair_line(): the part that has the line, and the row in it. */
int64_t convert_pair_row(const struct convert_pair *p, int64_t line, int *part)
{
    const int64_t half = p->rotary_dim / 2, per_group = p->n_lines / p->groups;
    const int64_t group = line / per_group;
    int64_t rest = line % per_group;
    for (*part = 0; rest >= p->lines[*part] / p->groups; ++*part)
        rest -= p->lines[*part] / p->groups;
    int64_t row = group * (p->lines[*part] / p->groups) + rest;
    if (turns(p, *part) && row % p->head_dim < p->rotary_dim) {
        const int64_t i = row % p->head_dim;
        row += (i < half ? 2 * i : 2 * (i - half) + 1) - i;
    }
    return row;
}

enum wsc_err convert_check_past(const struct zoo_params *params, struct store_file *file)
{
    char *stored = NULL;
    if (!store_has_text(file, ZOO_PAST)) return WSC_OK;
    TRY(store_get_text(file, ZOO_PAST, &stored));
    const enum wsc_err rc = zoo_past_compare(params, stored, ZOO_PAST_MODEL);
    wsc_free(stored);
    return rc;
}
