// SPDX-License-Identifier: Apache-2.0
#include <wsc/rng.h>
#include <wsc/vtime.h>

#include <math.h>

/* The first packet of a message, those between, the last one: what a part costs when it is lost
 * is the same for all packets of the part. */
enum part { FIRST, BETWEEN, LAST, N_PARTS };

/* How often one of @p n packets is lost before all have come: the negative binomial distribution,
 * P(0) = (1 - p)^n, P(k + 1) = P(k) p (n + k) / (k + 1), by inversion of @p u. */
static int64_t count_by_terms(double n, double p, double u)
{
    const int64_t most = 4096; /* far beyond any quantile of a mean of 64 */
    double term = exp(n * log1p(-p)), sum = term;
    int64_t k = 0;
    while (sum < u && k < most) {
        term *= p * (n + (double)k) / (double)(k + 1);
        sum += term;
        k++;
    }
    return k;
}

static int64_t count_losses(const struct vtime_loss *loss, int64_t n_packets, uint64_t draw)
{
    const double p = loss->rate, n = (double)n_packets, mean = n * p / (1 - p);
    const double most_terms = 64;
    if (n_packets <= 0) return 0;
    if (mean <= most_terms)
        return count_by_terms(n, p, wsc_rng_uniform(loss->seed, loss->stream, draw));
    const double z = wsc_rng_normal(loss->seed, loss->stream, draw);
    const double k = round(mean + z * sqrt(mean / (1 - p)));
    return k > 0 ? (int64_t)k : 0;
}

struct vtime_span vtime_link_send_over(struct vtime_link *link, struct vtime_span ready,
                                       int64_t bytes, uint64_t message)
{
    const struct vtime_loss *loss = &link->loss;
    if (!(loss->rate > 0)) return vtime_link_send(link, ready, bytes);
    const int64_t n = bytes > loss->packet_bytes ? (bytes - 1) / loss->packet_bytes + 1 : 1;
    const int64_t packet = bytes < loss->packet_bytes ? bytes : loss->packet_bytes;
    const int64_t packet_ps = vtime_duration_ps(packet, link->rate_bytes_per_s);
    const int64_t each_ps[N_PARTS] = {2 * (packet_ps + link->latency_ps),
                                      2 * (packet_ps + link->latency_ps),
                                      packet_ps + loss->timeout_ps};
    const int64_t packets[N_PARTS] = {n > 1, n - 2, 1};
    int64_t lost[N_PARTS], lost_ps = 0;
    for (int i = 0; i < N_PARTS; i++) {
        lost[i] = count_losses(loss, packets[i], N_PARTS * message + (uint64_t)i);
        lost_ps += lost[i] * each_ps[i];
        link->n_lost += lost[i];
    }
    const struct vtime first = vtime_add(vtime_max(ready.first, link->free),
                                         n > 1 ? lost[FIRST] * each_ps[FIRST] : lost_ps);
    struct vtime_span there = vtime_link_send(link, ready, bytes);
    /* What is lost holds up all that follows: the link, and the end of the message. */
    link->free = vtime_add(link->free, lost_ps);
    link->busy_ps += lost_ps;
    there.first = vtime_add(first, link->latency_ps);
    there.last = vtime_add(there.last, lost_ps);
    return there;
}
