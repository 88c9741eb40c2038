// SPDX-License-Identifier: Apache-2.0
#include "fault.h"

#include "../support/test.h"

#include <wsc/rng.h>

#include <dirent.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long whole_number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

int fault_times(void)
{
    const long n = whole_number("WSC_FAULTS", 1);
    return n > 0 && n < 1000 ? (int)n : 1;
}

uint64_t fault_seed(void)
{
    return (uint64_t)whole_number("WSC_FAULTS_SEED", 7);
}

int fault_draw(uint64_t what, int i, int n)
{
    const uint64_t stream = wsc_rng_stream(WSC_RNG_TEST, what);
    return (int)(wsc_rng_u64(fault_seed(), stream, (uint64_t)i) % (uint64_t)n);
}

void fault_sleep_ms(int ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    (void)nanosleep(&t, NULL);
}

bool fault_has_file(const char *dir, const char *name)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

bool fault_has_checkpoint(const char *dir, int step)
{
    bool found = false;
    DIR *d = opendir(dir);
    for (struct dirent *e = d ? readdir(d) : NULL; e && !found; e = readdir(d)) {
        char *end = e->d_name;
        if (strncmp(e->d_name, "checkpoint_", strlen("checkpoint_")) != 0) continue;
        const long found_step = strtol(e->d_name + strlen("checkpoint_"), &end, 10);
        found = found_step >= step && !strcmp(end, ".mdl");
    }
    if (d) (void)closedir(d);
    return found;
}

const char *fault_launched(const char *dir, int n_ranks, int restarts, const char *options)
{
    static char command[2048];
    const char *run = strstr(job_tiny(), "--params");
    (void)snprintf(command, sizeof command,
                   "exec mpi_launch/local.sh -n %d --max-restarts %d %s --model_dir %s %s", n_ranks,
                   restarts, run, dir, options);
    return command;
}

const struct job_metrics *fault_undisturbed(void)
{
    static struct job_metrics m;
    if (m.n) return &m;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("undisturbed"));
    CU_ASSERT_FATAL(spawn_ok("%s", fault_launched(dir, 1, 0, FAULT_RUN)));
    CU_ASSERT_FATAL(job_read(dir, &m) && m.n == FAULT_STEPS);
    return &m;
}

void fault_outcome(struct spawn *s, const char *dir, int limit_s, struct side_result *r,
                   struct spawn_result *out)
{
    struct job_metrics m;
    spawn_wait(s, limit_s, out);
    if (out->status) side_fail(r, "%s: exit status %d: %s", dir, out->status, out->err);
    if (out->n_left) side_fail(r, "%s: %d processes are left", dir, out->n_left);
    if (!job_read(dir, &m)) side_fail(r, "%s: no metrics", dir);
    if (!job_same_values(&m, fault_undisturbed())) side_fail(r, "%s: other values", dir);
    if (!job_same_times(&m, fault_undisturbed())) side_fail(r, "%s: other times", dir);
    if (!fault_has_file(dir, "checkpoint_60.mdl")) side_fail(r, "%s: no last checkpoint", dir);
}

void fault_check_outcome(struct spawn *s, const char *dir)
{
    enum { LIMIT_S = 120 };
    struct side_result r = {0};
    struct spawn_result out;
    fault_outcome(s, dir, LIMIT_S, &r, &out);
    if (r.failed) (void)fprintf(stderr, "%s\n", r.why);
    CU_ASSERT(!r.failed);
    spawn_free(&out);
    (void)spawn_ok("rm -rf %s", dir);
}

void fault_invert_bit(const char *dir, const char *name, const char *dataset, long at)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t set = H5Dopen2(file, dataset, H5P_DEFAULT);
    const haddr_t offset = H5Dget_offset(set);
    (void)H5Dclose(set);
    (void)H5Fclose(file);
    CU_ASSERT_FATAL(set >= 0 && offset != HADDR_UNDEF);
    FILE *f = fopen(path, "r+b");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fseek(f, (long)offset + at, SEEK_SET);
    const int byte = fgetc(f);
    (void)fseek(f, (long)offset + at, SEEK_SET);
    (void)fputc(byte ^ 1, f);
    (void)fclose(f);
}
