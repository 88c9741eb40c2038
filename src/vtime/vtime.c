// SPDX-License-Identifier: Apache-2.0
/* Durations, and links without losses: a message occupies the sending end of a link for its bytes
 * over the rate and arrives a latency later.  See vtime_loss.c for links that lose packets. */
#include "vtime_loss.h"

#define PS_PER_S 1000000000000LL

int64_t vtime_duration_ps(int64_t amount, int64_t per_s)
{
    __extension__ typedef __int128 wide;
    if (!per_s) return 0;
    const wide ps = ((wide)amount * PS_PER_S + per_s - 1) / per_s;
    return ps < VTIME_END ? (int64_t)ps : VTIME_END;
}

/* The bar of the newest message, from when it occupied the link until it left. */
static void record_message(struct vtime_recorder *r, const struct vtime_link *link,
                           struct vtime start, struct vtime left, int64_t bytes)
{
    const struct vtime_bar bar = {.kind = VTIME_BAR_SEND,
                                  .part = link->part,
                                  .src = link->src,
                                  .dst = link->dst,
                                  .begin = start,
                                  .end = left,
                                  .amount = bytes,
                                  .rate_bytes_per_s = link->rate_bytes_per_s};
    vtime_record_bar(r, &bar);
}

static struct vtime_span send_with(struct vtime_recorder *r, struct vtime_link *link,
                                   struct vtime_span ready, int64_t bytes,
                                   const struct vtime_loss_cost *lost)
{
    const int64_t occupied_ps = vtime_duration_ps(bytes, link->rate_bytes_per_s);
    const struct vtime_edge begin[] = {{ready.first, 0, VTIME_WAIT}, {link->free, 0, VTIME_WAIT}};
    const struct vtime start = vtime_latest(r, begin, 2);
    const struct vtime_edge end[] = {{ready.last, 0, VTIME_WAIT}, {start, occupied_ps, link->part}};
    /* What is lost delays all that follows: the link, and the end of the message. */
    const struct vtime left = vtime_after(r, vtime_latest(r, end, 2), lost->all_ps, VTIME_RESEND);
    const struct vtime first = vtime_after(r, start, lost->first_ps, VTIME_RESEND);
    link->free = left;
    link->bytes += bytes;
    link->n_messages++;
    link->n_lost += lost->n_lost;
    link->busy_ps += left.ps - start.ps;
    if (r) record_message(r, link, start, left, bytes);
    return (struct vtime_span){{vtime_add_ps(first.ps, link->latency_ps), first.event},
                               {vtime_add_ps(left.ps, link->latency_ps), left.event}};
}

struct vtime_span vtime_link_send(struct vtime_recorder *r, struct vtime_link *link,
                                  struct vtime_span ready, int64_t bytes)
{
    const struct vtime_loss_cost nothing = {0};
    return send_with(r, link, ready, bytes, &nothing);
}

struct vtime_span vtime_link_send_over(struct vtime_recorder *r, struct vtime_link *link,
                                       struct vtime_span ready, int64_t bytes, uint64_t message)
{
    if (!(link->loss.rate > 0)) return vtime_link_send(r, link, ready, bytes);
    const struct vtime_loss_cost lost = vtime_loss_cost_of(link, bytes, message);
    return send_with(r, link, ready, bytes, &lost);
}

struct vtime vtime_link_signal(struct vtime_link *link, struct vtime ready)
{
    link->n_messages++;
    return (struct vtime){vtime_add_ps(ready.ps, link->latency_ps), ready.event};
}

static struct vtime arrival_of(struct vtime_recorder *r, const struct vtime_link *link,
                               struct vtime sent)
{
    const struct vtime left = {sent.ps - link->latency_ps, sent.event};
    return sent.event ? vtime_after(r, left, link->latency_ps, VTIME_LATENCY) : sent;
}

struct vtime_span vtime_link_arrive(struct vtime_recorder *r, const struct vtime_link *link,
                                    struct vtime_span sent)
{
    if (!r) return sent;
    const struct vtime first = arrival_of(r, link, sent.first);
    if (sent.last.event == sent.first.event && sent.last.ps == sent.first.ps)
        return vtime_at(first);
    return (struct vtime_span){first, arrival_of(r, link, sent.last)};
}
