/** Roles, links, fibers, MPI.  Owns MPI: no other module calls it, but for store, which hands a
 *  communicator to parallel HDF5.
 *
 *  The emulated cluster is a Kahn process network: sequential programs (fibers) that read named
 *  first-in-first-out links in program order and wait for nothing else.  So nothing that they
 *  compute, values or virtual time, can depend on which fiber runs when or on which rank it lives.
 *  A role is what has a rank: one MemoryX shard, one SwarmX node, one wafer.  Roles on one rank
 *  take turns; a message between them is a pointer.  Between ranks it is one MPI header and the
 *  payload in pieces.  There is no global barrier and no wildcard receive (MPI_ANY_SOURCE).
 *
 *  A job's life: comm_create(); comm_place() and comm_link_open() on every rank in the same order;
 *  for each pass comm_spawn() of the local programs and comm_run(); comm_destroy().
 *
 *      TRY(comm_link_open(comm, &link, src_role, dst_role, &spec));
 *      TRY(comm_spawn(comm, src_role, send_all, ctx, 0, "producer"));
 *      TRY(comm_run(comm));
 *
 *  Inside a fiber, send and receive:
 *
 *      struct comm_msg msg = {.kind = 1, .step = step, .span = ready, .bytes = n};
 *      TRY(comm_send(link, &msg));
 *      TRY(comm_recv(other, &msg));
 *
 *  All functions are for the main thread, and for fibers.  Beside it a rank has two threads: one
 *  lets MPI move messages while fibers compute (src/comm/comm_progress.c), one watches the other
 *  ranks (src/comm/comm_heartbeat.c).  A job of one rank without payloads may run its fibers on
 * several threads (comm_set_workers()).  Read next: <wsc/stream.h>, which gives messages their
 * types. */
#ifndef WSC_COMM_H
#define WSC_COMM_H
#include <wsc/err.h>
#include <wsc/vtime.h>

#include <stdbool.h>
#include <stdint.h>

/** The job as one rank sees it: MPI, roles, links, fibers; one per process with MPI, any number
 *  without. */
struct comm;
/** A one-way link between two roles, with the state of the ends that are local. */
struct comm_link;

/* ---- the job --------------------------------------------------------------------------------- */

/** Start MPI (when @p use_mpi, at MPI_THREAD_SERIALIZED) and learn rank, size and hosts.  With MPI
 *  collective over MPI_COMM_WORLD, once per process: the communicator is a duplicate of its own,
 *  and WSC_CHECK ends all ranks from then on.  Heartbeats start (WSC_HEARTBEAT_SECONDS, 60; 0 for
 *  none).  WSC_MPI, WSC_NOMEM, WSC_USAGE for an environment variable that is no number; *@p out is
 *  NULL then. */
enum wsc_err comm_create(struct comm **out, bool use_mpi) WSC_CHECKED;
/** Release everything, links and fibers too, and null the pointer; ends MPI when comm_create()
 *  started it, which is collective.  NULL inside allowed. */
void comm_destroy(struct comm **comm);
/** This rank; 0 without MPI. */
int comm_rank(const struct comm *comm);
/** The number of ranks; 1 without MPI. */
int comm_size(const struct comm *comm);
/** Number of the host of each rank, (size): hosts are numbered by their first rank, as
 *  MPI_COMM_TYPE_SHARED groups them.  Borrowed. */
const int *comm_host_of_rank(const struct comm *comm);
/** Name of the host of rank @p rank; borrowed. */
const char *comm_host_name(const struct comm *comm, int rank);
/** Set the host transport: largest piece of a payload in one MPI message (at most 1 GiB), and
 *  pieces posted at once per message; 4 MiB and 8 until it is called.  Where ranks are on several
 *  hosts pieces have at most 60 KiB, which MPI sends without a handshake, and twice as many are
 *  posted.  The same on all ranks; no effect on values or virtual time. */
void comm_set_chunks(struct comm *comm, int64_t chunk_bytes, int64_t chunks_in_flight);
/** End every rank of the job with exit status @p status, at once (MPI_Abort); may be called on one
 *  rank alone, with or without MPI. */
_Noreturn void comm_abort(int status);

/** Collectives over all ranks, for start-up and results only, never on the data path. */
/** Send rank 0's bytes to all ranks: *@p bytes (*@p n_bytes, with a NUL after them) is allocated on
 *  the other ranks, owned by the caller.  @p n_bytes < 0 on rank 0 is passed on and means
 *  "nothing".  Collective; for start-up and results, never on the data path, like the collectives
 *  below.  Without MPI nothing happens. */
enum wsc_err comm_share(struct comm *comm, char **bytes, int64_t *n_bytes) WSC_CHECKED;
/** The first failure of all ranks, by rank: every rank returns its code, and *@p mine is true on
 *  the one rank that should print its message.  Collective: call it where every rank arrives,
 *  failed or not.  The trace of the other ranks is lost, their code is not. */
enum wsc_err comm_agree(struct comm *comm, enum wsc_err rc, bool *mine) WSC_CHECKED;
/** Collect @p n items of @p bytes each: item i is that of rank i modulo the number of ranks, and
 *  afterwards every rank has all of them at @p items.  Collective. @p bytes is at most 4 MiB.
 *  Without MPI nothing happens.  WSC_MPI. */
enum wsc_err comm_collect(struct comm *comm, void *items, int64_t bytes, int64_t n) WSC_CHECKED;
/** The largest @p value of all ranks.  Collective. */
int64_t comm_max(struct comm *comm, int64_t value);
/** `const MPI_Comm *` of the ranks for which @p member is true, or NULL without MPI; collective.
 *  Valid until comm_destroy(); the newest call replaces the one before. *@p rank and *@p size are
 *  those in the subgroup; 0 and 1 without MPI and on ranks outside it.  All ranks of the job call
 *  it. */
const void *comm_subgroup(struct comm *comm, bool member, int *rank, int *size);
/** Replace *@p x by the largest of the ranks of comm_subgroup(); collective over those.  WSC_MPI.
 */
enum wsc_err comm_subgroup_max(struct comm *comm, int64_t *x) WSC_CHECKED;
/** Replace @p x (@p n) by sums over the ranks of comm_subgroup(), element by element, modulo 2^64,
 *  which is exact in any order; collective over those.  WSC_MPI. */
enum wsc_err comm_subgroup_sum(struct comm *comm, uint64_t *x, int n) WSC_CHECKED;

/** Collectives of ranks that work on one thing together, each on a band of it, after every step of
 *  the work; without MPI nothing happens. */
/** Send bytes to the ranks before ([0]) and after ([1]) this one and take theirs: @p n_in are the
 *  capacities of @p in, afterwards what came, 0 where there is no rank.  Collective.  WSC_MPI. */
enum wsc_err comm_swap(struct comm *comm, const void *const out[2], const int64_t n_out[2],
                       void *const in[2], int64_t n_in[2]) WSC_CHECKED;
/** Replace each of @p n values by the least of all ranks.  Collective.  WSC_MPI. */
enum wsc_err comm_least(struct comm *comm, int64_t *value, int n) WSC_CHECKED;
/** Give every rank the bytes that one of them has: rank r those from first[r] up to first[r + 1] of
 *  @p bytes; @p first has one entry more than there are ranks.  Collective.  WSC_MPI. */
enum wsc_err comm_spread(struct comm *comm, void *bytes, const int64_t *first) WSC_CHECKED;

/* ---- buffers --------------------------------------------------------------------------------- */

/** A payload with a reference count: a broadcast inside one process copies nothing.  Who receives a
 *  shared payload may read it, and may write it only when the protocol says that it is the only
 *  owner. */
struct comm_buf;
/** A payload of @p bytes with undefined contents and one reference; released ones of about that
 *  size are used again.  WSC_NOMEM. */
enum wsc_err comm_buf_create(struct comm *comm, struct comm_buf **out, int64_t bytes) WSC_CHECKED;
/** The bytes of a payload, aligned to 64; borrowed. */
void *comm_buf_data(struct comm_buf *buf);
/** The number of bytes of a payload. */
int64_t comm_buf_bytes(const struct comm_buf *buf);
/** Take memory for a payload that may be sent before it is written, otherwise as
 *  comm_buf_create(): comm_buf_fill() says how far it is, and what is there leaves.  @p last_first:
 *  it is written, sent and received from its last byte on. */
enum wsc_err comm_buf_create_open(struct comm *comm, struct comm_buf **out, int64_t bytes,
                                  bool last_first) WSC_CHECKED;
/** The first @p bytes of a payload of comm_buf_create_open() are written, or its last ones where it
 *  is written from there on; at least as many as the last time.  Whole pieces of comm_set_chunks()
 *  leave.  WSC_NOMEM, WSC_MPI. */
enum wsc_err comm_buf_fill(struct comm_buf *buf, int64_t bytes) WSC_CHECKED;
/** The order in which a payload, all of which is there, travels from its next message on; from the
 *  first byte on until it is called. */
void comm_buf_set_order(struct comm_buf *buf, bool last_first);
/** True when all bytes of a payload are there. */
bool comm_buf_is_there(struct comm_buf *buf);
/** Wait until bytes [first, end) of a payload are there, which came over @p link, and with them all
 *  that travel before them; blocks the fiber. */
void comm_buf_wait(struct comm_link *link, struct comm_buf *buf, int64_t first, int64_t end);
/** Take one more reference; returns @p buf. */
struct comm_buf *comm_buf_ref(struct comm_buf *buf);
/** Give back one reference and null the pointer; the last one releases the payload.  NULL allowed.
 */
void comm_buf_unref(struct comm_buf **buf);

/** A list of payloads that its owner keeps for another use, the last used first; starts all zero.
 *  Used through comm_keep() and its neighbours. */
struct comm_kept {
    struct comm_kept_entry {
        int64_t key;
        struct comm_buf *buf; /**< one reference */
    } * entry;
    int n;
    int64_t room, bytes;
};
/** The payload of @p key in @p kept, with one more reference that is the caller's; NULL: none. */
struct comm_buf *comm_keep_find(struct comm *comm, struct comm_kept *kept, int64_t key);
/** Keep @p buf under @p key, with a reference of the list's own, and drop the least recently used
 *  ones above the bytes of comm_set_keep(); with one rank nothing is kept, since nothing is sent.
 *  WSC_NOMEM. */
enum wsc_err comm_keep(struct comm *comm, struct comm_kept *kept, int64_t key,
                       struct comm_buf *buf) WSC_CHECKED;
/** Drop all of @p kept, which is all zero then. */
void comm_keep_drop(struct comm *comm, struct comm_kept *kept);
/** Bytes of payloads that each end of a link with `keeps` may keep; 0 (until it is called): none.
 *  The same on all ranks; no effect on values or virtual time. */
void comm_set_keep(struct comm *comm, int64_t bytes);
/** Bytes that this rank has sent to others over links so far, headers included. */
int64_t comm_sent_bytes(const struct comm *comm);

/* ---- messages and links ---------------------------------------------------------------------- */

/** Words of 64 bits that a message has for its sender's own data; <wsc/stream.h> lays structs over
 *  them. */
enum { COMM_MSG_FIELDS = 8 };
/** What every message carries.  `kind`, `step` and `index` say where in the protocol it belongs;
 *  the receiver names what it expects and anything else is a bug that ends the job. */
struct comm_msg {
    /** What it is; positive, by the caller's numbering. */
    int32_t kind;
    /** Which one of its step, from 0. */
    int32_t index;
    /** The step that it belongs to. */
    int64_t step;
    struct vtime_span span; /**< set by the link: arrival of first and last byte */
    /** Bytes on the emulated link, which need not be those of the payload. */
    int64_t bytes;
    int64_t field[COMM_MSG_FIELDS]; /**< meaning by kind, see <wsc/stream.h> */
    struct comm_buf *payload;       /**< host values, or NULL; a message owns one reference */
};

/** Place @p n_roles roles on ranks: rank_of_role[r], copied, in 0 .. size-1.  Before any link; the
 *  same on every rank, which is not checked. */
enum wsc_err comm_place(struct comm *comm, int n_roles, const int *rank_of_role) WSC_CHECKED;
/** Let comm_run() run the programs of role r on thread worker_of_role[r], 0 .. @p n - 1, where 0 is
 *  the caller's; copied.  Neither messages nor virtual time depend on it.  For jobs of one rank
 *  whose messages between roles of different threads have no payload; after comm_place(), between
 *  runs.  WSC_NOMEM. */
enum wsc_err comm_set_workers(struct comm *comm, int n, const int *worker_of_role) WSC_CHECKED;
/** Most threads of comm_set_workers(). */
enum { COMM_MAX_WORKERS = 64 };
/** Threads that this process should start for work that keeps at most @p most of them busy:
 *  OMP_NUM_THREADS, where it is set (at most 1024, whatever @p most is), else its own processors,
 *  but at most @p most; at least 1.  Its own are those on which it may run, each divided by the
 *  ranks of the job that may run there too, once comm_create() has seen them, within the quota of
 *  its control group. */
int comm_threads(int most);
/** Items that the threads of a process take one after the other. */
struct comm_items {
    int n;
    /** Compute item @p i, on any thread; false: it failed.  Its error stays that thread's. */
    bool (*compute)(void *ctx, int i);
    /** Called before each item, by one thread at a time; NULL: never. */
    void (*begin)(void *ctx, int i);
    void *ctx;
};
/** Compute @p items on this thread and on @p n_threads - 1 others, or fewer where the host has no
 *  more.  @return the first one that failed, or n; those after it may have been left out. */
int comm_compute_items(int n_threads, const struct comm_items *items);
/** Processors on which this process may run, whoever else may; at least 1. */
int comm_allowed_processors(void);
/** Quota of this process's control group, in processors; 0: none. */
double comm_quota_of_processors(void);
/** True when @p role lives on this rank. */
bool comm_is_local(const struct comm *comm, int role);

/** True when comm_recv() returns with the header of a message of @p link. */
bool comm_link_is_early(const struct comm_link *link);
/** True when what is written of a payload leaves over @p link before the rest is. */
bool comm_link_sends_pieces(const struct comm_link *link);
/** Properties of a link beside its ends. */
struct comm_link_spec {
    /** Rate of the emulated link, bytes/s (0: no limit), and its latency, ps. */
    int64_t rate_bytes_per_s, latency_ps;
    /** How it loses packets; all zero: not at all. */
    struct vtime_loss loss;
    enum vtime_part part; /**< what the bytes on it are, for the record of virtual time */
    /** Between ranks both ends keep the last payloads; one that is sent again travels as a number.
     *  Nobody may write to a payload that came over such a link. */
    bool keeps;
    /** Where messages move while ranks compute: comm_recv() returns with the header, and the reader
     *  waits for the payload with comm_buf_wait(), or only sends it on, piece by piece. */
    bool early;
    int max_waiting;  /**< payloads sent and not yet taken before the sender blocks; 0 = no limit */
    const char *name; /**< for the wait-for graph; borrowed, static */
};
/** Open a link from role @p src to role @p dst.  Every rank opens the same links in the same order
 *  (the count is the MPI tag); *@p out is NULL where neither end is local.  Owned by comm until
 *  comm_destroy().  Not blocking.  WSC_NOMEM, WSC_MPI. */
enum wsc_err comm_link_open(struct comm *comm, struct comm_link **out, int src, int dst,
                            const struct comm_link_spec *spec) WSC_CHECKED;
/** Give the link rate, latency and loss of @p spec from the next message on; NULL @p link, of
 *  another rank, allowed. */
void comm_link_change(struct comm_link *link, const struct comm_link_spec *spec);
/** Let both ends drop the payloads that they keep, before the next message: none of them will be
 *  sent again.  For the sender; NULL allowed. */
void comm_link_forget(struct comm_link *link);
/** The virtual side of the sending end: rate, occupation, counters.  Borrowed; meaningful on the
 *  sender's rank alone. */
const struct vtime_link *comm_link_time(const struct comm_link *link);

/** Send a message; msg->span is when first and last byte are ready, msg->bytes what the emulated
 *  link carries.  The time of arrival is computed here, by vtime_link_send_over().  What a lossy
 *  link loses is sampled from the message's kind, step and index.  Takes the payload's reference.
 *  May block the fiber (max_waiting), never the rank.  WSC_NOMEM, WSC_MPI. */
enum wsc_err comm_send(struct comm_link *link, const struct comm_msg *msg) WSC_CHECKED;
/** Send a message of no size (a credit): it arrives a latency after msg->span.last, and neither
 *  waits for nor occupies the link.  Never blocks. */
enum wsc_err comm_signal(struct comm_link *link, const struct comm_msg *msg) WSC_CHECKED;
/** Wait for the next message of the link; blocks the fiber.  msg->span is when its bytes arrive.
 *  Its payload's reference passes to the caller.  One fiber reads a link. */
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

/** A sequential program of a local role.  It blocks in comm_send() and comm_recv() alone; what it
 *  returns is the result of comm_run() when it is the first error. */
typedef enum wsc_err (*comm_fiber_fn)(void *arg);
/** Make a program of the local role @p role ready to run in the next comm_run(); at most two per
 *  role. @p stack_bytes is 0 for the default (128 KiB), more for fibers that call big libraries; @p
 *  name, copied, is for messages, e.g. "wafer 3".  A stack has a guard page, so an overflow ends
 *  the process.  WSC_NOMEM. */
enum wsc_err comm_spawn(struct comm *comm, int role, comm_fiber_fn fn, void *arg,
                        int64_t stack_bytes, const char *name) WSC_CHECKED;
/** Run all fibers to their end; returns the first error of a local fiber, with the others stopped
 *  where they are.  When nothing can move any more, or nothing has arrived for WSC_STALL_SECONDS
 *  (1800): WSC_DEADLOCK with the wait-for graph of the local fibers.  Not collective, but ends on
 *  every rank only when the protocol is over and what was sent has left. */
enum wsc_err comm_run(struct comm *comm) WSC_CHECKED;
/** What a fiber computes between two messages: it calls nothing of comm, and shares what it writes
 *  with no other fiber. */
typedef enum wsc_err (*comm_compute_fn)(void *arg);
/** Wait for the running fiber's turn to compute, at most as many fibers at a time as there are
 *  threads (num_threads()).  comm_compute() follows, with no message in between; memory for results
 *  is taken in between. */
void comm_compute_turn(struct comm *comm);
/** Run @p fn(@p arg) for the running fiber, at the same time as those of other fibers that have
 *  their turn, each on one thread; one alone has all threads for the loops inside.  Returns what
 *  @p fn returned, with its message.  Outside fibers it is called at once. */
enum wsc_err comm_compute(struct comm *comm, comm_compute_fn fn, void *arg) WSC_CHECKED;
/** Let the other fibers that are ready run before the running one continues. */
void comm_yield(struct comm *comm);
/** Messages that local fibers have received so far: the event count of the emulation, for host
 *  rates. */
int64_t comm_n_messages(const struct comm *comm);
/** Write the name and version of the MPI library into @p text; also before MPI has started. */
void comm_library(char *text, size_t size);
#endif
