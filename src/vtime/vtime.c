// SPDX-License-Identifier: Apache-2.0
#include <wsc/vtime.h>

#define PS_PER_S 1000000000000LL

int64_t vtime_duration_ps(int64_t amount, int64_t per_s)
{
    __extension__ typedef __int128 wide;
    if (!per_s) return 0;
    const wide ps = ((wide)amount * PS_PER_S + per_s - 1) / per_s;
    return ps < VTIME_END ? (int64_t)ps : VTIME_END;
}

struct vtime_span vtime_link_send(struct vtime_link *link, struct vtime_span ready, int64_t bytes)
{
    struct vtime start = vtime_max(ready.first, link->free);
    int64_t occupied_ps = vtime_duration_ps(bytes, link->rate_bytes_per_s);
    struct vtime left = vtime_max(ready.last, vtime_add(start, occupied_ps));
    link->free = left;
    link->bytes += bytes;
    link->n_messages++;
    link->busy_ps += left.ps - start.ps;
    return (struct vtime_span){vtime_add(start, link->latency_ps),
                               vtime_add(left, link->latency_ps)};
}

struct vtime vtime_link_signal(struct vtime_link *link, struct vtime ready)
{
    link->n_messages++;
    return vtime_add(ready, link->latency_ps);
}
