/** Queues of messages at the ends of links, and the fibers that wait there: a message that arrives
 *  wakes the receiver, one that is taken wakes a sender that was held back.  Used by both
 *  transports, comm_link.c within a rank and comm_remote.c between ranks; inline, as every message
 *  comes through here. */
#ifndef WSC_COMM_QUEUE_H
#define WSC_COMM_QUEUE_H
#include "comm_state.h"

/* A node to fill, NULL without memory; those given back are used again. */
static inline struct comm_node *comm_node_take(struct comm_worker *w)
{
    struct comm_node *node = w->free_nodes;
    if (node)
        w->free_nodes = node->next;
    else
        node = wsc_alloc(WSC_MEM_COMM, 1, sizeof *node);
    if (node) node->next = NULL;
    return node;
}

/* Keep a node for the next message; its payload has been handed on. */
static inline void comm_node_give(struct comm_worker *w, struct comm_node *node)
{
    node->next = w->free_nodes;
    w->free_nodes = node;
}

/* Append at the end: links are first in, first out. */
static inline void comm_queue_push(struct comm_queue *q, struct comm_node *node)
{
    node->next = NULL;
    if (q->tail)
        q->tail->next = node;
    else
        q->head = node;
    q->tail = node;
    q->n++;
}

/* Take the first one; the queue is not empty. */
static inline struct comm_node *comm_queue_pop(struct comm_queue *q)
{
    struct comm_node *node = q->head;
    q->head = node->next;
    if (!q->head) q->tail = NULL;
    q->n--;
    return node;
}

/* Let the receiver look at its link. */
static inline void comm_link_wake(struct comm_link *link)
{
    if (!link->receiver) return;
    comm_fiber_make_ready(link->receiver);
    link->receiver = NULL;
}

/* A message is there for the receiving end. */
static inline void comm_link_arrived(struct comm_link *link, struct comm_node *node)
{
    comm_queue_push(&link->arrived, node);
    comm_link_wake(link);
}

/* The receiving end took a payload, or MPI did: the sender may continue. */
static inline void comm_link_taken(struct comm_link *link)
{
    link->n_waiting--;
    if (!link->sender) return;
    comm_fiber_make_ready(link->sender);
    link->sender = NULL;
}
#endif
