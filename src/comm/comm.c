// SPDX-License-Identifier: Apache-2.0
/* Starts and ends the job on this rank. MPI gets a communicator of the job's own that returns
 * errors; the heartbeats of the ranks start with it. The other files of comm are by topic: links,
 * their remote ends, fibers, the scheduler, collectives, heartbeats. */
#include "comm_state.h"

#include <wsc/check.h>
#include <wsc/units.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- start and end --------------------------------------------------------------------------- */

/* Ends all ranks; called by failed checks. */
static void abort_job(void)
{
    comm_abort(1);
}

/* Choose whether messages are transferred ahead of the fibers that wait for them: yes if a network
 * is between ranks; inside one host it costs more than it saves (docs/decisions/0031). WSC_AHEAD=0
 * or 1 on rank 0 overrides the choice. */
static enum wsc_err choose_ahead(struct comm *comm)
{
    const char *text = getenv("WSC_AHEAD");
    int ahead = 0;
    for (int r = 0; r < comm->size; r++)
        if (comm->host_of_rank[r] != comm->host_of_rank[0]) ahead = 1;
    if (text && *text && strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return WSC_RAISE(WSC_USAGE, "WSC_AHEAD: expected 0 or 1, got '%s'", text);
    if (text && *text) ahead = *text == '1';
    if (comm->use_mpi) TRY_MPI(MPI_Bcast(&ahead, 1, MPI_INT, 0, comm->world));
    comm->ahead = ahead;
    return WSC_OK;
}

/* Learn which ranks share this host. With more ranks than processors, idle ranks sleep instead of
 * spinning. */
static enum wsc_err learn_hosts(struct comm *comm)
{
    int n_here;
    TRY(comm_hosts_learn(comm, &n_here));
    comm->oversubscribed = n_here > sysconf(_SC_NPROCESSORS_ONLN);
    return choose_ahead(comm);
}

/* The largest tag differs between MPI libraries and networks; the standard promises 32767.
 * MPI has it as an attribute of this communicator alone. */
static enum wsc_err learn_tags(struct comm *comm)
{
    const int *largest = NULL;
    int has = 0;
    TRY_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &has));
    if (has) comm->max_links = *largest;
    return WSC_OK;
}

/* If MPI was started by the caller (a test), it is not finalized here either. */
static enum wsc_err start_mpi(struct comm *comm)
{
    int started = 0, provided = 0;
    TRY_MPI(MPI_Initialized(&started));
    if (!started) TRY_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided));
    comm->started_mpi = !started;
    TRY_MPI(MPI_Query_thread(&provided));
    comm->may_thread = provided >= MPI_THREAD_SERIALIZED;
    /* A communicator of our own: tags cannot meet another library's, errors return. */
    TRY_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm->world));
    TRY_MPI(MPI_Comm_set_errhandler(comm->world, MPI_ERRORS_RETURN));
    TRY_MPI(MPI_Comm_rank(comm->world, &comm->rank));
    TRY_MPI(MPI_Comm_size(comm->world, &comm->size));
    TRY(learn_tags(comm));
    return learn_hosts(comm);
}

/* Seconds from the environment variable @p name, a whole number; *@p seconds stays when it is not
 * set. */
static enum wsc_err seconds_from(const char *name, double *seconds)
{
    const char *text = getenv(name);
    int64_t given = 0;
    if (!text) return WSC_OK;
    if (wsc_units_int(text, &given) || given < 0)
        return wsc_err_hint(
            WSC_RAISE(WSC_USAGE, "%s: expected a whole number of seconds, got \"%s\"", name, text),
            "%s=60, for example", name);
    *seconds = (double)given;
    return WSC_OK;
}

/* A limit that cannot be read keeps its default. */
static enum wsc_err read_limits(double *heartbeat_s, double *stall_s)
{
    *heartbeat_s = 60;
    *stall_s = 1800;
    enum wsc_err rc = seconds_from("WSC_STALL_SECONDS", stall_s);
    enum wsc_err first = seconds_from("WSC_HEARTBEAT_SECONDS", heartbeat_s);
    return first ? first : rc;
}

enum wsc_err comm_check_limits(void)
{
    double heartbeat_s, stall_s;
    return read_limits(&heartbeat_s, &stall_s);
}

/* For tests of heartbeats and error messages: WSC_INJECT=mute:RANK:N drops all messages of a link
 * from the N-th message of the rank on; garble:RANK:N gives this message a wrong kind; long:RANK:N
 * makes it, or the next one to another rank, longer than the receiver expects. */
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

/* Starting a large job takes a minute, so the time limit for the start is longer than that of a
 * heartbeat. */
static enum wsc_err start_watched(struct comm *comm, double limit_s)
{
    enum { TIMES_FOR_START = 5 };
    struct comm_guard *guard = comm_guard_begin(limit_s * TIMES_FOR_START);
    enum wsc_err rc = start_mpi(comm);
    if (!rc && comm->started_mpi) rc = comm_watch_start(comm, limit_s);
    comm_guard_end(guard);
    return rc;
}

/* Set defaults, read the environment, start MPI. Without MPI the process is a job of one rank. */
static enum wsc_err start(struct comm *comm)
{
    enum { DEFAULT_CHUNK_BYTES = 4 << 20, DEFAULT_CHUNKS = 8 };
    double heartbeat_s;
    enum wsc_err rc = read_limits(&heartbeat_s, &comm->stall_limit_s);
    if (rc && !comm->use_mpi) return rc;
    TRY(comm->use_mpi ? start_watched(comm, heartbeat_s) : learn_hosts(comm));
    comm_set_chunks(comm, DEFAULT_CHUNK_BYTES, DEFAULT_CHUNKS);
    inject_from_environment(comm);
    if (comm->use_mpi) wsc_check_set_abort(abort_job);
    return comm_progress_start(comm);
}

enum wsc_err comm_create(struct comm **out, bool use_mpi)
{
    TRY_NEW(*out, WSC_MEM_COMM, 1);
    struct comm *comm = *out;
    comm->size = 1;
    comm->use_mpi = use_mpi;
    comm->max_links = INT_MAX;
    comm->world = comm->subgroup = MPI_COMM_NULL;
    enum wsc_err rc = comm_workers_create(comm, 1);
    if (!rc) rc = start(comm);
    if (rc) comm_destroy(out);
    return rc;
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

/* MPI_Finalize may wait for slow ranks, so heartbeats run until it returns. */
static void end_mpi(struct comm *comm)
{
    if (comm->subgroup != MPI_COMM_NULL) (void)MPI_Comm_free(&comm->subgroup);
    if (comm->world != MPI_COMM_NULL) (void)MPI_Comm_free(&comm->world);
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
    comm_progress_end(c);
    if (c->use_mpi) comm_remote_cancel(c);
    for (int i = 0; i < c->n_fibers; i++)
        comm_fiber_destroy(c->fiber[i]);
    comm_links_destroy(c);
    comm_record_fini(c);
    free_bufs(c);
    comm_workers_destroy(c);
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
    enum { MAX_CHUNK_BYTES = 1 << 30, MAX_EAGER_BYTES = 60 << 10, EAGER_CHUNKS = 2 };
    const int64_t most = comm->ahead ? MAX_EAGER_BYTES : MAX_CHUNK_BYTES;
    comm->chunk_bytes = chunk_bytes < most ? chunk_bytes : most;
    comm->chunks_in_flight = chunks_in_flight * (comm->ahead ? EAGER_CHUNKS : 1);
}

int64_t comm_n_messages(const struct comm *comm)
{
    int64_t n = 0;
    for (int i = 0; i < comm->n_workers; i++)
        n += comm->worker[i]->n_messages;
    return n;
}
