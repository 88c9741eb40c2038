// SPDX-License-Identifier: Apache-2.0
/* Files that were damaged on their way: every one is refused, or holds what was written. */
#include "../../support/case_files.h"
#include "../../support/test.h"

#include <wsc/rng.h>
#include <wsc/store.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FEW = 150,
    MANY = 500,
    TENSORS = 6,
    ELEMS = 700,
    SAMPLES = 24,
    T = 32,
    MOST_BYTES = 1 << 17
};

static uint64_t draw(uint64_t what, uint64_t i, uint64_t n)
{
    return wsc_rng_u64(11, wsc_rng_stream(WSC_RNG_TEST, what), i) % (n ? n : 1);
}

static void tensor_name(char name[32], int i)
{
    (void)snprintf(name, 32, "model.layers.%d.weight", i);
}

/* A mask with a third of the elements, others for each tensor. */
static void fill_mask(unsigned char mask[ELEMS], int i)
{
    for (int k = 0; k < ELEMS; k++)
        mask[k] = draw(7, (uint64_t)i * ELEMS + (uint64_t)k, 3) == 0;
}

/* Tensors of one shape, so that any of them could stand for any other, and their masks. */
static enum wsc_err write_checkpoint(const char *path)
{
    struct store_file *f = NULL;
    char name[32], masked[40];
    float w[ELEMS];
    unsigned char mask[ELEMS];
    TRY(store_create(&f, path, NULL));
    for (int i = 0; i < TENSORS; i++) {
        tensor_name(name, i);
        TRY(store_define(f, name, STORE_F32, 1, (const int64_t[]){ELEMS}));
        test_fill(w, ELEMS, (uint64_t)i);
        TRY(store_write(f, name, 0, ELEMS, w));
        (void)snprintf(masked, sizeof masked, "%s_mask", name);
        TRY(store_define(f, masked, STORE_BOOL, 1, (const int64_t[]){ELEMS}));
        fill_mask(mask, i);
        TRY(store_write(f, masked, 0, ELEMS, mask));
    }
    TRY(store_commit(&f));
    return WSC_OK;
}

static int32_t token(int i, int j)
{
    return (int32_t)draw((uint64_t)i, (uint64_t)j, 50000);
}

static enum wsc_err write_samples(const char *path)
{
    struct store_samples_writer *w = NULL;
    int32_t x[3 * T];
    const struct store_samples_shape shape = {.n = SAMPLES, .T = T};
    TRY(store_samples_create(&w, path, &shape));
    for (int i = 0; i < SAMPLES; i++) {
        for (int j = 0; j < 3 * T; j++)
            x[j] = token(i, j);
        TRY(store_samples_append(w, x, 1));
    }
    return store_samples_finish(&w);
}

/* What reading a file came to, as the exit status of a process of its own. */
enum outcome { SAME, REFUSED, DIFFERENT };

static enum outcome read_mask(struct store_file *f, const char *name, int i)
{
    unsigned char mask[ELEMS], y[ELEMS];
    char masked[STORE_NAME_BYTES];
    const struct store_tensor tensor = {name, "", 1, (const int64_t[]){ELEMS}, ""};
    if (!store_find_mask(f, &tensor, masked)) return DIFFERENT;
    if (store_read(f, masked, STORE_BOOL, 0, ELEMS, y)) return REFUSED;
    fill_mask(mask, i);
    return memcmp(mask, y, sizeof mask) == 0 ? SAME : DIFFERENT;
}

static enum outcome read_tensor(struct store_file *f, int i)
{
    char name[32];
    float w[ELEMS], x[ELEMS];
    int n_dims;
    int64_t shape[2];
    tensor_name(name, i);
    if (!store_has(f, name)) return DIFFERENT;
    if (store_shape(f, name, &n_dims, shape)) return REFUSED;
    if (n_dims != 1 || shape[0] != ELEMS) return DIFFERENT;
    if (store_read(f, name, STORE_F32, 0, ELEMS, x)) return REFUSED;
    test_fill(w, ELEMS, (uint64_t)i);
    for (int k = 0; k < ELEMS; k++)
        if (w[k] != x[k]) return DIFFERENT;
    return read_mask(f, name, i);
}

static enum outcome read_checkpoint(const char *path)
{
    struct store_file *f = NULL;
    enum outcome all = SAME;
    if (store_check(path) || store_open(&f, path)) return REFUSED;
    for (int i = 0; i < TENSORS && all == SAME; i++)
        all = read_tensor(f, i);
    store_close(&f);
    return all;
}

static enum outcome read_samples(const char *path)
{
    struct store_samples *s = NULL;
    int32_t x[3 * T];
    if (store_samples_open(&s, path, 0)) return REFUSED;
    if (store_samples_n(s) != SAMPLES || store_samples_T(s) != T || store_samples_rows(s) != 3)
        return DIFFERENT;
    for (int i = 0; i < SAMPLES; i++) {
        if (store_samples_read(s, i, x)) return REFUSED;
        for (int j = 0; j < 3 * T; j++)
            if (x[j] != token(i, j)) return DIFFERENT;
    }
    store_samples_close(&s);
    return SAME;
}

/* A process that hangs or crashes has a signal instead of a status. */
static int outcome_of(enum outcome (*reader)(const char *path), const char *path)
{
    int status = -1;
    test_more_time(); /* each look is two processes */
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        test_limit(20);
        _exit((int)reader(path));
    }
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* One to three bits turned, or the end cut off. */
static long damage(unsigned char *bytes, long n, uint64_t i)
{
    if (i % 5 == 0) return (long)draw(1, i, (uint64_t)n);
    for (uint64_t k = 0; k <= i % 3; k++)
        bytes[draw(2, 4 * i + k, (uint64_t)n)] ^= (unsigned char)(1U << draw(3, 4 * i + k, 8));
    return n;
}

static long read_bytes(const char *path, unsigned char *bytes)
{
    FILE *f = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    const long n = (long)fread(bytes, 1, MOST_BYTES, f);
    (void)fclose(f);
    CU_ASSERT_FATAL(n > 0 && n < MOST_BYTES);
    return n;
}

static void write_bytes(const char *path, const unsigned char *bytes, long n)
{
    FILE *f = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, (size_t)n, f), (size_t)n);
    (void)fclose(f);
}

/* A look takes a tenth of a second and more where processes start slowly: `make test-faults` takes
 * more of them. */
static void damage_many(const char *path, enum outcome (*reader)(const char *path))
{
    static unsigned char whole[MOST_BYTES], bytes[MOST_BYTES];
    const bool are_many = getenv("WSC_FAULTS");
    const int n_files = are_many ? MANY : FEW;
    const long n = read_bytes(path, whole);
    int count[3] = {0};
    T_EQ(outcome_of(reader, path), SAME);
    for (uint64_t i = 0; i < (uint64_t)n_files; i++) {
        memcpy(bytes, whole, (size_t)n);
        write_bytes(path, bytes, damage(bytes, n, i));
        const int outcome = outcome_of(reader, path);
        if (outcome >= 0 && outcome < 3) count[outcome]++;
        if (outcome == SAME || outcome == REFUSED) continue;
        (void)fprintf(stderr, "%s, damage %d: %d\n", path, (int)i, outcome);
        CU_FAIL("damage was not found");
    }
    if (are_many)
        printf("%s: %d damaged files: %d refused, %d read as written, %d otherwise\n",
               strrchr(path, '/') + 1, n_files, count[REFUSED], count[SAME], count[DIFFERENT]);
    CU_ASSERT(count[REFUSED] > n_files / 2);
    T_EQ(count[DIFFERENT], 0);
}

TEST(damage, checkpoints)
{
    T_OK(write_checkpoint(case_path("damaged.mdl")));
    damage_many(case_path("damaged.mdl"), read_checkpoint);
}

TEST(damage, datasets)
{
    T_OK(write_samples(case_path("damaged.h5")));
    damage_many(case_path("damaged.h5"), read_samples);
}
