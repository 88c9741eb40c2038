// SPDX-License-Identifier: Apache-2.0
/* Records over a connection whose buffer is full: the reader finds whole ones only. */
#include "../../../src/comm/comm_state.h"
#include "../../support/test.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RECORD_BYTES = 100000, N_SENT = 60, READ_BYTES = 70000 };

/* What the reader got so far: record i is RECORD_BYTES bytes of i. */
struct got {
    int64_t n_bytes, n_mixed;
    int last;
};

static void check_byte(struct got *g, unsigned char byte)
{
    const bool begins = g->n_bytes++ % RECORD_BYTES == 0;
    if (begins && byte <= g->last) g->n_mixed++;
    if (!begins && byte != g->last) g->n_mixed++;
    g->last = byte;
}

/* Read up to @p most bytes; false: there is nothing now. */
static bool read_some(int fd, struct got *g, size_t most)
{
    static unsigned char bytes[READ_BYTES];
    const ssize_t n = recv(fd, bytes, most, MSG_DONTWAIT);
    for (ssize_t i = 0; i < n; i++)
        check_byte(g, bytes[i]);
    return n > 0;
}

/* The reader is slower than the sender, whose records are larger than what the buffer takes. */
TEST(comm_whole, a_full_buffer_loses_whole_records_only)
{
    static char record[RECORD_BYTES], sending[RECORD_BYTES];
    struct got g = {0};
    size_t n_unsent = 0;
    int fd[2], n_cut = 0;
    CU_ASSERT_FATAL(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
    for (int i = 1; i <= N_SENT; i++) {
        memset(record, i, sizeof record);
        n_unsent = comm_send_whole(fd[0], record, sizeof record, sending, n_unsent);
        n_cut += n_unsent > 0;
        if (i % 2) (void)read_some(fd[1], &g, READ_BYTES);
    }
    (void)close(fd[0]);
    while (read_some(fd[1], &g, READ_BYTES))
        continue;
    (void)close(fd[1]);
    CU_ASSERT(n_cut > 0);
    CU_ASSERT(g.n_bytes > INT64_C(2) * RECORD_BYTES);
    T_EQ(g.n_mixed, 0);
}
