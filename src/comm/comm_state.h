/** What the files of comm share: the job, links with their two transports, fibers, workers.
 *  Read comm_link.c and comm_remote.c for the transports, comm_run.c for the scheduler. */
#ifndef WSC_COMM_STATE_H
#define WSC_COMM_STATE_H
#include <wsc/comm.h>
#include <wsc/mem.h>

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <ucontext.h>

/* Bytes of a host name with its NUL; longer ones are cut. */
enum { COMM_HOST_BYTES = 64 };

/* A payload; between two uses it is in the job's list of free ones. */
struct comm_buf {
    struct comm *comm; /* borrowed: where a released buffer waits for its next use */
    int64_t bytes, capacity;
    int64_t filled;  /* of bytes, from the first on: there, so that they may be read or sent */
    bool last_first; /* ... from the last one on, and so they are sent */
    bool passed_on;  /* sent before it was filled: who fills it looks after those who wait */
    int refs;
    struct comm_buf *next;
    struct comm_fiber *waiters; /* each until its `waited` bytes are there; by `next` */
    void *data;                 /* owned */
};

/* The part of a message that travels. */
struct comm_wire_header {
    int32_t kind, index;
    int64_t step;
    int32_t transfer;
    struct vtime_span span;
    int64_t bytes;
    int64_t field[COMM_MSG_FIELDS];
    int64_t payload_bytes; /* -1: no payload, or one that the receiver keeps */
    int32_t kept;          /* its index among those, or -1 */
    int32_t forgets;       /* the receiver drops what it keeps, before this message */
    int32_t last_first;    /* the payload's bytes come from the last one on */
};

/* A message in a queue: on its way out over MPI, or arrived. */
struct comm_node {
    struct comm_msg msg;
    int32_t transfer; /* label of the sender's events, see comm_record_at() */
    struct comm_wire_header wire;
    struct comm_node *next;
};

/* Messages in the order in which they were sent. */
struct comm_queue {
    struct comm_node *head, *tail;
    int n;
};

/** Where a fiber or the scheduler continues: its context before it was first left, later a jump. */
struct comm_place {
    ucontext_t context;
    void *jump[5]; /**< as __builtin_setjmp() has it */
    bool is_left;
    void *watched; /**< what ThreadSanitizer knows this place by; NULL without it */
};

/* One program of a role: its stack, its state, and the link that it waits for.  States: READY (in
 * the ready list or running), RECEIVING (an empty link), SENDING (a full one), COMPUTING (on the
 * threads, or its turn), DONE. */
struct comm_fiber {
    struct comm_place place;
    void *stack; /* owned mapping, guard page first */
    size_t stack_bytes;
    comm_fiber_fn fn;
    void *arg; /* borrowed */
    struct comm *comm;
    struct comm_worker *worker; /* borrowed: who runs it */
    int role;
    char name[48];
    enum { FIBER_READY, FIBER_RECEIVING, FIBER_SENDING, FIBER_COMPUTING, FIBER_DONE } state;
    struct comm_link *waits_for;
    struct vtime_recorder *recorder;    /* borrowed; NULL outside the steps to be recorded */
    struct vtime_recorder *of_the_pass; /* borrowed; NULL: the pass is not recorded */
    enum wsc_err rc;
    int64_t waited; /* bytes of a payload */
    /* In the ready list, or among those that wait for a turn, or for the same payload. */
    struct comm_fiber *next;
    void *fake_stack; /* of AddressSanitizer */
};

/* A link and its ends.  Members of the sending end are used on the sender's rank, those of the
 * receiving end on the receiver's; on a link within a rank both are. */
struct comm_link {
    struct comm *comm;
    int id, src, dst; /* id is the MPI tag */
    bool src_local, dst_local;
    bool mute; /* nothing that is sent arrives: for tests */
    const char *name;
    int max_waiting;
    struct comm_worker *reader;           /* borrowed: who runs the receiver */
    struct vtime_link time;               /* kept by the sending end */
    struct comm_queue arrived;            /* kept by the receiving end */
    struct comm_fiber *receiver, *sender; /* blocked here, or NULL */
    int n_waiting;                        /* payloads not yet taken, kept by the sending end */
    /* Remote sending end: messages in order; the first is being posted. */
    struct comm_queue outgoing;
    int64_t send_posted_bytes;
    int send_in_flight; /* requests, the header's included */
    bool send_header_posted;
    /* Remote receiving end: one message at a time. */
    struct comm_node *incoming;
    int64_t recv_posted_bytes;
    int recv_in_flight;
    bool recv_header_posted;
    /* The reader gets a message with its header; which of the pieces in flight are there, see
     * comm_pieces.c. */
    bool early;
    bool *piece_there; /* owned, chunks_in_flight; NULL until the first payload */
    int64_t piece_next, piece_posted;
    /* What both ends of a link between ranks keep, see comm_kept.c. */
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

/* The sleep between two looks at MPI, see comm_nap.c. */
struct comm_nap {
    int64_t ns, n_finished; /* of struct comm, at the last choice */
};
enum { COMM_SHORTEST_NAP_NS = 100000 };

/* The thread that lets MPI move while the main thread computes, and the lock between the two. */
struct comm_progress {
    struct comm *comm;
    pthread_t thread;
    pthread_mutex_t lock; /* of all of comm and MPI, see comm_progress.c */
    atomic_bool stop;
    enum wsc_err rc; /* of the thread, and its sentence; read under the lock */
    char text[400];
};

/* One thread that runs fibers, and those that are ready; the first one is the main thread.  Its
 * members are for its thread, but for those under the lock of the workers, see comm_workers.c. */
struct comm_worker {
    struct comm *comm;
    struct comm_place scheduler;
    const void *scheduler_stack; /* bounds, for AddressSanitizer */
    size_t scheduler_stack_bytes;
    struct comm_fiber *ready_head, *ready_tail;
    struct comm_fiber *running;
    struct comm_node *free_nodes;
    int n_fibers, n_done;
    int64_t n_messages, n_sent; /* received, sent */
    pthread_t thread;
    /* Under the lock: messages of other workers for fibers of this one, in their order. */
    struct comm_handed *handed; /* owned, n_handed of handed_capacity */
    int n_handed, handed_capacity;
    atomic_bool has_handed;
    bool is_still; /* waits for a message, or has ended */
    bool has_ended;
    pthread_cond_t wake;
    enum wsc_err rc; /* of its first fiber that failed, with the sentence */
    char text[400];
};

/* Everything of the job on this rank. */
struct comm {
    bool use_mpi, started_mpi;
    int rank, size;
    MPI_Comm world, subgroup;
    int64_t chunk_bytes, chunks_in_flight, keep_bytes;
    int64_t sent_bytes; /* headers and payloads to other ranks */
    int n_roles;
    int *rank_of_role;                  /* owned, n_roles */
    int *host_of_rank;                  /* owned, size */
    char (*host_name)[COMM_HOST_BYTES]; /* owned, size */
    int n_links;                        /* opened anywhere: the next tag */
    struct comm_link *links;            /* owned list of those with a local end */
    struct comm_buf *free_bufs;
    int64_t free_buf_bytes;

    int n_workers;
    struct comm_worker **worker; /* owned, n_workers; at least the main thread's */
    int *worker_of_role;         /* owned, n_roles; NULL: the first one runs all */
    pthread_mutex_t workers_lock;
    int n_still;               /* workers; under the lock */
    atomic_bool workers_end;   /* a fiber failed, or none can move */
    struct comm_fiber **fiber; /* owned, n_fibers of capacity */
    int n_fibers, fiber_capacity;
    struct comm_fiber *turn_head, *turn_tail; /* wait for their turn to compute */
    struct comm_computation *computations;    /* borrowed, of fibers that have it */
    struct comm_stack *stacks;
    bool recording;
    int64_t record_first, record_end; /* steps to be recorded */
    struct vtime_recorder *recorder;  /* owned, one per program of all roles; or NULL */

    int n_requests, request_capacity;
    MPI_Request *request;            /* owned */
    struct comm_request *request_of; /* owned */
    int *completed;                  /* owned, scratch of MPI_Testsome */
    MPI_Status *status;              /* owned, scratch of MPI_Testsome */
    int64_t n_finished;              /* requests so far */
    struct comm_nap nap;             /* of the main thread, where it waits */
    bool oversubscribed;
    bool ahead;      /* messages move while a rank computes, and payloads are kept */
    bool may_thread; /* MPI allows calls of several threads, one at a time */
    double stall_limit_s;
    /* Numbers of messages that this rank sends wrongly, from 1; 0: none.  For tests. */
    int64_t mute_message, garble_message, long_message;
    struct comm_watch *watch;       /* owned, or NULL */
    struct comm_progress *progress; /* owned, or NULL */
};

/* comm_thread.c */
/* Start a thread that takes no signals: those are for the main thread.  False: errno says why. */
bool comm_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);
/* This thread runs the fibers of @p w from now on; the one whose it ran, or NULL. */
struct comm_worker *comm_thread_is_of(struct comm_worker *w);
/* The one whose thread this is; outside comm_run() the first one. */
struct comm_worker *comm_worker_of_thread(const struct comm *comm);

/* comm_workers.c */
enum wsc_err comm_workers_create(struct comm *comm, int n);
void comm_workers_destroy(struct comm *comm);
static inline struct comm_worker *comm_here(const struct comm *comm)
{
    return comm->n_workers == 1 ? comm->worker[0] : comm_worker_of_thread(comm);
}
/* The fiber that runs in this thread; NULL outside. */
static inline struct comm_fiber *comm_running(const struct comm *comm)
{
    return comm_here(comm)->running;
}
/* Give the message to the thread of the link's receiver. */
enum wsc_err comm_workers_hand(struct comm_link *link, struct comm_node *node);
/* Run all fibers on several threads. */
enum wsc_err comm_workers_run(struct comm *comm);

/* comm_processors.c: learn which processors this process may count as its own.  Collective over the
 * ranks @p here of this host; with MPI_COMM_NULL the process is alone on it. */
enum wsc_err comm_share_processors(MPI_Comm here);

/* comm_hosts.c: collective; fills host_of_rank and host_name, *n_here: ranks on this host */
enum wsc_err comm_hosts_learn(struct comm *comm, int *n_here);

/* comm_fiber.c */
enum wsc_err comm_fiber_create(struct comm *comm, struct comm_fiber **out, int64_t stack_bytes);
void comm_fiber_destroy(struct comm_fiber *fiber);
/* Back to the scheduler, until somebody makes the running fiber ready. */
void comm_fiber_block(struct comm *comm);
/* Put a fiber at the end of the ready list of its worker. */
void comm_fiber_make_ready(struct comm_fiber *fiber);
/* Run the first ready fiber of @p w until it blocks or ends; the error of one that has ended. */
enum wsc_err comm_fiber_next(struct comm_worker *w);
void comm_fiber_free_stacks(struct comm *comm);

/* comm_compute.c */
/* When no fiber is ready: let some compute, or let them in; false when none asks for it. */
bool comm_compute_next(struct comm *comm);
/* After an error nobody computes any more. */
void comm_compute_forget(struct comm *comm);

/* comm_progress.c: NULL progress with one rank, and where MPI wants all calls on one thread */
enum wsc_err comm_progress_start(struct comm *comm);
void comm_progress_end(struct comm *comm);
/* What failed in the thread. */
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

/* comm_buf.c: as the public functions, for whoever has the lock */
enum wsc_err comm_buf_take(struct comm *comm, struct comm_buf **out, int64_t bytes);
void comm_buf_give(struct comm_buf **buf);

/* True when the reader of the link may have its first message. */
static inline bool comm_link_is_readable(const struct comm_link *link)
{
    const struct comm_buf *payload = link->arrived.n ? link->arrived.head->msg.payload : NULL;
    return link->arrived.n && (link->early || !payload || payload->filled == payload->bytes);
}

/* comm_kept.c: lists of equal content at both ends of a link, for whoever has the lock */
/* Index of the payload of @p key, -1: there is none. */
int comm_kept_index(const struct comm_kept *kept, int64_t key);
/* Payload @p i, borrowed, which is then the first. */
struct comm_buf *comm_kept_at(struct comm_kept *kept, int i);
/* Keep @p buf with a reference of its own, instead of the last used ones above the limit. */
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

/* comm_remote.c: everything that calls MPI on the data path */
enum wsc_err comm_remote_send(struct comm_link *link, struct comm_node *node);
/* Post the receive of the next header of a link from another rank. */
enum wsc_err comm_remote_expect(struct comm_link *link);
/* The first @p bytes of @p buf are there: wake who waits for them, send them on. */
enum wsc_err comm_remote_filled(struct comm_buf *buf, int64_t bytes);
/* Let MPI move; true when something arrived or left. */
enum wsc_err comm_remote_poll(struct comm *comm, bool *moved);
/* True while messages are still on their way out. */
bool comm_remote_sending(const struct comm *comm);
/* Bytes of the message that @p link moves that have not arrived, or are not posted yet; 0 or less:
 * it moves none. */
int64_t comm_remote_left(const struct comm_link *link);
/* Cancel what is still posted, before MPI ends. */
void comm_remote_cancel(struct comm *comm);

/* comm_nap.c */
void comm_nap_begin(const struct comm *comm, struct comm_nap *nap);
/* Another length, by the requests that have finished since the last choice. */
void comm_nap_choose(const struct comm *comm, struct comm_nap *nap);
void comm_nap_sleep(int64_t ns);
/* Between two of @p spins looks in vain: let others have the processor, and sleep in the end. */
void comm_give_way(const struct comm *comm, int64_t spins);
/* Wait for @p request of a collective call, asleep when it takes long; the code of MPI. */
int comm_wait(const struct comm *comm, MPI_Request *request);

/* comm_heartbeat.c: heartbeats between the ranks of a job; all but start and end take NULL */
/* Collective; @p limit_s of rank 0 counts, <= 0 or one rank: none. */
enum wsc_err comm_watch_start(struct comm *comm, double limit_s);
/* Tell the peers that this rank leaves, and end the thread; NULL without heartbeats. */
void comm_watch_end(struct comm *comm);
/* Ends the process when MPI takes longer than @p limit_s to start; NULL: no limit. */
struct comm_guard *comm_guard_begin(double limit_s);
void comm_guard_end(struct comm_guard *g);
/* The main thread did something. */
void comm_watch_moved(struct comm_watch *w);
/* It waits, @p text says for what; or, with NULL, it works again. */
void comm_watch_waits(struct comm_watch *w, const char *text);

/* Return WSC_MPI from the calling function, with the text of MPI, when @p call fails. */
#define TRY_MPI(call)                                                                              \
    do {                                                                                           \
        int mpi_rc_ = (call);                                                                      \
        if (mpi_rc_ != MPI_SUCCESS) return comm_raise_mpi(mpi_rc_, #call, __FILE__, __LINE__);     \
    } while (0)
enum wsc_err comm_raise_mpi(int mpi_rc, const char *call, const char *file, int line);
/* For whom the fibers of this rank wait: "wafer 3 waits for role 1 to send weights; ..." */
void comm_describe_waits(const struct comm *comm, char *text, size_t size);
/* WSC_DEADLOCK with comm_describe_waits(). */
enum wsc_err comm_raise_stuck(const struct comm *comm, const char *how);
#endif
