// SPDX-License-Identifier: Apache-2.0
/* Kills, stops, mute links and wrong messages at random moments, several runs side by side.
 * WSC_FAULTS=K does everything K times and prints a table; WSC_FAULTS_SEED draws other moments. */
#include "../support/test.h"
#include "fault.h"

#include <wsc/clock.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A run that is not hurt takes a few seconds; one that hangs has FAULT_PATIENT_S, or five times as
 * long while it starts, and then mpirun's part: 15 s when mpirun itself hangs. */
enum { RUN_LIMIT_S = 240, HANG_LIMIT_S = 60, JOB_LIMIT_S = 420 };
#define NOT_STARTED "MPI has not started for "

/* ---- a run of a job's own -------------------------------------------------------------------- */

struct own {
    struct spawn s;
    char dir[160], shared[64]; /* model_dir; where mpirun has its files */
};

static bool own_start(struct own *o, const char *environment, int n_ranks, int restarts,
                      const char *options)
{
    char command[2600];
    (void)snprintf(o->dir, sizeof o->dir, "%s", job_path("hurt"));
    (void)snprintf(o->shared, sizeof o->shared, "/dev/shm/wsc-test-%ld", (long)getpid());
    (void)snprintf(command, sizeof command, "export TMPDIR=%s WSC_SHM=%s; %s%s", o->shared,
                   o->shared, environment, fault_launched(o->dir, n_ranks, restarts, options));
    return !mkdir(o->shared, 0700) && spawn_start(&o->s, command);
}

/* Nothing may be left: neither processes nor shared memory nor mpirun's folders. */
static void own_end(struct own *o, struct side_result *r, struct spawn_result *out)
{
    if (rmdir(o->shared)) {
        side_fail(r, "%s: not empty after the run", o->shared);
        (void)spawn_ok("rm -rf %s", o->shared);
    }
    if (r->failed) (void)fprintf(stderr, "%s\n%s", out->out, out->err);
    spawn_free(out);
    (void)spawn_ok("rm -rf %s", o->dir);
}

static int count_text(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

/* The step of the newest whole checkpoint; 0 when there is none. */
static int newest_checkpoint(const char *dir)
{
    int newest = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        char *end;
        if (strncmp(e->d_name, "checkpoint_", 11) != 0) continue;
        const int step = (int)strtol(e->d_name + 11, &end, 10);
        if (!strcmp(end, ".mdl") && step > newest) newest = step;
    }
    if (d) (void)closedir(d);
    return newest;
}

/* The run that was killed has ended as if nothing had happened. */
static void check_restarted(struct own *o, struct side_result *r, int newest)
{
    struct spawn_result out;
    fault_outcome(&o->s, o->dir, RUN_LIMIT_S, r, &out);
    r->n_restarts = count_text(out.err, "; restart ");
    if (r->n_restarts > r->n_done)
        side_fail(r, "%d restarts after %d faults: %s", r->n_restarts, r->n_done, out.err);
    r->n_lost += newest_checkpoint(o->dir) < newest;
    r->n_lost += count_text(out.err, " instead");
    if (r->n_lost) side_fail(r, "checkpoint %d was lost: %s", newest, out.err);
    own_end(o, r, &out);
}

static void note_time(struct side_result *r, double since_s)
{
    const double s = wsc_clock_s() - since_s;
    if (s > r->slowest_s) r->slowest_s = s;
}

/* ---- SIGKILL of one rank --------------------------------------------------------------------- */

/* One job: faults number first .. first + n - 1 of a kind, on one run. */
struct plan {
    const struct kind *kind;
    int row, first, n;
};
struct kind {
    const char *name;
    int n, most; /* for each of fault_times(), and in one run */
    int n_ranks, rank;
    void (*hurt)(const struct plan *p, struct side_result *r);
};

/* A process of rank @p rank that is not @p but, or 0 when the run has ended. */
static pid_t wait_for_rank(const struct own *o, int rank, pid_t but)
{
    enum { LOOK_EVERY_MS = 20 };
    pid_t pid = 0;
    while (!pid && !spawn_ended(&o->s)) {
        pid = spawn_find_rank(&o->s, rank, but);
        if (!pid) fault_sleep_ms(LOOK_EVERY_MS);
    }
    return pid;
}

static long long metrics_bytes(const struct own *o)
{
    char path[300];
    struct stat info;
    (void)snprintf(path, sizeof path, "%s/metrics.jsonl", o->dir);
    return stat(path, &info) ? -1 : (long long)info.st_size;
}

/* Every other time while MPI starts and the files are read, else while it trains. */
static void wait_for_moment(const struct own *o, uint64_t what, int i)
{
    enum { START_MS = 1500, TRAINING_MS = 800, LOOK_EVERY_MS = 5 };
    const long long before = metrics_bytes(o);
    if (i % 2) {
        fault_sleep_ms(fault_draw(what, i, START_MS));
        return;
    }
    while (metrics_bytes(o) == before && !spawn_ended(&o->s))
        fault_sleep_ms(LOOK_EVERY_MS);
    fault_sleep_ms(fault_draw(what, i, TRAINING_MS));
}

static int victim(const struct kind *k, int i)
{
    return k->rank >= 0 ? k->rank : fault_draw(60, i, k->n_ranks);
}

static void kill_rank(const struct plan *p, struct side_result *r)
{
    const struct kind *k = p->kind;
    struct own o;
    int newest = 0;
    if (!own_start(&o, "", k->n_ranks, 100, FAULT_RUN)) side_fail(r, "no run");
    const int rank = victim(k, p->first);
    pid_t pid = wait_for_rank(&o, rank, 0);
    while (pid && r->n_done < p->n && !r->failed) {
        wait_for_moment(&o, (uint64_t)p->row, p->first + r->n_done);
        const int step = newest_checkpoint(o.dir);
        if (kill(pid, SIGKILL)) break;
        const double since_s = wsc_clock_s();
        if (step > newest) newest = step;
        r->n_done++;
        pid = wait_for_rank(&o, rank, pid);
        if (newest_checkpoint(o.dir) < newest) r->n_lost++;
        note_time(r, since_s);
    }
    check_restarted(&o, r, newest);
}

/* ---- SIGKILL of everything while a checkpoint is written ------------------------------------- */

/* The temporary file of a checkpoint, the first that is seen; 0 when the run has ended. */
static int wait_for_tmp(const struct own *o)
{
    char name[64];
    for (int step = 5; !spawn_ended(&o->s); step = step < FAULT_STEPS ? step + 5 : 5) {
        (void)snprintf(name, sizeof name, "checkpoint_%d.mdl.tmp", step);
        if (fault_has_file(o->dir, name)) return step;
        if (step == FAULT_STEPS) fault_sleep_ms(1);
    }
    return 0;
}

/* What a killed run left goes when the next one starts, which is no checkpoint being written. */
static void wait_for_cleaning(const struct own *o, int step)
{
    char name[64];
    (void)snprintf(name, sizeof name, "checkpoint_%d.mdl.tmp", step);
    while (fault_has_file(o->dir, name) && !spawn_ended(&o->s))
        fault_sleep_ms(1);
}

static void kill_all(const struct plan *p, struct side_result *r)
{
    enum { LONGEST_MS = 40 };
    static const int n_ranks[] = {1, 3, 5};
    struct own o;
    int newest = 0;
    if (!own_start(&o, "", n_ranks[p->first / p->kind->most % 3], 100, FAULT_RUN))
        side_fail(r, "no run");
    for (int step = 0; r->n_done < p->n && !r->failed && (step = wait_for_tmp(&o));) {
        const int whole = newest_checkpoint(o.dir);
        if (whole > newest) newest = whole;
        fault_sleep_ms(fault_draw((uint64_t)p->row, p->first + r->n_done, LONGEST_MS));
        if (!spawn_kill(&o.s)) break;
        const double since_s = wsc_clock_s();
        r->n_done++;
        if (newest_checkpoint(o.dir) < newest) r->n_lost++;
        wait_for_cleaning(&o, step);
        note_time(r, since_s);
    }
    check_restarted(&o, r, newest);
}

/* ---- hangs ----------------------------------------------------------------------------------- */

#define ENDLESS FAULT_RUN " --set runconfig.max_steps=100000"

/* The last sign of life: a line of metrics, or the start. */
static double last_life_s(const struct own *o, double start_s)
{
    char path[300];
    struct stat info;
    struct timespec now;
    (void)snprintf(path, sizeof path, "%s/metrics.jsonl", o->dir);
    if (stat(path, &info) || clock_gettime(CLOCK_REALTIME, &now)) return start_s;
    const double age_s = (double)(now.tv_sec - info.st_mtim.tv_sec) +
                         1e-9 * (double)(now.tv_nsec - info.st_mtim.tv_nsec);
    return wsc_clock_s() - age_s;
}

/* After how many seconds the run says that it gave up; 0 when it does not say. */
static double seconds_said(const char *text)
{
    static const char *const before[] = {"has not been heard from for ", "none has moved for ",
                                         NOT_STARTED};
    for (int i = 0; i < (int)(sizeof before / sizeof *before); i++) {
        const char *at = strstr(text, before[i]);
        if (at) return strtod(at + strlen(before[i]), NULL);
    }
    return 0;
}

/* Is each "waits for role N to send NAME" (or take) of a message whole? */
static bool waits_are_whole(const char *err)
{
    static const char waits[] = " waits for role ";
    for (const char *at = err; (at = strstr(at, waits)) != NULL;) {
        char *end;
        (void)strtol(at += strlen(waits), &end, 10);
        const bool verb = !strncmp(end, " to send ", 9) || !strncmp(end, " to take ", 9);
        if (end == at || !verb || end[9] < 'a' || end[9] > 'z') return false;
    }
    return true;
}

/* What is found by heartbeats is found by the clock, however busy the host: a thread that comes
 * late by more than half of the limit starts counting again. */
static void check_said(struct side_result *r, const char *err)
{
    const double most_s = strstr(err, NOT_STARTED) ? 5.5 * FAULT_PATIENT_S : 1.5 * FAULT_PATIENT_S;
    r->said_s = seconds_said(err);
    if (!waits_are_whole(err)) side_fail(r, "half a phrase: %s", err);
    if (r->said_s > most_s + 0.5) side_fail(r, "noticed after %g s: %s", r->said_s, err);
}

/* It ends by itself, with a line of ours and a status that says so. */
static void check_ended(struct own *o, struct side_result *r, double since_s)
{
    struct spawn_result out;
    spawn_wait(&o->s, HANG_LIMIT_S + 5 * FAULT_PATIENT_S, &out);
    note_time(r, since_s);
    if (out.status <= 0) side_fail(r, "%s: exit status %d: %s", o->dir, out.status, out.err);
    if (out.n_left) side_fail(r, "%s: %d processes are left", o->dir, out.n_left);
    if (!strstr(out.err, "wsc: error: ") && !strstr(out.err, "wsc: internal error at "))
        side_fail(r, "%s: no line says what happened: %s", o->dir, out.err);
    if (r->slowest_s > HANG_LIMIT_S)
        side_fail(r, "%s: it took %.1f s to end", o->dir, r->slowest_s);
    check_said(r, out.err);
    if (r->n_early && !strstr(out.err, NOT_STARTED)) side_fail(r, "no fault: %s", out.err);
    r->n_done = !r->n_early;
    own_end(o, r, &out);
}

static void stop_rank(const struct plan *p, struct side_result *r)
{
    const struct kind *k = p->kind;
    struct own o;
    if (!own_start(&o, FAULT_PATIENT, k->n_ranks, 0, ENDLESS)) side_fail(r, "no run");
    const pid_t pid = wait_for_rank(&o, victim(k, p->first), 0);
    wait_for_moment(&o, (uint64_t)p->row, p->first);
    r->n_early = !pid || kill(pid, SIGSTOP);
    check_ended(&o, r, wsc_clock_s());
}

static void inject(const struct plan *p, struct side_result *r, const char *what)
{
    const struct kind *k = p->kind;
    const double start_s = wsc_clock_s();
    char environment[96];
    struct own o;
    (void)snprintf(environment, sizeof environment, FAULT_PATIENT "WSC_INJECT=%s:%d:%d ", what,
                   victim(k, p->first), 1 + fault_draw((uint64_t)p->row, p->first, 400));
    if (!own_start(&o, environment, k->n_ranks, 0, ENDLESS)) side_fail(r, "no run");
    double since_s = start_s;
    while (!spawn_ended(&o.s) && wsc_clock_s() - since_s < HANG_LIMIT_S) {
        since_s = last_life_s(&o, start_s);
        fault_sleep_ms(20);
    }
    check_ended(&o, r, since_s);
}

static void mute_link(const struct plan *p, struct side_result *r)
{
    inject(p, r, "mute");
}

static void garble_message(const struct plan *p, struct side_result *r)
{
    inject(p, r, p->first % 2 ? "garble" : "long");
}

/* A run to which nothing happens, with all the others around it, is not taken for a dead one. */
static void leave_alone(const struct plan *p, struct side_result *r)
{
    struct own o;
    struct spawn_result out;
    if (!own_start(&o, FAULT_PATIENT, p->kind->n_ranks, 0, FAULT_RUN)) side_fail(r, "no run");
    const double since_s = wsc_clock_s();
    struct side_result outcome = {0};
    fault_outcome(&o.s, o.dir, RUN_LIMIT_S, &outcome, &out);
    note_time(r, since_s);
    r->n_early = strstr(out.err, NOT_STARTED) != NULL;
    r->n_done = !r->n_early;
    if (outcome.failed && !r->n_early) side_fail(r, "%s", outcome.why);
    own_end(&o, r, &out);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static const struct kind kinds[] = {
    {"rank 0, a shard, killed", 1, 5, FAULT_ROLES, 0, kill_rank},
    {"a shard killed", 1, 5, FAULT_ROLES, 1, kill_rank},
    {"a SwarmX node killed", 1, 5, FAULT_ROLES, 2, kill_rank},
    {"a wafer killed", 1, 5, FAULT_ROLES, 4, kill_rank},
    {"a rank with several roles killed", 1, 5, 3, -1, kill_rank},
    {"all killed in a checkpoint", 2, 5, 0, 0, kill_all},
    {"a rank stopped", 2, 1, FAULT_ROLES, -1, stop_rank},
    {"a link mute", 1, 1, FAULT_ROLES, -1, mute_link},
    {"a wrong message", 1, 1, FAULT_ROLES, -1, garble_message},
    {"left alone", 1, 1, FAULT_ROLES, -1, leave_alone},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds, MOST_JOBS = 1024, ROUNDS = 4 };

struct row {
    int n_done, n_failed, n_restarts, n_lost, n_early;
    double said_s, slowest_s;
};
static struct row table[N_KINDS];
static struct plan plans[MOST_JOBS];
static double began_s;

static int wanted(int kind)
{
    return kinds[kind].n * fault_times();
}

/* A kind has its runs one after the other in the list, so that kinds mix when several run: every
 * N_KINDS-th job is of the same kind. */
static int make_plans(int round)
{
    int n = 0, planned[N_KINDS];
    for (int k = 0; k < N_KINDS; k++)
        planned[k] = table[k].n_done;
    for (bool more = true; more;) {
        more = false;
        for (int k = 0; k < N_KINDS && n < MOST_JOBS; k++) {
            const int left = wanted(k) - planned[k], most = kinds[k].most;
            if (left <= 0) continue;
            plans[n++] =
                (struct plan){&kinds[k], k, planned[k] + round * 1000, left < most ? left : most};
            planned[k] += most;
            more = true;
        }
    }
    return n;
}

static void hurt(int i, struct side_result *r)
{
    plans[i].kind->hurt(&plans[i], r);
}

static void take(int i, const struct side_result *r)
{
    struct row *row = &table[plans[i].row];
    const char *name = plans[i].kind->name;
    row->n_done += r->n_done;
    row->n_failed += r->failed;
    row->n_restarts += r->n_restarts;
    row->n_lost += r->n_lost;
    row->n_early += r->n_early;
    if (r->said_s > row->said_s) row->said_s = r->said_s;
    if (r->slowest_s > row->slowest_s) row->slowest_s = r->slowest_s;
    if (r->failed) (void)fprintf(stderr, "%s: %s\n", name, r->why);
    if (fault_times() == 1) return;
    printf("%6.0f s  %-34s %3d of %3d%s\n", wsc_clock_s() - began_s, name, row->n_done,
           wanted(plans[i].row), r->failed ? ", FAILED" : "");
    (void)fflush(stdout);
}

static double children_s(void)
{
    struct rusage use;
    (void)getrusage(RUSAGE_CHILDREN, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec);
}

/* "too late": the host was so busy that the run ended before its fault; it was repeated. */
static void print_table(void)
{
    printf("\nseed %llu: %.0f s, %.0f s of processors\n", (unsigned long long)fault_seed(),
           wsc_clock_s() - began_s, children_s());
    printf("%-32s %6s %6s %8s %11s %8s %9s %8s\n", "what", "faults", "failed", "restarts",
           "lost ckpts", "too late", "noticed", "over");
    for (int k = 0; k < N_KINDS; k++) {
        const struct row *r = &table[k];
        printf("%-32s %6d %6d %8d %11d %8d %7.0f s %6.1f s\n", kinds[k].name, r->n_done,
               r->n_failed, r->n_restarts, r->n_lost, r->n_early, r->said_s, r->slowest_s);
    }
}

/* Most of the time is waiting: two runs for each processor. */
TEST(faults, kills_stops_and_wrong_messages)
{
    const int at_once = 2 * (int)sysconf(_SC_NPROCESSORS_ONLN);
    began_s = wsc_clock_s();
    (void)fault_undisturbed();
    for (int round = 0, n = 1; round < ROUNDS && n; round++) {
        n = make_plans(round);
        side_by_side(n, at_once, JOB_LIMIT_S, hurt, take);
    }
    if (fault_times() > 1) print_table();
    for (int k = 0; k < N_KINDS; k++) {
        T_EQ(table[k].n_done, wanted(k));
        T_EQ(table[k].n_failed, 0);
        T_EQ(table[k].n_lost, 0);
    }
}
