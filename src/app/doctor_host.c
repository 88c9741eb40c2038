// SPDX-License-Identifier: Apache-2.0
/* Checks of `wsc doctor` that look at the operating system: files under /proc and /sys, limits,
 * interfaces.  None starts a program; none fails for what only slows the program down.  The table
 * of checks is in cmd_doctor.c. */
#include "doctor.h"
#include "shipped.h"

#include <wsc/comm.h>
#include <wsc/num.h>
#include <wsc/out.h>
#include <wsc/store.h>

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#ifndef WSC_ARCH
#    define WSC_ARCH "an unknown processor" /* the Makefile knows */
#endif

static const double gib = 1024.0 * 1024 * 1024;

/* The first line of a small file; false when there is none. */
static bool read_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "r");
    const bool found = file && fgets(line, size, file);
    if (file) (void)fclose(file);
    if (found) line[strcspn(line, "\n")] = '\0';
    return found;
}

/* The first whole number of a text; -1 when it has none (`max`). */
static int64_t number_of(const char *text)
{
    char *end = NULL;
    const long long value = strtoll(text, &end, 10);
    return end == text ? -1 : value;
}

void app_doctor_program(struct app_finding *f)
{
    char folder[PATH_MAX];
    const bool params = app_find_folder(APP_PARAMS, folder, sizeof folder);
    const bool machines = app_find_folder(APP_CLUSTER, folder, sizeof folder);
    const bool figures = app_find_folder(APP_REFERENCE, folder, sizeof folder);
    app_found(f, "%s, files %s", out_version(), app_find_place());
    if (!params || !machines || !figures)
        app_advise(f, APP_DOCTOR_WARNING,
                   "not %s: %s%s%s%s%s; set WSC_DATA_DIR to PREFIX/share/wsc or a source tree",
                   app_find_place(), params ? "" : "params",
                   params || (machines && figures) ? "" : ", ", machines ? "" : "machines",
                   machines || figures ? "" : ", ", figures ? "" : "published figures");
}

void app_doctor_products(struct app_finding *f)
{
    app_found(f, "%s", num_library());
    if (strncmp(num_library(), "oneDNN", 6) != 0)
        app_advise(f, APP_DOCTOR_WARNING,
                   "training is slower, losses have other last bits: install oneDNN, build again");
}

/* What the compiler was allowed to use, against what the processor has: an older one would stop
 * with an illegal instruction. */
void app_doctor_processor(struct app_finding *f)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    app_found(f, "x86-64-v%d, built for %s", v4 ? 4 : v3 ? 3 : 2, WSC_ARCH);
    if ((!strcmp(WSC_ARCH, "x86-64-v3") && !v3) || (!strcmp(WSC_ARCH, "x86-64-v4") && !v4))
        app_advise(f, APP_DOCTOR_FAILED, "build for this processor: make ARCH=x86-64-v2");
#else
    app_found(f, "built for %s", WSC_ARCH);
#endif
}

void app_doctor_cores(struct app_finding *f)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const int own = comm_allowed_processors();
    const double quota = comm_quota_of_processors();
    const char *threads = getenv("OMP_NUM_THREADS");
    app_found(f, "%d of %ld processors%s%s", own, online, threads ? ", OMP_NUM_THREADS=" : "",
              threads ? threads : "");
    if (own < online)
        app_advise(f, APP_DOCTOR_WARNING,
                   "this process is bound to %d: mpirun --bind-to none, or ask for more", own);
    if (quota > 0 && quota < own)
        app_advise(f, APP_DOCTOR_WARNING, "the control group allows %.3g: start fewer ranks",
                   quota);
    if (threads && number_of(threads) > own)
        app_advise(f, APP_DOCTOR_WARNING, "more threads than processors: export OMP_NUM_THREADS=%d",
                   own);
}

/* MemAvailable of /proc/meminfo in bytes, -1 when it is not there. */
static double read_available(void)
{
    static const char name[] = "MemAvailable:";
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    double bytes = -1;
    while (file && bytes < 0 && fgets(line, sizeof line, file))
        if (!strncmp(line, name, sizeof name - 1))
            bytes = (double)number_of(line + sizeof name - 1) * 1024;
    if (file) (void)fclose(file);
    return bytes;
}

void app_doctor_memory(struct app_finding *f)
{
    char line[64];
    double bytes = read_available();
    const bool grouped = read_line("/sys/fs/cgroup/memory.max", line, sizeof line);
    const double most = grouped ? (double)number_of(line) : -1;
    const bool limited = most >= 0 && (bytes < 0 || most < bytes);
    if (limited) bytes = most;
    app_found(f, "%.1f GiB %s", bytes / gib, limited ? "in this control group" : "available");
    if (bytes < gib)
        app_advise(f, APP_DOCTOR_WARNING,
                   "less than 1 GiB: only small models, or --numerics none, which needs none");
}

void app_doctor_huge_pages(struct app_finding *f)
{
    char line[128];
    if (!read_line("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof line)) {
        app_found(f, "unknown: no transparent_hugepage under /sys/kernel/mm");
        return;
    }
    const bool never = strstr(line, "[never]") != NULL;
    app_found(f, "transparent: %s",
              never                      ? "never"
              : strstr(line, "[always]") ? "always"
                                         : "madvise");
    if (never)
        app_advise(f, APP_DOCTOR_WARNING,
                   "slower on large models; as root: echo madvise "
                   ">/sys/kernel/mm/transparent_hugepage/enabled");
}

/* One soft limit against what is wanted, in @p unit, each of @p size bytes or files. */
static void check_limit(struct app_finding *f, int resource, double wanted, double size,
                        const char *unit, const char *advice)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit)) {
        app_found(f, "unknown");
        return;
    }
    if (limit.rlim_cur == RLIM_INFINITY) {
        app_found(f, "unlimited");
        return;
    }
    app_found(f, "%.0f%s", (double)limit.rlim_cur / size, unit);
    if ((double)limit.rlim_cur < wanted) app_advise(f, APP_DOCTOR_WARNING, "%s", advice);
}

void app_doctor_memlock(struct app_finding *f)
{
    const bool remote = !access("/sys/class/infiniband", F_OK);
    check_limit(f, RLIMIT_MEMLOCK, remote ? 1e300 : 0, 1024, " KiB",
                "the InfiniBand or RoCE network here needs ulimit -l unlimited");
}

void app_doctor_files(struct app_finding *f)
{
    check_limit(f, RLIMIT_NOFILE, 1024, 1, "", "many ranks need more: ulimit -n 4096");
}

void app_doctor_stack(struct app_finding *f)
{
    check_limit(f, RLIMIT_STACK, 8192.0 * 1024, 1024, " KiB",
                "threads of libraries need more: ulimit -s 8192");
}

void app_doctor_clock(struct app_finding *f)
{
    struct timespec step = {0};
    char line[64];
    const char *source = "an unknown source";
    (void)clock_getres(CLOCK_MONOTONIC, &step);
    if (read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", line,
                  sizeof line))
        source = line;
    app_found(f, "%s, resolution %ld ns", source, step.tv_nsec + 1000000000L * step.tv_sec);
    if (step.tv_sec || step.tv_nsec > 1000000)
        app_advise(f, APP_DOCTOR_WARNING, "too coarse for rates of short steps on this host");
    else if (!strcmp(source, "hpet") || !strcmp(source, "acpi_pm"))
        app_advise(f, APP_DOCTOR_WARNING,
                   "slow to read: boot with clocksource=tsc if it is stable");
}

/* A name of a bridge or tunnel of containers and virtual machines, which reaches no other host. */
static bool is_local(const char *name)
{
    static const char *const prefix[] = {"docker", "virbr", "br-", "veth", "cni", "podman", "lxc"};
    for (int i = 0; i < (int)(sizeof prefix / sizeof *prefix); i++)
        if (!strncmp(name, prefix[i], strlen(prefix[i]))) return true;
    return false;
}

/* Count the interface @p name when it is up, and add it to what was found. */
static void add_interface(struct app_finding *f, const char *name, int *n, bool *local)
{
    const size_t used = strlen(f->found);
    char path[PATH_MAX], state[32];
    (void)snprintf(path, sizeof path, "/sys/class/net/%s/operstate", name);
    if (*name == '.' || !strcmp(name, "lo") || !read_line(path, state, sizeof state)) return;
    if (!strcmp(state, "down")) return;
    ++*n;
    *local = *local || is_local(name);
    (void)snprintf(f->found + used, sizeof f->found - used, "%s%s", used ? ", " : "", name);
}

void app_doctor_network(struct app_finding *f)
{
    DIR *folder = opendir("/sys/class/net");
    int n = 0;
    bool local = false;
    for (struct dirent *e = folder ? readdir(folder) : NULL; e; e = readdir(folder))
        add_interface(f, e->d_name, &n, &local);
    if (folder) (void)closedir(folder);
    if (!n) app_found(f, "none but the loopback: jobs on this host alone");
    if (n > 1 || local)
        app_advise(f, local ? APP_DOCTOR_WARNING : APP_DOCTOR_OK,
                   "for several hosts name the one they share: export "
                   "OMPI_MCA_btl_tcp_if_include=NAME OMPI_MCA_oob_tcp_if_include=NAME");
}

/* Free bytes of the file system of @p path, -1 when it cannot be asked. */
static double free_bytes(const char *path)
{
    struct statvfs s;
    return statvfs(path, &s) ? -1 : (double)s.f_bavail * (double)s.f_frsize;
}

void app_doctor_shared_memory(struct app_finding *f)
{
    const double least = 64.0 * 1024 * 1024, bytes = free_bytes("/dev/shm");
    if (bytes < 0)
        app_found(f, "there is no /dev/shm");
    else
        app_found(f, "%.2f GiB free in /dev/shm", bytes / gib);
    if (bytes < least)
        app_advise(f, APP_DOCTOR_WARNING,
                   "ranks on one host talk through it: docker run --shm-size=1g, or mount a tmpfs");
}

void app_doctor_temporary(struct app_finding *f)
{
    enum { LONGEST = 60 }; /* sockets of MPI below it have at most 108 bytes */
    const char *set = getenv("TMPDIR");
    const char *dir = set && *set ? set : "/tmp";
    const double bytes = free_bytes(dir);
    app_found(f, "%.100s, %.2f GiB free", dir, bytes < 0 ? 0 : bytes / gib);
    if (access(dir, W_OK | X_OK))
        app_advise(f, APP_DOCTOR_FAILED, "cannot be written: export TMPDIR=/tmp");
    else if (strlen(dir) > LONGEST)
        app_advise(f, APP_DOCTOR_WARNING,
                   "the name is too long for sockets of MPI: export "
                   "TMPDIR=/tmp");
    else if (bytes < gib / 16)
        app_advise(f, APP_DOCTOR_WARNING, "almost full: export TMPDIR to another file system");
}

void app_doctor_hdf5(struct app_finding *f)
{
    struct store_library library;
    store_library(&library);
    app_found(f, "%s, %sparallel, deflate %s, fletcher32 %s, LZ4 built in", library.version,
              library.parallel ? "" : "not ", library.deflate ? "yes" : "no",
              library.checksums ? "yes" : "no");
    if (!library.parallel)
        app_advise(f, APP_DOCTOR_FAILED,
                   "checkpoints need parallel HDF5: libhdf5-openmpi, or hdf5+mpi of Spack");
    if (!library.deflate || !library.checksums)
        app_advise(f, APP_DOCTOR_WARNING, "compressed datasets cannot be read: HDF5 with zlib");
}
