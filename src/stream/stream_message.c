// SPDX-License-Identifier: Apache-2.0
/* Typed messages over the links of comm, which transfers eight words and a payload. A row of
 * STREAM_MSG_MAP names the struct that the words contain. A typed message has the layout of the
 * message of comm, and all ranks run the same program on the same kind of machine, so nothing is
 * converted. The receiver names the message that the protocol allows next (stream_recv()).
 * stream_transfer.c has weights, gradients and credits and calls these functions. */
#include <wsc/stream.h>

#include <wsc/check.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The two types of a message have every member at the same offset. */
_Static_assert(offsetof(struct stream_msg, kind) == offsetof(struct comm_msg, kind) &&
                   offsetof(struct stream_msg, index) == offsetof(struct comm_msg, index) &&
                   offsetof(struct stream_msg, step) == offsetof(struct comm_msg, step) &&
                   offsetof(struct stream_msg, span) == offsetof(struct comm_msg, span) &&
                   offsetof(struct stream_msg, bytes) == offsetof(struct comm_msg, bytes) &&
                   offsetof(struct stream_msg, field) == offsetof(struct comm_msg, field) &&
                   offsetof(struct stream_msg, payload) == offsetof(struct comm_msg, payload) &&
                   sizeof(struct stream_msg) == sizeof(struct comm_msg),
               "the two views of a message differ");

/* A struct fits into the words that its row gives. All words are sent, so that the sender needs no
 * table. */
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

enum wsc_err stream_send(struct comm_link *link, const struct stream_msg *msg)
{
    return comm_send(link, &msg->wire);
}

enum wsc_err stream_signal(struct comm_link *link, const struct stream_msg *msg)
{
    return comm_signal(link, &msg->wire);
}

/* Write "gradients of step 4, index 7". */
static void describe(char *text, size_t size, int32_t kind, int64_t step, int index)
{
    (void)snprintf(text, size, "%s (%d) of step %lld, index %d", text_of(kind), (int)kind,
                   (long long)step, index);
}

void stream_unexpected(const struct stream_ports *ports, const struct stream_msg *msg,
                       enum stream_msg_kind kind, int64_t step, int index)
{
    char role[48], expected[96], received[96];
    stream_role_name(ports->net->topology, ports->role, role, (int)sizeof role);
    describe(expected, sizeof expected, (int32_t)kind, step, index);
    describe(received, sizeof received, msg->wire.kind, msg->step, msg->index);
    WSC_CHECK(false, "%s expected %s and received %s", role, expected, received);
}

/* ---- texts ----------------------------------------------------------------------------------- */

_Static_assert(STREAM_TEXT_HEAD * sizeof(int32_t) == 2 * sizeof(int32_t) + sizeof(double),
               "the head of a text is its length, its steps and its score");

int64_t stream_text_put(int32_t *words, const struct stream_text *text)
{
    words[0] = (int32_t)text->n;
    words[1] = (int32_t)text->n_live_steps;
    memcpy(words + 2, &text->score, sizeof text->score);
    memcpy(words + STREAM_TEXT_HEAD, text->tokens, (size_t)text->n * sizeof *words);
    return STREAM_TEXT_HEAD + text->n;
}

int64_t stream_text_get(const int32_t *words, struct stream_text *text)
{
    text->n = words[0];
    text->n_live_steps = words[1];
    memcpy(&text->score, words + 2, sizeof text->score);
    text->tokens = words + STREAM_TEXT_HEAD;
    return STREAM_TEXT_HEAD + text->n;
}
