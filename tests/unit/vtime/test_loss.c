// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/vtime.h>

#include <math.h>

/* 4 KiB take 4096 ns, a round trip 20 us. */
static const int64_t packet = 4096;
static struct vtime_link link_with(double rate, uint64_t seed)
{
    return (struct vtime_link){.rate_bytes_per_s = 1000000000,
                               .latency_ps = 10000000,
                               .loss = {rate, packet, 67100000000, seed, 5}};
}

static void send_at_0(struct vtime_link *link, int64_t bytes, uint64_t message)
{
    struct vtime_span span = vtime_at((struct vtime){.ps = 0});
    vtime_link_send_over(NULL, link, &span, bytes, message);
}

TEST(vtime_loss, a_link_that_loses_nothing_is_any_link)
{
    struct vtime_link plain = {.rate_bytes_per_s = 1000000000, .latency_ps = 10000000};
    struct vtime_link sound = link_with(0, 1);
    for (int64_t i = 0; i < 50; i++) {
        const struct vtime_span ready = {{.ps = i * i * 1000}, {.ps = i * i * 1500}};
        struct vtime_span a = ready, b = ready;
        vtime_link_send(NULL, &plain, &a, i * 9999);
        vtime_link_send_over(NULL, &sound, &b, i * 9999, (uint64_t)i);
        T_EQ(a.first.ps, b.first.ps);
        T_EQ(a.last.ps, b.last.ps);
        T_EQ(plain.free.ps, sound.free.ps);
        T_EQ(plain.busy_ps, sound.busy_ps);
    }
    T_EQ(sound.n_lost, 0);
}

/* Lost packets of @p n_messages of @p n_packets each. */
static int64_t lost_of(double rate, int64_t n_packets, int64_t n_messages, uint64_t seed)
{
    struct vtime_link link = link_with(rate, seed);
    for (int64_t i = 0; i < n_messages; i++)
        send_at_0(&link, n_packets * packet, (uint64_t)i);
    return link.n_lost;
}

/* n packets are lost n p / (1 - p) times on average, with the variance n p / (1 - p)^2; five
 * standard deviations are one in two million. */
static void check_mean(double p, int64_t n_packets, int64_t n_messages)
{
    for (uint64_t seed = 0; seed < 10; seed++) {
        const double n = (double)(n_packets * n_messages), mean = n * p / (1 - p);
        const double sigma = sqrt(mean / (1 - p));
        const double lost = (double)lost_of(p, n_packets, n_messages, seed);
        CU_ASSERT(fabs(lost - mean) < 5 * sigma);
    }
}

TEST(vtime_loss, retransmissions_are_those_of_the_rate)
{
    check_mean(0.5, 1, 2000);        /* the last packet alone */
    check_mean(0.1, 2, 2000);        /* the first and the last */
    check_mean(1e-3, 1000, 500);     /* some */
    check_mean(0.01, 4000, 200);     /* terms added up to a mean of 40 */
    check_mean(0.01, 1000000, 20);   /* the normal distribution */
    check_mean(1e-6, 100000, 20000); /* hardly ever */
}

/* The distribution itself: of 3 packets k are lost with the probability (k+1)(k+2)/2 p^k (1-p)^3.
 * Chi squared of 6 cells, of which one in a million exceeds 36. */
TEST(vtime_loss, counts_are_negative_binomial)
{
    enum { CELLS = 6, MESSAGES = 20000 };
    const double p = 0.3;
    int64_t seen[CELLS] = {0};
    double chi = 0, left = 1;
    for (uint64_t i = 0; i < MESSAGES; i++) {
        struct vtime_link link = link_with(p, 11);
        send_at_0(&link, 3 * packet, i);
        seen[link.n_lost < CELLS - 1 ? link.n_lost : CELLS - 1]++;
    }
    for (int k = 0; k < CELLS; k++) {
        const double here = (k + 1) * (k + 2) / 2.0 * pow(p, k) * pow(1 - p, 3);
        const double expected = MESSAGES * (k < CELLS - 1 ? here : left);
        chi += ((double)seen[k] - expected) * ((double)seen[k] - expected) / expected;
        left -= here;
    }
    CU_ASSERT(chi < 36);
}

/* Each loss costs two packets' time and a round trip; the last packet, its time and the time-out.
 */
TEST(vtime_loss, a_loss_costs_what_the_protocol_says)
{
    const int64_t round_ps = INT64_C(2) * (4096000 + 10000000), last_ps = 4096000 + 67100000000;
    int n_one = 0, n_last = 0;
    for (uint64_t i = 0; i < 4000; i++) {
        struct vtime_link link = link_with(2e-3, 3), sound = link_with(0, 3);
        const struct vtime_span ready = vtime_at((struct vtime){.ps = 500});
        struct vtime_span a = ready, b = ready;
        vtime_link_send_over(NULL, &link, &a, 100 * packet, i);
        vtime_link_send(NULL, &sound, &b, 100 * packet);
        const int64_t late = a.last.ps - b.last.ps;
        T_EQ(link.free.ps - sound.free.ps, late);
        T_EQ(link.busy_ps - sound.busy_ps, late);
        if (link.n_lost == 0) T_EQ(late, 0);
        if (link.n_lost != 1) continue;
        CU_ASSERT(late == round_ps || late == last_ps);
        n_one += late == round_ps;
        n_last += late == last_ps;
    }
    CU_ASSERT(n_one > 400 && n_last > 0 && n_last < 30);
}

TEST(vtime_loss, draws_belong_to_the_message)
{
    struct vtime_link there = link_with(0.2, 9), back = link_with(0.2, 9);
    int64_t lost[50] = {0};
    for (uint64_t i = 0; i < 50; i++) {
        const int64_t before = there.n_lost;
        send_at_0(&there, 9 * packet, i);
        lost[i] = there.n_lost - before;
    }
    for (uint64_t i = 50; i-- > 0;) {
        const int64_t before = back.n_lost;
        send_at_0(&back, 9 * packet, i);
        T_EQ(back.n_lost - before, lost[i]);
    }
}
