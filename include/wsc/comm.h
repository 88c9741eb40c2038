/** Comm: runs the roles of the emulated cluster on MPI ranks, with links between roles and fibers.
 *  It owns MPI: no other module calls MPI, except store, which passes a communicator to parallel
 *  HDF5.
 *
 *  The emulated cluster is a Kahn process network: sequential programs (fibers) that read named
 *  first-in-first-out links in program order and wait for nothing else. Their values and virtual
 *  times therefore do not depend on the order in which fibers run, or on their ranks. A role is one
 *  MemoryX shard, one SwarmX node or one wafer; each role has a rank. Roles on one rank take turns,
 *  and a message between them is a pointer. A message between ranks is one MPI header, then the
 *  payload in pieces. There is no global barrier and no wildcard receive (MPI_ANY_SOURCE).
 *
 *  Order of calls: comm_create(); comm_place() and comm_link_open(), on every rank in the same
 *  order; for each pass comm_spawn() of the local programs and comm_run(); comm_destroy().
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
 *  Only the main thread and fibers may call these functions. A rank has two more threads: one lets
 *  MPI move messages while fibers compute (src/comm/comm_progress.c), one watches the other ranks
 *  (src/comm/comm_heartbeat.c). A job of one rank without payloads may run its fibers on several
 *  threads (comm_set_workers()). Read next: <wsc/stream.h>, which gives messages their types. */
#ifndef WSC_COMM_H
#define WSC_COMM_H
#include <wsc/err.h>
#include <wsc/vtime.h>

#include <stdbool.h>
#include <stdint.h>

/** The job as one rank sees it: MPI, roles, links, fibers. A process has one with MPI, any number
 *  without. */
struct comm;
/** A one-way link between two roles, with the state of the ends that are local. */
struct comm_link;

/* ---- the job --------------------------------------------------------------------------------- */

/** Start MPI (when @p use_mpi, at MPI_THREAD_SERIALIZED) and learn rank, size and hosts. With MPI
 *  it is collective over MPI_COMM_WORLD and called once per process; it duplicates that
 *  communicator, and from then on a failed WSC_CHECK ends all ranks. Heartbeats start
 *  (WSC_HEARTBEAT_SECONDS, 60; 0 for none). WSC_MPI, WSC_NOMEM, without MPI also the error of
 *  comm_check_limits(), which takes defaults with MPI, so that its ranks can agree on the error;
 *  *@p out is NULL then. */
enum wsc_err comm_create(struct comm **out, bool use_mpi) WSC_CHECKED;
/** WSC_USAGE when WSC_HEARTBEAT_SECONDS or WSC_STALL_SECONDS is no whole number. */
enum wsc_err comm_check_limits(void) WSC_CHECKED;
/** Release everything, links and fibers too, and null the pointer; ends MPI when comm_create()
 *  started it, which is collective.  NULL inside allowed. */
void comm_destroy(struct comm **comm);
/** This rank; 0 without MPI. */
int comm_rank(const struct comm *comm);
/** The number of ranks; 1 without MPI. */
int comm_size(const struct comm *comm);
/** Host number of each rank, (size). MPI_COMM_TYPE_SHARED groups ranks into hosts, which are
 *  numbered by their first rank. Borrowed. */
const int *comm_host_of_rank(const struct comm *comm);
/** Name of the host of rank @p rank; borrowed. */
const char *comm_host_name(const struct comm *comm, int rank);
/** Set how payloads are cut for MPI. @p chunk_bytes: largest piece in one MPI message (at most 1
 *  GiB; default 4 MiB). @p chunks_in_flight: pieces posted at once per message (default 8). When
 *  ranks are on several hosts, pieces have at most 60 KiB, which MPI sends without a handshake, and
 *  twice as many are posted. Equal on all ranks; no effect on values or virtual time. */
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
/** Agree on one error: every rank returns the code of the lowest rank that failed, and *@p reports
 * is true on the one rank that should print its message. Collective: every rank must call it,
 * failed or not. The error trace of the other ranks is lost. An error of MPI ends the job here, in
 * comm_max() and in comm_subgroup(), because ranks without a common result would take different
 * branches. */
enum wsc_err comm_agree(struct comm *comm, enum wsc_err rc, bool *reports) WSC_CHECKED;
/** Collect @p n items of @p bytes each on all ranks (an all-gather). Rank i modulo the number of
 *  ranks provides item i; afterwards every rank has all items at @p items. Collective. @p bytes is
 *  at most 4 MiB. Without MPI nothing happens. WSC_MPI. */
enum wsc_err comm_collect(struct comm *comm, void *items, int64_t bytes, int64_t n) WSC_CHECKED;
/** The largest @p value of all ranks.  Collective. */
int64_t comm_max(struct comm *comm, int64_t value);
/** Make a communicator of the ranks for which @p member is true; returns it as `const MPI_Comm *`,
 *  or NULL without MPI. Collective over all ranks of the job. It is valid until comm_destroy(), and
 *  the next call replaces it. *@p rank and *@p size are those in the subgroup, or 0 and 1 without
 *  MPI and on ranks outside the subgroup. */
const void *comm_subgroup(struct comm *comm, bool member, int *rank, int *size);
/** Replace *@p x by its maximum over the ranks of comm_subgroup(); collective over these. WSC_MPI.
 */
enum wsc_err comm_subgroup_max(struct comm *comm, int64_t *x) WSC_CHECKED;
/** Replace @p x (@p n) by sums over the ranks of comm_subgroup(), element by element, modulo 2^64,
 *  which is exact in any order; collective over those.  WSC_MPI. */
enum wsc_err comm_subgroup_sum(struct comm *comm, uint64_t *x, int n) WSC_CHECKED;

/** Collectives for ranks that divide one array into bands and exchange data after every step of the
 *  work. Without MPI they do nothing. */
/** Exchange bytes with the previous rank ([0]) and the next rank ([1]). @p n_in holds the
 *  capacities of @p in, afterwards the received bytes; 0 where there is no rank. Collective.
 *  WSC_MPI. */
enum wsc_err comm_swap(struct comm *comm, const void *const out[2], const int64_t n_out[2],
                       void *const in[2], int64_t n_in[2]) WSC_CHECKED;
/** Replace each of @p n values by its minimum over all ranks. Collective. WSC_MPI. */
enum wsc_err comm_least(struct comm *comm, int64_t *value, int n) WSC_CHECKED;
/** Gather parts of @p bytes on all ranks (an all-gather). Rank r provides bytes first[r] up to
 *  first[r + 1]; @p first has one entry more than there are ranks. Collective. WSC_MPI. */
enum wsc_err comm_spread(struct comm *comm, void *bytes, const int64_t *first) WSC_CHECKED;

/* ---- buffers --------------------------------------------------------------------------------- */

/** A payload with a reference count, so that a broadcast inside one process copies nothing. A
 *  receiver may read a shared payload; it may write only when the protocol makes it the only owner.
 */
struct comm_buf;
/** Create a payload of @p bytes with undefined contents and one reference. Released payloads of
 *  about this size are reused. WSC_NOMEM. */
enum wsc_err comm_buf_create(struct comm *comm, struct comm_buf **out, int64_t bytes) WSC_CHECKED;
/** The bytes of a payload, aligned to 64; borrowed. */
void *comm_buf_data(struct comm_buf *buf);
/** The number of bytes of a payload. */
int64_t comm_buf_bytes(const struct comm_buf *buf);
/** Create a payload that may be sent while it is being written; otherwise as comm_buf_create().
 *  comm_buf_fill() reports the written bytes, which are then sent. @p last_first: it is written,
 *  sent and received from the last byte to the first. */
enum wsc_err comm_buf_create_open(struct comm *comm, struct comm_buf **out, int64_t bytes,
                                  bool last_first) WSC_CHECKED;
/** Report that @p bytes of a payload of comm_buf_create_open() are written: the first ones, or the
 *  last ones with `last_first`. @p bytes never decreases. Complete pieces (comm_set_chunks()) are
 *  sent. WSC_NOMEM, WSC_MPI. */
enum wsc_err comm_buf_fill(struct comm_buf *buf, int64_t bytes) WSC_CHECKED;
/** Set the order in which the bytes of a complete payload travel, from its next message on. The
 *  default is from the first byte to the last. */
void comm_buf_set_order(struct comm_buf *buf, bool last_first);
/** True when all bytes of a payload have arrived or been written. */
bool comm_buf_is_there(struct comm_buf *buf);
/** Wait until bytes [first, end) of a payload received over @p link have arrived, and all bytes
 *  that travel before them. Blocks the fiber. */
void comm_buf_wait(struct comm_link *link, struct comm_buf *buf, int64_t first, int64_t end);
/** Take one more reference; returns @p buf. */
struct comm_buf *comm_buf_ref(struct comm_buf *buf);
/** Give back one reference and null the pointer; the last one releases the payload.  NULL allowed.
 */
void comm_buf_unref(struct comm_buf **buf);

/** A cache of payloads, most recently used first; starts all zero. Use it through comm_keep(),
 *  comm_keep_find() and comm_keep_drop(). */
struct comm_kept {
    struct comm_kept_entry {
        int64_t key;
        struct comm_buf *buf; /**< one reference */
    } * entry;
    int n;
    int64_t room, bytes;
};
/** Find the payload of @p key in @p kept; the caller gets one more reference. NULL: not found. */
struct comm_buf *comm_keep_find(struct comm *comm, struct comm_kept *kept, int64_t key);
/** Keep @p buf under @p key with a reference of the cache's own. The least recently used payloads
 *  are dropped when the bytes exceed comm_set_keep(). With one rank nothing is kept, because
 *  nothing is sent. WSC_NOMEM. */
enum wsc_err comm_keep(struct comm *comm, struct comm_kept *kept, int64_t key,
                       struct comm_buf *buf) WSC_CHECKED;
/** Drop all of @p kept, which is all zero then. */
void comm_keep_drop(struct comm *comm, struct comm_kept *kept);
/** Set the bytes of payloads that each end of a link with `keeps` may keep; default 0: none. Equal
 *  on all ranks; no effect on values or virtual time. */
void comm_set_keep(struct comm *comm, int64_t bytes);
/** Bytes that this rank has sent to others over links so far, headers included. */
int64_t comm_sent_bytes(const struct comm *comm);

/* ---- messages and links ---------------------------------------------------------------------- */

/** Words of 64 bits that a message has for its sender's own data; <wsc/stream.h> lays structs over
 *  them. */
enum { COMM_MSG_FIELDS = 8 };
/** A message. `kind`, `step` and `index` give its place in the protocol. The receiver names the
 *  message that it expects; any other one is a bug and ends the job. */
struct comm_msg {
    /** Kind of message; positive, numbered by the caller. */
    int32_t kind;
    /** Number of the message in its step, from 0. */
    int32_t index;
    /** The step that it belongs to. */
    int64_t step;
    struct vtime_span span; /**< set by the link: arrival of first and last byte */
    /** Bytes on the emulated link, which need not be those of the payload. */
    int64_t bytes;
    int64_t field[COMM_MSG_FIELDS]; /**< meaning by kind, see <wsc/stream.h> */
    struct comm_buf *payload;       /**< host values, or NULL; a message owns one reference */
};

/** Place @p n_roles roles on ranks: rank_of_role[r], copied, in 0 .. size-1. Called before any link
 *  is opened, with equal arguments on every rank, which is not checked. */
enum wsc_err comm_place(struct comm *comm, int n_roles, const int *rank_of_role) WSC_CHECKED;
/** Let comm_run() run the programs of role r on thread worker_of_role[r], 0 .. @p n - 1, where 0 is
 *  the caller's thread; the array is copied. Messages and virtual time do not depend on it. Allowed
 *  in jobs of one rank, when messages between roles of different threads have no payload. Call it
 *  after comm_place(), between runs. WSC_NOMEM. */
enum wsc_err comm_set_workers(struct comm *comm, int n, const int *worker_of_role) WSC_CHECKED;
/** Most threads of comm_set_workers(). */
enum { COMM_MAX_WORKERS = 64 };
/** Number of threads that this process should start for work that can use at most @p most; at least
 *  1. It is OMP_NUM_THREADS when set (at most 1024, whatever @p most is), otherwise the processors
 *  of this process, but at most @p most. The processors are those on which it may run, each divided
 *  by the ranks of the job that may run there too (known after comm_create()), within the quota of
 *  its control group and of those above it. */
int comm_threads(int most);
/** Independent items of work that the threads of a process take one after the other. */
struct comm_items {
    int n;
    /** Compute item @p i, on any thread. False: it failed; the error is kept by that thread. */
    bool (*compute)(void *ctx, int i);
    /** Called before each item, by one thread at a time; NULL: never. */
    void (*begin)(void *ctx, int i);
    void *ctx;
};
/** Compute @p items on this thread and on @p n_threads - 1 others, or fewer where the host has no
 *  more. @return the first item that failed, or n; later items may not have been computed. */
int comm_compute_items(int n_threads, const struct comm_items *items);
/** Processors on which this process may run, whoever else may; at least 1. */
int comm_allowed_processors(void);
/** Smallest quota of this process's control group and of those above it, in processors; 0: none. */
double comm_quota_of_processors(void);
/** True when @p role lives on this rank. */
bool comm_is_local(const struct comm *comm, int role);

/** True when comm_recv() on @p link returns once the header is there, before the payload. */
bool comm_link_is_early(const struct comm_link *link);
/** True when @p link sends the written part of a payload before the rest is written. */
bool comm_link_sends_pieces(const struct comm_link *link);
/** Properties of a link beside its ends. */
struct comm_link_spec {
    /** Rate of the emulated link, bytes/s (0: no limit), and latency, ps. */
    int64_t rate_bytes_per_s, latency_ps;
    /** Loss of packets; all zero: none. */
    struct vtime_loss loss;
    enum vtime_part part; /**< label of its bytes in the record of virtual time */
    /** Between ranks, both ends keep the last payloads; a payload that is sent again travels as a
     *  number only. A payload that came over such a link must not be written. */
    bool keeps;
    /** comm_recv() returns once the header is there, where messages move while ranks compute. The
     *  receiver waits for the payload with comm_buf_wait(), or forwards it piece by piece. */
    bool early;
    int max_waiting;  /**< payloads sent and not yet taken before the sender blocks; 0 = no limit */
    const char *name; /**< for the wait-for graph; borrowed, static */
};
/** Open a link from role @p src to role @p dst.  Every rank opens the same links in the same order
 *  (the count is the MPI tag); *@p out is NULL where neither end is local.  Owned by comm until
 *  comm_destroy().  Not blocking.  WSC_NOMEM; WSC_MPI, also when MPI has no tag left. */
enum wsc_err comm_link_open(struct comm *comm, struct comm_link **out, int src, int dst,
                            const struct comm_link_spec *spec) WSC_CHECKED;
/** Set rate, latency and loss of the link from @p spec, from the next message on. @p link may be
 *  NULL, for a link of other ranks. */
void comm_link_change(struct comm_link *link, const struct comm_link_spec *spec);
/** Let both ends drop their kept payloads before the next message, because none will be sent again.
 *  The sender calls it; NULL allowed. */
void comm_link_forget(struct comm_link *link);
/** State of the emulated link at its sending end: rate, occupation, counters. Borrowed; valid on
 *  the sender's rank only. */
const struct vtime_link *comm_link_time(const struct comm_link *link);

/** Send a message. msg->span holds the times at which first and last byte are ready, msg->bytes the
 *  bytes on the emulated link. vtime_link_send_over() computes the time of arrival here. The losses
 *  of a lossy link are sampled from the message's kind, step and index. Takes the payload's
 *  reference. May block the fiber (max_waiting), never the rank. WSC_NOMEM, WSC_MPI. */
enum wsc_err comm_send(struct comm_link *link, const struct comm_msg *msg) WSC_CHECKED;
/** Send a message of no size (a credit). It arrives one latency after msg->span.last; it neither
 *  waits for the link nor occupies it. Never blocks. */
enum wsc_err comm_signal(struct comm_link *link, const struct comm_msg *msg) WSC_CHECKED;
/** Wait for the next message of the link; blocks the fiber. msg->span holds the times at which its
 *  first and last byte arrive. Its payload's reference passes to the caller. One fiber reads a
 *  link. */
enum wsc_err comm_recv(struct comm_link *link, struct comm_msg *msg) WSC_CHECKED;

/* ---- the record of virtual time -------------------------------------------------------------- */

/** Record the virtual time of steps [@p first_step, @p end_step) of the programs that are spawned
 *  from now on. Nothing is recorded when @p end_step <= @p first_step. Call it after comm_place().
 */
enum wsc_err comm_record(struct comm *comm, int64_t first_step, int64_t end_step) WSC_CHECKED;
/** Label the following events of the running program with @p step and @p transfer (or
 *  VTIME_NO_TRANSFER). A receiver takes the label from the message, so only the program that begins
 *  a transfer calls this. Returns the program's recorder, as comm_recorder(). */
struct vtime_recorder *comm_record_at(struct comm *comm, int64_t step, int transfer);
/** Recorder of the running program; NULL when its current step is not recorded. */
struct vtime_recorder *comm_recorder(const struct comm *comm);
/** Number of programs of all roles, on all ranks. */
int comm_n_programs(const struct comm *comm);
/** Role to which a program belongs. */
int comm_role_of_program(int program);
/** Move the events of the programs of all ranks to @p program (comm_n_programs() entries) on rank
 *  0, where the caller owns them; @p program is NULL on the other ranks. Collective, between
 *  passes. Errors: an event could not be recorded for lack of memory. */
enum wsc_err comm_record_gather(struct comm *comm, struct vtime_recorder *program) WSC_CHECKED;

/* ---- fibers ---------------------------------------------------------------------------------- */

/** A sequential program of a local role. It blocks only in functions of comm such as comm_send()
 *  and comm_recv(). comm_run() returns the first error that a program returns. */
typedef enum wsc_err (*comm_fiber_fn)(void *arg);
/** Make a program of the local role @p role ready to run in the next comm_run(); at most two per
 *  role. @p stack_bytes is 0 for the default (128 KiB), more for fibers that call big libraries; @p
 *  name, copied, is for messages, e.g. "wafer 3".  A stack has a guard page, so an overflow ends
 *  the process.  WSC_NOMEM. */
enum wsc_err comm_spawn(struct comm *comm, int role, comm_fiber_fn fn, void *arg,
                        int64_t stack_bytes, const char *name) WSC_CHECKED;
/** Run all fibers to their end. It returns the first error of a local fiber; the other fibers are
 *  then stopped where they are. WSC_DEADLOCK, with the wait-for graph of the local fibers: no fiber
 *  can continue, or nothing has arrived for WSC_STALL_SECONDS (1800). Not collective, but it ends
 *  on a rank only when the protocol is over and all messages have been sent. */
enum wsc_err comm_run(struct comm *comm) WSC_CHECKED;
/** Computation of a fiber between two messages. It calls no function of comm, and no other fiber
 *  uses the memory that it writes. */
typedef enum wsc_err (*comm_compute_fn)(void *arg);
/** Wait until the running fiber may compute; at most num_threads() fibers compute at a time. The
 *  fiber then allocates memory for its results and calls comm_compute(), with no message in
 *  between. */
void comm_compute_turn(struct comm *comm);
/** Run @p fn(@p arg) for the running fiber, concurrently with the computations of other fibers,
 *  each on one thread. A computation that runs alone may use all threads inside. Returns the result
 *  of @p fn, with its error message. Outside fibers @p fn is called at once. */
enum wsc_err comm_compute(struct comm *comm, comm_compute_fn fn, void *arg) WSC_CHECKED;
/** Let the other fibers that are ready run before the running one continues. */
void comm_yield(struct comm *comm);
/** Messages that local fibers have received so far: the event count of the emulation, for host
 *  rates. */
int64_t comm_n_messages(const struct comm *comm);
/** Write the name and version of the MPI library into @p text; also before MPI has started. */
void comm_library(char *text, size_t size);
#endif
