// SPDX-License-Identifier: Apache-2.0
/* The record of virtual time across ranks.  Each sequential program of a role has a recorder of its
 * own, numbered by the role and by its place among the role's programs, so that the ids of events
 * do not depend on who runs what; comm_recv() adds the arrival of a message to the receiver's.
 * After a pass rank 0 collects what all recorders hold.  Read by timeline. */
#include "comm_state.h"

#include <wsc/check.h>

#include <string.h>

/* Most programs of a role: one sends, one receives. */
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

/* What precedes the arrays of a recorder on its way to rank 0. */
struct comm_record_head {
    int32_t id;
    int64_t n_before, n_events, n_edges, n_bars;
};

/* The first failure of the recorders here, and the bytes of what they hold. */
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

/* Copy items to a packed record; returns its end. */
static char *put(char *to, const void *from, int64_t n, size_t item_bytes)
{
    const size_t bytes = (size_t)n * item_bytes;
    if (bytes) memcpy(to, from, bytes);
    return to + bytes;
}

/* Move what the recorders here hold to @p to. */
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

/* Copy items out of a packed record into memory of their own. */
static enum wsc_err get(const char **from, void **items, int64_t n, size_t item_bytes)
{
    const size_t bytes = (size_t)n * item_bytes;
    *items = wsc_alloc_raw(WSC_MEM_TIMELINE, (size_t)n + 1, item_bytes);
    if (!*items) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "gather virtual time");
    memcpy(*items, *from, bytes);
    *from += bytes;
    return WSC_OK;
}

/* One recorder from a packed record; out owns what was read also after an error. */
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

/* Bytes of rank @p from to rank 0, over @p world, which nothing else uses. */
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

/* Rank 0: the recorders of one rank, by their ids. */
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

/* Sizes first, then each rank in turn, over a communicator of its own so that no tag of a link can
 * meet. */
static enum wsc_err gather(struct comm *comm, int64_t mine, struct vtime_recorder *program)
{
    MPI_Comm world = MPI_COMM_NULL;
    long long n = mine, *of_rank;
    WSC_CHECK(program || comm->rank, "rank 0 has no room for the record");
    TRY_NEW(of_rank, WSC_MEM_COMM, comm->size);
    enum wsc_err rc = WSC_OK;
    if (MPI_Gather(&n, 1, MPI_LONG_LONG, of_rank, 1, MPI_LONG_LONG, 0, comm->world) ||
        MPI_Comm_dup(comm->world, &world))
        rc = WSC_RAISE(WSC_MPI, "rank %d: the record of virtual time is not gathered", comm->rank);
    if (!rc && comm->rank) rc = send_recorded(comm, world, mine);
    for (int r = 1; !rc && !comm->rank && r < comm->size; r++)
        rc = take_from(comm, world, r, of_rank[r], program);
    if (!rc) TRY_MPI(MPI_Comm_free(&world));
    wsc_free(of_rank);
    return rc;
}

enum wsc_err comm_record_gather(struct comm *comm, struct vtime_recorder *program)
{
    int64_t mine;
    TRY(measure(comm, &mine));
    for (int i = 0; program && i < count_programs(comm); i++)
        vtime_recorder_take(&comm->recorder[i], &program[i]);
    if (comm->size == 1) return WSC_OK;
    comm_watch_waits(comm->watch, "rank 0 gathers the record of virtual time");
    enum wsc_err rc = gather(comm, mine, program);
    comm_watch_waits(comm->watch, NULL);
    return rc;
}

int comm_n_programs(const struct comm *comm)
{
    return count_programs(comm);
}
