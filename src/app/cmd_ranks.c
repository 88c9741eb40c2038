// SPDX-License-Identifier: Apache-2.0
/* `wsc ranks`: the number of roles of a job, for `mpirun -n`.  The cluster's topology decides:
 * wafers, SwarmX nodes, MemoryX shards. */
#include "cmd.h"
#include "requests.h"
#include "user_files.h"

#include <wsc/job.h>

#include <stdio.h>
#include <string.h>

enum wsc_err app_run_ranks(struct app_call *call)
{
    const struct app_ranks_of *o = call->request;
    struct zoo_params params = {0};
    struct hw_machine cluster = {0};
    int64_t n_roles = 0;
    enum wsc_err rc;
    rc = o->config.params_path ? app_load_params(NULL, &o->config, &params)
                               : app_refuse_params_sets(&o->config);
    if (!rc) rc = app_load_cluster(NULL, &o->config, &cluster, NULL);
    if (!rc && o->config.params_path) zoo_params_log(&params);
    const struct zoo_params *p = o->config.params_path ? &params : NULL;
    if (!p) params.runconfig.num_csx = o->num_csx;
    if (!rc) rc = cluster_check_systems(&params, &cluster);
    if (!rc) rc = cluster_n_roles(p, &cluster, params.runconfig.num_csx, &n_roles);
    if (!rc) (void)printf("%lld\n", (long long)n_roles);
    zoo_params_fini(&params);
    hw_machine_fini(&cluster);
    return rc;
}
