// SPDX-License-Identifier: Apache-2.0
/* Lists the contents of an opened file: the datasets at its root, and the values that cstorch keeps
 * without a dataset. Up to version 0.4 of its layout these values are empty datasets, whose
 * attributes describe them; since 0.5 they are JSON texts among the root's attributes. Python
 * objects are skipped and never read. */
#include "checkpoint_listing.h"
#include "checkpoint_entries.h"
#include "checkpoint_layout.h"
#include "checkpoint_values.h"
#include "h5.h"
#include "h5_error.h"
#include "h5_info.h"
#include "h5_number.h"
#include "h5_text.h"

#include <wsc/mem.h>
#include <wsc/text.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Data of the visitors of HDF5's iterations; rc has the error of a visitor. */
struct listing {
    struct store_file *f;
    double layout; /* 0: the file has no version */
    bool links;    /* only second names among the attributes are wanted */
    enum wsc_err rc;
};

/* ---- constants ------------------------------------------------------------------------------- */

/* A tensor with equal elements. */
struct constant {
    bool whole; /* integers */
    double value;
    int n_dims;
    int64_t shape[STORE_MAX_DIMS];
};

/* Add a constant. It takes no memory in the file, but readers allocate its size, so the size is
 * checked. */
static enum wsc_err add_constant(struct store_file *f, const char *key, const struct constant *c)
{
    struct store_entry *e = NULL;
    int64_t n = 1, bytes;
    for (int d = 0; d < c->n_dims; d++)
        if (c->shape[d] <= 0 || __builtin_mul_overflow(n, c->shape[d], &n) ||
            __builtin_mul_overflow(n, (int64_t)8, &bytes))
            return WSC_RAISE(WSC_FORMAT, "%s: %s has an absurd size", f->path, key);
    if (c->whole && !(fabs(c->value) < 0x1p63))
        return WSC_RAISE(WSC_FORMAT, "%s: %s is not an integer of 64 bits", f->path, key);
    TRY(store_add(f, key, &e));
    e->is_constant = true;
    e->value = c->value;
    e->info = (struct store_info){
        .n_dims = c->n_dims, .n = n, .kind = c->whole ? H5T_INTEGER : H5T_FLOAT};
    memcpy(e->info.shape, c->shape, sizeof c->shape);
    (void)snprintf(e->info.type, sizeof e->info.type, "%s", c->whole ? "int64" : "float32");
    return WSC_OK;
}

/* ---- up to version 0.4 ----------------------------------------------------------------------- */

/* The attribute `shape`: at most STORE_MAX_DIMS whole numbers. */
static enum wsc_err read_extents(hid_t dset, const char *path, const char *key, struct constant *c)
{
    static const char name[] = "shape";
    hid_t attr = H5Aopen(dset, name, H5P_DEFAULT), space = attr < 0 ? attr : H5Aget_space(attr);
    const hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    enum wsc_err rc = WSC_OK;
    c->n_dims = (int)(n >= 0 && n <= STORE_MAX_DIMS ? n : -1);
    if (c->n_dims < 0 || (n > 0 && H5Aread(attr, H5T_NATIVE_INT64, c->shape) < 0))
        rc = H5_RAISE(WSC_FORMAT, "%s: attribute %s of %s is no list of extents", path, name, key);
    if (space >= 0) (void)H5Sclose(space);
    if (attr >= 0) (void)H5Aclose(attr);
    return rc;
}

/* A constant of the older layout, from the attributes of its empty dataset. */
static enum wsc_err add_filled(struct listing *l, const char *key, hid_t dset)
{
    struct constant c = {0};
    bool present = false;
    hid_t type = H5Dget_type(dset);
    c.whole = H5Tget_class(type) == H5T_INTEGER;
    (void)H5Tclose(type);
    TRY(read_extents(dset, l->f->path, key, &c));
    TRY(store_h5_get_f64(dset, l->f->path, "fill_value", &c.value, &present));
    return add_constant(l->f, key, &c);
}

/* A dataset without elements: a constant, a value in another file, or a Python object. */
static enum wsc_err add_empty(struct listing *l, const char *key, hid_t dset)
{
    if (H5Aexists(dset, "fill_value") > 0 && H5Aexists(dset, "shape") > 0)
        return add_filled(l, key, dset);
    if (H5Aexists(dset, "filepath") > 0)
        return wsc_err_hint(WSC_RAISE(WSC_FORMAT,
                                      "%s: %s keeps its values in another file, which is not "
                                      "supported",
                                      l->f->path, key),
                            "save the checkpoint with its tensors in it");
    return WSC_OK;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c | 0x20) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Undo the quoting of a URL in place. */
static void unquote(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        const int high = *from == '%' ? hex_digit(from[1]) : -1;
        const int low = high < 0 ? -1 : hex_digit(from[2]);
        if (low < 0)
            *to = *from;
        else
            *to = (char)(16 * high + low);
        from += low < 0 ? 1 : 3;
    }
    *to = '\0';
}

/* ---- datasets -------------------------------------------------------------------------------- */

/* True for a dataset of the null space, which has no elements. */
static bool is_empty(hid_t dset)
{
    hid_t space = H5Dget_space(dset);
    const bool empty = space >= 0 && H5Sget_simple_extent_type(space) == H5S_NULL;
    if (space >= 0) (void)H5Sclose(space);
    return empty;
}

/* Opening inspects the dataset; its handle is closed again, since a file may have thousands. */
static enum wsc_err add_full(struct listing *l, const char *key, const char *link, haddr_t address)
{
    struct store_entry *e = NULL;
    TRY(store_add(l->f, key, &e));
    e->address = address;
    if (strcmp(key, link) != 0) {
        TRY_MEM(e->link, wsc_strdup(WSC_MEM_STORE, link));
    }
    enum wsc_err rc = store_entry_open(l->f, e);
    if (e->dset >= 0) (void)H5Dclose(e->dset);
    e->dset = H5I_INVALID_HID;
    return rc;
}

/* True for masks of sparse weights, which are buffers beside them or states of an optimizer of
 * masks, and for masks of weights that train. */
static bool is_mask(const char *key)
{
    return wsc_ends_with(key, "_mask") || wsc_ends_with(key, ".mask") ||
           wsc_ends_with(key, "_requires_grad");
}

/* True for integers and floats of any width, and for the truth values of a mask. */
static bool is_wanted(hid_t dset, const char *key)
{
    hid_t type = H5Dget_type(dset);
    const H5T_class_t kind = H5Tget_class(type);
    const bool truth = kind == H5T_ENUM && H5Tget_size(type) == 1;
    (void)H5Tclose(type);
    return kind == H5T_INTEGER || kind == H5T_FLOAT || (truth && is_mask(key));
}

/* Add a dataset at the root: values, a constant, or an object that no model needs. */
static enum wsc_err add_dataset(struct listing *l, hid_t dset, const char *key, const char *link,
                                haddr_t address)
{
    if (is_empty(dset)) return add_empty(l, key, dset);
    /* A state dict may have other truth values and texts, which do not belong to a model. */
    if (l->layout > 0 && !is_wanted(dset, key)) return WSC_OK;
    return add_full(l, key, link, address);
}

static enum wsc_err add_link(struct listing *l, const char *link, haddr_t address)
{
    hid_t dset;
    TRY(store_h5_dataset(&dset, l->f->file, l->f->path, link, H5P_DEFAULT));
    char *key = wsc_strdup(WSC_MEM_STORE, link);
    enum wsc_err rc = WSC_NOMEM;
    if (key) {
        if (l->layout > 0 && l->layout < STORE_LAYOUT - 0.01) unquote(key);
        rc = add_dataset(l, dset, key, link, address);
    }
    wsc_free(key);
    (void)H5Dclose(dset);
    return rc;
}

static herr_t visit_link(hid_t root, const char *name, const H5L_info_t *link, void *ctx)
{
    struct listing *l = ctx;
    (void)root;
    l->rc = add_link(l, name, link->type == H5L_TYPE_HARD ? link->u.address : HADDR_UNDEF);
    return l->rc ? -1 : 0;
}

/* True for names below a level that a state dict puts before the model's own names. */
static int is_repeated(const char *name)
{
    static const char level[] = "model.model.";
    return !strncmp(name, level, sizeof level - 1);
}

/* Order by object; for one object, the model's own names come first. */
static int by_object(const void *a, const void *b)
{
    const struct store_entry *x = *(struct store_entry *const *)a,
                             *y = *(struct store_entry *const *)b;
    const int level = is_repeated(x->name) - is_repeated(y->name);
    if (x->address != y->address) return x->address < y->address ? -1 : 1;
    return level ? level : strcmp(x->name, y->name);
}

/* Objects with several names: the first name has the data, the others are aliases. */
static enum wsc_err find_aliases(struct store_file *f)
{
    struct store_entry **sorted;
    int n = 0;
    TRY_NEW(sorted, WSC_MEM_STORE, f->n_entries);
    for (int i = 0; i < f->n_entries; i++)
        if (!f->entry[i]->is_constant) sorted[n++] = f->entry[i];
    if (n) qsort(sorted, (size_t)n, sizeof *sorted, by_object);
    for (int i = 1; i < n; i++) {
        struct store_entry *before = sorted[i - 1];
        if (sorted[i]->address == before->address)
            sorted[i]->alias_of = before->alias_of ? before->alias_of : before;
    }
    wsc_free(sorted);
    return WSC_OK;
}

/* ---- since version 0.5 ----------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* A number or truth value of a state dict. */
static enum wsc_err add_scalar(struct listing *l, const char *key, const json_t *what)
{
    const json_t *value = json_object_get(what, "scalar_value");
    struct constant c = {.whole = !json_is_real(value)};
    if (!json_is_number(value) && !json_is_boolean(value)) return WSC_OK;
    c.value = json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
    return add_constant(l->f, key, &c);
}

/* A dataset without fill value and elements was never written: it is treated as missing. */
static enum wsc_err add_full_tensor(struct listing *l, const char *key, const json_t *what)
{
    const json_t *shape = json_object_get(what, "shape"),
                 *value = json_object_get(what, "fill_value");
    struct constant c = {.value = json_number_value(value), .n_dims = (int)json_array_size(shape)};
    const bool truth = json_is_boolean(value);
    c.whole = truth || !strncmp(text_of(what, "dtype"), "torch.int", sizeof "torch.int" - 1);
    if (!json_is_number(value) && !(truth && is_mask(key))) return WSC_OK;
    if (truth) c.value = json_is_true(value);
    if (!json_is_array(shape) || json_array_size(shape) > STORE_MAX_DIMS)
        return WSC_RAISE(WSC_FORMAT, "%s: %s has no shape of rank 0 to %d", l->f->path, key,
                         STORE_MAX_DIMS);
    for (int d = 0; d < c.n_dims; d++)
        c.shape[d] = json_integer_value(json_array_get(shape, (size_t)d));
    return add_constant(l->f, key, &c);
}

/* Add a second name of a tensor or constant, with the link of the first one. */
static enum wsc_err add_alias(struct listing *l, const char *key, const json_t *what)
{
    const char *name = text_of(what, "key");
    struct store_entry *target = store_find(l->f, name), *e = NULL;
    if (!target) return WSC_OK; /* the object is not read */
    TRY(store_add(l->f, key, &e));
    e->alias_of = target->alias_of ? target->alias_of : target;
    e->info = target->info;
    e->is_constant = target->is_constant;
    e->value = target->value;
    e->link = wsc_strdup(WSC_MEM_STORE, store_link_name(target));
    return e->link ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "name of dataset");
}

/* Add one of the values of @p key; the value of a tensor may be nested. */
static enum wsc_err add_value(struct listing *l, const char *key, const json_t *what)
{
    const char *type = text_of(what, "__TYPE__");
    if (store_find(l->f, key)) return WSC_OK;
    if (l->links) return strcmp(type, "LinkedObject") ? WSC_OK : add_alias(l, key, what);
    if (!strcmp(type, "ScalarSerializer")) return add_scalar(l, key, what);
    if (!strcmp(type, "DeferredFullTensor")) return add_full_tensor(l, key, what);
    return WSC_OK;
}

/* The JSON text of an attribute describes the values of one key. */
static enum wsc_err add_described(struct listing *l, const char *key, const char *attribute)
{
    char *text = NULL;
    const char *name;
    json_t *member;
    enum wsc_err rc = WSC_OK;
    TRY(store_h5_get_text(l->f->file, l->f->path, attribute, &text));
    json_t *root = json_loads(text, 0, NULL);
    wsc_free(text);
    if (!json_is_object(root)) {
        json_decref(root);
        return WSC_RAISE(WSC_FORMAT, "%s: attribute %s is no JSON object", l->f->path, attribute);
    }
    json_object_foreach(root, name, member)
    {
        if (!rc && wsc_ends_with(name, STORE_META_SUFFIX)) rc = add_value(l, key, member);
    }
    json_decref(root);
    return rc;
}

static herr_t visit_attribute(hid_t root, const char *name, const H5A_info_t *info, void *ctx)
{
    struct listing *l = ctx;
    (void)root, (void)info;
    const int n = (int)strlen(name) - (int)strlen(STORE_META_SUFFIX);
    if (n == 0 || !wsc_ends_with(name, STORE_META_SUFFIX)) return 0;
    char *key = wsc_asprintf(WSC_MEM_STORE, "%.*s", n, name);
    l->rc = key ? WSC_OK : WSC_NOMEM;
    if (key && !strchr(key, '/') && !store_find(l->f, key)) l->rc = add_described(l, key, name);
    wsc_free(key);
    return l->rc ? -1 : 0;
}

/* Values come first, because a second name may be listed before the first one. */
static enum wsc_err list_attributes(struct listing *l)
{
    for (int pass = 0; pass < 2; pass++) {
        hsize_t from = 0;
        l->links = pass == 1;
        if (H5Aiterate2(l->f->file, H5_INDEX_NAME, H5_ITER_NATIVE, &from, visit_attribute, l) >= 0)
            continue;
        if (!l->rc) return H5_RAISE(WSC_FORMAT, "%s: its attributes are unreadable", l->f->path);
        (void)H5Eclear2(H5E_DEFAULT);
        return l->rc;
    }
    return WSC_OK;
}

/* In the order of the file: for another one HDF5 1.10 makes a table, which it frees wrongly when
 * the file is damaged. */
enum wsc_err store_list(struct store_file *f)
{
    struct listing l = {.f = f};
    bool present = false;
    TRY(store_h5_get_f64(f->file, f->path, STORE_ATTR_LAYOUT, &l.layout, &present));
    if (H5Literate(f->file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit_link, &l) < 0) {
        if (!l.rc) return H5_RAISE(WSC_FORMAT, "%s: its contents cannot be listed", f->path);
        (void)H5Eclear2(H5E_DEFAULT);
        return l.rc;
    }
    TRY(find_aliases(f));
    return list_attributes(&l);
}
