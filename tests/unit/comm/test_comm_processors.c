// SPDX-License-Identifier: Apache-2.0
/* Processors of this process: quotas of control groups in a folder like /sys/fs/cgroup; the mask of
 * a host of 5000 processors, for which the linker sends sched_getaffinity() of the library here
 * (--wrap in the Makefile). */
#include "../../../src/comm/comm_state.h"
#include "../../support/test.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>

static const char *path_of(const char *name)
{
    static char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", test_tmpdir(), name);
    return path;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    CU_ASSERT_FATAL(file != NULL);
    (void)fputs(text, file);
    (void)fclose(file);
}

/* The quota of a process with these lines in /proc/self/cgroup. */
static double quota_with(const char *groups)
{
    char file[PATH_MAX];
    put("groups", groups);
    (void)snprintf(file, sizeof file, "%s", path_of("groups"));
    return comm_quota_in(file, path_of("cgroup"));
}

TEST(comm_processors, the_smallest_quota_of_the_group_and_those_above_counts)
{
    static const char *const folder[] = {"cgroup", "cgroup/user.slice", "cgroup/user.slice/job 1",
                                         "cgroup/user.slice/job 1/step"};
    for (size_t i = 0; i < sizeof folder / sizeof *folder; i++)
        (void)mkdir(path_of(folder[i]), 0700);
    put("cgroup/user.slice/cpu.max", "250000 100000\n");
    put("cgroup/user.slice/job 1/cpu.max", "max 100000\n");
    T_NEAR(quota_with("0::/user.slice/job 1/step\n"), 2.5, 1e-12);
    T_NEAR(quota_with("4:memory:/other\n0::/user.slice/job 1\n1:cpu:/\n"), 2.5, 1e-12);
    put("cgroup/user.slice/job 1/step/cpu.max", "150000 100000\n");
    T_NEAR(quota_with("0::/user.slice/job 1/step\n"), 1.5, 1e-12);
    T_NEAR(quota_with("0::/user.slice/job 1\n"), 2.5, 1e-12);
    T_NEAR(quota_with("0::/user.slice/gone\n"), 2.5, 1e-12);
    T_NEAR(quota_with("0::/\n"), 0, 0);
    put("cgroup/cpu.max", "400000 100000\n");
    T_NEAR(quota_with("0::/\n"), 4, 1e-12);
    T_NEAR(quota_with("4:memory:/user.slice\n"), 4, 1e-12);
    T_NEAR(quota_with("0::/user.slice\n"), 2.5, 1e-12);
}

enum { PROCESSORS_OF_LARGE_HOST = 5000 };
static bool is_large_host;

int __real_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set);

int __wrap_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set)
{
    if (!is_large_host) return __real_sched_getaffinity(process, bytes, set);
    if (bytes * CHAR_BIT < PROCESSORS_OF_LARGE_HOST) {
        errno = EINVAL;
        return -1;
    }
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(7, bytes, set);
    CPU_SET_S(1500, bytes, set);
    CPU_SET_S(PROCESSORS_OF_LARGE_HOST - 1, bytes, set);
    return 0;
}

TEST(comm_processors, a_host_may_have_more_than_1024)
{
    is_large_host = true;
    T_EQ(comm_allowed_processors(), 3);
    is_large_host = false;
    CU_ASSERT(comm_allowed_processors() >= 1);
    T_EQ(wsc_mem_in_use(WSC_MEM_COMM), 0);
}
