// SPDX-License-Identifier: Apache-2.0
/* The record of virtual time of all ranks. Each sequential program of a role has its own recorder,
 * numbered by the role and by the index among its programs, so ids of events do not depend on which
 * rank or thread runs the role. comm_recv() adds the arrival of a message to the receiver's
 * recorder. After a pass rank 0 collects all recorders. timeline reads them. */
#include "comm_state.h"

#include <wsc/check.h>

#include <string.h>

/* Most programs of a role: one that sends, one that receives. */
enum { PROGRAMS_PER_ROLE = 2 };

static int count_programs(const struct comm *comm)
{
    return PROGRAMS_PER_ROLE * comm->n_roles;
}

enum wsc_err comm_record(struct comm *comm, int64_t first_step, int64_t end_step)
{
    comm->recording = first_step < end_step;
    comm->record_first = first_step;
    comm->record_end = end_step;
    if (!comm->recording || comm->recorder) return WSC_OK;
    TRY_NEW(comm->recorder, WSC_MEM_COMM, count_programs(comm));
    for (int i = 0; i < count_programs(comm); i++)
        vtime_recorder_init(&comm->recorder[i], i);
    return WSC_OK;
}

void comm_record_fini(struct comm *comm)
{
    for (int i = 0; comm->recorder && i < count_programs(comm); i++)
        vtime_recorder_fini(&comm->recorder[i]);
    wsc_free(comm->recorder);
    comm->recorder = NULL;
}

struct vtime_recorder *comm_record_of_next(const struct comm *comm, int role)
{
    int n = 0;
    if (!comm->recording) return NULL;
    for (int i = 0; i < comm->n_fibers; i++)
        n += comm->fiber[i]->role == role;
    WSC_CHECK(n < PROGRAMS_PER_ROLE, "role %d has more than %d programs", role, PROGRAMS_PER_ROLE);
    return &comm->recorder[PROGRAMS_PER_ROLE * role + n];
}

struct vtime_recorder *comm_record_at(struct comm *comm, int64_t step, int transfer)
{
    struct comm_fiber *f = comm_running(comm);
    if (!f || !f->of_the_pass) return NULL;
    const bool recorded = step >= comm->record_first && step < comm->record_end;
    f->of_the_pass->step = step;
    f->of_the_pass->transfer = transfer;
    f->recorder = recorded ? f->of_the_pass : NULL;
    return f->recorder;
}

int comm_role_of_program(int program)
{
    return program / PROGRAMS_PER_ROLE;
}

struct vtime_recorder *comm_recorder(const struct comm *comm)
{
    return comm_running_recorder(comm);
}

/* ---- gathering ------------------------------------------------------------------------------- */

/* Header of a recorder that is sent to rank 0; its arrays follow. */
struct comm_record_head {
    int32_t id;
    int64_t n_before, n_events, n_edges, n_bars;
};

/* The first error of the recorders on this rank, and the bytes of their contents. */
static enum wsc_err measure(const struct comm *comm, int64_t *bytes)
{
    *bytes = 0;
    for (int i = 0; i < count_programs(comm); i++) {
        const struct vtime_recorder *r = &comm->recorder[i];
        if (r->rc) return r->rc;
        if (r->n_events + r->n_bars)
            *bytes += (int64_t)sizeof(struct comm_record_head) +
                      r->n_events * (int64_t)sizeof *r->event +
                      r->n_edges * (int64_t)sizeof *r->edge + r->n_bars * (int64_t)sizeof *r->bar;
    }
    return WSC_OK;
}

/* Copy items to a packed record. Returns the end of the record. */
static char *put(char *to, const void *from, int64_t n, size_t item_bytes)
{
    const size_t bytes = (size_t)n * item_bytes;
    if (bytes) memcpy(to, from, bytes);
    return to + bytes;
}

/* Pack the recorders of this rank to @p to. */
static void pack(struct comm *comm, char *to)
{
    for (int i = 0; i < count_programs(comm); i++) {
        struct vtime_recorder r;
        vtime_recorder_take(&comm->recorder[i], &r);
        const struct comm_record_head head = {r.id, r.n_before, r.n_events, r.n_edges, r.n_bars};
        if (r.n_events + r.n_bars) {
            to = put(to, &head, 1, sizeof head);
            to = put(to, r.event, r.n_events, sizeof *r.event);
            to = put(to, r.edge, r.n_edges, sizeof *r.edge);
            to = put(to, r.bar, r.n_bars, sizeof *r.bar);
        }
        vtime_recorder_fini(&r);
    }
}

/* Copy items of a packed record to newly allocated memory. */
static enum wsc_err get(const char **from, void **items, int64_t n, size_t item_bytes)
{
    const size_t bytes = (size_t)n * item_bytes;
    *items = wsc_alloc_raw(WSC_MEM_TIMELINE, (size_t)n + 1, item_bytes);
    if (!*items) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "gather virtual time");
    memcpy(*items, *from, bytes);
    *from += bytes;
    return WSC_OK;
}

/* Unpack one recorder; @p out owns the items that were read, also after an error. */
static enum wsc_err unpack(const char **from, struct vtime_recorder *out)
{
    struct comm_record_head head;
    void *event = NULL, *edge = NULL, *bar = NULL;
    memcpy(&head, *from, sizeof head);
    *from += sizeof head;
    enum wsc_err rc = get(from, &event, head.n_events, sizeof *out->event);
    if (!rc) rc = get(from, &edge, head.n_edges, sizeof *out->edge);
    if (!rc) rc = get(from, &bar, head.n_bars, sizeof *out->bar);
    vtime_recorder_init(out, head.id);
    out->event = event;
    out->edge = edge;
    out->bar = bar;
    out->n_before = head.n_before;
    out->n_events = head.n_events;
    out->n_edges = head.n_edges;
    out->n_bars = head.n_bars;
    return rc;
}

/* Send bytes of rank @p from to rank 0 over @p world, a communicator for this purpose alone. */
static enum wsc_err move_bytes(const struct comm *comm, MPI_Comm world, int from, char *bytes,
                               int64_t n)
{
    for (int64_t at = 0; at < n; at += comm->chunk_bytes) {
        const int64_t left = n - at;
        const int count = (int)(left < comm->chunk_bytes ? left : comm->chunk_bytes);
        if (comm->rank)
            TRY_MPI(MPI_Send(bytes + at, count, MPI_BYTE, 0, 0, world));
        else
            TRY_MPI(MPI_Recv(bytes + at, count, MPI_BYTE, from, 0, world, MPI_STATUS_IGNORE));
    }
    return WSC_OK;
}

/* Rank 0: receive the recorders of one rank and store them by their ids. */
static enum wsc_err take_from(const struct comm *comm, MPI_Comm world, int rank, int64_t n,
                              struct vtime_recorder *program)
{
    char *bytes;
    TRY_NEW(bytes, WSC_MEM_COMM, n + 1);
    const char *at = bytes;
    enum wsc_err rc = move_bytes(comm, world, rank, bytes, n);
    while (!rc && at < bytes + n) {
        struct comm_record_head head;
        memcpy(&head, at, sizeof head);
        rc = unpack(&at, &program[head.id]);
    }
    wsc_free(bytes);
    return rc;
}

/* On ranks other than 0: send everything that was recorded on this rank. */
static enum wsc_err send_recorded(struct comm *comm, MPI_Comm world, int64_t n)
{
    char *bytes;
    TRY_NEW(bytes, WSC_MEM_COMM, n + 1);
    pack(comm, bytes);
    enum wsc_err rc = move_bytes(comm, world, comm->rank, bytes, n);
    wsc_free(bytes);
    return rc;
}

/* Collect sizes first, then the records of one rank after the other, on a communicator of their
 * own, so that tags cannot be confused with those of links. */
static enum wsc_err gather(struct comm *comm, int64_t n_bytes, struct vtime_recorder *program)
{
    MPI_Comm world = MPI_COMM_NULL;
    long long n = n_bytes, *of_rank;
    WSC_CHECK(program || comm->rank, "rank 0 has no room for the record");
    TRY_NEW(of_rank, WSC_MEM_COMM, comm->size);
    enum wsc_err rc = WSC_OK;
    if (MPI_Gather(&n, 1, MPI_LONG_LONG, of_rank, 1, MPI_LONG_LONG, 0, comm->world) ||
        MPI_Comm_dup(comm->world, &world))
        rc = WSC_RAISE(WSC_MPI, "rank %d: the record of virtual time is not gathered", comm->rank);
    if (!rc && comm->rank) rc = send_recorded(comm, world, n_bytes);
    for (int r = 1; !rc && !comm->rank && r < comm->size; r++)
        rc = take_from(comm, world, r, of_rank[r], program);
    if (!rc) TRY_MPI(MPI_Comm_free(&world));
    wsc_free(of_rank);
    return rc;
}

enum wsc_err comm_record_gather(struct comm *comm, struct vtime_recorder *program)
{
    int64_t n_bytes;
    TRY(measure(comm, &n_bytes));
    for (int i = 0; program && i < count_programs(comm); i++)
        vtime_recorder_take(&comm->recorder[i], &program[i]);
    if (comm->size == 1) return WSC_OK;
    comm_watch_waits(comm->watch, "rank 0 gathers the record of virtual time");
    enum wsc_err rc = gather(comm, n_bytes, program);
    comm_watch_waits(comm->watch, NULL);
    return rc;
}

int comm_n_programs(const struct comm *comm)
{
    return count_programs(comm);
}
