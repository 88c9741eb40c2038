// SPDX-License-Identifier: Apache-2.0
/* Sends records of one size over a stream socket without waiting. A socket whose buffer is nearly
 * full takes a part of a record; without its rest the reader would take every later record from the
 * wrong byte on. So the rest goes first, and a full buffer loses whole records only. */
#include "comm_state.h"

#include <string.h>
#include <sys/socket.h>

/* Send @p bytes at @p from without waiting; returns how many were sent. After an error, too, it is
 * none: a closed connection is noticed when reading. */
static size_t send_now(int fd, const char *from, size_t bytes)
{
    const ssize_t n = send(fd, from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n > 0 ? (size_t)n : 0;
}

size_t comm_send_whole(int fd, const void *record, size_t bytes, char *sending, size_t n_unsent)
{
    if (n_unsent) n_unsent -= send_now(fd, sending + bytes - n_unsent, n_unsent);
    if (n_unsent) return n_unsent;
    memcpy(sending, record, bytes);
    const size_t sent = send_now(fd, sending, bytes);
    return sent ? bytes - sent : 0;
}
