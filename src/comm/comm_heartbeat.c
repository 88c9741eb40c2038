// SPDX-License-Identifier: Apache-2.0
/* Heartbeats: a thread per rank reports to that of rank 0 that the process runs, what it has done
 * and what it waits for; rank 0 answers. Beats use TCP instead of MPI, so they neither need the
 * main thread nor change the order of its messages. A process that does not hear its peer for too
 * long prints one line and ends, whereupon the launcher ends the others. Rank 0 also ends the job
 * when all ranks wait and none has made progress for too long. Values and virtual time are not
 * affected. */
#include "comm_state.h"

#include <wsc/check.h>
#include <wsc/clock.h>
#include <wsc/log.h>

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* TEXT_BYTES: text of what a rank waits for. Then: most addresses of a host; beats within the time
 * limit, so that several may be lost; milliseconds to connect; most waits that a message lists. */
enum {
    TEXT_BYTES = 160,
    MOST_ADDRESSES = 8,
    BEATS_PER_LIMIT = 8,
    CONNECT_MS = 3000,
    NAMED_WAITS = 6
};

/* Address of rank 0. The token rejects connections of other programs. */
struct comm_invitation {
    char host[COMM_HOST_BYTES];
    uint64_t token[2];
    struct in_addr address[MOST_ADDRESSES];
    int n_addresses;
    in_port_t port; /* network order; 0: nobody listens */
};

/* A beat. From a rank: first the token, later its state. From rank 0: that it runs, or that it
 * ends. */
struct comm_beat {
    uint64_t token[2];
    int32_t rank, leaves, waits;
    uint64_t moves;
    char host[COMM_HOST_BYTES], text[TEXT_BYTES];
};

/* State of the other end of a connection. */
struct comm_peer {
    int fd; /* -1: not connected, or the connection was closed */
    int rank;
    bool left;
    double heard_s;
    struct comm_beat newest;
    size_t n_read; /* bytes of the beat that is arriving */
    char partial[sizeof(struct comm_beat)];
    size_t n_unsent; /* bytes at the end of the beat that is being sent */
    char sending[sizeof(struct comm_beat)];
};

/* The heartbeats of one rank. Rank 0 has a peer for every other rank; other ranks have rank 0 as
 * the only peer. The main thread writes `moves` and `waits`, the heartbeat thread reads them. */
struct comm_watch {
    int rank, size;
    double limit_s;
    struct comm_invitation invitation;
    int listener;
    struct comm_peer *peer; /* owned: on rank 0 one for each rank, else rank 0 alone */
    int n_peers;
    struct pollfd *fds; /* owned: one for each peer, then the listener's */
    pthread_t thread;
    bool started;
    atomic_bool stop, waits;
    atomic_ullong moves;
    pthread_mutex_t lock; /* protects `text` */
    char host[COMM_HOST_BYTES], text[TEXT_BYTES];
    unsigned long long seen_moves; /* sum of `moves` of all ranks when one last made progress */
    double moved_s;
};

/* ---- what the main thread reports ----------------------------------------------------------- */

void comm_watch_moved(struct comm_watch *w)
{
    if (w) atomic_fetch_add_explicit(&w->moves, 1, memory_order_relaxed);
}

/* Copy as many phrases of @p from, divided by "; ", as fit whole: half a one would mislead. */
static void copy_phrases(char text[static TEXT_BYTES], const char *from)
{
    const int n = snprintf(text, TEXT_BYTES, "%s", from);
    if (n < TEXT_BYTES) return;
    for (size_t end = TEXT_BYTES - 2; end > 0; end--) {
        if (strncmp(from + end, "; ", 2) != 0) continue;
        text[end] = '\0';
        return;
    }
}

void comm_watch_waits(struct comm_watch *w, const char *text)
{
    if (!w) return;
    if (text) {
        (void)pthread_mutex_lock(&w->lock);
        copy_phrases(w->text, text);
        (void)pthread_mutex_unlock(&w->lock);
    }
    atomic_store(&w->waits, text != NULL);
}

/* What the main thread waits for, or last waited for. */
static void copy_text(struct comm_watch *w, char text[TEXT_BYTES])
{
    (void)pthread_mutex_lock(&w->lock);
    memcpy(text, w->text, TEXT_BYTES);
    (void)pthread_mutex_unlock(&w->lock);
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* Print and exit at once: the main thread may be anywhere, also inside MPI. The launcher ends the
 * others. */
static _Noreturn void give_up(const char *what)
{
    (void)fprintf(stderr, "wsc: error: %s\n", what);
    (void)fflush(stderr);
    _exit(wsc_err_exit_status(WSC_DEADLOCK));
}

/* Append "; rank 3: wafer 0 waits for role 2 to send weights" for each rank that waits. */
static void append_waits(struct comm_watch *w, char *text, size_t size)
{
    char own[TEXT_BYTES];
    size_t used = strlen(text);
    int named = 0;
    for (int i = 0; i < w->n_peers && named < NAMED_WAITS && used < size; i++) {
        const struct comm_peer *p = &w->peer[i];
        if (p->left || !p->newest.waits) continue;
        const int n = snprintf(text + used, size - used, "; rank %d: %s", p->rank, p->newest.text);
        used += n > 0 ? (size_t)n : 0;
        named++;
    }
    if (!atomic_load(&w->waits) || used >= size) return;
    copy_text(w, own);
    (void)snprintf(text + used, size - used, "; rank %d: %s", w->rank, own);
}

/* End the process because a peer is silent; the message has the known part of the wait-for graph.
 */
static _Noreturn void lost(struct comm_watch *w, const struct comm_peer *p, const char *how)
{
    char text[2048];
    (void)snprintf(text, sizeof text, "rank %d on %s %s", p->rank,
                   p->newest.host[0] ? p->newest.host : "its host", how);
    append_waits(w, text, sizeof text);
    give_up(text);
}

/* ---- beats ----------------------------------------------------------------------------------- */

/* One beat to a peer. */
static void send_beat(struct comm_watch *w, struct comm_peer *p, bool leaves)
{
    struct comm_beat b = {.rank = w->rank,
                          .leaves = leaves,
                          .waits = atomic_load(&w->waits),
                          .moves = atomic_load(&w->moves)};
    if (p->fd < 0) return;
    memcpy(b.token, w->invitation.token, sizeof b.token);
    (void)snprintf(b.host, sizeof b.host, "%s", w->host);
    copy_text(w, b.text);
    p->n_unsent = comm_send_whole(p->fd, &b, sizeof b, p->sending, p->n_unsent);
}

/* True when the beat has the token of the job and a rank of it: any process may connect to an open
 * port. */
static bool is_of_this_job(const struct comm_watch *w, const struct comm_beat *b)
{
    return !memcmp(b->token, w->invitation.token, sizeof b->token) && b->rank >= 0 &&
           b->rank < w->size;
}

/* Store what a peer reported. Texts are terminated here, because they come from outside. */
static void take_beat(struct comm_watch *w, struct comm_peer *p, struct comm_beat *b)
{
    b->host[COMM_HOST_BYTES - 1] = b->text[TEXT_BYTES - 1] = '\0';
    if (!is_of_this_job(w, b) || (p->rank >= 0 && b->rank != p->rank)) return;
    p->rank = b->rank;
    p->newest = *b;
    p->heard_s = wsc_clock_s();
    p->left = b->leaves != 0;
}

/* Close the connection. A silent peer is detected by the time since its last beat, not by the
 * closed connection. */
static void close_connection(struct comm_peer *p)
{
    if (p->fd >= 0) (void)close(p->fd);
    p->fd = -1;
    p->n_read = p->n_unsent = 0;
}

/* Read what has arrived from a peer; a beat may arrive in pieces. */
static void read_peer(struct comm_watch *w, struct comm_peer *p)
{
    for (;;) {
        ssize_t n =
            recv(p->fd, p->partial + p->n_read, sizeof p->partial - p->n_read, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) break;
        p->n_read += (size_t)n;
        if (p->n_read < sizeof p->partial) continue;
        struct comm_beat b;
        memcpy(&b, p->partial, sizeof b);
        p->n_read = 0;
        take_beat(w, p, &b);
    }
    close_connection(p);
}

/* ---- connections ----------------------------------------------------------------------------- */

/* Accept a connection. The first beat names the rank, and so the entry of the peer; a connection
 * without a valid beat is closed. */
static void accept_one(struct comm_watch *w)
{
    struct comm_beat b;
    const struct timeval second = {.tv_sec = 1};
    int fd = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) return;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    const bool whole = recv(fd, &b, sizeof b, MSG_WAITALL) == (ssize_t)sizeof b;
    if (!whole || !is_of_this_job(w, &b) || b.rank < 1 || w->peer[b.rank - 1].fd >= 0) {
        (void)close(fd);
        return;
    }
    struct comm_peer *p = &w->peer[b.rank - 1];
    p->fd = fd;
    take_beat(w, p, &b);
}

/* The IPv4 addresses of this host, for ranks on other hosts, and loopback for ranks on this one. */
static void list_addresses(struct comm_invitation *inv)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all)) return;
    for (const struct ifaddrs *a = all; a && inv->n_addresses < MOST_ADDRESSES; a = a->ifa_next) {
        if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || a->ifa_flags & IFF_LOOPBACK)
            continue;
        struct sockaddr_in in;
        memcpy(&in, a->ifa_addr, sizeof in);
        inv->address[inv->n_addresses++] = in.sin_addr;
    }
    freeifaddrs(all);
}

/* Rank 0: choose a token and listen on any port. After an error the port is 0, and no rank
 * connects. */
static void listen_here(struct comm_watch *w)
{
    struct comm_invitation *inv = &w->invitation;
    struct sockaddr_in in = {.sin_family = AF_INET};
    socklen_t size = sizeof in;
    if (getrandom(inv->token, sizeof inv->token, 0) != (ssize_t)sizeof inv->token) return;
    memcpy(inv->host, w->host, sizeof inv->host);
    list_addresses(inv);
    w->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (w->listener < 0 || bind(w->listener, (struct sockaddr *)&in, size) ||
        listen(w->listener, w->size) || getsockname(w->listener, (struct sockaddr *)&in, &size))
        return;
    inv->port = in.sin_port;
}

/* A connection within CONNECT_MS, or -1. */
static int connect_to(struct in_addr address, in_port_t port)
{
    const struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = address, .sin_port = port};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), bad = 1;
    socklen_t size = sizeof bad;
    if (fd < 0) return -1;
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    if (!connect(fd, (const struct sockaddr *)&in, sizeof in)) return fd;
    if (errno == EINPROGRESS && poll(&ready, 1, CONNECT_MS) == 1 &&
        !getsockopt(fd, SOL_SOCKET, SO_ERROR, &bad, &size) && !bad)
        return fd;
    (void)close(fd);
    return -1;
}

/* Connect to rank 0 by the first of its addresses that answers. */
static void connect_to_first(struct comm_watch *w)
{
    const struct comm_invitation *inv = &w->invitation;
    const bool same_host = !strcmp(inv->host, w->host);
    struct comm_peer *p = w->peer;
    p->rank = 0;
    if (inv->port && same_host)
        p->fd = connect_to((struct in_addr){htonl(INADDR_LOOPBACK)}, inv->port);
    for (int i = 0; inv->port && p->fd < 0 && i < inv->n_addresses; i++)
        p->fd = connect_to(inv->address[i], inv->port);
    memcpy(p->newest.host, inv->host, sizeof p->newest.host);
    send_beat(w, p, false);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* End the process when a peer was silent for the time limit. */
static void check_peers(struct comm_watch *w, double now)
{
    char how[80];
    for (int i = 0; i < w->n_peers; i++) {
        struct comm_peer *p = &w->peer[i];
        if (p->left || p->rank < 0 || now - p->heard_s <= w->limit_s) continue;
        (void)snprintf(how, sizeof how, "has not been heard from for %.0f s", now - p->heard_s);
        lost(w, p, how);
    }
}

/* Rank 0: end the job when every rank waits and none has made progress for the time limit. */
static void check_moves(struct comm_watch *w, double now)
{
    char text[2048];
    unsigned long long moves = atomic_load(&w->moves);
    bool all_wait = atomic_load(&w->waits);
    for (int i = 0; i < w->n_peers; i++) {
        moves += w->peer[i].newest.moves;
        all_wait = all_wait && (w->peer[i].newest.waits || w->peer[i].left);
    }
    if (moves != w->seen_moves || !all_wait) {
        w->seen_moves = moves;
        w->moved_s = now;
    }
    if (now - w->moved_s <= w->limit_s) return;
    (void)snprintf(text, sizeof text, "all ranks wait, and none has moved for %.0f s",
                   now - w->moved_s);
    append_waits(w, text, sizeof text);
    give_up(text);
}

/* Restart all deadlines: after a sleep of the machine or of this process, silence of a peer means
 * nothing. */
static void restart_deadlines(struct comm_watch *w, double now)
{
    w->moved_s = now;
    for (int i = 0; i < w->n_peers; i++)
        w->peer[i].heard_s = now;
}

/* Wait up to @p ms for beats and new connections, and read them. */
static void wait_for_beats(struct comm_watch *w, int ms)
{
    struct pollfd *fds = w->fds;
    for (int i = 0; i < w->n_peers; i++)
        fds[i] = (struct pollfd){.fd = w->peer[i].fd, .events = POLLIN};
    fds[w->n_peers] = (struct pollfd){.fd = w->listener, .events = POLLIN};
    if (poll(fds, (nfds_t)w->n_peers + 1, ms) <= 0) return;
    for (int i = 0; i < w->n_peers; i++)
        if (fds[i].revents) read_peer(w, &w->peer[i]);
    if (fds[w->n_peers].revents) accept_one(w);
}

/* The heartbeat thread: receives beats, sends a beat in each period, checks the time limits. */
static void *run_watch(void *arg)
{
    struct comm_watch *w = arg;
    const double period_s = w->limit_s / BEATS_PER_LIMIT;
    double beat_s = 0, before = wsc_clock_s();
    while (!atomic_load(&w->stop)) {
        wait_for_beats(w, 50);
        const double now = wsc_clock_s();
        if (now - before > w->limit_s / 2) restart_deadlines(w, now);
        before = now;
        if (now - beat_s < period_s) continue;
        beat_s = now;
        for (int i = 0; i < w->n_peers; i++)
            send_beat(w, &w->peer[i], false);
        check_peers(w, now);
        if (w->rank == 0) check_moves(w, now);
    }
    return NULL;
}

/* ---- before the ranks know each other -------------------------------------------------------- */

/* A time limit for MPI_Init, which may wait forever for a rank that did not start. */
struct comm_guard {
    pthread_t thread;
    double limit_s;
    atomic_bool done;
};

static void *run_guard(void *arg)
{
    const struct timespec nap = {.tv_nsec = 50000000};
    struct comm_guard *g = arg;
    char text[200];
    const double since = wsc_clock_s();
    while (!atomic_load(&g->done) && wsc_clock_s() - since < g->limit_s)
        (void)nanosleep(&nap, NULL);
    if (atomic_load(&g->done)) return NULL;
    (void)snprintf(text, sizeof text,
                   "MPI has not started for %.0f s: not all ranks of the job have arrived; hint: "
                   "WSC_HEARTBEAT_SECONDS=... allows more",
                   g->limit_s);
    give_up(text);
}

struct comm_guard *comm_guard_begin(double limit_s)
{
    struct comm_guard *g = limit_s > 0 ? wsc_alloc(WSC_MEM_COMM, 1, sizeof *g) : NULL;
    if (!g) return NULL;
    g->limit_s = limit_s;
    if (comm_thread_start(&g->thread, run_guard, g)) return g;
    wsc_free(g);
    return NULL;
}

void comm_guard_end(struct comm_guard *g)
{
    if (!g) return;
    atomic_store(&g->done, true);
    (void)pthread_join(g->thread, NULL);
    wsc_free(g);
}

/* ---- start and end --------------------------------------------------------------------------- */

/* Make the heartbeats without connections. After an error, too, comm_watch_end() of the caller
 * frees them. */
static enum wsc_err make(struct comm *comm, double limit_s, struct comm_watch **out)
{
    struct comm_watch *w;
    TRY_NEW(w, WSC_MEM_COMM, 1);
    *out = w;
    w->rank = comm->rank;
    w->size = comm->size;
    w->limit_s = limit_s;
    w->listener = -1;
    w->n_peers = comm->rank ? 1 : comm->size - 1;
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)gethostname(w->host, sizeof w->host - 1);
    TRY_NEW(w->fds, WSC_MEM_COMM, w->n_peers + 1);
    TRY_NEW(w->peer, WSC_MEM_COMM, w->n_peers);
    for (int i = 0; i < w->n_peers; i++)
        w->peer[i] = (struct comm_peer){.fd = -1, .rank = -1};
    return WSC_OK;
}

/* Connect all ranks to rank 0. Collective. Ranks that cannot reach rank 0 are not watched, with a
 * warning; the run continues. */
static enum wsc_err join(struct comm *comm, struct comm_watch *w)
{
    int reached = 1, n_reached = 0;
    WSC_CHECK(w && w->peer, "heartbeats without a table");
    if (comm->rank == 0) listen_here(w);
    TRY_MPI(MPI_Bcast(&w->invitation, (int)sizeof w->invitation, MPI_BYTE, 0, comm->world));
    if (comm->rank) connect_to_first(w);
    if (comm->rank) reached = w->peer->fd >= 0;
    restart_deadlines(w, wsc_clock_s());
    if (!reached) w->peer->rank = -1;
    TRY_MPI(MPI_Reduce(&reached, &n_reached, 1, MPI_INT, MPI_SUM, 0, comm->world));
    if (comm->rank == 0 && n_reached < comm->size)
        WSC_WARNING("heartbeats: %d of %d ranks cannot reach rank 0 on %s; they are not watched",
                    comm->size - n_reached, comm->size, w->host);
    return WSC_OK;
}

enum wsc_err comm_watch_start(struct comm *comm, double limit_s)
{
    struct comm_watch *w = NULL;
    if (comm->size == 1) return WSC_OK;
    /* Other hosts may have another environment, so the limit of rank 0 is used. */
    TRY_MPI(MPI_Bcast(&limit_s, 1, MPI_DOUBLE, 0, comm->world));
    if (limit_s <= 0) return WSC_OK;
    enum wsc_err rc = make(comm, limit_s, &w);
    comm->watch = w;
    TRY(rc);
    TRY(join(comm, w));
    WSC_CHECK(w, "no heartbeats");
    if (!comm_thread_start(&w->thread, run_watch, w))
        return WSC_RAISE(WSC_NOMEM, "heartbeats: no thread: %s", strerror(errno));
    w->started = true;
    return WSC_OK;
}

void comm_watch_end(struct comm *comm)
{
    struct comm_watch *w = comm->watch;
    comm->watch = NULL;
    if (!w) return;
    atomic_store(&w->stop, true);
    if (w->started) (void)pthread_join(w->thread, NULL);
    for (int i = 0; w->peer && i < w->n_peers; i++) {
        send_beat(w, &w->peer[i], true);
        close_connection(&w->peer[i]);
    }
    if (w->listener >= 0) (void)close(w->listener);
    (void)pthread_mutex_destroy(&w->lock);
    wsc_free(w->peer);
    wsc_free(w->fds);
    wsc_free(w);
}
