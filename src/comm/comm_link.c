// SPDX-License-Identifier: Apache-2.0
/* Links between roles. The sender computes the virtual time of a message. Within a rank the message
 * is then queued at the receiving end; otherwise comm_remote.c sends it. A receiver blocks its
 * fiber until the next message is there, a sender while too many payloads wait. */
#include "comm_queue.h"

#include <wsc/check.h>
#include <wsc/hash.h>

void comm_link_change(struct comm_link *link, const struct comm_link_spec *spec)
{
    if (!link) return;
    link->time.rate_bytes_per_s = spec->rate_bytes_per_s;
    link->time.latency_ps = spec->latency_ps;
    link->time.loss = spec->loss;
    link->time.part = spec->part;
}

enum wsc_err comm_link_open(struct comm *comm, struct comm_link **out, int src, int dst,
                            const struct comm_link_spec *spec)
{
    WSC_CHECK(src >= 0 && src < comm->n_roles && dst >= 0 && dst < comm->n_roles,
              "link from role %d to role %d of %d", src, dst, comm->n_roles);
    *out = NULL;
    if (comm->n_links >= comm->max_links)
        return wsc_err_hint(
            WSC_RAISE(WSC_MPI, "link %s: no MPI tag is left after %d links", spec->name,
                      comm->n_links),
            "continue from a checkpoint; a run without faults opens its links once");
    int id = comm->n_links++;
    bool src_local = comm_is_local(comm, src), dst_local = comm_is_local(comm, dst);
    if (!src_local && !dst_local) return WSC_OK;
    struct comm_link *link;
    TRY_NEW(link, WSC_MEM_COMM, 1);
    link->comm = comm;
    link->id = id;
    link->src = src;
    link->dst = dst;
    link->time.src = src;
    link->time.dst = dst;
    link->src_local = src_local;
    link->dst_local = dst_local;
    link->name = spec->name;
    link->max_waiting = spec->max_waiting;
    link->keeps = spec->keeps && comm->ahead && (!src_local || !dst_local);
    link->early = spec->early && comm->ahead;
    comm_link_change(link, spec);
    link->next = comm->links;
    comm->links = link;
    *out = link;
    return src_local ? WSC_OK : comm_remote_expect(link);
}

bool comm_link_is_early(const struct comm_link *link)
{
    return link->early;
}

const struct vtime_link *comm_link_time(const struct comm_link *link)
{
    return &link->time;
}

bool comm_link_sends_pieces(const struct comm_link *link)
{
    return link->comm->ahead && (link->early || !link->dst_local);
}

/* Block while too many payloads wait at the receiver, so that a fast sender cannot fill the memory
 * of the host. A payload that is still being written does not count. */
static void wait_for_room(struct comm_link *link, const struct comm_buf *payload)
{
    const int most = link->max_waiting + (payload->filled < payload->bytes);
    while (link->max_waiting && link->n_waiting >= most) {
        struct comm_fiber *self = comm_running(link->comm);
        link->sender = self;
        self->state = FIBER_SENDING;
        self->waits_for = link;
        comm_fiber_block(link->comm);
    }
}

/* For tests: make a link mute, or change one message (inject_from_environment()). */
static bool is_lost(struct comm_link *link, struct comm_msg *msg)
{
    struct comm *comm = link->comm;
    const int64_t n_sent = ++comm_here(comm)->n_sent;
    if (n_sent == comm->garble_message) msg->kind = -msg->kind;
    if (n_sent == comm->mute_message) link->mute = true;
    if (link->mute) comm_buf_give(&msg->payload);
    return link->mute;
}

/* Deliver the message; @p node owns its contents. */
static enum wsc_err deliver(struct comm_link *link, struct comm_node *node)
{
    const bool carries = node->msg.payload != NULL;
    if (is_lost(link, &node->msg)) {
        comm_node_give(comm_here(link->comm), node);
        return WSC_OK;
    }
    if (carries) {
        struct comm_buf *payload = node->msg.payload;
        link->n_waiting++;
        payload->passed_on |= payload->filled < payload->bytes;
    }
    if (!link->dst_local) return comm_remote_send(link, node);
    if (link->reader && link->reader != comm_here(link->comm)) return comm_workers_hand(link, node);
    comm_link_arrived(link, node);
    return WSC_OK;
}

/* Number that identifies a message of a link on any rank, also when a step is repeated. Only lossy
 * links call, so the function is kept out of line. */
__attribute__((noinline)) static uint64_t number_of(const struct comm_msg *msg)
{
    const int64_t name[] = {msg->kind, msg->step, msg->index};
    return wsc_hash64(name, sizeof name, 0);
}

/* Virtual time is computed before the message is sent, so that it does not depend on when MPI
 * delivers it. */
static enum wsc_err send_message(struct comm_link *link, const struct comm_msg *msg)
{
    if (msg->payload) wait_for_room(link, msg->payload);
    struct vtime_recorder *r = comm_running_recorder(link->comm);
    struct comm_node *node = comm_node_take(comm_here(link->comm));
    if (!node) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "queue a message");
    node->msg = *msg;
    if (r) node->transfer = r->transfer;
    if (link->time.loss.rate > 0)
        vtime_link_send_over(r, &link->time, &node->msg.span, msg->bytes, number_of(msg));
    else
        vtime_link_send(r, &link->time, &node->msg.span, msg->bytes);
    return deliver(link, node);
}

static enum wsc_err send_signal(struct comm_link *link, const struct comm_msg *msg)
{
    struct vtime_recorder *r = comm_running_recorder(link->comm);
    struct comm_node *node = comm_node_take(comm_here(link->comm));
    if (!node) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "queue a message");
    node->msg = *msg;
    if (r) node->transfer = r->transfer;
    node->msg.span = vtime_at(vtime_link_signal(&link->time, msg->span.last));
    return deliver(link, node);
}

/* Record the arrival. The next events of the receiver belong to the same transfer. */
static void record_arrival(struct comm_link *link, int transfer, struct comm_msg *msg)
{
    struct vtime_recorder *r = comm_record_at(link->comm, msg->step, transfer);
    if (r) vtime_link_arrive(r, &link->time, &msg->span);
}

static enum wsc_err recv_message(struct comm_link *link, struct comm_msg *msg)
{
    struct comm *comm = link->comm;
    struct comm_worker *here = comm_here(comm);
    while (!comm_link_is_readable(link)) {
        WSC_CHECK(!link->receiver, "two fibers read link %s", link->name);
        struct comm_fiber *self = here->running;
        link->receiver = self;
        self->state = FIBER_RECEIVING;
        self->waits_for = link;
        comm_fiber_block(comm);
    }
    struct comm_node *node = comm_queue_pop(&link->arrived);
    *msg = node->msg;
    if (comm->recording) record_arrival(link, node->transfer, msg);
    comm_node_give(here, node);
    here->n_messages++;
    if (msg->payload && link->src_local) comm_link_taken(link);
    return link->src_local || comm->ahead ? WSC_OK : comm_remote_expect(link);
}

/* ---- what fibers call ------------------------------------------------------------------------ */

enum wsc_err comm_send(struct comm_link *link, const struct comm_msg *msg)
{
    comm_enter(link->comm);
    const enum wsc_err rc = send_message(link, msg);
    comm_leave(link->comm);
    return rc;
}

enum wsc_err comm_signal(struct comm_link *link, const struct comm_msg *msg)
{
    comm_enter(link->comm);
    const enum wsc_err rc = send_signal(link, msg);
    comm_leave(link->comm);
    return rc;
}

enum wsc_err comm_recv(struct comm_link *link, struct comm_msg *msg)
{
    comm_enter(link->comm);
    const enum wsc_err rc = recv_message(link, msg);
    comm_leave(link->comm);
    return rc;
}

/* Release messages that were not received, after an error. */
static void queue_destroy(struct comm_queue *q)
{
    while (q->n) {
        struct comm_node *node = comm_queue_pop(q);
        comm_buf_give(&node->msg.payload);
        wsc_free(node);
    }
}

void comm_links_destroy(struct comm *comm)
{
    while (comm->links) {
        struct comm_link *link = comm->links;
        comm->links = link->next;
        queue_destroy(&link->arrived);
        queue_destroy(&link->outgoing);
        if (link->incoming) {
            comm_buf_give(&link->incoming->msg.payload);
            wsc_free(link->incoming);
        }
        comm_kept_fini(&link->kept);
        wsc_free(link->piece_there);
        wsc_free(link);
    }
    comm->n_links = 0;
}
