// SPDX-License-Identifier: Apache-2.0
#include "comm_impl.h"

#include <wsc/check.h>
#include <wsc/clock.h>
#include <wsc/units.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- start and end --------------------------------------------------------------------------- */

void comm_abort(int status)
{
    int started = 0, ended = 0;
    (void)fflush(NULL);
    (void)MPI_Initialized(&started);
    (void)MPI_Finalized(&ended);
    if (started && !ended) (void)MPI_Abort(MPI_COMM_WORLD, status);
    _exit(status);
}

static void abort_job(void)
{
    comm_abort(1);
}

enum wsc_err comm_raise_mpi(int mpi_rc, const char *call, const char *file, int line)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    (void)MPI_Error_string(mpi_rc, text, &length);
    return wsc_err_raise(WSC_MPI, file, line, "%s: %s", call, text);
}

/* More ranks than processors on this host: idle ranks then sleep instead of spinning. */
static enum wsc_err look_around(struct comm *comm)
{
    int n_here;
    TRY(comm_hosts_learn(comm, &n_here));
    comm->oversubscribed = n_here > sysconf(_SC_NPROCESSORS_ONLN);
    return WSC_OK;
}

static enum wsc_err start_mpi(struct comm *comm)
{
    int started = 0, provided = 0;
    TRY_MPI(MPI_Initialized(&started));
    if (!started) TRY_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
    comm->started_mpi = !started;
    /* A communicator of our own: tags cannot meet another library's, errors return. */
    TRY_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm->world));
    TRY_MPI(MPI_Comm_set_errhandler(comm->world, MPI_ERRORS_RETURN));
    TRY_MPI(MPI_Comm_rank(comm->world, &comm->rank));
    TRY_MPI(MPI_Comm_size(comm->world, &comm->size));
    return look_around(comm);
}

/* Seconds from the environment variable @p name: a whole number, or @p otherwise. */
static double seconds_from(const char *name, double otherwise)
{
    const char *text = getenv(name);
    int64_t seconds = 0;
    if (!text || wsc_units_int(text, &seconds) || seconds < 0) return otherwise;
    return (double)seconds;
}

/* WSC_INJECT=mute:RANK:N, garble:RANK:N or long:RANK:N, for tests of what watches over a run: the
 * link of the N-th message that a rank sends is mute from then on; or that message has a wrong
 * kind; or it, or the next that goes to another rank, is longer than MPI is told to expect. */
static void inject_from_environment(struct comm *comm)
{
    const char *text = getenv("WSC_INJECT");
    char kind[16], rank_text[16];
    int64_t rank, n;
    const size_t first = text ? strcspn(text, ":") : 0;
    if (!first || !text[first]) return;
    const size_t second = strcspn(text + first + 1, ":");
    (void)snprintf(kind, sizeof kind, "%.*s", (int)first, text);
    (void)snprintf(rank_text, sizeof rank_text, "%.*s", (int)second, text + first + 1);
    if (!text[first + 1 + second] || wsc_units_int(rank_text, &rank) || rank != comm->rank ||
        wsc_units_int(text + first + second + 2, &n))
        return;
    if (!strcmp(kind, "mute")) comm->mute_message = n;
    if (!strcmp(kind, "garble")) comm->garble_message = n;
    if (!strcmp(kind, "long")) comm->long_message = n;
}

/* Large jobs take a minute to start, so that the start has more time than a heartbeat. */
static enum wsc_err start_watched(struct comm *comm)
{
    enum { DEFAULT_S = 60, TIMES_FOR_START = 5 };
    const double limit_s = seconds_from("WSC_HEARTBEAT_SECONDS", DEFAULT_S);
    struct comm_guard *guard = comm_guard_begin(limit_s * TIMES_FOR_START);
    enum wsc_err rc = start_mpi(comm);
    if (!rc && comm->started_mpi) rc = comm_watch_start(comm, limit_s);
    comm_guard_end(guard);
    return rc;
}

enum wsc_err comm_create(struct comm **out, bool use_mpi)
{
    enum { DEFAULT_CHUNK_BYTES = 4 << 20, DEFAULT_CHUNKS = 8, DEFAULT_STALL_S = 1800 };
    struct comm *comm;
    TRY_NEW(comm, WSC_MEM_COMM, 1);
    *out = comm;
    comm->size = 1;
    comm->use_mpi = use_mpi;
    comm->subgroup = MPI_COMM_NULL;
    comm->stall_limit_s = seconds_from("WSC_STALL_SECONDS", DEFAULT_STALL_S);
    comm_set_chunks(comm, DEFAULT_CHUNK_BYTES, DEFAULT_CHUNKS);
    TRY(use_mpi ? start_watched(comm) : look_around(comm));
    inject_from_environment(comm);
    if (use_mpi) wsc_check_set_abort(abort_job);
    return WSC_OK;
}

static void free_bufs(struct comm *comm)
{
    while (comm->free_bufs) {
        struct comm_buf *b = comm->free_bufs;
        comm->free_bufs = b->next;
        wsc_free(b->data);
        wsc_free(b);
    }
}

static void free_nodes(struct comm *comm)
{
    while (comm->free_nodes) {
        struct comm_node *node = comm->free_nodes;
        comm->free_nodes = node->next;
        wsc_free(node);
    }
}

static void end_mpi(struct comm *comm)
{
    if (comm->subgroup != MPI_COMM_NULL) (void)MPI_Comm_free(&comm->subgroup);
    (void)MPI_Comm_free(&comm->world);
    wsc_check_set_abort(NULL);
    comm_watch_waits(comm->watch, "the end of the job");
    if (comm->started_mpi) (void)MPI_Finalize();
    comm_watch_end(comm);
}

void comm_destroy(struct comm **comm)
{
    struct comm *c = *comm;
    *comm = NULL;
    if (!c) return;
    if (c->use_mpi) comm_remote_cancel(c);
    for (int i = 0; i < c->n_fibers; i++)
        comm_fiber_destroy(c->fiber[i]);
    comm_links_destroy(c);
    comm_record_fini(c);
    free_bufs(c);
    free_nodes(c);
    comm_fiber_free_stacks(c);
    if (c->use_mpi) end_mpi(c);
    wsc_free(c->fiber);
    wsc_free(c->rank_of_role);
    wsc_free(c->host_of_rank);
    wsc_free(c->host_name);
    wsc_free(c->request);
    wsc_free(c->request_of);
    wsc_free(c->completed);
    wsc_free(c->status);
    wsc_free(c);
}

int comm_rank(const struct comm *comm)
{
    return comm->rank;
}

int comm_size(const struct comm *comm)
{
    return comm->size;
}

void comm_set_chunks(struct comm *comm, int64_t chunk_bytes, int64_t chunks_in_flight)
{
    enum { MAX_CHUNK_BYTES = 1 << 30 };
    comm->chunk_bytes = chunk_bytes < MAX_CHUNK_BYTES ? chunk_bytes : MAX_CHUNK_BYTES;
    comm->chunks_in_flight = chunks_in_flight;
}

int64_t comm_n_messages(const struct comm *comm)
{
    return comm->n_messages;
}

/* ---- collectives ----------------------------------------------------------------------------- */

static enum wsc_err share(struct comm *comm, char **bytes, int64_t *n_bytes)
{
    long long n = *n_bytes;
    TRY_MPI(MPI_Bcast(&n, 1, MPI_LONG_LONG, 0, comm->world));
    *n_bytes = n;
    if (comm->rank) *bytes = NULL;
    if (n < 0) return WSC_OK;
    if (comm->rank) {
        *bytes = wsc_alloc(WSC_MEM_COMM, (size_t)n + 1, 1);
        if (!*bytes) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "share bytes");
    }
    for (int64_t at = 0; at < n; at += comm->chunk_bytes) {
        const int64_t left = n - at;
        const int count = (int)(left < comm->chunk_bytes ? left : comm->chunk_bytes);
        TRY_MPI(MPI_Bcast(*bytes + at, count, MPI_BYTE, 0, comm->world));
    }
    return WSC_OK;
}

enum wsc_err comm_share(struct comm *comm, char **bytes, int64_t *n_bytes)
{
    if (!comm->use_mpi) return WSC_OK;
    comm_watch_waits(comm->watch, "rank 0 shares a text with all ranks");
    enum wsc_err rc = share(comm, bytes, n_bytes);
    comm_watch_waits(comm->watch, NULL);
    return rc ? wsc_err_frame(rc, __FILE__, __LINE__, "share") : WSC_OK;
}

enum wsc_err comm_agree(struct comm *comm, enum wsc_err rc, bool *mine)
{
    struct {
        int rank, rc;
    } first = {.rc = (int)rc};
    int candidate = rc ? comm->rank : comm->size;
    *mine = rc != WSC_OK;
    if (!comm->use_mpi) return rc;
    comm_watch_waits(comm->watch, "all ranks compare their errors");
    (void)MPI_Allreduce(&candidate, &first.rank, 1, MPI_INT, MPI_MIN, comm->world);
    if (first.rank < comm->size) (void)MPI_Bcast(&first.rc, 1, MPI_INT, first.rank, comm->world);
    comm_watch_waits(comm->watch, NULL);
    *mine = comm->rank == first.rank;
    return first.rank < comm->size ? (enum wsc_err)first.rc : WSC_OK;
}

int64_t comm_max(struct comm *comm, int64_t value)
{
    long long all = value;
    if (!comm->use_mpi) return value;
    comm_watch_waits(comm->watch, "all ranks compare a number");
    (void)MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_LONG_LONG, MPI_MAX, comm->world);
    comm_watch_waits(comm->watch, NULL);
    return all;
}

void comm_barrier(struct comm *comm)
{
    comm_watch_waits(comm->watch, "all ranks meet");
    if (comm->use_mpi) (void)MPI_Barrier(comm->world);
    comm_watch_waits(comm->watch, NULL);
}

const void *comm_subgroup(struct comm *comm, bool member, int *rank, int *size)
{
    *rank = 0;
    *size = 1;
    if (!comm->use_mpi) return NULL;
    if (comm->subgroup != MPI_COMM_NULL) (void)MPI_Comm_free(&comm->subgroup);
    (void)MPI_Comm_split(comm->world, member ? 0 : MPI_UNDEFINED, comm->rank, &comm->subgroup);
    if (comm->subgroup == MPI_COMM_NULL) return NULL;
    (void)MPI_Comm_rank(comm->subgroup, rank);
    (void)MPI_Comm_size(comm->subgroup, size);
    return &comm->subgroup;
}

static enum wsc_err reduce_subgroup(struct comm *comm, void *x, int n, MPI_Datatype type, MPI_Op op)
{
    if (MPI_Allreduce(MPI_IN_PLACE, x, n, type, op, comm->subgroup) == MPI_SUCCESS) return WSC_OK;
    return WSC_RAISE(WSC_MPI, "the ranks that write a checkpoint lost contact");
}

enum wsc_err comm_subgroup_max(struct comm *comm, int64_t *x)
{
    return reduce_subgroup(comm, x, 1, MPI_INT64_T, MPI_MAX);
}

enum wsc_err comm_subgroup_sum(struct comm *comm, uint64_t *x, int n)
{
    return reduce_subgroup(comm, x, n, MPI_UINT64_T, MPI_SUM);
}

enum wsc_err comm_place(struct comm *comm, int n_roles, const int *rank_of_role)
{
    wsc_free(comm->rank_of_role);
    TRY_NEW(comm->rank_of_role, WSC_MEM_COMM, n_roles);
    for (int r = 0; r < n_roles; r++) {
        WSC_CHECK(rank_of_role[r] >= 0 && rank_of_role[r] < comm->size, "role %d on rank %d of %d",
                  r, rank_of_role[r], comm->size);
        comm->rank_of_role[r] = rank_of_role[r];
    }
    comm->n_roles = n_roles;
    return WSC_OK;
}

bool comm_is_local(const struct comm *comm, int role)
{
    return comm->rank_of_role[role] == comm->rank;
}

/* ---- running --------------------------------------------------------------------------------- */

static enum wsc_err reserve_fiber(struct comm *comm)
{
    if (comm->n_fibers < comm->fiber_capacity) return WSC_OK;
    int capacity = comm->fiber_capacity ? 2 * comm->fiber_capacity : 16;
    struct comm_fiber **fiber =
        wsc_realloc(WSC_MEM_COMM, comm->fiber, (size_t)capacity, sizeof(struct comm_fiber *));
    if (!fiber) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "spawn");
    comm->fiber = fiber;
    comm->fiber_capacity = capacity;
    return WSC_OK;
}

enum wsc_err comm_spawn(struct comm *comm, int role, comm_fiber_fn fn, void *arg,
                        int64_t stack_bytes, const char *name)
{
    WSC_CHECK(comm_is_local(comm, role), "%s lives on rank %d", name, comm->rank_of_role[role]);
    TRY(reserve_fiber(comm));
    struct comm_fiber *f;
    TRY(comm_fiber_create(comm, &f, stack_bytes));
    f->fn = fn;
    f->arg = arg;
    f->role = role;
    f->of_the_pass = comm_record_of_next(comm, role);
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    comm->fiber[comm->n_fibers++] = f;
    comm_fiber_make_ready(comm, f);
    return WSC_OK;
}

/* "wafer 3 waits for role 1 (weights); ..." */
static void describe_waits(const struct comm *comm, char *text, size_t size)
{
    enum { MAX_NAMED = 12 };
    size_t used = 0;
    int named = 0;
    text[0] = '\0';
    for (int i = 0; i < comm->n_fibers && named < MAX_NAMED; i++) {
        const struct comm_fiber *f = comm->fiber[i];
        if (f->state == FIBER_DONE || !f->waits_for) continue;
        const struct comm_link *l = f->waits_for;
        bool sending = f->state == FIBER_SENDING;
        int n = snprintf(text + used, size - used, "%s%s waits for role %d to %s %s",
                         named++ ? "; " : "", f->name, sending ? l->dst : l->src,
                         sending ? "take" : "send", l->name);
        if (n < 0 || (size_t)n >= size - used) return;
        used += (size_t)n;
    }
}

static enum wsc_err raise_stuck(const struct comm *comm, const char *how)
{
    char waits[1500];
    describe_waits(comm, waits, sizeof waits);
    return WSC_RAISE(WSC_DEADLOCK, "rank %d: %s: %s", comm->rank, how, waits);
}

/* Give the processor to those who have work.  With more ranks than processors a waiting rank
 * sleeps, longer each time up to a millisecond: a dozen that wake every few microseconds would
 * take a processor of their own. */
static void give_way(const struct comm *comm, int64_t spins)
{
    enum { FIRST_NAP_NS = 20000, LONGEST_NAP_NS = 1000000, SPINS_PER_DOUBLING = 4 };
    if (!comm->oversubscribed) {
        (void)sched_yield();
        return;
    }
    long ns = FIRST_NAP_NS;
    for (int64_t i = 0; i < spins / SPINS_PER_DOUBLING && ns < LONGEST_NAP_NS; i++)
        ns *= 2;
    const struct timespec nap = {.tv_nsec = ns < LONGEST_NAP_NS ? ns : LONGEST_NAP_NS};
    (void)nanosleep(&nap, NULL);
}

static void tell_waits(const struct comm *comm)
{
    char waits[1500];
    if (!comm->watch) return;
    describe_waits(comm, waits, sizeof waits);
    comm_watch_waits(comm->watch, waits[0] ? waits : "its messages are not taken");
}

static enum wsc_err wait_until_moved(struct comm *comm)
{
    enum { SPINS = 64, TELL_AT = 256, LOOK_AT_CLOCK = 1024 };
    double since = wsc_clock_s();
    bool moved = false;
    for (int64_t spins = 0; !moved; spins++) {
        TRY(comm_remote_poll(comm, &moved));
        if (moved) break;
        if (!comm->n_requests) return raise_stuck(comm, "no role can move any more");
        if (spins < SPINS) continue;
        give_way(comm, spins - SPINS);
        if (spins == TELL_AT) tell_waits(comm);
        if (spins % LOOK_AT_CLOCK == 0 && wsc_clock_s() - since > comm->stall_limit_s)
            return raise_stuck(comm, "nothing has arrived for too long");
    }
    return WSC_OK;
}

/* Nothing to run here: let MPI work. */
static enum wsc_err wait_for_others(struct comm *comm)
{
    enum wsc_err rc = wait_until_moved(comm);
    comm_watch_waits(comm->watch, NULL);
    comm_watch_moved(comm->watch);
    return rc;
}

static enum wsc_err run_next(struct comm *comm)
{
    struct comm_fiber *f = comm->ready_head;
    comm->ready_head = f->next;
    if (!comm->ready_head) comm->ready_tail = NULL;
    comm_watch_moved(comm->watch);
    comm_fiber_resume(comm, f);
    if (f->state != FIBER_DONE) return WSC_OK;
    comm->n_done++;
    return f->rc ? wsc_err_frame(f->rc, __FILE__, __LINE__, f->name) : WSC_OK;
}

static enum wsc_err take_turn(struct comm *comm, int64_t turn)
{
    enum { POLL_EVERY = 8 };
    bool moved;
    if (!comm->ready_head) return wait_for_others(comm);
    TRY(run_next(comm));
    return turn % POLL_EVERY ? WSC_OK : comm_remote_poll(comm, &moved);
}

static enum wsc_err run_all(struct comm *comm)
{
    for (int64_t turn = 1; comm->n_done < comm->n_fibers; turn++)
        TRY(take_turn(comm, turn));
    while (comm_remote_sending(comm))
        TRY(wait_for_others(comm));
    return WSC_OK;
}

enum wsc_err comm_run(struct comm *comm)
{
    enum wsc_err rc = run_all(comm);
    for (int i = 0; i < comm->n_fibers; i++)
        comm_fiber_destroy(comm->fiber[i]);
    comm->n_fibers = comm->n_done = 0;
    comm->ready_head = comm->ready_tail = NULL;
    return rc;
}
