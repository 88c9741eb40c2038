// SPDX-License-Identifier: Apache-2.0
/* Masks in checkpoints: written and read by other numbers of shards, read in the layouts of all
 * releases (buffers beside tensors, states of an optimizer of masks, NaN in pruned weights), and
 * files that are wrong. */
#include "../../support/test.h"
#include "masks_case.h"

#include <wsc/store.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNTED = 37 };
#define RIGL   "sparsity={algorithm: rigl, sparsity: 0.75, update: {freq: 10}}"
#define STATIC "sparsity={sparsity: 0.9, init_method: topk}"

static const char *path_of(const char *name)
{
    static char path[300];
    (void)snprintf(path, sizeof path, "%s/%s.mdl", test_tmpdir(), name);
    return path;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* As a run writes it. */
static void save(const struct masks_case *m, const char *path)
{
    const struct store_group alone = {.size = 1};
    struct store_file *file = NULL;
    T_OK(store_create(&file, path, &alone));
    T_OK(memoryx_define(m->cluster->memoryx[0], file));
    T_OK(store_describe(file));
    for (int k = 0; k < masks_n_shards(m); k++)
        T_OK(memoryx_save(m->cluster->memoryx[k], file));
    T_OK(store_commit(&file));
}

enum layout { BESIDE, STATES, NAN_WEIGHTS, NONE, FLOATS, OTHER_SHAPE, TWO_COUNTERS };

static void mask_name(const struct model_tensor *t, enum layout layout, char name[192])
{
    const bool states = layout == STATES;
    (void)snprintf(name, 192, "%s%s%s", states ? "optimizer.sparsity.state." : "", t->name,
                   states ? ".mask" : "_mask");
}

static bool has_masks(enum layout layout)
{
    return layout != NAN_WEIGHTS && layout != NONE;
}

static void define_all(struct store_file *file, const struct masks_case *m, enum layout layout)
{
    const struct model *model = m->cluster->model;
    for (int i = 0; i < model->n_tensors; i++) {
        const struct model_tensor *t = &model->tensor[i];
        const int64_t other[2] = {t->shape[1], t->shape[0] + 1};
        char name[192];
        T_OK(store_define(file, t->name, STORE_F32, t->n_dims, t->shape));
        if (!model_sparsity_of(model, i) || !has_masks(layout)) continue;
        mask_name(t, layout, name);
        T_OK(store_define(file, name, layout == FLOATS ? STORE_F32 : STORE_BOOL, t->n_dims,
                          layout == OTHER_SHAPE ? other : t->shape));
    }
    const char *const counter[] = {layout == STATES ? "optimizer.sparsity.step" : "sparsity.step",
                                   "sparsity.0.step"};
    for (int i = 0; i < (layout == TWO_COUNTERS ? 2 : 1); i++)
        T_OK(store_define(file, counter[i], STORE_I64, 0, NULL));
}

static void write_tensor(struct store_file *file, const struct masks_case *m, int i,
                         enum layout layout)
{
    static unsigned char mask[2 * MASKS_MOST];
    static float w[2 * MASKS_MOST];
    const struct model_tensor *t = &m->cluster->model->tensor[i];
    const bool sparse = model_sparsity_of(m->cluster->model, i) != NULL;
    char name[192];
    memset(mask, 0, sizeof mask);
    masks_gather(m, i, sparse ? mask : NULL, w);
    for (int64_t e = 0; sparse && layout == NAN_WEIGHTS && e < t->n_elems; e++)
        if (!mask[e]) w[e] = NAN;
    T_OK(store_write(file, t->name, 0, t->n_elems, w));
    if (!sparse || !has_masks(layout)) return;
    mask_name(t, layout, name);
    const int64_t n = layout == OTHER_SHAPE ? t->shape[1] * (t->shape[0] + 1) : t->n_elems;
    T_OK(store_write(file, name, 0, n, layout == FLOATS ? (const void *)w : (const void *)mask));
}

/* A file of another program with the weights and masks of @p m. */
static void write_layout(const struct masks_case *m, enum layout layout, const char *path)
{
    const struct store_group alone = {.size = 1};
    const int64_t counted[2] = {COUNTED, COUNTED + 1};
    struct store_file *file = NULL;
    T_OK(store_create(&file, path, &alone));
    define_all(file, m, layout);
    for (int i = 0; i < m->cluster->model->n_tensors; i++)
        write_tensor(file, m, i, layout);
    T_OK(store_write(file, layout == STATES ? "optimizer.sparsity.step" : "sparsity.step", 0, 1,
                     &counted[0]));
    if (layout == TWO_COUNTERS) T_OK(store_write(file, "sparsity.0.step", 0, 1, &counted[1]));
    T_OK(store_commit(&file));
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum wsc_err load(const struct masks_case *m, const char *path, bool strict)
{
    const struct memoryx_load what = {.weights = true, .masks = true, .strict = strict};
    struct store_file *file = NULL;
    enum wsc_err rc = store_open(&file, path);
    for (int k = 0; k < masks_n_shards(m) && !rc; k++)
        rc = memoryx_load(m->cluster->memoryx[k], file, &what);
    store_close(&file);
    return rc;
}

/* Masks, and weights as the first mask pass leaves them. */
static void check_same(const struct masks_case *a, const struct masks_case *b)
{
    static unsigned char mask[2][MASKS_MOST];
    static float w[2][MASKS_MOST];
    for (int i = 0; i < a->cluster->model->n_tensors; i++) {
        const size_t n = (size_t)a->cluster->model->tensor[i].n_elems;
        const bool sparse = model_sparsity_of(a->cluster->model, i) != NULL;
        masks_gather(a, i, sparse ? mask[0] : NULL, w[0]);
        masks_gather(b, i, sparse ? mask[1] : NULL, w[1]);
        CU_ASSERT(!sparse || !memcmp(mask[0], mask[1], n));
        CU_ASSERT(!memcmp(w[0], w[1], n * sizeof(float)));
    }
}

static void count(const struct masks_case *m)
{
    for (int k = 0; k < masks_n_shards(m); k++)
        m->cluster->memoryx[k]->mask_step = COUNTED;
}

TEST(memoryx_masks_saved, what_is_written_is_read_by_any_number_of_shards)
{
    static const int shards[] = {1, 3, 4};
    struct masks_case from;
    masks_make(&from, 3, RIGL);
    T_OK(cluster_make_masks(from.cluster));
    count(&from);
    save(&from, path_of("own"));
    T_OK(store_check(path_of("own")));
    for (size_t n = 0; n < sizeof shards / sizeof *shards; n++) {
        struct masks_case to;
        masks_make(&to, shards[n], RIGL);
        T_OK(load(&to, path_of("own"), true));
        T_OK(cluster_make_masks(to.cluster));
        check_same(&from, &to);
        T_EQ(to.cluster->memoryx[0]->mask_step, COUNTED);
        masks_unmake(&to);
    }
    masks_unmake(&from);
}

/* The first masks of the reader would be others: its seed differs. */
TEST(memoryx_masks_saved, layouts_of_all_releases_are_read)
{
    static const enum layout layouts[] = {BESIDE, STATES, NAN_WEIGHTS};
    struct masks_case from;
    masks_make(&from, 2, "sparsity={algorithm: set, sparsity: 0.75, seed: 5}");
    T_OK(cluster_make_masks(from.cluster));
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
        struct masks_case to;
        write_layout(&from, layouts[k], path_of("layout"));
        masks_make(&to, 3, RIGL);
        T_OK(load(&to, path_of("layout"), true));
        T_OK(cluster_make_masks(to.cluster));
        check_same(&from, &to);
        T_EQ(to.cluster->memoryx[2]->mask_step, COUNTED);
        masks_unmake(&to);
    }
    masks_unmake(&from);
}

/* Tensor @p i of @p to is that of @p dense where its mask has ones. */
static void check_masked(const struct masks_case *dense, const struct masks_case *to, int i)
{
    static float before[MASKS_MOST], after[MASKS_MOST];
    static unsigned char mask[MASKS_MOST];
    int64_t kept = 0;
    masks_gather(dense, i, NULL, before);
    masks_gather(to, i, mask, after);
    for (int64_t e = 0; e < to->cluster->model->tensor[i].n_elems; e++) {
        kept += mask[e];
        CU_ASSERT(after[e] == (mask[e] ? before[e] : 0));
    }
    T_EQ(kept, model_kept(to->cluster->model, i, 0));
}

/* As in cstorch: an error, unless strict loading is off; then masks are made of what was loaded. */
TEST(memoryx_masks_saved, without_masks_new_ones_are_made_on_request)
{
    struct masks_case dense, to;
    masks_make(&dense, 1, "sparsity=null");
    write_layout(&dense, NONE, path_of("none"));
    masks_make(&to, 2, STATIC);
    CU_ASSERT_EQUAL(load(&to, path_of("none"), true), WSC_FORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "it has no mask of model.transformer"));
    T_OK(load(&to, path_of("none"), false));
    T_OK(cluster_make_masks(to.cluster));
    for (int i = 0; i < to.cluster->model->n_tensors; i++)
        if (model_sparsity_of(to.cluster->model, i)) check_masked(&dense, &to, i);
    masks_unmake(&dense);
    masks_unmake(&to);
}

/* A dense training takes the weights of a sparse one: zeros are trained. */
TEST(memoryx_masks_saved, dense_weights_come_from_sparse_ones)
{
    struct masks_case from, to;
    static float a[MASKS_MOST], b[MASKS_MOST];
    masks_make(&from, 1, STATIC);
    T_OK(cluster_make_masks(from.cluster));
    save(&from, path_of("sparse"));
    masks_make(&to, 2, "sparsity=null");
    T_OK(load(&to, path_of("sparse"), true));
    T_OK(cluster_make_masks(to.cluster));
    for (int i = 0; i < to.cluster->model->n_tensors; i++) {
        masks_gather(&from, i, NULL, a);
        masks_gather(&to, i, NULL, b);
        CU_ASSERT(!memcmp(a, b, (size_t)to.cluster->model->tensor[i].n_elems * sizeof *a));
    }
    masks_unmake(&from);
    masks_unmake(&to);
}

TEST(memoryx_masks_saved, wrong_masks_are_errors)
{
    static const struct {
        enum layout layout;
        const char *text;
    } wrong[] = {{FLOATS, "holds float32, expected bool"},
                 {OTHER_SHAPE, "has shape"},
                 {TWO_COUNTERS, "another counter of masks"}};
    struct masks_case from;
    masks_make(&from, 1, STATIC);
    T_OK(cluster_make_masks(from.cluster));
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        struct masks_case to;
        write_layout(&from, wrong[k].layout, path_of("wrong"));
        masks_make(&to, 2, STATIC);
        CU_ASSERT_EQUAL(load(&to, path_of("wrong"), true), WSC_FORMAT);
        CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), wrong[k].text));
        masks_unmake(&to);
    }
    masks_unmake(&from);
}
