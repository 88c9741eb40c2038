// SPDX-License-Identifier: Apache-2.0
/* Returns name and version of the MPI library, also before MPI is started. `wsc doctor` reports it.
 */
#include <wsc/comm.h>

#include <mpi.h>

#include <stdio.h>
#include <string.h>

void comm_library(char *text, size_t size)
{
    char whole[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = 0;
    if (MPI_Get_library_version(whole, &n) != MPI_SUCCESS) whole[0] = '\0';
    (void)snprintf(text, size, "%.*s", (int)strcspn(whole, ",\n"), whole);
}
