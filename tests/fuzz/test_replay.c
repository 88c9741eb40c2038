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

static bool replay_file(const struct fuzz_target *t, const char *path)
{
    static uint8_t bytes[MOST_BYTES];
    FILE *f = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    const size_t n = fread(bytes, 1, MOST_BYTES, f);
    (void)fclose(f);
    return t->run(bytes, n);
}

struct counts {
    int taken, refused;
};

static struct counts replay_folder(const struct fuzz_target *t)
{
    char path[600];
    struct counts n = {0};
    (void)snprintf(path, sizeof path, "tests/fuzz/corpus/%s", t->name);
    DIR *folder = opendir(path);
    if (!folder) return n;
    for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
        if (e->d_name[0] == '.') continue;
        (void)snprintf(path, sizeof path, "tests/fuzz/corpus/%s/%s", t->name, e->d_name);
        if (replay_file(t, path))
            n.taken++;
        else
            n.refused++;
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

/* A target that takes nothing does not get far, whatever it is fed with. */
static void replay(const char *name)
{
    const struct fuzz_target *t = fuzz_target;
    while (strcmp(t->name, name) != 0)
        t++;
    library_may_leak(true);
    const struct counts n = replay_folder(t);
    library_may_leak(false);
    const bool good = n.taken > 0 && n.taken + n.refused >= 5;
    if (!good) (void)fprintf(stderr, "%s: %d taken, %d refused\n", name, n.taken, n.refused);
    CU_ASSERT(good);
}

#define XX(name, what)                                                                             \
    TEST(fuzz, every_kept_input_of_##name)                                                         \
    {                                                                                              \
        replay(#name);                                                                             \
    }
FUZZ_TARGET_MAP(XX)
#undef XX
