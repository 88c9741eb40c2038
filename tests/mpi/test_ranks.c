// SPDX-License-Identifier: Apache-2.0
/* Messages between ranks: sizes around the chunk, order, all pairs at once, collectives. */
#include "../../src/comm/comm_state.h"
#include "../support/test.h"

#include <wsc/clock.h>
#include <wsc/comm.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct comm_link_spec spec = {
    .rate_bytes_per_s = 1000000000, .latency_ps = 7, .name = "payload"};

enum { MAX_RANKS = 16, CHUNK = 1000 };
/* Around the chunk, many chunks with a rest, nothing, one byte, no payload at all. */
static const int64_t size_of[] = {0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 0, 17 * CHUNK + 3, 1, -1, 64};
enum { N_SIZES = sizeof size_of / sizeof *size_of };

/* One direction of one pair of ranks. */
struct talk {
    struct comm *comm;
    struct comm_link *link;
    int from, to, n_rounds;
    int64_t n_received;
};

static unsigned char byte_of(const struct talk *t, int message, int64_t i)
{
    return (unsigned char)(t->from * 31 + t->to * 7 + message * 13 + i);
}

static enum wsc_err say(void *arg)
{
    struct talk *t = arg;
    for (int i = 0; i < t->n_rounds * N_SIZES; i++) {
        int64_t bytes = size_of[i % N_SIZES];
        struct comm_msg msg = {.kind = 5, .index = i, .step = -i, .bytes = bytes > 0 ? bytes : 0};
        msg.field[COMM_MSG_FIELDS - 1] = INT64_MIN + i;
        if (bytes >= 0) TRY(comm_buf_create(t->comm, &msg.payload, bytes));
        for (int64_t k = 0; k < bytes; k++)
            ((unsigned char *)comm_buf_data(msg.payload))[k] = byte_of(t, i, k);
        TRY(comm_send(t->link, &msg));
    }
    return WSC_OK;
}

static bool is_right(const struct talk *t, int i, const struct comm_msg *msg)
{
    const int64_t bytes = size_of[i % N_SIZES];
    if (msg->kind != 5 || msg->index != i || msg->step != -i) return false;
    if (msg->field[COMM_MSG_FIELDS - 1] != INT64_MIN + i) return false;
    if ((msg->payload != NULL) != (bytes >= 0)) return false;
    if (msg->payload && comm_buf_bytes(msg->payload) != bytes) return false;
    for (int64_t k = 0; k < bytes; k++)
        if (((unsigned char *)comm_buf_data(msg->payload))[k] != byte_of(t, i, k)) return false;
    return true;
}

static enum wsc_err hear(void *arg)
{
    struct talk *t = arg;
    for (int i = 0; i < t->n_rounds * N_SIZES; i++) {
        struct comm_msg msg;
        TRY(comm_recv(t->link, &msg));
        if (!is_right(t, i, &msg))
            return WSC_RAISE(WSC_FORMAT, "message %d from %d to %d", i, t->from, t->to);
        t->n_received++;
        comm_buf_unref(&msg.payload);
    }
    return WSC_OK;
}

/* A link each way between all pairs of roles, one role per rank and one more on rank 0. */
static enum wsc_err open_talks(struct comm *comm, struct talk *talk, int n_rounds, int max_waiting)
{
    int rank_of[MAX_RANKS + 1], n_roles = comm_size(comm) + 1, n = 0;
    struct comm_link_spec bounded = spec;
    bounded.max_waiting = max_waiting;
    for (int r = 0; r < n_roles; r++)
        rank_of[r] = r % comm_size(comm);
    TRY(comm_place(comm, n_roles, rank_of));
    for (int from = 0; from < n_roles; from++)
        for (int to = 0; to < n_roles; to++) {
            talk[n] = (struct talk){comm, NULL, from, to, n_rounds, 0};
            if (from == to) continue;
            TRY(comm_link_open(comm, &talk[n++].link, from, to, &bounded));
        }
    for (int i = 0; i < n; i++) {
        if (comm_is_local(comm, talk[i].from))
            TRY(comm_spawn(comm, talk[i].from, say, &talk[i], 0, "speaker"));
        if (comm_is_local(comm, talk[i].to))
            TRY(comm_spawn(comm, talk[i].to, hear, &talk[i], 0, "hearer"));
    }
    return WSC_OK;
}

static enum wsc_err talk_all(int64_t in_flight, int n_rounds, int max_waiting, bool *complete)
{
    static struct talk talk[(MAX_RANKS + 1) * MAX_RANKS];
    struct comm *comm = NULL;
    memset(talk, 0, sizeof talk);
    enum wsc_err rc = comm_create(&comm, true);
    if (!rc) comm_set_chunks(comm, CHUNK, in_flight);
    if (!rc) rc = open_talks(comm, talk, n_rounds, max_waiting);
    if (!rc) rc = comm_run(comm);
    *complete = true;
    for (int i = 0; !rc && i < (comm_size(comm) + 1) * comm_size(comm); i++)
        if (comm_is_local(comm, talk[i].to))
            *complete = *complete && talk[i].n_received == (int64_t)n_rounds * N_SIZES;
    if (rc) (void)fprintf(stderr, "%s\n", wsc_err_trace());
    if (rc) abort(); /* the other ranks would wait for ever for this one's messages */
    comm_destroy(&comm);
    return rc;
}

static void check_talks(int64_t in_flight, int n_rounds, int max_waiting)
{
    bool complete = false;
    enum wsc_err rc = talk_all(in_flight, n_rounds, max_waiting, &complete);
    CU_ASSERT_FATAL(test_agree(rc == WSC_OK && complete));
    CU_ASSERT_FATAL(test_agree(wsc_mem_in_use(WSC_MEM_COMM) == 0));
}

TEST(comm_mpi, every_pair_talks_at_once_one_chunk_in_flight)
{
    check_talks(1, 2, 0);
}

TEST(comm_mpi, every_pair_talks_at_once_eight_chunks_in_flight)
{
    check_talks(8, 2, 0);
}

TEST(comm_mpi, many_messages_keep_their_order)
{
    check_talks(3, 20, 0);
}

TEST(comm_mpi, a_bound_on_waiting_payloads_changes_nothing_that_arrives)
{
    check_talks(2, 3, 1);
}

/* ---- more than 2 GiB ---------------------------------------------------------------------------
 */

enum { LARGE_LINK_ROLES = 2 };
static const int64_t large_bytes = (INT64_C(11) << 30) / 5 + 3; /* 2.2 GiB and a rest */

struct large {
    struct comm *comm;
    struct comm_link *link;
    bool right;
};

static unsigned char large_byte(int64_t i)
{
    return (unsigned char)(i ^ i >> 8 ^ i >> 16 ^ i >> 24 ^ i >> 32);
}

static enum wsc_err say_much(void *arg)
{
    struct large *l = arg;
    struct comm_msg msg = {.kind = 5, .bytes = large_bytes};
    TRY(comm_buf_create(l->comm, &msg.payload, large_bytes));
    unsigned char *at = comm_buf_data(msg.payload);
    for (int64_t i = 0; i < large_bytes; i++)
        at[i] = large_byte(i);
    return comm_send(l->link, &msg);
}

static enum wsc_err hear_much(void *arg)
{
    struct large *l = arg;
    struct comm_msg msg;
    TRY(comm_recv(l->link, &msg));
    l->right = msg.bytes == large_bytes && comm_buf_bytes(msg.payload) == large_bytes;
    const unsigned char *at = comm_buf_data(msg.payload);
    for (int64_t i = 0; i < large_bytes && l->right; i++)
        l->right = at[i] == large_byte(i);
    comm_buf_unref(&msg.payload);
    return WSC_OK;
}

/* From the first rank to the last, with pieces of @p chunk_bytes. */
static bool sends_much(int64_t chunk_bytes)
{
    struct large l = {0};
    if (comm_create(&l.comm, true)) return false;
    comm_set_chunks(l.comm, chunk_bytes, 4);
    const int last = comm_size(l.comm) - 1, rank_of[LARGE_LINK_ROLES] = {0, last};
    enum wsc_err rc = comm_place(l.comm, LARGE_LINK_ROLES, rank_of);
    if (!rc) rc = comm_link_open(l.comm, &l.link, 0, 1, &spec);
    if (!rc && comm_rank(l.comm) == 0) rc = comm_spawn(l.comm, 0, say_much, &l, 0, "speaker");
    if (!rc && comm_rank(l.comm) == last) rc = comm_spawn(l.comm, 1, hear_much, &l, 0, "hearer");
    if (!rc) rc = comm_run(l.comm);
    if (rc) (void)fprintf(stderr, "%s\n", wsc_err_trace());
    const bool right = l.right || comm_rank(l.comm) != last;
    comm_destroy(&l.comm);
    return !rc && right;
}

/* Takes 5 GB of memory: only with WSC_LARGE in the environment.  The same paths with a few bytes
 * and small pieces are above. */
TEST(comm_mpi, a_message_of_more_than_2_gib)
{
    if (!getenv("WSC_LARGE")) return;
    (void)alarm(300);
    CU_ASSERT_FATAL(test_agree(sends_much(4 << 20)));
    CU_ASSERT_FATAL(test_agree(sends_much(INT64_C(1) << 40)));
    CU_ASSERT(test_agree(wsc_mem_in_use(WSC_MEM_COMM) == 0));
}

/* ---- progress while a rank computes ------------------------------------------------------------
 */

enum { EARLY_BYTES = 8 << 20 };
static const double computes_s = 2.5;

struct early {
    struct comm *comm;
    struct comm_link *link;
    double since_s, took_s;
};

/* Computes, without a call of comm, while its message should leave. */
static enum wsc_err say_and_compute(void *arg)
{
    struct early *e = arg;
    struct comm_msg msg = {.kind = 5, .bytes = EARLY_BYTES};
    TRY(comm_buf_create(e->comm, &msg.payload, EARLY_BYTES));
    memset(comm_buf_data(msg.payload), 3, EARLY_BYTES);
    TRY(comm_send(e->link, &msg));
    const double since = wsc_clock_s();
    while (wsc_clock_s() - since < computes_s)
        continue;
    return WSC_OK;
}

static enum wsc_err hear_early(void *arg)
{
    struct early *e = arg;
    struct comm_msg msg;
    TRY(comm_recv(e->link, &msg));
    e->took_s = wsc_clock_s() - e->since_s;
    comm_buf_unref(&msg.payload);
    return WSC_OK;
}

/* 8 MiB are far more than MPI takes without the sender's help. */
static bool arrives_early(void)
{
    struct early e = {0};
    if (comm_create(&e.comm, true)) return false;
    const int last = comm_size(e.comm) - 1, rank_of[LARGE_LINK_ROLES] = {0, last};
    enum wsc_err rc = comm_place(e.comm, LARGE_LINK_ROLES, rank_of);
    if (!rc) rc = comm_link_open(e.comm, &e.link, 0, 1, &spec);
    if (!rc && comm_rank(e.comm) == 0)
        rc = comm_spawn(e.comm, 0, say_and_compute, &e, 0, "speaker");
    if (!rc && comm_rank(e.comm) == last) rc = comm_spawn(e.comm, 1, hear_early, &e, 0, "hearer");
    (void)comm_max(e.comm, 0);
    e.since_s = wsc_clock_s();
    if (!rc) rc = comm_run(e.comm);
    if (rc) (void)fprintf(stderr, "%s\n", wsc_err_trace());
    const bool early = comm_size(e.comm) == 1 || e.took_s < computes_s / 2;
    if (!early) (void)fprintf(stderr, "the message took %.2f s\n", e.took_s);
    comm_destroy(&e.comm);
    return !rc && early;
}

TEST(comm_mpi, a_message_leaves_while_its_sender_computes)
{
    (void)setenv("WSC_AHEAD", "1", 1);
    CU_ASSERT_FATAL(test_agree(arrives_early()));
    (void)unsetenv("WSC_AHEAD");
    CU_ASSERT(test_agree(wsc_mem_in_use(WSC_MEM_COMM) == 0));
}

/* ---- payloads that are passed on while they arrive ---------------------------------------------
 */

enum { PASS_ROLES = 3, PASS_BYTES = 1 << 20 };

/* Role 0 writes a payload, role 1 passes it on, role 2 reads it and answers role 0. */
struct passing {
    struct comm *comm;
    bool last_first;
    struct comm_link *first, *second, *answer;
    bool right;
};

static void fill_half(struct comm_buf *buf, int half)
{
    unsigned char *to = comm_buf_data(buf);
    for (int i = half * PASS_BYTES / 2; i < (half + 1) * PASS_BYTES / 2; i++)
        to[i] = (unsigned char)(i % 251);
}

/* The second half is written when the first has been read: whoever waited for all of it would wait
 * for ever. */
static enum wsc_err write_halves(void *arg)
{
    struct passing *p = arg;
    struct comm_msg answer, msg = {.kind = 6, .bytes = PASS_BYTES};
    struct comm_buf *buf;
    TRY(comm_buf_create_open(p->comm, &buf, PASS_BYTES, p->last_first));
    msg.payload = comm_buf_ref(buf);
    enum wsc_err rc = comm_send(p->first, &msg);
    for (int half = 0; half < 2 && !rc; half++) {
        fill_half(buf, p->last_first ? 1 - half : half);
        rc = comm_buf_fill(buf, (half + 1) * PASS_BYTES / 2);
        if (!rc) rc = comm_recv(p->answer, &answer);
    }
    comm_buf_unref(&buf);
    return rc;
}

static enum wsc_err pass_on(void *arg)
{
    struct passing *p = arg;
    struct comm_msg msg;
    TRY(comm_recv(p->first, &msg));
    return comm_send(p->second, &msg);
}

static enum wsc_err read_halves(void *arg)
{
    struct passing *p = arg;
    struct comm_msg msg, answer = {.kind = 7};
    TRY(comm_recv(p->second, &msg));
    enum wsc_err rc = WSC_OK;
    p->right = comm_buf_bytes(msg.payload) == PASS_BYTES;
    for (int n = 0; n < 2 && !rc; n++) {
        const int half = p->last_first ? 1 - n : n;
        comm_buf_wait(p->second, msg.payload, half * PASS_BYTES / 2, (half + 1) * PASS_BYTES / 2);
        p->right = p->right && comm_buf_is_there(msg.payload) == (n == 1);
        const unsigned char *from = comm_buf_data(msg.payload);
        for (int i = half * PASS_BYTES / 2; i < (half + 1) * PASS_BYTES / 2; i++)
            p->right = p->right && from[i] == i % 251;
        rc = comm_signal(p->answer, &answer);
    }
    comm_buf_unref(&msg.payload);
    return rc;
}

static enum wsc_err spawn_passing(struct passing *p)
{
    static const comm_fiber_fn fn[PASS_ROLES] = {write_halves, pass_on, read_halves};
    static const char *const name[PASS_ROLES] = {"writer", "passer", "reader"};
    for (int role = 0; role < PASS_ROLES; role++)
        if (comm_is_local(p->comm, role))
            TRY(comm_spawn(p->comm, role, fn[role], p, 0, name[role]));
    return WSC_OK;
}

/* The roles on ranks of their own as far as there are. */
static bool passes_pieces(bool last_first)
{
    const struct comm_link_spec early = {.name = "pieces", .early = true},
                                back = {.name = "answer"};
    struct passing p = {.last_first = last_first, .right = true};
    int rank_of[PASS_ROLES];
    if (comm_create(&p.comm, true)) return false;
    comm_set_chunks(p.comm, 4096, 3);
    for (int role = 0; role < PASS_ROLES; role++)
        rank_of[role] = role % comm_size(p.comm);
    enum wsc_err rc = comm_place(p.comm, PASS_ROLES, rank_of);
    if (!rc) rc = comm_link_open(p.comm, &p.first, 0, 1, &early);
    if (!rc) rc = comm_link_open(p.comm, &p.second, 1, 2, &early);
    if (!rc) rc = comm_link_open(p.comm, &p.answer, 2, 0, &back);
    if (!rc) rc = spawn_passing(&p);
    if (!rc) rc = comm_run(p.comm);
    if (rc) (void)fprintf(stderr, "%s\n", wsc_err_trace());
    comm_destroy(&p.comm);
    return !rc && p.right;
}

TEST(comm_mpi, a_payload_is_read_and_passed_on_while_it_is_written)
{
    (void)setenv("WSC_AHEAD", "1", 1);
    CU_ASSERT_FATAL(test_agree(passes_pieces(false)));
    CU_ASSERT_FATAL(test_agree(passes_pieces(true)));
    (void)unsetenv("WSC_AHEAD");
    CU_ASSERT(test_agree(wsc_mem_in_use(WSC_MEM_COMM) == 0));
}

/* ---- collectives ----------------------------------------------------------------------------- */

static bool shares(struct comm *comm, int64_t n)
{
    char *bytes = NULL;
    int64_t n_bytes = -77;
    const bool first = comm_rank(comm) == 0;
    if (first) n_bytes = n;
    if (first && n >= 0) bytes = wsc_alloc(WSC_MEM_TEST, (size_t)n + 1, 1);
    for (int64_t i = 0; first && i < n; i++)
        bytes[i] = (char)(i * 5);
    enum wsc_err rc = comm_share(comm, &bytes, &n_bytes);
    bool right = !rc && n_bytes == n && (bytes != NULL) == (n >= 0);
    for (int64_t i = 0; right && i < n; i++)
        right = bytes[i] == (char)(i * 5);
    if (right && n >= 0) right = bytes[n] == '\0';
    wsc_free(bytes);
    return right;
}

TEST(comm_mpi, rank_0_shares_its_bytes)
{
    static const int64_t length[] = {0, 1, 70001, -1};
    struct comm *comm = NULL;
    CU_ASSERT_FATAL(test_agree(comm_create(&comm, true) == WSC_OK));
    for (int i = 0; i < 4; i++)
        CU_ASSERT(test_agree(shares(comm, length[i])));
    comm_set_chunks(comm, CHUNK, 1);
    for (int i = 0; i < 4; i++)
        CU_ASSERT(test_agree(shares(comm, length[i])));
    comm_destroy(&comm);
}

/* Each rank in turn fails, then all: one code for everyone, one rank that speaks. */
static bool agrees_on(struct comm *comm, int first_bad, int second_bad)
{
    const int rank = comm_rank(comm);
    bool mine = true;
    enum wsc_err rc = WSC_OK;
    if (rank == second_bad) rc = WSC_CAPACITY;
    if (rank == first_bad) rc = WSC_NUMERIC;
    enum wsc_err all = comm_agree(comm, rc, &mine);
    return all == WSC_NUMERIC && mine == (rank == first_bad);
}

TEST(comm_mpi, all_ranks_agree_on_the_first_failure)
{
    struct comm *comm = NULL;
    bool mine = true;
    CU_ASSERT_FATAL(test_agree(comm_create(&comm, true) == WSC_OK));
    enum wsc_err rc = comm_agree(comm, WSC_OK, &mine);
    CU_ASSERT(test_agree(rc == WSC_OK && !mine));
    for (int first = 0; first < comm_size(comm); first++)
        for (int second = first; second < comm_size(comm); second++)
            CU_ASSERT(test_agree(agrees_on(comm, first, second)));
    comm_destroy(&comm);
}

TEST(comm_mpi, the_largest_value_of_all_ranks)
{
    struct comm *comm = NULL;
    CU_ASSERT_FATAL(test_agree(comm_create(&comm, true) == WSC_OK));
    const int64_t rank = comm_rank(comm), last = comm_size(comm) - 1;
    bool up = comm_max(comm, (INT64_C(1) << 40) + rank) == (INT64_C(1) << 40) + last;
    bool down = comm_max(comm, -rank) == 0;
    CU_ASSERT(test_agree(up && down));
    comm_destroy(&comm);
    CU_ASSERT(test_agree(wsc_mem_in_use(WSC_MEM_COMM) == 0));
}

/* MPI promises the tags up to 32767. */
TEST(comm_mpi, links_are_as_many_as_the_tags_of_mpi)
{
    struct comm *comm = NULL;
    const int *largest = NULL;
    int has = 0;
    CU_ASSERT_FATAL(test_agree(comm_create(&comm, true) == WSC_OK));
    (void)MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &has);
    CU_ASSERT(test_agree(has && *largest >= 32767 && comm->max_links == *largest));
    comm_destroy(&comm);
}

/* The last rank comes a second late; the others may spin for a while, not all of the time. */
TEST(comm_mpi, a_rank_that_waits_for_all_ranks_leaves_its_processor)
{
    struct comm *comm = NULL;
    CU_ASSERT_FATAL(test_agree(comm_create(&comm, true) == WSC_OK));
    const bool is_late = comm_rank(comm) == comm_size(comm) - 1;
    (void)comm_max(comm, 0);
    const double since_s = wsc_clock_s(), cpu_s = wsc_clock_cpu_s();
    if (is_late) (void)sleep(1);
    (void)comm_max(comm, 0);
    const double took_s = wsc_clock_s() - since_s, busy_s = wsc_clock_cpu_s() - cpu_s;
    const bool slept = busy_s < took_s / 4;
    if (!slept) (void)fprintf(stderr, "%.2f of %.2f s on a processor\n", busy_s, took_s);
    CU_ASSERT(test_agree(slept));
    comm_destroy(&comm);
}
