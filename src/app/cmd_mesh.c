// SPDX-License-Identifier: Apache-2.0
/* `wsc mesh`: runs one kernel of the table of kernels on an emulated fabric and prints its cycles
 * and its error against the host, or runs the survey or the calibration and prints their points.
 * What --explain, --heatmap and --trace show: mesh_show.c. */
#include "cmd.h"
#include "mesh_archive.h"
#include "mesh_plan.h"
#include "mesh_ranks.h"
#include "mesh_show.h"
#include "option_parse.h"
#include "process.h"
#include "requests.h"
#include "shipped.h"
#include "user_files.h"

#include <wsc/hw.h>
#include <wsc/kernels.h>
#include <wsc/mesh_snapshot.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Points of a survey that were printed. */
struct points {
    bool json, first; /* first: none yet */
    int n_points, n_outside;
};

/* Every row of the table of kernels, with its options and algorithms. */
static void print_list(void)
{
    const struct kernels_row *k;
    for (int i = 0; (k = kernels_row_at(i)); i++) {
        (void)printf("%-14s%s\n              options: --fabric --arch %s\n", k->name, k->summary,
                     k->options);
        if (k->algos) (void)printf("              --algo: %s\n", k->algos);
        if (k->algo_options) (void)printf("              --algo %s\n", k->algo_options);
    }
}

/* Router-cycles a second of what ran here, after the snapshot where one was resumed from. A kernel
 * that is observed runs twice, and the result is of the second run: cycles of the first one do not
 * count. */
static double host_rate(const struct programs_case *c, const struct programs_result *r)
{
    const int64_t resumed = mesh_snapshots_resumed(c->snapshots);
    const int64_t first_run = mesh_snapshots_over(c->snapshots) - r->stats.cycles;
    const int64_t skipped = resumed ? resumed - first_run : 0;
    const int64_t cycles = r->stats.cycles - (skipped > 0 ? skipped : 0);
    return r->host_seconds > 0 ? (double)cycles * c->w * c->h / r->host_seconds : 0;
}

/* The result as one object; the fields are in docs/FILES.md. */
static void print_json(const char *name, const struct programs_case *c,
                       const struct programs_result *r)
{
    const double router_cycles = (double)r->stats.cycles * c->w * c->h;
    (void)printf("{\"kernel\": \"%s\", \"algo\": \"%s\", \"arch\": \"%s\", \"fabric\": [%d, %d], "
                 "\"words\": %lld, \"cycles\": %lld, \"wavelets\": %lld, \"wavelet_hops\": %lld, "
                 "\"router_cycles\": %.0f, \"host_seconds\": %.6f, \"router_cycles_per_s\": %.0f, "
                 "\"max_error\": %.9g, \"elements\": %lld",
                 name, r->algo, c->arch == MESH_WSE3 ? "wse3" : "wse2", c->w, c->h,
                 (long long)r->words, (long long)r->stats.cycles, (long long)r->stats.wavelets,
                 (long long)r->stats.wavelet_hops, router_cycles, r->host_seconds, host_rate(c, r),
                 r->max_error, (long long)r->stats.elements);
    if (r->analytical >= 0) (void)printf(", \"analytical_cycles\": %.1f", r->analytical);
    if (r->tile_most > 0)
        (void)printf(", \"tile_cycles_mean\": %.1f, \"tile_cycles_most\": %.0f", r->tile_mean,
                     r->tile_most);
    if (r->built >= 0) (void)printf(", \"built\": %.1f", r->built);
    if (r->schedule >= 0) (void)printf(", \"schedule\": %.1f", r->schedule);
}

/* The result as a table of two columns. */
static void print_text(const char *title, const struct programs_case *c,
                       const struct programs_result *r)
{
    (void)printf("%s", title);
    if (r->analytical >= 0) (void)printf(", analytical model %.0f", r->analytical);
    (void)printf("\n%lld wavelets, %lld hops, %lld elements; largest error against the host %g\n",
                 (long long)r->stats.wavelets, (long long)r->stats.wavelet_hops,
                 (long long)r->stats.elements, r->max_error);
    if (r->tile_most > 0)
        (void)printf("cycles of a PE over its tile: mean %.0f, slowest %.0f\n", r->tile_mean,
                     r->tile_most);
    if (r->host_seconds > 0)
        (void)printf("%.3g s on this host, %.3g M router-cycles/s\n", r->host_seconds,
                     1e-6 * host_rate(c, r));
}

/* A fabric that suits the kernel, and the choices of the options in the kernel's types. */
static void complete(struct programs_case *c, const struct app_mesh *o)
{
    const bool ring = c->algo && !strcmp(c->algo, "ring"), single = !strcmp(o->what, "fmacs");
    if (!c->w) {
        c->w = single ? 1 : 8;
        c->h = single || ring ? 1 : 8;
    }
    c->arch = (enum mesh_arch)o->arch;
    c->half = (enum num_half)o->half;
    c->format = (enum num_format)o->format;
    c->backward = o->pass;
    c->seed = (uint64_t)o->seed;
    c->threads = (int)o->threads;
}

/* True when @p word is one of the words of @p list. */
static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        if (length == n && !strncmp(at, word, n)) return true;
        at += length;
    }
    return false;
}

/* True when one algorithm of the kernel takes the option. */
static bool of_one_algo(const struct kernels_row *k, const char *option)
{
    const char *options = k->algo_options ? strchr(k->algo_options, ':') : NULL;
    return options && has_word(options, option);
}

/* True when some kernel takes the option: then one that does not list it must not get it. */
static bool is_of_kernels(const char *option)
{
    const struct kernels_row *k;
    for (int i = 0; (k = kernels_row_at(i)); i++)
        if (has_word(k->options, option) || of_one_algo(k, option)) return true;
    return false;
}

/* An option that some kernel takes, given to kernel @p k with the algorithm @p algo. */
static enum wsc_err check_option(const struct kernels_row *k, const char *algo, const char *option)
{
    if (!is_of_kernels(option) || has_word(k->options, option)) return WSC_OK;
    if (!of_one_algo(k, option))
        return WSC_RAISE(WSC_USAGE, "%s: kernel %s does not take it; it takes %s%s%s", option,
                         k->name, k->options, k->algo_options ? ", with --algo " : "",
                         k->algo_options ? k->algo_options : "");
    const int n = (int)strcspn(k->algo_options, ":"), length = (int)strcspn(algo, " ");
    if (length == n && !strncmp(algo, k->algo_options, (size_t)n)) return WSC_OK;
    return WSC_RAISE(WSC_USAGE, "%s: kernel %s takes it with --algo %.*s alone, not with %.*s",
                     option, k->name, n, k->algo_options, length, algo);
}

/* Options and algorithms that this kernel does not have. */
static enum wsc_err check_kernel(const struct app_call *call, const struct kernels_row *k)
{
    const struct app_mesh *o = call->request;
    const struct app_option *row = NULL;
    while ((row = app_next_option(call->table, call->command, row))) {
        char name[64];
        if (!row->name || !app_given(call, row->name)) continue;
        (void)snprintf(name, sizeof name, "--%s", row->name);
        TRY(check_option(k, o->c.algo ? o->c.algo : k->algos, name));
    }
    if (!o->c.algo || (k->algos && has_word(k->algos, o->c.algo))) return WSC_OK;
    if (!k->algos) return WSC_RAISE(WSC_USAGE, "--algo: kernel %s has no choice", k->name);
    return WSC_RAISE(WSC_USAGE, "--algo: kernel %s has %s, got \"%s\"", k->name, k->algos,
                     o->c.algo);
}

/* Print the result in the form that was asked for, then what the watch kept. */
static enum wsc_err show_result(const struct app_mesh *o, const char *name,
                                const struct programs_result *r)
{
    char title[160];
    (void)snprintf(title, sizeof title, "%s%s%s on %d x %d PEs (%s): %lld cycles", name,
                   *r->algo ? " " : "", r->algo, o->c.w, o->c.h,
                   o->c.arch == MESH_WSE3 ? "WSE-3" : "WSE-2", (long long)r->stats.cycles);
    if (o->json)
        print_json(name, &o->c, r);
    else
        print_text(title, &o->c, r);
    TRY(app_show_explain(&o->show, o->json));
    if (o->json) (void)printf("}\n");
    return app_show_files(&o->show, o->c.w, o->c.h, title);
}

/* A kernel that runs: the cycles of its programs that are over, and of the one that runs. */
struct running {
    const struct kernels_row *row;
    const struct programs_case *c;
    int64_t over, newest, total; /* total: by the analytical model, 0 where it has none */
};

/* Each program of a kernel starts at cycle 0 again.  What runs has sizes that were accepted, so the
 * analytical model may be asked. */
static void show_cycle(void *ctx, int64_t cycle)
{
    struct running *r = ctx;
    if (!r->newest) r->total = app_plan_cycles(r->row, r->c);
    if (cycle < r->newest) r->over += r->newest;
    r->newest = cycle;
    out_progress_at(r->row->name, r->over + cycle, r->total, "cycles");
}

/* Run the kernel on its fabric, watched when something is to be shown. */
static enum wsc_err run_shown(struct app_mesh *o, const struct kernels_row *k,
                              struct programs_result *r)
{
    struct running running = {.row = k, .c = &o->c};
    const bool shows = !o->c.share || !o->c.share->part; /* the first of the ranks does */
    o->c.progress = shows ? show_cycle : NULL;
    o->c.progress_ctx = &running;
    if (shows) {
        out_progress_start(k->name, 0);
        out_progress(0, "cycles; setting up");
    }
    enum wsc_err rc = kernels_row_run(k, &o->c, r);
    out_progress_end();
    return !rc && shows ? show_result(o, k->name, r) : rc;
}

/* With snapshots, where they are asked for, and until a signal ends it. */
static enum wsc_err run_saved(struct app_mesh *o, const struct kernels_row *k, struct comm *comm,
                              struct programs_result *r)
{
    struct app_snapshots *snapshots;
    TRY(app_show_begin(&o->show, o->c.w, o->c.h));
    o->c.watch = o->show.watch;
    enum wsc_err rc = app_snapshot_begin(&snapshots, o, comm);
    if (!rc) rc = app_snapshot_end(&snapshots, run_shown(o, k, r));
    app_show_fini(&o->show);
    return rc;
}

static enum wsc_err run_on(struct app_mesh *o, const struct kernels_row *k,
                           const struct hw *machine, struct comm *comm)
{
    const char *name = k->name;
    struct programs_result r = {0};
    o->c.hw = machine;
    if (o->plan) return app_plan_print(o, k);
    enum wsc_err rc = run_saved(o, k, comm, &r);
    if (rc) return wsc_err_frame(rc, __FILE__, __LINE__, name);
    if (r.max_error <= kernels_row_tolerance(k, &o->c)) return WSC_OK;
    return WSC_RAISE(WSC_NUMERIC, "%s: the mesh and the host differ by %g", name, r.max_error);
}

/* The machine whose constants the analytical model has: the CS-2 that is built in, or the CS-3 that
 * is shipped. */
static enum wsc_err load_machine(const struct app_mesh *o, struct hw_machine *cluster)
{
    enum { FILE_NAME = 16 };
    char folder[PATH_MAX - FILE_NAME], path[PATH_MAX];
    struct app_config config = o->config;
    if (o->c.arch == MESH_WSE3) {
        if (!app_find_folder(APP_CLUSTER, folder, sizeof folder))
            return wsc_err_hint(
                WSC_RAISE(WSC_CONFIG, "the folder of machines is not %s", app_find_place()),
                "--arch wse3 compares with cs3.yaml, which is shipped");
        (void)snprintf(path, sizeof path, "%s/cs3.yaml", folder);
        config.cluster_path = path;
    }
    return app_load_cluster(NULL, &config, cluster, NULL);
}

/* Complete the case, check its options, run it. */
static enum wsc_err run_kernel(struct app_call *call)
{
    struct app_mesh *o = call->request;
    const struct kernels_row *k;
    struct hw_machine cluster;
    const struct hw machine = {.cluster = &cluster};
    TRY(kernels_row_find(o->what, &k));
    TRY(check_kernel(call, k));
    complete(&o->c, o);
    enum wsc_err rc = load_machine(o, &cluster);
    if (!rc) rc = run_on(o, k, &machine, o->c.share ? call->comm : NULL);
    hw_machine_fini(&cluster);
    return rc;
}

/* A point of the survey as one line. */
static void point_text(const struct points *o, const struct programs_point *p, double error)
{
    const bool scheduled = programs_point_scheduled(p);
    char text[OUT_PERCENT_SIZE];
    if (o->first)
        (void)printf("%-28s %-10s %4s %6s %9s %11s %12s\n", "what", "algo", "P", "words", "cycles",
                     "reference", "cycles error");
    (void)printf("%-28s %-10s %4d %6lld %9lld %11.1f %12s", p->what, p->algo, p->p,
                 (long long)p->words, (long long)p->cycles, p->reference,
                 out_change(text, 2, error));
    if (scheduled) (void)printf("  schedule %.0f: %s", p->schedule, p->reason);
    if (!programs_point_holds(p))
        (void)printf("  outside%s%s", p->reason && !scheduled ? ": " : "",
                     p->reason && !scheduled ? p->reason : "");
    (void)printf("\n");
}

/* A point of the survey as one object a line. */
static void point_json(const struct points *o, const struct programs_point *p, double error)
{
    (void)printf(
        "%s{\"what\": \"%s\", \"algo\": \"%s\", \"p\": %d, \"fabric\": [%d, %d], "
        "\"words\": %lld, \"cycles\": %lld, \"reference\": %.3f, "
        "\"cycles_error_percent\": %.4f, \"tolerance_percent\": %.3g, \"slack_cycles\": %.3g, "
        "\"against\": \"%s\", \"at_most\": %s, \"holds\": %s",
        o->first ? "[" : ",\n ", p->what, p->algo, p->p, p->p, p->h, (long long)p->words,
        (long long)p->cycles, p->reference, 100 * error, 100 * p->tolerance, p->slack,
        programs_point_scheduled(p) ? "schedule" : "reference", p->at_most ? "true" : "false",
        programs_point_holds(p) ? "true" : "false");
    if (p->built >= 0) (void)printf(", \"built\": %.3f", p->built);
    if (p->schedule >= 0) (void)printf(", \"schedule\": %.3f", p->schedule);
    if (p->reason) (void)printf(", \"reason\": \"%s\"", p->reason);
    (void)printf("}");
}

/* Points so far, after the row of the newest one. */
static void show_progress(const struct points *o, const struct programs_point *p)
{
    char note[128];
    (void)snprintf(note, sizeof note, "%s %s, P = %d", p->what, p->algo, p->p);
    out_progress(o->n_points, note);
}

/* Called for each point; those that do not hold are counted. */
static enum wsc_err print_point(void *ctx, const struct programs_point *p)
{
    struct points *o = ctx;
    double error = p->reference > 0 ? ((double)p->cycles - p->reference) / p->reference : 0;
    o->n_points++;
    o->n_outside += !programs_point_holds(p);
    out_progress_hide();
    (o->json ? point_json : point_text)(o, p, error);
    o->first = false;
    show_progress(o, p);
    return WSC_OK;
}

/* The survey or the calibration; fails when a point does not hold. */
static enum wsc_err run_points(const struct app_mesh *o, bool survey)
{
    struct points all = {.json = o->json, .first = true};
    out_progress_start(survey ? "survey" : "calibration", 0);
    enum wsc_err rc = survey ? programs_survey((int)o->max_p, o->max_words, print_point, &all)
                             : programs_calibration(print_point, &all);
    out_progress_end();
    TRY(rc);
    if (o->json)
        (void)printf("%s]\n", all.first ? "[" : "");
    else
        (void)printf("%d of %d within the tolerance stated for them\n",
                     all.n_points - all.n_outside, all.n_points);
    if (!all.n_outside) return WSC_OK;
    return WSC_RAISE(WSC_NUMERIC, "%d of %d points are outside the tolerance stated for them",
                     all.n_outside, all.n_points);
}

/* One kernel whose fabric the ranks share; rank 0 prints. */
static enum wsc_err run_on_all(struct app_call *call)
{
    struct app_mesh *o = call->request;
    struct mesh_share share;
    TRY(app_mesh_check_ranks(o, call->comm));
    app_mesh_share(&share, call->comm);
    o->c.share = &share;
    enum wsc_err rc = run_kernel(call);
    o->c.share = NULL;
    return rc;
}

enum wsc_err app_run_mesh(struct app_call *call)
{
    const struct app_mesh *o = call->request;
    if (call->comm && comm_size(call->comm) > 1)
        return app_reported_once(call->comm, run_on_all(call));
    if (!strcmp(o->what, "survey")) return run_points(o, true);
    if (!strcmp(o->what, "calibration")) return run_points(o, false);
    if (strcmp(o->what, "list") != 0) return run_kernel(call);
    print_list();
    return WSC_OK;
}
