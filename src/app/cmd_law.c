// SPDX-License-Identifier: Apache-2.0
/* `wsc law`: trains the sizes of a ladder one after the other on all ranks, reads further points,
 * has `law` fit and predict, and `report` print, write and draw on rank 0. */
#include "cmd.h"
#include "model_files.h"
#include "process.h"
#include "requests.h"
#include "user_files.h"

#include <wsc/law.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/report.h>

#include <stdio.h>
#include <string.h>

/* The request, its machine, and what was found. */
struct law_study {
    struct app_law *o;
    struct comm *comm; /* borrowed */
    struct hw_machine cluster;
    enum zoo_objective trained; /* by the ladder's models; without a ladder not used */
    bool sparse;                /* the weights of the ladder's models; a file of points: false */
    struct law_point *point;    /* owned: those of the file, then those of the ladder */
    enum law_convention convention; /* of the file's points, on rank 0 */
    int n_points;
    struct law_fit fit;
    struct app_model_files files; /* of --predict */
    struct law_prediction prediction[APP_MODEL_FILES];
    int n_predictions;
};

/* Points of --points on rank 0, with room for the ladder's. */
static enum wsc_err read_points(struct law_study *s)
{
    struct law_point *read = NULL;
    int n = 0;
    const bool reads = s->o->points && comm_rank(s->comm) == 0;
    TRY(app_agree(s->comm, reads ? law_points_read(s->o->points, &read, &n) : WSC_OK));
    s->point = wsc_alloc(WSC_MEM_APP, (size_t)(n + s->o->n_sizes) + 1, sizeof *s->point);
    if (s->point && n) memcpy(s->point, read, (size_t)n * sizeof *read);
    if (n) s->convention = read->convention;
    wsc_free(read);
    s->n_points = n;
    return s->point ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "points of a law");
}

/* The ladder on all ranks; its points on rank 0. */
static enum wsc_err train(struct law_study *s, const struct law_ladder *ladder)
{
    TRY(app_reported_once(s->comm, law_check_sizes(ladder)));
    for (int k = 0; k < ladder->n_sizes; k++) {
        struct law_point *p = &s->point[s->n_points];
        bool report;
        WSC_INFO("Size %d of %d: %lld features, %lld layers", k + 1, ladder->n_sizes,
                 (long long)ladder->size[k].hidden, (long long)ladder->size[k].layers);
        enum wsc_err rc = law_train(s->comm, ladder, k, p, &report);
        if (rc && !report) app_set_reported();
        TRY(rc);
        s->n_points++;
    }
    return WSC_OK;
}

static enum wsc_err run_ladder(struct law_study *s)
{
    const struct app_law *o = s->o;
    char *bytes = NULL;
    size_t n = 0;
    struct zoo_params params = {0};
    if (!o->n_sizes) return WSC_OK;
    enum wsc_err rc = app_load_params(s->comm, &o->config, &params);
    params.runconfig.num_csx = o->num_csx;
    s->trained = params.model.objective;
    s->sparse = params.sparsity.n > 0;
    if (!rc) rc = app_reported_once(s->comm, app_check_ranks(s->comm, &params, &s->cluster));
    zoo_params_fini(&params);
    if (!rc) rc = app_read_params(s->comm, &o->config, &bytes, &n);
    const struct law_ladder ladder = {.params_path = o->config.params_path,
                                      .bytes = bytes,
                                      .n_bytes = n,
                                      .set = o->config.set,
                                      .n_sets = o->config.n_sets,
                                      .cluster = &s->cluster,
                                      .size = o->size,
                                      .n_sizes = o->n_sizes,
                                      .tokens_per_param = o->tokens_per_param,
                                      .convention = s->convention,
                                      .num_csx = o->num_csx,
                                      .out = o->out,
                                      .command = app_command_line()};
    if (!rc) rc = train(s, &ladder);
    wsc_free(bytes);
    return rc;
}

/* A law holds for one objective; a file of points does not say which, usually the next token. */
static void warn_of_another_objective(const struct law_study *s, const char *path,
                                      const struct zoo_params *params)
{
    const bool ladder = s->o->n_sizes > 0;
    if (params->model.objective == (ladder ? s->trained : ZOO_CAUSAL_LM)) return;
    WSC_WARNING("--predict %s: its model does not learn %s; its loss is predicted only as far as "
                "the law is of such models",
                path, ladder ? "what those of --sizes learn" : "the next token of a text");
}

/* Sparse weights learn less with as many FLOPs of the dense model as the law counts. */
static void warn_of_sparsity(const struct law_study *s, const char *path,
                             const struct zoo_params *params)
{
    const bool sparse = params->sparsity.n > 0;
    if (sparse == s->sparse) return;
    WSC_WARNING("--predict %s: its weights are %s and those of the law are not; its loss is "
                "predicted as if they were",
                path, sparse ? "sparse" : "dense");
}

/* File @p i of --predict, on rank 0 alone.  Its global batch is shared by the systems of
 * the command line: what is checked of batches is checked for them. */
static enum wsc_err predict(struct law_study *s, int i)
{
    const struct app_law *o = s->o;
    const char *path = s->files.path[i], *name = s->files.name[i];
    char systems[48];
    struct app_config config = {
        .params_path = path, .set = {{.text = systems, .option = "num_csx"}}, .n_sets = 1};
    struct zoo_params params;
    (void)snprintf(systems, sizeof systems, "runconfig.num_csx=%lld", (long long)o->num_csx);
    enum wsc_err rc = app_load_params(NULL, &config, &params);
    if (!rc) rc = scaling_refuse_other_modes(&params);
    const struct cluster_use use = {.kind = CLUSTER_USE_TRAININGS,
                                    .params = &params,
                                    .machine = &s->cluster,
                                    .num_csx = o->num_csx};
    if (!rc) rc = scaling_refuse_passing_faults(&s->cluster);
    if (!rc) rc = app_warn_of_idle(name, &use, &params);
    if (!rc) app_warn_of_whole_evaluations(name, &params);
    if (!rc) warn_of_another_objective(s, path, &params);
    if (!rc) warn_of_sparsity(s, path, &params);
    const struct scaling_model model = {.name = name, .params = &params};
    struct law_prediction *p = &s->prediction[i];
    if (!rc) rc = law_predict(&s->fit, &model, &s->cluster, o->num_csx, o->tokens_per_param, p);
    if (!rc) s->n_predictions++;
    zoo_params_fini(&params);
    return rc;
}

static enum wsc_err predict_all(struct law_study *s)
{
    if (!s->o->predict) return WSC_OK;
    if (s->fit.support != LAW_SUPPORTED) {
        WSC_WARNING("--predict: nothing is predicted, the points support no law");
        return WSC_OK;
    }
    for (int i = 0; i < s->files.n; i++)
        TRY(predict(s, i));
    return WSC_OK;
}

/* What rank 0 does once all points are known. */
static enum wsc_err finish(struct law_study *s)
{
    out_progress_at("predict", 0, 0, NULL);
    TRY(law_fit(s->point, s->n_points, &s->fit));
    TRY(predict_all(s));
    if (s->o->target > 0 && s->fit.support != LAW_SUPPORTED)
        WSC_WARNING("--target: has no FLOPs, the points support no law");
    if (s->fit.support == LAW_TOO_FEW) app_warn_of_unwritten(s->o->out, REPORT_LAW_PICTURES, "law");
    const struct report_law r = {.point = s->point,
                                 .n_points = s->n_points,
                                 .fit = &s->fit,
                                 .left_out = law_leave_out_last(s->point, s->n_points),
                                 .prediction = s->prediction,
                                 .n_predictions = s->n_predictions,
                                 .target = s->o->target};
    out_progress_hide();
    TRY(report_law_print(&r));
    TRY(report_law_write(s->o->out, &r));
    (void)printf("\nWrote %s/%s%s\n", s->o->out, REPORT_LAW_TABLES,
                 s->fit.support == LAW_TOO_FEW ? "" : ", " REPORT_LAW_PICTURES);
    return WSC_OK;
}

/* A warning for each --set of the machine, which trains and predicts nothing. */
static void warn_of_cluster_sets(const struct app_config *c)
{
    for (int i = 0; i < c->n_sets; i++) {
        const char *text = c->set[i].text;
        if (!conf_set_cluster_path(text)) continue;
        WSC_WARNING("--set %.*s: has no effect without --sizes or --predict",
                    (int)strcspn(text, "="), text);
    }
}

/* A warning for each --set of a key that a ladder gives to all of its trainings. */
static void warn_of_ladder_sets(const struct app_config *c)
{
    static const struct {
        const char *key, *instead;
    } own[] = {{"runconfig.num_csx=", "--num_csx gives the systems"},
               {"runconfig.model_dir=", "--out gives the folder"},
               {"model.num_hidden_layers=", "--sizes gives the layers"},
               {"runconfig.mode=", "each size trains and is evaluated"},
               {"runconfig.eval_frequency=", "each size is evaluated after its last step"}};
    for (int i = 0; i < c->n_sets; i++)
        for (size_t k = 0; k < sizeof own / sizeof *own; k++) {
            const size_t n = strlen(own[k].key);
            if (strncmp(c->set[i].text, own[k].key, n) != 0) continue;
            WSC_WARNING("--set %.*s: has no effect on a ladder; hint: %s", (int)n - 1, own[k].key,
                        own[k].instead);
        }
}

/* What asks for trainings or predictions has no effect where there are none. */
static enum wsc_err check_use(const struct app_law *o)
{
    if (o->n_sizes) {
        warn_of_ladder_sets(&o->config);
        return WSC_OK;
    }
    if (!o->predict && o->tokens_per_param > 0)
        WSC_WARNING("--tokens: has no effect without --sizes or --predict");
    if (!o->predict && o->num_csx > 1)
        WSC_WARNING("--num_csx: has no effect without --sizes or --predict");
    if (!o->predict && o->config.cluster_path)
        WSC_WARNING("--cluster: has no effect without --sizes or --predict");
    if (!o->predict) warn_of_cluster_sets(&o->config);
    return app_refuse_params_sets(&o->config);
}

static enum wsc_err study(struct law_study *s)
{
    const double usual_tokens_per_param = 20; /* Hoffmann et al. 2022, as Cerebras-GPT */
    TRY(app_reported_once(s->comm, check_use(s->o)));
    if (s->o->predict)
        TRY(app_reported_once(s->comm,
                              app_model_files_take(&s->files, "--predict", s->o->predict)));
    if (!(s->o->tokens_per_param > 0)) s->o->tokens_per_param = usual_tokens_per_param;
    TRY(app_load_cluster(s->comm, &s->o->config, &s->cluster, NULL));
    TRY(read_points(s));
    TRY(run_ladder(s));
    return app_agree(s->comm, comm_rank(s->comm) ? WSC_OK : finish(s));
}

enum wsc_err app_run_law(struct app_call *call)
{
    struct app_law *o = call->request;
    struct law_study *s;
    TRY_NEW(s, WSC_MEM_APP, 1);
    s->o = o;
    s->comm = call->comm;
    wsc_log_quiet(comm_rank(call->comm) != 0);
    if (comm_rank(call->comm) == 0) out_progress_start("set up", 0);
    const enum wsc_err rc = study(s);
    out_progress_end();
    hw_machine_fini(&s->cluster);
    app_model_files_fini(&s->files);
    wsc_free(s->point);
    wsc_free(s);
    return rc;
}
