// SPDX-License-Identifier: Apache-2.0
/* One fabric on several MPI ranks: the functions of struct mesh_share by collectives of comm, and
 * what cannot be asked for then.  cmd_mesh.c uses it when it was started by mpirun. */
#include "mesh_ranks.h"

#include <string.h>

static enum wsc_err swap(void *ctx, const struct mesh_bytes out[2], struct mesh_bytes in[2])
{
    int64_t n_in[2] = {in[0].capacity, in[1].capacity};
    TRY(comm_swap(ctx, (const void *const[2]){out[0].data, out[1].data},
                  (const int64_t[2]){out[0].n, out[1].n}, (void *const[2]){in[0].data, in[1].data},
                  n_in));
    in[0].n = n_in[0];
    in[1].n = n_in[1];
    return WSC_OK;
}

static enum wsc_err least(void *ctx, int64_t *value, int n)
{
    return comm_least(ctx, value, n);
}

static enum wsc_err spread(void *ctx, void *bytes, const int64_t *first)
{
    return comm_spread(ctx, bytes, first);
}

void app_mesh_share(struct mesh_share *share, struct comm *comm)
{
    *share = (struct mesh_share){.part = comm_rank(comm),
                                 .parts = comm_size(comm),
                                 .ctx = comm,
                                 .swap = swap,
                                 .least = least,
                                 .spread = spread};
}

enum wsc_err app_mesh_check_ranks(const struct app_mesh *o, struct comm *comm)
{
    const int n = comm_size(comm);
    static const char *const alone[] = {"survey", "calibration", "list"};
    for (int i = 0; i < (int)(sizeof alone / sizeof *alone); i++)
        if (!strcmp(o->what, alone[i]))
            return wsc_err_hint(
                WSC_RAISE(WSC_USAGE, "wsc mesh %s: %d ranks, but it uses one", alone[i], n),
                "start it without mpirun");
    if (o->plan)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "wsc mesh --plan: %d ranks, but it uses one", n),
                            "start it without mpirun");
    return WSC_OK;
}
