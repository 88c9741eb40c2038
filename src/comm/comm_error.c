// SPDX-License-Identifier: Apache-2.0
/* Errors of MPI as errors of the program, and the end of all ranks at once.  MPI is set to return
 * its errors; TRY_MPI() in comm_state.h raises them here, with the call that failed. */
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
