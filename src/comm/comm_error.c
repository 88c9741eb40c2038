// SPDX-License-Identifier: Apache-2.0
/* Converts errors of MPI to errors of the program, raises the error of fibers that all wait, and
 * ends all ranks. MPI is set to return errors; TRY_MPI() in comm_state.h raises them here, with the
 * failed call, and NEED_MPI() ends the job. */
#include "comm_state.h"

#include <stdio.h>
#include <unistd.h>

/* _exit() and not exit(): other threads may hold locks that handlers would wait for. */
void comm_abort(int status)
{
    int started = 0, ended = 0;
    (void)fflush(NULL);
    (void)MPI_Initialized(&started);
    (void)MPI_Finalized(&ended);
    if (started && !ended) (void)MPI_Abort(MPI_COMM_WORLD, status);
    _exit(status);
}

enum wsc_err comm_raise_mpi(int mpi_rc, const char *call, const char *file, int line)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    (void)MPI_Error_string(mpi_rc, text, &length);
    return wsc_err_raise(WSC_MPI, file, line, "%s: %s", call, text);
}

void comm_end_after(int mpi_rc, const char *call, const char *file, int line)
{
    const enum wsc_err rc = comm_raise_mpi(mpi_rc, call, file, line);
    (void)fprintf(stderr, "wsc: error: %s\n", wsc_err_message());
    wsc_err_show_trace();
    comm_abort(wsc_err_exit_status(rc));
}

void comm_describe_waits(const struct comm *comm, char *text, size_t size)
{
    enum { MAX_NAMED = 12 };
    size_t used = 0;
    int named = 0;
    text[0] = '\0';
    for (int i = 0; i < comm->n_fibers && named < MAX_NAMED; i++) {
        const struct comm_fiber *f = comm->fiber[i];
        if (f->state == FIBER_DONE || !f->waits_for) continue;
        const struct comm_link *l = f->waits_for;
        bool sending = f->state == FIBER_SENDING;
        int n = snprintf(text + used, size - used, "%s%s waits for role %d to %s %s",
                         named++ ? "; " : "", f->name, sending ? l->dst : l->src,
                         sending ? "take" : "send", l->name);
        if (n < 0 || (size_t)n >= size - used) {
            text[used] = '\0'; /* half a phrase would name a wrong role */
            return;
        }
        used += (size_t)n;
    }
}

enum wsc_err comm_raise_stuck(const struct comm *comm, const char *how)
{
    char waits[1500];
    comm_describe_waits(comm, waits, sizeof waits);
    return WSC_RAISE(WSC_DEADLOCK, "rank %d: %s: %s", comm->rank, how, waits);
}
