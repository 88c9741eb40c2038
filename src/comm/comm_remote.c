// SPDX-License-Identifier: Apache-2.0
/* The transport between ranks. A message is a header, then its payload in chunks, all with the tag
 * of the link. MPI keeps the order of messages with equal source, tag and communicator, so sequence
 * numbers are not needed: both sides post requests in the order of the bytes. At most
 * chunks_in_flight chunks of a message are posted at once, of those that are available
 * (comm_pieces.c). comm_remote_poll() completes the requests. */
#include "comm_queue.h"

#include <wsc/check.h>

#include <string.h>

/* Double the parallel arrays of requests; on failure they keep their contents. */
static enum wsc_err grow_requests(struct comm *comm)
{
    int capacity = comm->request_capacity ? 2 * comm->request_capacity : 64;
    MPI_Request *request =
        wsc_realloc(WSC_MEM_COMM, comm->request, (size_t)capacity, sizeof *request);
    if (!request) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "grow requests");
    comm->request = request;
    struct comm_request *request_of =
        wsc_realloc(WSC_MEM_COMM, comm->request_of, (size_t)capacity, sizeof *request_of);
    if (!request_of) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "grow requests");
    comm->request_of = request_of;
    int *completed =
        wsc_realloc(WSC_MEM_COMM, comm->completed, (size_t)capacity, sizeof *completed);
    if (!completed) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "grow requests");
    comm->completed = completed;
    MPI_Status *status = wsc_realloc(WSC_MEM_COMM, comm->status, (size_t)capacity, sizeof *status);
    if (!status) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "grow requests");
    comm->status = status;
    comm->request_capacity = capacity;
    return WSC_OK;
}

/* A slot for a request of @p link; valid until the arrays grow. */
static enum wsc_err new_request(struct comm_link *link, enum comm_request_kind kind,
                                MPI_Request **out)
{
    struct comm *comm = link->comm;
    if (comm->n_requests == comm->request_capacity) TRY(grow_requests(comm));
    int i = comm->n_requests++;
    comm->request[i] = MPI_REQUEST_NULL;
    comm->request_of[i] = (struct comm_request){.link = link, .kind = kind};
    *out = &comm->request[i];
    return WSC_OK;
}

/* The next piece of a payload of which @p posted bytes are posted, from its first or its last byte.
 */
static char *piece_at(const struct comm_node *node, int64_t posted, int64_t bytes)
{
    const int64_t first =
        node->wire.last_first ? node->wire.payload_bytes - posted - bytes : posted;
    return (char *)node->msg.payload->data + first;
}

/* Bytes of the next piece of a payload. */
static int64_t next_chunk(const struct comm *comm, int64_t posted, int64_t total)
{
    int64_t left = total - posted;
    return left < comm->chunk_bytes ? left : comm->chunk_bytes;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* For tests: send a header that is too long (inject_from_environment()). */
static size_t header_bytes(struct comm *comm)
{
    if (!comm->long_message || comm->worker[0]->n_sent < comm->long_message)
        return sizeof(struct comm_wire_header);
    comm->long_message = 0;
    return sizeof(struct comm_wire_header) +
           sizeof(struct comm_node *); /* next, which follows the wire header in the node */
}

/* Post header and chunks of the first outgoing message, as many as may be in flight. */
static enum wsc_err post_send(struct comm_link *link)
{
    struct comm *comm = link->comm;
    struct comm_node *node = link->outgoing.head;
    int peer = comm->rank_of_role[link->dst];
    MPI_Request *request = NULL;
    if (!link->send_header_posted) {
        TRY(new_request(link, REQUEST_SEND_HEADER, &request));
        TRY_MPI(MPI_Isend(&node->wire, (int)header_bytes(comm), MPI_BYTE, peer, link->id,
                          comm->world, request));
        link->send_header_posted = true;
        link->send_in_flight++;
    }
    int64_t total = node->wire.payload_bytes;
    while (link->send_posted_bytes < total && link->send_in_flight <= comm->chunks_in_flight) {
        int64_t bytes = next_chunk(comm, link->send_posted_bytes, total);
        if (link->send_posted_bytes + bytes > node->msg.payload->filled) break;
        char *from = piece_at(node, link->send_posted_bytes, bytes);
        TRY(new_request(link, REQUEST_SEND_CHUNK, &request));
        TRY_MPI(MPI_Isend(from, (int)bytes, MPI_BYTE, peer, link->id, comm->world, request));
        link->send_posted_bytes += bytes;
        link->send_in_flight++;
    }
    return WSC_OK;
}

/* A payload that the receiver has kept is not sent again: the header has its index. Both ends add
 * every other payload of the link to their lists. */
static enum wsc_err keep_sent(struct comm_link *link, struct comm_node *node)
{
    struct comm_buf *payload = node->msg.payload;
    if (!link->keeps || !payload) return WSC_OK;
    const int64_t key = (int64_t)(intptr_t)payload;
    node->wire.forgets = link->forgets;
    link->forgets = false;
    node->wire.kept = comm_kept_index(&link->kept, key);
    if (node->wire.kept < 0)
        return comm_kept_put(&link->kept, link->comm->keep_bytes, key, payload);
    (void)comm_kept_at(&link->kept, node->wire.kept);
    node->wire.payload_bytes = -1;
    return WSC_OK;
}

/* Queue a message; if it is the only one, post it at once. */
enum wsc_err comm_remote_send(struct comm_link *link, struct comm_node *node)
{
    const struct comm_msg *m = &node->msg;
    node->wire = (struct comm_wire_header){.kind = m->kind,
                                           .index = m->index,
                                           .step = m->step,
                                           .transfer = node->transfer,
                                           .span = m->span,
                                           .bytes = m->bytes,
                                           .payload_bytes = m->payload ? m->payload->bytes : -1,
                                           .kept = -1,
                                           .last_first = m->payload && m->payload->last_first};
    memcpy(node->wire.field, m->field, sizeof m->field);
    TRY(keep_sent(link, node));
    link->comm->sent_bytes += (int64_t)sizeof node->wire;
    if (node->wire.payload_bytes > 0) link->comm->sent_bytes += node->wire.payload_bytes;
    comm_queue_push(&link->outgoing, node);
    return link->outgoing.n == 1 ? post_send(link) : WSC_OK;
}

/* A piece was sent: post the next one, or end the message and begin the next message. */
static enum wsc_err sent(struct comm_link *link)
{
    struct comm_node *node = link->outgoing.head;
    link->send_in_flight--;
    if (link->send_posted_bytes < node->wire.payload_bytes) return post_send(link);
    if (link->send_in_flight) return WSC_OK;
    (void)comm_queue_pop(&link->outgoing);
    if (node->msg.payload) {
        comm_buf_give(&node->msg.payload);
        comm_link_taken(link);
    }
    comm_node_give(link->comm->worker[0], node);
    link->send_header_posted = false;
    link->send_posted_bytes = 0;
    return link->outgoing.n ? post_send(link) : WSC_OK;
}

/* Send the available bytes on all links that have begun to send the payload; wake its reader when
 * it is complete. */
static enum wsc_err pass_on(struct comm_buf *buf)
{
    for (struct comm_link *link = buf->comm->links; link; link = link->next) {
        if (link->outgoing.n && link->outgoing.head->msg.payload == buf) TRY(post_send(link));
        if (buf->filled == buf->bytes && link->arrived.n && link->arrived.head->msg.payload == buf)
            comm_link_wake(link);
    }
    return WSC_OK;
}

/* Make the fibers ready whose bytes are there. */
static void wake_waiters(struct comm_buf *buf)
{
    struct comm_fiber **at = &buf->waiters;
    while (*at) {
        struct comm_fiber *fiber = *at;
        if (fiber->waited > buf->filled) {
            at = &fiber->next;
            continue;
        }
        *at = fiber->next;
        comm_fiber_make_ready(fiber);
    }
}

/* Record that @p bytes bytes of @p buf are there, wake the fibers that wait for them and send them
 * on. */
enum wsc_err comm_remote_filled(struct comm_buf *buf, int64_t bytes)
{
    WSC_CHECK(bytes >= buf->filled && bytes <= buf->bytes, "%lld of %lld bytes after %lld",
              (long long)bytes, (long long)buf->bytes, (long long)buf->filled);
    buf->filled = bytes;
    wake_waiters(buf);
    return buf->passed_on ? pass_on(buf) : WSC_OK;
}

bool comm_remote_sending(const struct comm *comm)
{
    for (const struct comm_link *link = comm->links; link; link = link->next)
        if (link->outgoing.n) return true;
    return false;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static enum wsc_err begin_pieces(struct comm_link *link)
{
    link->piece_next = link->piece_posted = 0;
    if (!link->early) return WSC_OK;
    if (!link->piece_there) TRY_NEW(link->piece_there, WSC_MEM_COMM, link->comm->chunks_in_flight);
    link->incoming->msg.payload->filled = 0;
    link->incoming->msg.payload->last_first = link->incoming->wire.last_first;
    return WSC_OK;
}

/* Pieces may complete in any order; only pieces without a gap before them extend the payload. */
static enum wsc_err piece_arrived(struct comm_link *link, int64_t piece)
{
    struct comm_buf *payload = link->incoming->msg.payload;
    const int64_t n = link->comm->chunks_in_flight, before = link->piece_next;
    if (!link->early) {
        link->piece_next++;
        return WSC_OK;
    }
    link->piece_there[piece % n] = true;
    while (link->piece_there[link->piece_next % n])
        link->piece_there[link->piece_next++ % n] = false;
    if (link->piece_next == before) return WSC_OK;
    const int64_t bytes = link->piece_next * link->comm->chunk_bytes;
    return comm_remote_filled(payload, bytes < payload->bytes ? bytes : payload->bytes);
}

/* Over a network a receive is always posted, so that a sender does not wait for a reader that
 * computes; the credits of <wsc/stream.h> bound the memory. Inside a host, one message ahead of the
 * reader is enough. */
enum wsc_err comm_remote_expect(struct comm_link *link)
{
    struct comm *comm = link->comm;
    if (!comm->ahead && (link->incoming || link->arrived.n)) return WSC_OK;
    link->incoming = comm_node_take(comm->worker[0]);
    if (!link->incoming) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "expect a message");
    link->incoming->msg.payload = NULL;
    MPI_Request *request = NULL;
    TRY(new_request(link, REQUEST_RECV_HEADER, &request));
    TRY_MPI(MPI_Irecv(&link->incoming->wire, (int)sizeof link->incoming->wire, MPI_BYTE,
                      comm->rank_of_role[link->src], link->id, comm->world, request));
    link->recv_header_posted = true;
    link->recv_posted_bytes = 0;
    return WSC_OK;
}

/* Post chunks of the arriving payload, as many as may be in flight. */
static enum wsc_err post_recv(struct comm_link *link)
{
    struct comm *comm = link->comm;
    struct comm_node *node = link->incoming;
    int64_t total = node->wire.payload_bytes;
    while (link->recv_posted_bytes < total && link->recv_in_flight < comm->chunks_in_flight &&
           link->piece_posted - link->piece_next < comm->chunks_in_flight) {
        int64_t bytes = next_chunk(comm, link->recv_posted_bytes, total);
        char *to = piece_at(node, link->recv_posted_bytes, bytes);
        MPI_Request *request = NULL;
        TRY(new_request(link, REQUEST_RECV_CHUNK, &request));
        comm->request_of[comm->n_requests - 1].piece = link->piece_posted++;
        TRY_MPI(MPI_Irecv(to, (int)bytes, MPI_BYTE, comm->rank_of_role[link->src], link->id,
                          comm->world, request));
        link->recv_posted_bytes += bytes;
        link->recv_in_flight++;
    }
    return WSC_OK;
}

/* Hand the complete message to the receiver, unless it has it already, and expect the next one. */
static enum wsc_err received_all(struct comm_link *link)
{
    struct comm_node *node = link->incoming;
    link->incoming = NULL;
    if (link->early && node->wire.payload_bytes > 0) {
        comm_buf_give(&node->msg.payload);
        comm_node_give(link->comm->worker[0], node);
    } else {
        comm_link_arrived(link, node);
    }
    return comm_remote_expect(link);
}

/* Hand a message to the receiver before its payload has arrived. */
static enum wsc_err hand_over_early(struct comm_link *link)
{
    struct comm_node *node = comm_node_take(link->comm->worker[0]);
    if (!node) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "receive a message");
    *node = *link->incoming;
    node->msg.payload->refs++;
    comm_link_arrived(link, node);
    return WSC_OK;
}

/* The header has the length of the payload: allocate memory and post its chunks. */
static enum wsc_err received_header(struct comm_link *link)
{
    struct comm_node *node = link->incoming;
    const struct comm_wire_header *w = &node->wire;
    link->recv_header_posted = false;
    node->msg = (struct comm_msg){
        .kind = w->kind, .index = w->index, .step = w->step, .span = w->span, .bytes = w->bytes};
    memcpy(node->msg.field, w->field, sizeof w->field);
    node->transfer = w->transfer;
    if (w->forgets) comm_kept_drop(&link->kept);
    if (w->kept >= 0) {
        node->msg.payload = comm_kept_at(&link->kept, w->kept);
        node->msg.payload->refs++;
    }
    if (w->payload_bytes < 0) return received_all(link);
    TRY(comm_buf_take(link->comm, &node->msg.payload, w->payload_bytes));
    if (link->keeps) TRY(comm_kept_put(&link->kept, link->comm->keep_bytes, 0, node->msg.payload));
    if (!w->payload_bytes) return received_all(link);
    TRY(begin_pieces(link));
    if (link->early) TRY(hand_over_early(link));
    return post_recv(link);
}

static enum wsc_err received_chunk(struct comm_link *link, int64_t piece)
{
    link->recv_in_flight--;
    TRY(piece_arrived(link, piece));
    if (link->recv_posted_bytes < link->incoming->wire.payload_bytes) return post_recv(link);
    return link->recv_in_flight ? WSC_OK : received_all(link);
}

int64_t comm_remote_left(const struct comm_link *link)
{
    const struct comm_node *in = link->incoming, *out = link->outgoing.head;
    const int64_t to_go = out ? out->wire.payload_bytes - link->send_posted_bytes : 0;
    int64_t to_come = 0;
    if (in && !link->recv_header_posted)
        to_come = in->wire.payload_bytes - link->piece_next * link->comm->chunk_bytes;
    return to_come > to_go ? to_come : to_go;
}

/* ---- progress -------------------------------------------------------------------------------- */

/* Continue after a completed request. */
static enum wsc_err finish(const struct comm_request *r)
{
    switch (r->kind) {
    case REQUEST_SEND_HEADER:
    case REQUEST_SEND_CHUNK:
        return sent(r->link);
    case REQUEST_RECV_HEADER:
        return received_header(r->link);
    case REQUEST_RECV_CHUNK:
        return received_chunk(r->link, r->piece);
    }
    return WSC_OK;
}

/* Remove the completed requests from the arrays. */
static void drop_finished(struct comm *comm)
{
    int kept = 0;
    for (int i = 0; i < comm->n_requests; i++) {
        if (comm->request[i] == MPI_REQUEST_NULL) continue;
        comm->request[kept] = comm->request[i];
        comm->request_of[kept++] = comm->request_of[i];
    }
    comm->n_requests = kept;
}

/* The error of the message that failed, with its peer; @p mpi_rc and @p n are results of
 * MPI_Testsome. */
static enum wsc_err raise_failed(const struct comm *comm, int mpi_rc, int n)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0, i = 0;
    if (mpi_rc != MPI_ERR_IN_STATUS)
        return comm_raise_mpi(mpi_rc, "MPI_Testsome", __FILE__, __LINE__);
    while (i < n - 1 && comm->status[i].MPI_ERROR == MPI_SUCCESS)
        i++;
    const struct comm_request *r = &comm->request_of[comm->completed[i]];
    const bool sends = r->kind == REQUEST_SEND_HEADER || r->kind == REQUEST_SEND_CHUNK;
    (void)MPI_Error_string(comm->status[i].MPI_ERROR, text, &length);
    return WSC_RAISE(WSC_MPI, "rank %d: %s %s rank %d: %s", comm->rank, r->link->name,
                     sends ? "to" : "from", comm->rank_of_role[sends ? r->link->dst : r->link->src],
                     text);
}

enum wsc_err comm_remote_poll(struct comm *comm, bool *moved)
{
    *moved = false;
    if (!comm->n_requests) return WSC_OK;
    int n = 0;
    const int mpi_rc =
        MPI_Testsome(comm->n_requests, comm->request, &n, comm->completed, comm->status);
    if (mpi_rc != MPI_SUCCESS) return raise_failed(comm, mpi_rc, n);
    if (n == MPI_UNDEFINED || n <= 0) return WSC_OK;
    /* Handlers append requests; the indices of this round stay valid until drop_finished(). */
    for (int i = 0; i < n; i++) {
        struct comm_request r = comm->request_of[comm->completed[i]];
        TRY(finish(&r));
    }
    drop_finished(comm);
    comm->n_finished += n;
    *moved = true;
    return WSC_OK;
}

void comm_remote_cancel(struct comm *comm)
{
    for (int i = 0; i < comm->n_requests; i++) {
        (void)MPI_Cancel(&comm->request[i]);
        (void)MPI_Wait(&comm->request[i], MPI_STATUS_IGNORE);
    }
    comm->n_requests = 0;
}
