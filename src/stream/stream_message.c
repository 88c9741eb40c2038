// SPDX-License-Identifier: Apache-2.0
/* Typed messages over the links of comm, which know eight words and a payload only.
 *
 * A row of STREAM_MSG_MAP says which struct travels in the words; it is copied byte by byte, as all
 * ranks run the same program on the same kind of machine.  The receiver names the message that the
 * protocol allows next.  Weights, gradients and credits are in stream_transfer.c, which builds on
 * these three functions. */
#include <wsc/stream.h>

#include <wsc/check.h>

#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(((struct stream_msg *)0)->field) <= sizeof(((struct comm_msg *)0)->field),
               "fields of a message are more than its words");

/* A field fits the words that its row says; all words travel, so that nothing is looked up. */
#define XX(name, number, bytes, text)                                                              \
    _Static_assert((bytes) <= sizeof(((struct stream_msg *)0)->field), text);
STREAM_MSG_MAP(XX)
#undef XX

static const char *text_of(int32_t kind)
{
    switch (kind) {
#define XX(name, number, bytes, text)                                                              \
    case STREAM_MSG_##name:                                                                        \
        return text;
        STREAM_MSG_MAP(XX)
#undef XX
    default:
        return "an unknown kind of message";
    }
}

static struct comm_msg on_the_wire(const struct stream_msg *msg)
{
    struct comm_msg wire = {.kind = (int32_t)msg->kind,
                            .index = msg->index,
                            .step = msg->step,
                            .span = msg->span,
                            .bytes = msg->bytes,
                            .payload = msg->payload};
    memcpy(wire.field, &msg->field, sizeof msg->field);
    return wire;
}

enum wsc_err stream_send(struct comm_link *link, const struct stream_msg *msg)
{
    const struct comm_msg wire = on_the_wire(msg);
    return comm_send(link, &wire);
}

enum wsc_err stream_signal(struct comm_link *link, const struct stream_msg *msg)
{
    const struct comm_msg wire = on_the_wire(msg);
    return comm_signal(link, &wire);
}

/* "gradients of step 4, index 7". */
static void describe(char *text, size_t size, int32_t kind, int64_t step, int index)
{
    (void)snprintf(text, size, "%s (%d) of step %lld, index %d", text_of(kind), (int)kind,
                   (long long)step, index);
}

static void fail(const struct stream_ports *ports, const char *expected,
                 const struct comm_msg *received)
{
    char role[48], got[96];
    stream_role_name(ports->net->topology, ports->role, role, (int)sizeof role);
    describe(got, sizeof got, received->kind, received->step, received->index);
    WSC_CHECK(false, "%s expected %s and received %s", role, expected, got);
}

enum wsc_err stream_recv(const struct stream_ports *ports, struct comm_link *link,
                         enum stream_msg_kind kind, int64_t step, int index, struct stream_msg *msg)
{
    struct comm_msg wire;
    TRY(comm_recv(link, &wire));
    if (wire.kind != (int32_t)kind || wire.step != step || wire.index != index) {
        char expected[96];
        describe(expected, sizeof expected, (int32_t)kind, step, index);
        fail(ports, expected, &wire);
    }
    *msg = (struct stream_msg){.kind = kind,
                               .index = wire.index,
                               .step = wire.step,
                               .span = wire.span,
                               .bytes = wire.bytes,
                               .payload = wire.payload};
    memcpy(&msg->field, wire.field, sizeof msg->field);
    return WSC_OK;
}
