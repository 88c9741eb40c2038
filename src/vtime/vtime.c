// SPDX-License-Identifier: Apache-2.0
/* Links: a message occupies the sending end of a link for its bytes over the rate and arrives a
 * latency later.  vtime_loss.c adds what lost packets cost. */
#include "vtime_loss.h"

/* The message arrives a latency after its first byte left at @p first, its last one at @p last. */
static void set_arrival(struct vtime_span *span, const struct vtime_link *link, struct vtime first,
                        struct vtime last)
{
    span->first = (struct vtime){vtime_add_ps(first.ps, link->latency_ps), first.event};
    span->last = (struct vtime){vtime_add_ps(last.ps, link->latency_ps), last.event};
}

/* Append the bar of the newest message on @p link, of @p bytes, from @p start, when it began to
 * occupy the sending end, until it left. */
static void record_message(struct vtime_recorder *r, const struct vtime_link *link,
                           struct vtime start, int64_t bytes)
{
    const struct vtime_bar bar = {.kind = VTIME_BAR_SEND,
                                  .part = link->part,
                                  .src = link->src,
                                  .dst = link->dst,
                                  .begin = start,
                                  .end = link->free,
                                  .amount = bytes,
                                  .rate_bytes_per_s = link->rate_bytes_per_s};
    vtime_record_bar(r, &bar);
}

/* The equations stand at the declaration.  The message occupies the sending end from start to left;
 * free is when its last byte has left. */
void vtime_link_send(struct vtime_recorder *r, struct vtime_link *link, struct vtime_span *span,
                     int64_t bytes)
{
    const int64_t occupied_ps = vtime_duration_ps(bytes, link->rate_bytes_per_s);
    const struct vtime start = vtime_join_after(r, span->first, link->free, 0, VTIME_WAIT);
    const struct vtime left = vtime_join_after(r, span->last, start, occupied_ps, link->part);
    link->free = left;
    link->bytes += bytes;
    link->n_messages++;
    link->busy_ps += left.ps - start.ps;
    record_message(r, link, start, bytes);
    set_arrival(span, link, start, left);
}

/* What is lost delays the first byte, the end of the message and all that follows on the link. */
void vtime_link_send_over(struct vtime_recorder *r, struct vtime_link *link,
                          struct vtime_span *span, int64_t bytes, uint64_t message)
{
    vtime_link_send(r, link, span, bytes);
    if (!(link->loss.rate > 0)) return;
    const struct vtime_loss_cost lost = vtime_loss_cost_of(link, bytes, message);
    const struct vtime start = {span->first.ps - link->latency_ps, span->first.event};
    const struct vtime first = vtime_after(r, start, lost.first_ps, VTIME_RESEND);
    const struct vtime left = vtime_after(r, link->free, lost.all_ps, VTIME_RESEND);
    link->free = left;
    link->n_lost += lost.n_lost;
    link->busy_ps += lost.all_ps;
    if (r && r->n_bars) r->bar[r->n_bars - 1].end = left;
    set_arrival(span, link, first, left);
}

struct vtime vtime_link_signal(struct vtime_link *link, struct vtime ready)
{
    link->n_messages++;
    return (struct vtime){vtime_add_ps(ready.ps, link->latency_ps), ready.event};
}

/* The arrival as an event of the receiver: the latency after the event at which it left. */
static struct vtime arrival_of(struct vtime_recorder *r, const struct vtime_link *link,
                               struct vtime sent)
{
    const struct vtime left = {sent.ps - link->latency_ps, sent.event};
    return sent.event ? vtime_after(r, left, link->latency_ps, VTIME_LATENCY) : sent;
}

void vtime_link_arrive(struct vtime_recorder *r, const struct vtime_link *link,
                       struct vtime_span *span)
{
    const struct vtime_span sent = *span;
    const bool one_event = sent.last.event == sent.first.event && sent.last.ps == sent.first.ps;
    span->first = arrival_of(r, link, sent.first);
    span->last = one_event ? span->first : arrival_of(r, link, sent.last);
}
