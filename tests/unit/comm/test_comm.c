// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/comm.h>
#include <wsc/mem.h>
#include <wsc/num.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A ring of relays in one process: each adds one to what it gets and passes it on. */
enum { N_RELAYS = 50, N_ROUNDS = 20 };

struct relay {
    struct comm_link *in, *out;
    int64_t seen;
    bool starts;
};

static const struct comm_link_spec spec = {
    .rate_bytes_per_s = 1000000000, .latency_ps = 10, .name = "token"};

static enum wsc_err relay_run(void *arg)
{
    struct relay *r = arg;
    for (int i = 0; i < N_ROUNDS; i++) {
        struct comm_msg msg = {.bytes = 1};
        if (!(r->starts && i == 0)) TRY(comm_recv(r->in, &msg));
        r->seen = ++msg.field[0];
        TRY(comm_send(r->out, &msg));
    }
    if (r->starts) {
        struct comm_msg last;
        TRY(comm_recv(r->in, &last));
        r->seen = last.field[0];
    }
    return WSC_OK;
}

/* Role by role in turn, so that every message crosses from one thread to another. */
static enum wsc_err set_workers(struct comm *comm, int n)
{
    int worker_of_role[N_RELAYS];
    for (int i = 0; i < N_RELAYS; i++)
        worker_of_role[i] = i % n;
    return comm_set_workers(comm, n, worker_of_role);
}

static WSC_CHECKED enum wsc_err make_ring(struct comm *comm, struct relay relay[N_RELAYS],
                                          int n_workers)
{
    int rank_of[N_RELAYS] = {0};
    TRY(comm_place(comm, N_RELAYS, rank_of));
    if (n_workers > 1) TRY(set_workers(comm, n_workers));
    for (int i = 0; i < N_RELAYS; i++)
        TRY(comm_link_open(comm, &relay[i].out, i, (i + 1) % N_RELAYS, &spec));
    for (int i = 0; i < N_RELAYS; i++) {
        relay[i].in = relay[(i + N_RELAYS - 1) % N_RELAYS].out;
        relay[i].starts = i == 0;
        TRY(comm_spawn(comm, i, relay_run, &relay[i], 0, "relay"));
    }
    return WSC_OK;
}

TEST(comm, ring_of_fibers)
{
    for (int n_workers = 1; n_workers <= 4; n_workers++) {
        struct comm *comm = NULL;
        struct relay relay[N_RELAYS] = {0};
        T_OK(comm_create(&comm, false));
        T_OK(make_ring(comm, relay, n_workers));
        T_OK(comm_run(comm));
        T_EQ(relay[0].seen, N_RELAYS * N_ROUNDS);
        T_EQ(comm_n_messages(comm), N_RELAYS * N_ROUNDS);
        /* Each hop costs 1 byte / 1 GB/s = 1000 ps on the link, and 10 ps of latency. */
        T_EQ(comm_link_time(relay[0].out)->busy_ps, 1000 * N_ROUNDS);
        T_EQ(comm_link_time(relay[0].out)->free.ps, 1000 * N_ROUNDS);
        comm_destroy(&comm);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_COMM), 0);
}

/* A message that nobody took in one run is there in the next, also from another thread. */
static enum wsc_err send_one(void *arg)
{
    const struct comm_msg msg = {.kind = 7, .bytes = 1};
    return comm_send(arg, &msg);
}

static enum wsc_err take_one(void *arg)
{
    struct comm_msg msg;
    TRY(comm_recv(arg, &msg));
    return msg.kind == 7 ? WSC_OK : WSC_RAISE(WSC_NUMERIC, "kind %d", msg.kind);
}

static enum wsc_err pass_over_runs(int n_workers, int n_taken)
{
    struct comm *comm = NULL;
    struct comm_link *link;
    T_OK(comm_create(&comm, false));
    T_OK(comm_place(comm, 2, (int[]){0, 0}));
    T_OK(comm_set_workers(comm, n_workers, (int[]){0, n_workers - 1}));
    T_OK(comm_link_open(comm, &link, 0, 1, &spec));
    T_OK(comm_spawn(comm, 0, send_one, link, 0, "sender"));
    T_OK(comm_run(comm));
    for (int i = 0; i < n_taken; i++)
        T_OK(comm_spawn(comm, 1, take_one, link, 0, "receiver"));
    const enum wsc_err rc = comm_run(comm);
    comm_destroy(&comm);
    return rc;
}

TEST(comm, messages_outlast_a_run)
{
    for (int n_workers = 1; n_workers <= 3; n_workers++) {
        T_OK(pass_over_runs(n_workers, 1));
        T_EQ(pass_over_runs(n_workers, 2), WSC_DEADLOCK);
        CU_ASSERT_PTR_NOT_NULL(
            strstr(wsc_err_message(), "receiver waits for role 0 to send token"));
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_COMM), 0);
}

static enum wsc_err wait_for_ever(void *arg)
{
    struct comm_msg msg;
    return comm_recv(arg, &msg);
}

TEST(comm, deadlock_says_who_waits_for_whom)
{
    for (int n_workers = 1; n_workers <= 2; n_workers++) {
        struct comm *comm = NULL;
        struct comm_link *ab, *ba;
        T_OK(comm_create(&comm, false));
        T_OK(comm_place(comm, 2, (int[]){0, 0}));
        T_OK(comm_set_workers(comm, n_workers, (int[]){0, n_workers - 1}));
        T_OK(comm_link_open(comm, &ab, 0, 1, &spec));
        T_OK(comm_link_open(comm, &ba, 1, 0, &spec));
        T_OK(comm_spawn(comm, 0, wait_for_ever, ba, 0, "shard 0"));
        T_OK(comm_spawn(comm, 1, wait_for_ever, ab, 0, "wafer 0"));
        T_EQ(comm_run(comm), WSC_DEADLOCK);
        CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "shard 0 waits for role 1 to send token"));
        CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "wafer 0 waits for role 0 to send token"));
        comm_destroy(&comm);
    }
}

static enum wsc_err fail_once(void *arg)
{
    (void)arg;
    return WSC_RAISE(WSC_IO, "no such file");
}

TEST(comm, an_error_of_a_fiber_ends_the_run)
{
    for (int n_workers = 1; n_workers <= 3; n_workers++) {
        struct comm *comm = NULL;
        struct comm_link *link;
        T_OK(comm_create(&comm, false));
        T_OK(comm_place(comm, 2, (int[]){0, 0}));
        T_OK(comm_set_workers(comm, n_workers, (int[]){0, n_workers - 1}));
        T_OK(comm_link_open(comm, &link, 1, 0, &spec));
        T_OK(comm_spawn(comm, 0, wait_for_ever, link, 0, "shard 0"));
        T_OK(comm_spawn(comm, 1, fail_once, NULL, 0, "wafer 0"));
        T_EQ(comm_run(comm), WSC_IO);
        T_STR(wsc_err_message(), "no such file");
        comm_destroy(&comm);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_COMM), 0);
}

/* What a failed run left, a program that was ready among it, is nothing to a run of new programs
 * over new links. */
static enum wsc_err run_two(struct comm *comm, comm_fiber_fn first, comm_fiber_fn second)
{
    struct comm_link *link;
    TRY(comm_place(comm, 2, (int[]){0, 0}));
    TRY(comm_link_open(comm, &link, 0, 1, &spec));
    TRY(comm_spawn(comm, 0, first, link, 0, "first"));
    TRY(comm_spawn(comm, 1, second, link, 0, "second"));
    return comm_run(comm);
}

TEST(comm, a_run_after_one_that_failed)
{
    for (int n_workers = 1; n_workers <= 3; n_workers++) {
        struct comm *comm = NULL;
        T_OK(comm_create(&comm, false));
        T_OK(comm_place(comm, 2, (int[]){0, 0}));
        T_OK(comm_set_workers(comm, n_workers, (int[]){0, n_workers - 1}));
        T_EQ(run_two(comm, fail_once, take_one), WSC_IO);
        T_OK(run_two(comm, send_one, take_one));
        T_EQ(run_two(comm, send_one, fail_once), WSC_IO);
        T_OK(run_two(comm, send_one, take_one));
        comm_destroy(&comm);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_COMM), 0);
}

/* Stacks of @p bytes for threads that do not say how large theirs is; the size before. */
static size_t set_thread_stacks(size_t bytes)
{
    pthread_attr_t attr;
    size_t before = 0;
    CU_ASSERT(!pthread_getattr_default_np(&attr));
    CU_ASSERT(!pthread_attr_getstacksize(&attr, &before));
    CU_ASSERT(!pthread_attr_setstacksize(&attr, bytes));
    CU_ASSERT(!pthread_setattr_default_np(&attr));
    (void)pthread_attr_destroy(&attr);
    return before;
}

/* No address space has room for such a stack: pthread_create() returns EAGAIN. */
TEST(comm, a_worker_without_a_thread_ends_the_run)
{
    const size_t huge = (size_t)1 << 50;
    struct comm *comm = NULL;
    T_OK(comm_create(&comm, false));
    T_OK(comm_place(comm, 2, (int[]){0, 0}));
    T_OK(comm_set_workers(comm, 2, (int[]){0, 1}));
    const size_t before = set_thread_stacks(huge);
    T_EQ(run_two(comm, send_one, take_one), WSC_NOMEM);
    (void)set_thread_stacks(before);
    T_STR(wsc_err_message(), "a worker: no thread: Resource temporarily unavailable");
    T_OK(run_two(comm, send_one, take_one));
    comm_destroy(&comm);
    T_EQ(wsc_mem_in_use(WSC_MEM_COMM), 0);
}

/* A sender that may have two payloads waiting never has three. */
struct bounded {
    struct comm *comm;
    struct comm_link *link;
    int alive, most;
};

static enum wsc_err produce(void *arg)
{
    struct bounded *b = arg;
    for (int i = 0; i < 10; i++) {
        struct comm_msg msg = {.index = i};
        TRY(comm_buf_create(b->comm, &msg.payload, 64));
        memset(comm_buf_data(msg.payload), i, 64);
        TRY(comm_send(b->link, &msg));
        b->alive++;
        if (b->alive > b->most) b->most = b->alive;
    }
    return WSC_OK;
}

static enum wsc_err consume(void *arg)
{
    struct bounded *b = arg;
    for (int i = 0; i < 10; i++) {
        struct comm_msg msg;
        TRY(comm_recv(b->link, &msg));
        b->alive--;
        const char *data = comm_buf_data(msg.payload);
        if (msg.index != i || data[63] != i) return WSC_RAISE(WSC_FORMAT, "message %d", i);
        comm_buf_unref(&msg.payload);
    }
    return WSC_OK;
}

TEST(comm, payloads_waiting_are_bounded)
{
    struct bounded b = {0};
    const struct comm_link_spec narrow = {
        .rate_bytes_per_s = 1000000000, .latency_ps = 10, .max_waiting = 2, .name = "data"};
    T_OK(comm_create(&b.comm, false));
    T_OK(comm_place(b.comm, 2, (int[]){0, 0}));
    T_OK(comm_link_open(b.comm, &b.link, 0, 1, &narrow));
    T_OK(comm_spawn(b.comm, 0, produce, &b, 0, "producer"));
    T_OK(comm_spawn(b.comm, 1, consume, &b, 0, "consumer"));
    T_OK(comm_run(b.comm));
    CU_ASSERT(b.most <= 2);
    comm_destroy(&b.comm);
    T_EQ(wsc_mem_in_use(WSC_MEM_COMM), 0);
}

/* A limit that cannot be read is an error that names it, not the default. */
TEST(comm, limits_from_the_environment_are_checked)
{
    static const char *const name[] = {"WSC_HEARTBEAT_SECONDS", "WSC_STALL_SECONDS"};
    static const char *const bad[] = {"", "soon", "-1", "1.5", "60s"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char before[32] = "";
        struct comm *comm = NULL;
        if (getenv(name[i])) (void)snprintf(before, sizeof before, "%s", getenv(name[i]));
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            (void)setenv(name[i], bad[k], 1);
            T_EQ(comm_create(&comm, false), WSC_USAGE);
            T_TRUE(!comm && strstr(wsc_err_message(), name[i]));
        }
        (void)setenv(name[i], "30", 1);
        T_OK(comm_create(&comm, false));
        comm_destroy(&comm);
        (void)unsetenv(name[i]);
        if (before[0]) (void)setenv(name[i], before, 1);
    }
}

/* ---- computations of fibers ---- */

enum { N_COMPUTING = 4, COMPUTE_ROUNDS = 3 };

struct crowd {
    struct comm *comm;
    _Atomic int inside, most; /* computations at a time */
    int turns, most_turns;    /* fibers between their turn and the end of their computation */
    int n_meet;               /* that wait for each other, within some seconds */
};
struct member {
    struct crowd *crowd;
    int64_t sum;
    int fails_in; /* this round; -1: none */
    int round;
};

static enum wsc_err add_up(void *arg)
{
    struct member *m = arg;
    struct crowd *c = m->crowd;
    const struct timespec nap = {.tv_nsec = 1000000};
    const int now = atomic_fetch_add(&c->inside, 1) + 1;
    if (now > atomic_load(&c->most)) atomic_store(&c->most, now);
    for (int i = 0; i < 10000 && atomic_load(&c->most) < c->n_meet; i++)
        (void)nanosleep(&nap, NULL);
    m->sum += m->round;
    (void)atomic_fetch_sub(&c->inside, 1);
    return m->round == m->fails_in ? WSC_RAISE(WSC_NUMERIC, "round %d", m->round) : WSC_OK;
}

static enum wsc_err member_run(void *arg)
{
    struct member *m = arg;
    struct crowd *c = m->crowd;
    for (m->round = 0; m->round < COMPUTE_ROUNDS; m->round++) {
        comm_compute_turn(c->comm);
        if (++c->turns > c->most_turns) c->most_turns = c->turns;
        const enum wsc_err rc = comm_compute(c->comm, add_up, m);
        c->turns--;
        TRY(rc);
    }
    return WSC_OK;
}

/* @p fails_in: round in which the last fiber's computation fails. */
static enum wsc_err compute_together(int n_threads, int fails_in, struct crowd *c)
{
    struct member member[N_COMPUTING] = {0};
    *c = (struct crowd){.n_meet = n_threads};
    num_init(n_threads);
    T_OK(comm_create(&c->comm, false));
    T_OK(comm_place(c->comm, N_COMPUTING, (int[N_COMPUTING]){0}));
    for (int i = 0; i < N_COMPUTING; i++) {
        member[i] = (struct member){.crowd = c, .fails_in = -1};
        T_OK(comm_spawn(c->comm, i, member_run, &member[i], 0, "member"));
    }
    member[N_COMPUTING - 1].fails_in = fails_in;
    const enum wsc_err rc = comm_run(c->comm);
    for (int i = 0; i < N_COMPUTING && !rc; i++)
        T_EQ(member[i].sum, COMPUTE_ROUNDS * (COMPUTE_ROUNDS - 1) / 2);
    comm_destroy(&c->comm);
    num_init(1);
    return rc;
}

/* As many at a time as there are threads, also where that does not divide the fibers; no more have
 * their turn, so that no more results wait in memory. */
TEST(comm, fibers_compute_on_all_threads)
{
    for (int n_threads = 1; n_threads <= N_COMPUTING; n_threads++) {
        struct crowd crowd;
        T_OK(compute_together(n_threads, -1, &crowd));
        T_EQ(crowd.most, n_threads);
        T_EQ(crowd.most_turns, n_threads);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_COMM), 0);
}

TEST(comm, an_error_of_a_computation_has_its_message)
{
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        struct crowd crowd;
        T_EQ(compute_together(n_threads, 1, &crowd), WSC_NUMERIC);
        T_STR(wsc_err_message(), "round 1");
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_COMM), 0);
}

/* What OMP_NUM_THREADS asks for is taken whatever the work; without it the work is a limit. */
TEST(comm, threads_follow_the_environment_and_the_work)
{
    struct comm *comm;
    T_OK(comm_create(&comm, false));
    const char *before = getenv("OMP_NUM_THREADS");
    char saved[32] = "";
    if (before) (void)snprintf(saved, sizeof saved, "%s", before);
    (void)setenv("OMP_NUM_THREADS", "7", 1);
    T_EQ(comm_threads(1), 7);
    (void)setenv("OMP_NUM_THREADS", "2000000", 1);
    T_EQ(comm_threads(1), 1024);
    (void)setenv("OMP_NUM_THREADS", "-3", 1);
    T_EQ(comm_threads(1), 1);
    (void)unsetenv("OMP_NUM_THREADS");
    T_EQ(comm_threads(0), 1);
    T_EQ(comm_threads(1), 1);
    CU_ASSERT(comm_threads(1000) >= 1 && comm_threads(1000) <= comm_allowed_processors());
    if (comm_quota_of_processors() <= 0) T_EQ(comm_threads(1000), comm_allowed_processors());
    if (before) (void)setenv("OMP_NUM_THREADS", saved, 1);
    comm_destroy(&comm);
}
