// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/vtime.h>

#include <stdio.h>

TEST(vtime, duration_rounds_up_and_does_not_overflow)
{
    T_EQ(vtime_duration_ps(1, 3), 333333333334);
    T_EQ(vtime_duration_ps(1LL << 40, 150000000000LL), 7330077518507);
    T_EQ(vtime_duration_ps(0, 7), 0);
    T_EQ(vtime_duration_ps(4000000000000LL, 150000000000LL), 26666666666667);
}

TEST(vtime, the_end_of_time_is_not_passed)
{
    const struct vtime late = {.ps = VTIME_END - 5};
    T_EQ(vtime_add(late, 5).ps, VTIME_END);
    T_EQ(vtime_add(late, 6).ps, VTIME_END);
    T_EQ(vtime_add(late, VTIME_END).ps, VTIME_END);
    T_EQ(vtime_duration_ps(VTIME_END, 1), VTIME_END);
    T_EQ(vtime_duration_ps(9223372, 1), 9223372000000000000);
    T_EQ(vtime_duration_ps(9223373, 1), VTIME_END);
    struct vtime_link link = {.rate_bytes_per_s = 1000, .latency_ps = 5};
    struct vtime_span got = vtime_at(late);
    vtime_link_send(NULL, &link, &got, 1);
    T_EQ(got.last.ps, VTIME_END);
    vtime_link_send(NULL, &link, &got, 1);
    T_EQ(got.last.ps, VTIME_END);
}

/* One row per message on one link of 1000 bytes/s (1 byte = 1e9 ps) and latency 5 ps. */
TEST(vtime, link_scenarios)
{
    static const struct {
        int64_t first, last, bytes, arrives_first, arrives_last, free;
        const char *why;
    } row[] = {
        {100, 100, 1, 105, 1000000105, 1000000100, "idle link: rate decides"},
        {200, 200, 1, 1000000105, 2000000105, 2000000100, "busy link: waits for the first"},
        {3000000000, 9000000000, 2, 3000000005, 9000000005, 9000000000, "slow producer prolongs"},
        {20000000000, 20000000000, 0, 20000000005, 20000000005, 20000000000,
         "no bytes: latency only"},
    };
    struct vtime_link link = {.rate_bytes_per_s = 1000, .latency_ps = 5};
    int64_t bytes = 0;
    for (int i = 0; i < (int)(sizeof row / sizeof *row); i++) {
        struct vtime_span ready = {{.ps = row[i].first}, {.ps = row[i].last}};
        struct vtime_span got = ready;
        vtime_link_send(NULL, &link, &got, row[i].bytes);
        bytes += row[i].bytes;
        T_EQ(got.first.ps, row[i].arrives_first);
        T_EQ(got.last.ps, row[i].arrives_last);
        T_EQ(link.free.ps, row[i].free);
        T_EQ(link.bytes, bytes);
    }
    struct vtime before = link.free;
    T_EQ(vtime_link_signal(&link, (struct vtime){.ps = 7}).ps, 12);
    T_EQ(link.free.ps, before.ps);
}
