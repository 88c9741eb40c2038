/** Roles, links, fibers, MPI.  Layer 3.  Owns MPI.
 *
 *  The emulated cluster is a Kahn process network: sequential programs (fibers) that read named
 *  first-in-first-out links in program order and wait for nothing else.  So nothing that they
 *  compute, values or virtual time, can depend on which fiber runs when or on which rank it lives.
 *  A role is what has a rank: one MemoryX shard, one SwarmX node, one wafer.  Roles on one rank
 *  take turns; a message between them is a pointer.  Between ranks it is one MPI header and the
 *  payload in pieces.  There is no global barrier and no wildcard receive.
 *
 *  Start reading at comm_spawn, comm_send, comm_recv, comm_run.
 */
#ifndef WSC_COMM_H
#define WSC_COMM_H
#include <wsc/err.h>
#include <wsc/vtime.h>

#include <stdbool.h>
#include <stdint.h>

struct comm;
struct comm_link;

/* ---- the job --------------------------------------------------------------------------------- */

/** Start MPI (when @p use_mpi) and learn rank and size.  One per process. */
enum wsc_err comm_create(struct comm **out, bool use_mpi) WSC_CHECKED;
/** Release everything; ends MPI when comm_create started it. */
void comm_destroy(struct comm **comm);
/** This rank; 0 without MPI. */
int comm_rank(const struct comm *comm);
/** The number of ranks; 1 without MPI. */
int comm_size(const struct comm *comm);
/** The host of each rank, (size): hosts are numbered by their first rank.  Borrowed. */
const int *comm_host_of_rank(const struct comm *comm);
/** Name of the host of rank @p rank; borrowed. */
const char *comm_host_name(const struct comm *comm, int rank);
/** Host transport: largest piece of a payload in one MPI message, and pieces posted at once. */
void comm_set_chunks(struct comm *comm, int64_t chunk_bytes, int64_t chunks_in_flight);
/** End every rank of the job with exit status @p status, at once. */
_Noreturn void comm_abort(int status);

/** Collectives over all ranks, for start-up and results only, never on the data path. */
/** Rank 0's bytes to everyone; *@p bytes is allocated on the other ranks (owned by the caller).
 *  @p n_bytes < 0 on rank 0 is passed on and means "nothing". */
enum wsc_err comm_share(struct comm *comm, char **bytes, int64_t *n_bytes) WSC_CHECKED;
/** The first failure of all ranks, by rank: every rank returns its code, and *@p mine tells the one
 *  rank that should print its message.  Collective: call it where every rank arrives, failed or
 *  not. */
enum wsc_err comm_agree(struct comm *comm, enum wsc_err rc, bool *mine) WSC_CHECKED;
/** Collect @p n items of @p bytes each: item i is that of rank i modulo the number of ranks, and
 *  afterwards every rank has all of them at @p items.  Collective. */
enum wsc_err comm_collect(struct comm *comm, void *items, int64_t bytes, int64_t n) WSC_CHECKED;
/** The largest @p value of all ranks. */
int64_t comm_max(struct comm *comm, int64_t value);
/** `const MPI_Comm *` of the ranks for which @p member is true, or NULL without MPI; collective.
 *  Valid until comm_destroy(); the newest call replaces the one before. */
const void *comm_subgroup(struct comm *comm, bool member, int *rank, int *size);
/** The largest *@p x of the ranks of comm_subgroup(); collective over those. */
enum wsc_err comm_subgroup_max(struct comm *comm, int64_t *x) WSC_CHECKED;
/** Sums of @p x over the ranks of comm_subgroup(), element by element, modulo 2^64; collective over
 *  those. */
enum wsc_err comm_subgroup_sum(struct comm *comm, uint64_t *x, int n) WSC_CHECKED;

/* ---- buffers --------------------------------------------------------------------------------- */

/** A payload with a reference count: a broadcast inside one process copies nothing. */
struct comm_buf;
/** A payload of @p bytes with undefined contents and one reference. */
enum wsc_err comm_buf_create(struct comm *comm, struct comm_buf **out, int64_t bytes) WSC_CHECKED;
/** The bytes of a payload, aligned to 64; borrowed. */
void *comm_buf_data(struct comm_buf *buf);
/** The number of bytes of a payload. */
int64_t comm_buf_bytes(const struct comm_buf *buf);
/** Take one more reference; returns @p buf. */
struct comm_buf *comm_buf_ref(struct comm_buf *buf);
/** Give back one reference and null the pointer; NULL allowed. */
void comm_buf_unref(struct comm_buf **buf);

/* ---- messages and links ---------------------------------------------------------------------- */

/** Words of 64 bits that a message has for its sender's own data. */
enum { COMM_MSG_FIELDS = 8 };
/** What every message carries.  `kind`, `step` and `index` say where in the protocol it belongs;
 *  the receiver names what it expects and anything else is a bug that ends the job. */
struct comm_msg {
    int32_t kind;
    int32_t index;
    int64_t step;
    struct vtime_span span;         /**< set by the link: arrival of first and last byte */
    int64_t bytes;                  /**< on the emulated link */
    int64_t field[COMM_MSG_FIELDS]; /**< meaning by kind, see <wsc/stream.h> */
    struct comm_buf *payload;       /**< host values, or NULL; a message owns one reference */
};

/** Place @p n_roles roles: rank_of_role[r] is copied.  Before any link. */
enum wsc_err comm_place(struct comm *comm, int n_roles, const int *rank_of_role) WSC_CHECKED;
/** True when @p role lives on this rank. */
bool comm_is_local(const struct comm *comm, int role);

/** Everything about a link but its ends. */
struct comm_link_spec {
    int64_t rate_bytes_per_s, latency_ps;
    struct vtime_loss loss;
    enum vtime_part part; /**< what the bytes on it are, for the record of virtual time */
    int max_waiting;  /**< payloads sent and not yet taken before the sender blocks; 0 = no limit */
    const char *name; /**< for the wait-for graph; borrowed, static */
};
/** A link from role @p src to role @p dst.  Every rank opens the same links in the same order (the
 *  count is the tag); *@p out is NULL where neither end is local.  Owned by comm. */
enum wsc_err comm_link_open(struct comm *comm, struct comm_link **out, int src, int dst,
                            const struct comm_link_spec *spec) WSC_CHECKED;
/** Give the link rate, latency and loss of @p spec from the next message on; NULL @p link, of
 *  another rank, allowed. */
void comm_link_change(struct comm_link *link, const struct comm_link_spec *spec);
/** The virtual side of the sending end: rate, occupation, counters. */
const struct vtime_link *comm_link_time(const struct comm_link *link);

/** Send; msg->span says when first and last byte are ready, msg->bytes what the emulated link
 *  carries.  What a lossy link loses is drawn from the message's kind, step and index.  Takes the
 * payload's reference.  May block the fiber (max_waiting). */
enum wsc_err comm_send(struct comm_link *link, const struct comm_msg *msg) WSC_CHECKED;
/** Send a message of no size (a credit): it neither waits for nor occupies the link. */
enum wsc_err comm_signal(struct comm_link *link, const struct comm_msg *msg) WSC_CHECKED;
/** Wait for the next message.  Its payload's reference passes to the caller. */
enum wsc_err comm_recv(struct comm_link *link, struct comm_msg *msg) WSC_CHECKED;

/* ---- the record of virtual time -------------------------------------------------------------- */

/** Record the virtual time of steps [@p first_step, @p end_step) of the programs that are spawned
 *  from now on; none when @p end_step is not above @p first_step.  After comm_place(). */
enum wsc_err comm_record(struct comm *comm, int64_t first_step, int64_t end_step) WSC_CHECKED;
/** What the program that runs does from now on is about transfer @p transfer of step @p step, or
 *  about VTIME_NO_TRANSFER; whoever receives a message takes this over from its sender, so that
 *  only a program that begins something says it.  Returns its recorder, as comm_recorder(). */
struct vtime_recorder *comm_record_at(struct comm *comm, int64_t step, int transfer);
/** Recorder of the program that runs; NULL when its present step is not recorded. */
struct vtime_recorder *comm_recorder(const struct comm *comm);
/** Programs of all roles, whether they run here or not. */
int comm_n_programs(const struct comm *comm);
/** Role to which a program belongs. */
int comm_role_of_program(int program);
/** Between passes: move what the programs of all ranks have recorded to rank 0, where @p program
 *  (comm_n_programs()) takes it, the caller's from then on; NULL on the other ranks.  Collective.
 *  Errors: memory for an event was not there. */
enum wsc_err comm_record_gather(struct comm *comm, struct vtime_recorder *program) WSC_CHECKED;

/* ---- fibers ---------------------------------------------------------------------------------- */

/** A sequential program of a local role. */
typedef enum wsc_err (*comm_fiber_fn)(void *arg);
/** @param stack_bytes  0 for the default (128 KiB), more for fibers that call big libraries
 *  @param name         for messages, e.g. "wafer 3"; copied */
enum wsc_err comm_spawn(struct comm *comm, int role, comm_fiber_fn fn, void *arg,
                        int64_t stack_bytes, const char *name) WSC_CHECKED;
/** Run all fibers to their end; returns the first error of a local fiber.  When nothing can move
 *  any more: WSC_DEADLOCK with the wait-for graph of the fibers.  Not collective, but ends on every
 *  rank only when the protocol is over. */
enum wsc_err comm_run(struct comm *comm) WSC_CHECKED;
/** Messages that local fibers have received so far: the event count of the emulation. */
int64_t comm_n_messages(const struct comm *comm);
#endif
