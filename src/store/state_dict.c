// SPDX-License-Identifier: Apache-2.0
/* Makes a file a state dict for cstorch, version 0.5 of its layout. It writes the tree of keys as
 * PyTorch describes a tree of containers, and a description of the value of every key. */
#include "checkpoint_entries.h"
#include "checkpoint_layout.h"
#include "h5_number.h"
#include "h5_text.h"
#include "writer_group.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Level of the entries that do not belong to a state dict. */
static const char own_level[] = "wsc.";
/* Level below which a name is one key, with all its dots. */
static const char model_level[] = "model.";
/* Level of a dict whose keys are numbers; elsewhere numbers are indices of a list. */
static const char numbered_level[] = "state";

/* ---- the tree of keys ------------------------------------------------------------------------ */

/* Length of the next part of a key. */
static size_t part_length(const char *key, const char *rest)
{
    const bool below_model = rest != key && !strncmp(key, model_level, sizeof model_level - 1);
    return below_model ? strlen(rest) : strcspn(rest, ".");
}

/* Add a key to the tree. Containers are objects at first; a leaf is "*". */
static enum wsc_err add_key(json_t *tree, const char *key)
{
    json_t *at = tree;
    for (const char *rest = key; *rest;) {
        const size_t n = part_length(key, rest);
        json_t *below = json_object_getn(at, rest, n);
        if (!below) {
            below = rest[n] ? json_object() : json_string("*");
            if (json_object_setn_new(at, rest, n, below))
                return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "tree of keys");
        }
        at = below;
        rest += n + (rest[n] == '.');
    }
    return WSC_OK;
}

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

/* True when the keys are 0 to n - 1. */
static bool is_list(const json_t *node)
{
    char place[24];
    for (size_t i = 0; i < json_object_size(node); i++) {
        (void)snprintf(place, sizeof place, "%zu", i);
        if (!json_object_get(node, place)) return false;
    }
    return json_object_size(node) > 0;
}

/* PyTorch's groups of parameters always have a list of them. A group without parameters has no key
 * below its list, so that the tree gets an empty one. */
static enum wsc_err add_empty_lists(json_t *tree)
{
    json_t *groups = json_object_get(json_object_get(tree, "optimizer"), "param_groups"), *group;
    const char *number;
    json_object_foreach(groups, number, group)
    {
        if (!json_object_get(group, "params") && json_object_set_new(group, "params", json_array()))
            return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "tree of keys");
    }
    return WSC_OK;
}

/* A node of the tree with lists instead of objects, and its PyTorch description. */
struct described {
    json_t *tree, *spec;
};

/* PyTorch's description of a node: type of the container, its keys as JSON text, children; a leaf
 * has no type. */
static json_t *spec_of(const char *type, const json_t *context, json_t *children)
{
    char *text = type ? json_dumps(context ? context : json_null(), JSON_ENCODE_ANY) : NULL;
    json_t *spec =
        json_pack("{s:s?, s:s?, s:o}", "type", type, "context", text, "children_spec", children);
    free(text);
    return spec;
}

static struct described describe(json_t *node, const char *name);

/* Elements 0 to n - 1 in order. */
static struct described describe_list(json_t *node)
{
    struct described d = {json_array(), NULL};
    json_t *children = json_array();
    char place[24];
    for (size_t i = 0; i < json_object_size(node); i++) {
        (void)snprintf(place, sizeof place, "%zu", i);
        const struct described child = describe(json_object_get(node, place), place);
        (void)json_array_append_new(d.tree, child.tree);
        (void)json_array_append_new(children, child.spec);
    }
    d.spec = spec_of("builtins.list", NULL, children);
    return d;
}

/* Keys in the order of insertion; numbers below `state` stay numbers. */
static struct described describe_dict(json_t *node, const char *name)
{
    struct described d = {json_object(), NULL};
    json_t *children = json_array(), *keys = json_array(), *below;
    const bool numbered = !strcmp(name, numbered_level);
    const char *key;
    json_object_foreach(node, key, below)
    {
        const struct described child = describe(below, key);
        json_t *as_key =
            numbered && is_number(key) ? json_integer(strtoll(key, NULL, 10)) : json_string(key);
        (void)json_object_set_new(d.tree, key, child.tree);
        (void)json_array_append_new(children, child.spec);
        (void)json_array_append_new(keys, as_key);
    }
    d.spec = spec_of("builtins.dict", keys, children);
    json_decref(keys);
    return d;
}

static struct described describe(json_t *node, const char *name)
{
    if (json_is_array(node))
        return (struct described){json_incref(node), spec_of("builtins.list", NULL, json_array())};
    if (!json_is_object(node))
        return (struct described){json_incref(node), spec_of(NULL, NULL, json_array())};
    const bool list = is_list(node) && strcmp(name, numbered_level) != 0;
    return list ? describe_list(node) : describe_dict(node, name);
}

/* The pair [tree, text of its description]; takes the tree. */
static json_t *pair_of(json_t *tree)
{
    struct described d = describe(tree, "");
    json_t *versioned = json_pack("[i, o]", 1, d.spec); /* version of PyTorch's description */
    char *text = versioned ? json_dumps(versioned, 0) : NULL;
    json_t *pair = json_pack("[o, s]", d.tree, text ? text : "");
    free(text);
    json_decref(versioned);
    json_decref(tree);
    return pair;
}

/* ---- what a value is ------------------------------------------------------------------------- */

static const char *torch_type(const struct store_entry *e)
{
    static const char *const name[] = {[STORE_F32] = "torch.float32",
                                       [STORE_F64] = "torch.float64",
                                       [STORE_I64] = "torch.int64",
                                       [STORE_BOOL] = "torch.bool"};
    return name[e->type];
}

/* The description that cstorch reads before it opens the dataset. */
static json_t *tensor_metadata(const struct store_entry *e)
{
    json_t *shape = json_array();
    for (int d = 0; d < e->info.n_dims; d++)
        (void)json_array_append_new(shape, json_integer(e->info.shape[d]));
    return json_pack("{s:s, s:b, s:[o], s:[s]}", "__TYPE__", "TorchTensorSerializer", "__TORCH__",
                     true, "shapes", shape, "dtypes", torch_type(e));
}

static json_t *number_metadata(const struct store_entry *e)
{
    json_t *value = e->type == STORE_I64 ? json_integer((json_int_t)e->value) : json_real(e->value);
    return json_pack("{s:s, s:o}", "__TYPE__", "ScalarSerializer", "scalar_value", value);
}

/* Write the description of a tensor as attributes of its dataset. */
static enum wsc_err put_tensor(const struct store_file *f, const struct store_entry *e)
{
    const struct store_attr shapes = {
        "shapes", H5T_NATIVE_INT64, 2, {1, (hsize_t)e->info.n_dims}, e->info.shape};
    TRY(store_h5_put_text(e->dset, f->tmp, "__TYPE__", "TorchTensorSerializer", false));
    TRY(store_h5_put_true(e->dset, f->tmp, "__TORCH__"));
    TRY(store_h5_put_true(e->dset, f->tmp, "__NUMPY__"));
    TRY(store_h5_put(e->dset, f->tmp, &shapes));
    return store_h5_put_text(e->dset, f->tmp, "dtypes", torch_type(e), true);
}

/* Takes @p value, which may be NULL after a failure. */
static enum wsc_err put_json(const struct store_file *f, const char *name, json_t *value)
{
    char *text = value ? json_dumps(value, 0) : NULL;
    json_decref(value);
    if (!text) return WSC_RAISE(WSC_NOMEM, "%s: no memory for %s", f->path, name);
    enum wsc_err rc = store_h5_put_text(f->file, f->tmp, name, text, false);
    free(text);
    return rc;
}

/* Write the attribute `<key>.__metadata__` with the description of the value, as if it were saved
 * alone. */
static enum wsc_err put_metadata(const struct store_file *f, const struct store_entry *e)
{
    json_t *alone = json_object();
    char *name = wsc_asprintf(WSC_MEM_STORE, "%s" STORE_META_SUFFIX, e->name);
    (void)json_object_set_new(alone, e->name, json_string("*"));
    json_t *all = json_pack("{s:o, s:[s]}", "__spec__", pair_of(alone), "__objects__", e->name);
    if (!name) {
        json_decref(all);
        return WSC_NOMEM;
    }
    (void)json_object_set_new(all, name, e->is_number ? number_metadata(e) : tensor_metadata(e));
    const enum wsc_err rc = put_json(f, name, all);
    wsc_free(name);
    return rc;
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* True for entries of this program, which cstorch does not know. */
static bool is_own(const struct store_entry *e)
{
    return !strncmp(e->name, own_level, sizeof own_level - 1);
}

/* True for entries of the state dict. Names of a model have two levels there: the part of the
 * trainer, and the name. */
static bool belongs(const struct store_entry *e)
{
    const size_t n = sizeof model_level - 1;
    if (is_own(e)) return false;
    return strncmp(e->name, model_level, n) != 0 || !strncmp(e->name + n, model_level, n);
}

enum wsc_err store_set_number(struct store_file *f, const char *key, enum store_type type,
                              double value)
{
    struct store_entry *e = store_find(f, key);
    WSC_CHECK(f->tmp, "%s is open for reading", f->path);
    if (!e) {
        TRY(store_add(f, key, &e));
        e->is_constant = true;
        e->type = type;
        e->info.n = 1;
    }
    e->is_number = true;
    e->value = value;
    return WSC_OK;
}

/* Keys that belong to a state dict, then attributes of tensors, then the tree of all keys. */
static enum wsc_err put_all(struct store_file *f, json_t *tree)
{
    TRY(store_h5_put_text(f->file, f->tmp, STORE_ATTR_CSTORCH, STORE_CSTORCH_RELEASE, false));
    for (int i = 0; i < f->n_entries; i++) {
        const struct store_entry *e = f->entry[i];
        if (!belongs(e)) continue;
        TRY(add_key(tree, e->name));
        TRY(put_metadata(f, e));
    }
    TRY(add_empty_lists(tree));
    for (int i = 0; i < f->n_entries; i++)
        if (!f->entry[i]->alias_of && !f->entry[i]->is_constant && !is_own(f->entry[i]))
            TRY(put_tensor(f, f->entry[i]));
    return put_json(f, "__spec__", pair_of(json_incref(tree)));
}

enum wsc_err store_describe(struct store_file *f)
{
    WSC_CHECK(f->tmp, "%s is open for reading", f->path);
    json_t *tree = json_object();
    /* A key's metadata and its tensor's attributes take less than 2 KiB. */
    enum wsc_err rc = store_reserve(f, 2048 * (int64_t)f->n_entries);
    rc = store_group_agree(&f->group, rc);
    if (!rc) rc = store_group_agree(&f->group, put_all(f, tree));
    json_decref(tree);
    if (rc) f->failed = rc;
    return rc;
}
