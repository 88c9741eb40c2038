/** Structures and functions that the files of comm share: the job, links with their two transports,
 *  fibers, workers. comm_link.c and comm_remote.c have the transports, comm_run.c the scheduler. */
#ifndef WSC_COMM_STATE_H
#define WSC_COMM_STATE_H
#include <wsc/comm.h>
#include <wsc/mem.h>

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <ucontext.h>

/* Bytes of a host name with its NUL; longer names are cut. */
enum { COMM_HOST_BYTES = 64 };

/* A payload. A buffer without references is in comm.free_bufs until its next use. */
struct comm_buf {
    struct comm *comm; /* borrowed: the job whose list takes the released buffer */
    int64_t bytes, capacity;
    int64_t filled;  /* number of bytes that may be read or sent */
    bool last_first; /* the payload is filled, and sent, from its last byte to its first */
    /* sent before it was filled: the filler wakes the waiting fibers and sends on */
    bool passed_on;
    int refs;
    struct comm_buf *next;
    /* fibers that wait until their `waited` bytes are there; list by `next` */
    struct comm_fiber *waiters;
    void *data; /* owned */
};

/* The header of a message, as it is sent over MPI. */
struct comm_wire_header {
    int32_t kind, index;
    int64_t step;
    int32_t transfer;
    struct vtime_span span;
    int64_t bytes;
    int64_t field[COMM_MSG_FIELDS];
    /* -1: no payload is sent, because there is none or the receiver has kept it */
    int64_t payload_bytes;
    int32_t kept;       /* index of the payload among those that the receiver keeps, or -1 */
    int32_t forgets;    /* the receiver drops all kept payloads before it takes this message */
    int32_t last_first; /* the bytes of the payload arrive from the last to the first */
};

/* A message in a queue, to be sent over MPI or arrived. */
struct comm_node {
    struct comm_msg msg;
    int32_t transfer; /* label of the sender's events (comm_record_at()) */
    struct comm_wire_header wire;
    struct comm_node *next;
};

/* Messages in the order in which they were sent. */
struct comm_queue {
    struct comm_node *head, *tail;
    int n;
};

/** Where a fiber or the scheduler continues: its context before it was first left, later a jump. */
struct comm_resume_point {
    ucontext_t context;
    void *jump[5]; /**< buffer of __builtin_setjmp() */
    bool is_left;
    void *watched; /**< the fiber's handle in ThreadSanitizer; NULL without it */
};

/* One program of a role: its stack, its state, and the link that it waits for.  States: READY (in
 * the ready list or running), RECEIVING (an empty link), SENDING (a full one), COMPUTING (on the
 * threads, or its turn), DONE. */
struct comm_fiber {
    struct comm_resume_point resume_at;
    void *stack; /* owned mapping, which begins with a guard page */
    size_t stack_bytes;
    comm_fiber_fn fn;
    void *arg; /* borrowed */
    struct comm *comm;
    struct comm_worker *worker; /* borrowed: the worker that runs the fiber */
    int role;
    char name[48];
    enum { FIBER_READY, FIBER_RECEIVING, FIBER_SENDING, FIBER_COMPUTING, FIBER_DONE } state;
    struct comm_link *waits_for;
    struct vtime_recorder *recorder;    /* borrowed; NULL outside the steps to be recorded */
    struct vtime_recorder *of_the_pass; /* borrowed; NULL: the pass is not recorded */
    enum wsc_err rc;
    int64_t waited; /* number of bytes of a payload for which the fiber waits */
    /* Next fiber of the same list: ready fibers, fibers that wait to compute, or waiters of a
     * payload. */
    struct comm_fiber *next;
    void *fake_stack; /* the fiber's fake stack in AddressSanitizer */
};

/* A link and its ends.  Members of the sending end are used on the sender's rank, those of the
 * receiving end on the receiver's; on a link within a rank both are. */
struct comm_link {
    struct comm *comm;
    int id, src, dst; /* id is the MPI tag */
    bool src_local, dst_local;
    bool mute; /* for tests: messages are dropped */
    const char *name;
    int max_waiting;
    struct comm_worker *reader;           /* borrowed: the worker that runs the receiver */
    struct vtime_link time;               /* used by the sending end */
    struct comm_queue arrived;            /* used by the receiving end */
    struct comm_fiber *receiver, *sender; /* fibers that are blocked on this link, or NULL */
    /* used by the sending end: number of payloads that the receiver has not taken */
    int n_waiting;
    /* Sending end of a link to another rank: messages in order; the first one is being posted */
    struct comm_queue outgoing;
    int64_t send_posted_bytes;
    int send_in_flight; /* number of requests, that of the header included */
    bool send_header_posted;
    /* Receiving end of a link from another rank: one message at a time. */
    struct comm_node *incoming;
    int64_t recv_posted_bytes;
    int recv_in_flight;
    bool recv_header_posted;
    /* early: the reader gets a message as soon as its header is there. piece_there: which of the
     * pieces in flight have arrived (comm_pieces.c). */
    bool early;
    bool *piece_there; /* owned, chunks_in_flight; NULL until the first payload */
    int64_t piece_next, piece_posted;
    /* Payloads that both ends of a link between ranks keep (comm_kept.c). */
    bool keeps, forgets;
    struct comm_kept kept;
    struct comm_link *next;
};

/* What an MPI request belongs to. */
struct comm_request {
    struct comm_link *link;
    enum comm_request_kind {
        REQUEST_SEND_HEADER,
        REQUEST_SEND_CHUNK,
        REQUEST_RECV_HEADER,
        REQUEST_RECV_CHUNK
    } kind;
    int64_t piece; /* number of a received piece in its message */
};

/* The sleep between two polls of MPI (comm_nap.c). */
struct comm_nap {
    /* ns: length of the sleep; n_finished: comm.n_finished when it was chosen */
    int64_t ns, n_finished;
};
enum { COMM_SHORTEST_NAP_NS = 100000 };

/* The thread that polls MPI while the main thread computes, and the lock that both use. */
struct comm_progress {
    struct comm *comm;
    pthread_t thread;
    pthread_mutex_t lock; /* protects all of struct comm and MPI (comm_progress.c) */
    atomic_bool stop;
    enum wsc_err rc; /* error of the thread, and `text` its message; read under the lock */
    char text[400];
};

/* A thread that runs fibers, and its ready fibers; the first worker is the main thread. Only the
 * thread uses its members, except those that the lock of the workers protects (comm_workers.c). */
struct comm_worker {
    struct comm *comm;
    struct comm_resume_point scheduler;
    const void *scheduler_stack; /* bounds, for AddressSanitizer */
    size_t scheduler_stack_bytes;
    struct comm_fiber *ready_head, *ready_tail;
    struct comm_fiber *running;
    struct comm_node *free_nodes;
    int n_fibers, n_done;
    int64_t n_messages, n_sent; /* number of messages received and sent */
    pthread_t thread;
    /* Protected by comm.workers_lock: messages of other workers for fibers of this one, in order */
    struct comm_handed *handed; /* owned, n_handed of handed_capacity */
    int n_handed, handed_capacity;
    atomic_bool has_handed;
    bool is_idle; /* the worker waits for a message, or has ended */
    bool has_ended;
    pthread_cond_t wake;
    enum wsc_err rc; /* error of its first fiber that failed, and `text` its message */
    char text[400];
};

/* State of the job on this rank. */
struct comm {
    bool use_mpi, started_mpi;
    int rank, size;
    MPI_Comm world, subgroup;
    int64_t chunk_bytes, chunks_in_flight, keep_bytes;
    int64_t sent_bytes; /* bytes of headers and payloads sent to other ranks */
    int n_roles;
    int *rank_of_role;                  /* owned, n_roles */
    int *host_of_rank;                  /* owned, size */
    char (*host_name)[COMM_HOST_BYTES]; /* owned, size */
    /* number of links of the job on any rank, which is the MPI tag of the next one, and number for
     * which MPI has tags */
    int n_links, max_links;
    struct comm_link *links; /* owned list of the links with an end on this rank */
    struct comm_buf *free_bufs;
    int64_t free_buf_bytes;

    int n_workers;
    struct comm_worker **worker; /* owned, n_workers; the first one is that of the main thread */
    int *worker_of_role;         /* owned, n_roles; NULL: the first worker runs all roles */
    pthread_mutex_t workers_lock;
    int n_idle;                /* number of workers with is_idle; protected by workers_lock */
    atomic_bool workers_end;   /* a fiber failed, or no fiber can continue */
    struct comm_fiber **fiber; /* owned, n_fibers of capacity */
    int n_fibers, fiber_capacity;
    struct comm_fiber *compute_queue_head,
        *compute_queue_tail; /* queue of fibers that wait to compute */
    /* borrowed list: computations of the admitted fibers */
    struct comm_computation *computations;
    struct comm_stack *stacks;
    bool recording;
    int64_t record_first, record_end; /* steps to be recorded */
    struct vtime_recorder *recorder;  /* owned, one per program of all roles; or NULL */

    int n_requests, request_capacity;
    MPI_Request *request;            /* owned */
    struct comm_request *request_of; /* owned */
    int *completed;                  /* owned, scratch of MPI_Testsome */
    MPI_Status *status;              /* owned, scratch of MPI_Testsome */
    int64_t n_finished;              /* number of requests that have finished so far */
    struct comm_nap nap;             /* sleep of the main thread while it waits */
    bool oversubscribed;
    bool ahead;      /* messages are transferred while a rank computes, and payloads are kept */
    bool may_thread; /* MPI allows calls of several threads, one at a time */
    double stall_limit_s;
    /* For tests: number, from 1, of the message that this rank drops, garbles or makes too long; 0:
     * none. */
    int64_t mute_message, garble_message, long_message;
    struct comm_watch *watch;       /* owned, or NULL */
    struct comm_progress *progress; /* owned, or NULL */
};

/* comm_thread.c */
/* Start a thread that takes no signals, because the main thread takes them. False: failed, with the
 * reason in errno. */
bool comm_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);
/* Let this thread run the fibers of @p w from now on. Returns the worker whose fibers it ran
 * before, or NULL. */
struct comm_worker *comm_thread_is_of(struct comm_worker *w);
/* The worker that this thread runs; outside comm_run() the first one. */
struct comm_worker *comm_worker_of_thread(const struct comm *comm);

/* comm_workers.c */
enum wsc_err comm_workers_create(struct comm *comm, int n);
void comm_workers_destroy(struct comm *comm);
static inline struct comm_worker *comm_here(const struct comm *comm)
{
    return comm->n_workers == 1 ? comm->worker[0] : comm_worker_of_thread(comm);
}
/* The fiber that runs in this thread; NULL outside of fibers. */
static inline struct comm_fiber *comm_running(const struct comm *comm)
{
    return comm_here(comm)->running;
}
/* Give the message to the thread of the link's receiver. */
enum wsc_err comm_workers_hand(struct comm_link *link, struct comm_node *node);
/* Run all fibers on several threads. */
enum wsc_err comm_workers_run(struct comm *comm);

/* comm_processors.c: divide the processors of this host among its ranks. Collective over @p here,
 * the ranks of this host; MPI_COMM_NULL: the process is the only one. */
enum wsc_err comm_share_processors(MPI_Comm here);

/* comm_quota.c */
/* The smallest quota of the control group that the file @p groups names, and of the groups above
 * it up to @p root, a folder, in processors; 0: none. */
double comm_quota_in(const char *groups, const char *root);

/* comm_hosts.c: collective; fills host_of_rank and host_name, *n_here: ranks on this host */
enum wsc_err comm_hosts_learn(struct comm *comm, int *n_here);

/* comm_fiber.c */
enum wsc_err comm_fiber_create(struct comm *comm, struct comm_fiber **out, int64_t stack_bytes);
void comm_fiber_destroy(struct comm_fiber *fiber);
/* Block the running fiber until comm_fiber_make_ready(); the scheduler continues. */
void comm_fiber_block(struct comm *comm);
/* Put a fiber at the end of the ready list of its worker. */
void comm_fiber_make_ready(struct comm_fiber *fiber);
/* Run the first ready fiber of @p w until it blocks or ends. Returns the error of the fiber, if it
 * ended with one. */
enum wsc_err comm_fiber_next(struct comm_worker *w);
void comm_fiber_free_stacks(struct comm *comm);

/* comm_compute.c */
/* Call when no fiber is ready. Run the computations of the admitted fibers, or admit fibers that
 * wait to compute. False: no fiber asks to compute. */
bool comm_compute_next(struct comm *comm);
/* After an error: drop all requests to compute. */
void comm_compute_forget(struct comm *comm);

/* comm_progress.c: NULL progress with one rank, and where MPI wants all calls on one thread */
enum wsc_err comm_progress_start(struct comm *comm);
void comm_progress_end(struct comm *comm);
/* The error of the thread, if it failed. */
enum wsc_err comm_progress_check(const struct comm *comm);
/* Around everything that a fiber calls: outside fibers the main thread has the lock already. */
static inline void comm_enter(struct comm *comm)
{
    if (comm->progress && comm_running(comm)) (void)pthread_mutex_lock(&comm->progress->lock);
}
static inline void comm_leave(struct comm *comm)
{
    if (comm->progress && comm_running(comm)) (void)pthread_mutex_unlock(&comm->progress->lock);
}

/* comm_buf.c: comm_buf_create() and comm_buf_unref() for a caller that holds the lock */
enum wsc_err comm_buf_take(struct comm *comm, struct comm_buf **out, int64_t bytes);
void comm_buf_give(struct comm_buf **buf);

/* True when the reader of the link may have its first message. */
static inline bool comm_link_is_readable(const struct comm_link *link)
{
    const struct comm_buf *payload = link->arrived.n ? link->arrived.head->msg.payload : NULL;
    return link->arrived.n && (link->early || !payload || payload->filled == payload->bytes);
}

/* comm_kept.c: lists with equal content at both ends of a link; the caller holds the lock */
/* Index of the payload of @p key, -1: there is none. */
int comm_kept_index(const struct comm_kept *kept, int64_t key);
/* Payload @p i, borrowed; it moves to the front of the list. */
struct comm_buf *comm_kept_at(struct comm_kept *kept, int i);
/* Keep @p buf with an own reference; drop the least recently used payloads above the limit. */
enum wsc_err comm_kept_put(struct comm_kept *kept, int64_t limit_bytes, int64_t key,
                           struct comm_buf *buf);
void comm_kept_drop(struct comm_kept *kept);
void comm_kept_fini(struct comm_kept *kept);

/* comm_record.c */
static inline struct vtime_recorder *comm_running_recorder(const struct comm *comm)
{
    const struct comm_fiber *f = comm_running(comm);
    return f ? f->recorder : NULL;
}
/* Recorder of the program of @p role that is spawned next; NULL when nothing is recorded. */
struct vtime_recorder *comm_record_of_next(const struct comm *comm, int role);
void comm_record_fini(struct comm *comm);

/* comm_link.c */
void comm_links_destroy(struct comm *comm);

/* comm_remote.c: all calls of MPI on the data path */
enum wsc_err comm_remote_send(struct comm_link *link, struct comm_node *node);
/* Post the receive of the next header of a link from another rank. */
enum wsc_err comm_remote_expect(struct comm_link *link);
/* The first @p bytes of @p buf are there: wake the fibers that wait for them, and send them if the
 * buffer was passed on. */
enum wsc_err comm_remote_filled(struct comm_buf *buf, int64_t bytes);
/* Poll MPI. *@p moved: something arrived or was sent. */
enum wsc_err comm_remote_poll(struct comm *comm, bool *moved);
/* True while messages are still being sent. */
bool comm_remote_sending(const struct comm *comm);
/* Bytes of the current message of @p link that have not arrived, or are not posted yet; 0 or less:
 * no message is in transfer. */
int64_t comm_remote_left(const struct comm_link *link);
/* Cancel the posted requests, before MPI is finalized. */
void comm_remote_cancel(struct comm *comm);

/* comm_nap.c */
void comm_nap_begin(const struct comm *comm, struct comm_nap *nap);
/* Choose a new length from the number of requests that finished since the last choice. */
void comm_nap_choose(const struct comm *comm, struct comm_nap *nap);
void comm_nap_sleep(int64_t ns);
/* Leave the processor to other processes after @p spins polls without success. */
void comm_yield_processor(const struct comm *comm, int64_t spins);
/* Wait for @p request of a collective call, asleep if it takes long; returns the code of MPI. */
int comm_wait(const struct comm *comm, MPI_Request *request);

/* comm_heartbeat.c: heartbeats between the ranks of a job; all but start and end take NULL */
/* Collective. @p limit_s of rank 0 is used; 0 or less, or one rank: no heartbeats. */
enum wsc_err comm_watch_start(struct comm *comm, double limit_s);
/* Report to the peers that this rank ends, and end the thread. NULL without heartbeats. */
void comm_watch_end(struct comm *comm);
/* Ends the process when MPI takes longer than @p limit_s to start; NULL: no limit. */
struct comm_guard *comm_guard_begin(double limit_s);
void comm_guard_end(struct comm_guard *g);
/* Report that the main thread made progress. */
void comm_watch_moved(struct comm_watch *w);
/* Report that the main thread waits for @p text; NULL: it works again. */
void comm_watch_waits(struct comm_watch *w, const char *text);

/* comm_whole.c */
/* Send without waiting what an earlier call left, then @p record of @p bytes. @p sending (@p bytes)
 * has the record that is being sent, @p n_unsent of whose bytes are left; returns their new number.
 * A record for which the buffer has no room at all is lost. */
size_t comm_send_whole(int fd, const void *record, size_t bytes, char *sending, size_t n_unsent);

/* Return WSC_MPI from the calling function, with the text of MPI, when @p call fails. */
#define TRY_MPI(call)                                                                              \
    do {                                                                                           \
        int mpi_rc_ = (call);                                                                      \
        if (mpi_rc_ != MPI_SUCCESS) return comm_raise_mpi(mpi_rc_, #call, __FILE__, __LINE__);     \
    } while (0)
enum wsc_err comm_raise_mpi(int mpi_rc, const char *call, const char *file, int line);
/* End the job, with the text of MPI, when @p call fails: for results that all ranks must have. */
#define NEED_MPI(call)                                                                             \
    do {                                                                                           \
        int mpi_rc_ = (call);                                                                      \
        if (mpi_rc_ != MPI_SUCCESS) comm_end_after(mpi_rc_, #call, __FILE__, __LINE__);            \
    } while (0)
_Noreturn void comm_end_after(int mpi_rc, const char *call, const char *file, int line);
/* What the fibers of this rank wait for: "wafer 3 waits for role 1 to send weights; ..." */
void comm_describe_waits(const struct comm *comm, char *text, size_t size);
/* WSC_DEADLOCK with comm_describe_waits(). */
enum wsc_err comm_raise_stuck(const struct comm *comm, const char *how);
#endif
