// SPDX-License-Identifier: Apache-2.0
/* The recorder of virtual time: events with their edges, times that name their events, messages
 * over links, and that nothing depends on whether anything is recorded. */
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/vtime.h>

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* A message of 2 bytes over 1000 bytes/s: start when both it is ready and the link is free, left
 * 2e9 ps after; the receiver has the arrivals as events of its own, 5 ps later. */
static struct vtime_span send_one(struct vtime_recorder *sender, struct vtime_recorder *receiver,
                                  struct vtime ready)
{
    struct vtime_link link = {
        .rate_bytes_per_s = 1000, .latency_ps = 5, .part = VTIME_WEIGHTS, .src = 3, .dst = 4};
    struct vtime_span span = vtime_at(ready);
    vtime_link_send(sender, &link, &span, 2);
    if (receiver) vtime_link_arrive(receiver, &link, &span);
    return span;
}

TEST(vtime_recorder, events_name_what_they_wait_for)
{
    struct vtime_recorder r;
    const struct vtime a = {.ps = 7}, b = {.ps = 9};
    vtime_recorder_init(&r, 6);
    r.transfer = 2;
    const struct vtime later = vtime_after(&r, a, 5, VTIME_COMPUTE);
    const struct vtime both = vtime_join(&r, later, b);
    T_EQ(later.ps, 12);
    T_EQ(both.ps, 12);
    T_EQ(r.n_events, 2);
    T_EQ(vtime_event_program(both.event), 6);
    T_EQ(vtime_event_number(later.event), 0);
    T_EQ(vtime_event_number(both.event), 1);
    T_EQ(r.event[0].n_edges, 1);
    T_EQ(r.event[0].transfer, 2);
    T_EQ(r.edge[0].part, VTIME_COMPUTE);
    T_EQ(r.edge[1].from.event, later.event);
    T_EQ(r.edge[2].from.ps, 9);
    /* Nothing passes, nothing is waited for: the same event. */
    T_EQ(vtime_after(&r, both, 0, VTIME_ADD).event, both.event);
    T_EQ(vtime_join(&r, both, (struct vtime){.ps = 0}).event, both.event);
    T_EQ(vtime_latest_of(&r, &both, 1).event, both.event);
    T_EQ(r.n_events, 2);
    vtime_recorder_fini(&r);
    T_EQ(wsc_mem_in_use(WSC_MEM_TIMELINE), 0);
}

TEST(vtime_recorder, a_message_is_recorded_at_both_ends)
{
    struct vtime_recorder sender, receiver;
    vtime_recorder_init(&sender, 0);
    vtime_recorder_init(&receiver, 1);
    const struct vtime ready = vtime_after(&sender, (struct vtime){.ps = 100}, 1, VTIME_UPDATE);
    const struct vtime_span got = send_one(&sender, &receiver, ready);
    T_EQ(got.first.ps, 106);
    T_EQ(got.last.ps, 2000000106);
    T_EQ(vtime_event_program(got.last.event), 1);
    T_EQ(sender.n_events, 3); /* ready, start, left */
    T_EQ(receiver.n_events, 2);
    T_EQ(receiver.edge[1].from.event, vtime_event_id(0, 2));
    T_EQ(receiver.edge[1].part, VTIME_LATENCY);
    T_EQ(receiver.edge[1].delay_ps, 5);
    T_EQ(sender.n_bars, 1);
    T_EQ(sender.bar[0].begin.ps, 101);
    T_EQ(sender.bar[0].end.ps, 2000000101);
    T_EQ(sender.bar[0].dst, 4);
    vtime_recorder_fini(&sender);
    vtime_recorder_fini(&receiver);
}

TEST(vtime_recorder, times_do_not_depend_on_it)
{
    struct vtime_recorder r;
    vtime_recorder_init(&r, 0);
    for (int64_t i = 0; i < 100; i++) {
        const struct vtime t[] = {{.ps = i * 37 % 101}, {.ps = i * 53 % 97}, {.ps = i}};
        const struct vtime_edge in[] = {{t[0], i, VTIME_ADD}, {t[1], 3, VTIME_ADD}};
        T_EQ(vtime_latest(&r, in, 2).ps, vtime_latest(NULL, in, 2).ps);
        T_EQ(vtime_latest_of(&r, t, 3).ps, vtime_latest_of(NULL, t, 3).ps);
        T_EQ(vtime_join(&r, t[0], t[1]).ps, vtime_max(t[0], t[1]).ps);
        T_EQ(send_one(&r, NULL, t[0]).last.ps, send_one(NULL, NULL, t[0]).last.ps);
    }
    /* What is taken is gone, and numbers continue. */
    struct vtime_recorder taken;
    const int64_t n = r.n_events;
    vtime_recorder_take(&r, &taken);
    T_EQ(taken.n_events, n);
    T_EQ(r.n_events, 0);
    T_EQ(vtime_event_number(vtime_after(&r, (struct vtime){.ps = 1}, 1, VTIME_ADD).event), n);
    vtime_recorder_fini(&taken);
    vtime_recorder_fini(&r);
    T_EQ(wsc_mem_in_use(WSC_MEM_TIMELINE), 0);
}

/* The bar ends 1 ps before it begins. */
static int record_backwards(void *arg)
{
    struct vtime_recorder r;
    const struct vtime_bar bar = {.kind = VTIME_BAR_UPDATE, .begin = {.ps = 8}, .end = {.ps = 7}};
    (void)arg;
    vtime_recorder_init(&r, 0);
    vtime_record_bar(&r, &bar);
    vtime_recorder_fini(&r);
    return 0;
}

TEST(vtime_recorder, a_bar_ends_after_it_begins)
{
    char text[1000];
    const int status = test_in_child(record_backwards, NULL, text, sizeof text);
    CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CU_ASSERT(strstr(text, "begins at 8 ps, ends at 7 ps") != NULL);
}
