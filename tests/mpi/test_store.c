// SPDX-License-Identifier: Apache-2.0
#include "../support/test.h"

#include <wsc/mem.h>
#include <wsc/store.h>

#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 37, COLUMNS = 101, SIZE = ROWS * COLUMNS, LAYERS = 12 };

static const MPI_Comm world = MPI_COMM_WORLD;

static enum wsc_err max_of_all(void *ctx, int64_t *x)
{
    (void)ctx;
    return MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_INT64_T, MPI_MAX, world) ? WSC_MPI : WSC_OK;
}

static enum wsc_err sum_of_all(void *ctx, uint64_t *x, int n)
{
    (void)ctx;
    return MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_UINT64_T, MPI_SUM, world) ? WSC_MPI : WSC_OK;
}

static struct store_group group_of_all(void)
{
    const void *communicator = &world;
    struct store_group g = {.communicator = communicator, .max = max_of_all, .sum = sum_of_all};
    (void)MPI_Comm_rank(world, &g.rank);
    (void)MPI_Comm_size(world, &g.size);
    return g;
}

/* The same path on every rank, in rank 0's folder. */
static void shared_path(char path[256], const char *name)
{
    int rank;
    (void)MPI_Comm_rank(world, &rank);
    if (rank == 0) (void)snprintf(path, 256, "%s/%s", test_tmpdir(), name);
    (void)MPI_Bcast(path, 256, MPI_CHAR, 0, world);
}

static void all_agree(bool ok)
{
    int mine = ok, all = 0;
    (void)MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, world);
    CU_ASSERT_FATAL(all);
}

static void name_of(char name[32], int layer)
{
    (void)snprintf(name, 32, "model.layers.%d.weight", layer);
}

/* This rank's slice of [0, SIZE), not aligned to rows; some are empty when there are many ranks. */
static void slice_of(const struct store_group *g, int64_t *first, int64_t *n)
{
    *first = (int64_t)SIZE * g->rank / g->size;
    *n = (int64_t)SIZE * (g->rank + 1) / g->size - *first;
}

static enum wsc_err write_all(const char *path, const struct store_group *g)
{
    struct store_file *f = NULL;
    char name[32];
    float *w = wsc_alloc(WSC_MEM_TEST, SIZE, sizeof *w);
    int64_t first, n, step = 7;
    if (!w) return WSC_NOMEM;
    slice_of(g, &first, &n);
    TRY(store_create(&f, path, g));
    TRY(store_set_text(f, "params", "model:\n  hidden_size: 8\n"));
    for (int l = 0; l < LAYERS; l++) {
        name_of(name, l);
        TRY(store_define(f, name, STORE_F32, 2, (const int64_t[]){ROWS, COLUMNS}));
    }
    TRY(store_define(f, "global_step", STORE_I64, 1, (const int64_t[]){1}));
    TRY(store_link(f, "model.layers.0.weight", "lm_head"));
    for (int l = LAYERS - 1; l >= 0; l--) {
        name_of(name, l);
        test_fill(w, SIZE, (uint64_t)l);
        TRY(store_write(f, name, first, n, w + first));
    }
    if (g->rank == g->size - 1) TRY(store_write(f, "global_step", 0, 1, &step));
    wsc_free(w);
    TRY(store_commit(&f));
    return WSC_OK;
}

static enum wsc_err read_all(const char *path, bool *same)
{
    struct store_file *f = NULL;
    char name[32];
    static float w[SIZE], x[SIZE];
    int64_t step = 0;
    TRY(store_check(path));
    TRY(store_open(&f, path));
    *same = store_has(f, "lm_head");
    for (int l = 0; l < LAYERS; l++) {
        name_of(name, l);
        test_fill(w, SIZE, (uint64_t)l);
        TRY(store_read(f, name, STORE_F32, 0, SIZE, x));
        for (int i = 0; i < SIZE; i++)
            *same = *same && w[i] == x[i];
    }
    TRY(store_read(f, "global_step", STORE_I64, 0, 1, &step));
    *same = *same && step == 7;
    store_close(&f);
    return WSC_OK;
}

TEST(store_mpi, slices_of_all_ranks_make_one_file)
{
    char path[256];
    bool same = false;
    struct store_group g = group_of_all();
    shared_path(path, "parallel.mdl");
    enum wsc_err rc = write_all(path, &g);
    if (rc) (void)fprintf(stderr, "%s\n", wsc_err_trace());
    all_agree(rc == WSC_OK);
    rc = read_all(path, &same);
    if (rc) (void)fprintf(stderr, "%s\n", wsc_err_trace());
    all_agree(rc == WSC_OK && same);
}

/* The last rank has no memory for its text: nobody waits, and nobody takes the file for complete.
 */
TEST(store_mpi, a_text_that_one_rank_could_not_make_fails_on_all)
{
    char path[256];
    struct store_group g = group_of_all();
    struct store_file *f = NULL;
    shared_path(path, "text.mdl");
    all_agree(store_create(&f, path, &g) == WSC_OK);
    const bool last = g.rank == g.size - 1;
    all_agree(store_set_text(f, "params", last ? NULL : "a: 1") == WSC_NOMEM);
    store_close(&f);
    all_agree(access(path, F_OK) != 0);
}

/* The checksum must not depend on how many ranks wrote the file. */
TEST(store_mpi, file_of_one_rank_holds_the_same)
{
    char path[256];
    bool same = false;
    struct store_group alone = {.size = 1};
    shared_path(path, "alone.mdl");
    int rank;
    (void)MPI_Comm_rank(world, &rank);
    enum wsc_err rc = rank ? WSC_OK : write_all(path, &alone);
    all_agree(rc == WSC_OK);
    rc = read_all(path, &same);
    all_agree(rc == WSC_OK && same);
}

TEST(store_mpi, what_one_rank_cannot_do_fails_on_all)
{
    char path[256], tmp[300];
    struct store_file *f = NULL;
    struct store_group g = group_of_all();
    shared_path(path, "none/x.mdl");
    all_agree(store_create(&f, path, &g) == WSC_IO && !f && *wsc_err_message());
    shared_path(path, "gap.mdl");
    (void)snprintf(tmp, sizeof tmp, "%s.tmp", path);
    enum wsc_err rc = store_create(&f, path, &g);
    all_agree(rc == WSC_OK);
    rc = store_define(f, "w", STORE_F64, 1, (const int64_t[]){g.size});
    all_agree(rc == WSC_OK);
    double x = g.rank;
    if (g.rank) rc = store_write(f, "w", g.rank, 1, &x); /* rank 0 forgets its element */
    all_agree(rc == WSC_OK);
    rc = store_commit(&f);
    all_agree(rc == WSC_IO && !f && strstr(wsc_err_message(), "elements of dataset w"));
    (void)MPI_Barrier(world);
    all_agree(access(path, F_OK) != 0 && access(tmp, F_OK) != 0);
}

TEST(store_mpi, memory_is_balanced)
{
    all_agree(wsc_mem_in_use(WSC_MEM_STORE) == 0);
}
