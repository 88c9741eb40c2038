// SPDX-License-Identifier: Apache-2.0
/* Training with masks that change (RigL) when a rank is killed and when checkpoints are damaged: it
 * resumes from the checkpoint before, with the values, times, weights and masks of the run to which
 * nothing happened. */
#include "../support/test.h"
#include "fault.h"

#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Masks change in every third step, and checkpoints are written in every fifth, so that a resumed
 * run begins between two updates as often as at one. */
#define MASKED                                                                                     \
    FAULT_RUN " --set sparsity='{algorithm: rigl, sparsity: 0.75, update: {freq: 3, stop: 50}, "   \
              "drop_fraction: {type: cosine, init: 0.3, half_period: 50}}'"
enum { LIMIT_S = 120 };

static const char *straight_dir(void)
{
    static char dir[160];
    if (!*dir) (void)snprintf(dir, sizeof dir, "%s", job_path("masked_straight"));
    return dir;
}

/* The run to which nothing happened, alone on one rank; made once. */
static const struct job_metrics *straight(void)
{
    static struct job_metrics m;
    if (m.n) return &m;
    CU_ASSERT_FATAL(spawn_ok("%s", fault_launched(straight_dir(), 1, 0, MASKED)));
    CU_ASSERT_FATAL(job_read(straight_dir(), &m) && m.n == FAULT_STEPS);
    return &m;
}

/* ---- datasets of a checkpoint ---------------------------------------------------------------- */

static bool is_mask(const char *name)
{
    const size_t n = strlen(name);
    return n > 5 && !strcmp(name + n - 5, "_mask");
}

struct other {
    hid_t file;
    int n_masks, n_different;
};

static unsigned char *bytes_of(hid_t file, const char *name, size_t *n)
{
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    const hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    *n = (size_t)H5Sget_simple_extent_npoints(space) * H5Tget_size(type);
    unsigned char *bytes = malloc(*n ? *n : 1);
    CU_ASSERT_FATAL(bytes && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Dclose(set);
    return bytes;
}

/* H5Literate: a mask against that of the other file. */
static herr_t compare_mask(hid_t file, const char *name, const H5L_info_t *info, void *ctx)
{
    struct other *o = ctx;
    size_t n, m;
    (void)info;
    if (!is_mask(name)) return 0;
    unsigned char *a = bytes_of(file, name, &n), *b = bytes_of(o->file, name, &m);
    o->n_masks++;
    o->n_different += n != m || memcmp(a, b, n) != 0;
    free(a);
    free(b);
    return 0;
}

static hid_t open_checkpoint(const char *dir, const char *name, unsigned how)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    const hid_t file = H5Fopen(path, how, H5P_DEFAULT);
    CU_ASSERT_FATAL(file >= 0);
    return file;
}

static void check_masks(const char *dir)
{
    struct other o = {.file = open_checkpoint(straight_dir(), "checkpoint_60.mdl", H5F_ACC_RDONLY)};
    const hid_t file = open_checkpoint(dir, "checkpoint_60.mdl", H5F_ACC_RDONLY);
    CU_ASSERT(H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, compare_mask, &o) >= 0);
    CU_ASSERT(o.n_masks >= 12);
    T_EQ(o.n_different, 0);
    (void)H5Fclose(file);
    (void)H5Fclose(o.file);
}

static void check_outcome(struct spawn *s, const char *dir)
{
    struct spawn_result r;
    struct job_metrics m;
    spawn_wait(s, LIMIT_S, &r);
    if (r.status) (void)fprintf(stderr, "%s", r.err);
    T_EQ(r.status, 0);
    T_EQ(r.n_left, 0);
    spawn_free(&r);
    CU_ASSERT_FATAL(job_read(dir, &m));
    CU_ASSERT(job_same_values(&m, straight()));
    CU_ASSERT(job_same_times(&m, straight()));
    check_masks(dir);
    (void)spawn_ok("rm -rf %s", dir);
}

/* ---- kills ----------------------------------------------------------------------------------- */

/* A rank's process that is not @p but, once checkpoint @p step is there; 0 when the run ended. */
static pid_t wait_for_step(const struct spawn *s, const char *dir, int step, int rank, pid_t but)
{
    while (!fault_has_checkpoint(dir, step) && !spawn_ended(s))
        fault_sleep_ms(1);
    pid_t pid = 0;
    while (!pid && !spawn_ended(s)) {
        pid = spawn_find_rank(s, rank, but);
        if (!pid) fault_sleep_ms(5);
    }
    return pid;
}

/* SIGKILL at two moments after some masks have changed; returns how many hit a run. */
static int kill_twice(int n_ranks, int rank, int round)
{
    enum { LATER_MS = 25 };
    static const int after[2] = {10, 30};
    struct spawn s;
    char dir[160];
    pid_t pid = 0;
    int n = 0;
    (void)snprintf(dir, sizeof dir, "%s", job_path("masked_killed"));
    CU_ASSERT_FATAL(spawn_start(&s, fault_launched(dir, n_ranks, 10, MASKED)));
    for (int i = 0; i < 2; i++) {
        pid = wait_for_step(&s, dir, after[i], rank, pid);
        fault_sleep_ms(fault_draw((uint64_t)70 + (uint64_t)rank, 2 * round + i, LATER_MS));
        n += pid && !kill(pid, SIGKILL);
    }
    check_outcome(&s, dir);
    return n;
}

/* Five ranks, one role each: shards, a SwarmX node, a wafer; and three ranks with several roles.  A
 * busy host may end a run before its fault: then again. */
TEST(sparse_faults, a_killed_rank_leaves_values_and_masks_as_they_are)
{
    static const struct {
        int n_ranks, rank;
    } victim[] = {{FAULT_ROLES, 0}, {FAULT_ROLES, 1}, {FAULT_ROLES, 2}, {FAULT_ROLES, 4}, {3, 1}};
    (void)straight();
    for (size_t i = 0; i < sizeof victim / sizeof *victim; i++) {
        int n = 0;
        for (int round = 0; round < 3 && !n; round++)
            n = kill_twice(victim[i].n_ranks, victim[i].rank, round);
        CU_ASSERT(n > 0);
    }
}

/* ---- damage ---------------------------------------------------------------------------------- */

#define LAYER "model.transformer_decoder.layers.1."
static const char a_mask[] = LAYER "ffn.ffn.0.linear_layer.weight_mask";

/* The newest checkpoint has one other bit in a mask, the one before another counter of masks. */
TEST(sparse_faults, the_checkpoint_before_damaged_masks)
{
    struct spawn s;
    char dir[160];
    (void)straight();
    (void)snprintf(dir, sizeof dir, "%s", job_path("masked_damaged"));
    CU_ASSERT_FATAL(spawn_ok("%s", fault_launched(dir, 1, 0, MASKED " --num_steps 40")));
    fault_invert_bit(dir, "checkpoint_40.mdl", a_mask, 1000);
    fault_invert_bit(dir, "checkpoint_35.mdl", "sparsity.0.step", 0);
    struct spawn_result r;
    spawn_run(&r, "%s", fault_launched(dir, 3, 0, MASKED " --num_steps 1"));
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "checkpoint_40.mdl: the values of "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "linear_layer.weight_mask"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "checkpoint_35.mdl: the values of sparsity.0.step"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "checkpoint_30.mdl instead"));
    spawn_free(&r);
    CU_ASSERT_FATAL(spawn_start(&s, fault_launched(dir, FAULT_ROLES, 0, MASKED)));
    check_outcome(&s, dir);
}

/* A mask that is missing, and one that is cut short on the disk: the checkpoint is not used. */
TEST(sparse_faults, a_torn_checkpoint_with_masks)
{
    struct spawn s;
    char dir[160];
    (void)straight();
    (void)snprintf(dir, sizeof dir, "%s", job_path("masked_torn"));
    CU_ASSERT_FATAL(spawn_ok("%s", fault_launched(dir, 1, 0, MASKED " --num_steps 20")));
    CU_ASSERT_FATAL(spawn_ok("truncate -s -100000 %s/checkpoint_20.mdl", dir));
    const hid_t file = open_checkpoint(dir, "checkpoint_15.mdl", H5F_ACC_RDWR);
    CU_ASSERT_FATAL(H5Ldelete(file, a_mask, H5P_DEFAULT) >= 0);
    (void)H5Fclose(file);
    CU_ASSERT_FATAL(spawn_start(&s, fault_launched(dir, 1, 0, MASKED)));
    check_outcome(&s, dir);
}
