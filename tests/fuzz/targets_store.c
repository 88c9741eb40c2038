// SPDX-License-Identifier: Apache-2.0
/* HDF5 wants files with a name. */
#include "fuzz.h"

#include <wsc/store.h>

static bool read_samples(struct store_samples *s)
{
    enum { MOST = 1 << 16 };
    static int32_t x[MOST];
    const int64_t n_samples = store_samples_n(s), T = store_samples_T(s);
    fuzz_check(n_samples > 0 && T > 0, "samples of no size");
    if (T * store_samples_rows(s) > MOST) return false;
    for (int64_t i = 0; i < n_samples && i < 4; i++)
        if (!fuzz_taken(store_samples_read(s, i, x))) return false;
    return true;
}

bool fuzz_samples(const uint8_t *bytes, size_t n)
{
    struct store_samples *s = NULL;
    const char *path = fuzz_put("data.h5", bytes, n);
    enum wsc_err rc = store_probe(path);
    if (!rc) rc = store_samples_open(&s, path, 16);
    const bool taken = fuzz_taken(rc) && read_samples(s);
    store_samples_close(&s);
    fuzz_check_memory(WSC_MEM_STORE);
    return taken;
}

/* As memoryx_load_mask() and memoryx_load_mask_step() ask: the mask of a tensor in either layout,
 * counters of all releases. */
static void read_mask(struct store_file *f, const struct store_item *item)
{
    const struct store_tensor tensor = {item->name, "", item->n_dims, item->shape, ""};
    unsigned char truth[4];
    char name[STORE_NAME_BYTES];
    if (item->n_dims < 1 || item->n_dims > 2 || !store_find_mask(f, &tensor, name)) return;
    if (!fuzz_taken(store_check_shape(f, name, &tensor))) return;
    int64_t n = 1;
    for (int d = 0; d < item->n_dims; d++)
        n *= item->shape[d] < 4 ? item->shape[d] : 4;
    if (n > 0) (void)fuzz_taken(store_read(f, name, STORE_BOOL, 0, n < 4 ? n : 4, truth));
}

static void read_mask_steps(struct store_file *f)
{
    static const char *const counter[] = {"sparsity.0.step", "sparsity.step",
                                          "optimizer.sparsity.step"};
    int64_t step;
    for (size_t i = 0; i < sizeof counter / sizeof *counter; i++) {
        if (!store_has(f, counter[i])) continue;
        if (fuzz_taken(store_read_i64(f, counter[i], 0, STORE_LAST_STEP, &step)))
            fuzz_check(step >= 0 && step <= STORE_LAST_STEP, "a counter of masks out of range");
    }
}

static enum wsc_err read_some(void *ctx, const struct store_item *item)
{
    float x[4];
    unsigned char truth[4];
    int64_t n = 1;
    for (int d = 0; d < item->n_dims && d < 2; d++)
        n *= item->shape[d] < 4 ? item->shape[d] : 4;
    if (n > 0) (void)fuzz_taken(store_read(ctx, item->name, STORE_F32, 0, n < 4 ? n : 4, x));
    if (n > 0) (void)fuzz_taken(store_read(ctx, item->name, STORE_BOOL, 0, n < 4 ? n : 4, truth));
    read_mask(ctx, item);
    return WSC_OK;
}

static void read_checkpoint(struct store_file *f)
{
    char *text = NULL;
    (void)!store_visit(f, read_some, f);
    read_mask_steps(f);
    if (store_has_text(f, "params")) (void)fuzz_taken(store_get_text(f, "params", &text));
    wsc_free(text);
}

bool fuzz_checkpoint(const uint8_t *bytes, size_t n)
{
    struct store_file *f = NULL;
    const char *path = fuzz_put("checkpoint.mdl", bytes, n);
    const bool sound = fuzz_taken(store_check(path));
    if (fuzz_taken(store_open(&f, path))) read_checkpoint(f);
    store_close(&f);
    fuzz_check_memory(WSC_MEM_STORE);
    return sound;
}
