// SPDX-License-Identifier: Apache-2.0
/* Every input that fuzzing has kept, through its target; an abort or a signal is the failure. */
#include "../support/test.h"
#include "fuzz.h"

#include <dirent.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SANITIZE_ADDRESS__
#    include <sanitizer/lsan_interface.h>
#endif

enum { MOST_BYTES = 1 << 20 };

static void replay_file(const struct fuzz_target *t, const char *path)
{
    static uint8_t bytes[MOST_BYTES];
    FILE *f = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    const size_t n = fread(bytes, 1, MOST_BYTES, f);
    (void)fclose(f);
    t->run(bytes, n);
}

static int replay_folder(const struct fuzz_target *t)
{
    char path[600];
    int n = 0;
    (void)snprintf(path, sizeof path, "tests/fuzz/corpus/%s", t->name);
    DIR *folder = opendir(path);
    if (!folder) return 0;
    for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
        if (e->d_name[0] == '.') continue;
        (void)snprintf(path, sizeof path, "tests/fuzz/corpus/%s/%s", t->name, e->d_name);
        replay_file(t, path);
        n++;
    }
    (void)closedir(folder);
    return n;
}

/* HDF5 itself loses blocks when it refuses a damaged file. */
static void library_may_leak(bool may)
{
    if (may) (void)H5garbage_collect();
#ifdef __SANITIZE_ADDRESS__
    if (may)
        __lsan_disable();
    else
        __lsan_enable();
#endif
}

static void replay(const char *name)
{
    const struct fuzz_target *t = fuzz_target;
    while (strcmp(t->name, name) != 0)
        t++;
    library_may_leak(true);
    const int n = replay_folder(t);
    library_may_leak(false);
    if (n < 5) (void)fprintf(stderr, "%s: %d inputs\n", name, n);
    CU_ASSERT(n >= 5);
}

#define XX(name, what)                                                                             \
    TEST(fuzz, every_kept_input_of_##name)                                                         \
    {                                                                                              \
        replay(#name);                                                                             \
    }
FUZZ_TARGET_MAP(XX)
#undef XX
