// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"

#include <wsc/store.h>

#include <unistd.h>

void fuzz_samples(const uint8_t *bytes, size_t n)
{
    enum { MOST = 1 << 16 };
    static int32_t x[MOST];
    struct store_samples *s = NULL;
    char path[FUZZ_PATH_BYTES];
    int fd = fuzz_as_file(bytes, n, path);
    if (store_samples_open(&s, path, 16)) {
        fuzz_check_message();
    } else {
        const int64_t n_samples = store_samples_n(s), T = store_samples_T(s);
        fuzz_check(n_samples > 0 && T > 0, "samples of no size");
        if (T * store_samples_rows(s) <= MOST)
            for (int64_t i = 0; i < n_samples && i < 4; i++)
                if (store_samples_read(s, i, x)) fuzz_check_message();
    }
    store_samples_close(&s);
    (void)close(fd);
    fuzz_check_memory(WSC_MEM_STORE);
}

static enum wsc_err read_some(void *ctx, const struct store_item *item)
{
    float x[4];
    int64_t n = 1;
    for (int d = 0; d < item->n_dims && d < 2; d++)
        n *= item->shape[d] < 4 ? item->shape[d] : 4;
    if (n > 0 && store_read(ctx, item->name, STORE_F32, 0, n < 4 ? n : 4, x)) fuzz_check_message();
    return WSC_OK;
}

void fuzz_checkpoint(const uint8_t *bytes, size_t n)
{
    struct store_file *f = NULL;
    char path[FUZZ_PATH_BYTES], *text = NULL;
    int fd = fuzz_as_file(bytes, n, path);
    if (store_check(path)) fuzz_check_message();
    if (store_open(&f, path)) {
        fuzz_check_message();
    } else {
        (void)!store_visit(f, read_some, f);
        if (store_has_text(f, "params") && store_get_text(f, "params", &text)) fuzz_check_message();
        wsc_free(text);
    }
    store_close(&f);
    (void)close(fd);
    fuzz_check_memory(WSC_MEM_STORE);
}
