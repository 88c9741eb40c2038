// SPDX-License-Identifier: Apache-2.0
#include "app.h"

#include <wsc/job.h>

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: wsc ranks --num_csx N [--cluster FILE] [--params FILE] [--set PATH=VALUE]\n\n"
    "Prints the number of MPI ranks for one role per rank: N wafers, the SwarmX nodes of their\n"
    "tree and the MemoryX shards.\n\n"
    "example:\n"
    "  mpirun -n $(wsc ranks --num_csx 16) wsc run --params my.yaml --num_csx 16\n";

static const struct option long_option[] = {
    {"num_csx", required_argument, NULL, 'n'}, {"cluster", required_argument, NULL, 'c'},
    {"params", required_argument, NULL, 'p'},  {"set", required_argument, NULL, 's'},
    {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};

struct ranks_options {
    struct app_config config;
    int64_t num_csx;
    bool help;
};

static enum wsc_err parse(struct ranks_options *o, int argc, char **argv)
{
    enum { MAX_CSX = 4096 };
    int option;
    while ((option = getopt_long(argc, argv, ":h", long_option, NULL)) != -1) {
        if (option == '?' || option == ':') return app_bad_option("ranks", argv, option);
        if (option == 'n') TRY(app_parse_int("--num_csx", optarg, 1, MAX_CSX, &o->num_csx));
        if (option == 'c') o->config.cluster_path = optarg;
        if (option == 'p') o->config.params_path = optarg;
        if (option == 's') TRY(app_add_set(&o->config, optarg));
        if (option == 'h') o->help = true;
    }
    if (optind < argc) return WSC_RAISE(WSC_USAGE, "%s: unexpected argument", argv[optind]);
    if (o->help || o->num_csx || o->config.params_path) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--num_csx is missing"), "wsc ranks --num_csx 16");
}

static enum wsc_err print_ranks(const struct ranks_options *o)
{
    struct zoo_params params = {0};
    struct hw_machine cluster = {0};
    int64_t n_roles = 0;
    enum wsc_err rc = WSC_OK;
    if (o->config.params_path) rc = app_load_params(NULL, &o->config, &params);
    if (!rc) rc = app_load_cluster(NULL, &o->config, &cluster, NULL);
    const struct zoo_params *p = o->config.params_path ? &params : NULL;
    if (!rc)
        rc = cluster_n_roles(p, &cluster, o->num_csx ? o->num_csx : params.runconfig.num_csx,
                             &n_roles);
    if (!rc) (void)printf("%lld\n", (long long)n_roles);
    zoo_params_fini(&params);
    hw_machine_fini(&cluster);
    return rc;
}

enum wsc_err app_ranks(int argc, char **argv)
{
    struct ranks_options o = {0};
    enum wsc_err rc = parse(&o, argc, argv);
    if (!rc && o.help) (void)fputs(help, stdout);
    if (!rc && !o.help) rc = print_ranks(&o);
    app_config_fini(&o.config);
    return rc;
}
