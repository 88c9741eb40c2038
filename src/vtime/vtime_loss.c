// SPDX-License-Identifier: Apache-2.0
/* How many packets of a message a lossy link loses, and what that costs: go-back-N, described at
 * vtime_link_send_over(), which uses it.  Numbers of losses follow geometric and negative binomial
 * distributions and depend on the seed, the link and the message alone. */
#include "vtime_loss.h"

#include <wsc/rng.h>

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

/* Losses of @p n_packets that are alike; by a normal distribution when the mean is large. */
static int64_t count_losses(const struct vtime_loss *loss, int64_t n_packets, uint64_t sample)
{
    const double p = loss->rate, n = (double)n_packets, mean = n * p / (1 - p);
    const double most_terms = 64;
    if (n_packets <= 0) return 0;
    if (mean <= most_terms)
        return count_by_terms(n, p, wsc_rng_uniform(loss->seed, loss->stream, sample));
    const double z = wsc_rng_normal(loss->seed, loss->stream, sample);
    const double k = round(mean + z * sqrt(mean / (1 - p)));
    return k > 0 ? (int64_t)k : 0;
}

struct vtime_loss_cost vtime_loss_cost_of(const struct vtime_link *link, int64_t bytes,
                                          uint64_t message)
{
    const struct vtime_loss *loss = &link->loss;
    const int64_t n = bytes > loss->packet_bytes ? (bytes - 1) / loss->packet_bytes + 1 : 1;
    const int64_t packet = bytes < loss->packet_bytes ? bytes : loss->packet_bytes;
    const int64_t packet_ps = vtime_duration_ps(packet, link->rate_bytes_per_s);
    const int64_t each_ps[N_PARTS] = {2 * (packet_ps + link->latency_ps),
                                      2 * (packet_ps + link->latency_ps),
                                      packet_ps + loss->timeout_ps};
    const int64_t packets[N_PARTS] = {n > 1, n - 2, 1};
    struct vtime_loss_cost cost = {0};
    for (int i = 0; i < N_PARTS; i++) {
        const int64_t lost = count_losses(loss, packets[i], N_PARTS * message + (uint64_t)i);
        if (i == FIRST) cost.first_ps = lost * each_ps[i];
        cost.all_ps += lost * each_ps[i];
        cost.n_lost += lost;
    }
    /* The only packet of a short message is its last one. */
    if (n == 1) cost.first_ps = cost.all_ps;
    return cost;
}
