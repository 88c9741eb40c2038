// SPDX-License-Identifier: Apache-2.0
/* Roles of a rank, from the cluster: only ranks with wafers read samples, only those with shards
 * write checkpoints. */
#include "job_roles.h"

bool job_has_wafer(const struct cluster *c)
{
    for (int i = 0; i < c->machine->n_machine_wafers; i++)
        if (comm_is_local(c->comm, stream_role_of_wafer(c->machine, i))) return true;
    return false;
}

bool job_has_shard(const struct cluster *c)
{
    for (int i = 0; i < c->net->topology->n_shards; i++)
        if (c->memoryx[i]) return true;
    return false;
}
