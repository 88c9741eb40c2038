// SPDX-License-Identifier: Apache-2.0
/* `wsc ranks`: the number of roles of a job, for `mpirun -n`.  The cluster's topology decides:
 * wafers, SwarmX nodes, MemoryX shards.  Of several phases, the least number of any, or
 * that of --phase. */
#include "cmd.h"
#include "requests.h"
#include "user_files.h"

#include <wsc/job.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* Roles of one job: of the phase @p k of the params, 0 where there is no choice. */
static enum wsc_err count_roles(const struct app_ranks_of *o, const char *text, size_t n, int k,
                                int *n_phases, int64_t *n_roles)
{
    struct zoo_params params = {0};
    struct hw_machine cluster = {0};
    enum wsc_err rc = text ? app_parse_params(NULL, &o->config, text, n, k, &params) : WSC_OK;
    if (!rc) rc = app_load_cluster(NULL, &o->config, &cluster, NULL);
    if (!rc && text) zoo_params_log(&params);
    if (!text) params.runconfig.num_csx = o->num_csx;
    if (!rc && o->phase && params.n_phases < 2)
        rc = WSC_RAISE(WSC_USAGE, "--phase: %s has one phase only", params.file);
    if (!rc) rc = cluster_check_systems(&params, &cluster);
    if (!rc)
        rc = cluster_n_roles(text ? &params : NULL, &cluster, params.runconfig.num_csx, n_roles);
    *n_phases = params.n_phases;
    zoo_params_fini(&params);
    hw_machine_fini(&cluster);
    return rc;
}

/* The phases of a list of trainers run on the same ranks, of which none may be without a role;
 * a phase that --phase names runs alone. */
enum wsc_err app_run_ranks(struct app_call *call)
{
    const struct app_ranks_of *o = call->request;
    char *text = NULL;
    size_t n = 0;
    const int first = o->phase ? (int)o->phase : 1;
    int n_phases = first;
    int64_t least = INT64_MAX;
    enum wsc_err rc = o->config.params_path ? app_read_params(NULL, &o->config, &text, &n)
                                            : app_refuse_params_sets(&o->config);
    for (int k = first; k <= n_phases && !rc; k++) {
        int64_t n_roles = 0;
        rc = count_roles(o, text, n, o->phase || k > 1 ? k : 0, &n_phases, &n_roles);
        if (o->phase) n_phases = first;
        if (!rc && n_roles < least) least = n_roles;
    }
    if (!rc) (void)printf("%lld\n", (long long)least);
    wsc_free(text);
    return rc;
}
