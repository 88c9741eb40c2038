// SPDX-License-Identifier: Apache-2.0
/* The C interface <libwsc.h>: handles around the structs of the program, statuses as its exit
 * statuses.  It computes nothing; scaling simulates, job runs, report writes the CSV.  Built as a
 * shared library that exports these functions alone (libwsc.map, `make library`); the Python module
 * of mpi_launch/packaging/python calls it. */
#include <libwsc.h>
#include <wsc/cluster.h>
#include <wsc/job.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/out.h>
#include <wsc/report.h>
#include <wsc/scaling.h>
#include <wsc/stop.h>
#include <wsc/store.h>

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The texts `path=value` that a handle was given. */
struct overrides {
    char **text; /* owned, as the texts */
    int n;
};
struct libwsc_params {
    struct zoo_params params;
    char name[SCALING_NAME_BYTES]; /* of the file, for tables */
    char *text;                    /* owned; NULL: not asked for yet */
    int n_read;                    /* warnings of the file, before those of a check */
    struct overrides given;
    bool phase_chosen; /* by an override */
};
struct libwsc_machine {
    struct hw_machine machine;
    struct overrides given;
};
struct libwsc_sweep {
    struct scaling_row *row; /* owned */
    int n;
    char name[SCALING_NAME_BYTES]; /* that the rows borrow */
    char *csv;                     /* owned; NULL: not asked for yet */
};

int libwsc_version(void)
{
    return LIBWSC_VERSION;
}

const char *libwsc_program(void)
{
    return out_version();
}

const char *libwsc_message(void)
{
    return wsc_err_message();
}

void libwsc_use_program(const char *path)
{
    static char program[PATH_MAX]; /* the caller's text may go */
    if (!path) return;
    (void)snprintf(program, sizeof program, "%s", path);
    store_probe_with(program);
}

/* An argument that must not be NULL. */
static enum wsc_err need(const void *argument, const char *name)
{
    return argument ? WSC_OK : WSC_RAISE(WSC_USAGE, "%s is NULL", name);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Texts of the caller as sets of the engine, owned by the caller, that borrow a copy in @p given.
 */
static enum wsc_err make_sets(const char *const *text, int n, struct overrides *given,
                              struct conf_set **sets)
{
    if (n < 0) return WSC_RAISE(WSC_USAGE, "n_sets is %d", n);
    for (int i = 0; i < n; i++)
        TRY(need(text ? text[i] : NULL, "set"));
    TRY_NEW(*sets, WSC_MEM_CONF, n ? n : 1);
    TRY_NEW(given->text, WSC_MEM_CONF, n ? n : 1);
    for (; given->n < n; given->n++) {
        TRY_MEM(given->text[given->n], wsc_strdup(WSC_MEM_CONF, text[given->n]));
        (*sets)[given->n].text = given->text[given->n];
    }
    return WSC_OK;
}

static void free_overrides(struct overrides *given)
{
    for (int i = 0; i < given->n; i++)
        wsc_free(given->text[i]);
    wsc_free(given->text);
}

static bool contains(const struct overrides *given, const char *text)
{
    for (int i = 0; i < given->n; i++)
        if (!strcmp(given->text[i], text)) return true;
    return false;
}

static enum wsc_err load_params(libwsc_params *p, const char *path, const char *const *set,
                                int n_sets)
{
    struct conf_set *sets = NULL;
    char *bytes = NULL;
    size_t n = 0;
    TRY(need(path, "path"));
    TRY(scaling_name_models(&path, 1, &p->name));
    enum wsc_err rc = make_sets(set, n_sets, &p->given, &sets);
    if (!rc) rc = conf_read_file(path, &bytes, &n);
    if (!rc) rc = zoo_params_parse(&p->params, path, bytes, n, sets, n_sets);
    p->n_read = p->params.n_warnings;
    for (int i = 0; i < n_sets && !rc; i++)
        p->phase_chosen = p->phase_chosen || !strncmp(set[i], "phase=", 6);
    wsc_free(bytes);
    wsc_free(sets);
    return rc;
}

int libwsc_params_load(libwsc_params **params, const char *path, const char *const *set, int n_sets)
{
    if (need(params, "params")) return wsc_err_exit_status(WSC_USAGE);
    *params = wsc_alloc(WSC_MEM_CONF, 1, sizeof **params);
    if (!*params) return wsc_err_exit_status(WSC_NOMEM);
    const enum wsc_err rc = load_params(*params, path, set, n_sets);
    if (rc) libwsc_params_free(params);
    return wsc_err_exit_status(rc);
}

const char *libwsc_params_text(libwsc_params *params)
{
    if (!params) return NULL;
    if (!params->text && zoo_params_dump(&params->params, &params->text)) return NULL;
    return params->text;
}

int libwsc_params_n_warnings(const libwsc_params *params)
{
    return params ? params->params.n_warnings : 0;
}

const char *libwsc_params_warning(const libwsc_params *params, int i)
{
    return i >= 0 && i < libwsc_params_n_warnings(params) ? params->params.warning[i].text : "";
}

void libwsc_params_free(libwsc_params **params)
{
    if (!params || !*params) return;
    zoo_params_fini(&(*params)->params);
    wsc_free((*params)->text);
    free_overrides(&(*params)->given);
    wsc_free(*params);
    *params = NULL;
}

static enum wsc_err load_machine(libwsc_machine *m, const char *path, const char *const *set,
                                 int n_sets)
{
    struct conf_set *sets = NULL;
    char *bytes = NULL;
    size_t n = 0;
    enum wsc_err rc = make_sets(set, n_sets, &m->given, &sets);
    if (!rc && path) rc = hw_machine_read(path, &bytes, &n);
    if (!rc) rc = hw_machine_parse(&m->machine, path, bytes, n, sets, n_sets);
    wsc_free(bytes);
    wsc_free(sets);
    return rc;
}

int libwsc_machine_load(libwsc_machine **machine, const char *path, const char *const *set,
                        int n_sets)
{
    if (need(machine, "machine")) return wsc_err_exit_status(WSC_USAGE);
    *machine = wsc_alloc(WSC_MEM_CONF, 1, sizeof **machine);
    if (!*machine) return wsc_err_exit_status(WSC_NOMEM);
    const enum wsc_err rc = load_machine(*machine, path, set, n_sets);
    if (rc) libwsc_machine_free(machine);
    return wsc_err_exit_status(rc);
}

const char *libwsc_machine_name(const libwsc_machine *machine)
{
    return machine ? machine->machine.name : NULL;
}

void libwsc_machine_free(libwsc_machine **machine)
{
    if (!machine || !*machine) return;
    hw_machine_fini(&(*machine)->machine);
    free_overrides(&(*machine)->given);
    wsc_free(*machine);
    *machine = NULL;
}

/* What a run of the library leaves out; the file is right all the same. */
static enum wsc_err warn_of_profile(struct zoo_params *p)
{
    struct conf_diag d = {.file = p->file, .warning = &p->warning, .n_warnings = &p->n_warnings};
    if (p->runconfig.profile_start_step != CONF_NULL)
        conf_diag_warn(&d, (struct conf_pos){0}, "runconfig.op_profiler_config",
                       "without effect: the library draws no profile; hint: wsc run");
    return conf_diag_finish(&d);
}

/* Warn of overrides in @p given that are for the handle of @p owner, which has not got them. */
static void warn_of_lost(struct conf_diag *d, const struct overrides *given,
                         const struct overrides *owner, bool of_machine)
{
    for (int i = 0; i < given->n; i++) {
        const char *text = given->text[i];
        char key[CONF_MAX_PATH];
        if ((conf_set_cluster_path(text) != NULL) != of_machine || contains(owner, text)) continue;
        (void)snprintf(key, sizeof key, "%.*s", (int)strcspn(text, "="), text);
        conf_diag_warn(d, (struct conf_pos){0}, key, "without effect; hint: an override of the %s",
                       of_machine ? "machine" : "params");
    }
}

/* Each handle takes its own overrides of a list. */
static enum wsc_err warn_of_misplaced(libwsc_params *params, const libwsc_machine *machine)
{
    struct zoo_params *p = &params->params;
    struct conf_diag d = {.file = p->file, .warning = &p->warning, .n_warnings = &p->n_warnings};
    warn_of_lost(&d, &params->given, &machine->given, true);
    warn_of_lost(&d, &machine->given, &params->given, false);
    return conf_diag_finish(&d);
}

int libwsc_params_check(libwsc_params *params, const libwsc_machine *machine, int64_t most_csx)
{
    if (need(params, "params") || need(machine, "machine")) return wsc_err_exit_status(WSC_USAGE);
    struct zoo_params *p = &params->params;
    const struct cluster_use use = {.kind = most_csx ? CLUSTER_USE_SWEEP : CLUSTER_USE_RUN,
                                    .params = p,
                                    .machine = &machine->machine,
                                    .num_csx = most_csx ? most_csx : p->runconfig.num_csx,
                                    .explores = !most_csx}; /* such a run is refused */
    while (p->n_warnings > params->n_read)
        wsc_free(p->warning[--p->n_warnings].text);
    enum wsc_err rc = cluster_warn_idle(&use, p);
    if (!rc && !most_csx) rc = warn_of_profile(p);
    if (!rc) rc = warn_of_misplaced(params, machine);
    return wsc_err_exit_status(rc);
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* Sizes of structs in the first version of the interface: callers that were built with it have no
 * members that came later. */
enum {
    FIRST_SCALING_BYTES = offsetof(struct libwsc_scaling, batch_per_csx) + sizeof(int64_t),
    FIRST_POINT_BYTES = offsetof(struct libwsc_point, input_ps) + sizeof(int64_t)
};

static size_t shorter(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The sweep, with its numbers of systems checked: scaling takes them as they are. */
static enum wsc_err run_sweep(libwsc_sweep *sweep, const libwsc_params *params,
                              const libwsc_machine *machine, const int64_t *num_csx,
                              const struct libwsc_scaling *given)
{
    struct libwsc_scaling how = {0};
    if (given && given->size < FIRST_SCALING_BYTES)
        return WSC_RAISE(WSC_USAGE, "libwsc_scaling: the size is %zu, not %zu", given->size,
                         sizeof how);
    if (given) memcpy(&how, given, shorter(given->size, sizeof how));
    const struct scaling_model model = {sweep->name, &params->params};
    const struct scaling_sweep s = {.model = &model,
                                    .n_models = 1,
                                    .num_csx = num_csx,
                                    .n_counts = sweep->n,
                                    .strong = how.strong,
                                    .batch_per_csx = how.batch_per_csx,
                                    .cluster = &machine->machine};
    if (s.batch_per_csx < 0 || s.batch_per_csx > SCALING_MOST_SEQUENCES ||
        (s.strong && s.batch_per_csx))
        return WSC_RAISE(WSC_USAGE,
                         "batch_per_csx: at most %d, positive, and for weak scaling alone",
                         SCALING_MOST_SEQUENCES);
    if (sweep->n < 1) return WSC_RAISE(WSC_USAGE, "no number of systems");
    for (int i = 0; i < sweep->n; i++)
        if (num_csx[i] < 1 || num_csx[i] > HW_MAX_SYSTEMS)
            return WSC_RAISE(WSC_USAGE, "num_csx: expected 1 to %d systems, got %lld",
                             HW_MAX_SYSTEMS, (long long)num_csx[i]);
    TRY(scaling_refuse_passing_faults(s.cluster));
    TRY(scaling_refuse_other_modes(&params->params));
    return scaling_run(&s, &sweep->row);
}

int libwsc_scale(libwsc_sweep **sweep, const libwsc_params *params, const libwsc_machine *machine,
                 const int64_t *num_csx, int n_counts, const struct libwsc_scaling *scaling)
{
    if (need(sweep, "sweep")) return wsc_err_exit_status(WSC_USAGE);
    *sweep = NULL;
    if (need(params, "params") || need(machine, "machine") || need(num_csx, "num_csx"))
        return wsc_err_exit_status(WSC_USAGE);
    *sweep = wsc_alloc(WSC_MEM_APP, 1, sizeof **sweep);
    if (!*sweep) return wsc_err_exit_status(WSC_NOMEM);
    (*sweep)->n = n_counts;
    (void)snprintf((*sweep)->name, sizeof(*sweep)->name, "%s", params->name);
    wsc_stop_watch(true);
    const enum wsc_err rc = run_sweep(*sweep, params, machine, num_csx, scaling);
    wsc_stop_watch(false);
    if (rc) libwsc_sweep_free(sweep);
    return wsc_err_exit_status(rc);
}

int libwsc_sweep_n(const libwsc_sweep *sweep)
{
    return sweep ? sweep->n : 0;
}

int libwsc_sweep_point(const libwsc_sweep *sweep, int i, struct libwsc_point *point)
{
    if (need(sweep, "sweep") || need(point, "point")) return wsc_err_exit_status(WSC_USAGE);
    if (i < 0 || i >= sweep->n || point->size < FIRST_POINT_BYTES)
        return wsc_err_exit_status(
            WSC_RAISE(WSC_USAGE, "no point %d, or a struct of %zu bytes", i, point->size));
    const struct scaling_row *r = &sweep->row[i];
    const struct libwsc_point p = {.size = shorter(point->size, sizeof p),
                                   .params = r->params,
                                   .num_csx = r->num_csx,
                                   .global_batch = r->global_batch,
                                   .micro_batch = r->micro_batch,
                                   .tokens_per_s = r->tokens_per_s,
                                   .samples_per_s = r->samples_per_s,
                                   .speedup = r->speedup,
                                   .efficiency = r->efficiency,
                                   .step_time_ps = r->step_time_ps,
                                   .compute_ps = r->breakdown.compute_ps,
                                   .weights_ps = r->breakdown.weights_wait_ps,
                                   .reduce_ps = r->breakdown.reduce_wait_ps,
                                   .boundary_ps = r->breakdown.boundary_ps,
                                   .mfu = r->mfu,
                                   .joules_per_token = r->joules_per_token,
                                   .input_ps = r->breakdown.input_wait_ps};
    memcpy(point, &p, p.size);
    return 0;
}

const char *libwsc_sweep_csv(libwsc_sweep *sweep)
{
    if (!sweep) return NULL;
    const struct report_scaling s = {.row = sweep->row, .n_rows = sweep->n};
    if (!sweep->csv && report_scaling_csv(&s, &sweep->csv)) return NULL;
    return sweep->csv;
}

void libwsc_sweep_free(libwsc_sweep **sweep)
{
    if (!sweep || !*sweep) return;
    wsc_free((*sweep)->row);
    wsc_free((*sweep)->csv);
    wsc_free(*sweep);
    *sweep = NULL;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* enum kernels_numerics by name; -1 after an error. */
static int find_numerics(const char *name)
{
    for (int i = 0; i < KERNELS_N_NUMERICS; i++)
        if (!strcmp(kernels_numerics_option((enum kernels_numerics)i), name)) return i;
    return -1;
}

/* Refuse params for which the program does something else than one training or evaluation. */
static enum wsc_err refuse_other_work(const libwsc_params *params)
{
    const struct zoo_params *p = &params->params;
    const struct zoo_runconfig *rc = &p->runconfig;
    const struct {
        bool asked;
        const char *what, *hint;
    } other[] = {
        {rc->mode == ZOO_GENERATE, "mode generate needs prompts",
         "wsc run --mode generate --prompt TEXT"},
        {rc->validate_only, "runconfig.validate_only: nothing is to run",
         "wsc run --validate_only"},
        {rc->compile_only, "runconfig.compile_only: nothing is to run", "wsc run --compile_only"},
        {zoo_explores(p),
         "train_input.micro_batch_size: explore compares micro-batches and trains nothing",
         "wsc run, or another micro_batch_size"},
        {p->n_phases > 1 && !params->phase_chosen, "the file has several trainers, a run is one",
         "the override phase=1, then the next one"},
    };
    for (int i = 0; i < (int)(sizeof other / sizeof *other); i++)
        if (other[i].asked)
            return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: %s", p->file, other[i].what), "%s",
                                other[i].hint);
    return WSC_OK;
}

static enum wsc_err run_job(const libwsc_params *params, const libwsc_machine *machine,
                            const char *numerics)
{
    const int kind = find_numerics(numerics);
    bool report = false;
    struct comm *comm = NULL;
    const struct job job = {.params = &params->params,
                            .cluster = &machine->machine,
                            .numerics = (enum kernels_numerics)kind,
                            .values = kind != KERNELS_NONE,
                            .no_tables = true,
                            .command = "libwsc_run"};
    if (kind < 0) return WSC_RAISE(WSC_USAGE, "numerics %s: host, mesh or none", numerics);
    TRY(refuse_other_work(params));
    TRY(comm_create(&comm, false));
    enum wsc_err rc = cluster_check_systems(&params->params, &machine->machine);
    if (!rc) rc = job_run(comm, &job, &report);
    comm_destroy(&comm);
    return rc;
}

int libwsc_run(const libwsc_params *params, const libwsc_machine *machine, const char *numerics)
{
    if (need(params, "params") || need(machine, "machine") || need(numerics, "numerics"))
        return wsc_err_exit_status(WSC_USAGE);
    wsc_log_quiet(true);
    wsc_stop_watch(true); /* from here on libwsc_stop() counts, not only in the steps */
    const enum wsc_err rc = run_job(params, machine, numerics);
    wsc_stop_watch(false);
    return wsc_err_exit_status(rc);
}

void libwsc_stop(void)
{
    wsc_stop_ask();
}
