// SPDX-License-Identifier: Apache-2.0
/* Messages of every kind arrive with their fields to the bit, and one that the protocol does not
 * allow ends the program with a sentence that names the role and both messages. */
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/stream.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEP = 11, SENDER = 0, RECEIVER = 1 };

static const enum stream_msg_kind kinds[] = {
#define XX(name, number, bytes, text) STREAM_MSG_##name,
    STREAM_MSG_MAP(XX)
#undef XX
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

/* A shard that sends to a lone wafer. */
struct pair {
    struct comm *comm;
    struct stream_topology *topology;
    struct stream_net net;
    struct stream_ports ports; /* of the wafer */
    struct comm_link *link;
    enum stream_msg_kind expected; /* of the last message */
};

static struct stream_msg message(int k)
{
    struct stream_msg msg = {
        .kind = kinds[k], .index = k, .step = STEP, .span = {{100, 0}, {200 + k, 0}}, .bytes = k};
    if (msg.kind == STREAM_MSG_WEIGHTS)
        msg.field.weights = (struct stream_weights){{1, 0}, {2, 0}, {3, 0}, -0.1};
    if (msg.kind == STREAM_MSG_TIMES)
        msg.field.times = (struct stream_times){{4, 0}, 5, {6, 7, 8, 9, 10}};
    return msg;
}

static enum wsc_err send_all(void *arg)
{
    struct pair *p = arg;
    for (int k = 0; k < N_KINDS; k++) {
        struct stream_msg msg = message(k);
        TRY(comm_buf_create(p->comm, &msg.payload, 1));
        *(char *)comm_buf_data(msg.payload) = (char)k;
        TRY(stream_send(p->link, &msg));
    }
    return WSC_OK;
}

static void check_fields(const struct stream_msg *got, const struct stream_msg *sent)
{
    const struct stream_weights *w = &got->field.weights, *w0 = &sent->field.weights;
    const struct stream_times *t = &got->field.times, *t0 = &sent->field.times;
    if (got->kind == STREAM_MSG_WEIGHTS) {
        T_EQ(w->step_start.ps, w0->step_start.ps);
        T_EQ(w->reduced.ps, w0->reduced.ps);
        T_EQ(w->ready.ps, w0->ready.ps);
        CU_ASSERT(w->gradient_scale == w0->gradient_scale);
    }
    if (got->kind == STREAM_MSG_TIMES) {
        T_EQ(t->end.ps, t0->end.ps);
        T_EQ(t->wafer, t0->wafer);
        CU_ASSERT(!memcmp(&t->spent, &t0->spent, sizeof t->spent));
    }
}

static enum wsc_err receive_all(void *arg)
{
    struct pair *p = arg;
    for (int k = 0; k < N_KINDS; k++) {
        const struct stream_msg sent = message(k);
        const enum stream_msg_kind kind = k < N_KINDS - 1 ? sent.kind : p->expected;
        struct stream_msg got;
        TRY(stream_recv(&p->ports, p->link, kind, STEP, k, &got));
        T_EQ(got.kind, sent.kind);
        T_EQ(got.bytes, sent.bytes);
        CU_ASSERT(got.span.last.ps >= sent.span.last.ps);
        T_EQ(*(char *)comm_buf_data(got.payload), k);
        check_fields(&got, &sent);
        comm_buf_unref(&got.payload);
    }
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err run_pair(enum stream_msg_kind last)
{
    const int rank_of_role[2] = {0, 0};
    const struct comm_link_spec spec = {.name = "test"};
    struct pair p = {.expected = last};
    TRY(comm_create(&p.comm, false));
    TRY(stream_topology_create(&p.topology, 1, 1, 2));
    TRY(comm_place(p.comm, 2, rank_of_role));
    TRY(comm_link_open(p.comm, &p.link, SENDER, RECEIVER, &spec));
    p.net.topology = p.topology;
    p.ports = (struct stream_ports){.net = &p.net, .role = RECEIVER};
    TRY(comm_spawn(p.comm, SENDER, send_all, &p, 0, "sender"));
    TRY(comm_spawn(p.comm, RECEIVER, receive_all, &p, 0, "receiver"));
    TRY(comm_run(p.comm));
    stream_topology_destroy(&p.topology);
    comm_destroy(&p.comm);
    return WSC_OK;
}

TEST(stream_message, every_kind_arrives_with_its_fields)
{
    T_OK(run_pair(kinds[N_KINDS - 1]));
    T_EQ(wsc_mem_in_use(WSC_MEM_STREAM), 0);
    T_EQ(wsc_mem_in_use(WSC_MEM_COMM), 0);
}

static int expect_gradients(void *unused)
{
    (void)unused;
    return run_pair(STREAM_MSG_GRADIENTS) == WSC_OK ? 0 : 1;
}

TEST(stream_message, an_unexpected_one_is_reported_with_the_role)
{
    char text[1024];
    const int status = test_in_child(expect_gradients, NULL, text, sizeof text);
    CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CU_ASSERT(strstr(text, "wafer 0 expected gradients (4) of step 11, index 8") != NULL);
    CU_ASSERT(strstr(text, "received texts (12) of step 11, index 8") != NULL);
}
