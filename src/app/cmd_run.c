// SPDX-License-Identifier: Apache-2.0
/* `wsc run`: loads params and cluster, understands all phases of a list of trainers before the
 * first one runs, then hands each phase to job, or describes, dumps or explores it instead.  After
 * a training it takes one step apart when a profile is asked for (step_report.c). */
#include "cmd.h"
#include "option_parse.h"
#include "path_check.h"
#include "process.h"
#include "requests.h"
#include "step_report.h"
#include "user_files.h"

#include <wsc/job.h>
#include <wsc/log.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* The options of generation as the job takes them. */
static void take_prompts(struct app_run *o)
{
    const struct app_texts *given = o->prompt_ids.n ? &o->prompt_ids : &o->prompt;
    o->job.prompts_are_ids = o->prompt_ids.n > 0;
    o->job.prompt = given->item;
    o->job.n_prompts = given->n;
}

/* Fill in what follows from several options. */
static void complete(struct app_run *o)
{
    take_prompts(o);
    o->job.numerics = (enum kernels_numerics)o->numerics;
    o->job.values = o->job.numerics != KERNELS_NONE;
    o->job.print_placement = o->print_placement;
    o->job.command = app_command_line();
}

/* Options whose effect depends on the temperature, which the params may set too. */
static enum wsc_err check_temperature(const struct app_call *call, const struct job *job)
{
    static const char *const of_draws[] = {"top_k", "top_p"};
    for (int i = 0; i < 2 && !(job->temperature > 0); i++)
        if (app_given(call, of_draws[i]))
            return wsc_err_hint(
                WSC_RAISE(WSC_USAGE,
                          "%s: --%s: has no effect: model.temperature is 0, its default "
                          "beside other keys of generation",
                          job->params->file, of_draws[i]),
                "--temperature 0.8");
    if (!app_given(call, "num_beams") || !(job->temperature > 0)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--num_beams: has no effect without --temperature 0"),
                        "--temperature 0");
}

/* Options of generation that are not given are those of the params, if these have any of them. */
static void take_keys(const struct app_call *call, struct job *job)
{
    const struct zoo_generation *g = &job->params->model.generation;
    if (!app_given(call, "temperature")) job->temperature = g->temperature;
    if (!app_given(call, "top_k")) job->top_k = g->top_k;
    if (!app_given(call, "top_p")) job->top_p = g->top_p;
    if (!app_given(call, "max_new_tokens") && g->max_tokens != CONF_NULL)
        job->max_new_tokens = g->max_tokens;
    if (job->temperature <= 0 && (g->top_k > 0 || g->top_p < 1))
        WSC_WARNING("%s: without effect: model.top_k and model.top_p: without model.temperature or "
                    "--temperature the most likely token follows",
                    job->params->file);
}

static enum wsc_err take_generation(const struct app_call *call, struct job *job)
{
    if (job->params->runconfig.mode != ZOO_GENERATE) return WSC_OK;
    if (job->params->model.generation.given) take_keys(call, job);
    return app_reported_once(call->comm, check_temperature(call, job));
}

/* The key that an override of eval_input sets; NULL for one of another section. */
static const char *eval_key(const char *set)
{
    static const char *const section[] = {"eval_input.", "val_dataloader.", "val_dataloaders."};
    const size_t path = strcspn(set, "=");
    for (int i = 0; i < 3; i++) {
        const char *at = strstr(set, section[i]);
        if (at && (size_t)(at - set) < path) return at + strlen(section[i]);
    }
    return NULL;
}

/* Requests take the place of the samples of eval_input, of which a file may say more than they use.
 * job_scoring.c warns of num_samples. */
static void warn_of_requests(const struct app_run *o)
{
    static const char used[] = "data_processor batch_size micro_batch_size num_workers "
                               "max_sequence_length data_transforms use_vsl num_samples";
    const bool scores = o->job.requests && o->job.params->runconfig.mode == ZOO_EVAL;
    for (int i = 0; i < o->config.n_sets && scores; i++) {
        char word[64];
        const char *key = eval_key(o->config.set[i].text);
        if (!key) continue;
        (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(key, "=."), key);
        if (!app_share_word(used, word))
            WSC_WARNING("eval_input.%s: without effect: --requests scores every request", word);
    }
}

/* Launchers give every job an ID, those that leave nothing to resume from too. */
static void take_run_id(struct job *job)
{
    const bool trains = zoo_mode_trains(job->params->runconfig.mode);
    if (!job->run_id || (trains && job->values)) return;
    WSC_WARNING("--run_id: %s: a restart begins again",
                trains ? "--numerics none writes no checkpoints" : "the mode does not train");
    job->run_id = NULL;
}

/* ---- profile --------------------------------------------------------------------------------- */

/* The timeline that a run fills, on rank 0. */
struct run_profile {
    const struct app_run *o; /* borrowed */
    struct job_recording recording;
    struct timeline *timeline; /* owned; NULL until a step was recorded */
};

/* True when the params ask for a profile. */
static bool is_configured(const struct app_run *o)
{
    return o->job.params->runconfig.profile_start_step != CONF_NULL;
}

/* The run knows which steps it is to record when the first of them comes. */
static enum wsc_err take_record(void *ctx, const struct cluster_record *record)
{
    struct run_profile *p = ctx;
    const struct timeline_want want = {.first_step = p->recording.first_step,
                                       .n_steps = p->recording.n_steps,
                                       .trace = p->o->trace || is_configured(p->o),
                                       .schedule = p->o->goal != NULL};
    if (!p->timeline)
        TRY(timeline_create(&p->timeline, p->o->job.params, p->o->job.cluster, &want));
    return timeline_add(p->timeline, record);
}

/* Which steps a profile shows: those of op_profiler_config, else the third one. */
static void choose_steps(struct run_profile *p)
{
    enum { MOST_STEPS = 16 };
    const struct zoo_runconfig *rc = &p->o->job.params->runconfig;
    p->recording =
        (struct job_recording){.first_step = -1, .n_steps = 1, .take = take_record, .ctx = p};
    if (!is_configured(p->o)) return;
    p->recording.first_step = rc->profile_start_step - 1;
    if (rc->profile_end_step == CONF_NULL) return;
    const int64_t n = rc->profile_end_step - rc->profile_start_step + 1;
    p->recording.n_steps = n < MOST_STEPS ? n : MOST_STEPS;
    if (n > MOST_STEPS)
        WSC_WARNING("op_profiler_config: %lld steps, the first %d are traced", (long long)n,
                    MOST_STEPS);
}

/* Tables and files of the steps that were recorded. */
static enum wsc_err finish_profile(const struct run_profile *p)
{
    const struct zoo_params *params = p->o->job.params;
    struct app_breakdown a = {
        .report = {.model = params->file, .num_csx = params->runconfig.num_csx}};
    const char *trace = p->o->trace;
    if (!p->timeline || !timeline_n_shown(p->timeline)) {
        WSC_WARNING("no profile: this run has no step %lld",
                    (long long)p->recording.first_step + 1);
        return WSC_OK;
    }
    char *path = out_file_path(params->runconfig.model_dir, "chrome_trace.json");
    if (!path) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "name the trace");
    if (!trace && is_configured(p->o)) trace = path;
    enum wsc_err rc = app_breakdown_make(&a, p->timeline, trace, p->o->goal);
    if (!rc && !p->o->job.json) rc = report_step_print(&a.report);
    if (!rc) rc = report_step_write(params->runconfig.model_dir, &a.report);
    app_breakdown_fini(&a);
    wsc_free(path);
    return rc;
}

/* The run, recorded where a profile is asked for. */
static enum wsc_err run(struct comm *comm, struct app_run *o)
{
    struct run_profile p = {.o = o};
    bool report;
    const bool profiles = is_configured(o) || o->trace || o->goal;
    if (profiles) choose_steps(&p);
    o->job.recording = profiles ? &p.recording : NULL;
    enum wsc_err rc = job_run(comm, &o->job, &report);
    if (!report) app_set_reported();
    if (!rc && profiles && comm_rank(comm) == 0) rc = finish_profile(&p);
    o->job.recording = NULL;
    timeline_destroy(&p.timeline);
    return rc;
}

/* ---- what runs ------------------------------------------------------------------------------- */

/* True when nothing runs. */
static bool describes(const struct app_run *o, const struct zoo_params *p)
{
    return o->dump_params || o->validate_only || o->compile_only || p->runconfig.validate_only ||
           p->runconfig.compile_only || zoo_explores(p);
}

/* Print the effective params as YAML. */
static enum wsc_err dump_params(const struct zoo_params *p)
{
    char *yaml = NULL;
    TRY(zoo_params_dump(p, &yaml));
    (void)fputs(yaml, stdout);
    wsc_free(yaml);
    return WSC_OK;
}

/* The steady state of what the mode does: batches of an evaluation, or training steps.  *@p known:
 * the params have the input that it takes. */
static enum wsc_err speed_of(const struct app_run *o, struct scaling_row *speed, bool *known)
{
    struct zoo_params p = *o->job.params; /* shallow: sweeps look at the input of a training */
    const struct scaling_model model = {.name = p.file, .params = &p};
    const bool evaluates = p.runconfig.mode == ZOO_EVAL;
    if (evaluates) p.train_input = p.eval_input;
    *known = p.train_input.present;
    if (!*known) return WSC_OK;
    const struct hw_machine *cluster = o->job.cluster;
    if (scaling_refuse_passing_faults(cluster)) {
        WSC_WARNING("the rate is left out: %s", wsc_err_message());
        *known = false;
        return WSC_OK;
    }
    const int64_t n = p.runconfig.num_csx, batch = p.train_input.batch_size;
    return evaluates ? scaling_evaluation(&model, cluster, n, batch, speed)
                     : scaling_point(&model, cluster, n, batch, speed);
}

/* `--validate_only` refuses what the run would refuse; where micro-batches are tried, nothing runs.
 * `--compile_only`, whose plan needs neither samples nor values, also prints how fast the emulated
 * machine does it. */
static enum wsc_err describe(struct app_run *o)
{
    const struct zoo_params *p = o->job.params;
    const bool with_plan = o->compile_only || p->runconfig.compile_only;
    struct job_description description;
    struct scaling_row speed;
    bool timed = false;
    if (!with_plan && !zoo_explores(p)) TRY(job_check(&o->job));
    if (with_plan) TRY(speed_of(o, &speed, &timed));
    enum wsc_err rc = job_describe(&description, &o->job, with_plan);
    if (!rc) rc = report_job_print(&description, timed ? &speed : NULL, o->job.json);
    job_description_fini(&description);
    return rc;
}

/* micro_batch_size: explore. */
static enum wsc_err explore(struct app_run *o)
{
    const struct zoo_params *p = o->job.params;
    const struct scaling_model model = {.name = p->file, .params = p};
    struct scaling_row *rows = NULL;
    int n, best;
    TRY(scaling_explore(&model, o->job.cluster, &rows, &n, &best));
    enum wsc_err rc = o->job.json ? report_explored_print_json(rows, n, best)
                                  : report_explored_print(rows, n, best);
    wsc_free(rows);
    return rc;
}

/* One phase: describe it, dump it, explore it, or run it. */
static enum wsc_err execute(struct comm *comm, struct app_run *o)
{
    const struct zoo_params *p = o->job.params;
    if (o->dump_params) return comm_rank(comm) ? WSC_OK : dump_params(p);
    if (o->job.print_placement)
        return comm_rank(comm) ? WSC_OK : job_print_placement(&o->job, comm);
    const bool tries = zoo_explores(p) && !o->validate_only && !p->runconfig.validate_only;
    if (tries) return comm_rank(comm) ? WSC_OK : explore(o);
    if (describes(o, p)) return comm_rank(comm) ? WSC_OK : describe(o);
    return run(comm, o);
}

/* A phase that starts from the checkpoint of the phase @p before trains its model. */
static enum wsc_err check_same_model(const struct zoo_params *before, const struct zoo_params *p)
{
    char *lines = NULL;
    const bool all = !p->runconfig.load_checkpoint_states;
    if (!zoo_mode_trains(before->runconfig.mode)) return WSC_OK;
    TRY(zoo_past_lines(before, &lines));
    wsc_log_quiet(true); /* the phase warns when it loads the file */
    const enum wsc_err rc = zoo_past_compare(p, lines, all ? ZOO_PAST_RESUME : ZOO_PAST_WEIGHTS);
    wsc_free(lines);
    return rc;
}

/* A phase takes the weights of the newest checkpoint that @p before, the training before it, leaves
 * in the same model_dir, or those of a checkpoint that its own params name. */
static enum wsc_err check_continues(const struct app_run *o, const struct zoo_params *before,
                                    const struct zoo_params *p)
{
    const bool named = p->runconfig.checkpoint_path != NULL;
    const bool same = !strcmp(before->runconfig.model_dir, p->runconfig.model_dir) &&
                      !strcmp(before->runconfig.checkpoint_name, p->runconfig.checkpoint_name) &&
                      p->runconfig.autoload_last_checkpoint &&
                      before->runconfig.checkpoint_steps > 0;
    const bool trains =
        zoo_mode_trains(before->runconfig.mode) || zoo_mode_trains(p->runconfig.mode);
    if (!o->job.values || !trains || named) return WSC_OK;
    if (same) return check_same_model(before, p);
    return wsc_err_hint(
        WSC_RAISE(WSC_CONFIG, "%s: phase %d would %s new weights", p->file, p->phase,
                  zoo_mode_trains(p->runconfig.mode) ? "start from" : "evaluate"),
        "the phases need one model_dir, checkpoints (checkpoint.steps) of one "
        "checkpoint_name and autoload_last_checkpoint, or a ckpt_path; --phase %d runs it alone",
        p->phase);
}

/* The params file as every rank has it. */
struct params_text {
    char *bytes; /* owned */
    size_t n;
};

/* True for an override of the checkpoint that a run starts from. */
static bool names_checkpoint(const char *set)
{
    static const char *const key[] = {"runconfig.checkpoint_path=", "trainer.fit.ckpt_path="};
    for (int i = 0; i < 2; i++)
        if (!strncmp(set, key[i], strlen(key[i]))) return true;
    return false;
}

/* Parse phase @p k, 0 where there is no choice.  The checkpoint of the command line is where the
 * first phase that runs starts; the next ones start from the phase before, or from their own. */
static enum wsc_err parse_phase(struct comm *comm, const struct app_run *o,
                                const struct params_text *text, int k, struct zoo_params *params)
{
    struct app_config with = o->config;
    if (k > 1 && !o->phase) {
        with.n_sets = 0;
        for (int i = 0; i < o->config.n_sets; i++)
            if (!names_checkpoint(o->config.set[i].text)) with.set[with.n_sets++] = with.set[i];
    }
    return app_parse_params(comm, &with, text->bytes, text->n, k, params);
}

/* The modes of all phases, as a list of words; the last one is --requests where it is given. */
struct modes {
    char text[256];
};

/* Append a word unless the list has it. */
static void add_word(struct modes *modes, const char *word)
{
    const size_t used = strlen(modes->text);
    if (app_share_word(modes->text, word)) return;
    (void)snprintf(modes->text + used, sizeof modes->text - used, "%s%s", used ? " " : "", word);
}

static void add_mode(struct modes *modes, const struct zoo_params *p)
{
    static const char *const name[] = {[ZOO_TRAIN] = "train",
                                       [ZOO_EVAL] = "eval",
                                       [ZOO_TRAIN_AND_EVAL] = "train_and_eval",
                                       [ZOO_GENERATE] = "generate"};
    add_word(modes, name[p->runconfig.mode]);
}

/* A chosen phase must be one of the file's. */
static enum wsc_err check_phase_option(const struct app_run *o, const struct zoo_params *p)
{
    if (!o->phase || p->n_phases > 1) return WSC_OK;
    return WSC_RAISE(WSC_USAGE, "--phase: %s has one phase only", p->file);
}

/* Make room in @p p[1] for phase @p k. Later phases are compared with @p p[0]: the newest one that
 * trains, or without any the newest one. */
static void keep_newest_training(struct zoo_params p[2], int k)
{
    const bool stays =
        k > 2 && zoo_mode_trains(p[0].runconfig.mode) && !zoo_mode_trains(p[1].runconfig.mode);
    zoo_params_fini(&p[stays ? 1 : 0]);
    if (!stays) p[0] = p[1];
    p[1] = (struct zoo_params){0};
}

/* Parses every phase before the first one runs.  *@p n: the number of phases. */
static enum wsc_err parse_phases(struct comm *comm, const struct app_run *o,
                                 const struct params_text *text, struct modes *modes, int *n)
{
    struct zoo_params p[2] = {0};
    const bool runs = !o->validate_only && !o->compile_only && !o->dump_params;
    enum wsc_err rc = parse_phase(comm, o, text, (int)o->phase, &p[1]);
    if (!rc) add_mode(modes, &p[1]);
    if (!rc) rc = app_reported_once(comm, check_phase_option(o, &p[1]));
    *n = rc || o->phase ? 1 : p[1].n_phases;
    for (int k = 2; k <= *n && !rc; k++) {
        keep_newest_training(p, k);
        rc = parse_phase(comm, o, text, k, &p[1]);
        if (rc) break;
        add_mode(modes, &p[1]);
        if (runs) rc = app_reported_once(comm, check_continues(o, &p[0], &p[1]));
        wsc_log_quiet(comm_rank(comm) != 0);
    }
    zoo_params_fini(&p[0]);
    zoo_params_fini(&p[1]);
    return rc;
}

/* The params of several phases are not one file of the runconfig style. */
static enum wsc_err refuse_dump(const struct app_run *o, int n)
{
    return wsc_err_hint(
        WSC_RAISE(WSC_USAGE, "--dump_params: %s has %d phases", o->config.params_path, n),
        "--phase 1 prints the first one");
}

/* Has this phase been trained, and a later one begun, by an earlier start?  Without --run_id a
 * phase that --phase names runs.  Rank 0 looks, all ranks learn it. */
static enum wsc_err find_past(struct comm *comm, const struct app_run *o, bool *past)
{
    const struct zoo_params *p = o->job.params;
    int64_t phase = 0;
    *past = false;
    if (describes(o, p) || o->job.print_placement || p->phase == p->n_phases) return WSC_OK;
    if (o->phase && !o->job.run_id) return WSC_OK;
    TRY(app_agree(comm, comm_rank(comm) ? WSC_OK : job_find_phase(&o->job, &phase)));
    *past = comm_max(comm, phase) > p->phase;
    if (*past)
        WSC_INFO("Phase %d of %d was trained by an earlier start%s%s.", p->phase, p->n_phases,
                 o->job.run_id ? " of run " : "", o->job.run_id ? o->job.run_id : "");
    return WSC_OK;
}

/* What the phases so far write: folders with checkpoints, and the gradients of the first step. */
struct written {
    char **dir; /* owned, each owned */
    int n;
    bool gradients;
};

static void written_fini(struct written *w)
{
    for (int i = 0; i < w->n; i++)
        wsc_free(w->dir[i]);
    wsc_free(w->dir);
}

/* What is done with a phase, whose params and cluster are loaded. */
typedef enum wsc_err (*phase_fn)(struct app_call *call, struct app_run *o, struct written *w);

/* What a profile and the gradients are written to is refused before the first step, not after the
 * last one; a file may lie in model_dir, which the run makes. */
static enum wsc_err can_write(const struct app_run *o)
{
    const char *const path[] = {o->trace, o->goal, o->job.dump_gradients};
    bool made = false;
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        if (!path[i]) continue;
        if (!made) TRY(app_make_folder(o->job.params->runconfig.model_dir));
        made = true;
        TRY(out_can_write(path[i]));
    }
    return WSC_OK;
}

/* The files of the command line, and those of the params. */
static enum wsc_err check_files(const struct app_call *call)
{
    const struct app_run *o = call->request;
    const struct zoo_runconfig *rc = &o->job.params->runconfig;
    const struct app_path named[] = {
        {"runconfig.model_dir", rc->model_dir, "model_dir"},
        {"runconfig.checkpoint_path", rc->checkpoint_path, "checkpoint_path"}};
    enum wsc_err err = WSC_OK;
    if (comm_rank(call->comm) == 0)
        err = app_check_paths(call, named, (int)(sizeof named / sizeof *named));
    if (!err && comm_rank(call->comm) == 0) err = can_write(o);
    return app_agree(call->comm, err);
}

/* Would this phase begin, after those before it? */
static enum wsc_err check_loaded(struct app_call *call, struct app_run *o, struct written *w)
{
    struct comm *comm = call->comm;
    const struct zoo_params *p = o->job.params;
    bool past, report = true;
    if (describes(o, p) || o->job.print_placement) return WSC_OK;
    TRY(find_past(comm, o, &past));
    if (past) return WSC_OK;
    TRY(take_generation(call, &o->job));
    TRY(app_reported_once(comm, app_check_ranks(comm, p, o->job.cluster)));
    TRY(check_files(call));
    const struct job_folders earlier = {(const char *const *)w->dir, w->n};
    const enum wsc_err rc = job_check_ahead(comm, &o->job, &earlier, &report);
    if (rc && !report) app_set_reported();
    if (rc || !zoo_mode_trains(p->runconfig.mode)) return rc;
    TRY_MEM(w->dir[w->n], wsc_strdup(WSC_MEM_APP, p->runconfig.model_dir));
    w->n++;
    return WSC_OK;
}

static enum wsc_err run_loaded(struct app_call *call, struct app_run *o, struct written *w)
{
    struct comm *comm = call->comm;
    const struct zoo_params *p = o->job.params;
    const bool runs = !describes(o, p), one_of_many = p->n_phases > 1;
    bool past;
    TRY(find_past(comm, o, &past));
    if (past) return WSC_OK;
    if (runs) zoo_params_log(p);
    if (runs) warn_of_requests(o);
    TRY(take_generation(call, &o->job));
    take_run_id(&o->job);
    if (one_of_many && runs) WSC_INFO("Phase %d of %d", p->phase, p->n_phases);
    if (!o->dump_params) TRY(app_reported_once(comm, cluster_check_systems(p, o->job.cluster)));
    TRY(app_reported_once(comm, app_check_ranks(comm, p, o->job.cluster)));
    if (runs && !o->print_placement) TRY(check_files(call));
    TRY(execute(comm, o));
    w->gradients |= zoo_mode_trains(p->runconfig.mode);
    const bool others_follow = runs && !o->phase && p->phase < p->n_phases;
    if (!others_follow || o->job.print_placement) return WSC_OK;
    return app_reported_once(comm, job_stop_after_phase(comm, &o->job));
}

/* Load phase @p k, 0 where there is no choice, for @p what. */
static enum wsc_err with_phase(struct app_call *call, const struct params_text *text, int k,
                               phase_fn what, struct written *w)
{
    struct app_run *o = call->request;
    struct comm *comm = call->comm;
    const struct job as_given = o->job;
    struct zoo_params params = {0};
    struct hw_machine cluster = {0};
    enum wsc_err rc = parse_phase(comm, o, text, k, &params);
    if (!rc) rc = app_load_cluster(comm, &o->config, &cluster, NULL);
    const struct cluster_use use = {.params = &params,
                                    .machine = &cluster,
                                    .num_csx = params.runconfig.num_csx,
                                    .on_mesh = o->job.numerics == KERNELS_MESH,
                                    .explores = true};
    if (!rc) rc = cluster_warn_idle(&use, &params);
    if (w->gradients) o->job.dump_gradients = NULL;
    o->job.params = &params;
    o->job.cluster = &cluster;
    if (!rc) rc = what(call, o, w);
    o->job = as_given;
    zoo_params_fini(&params);
    hw_machine_fini(&cluster);
    return rc;
}

/* Run all phases.  Several are checked before the first one runs, which may take days; their
 * warnings come when they run. */
static enum wsc_err run_phases(struct app_call *call, const struct params_text *text, int n)
{
    const struct app_run *o = call->request;
    struct written w = {0};
    enum wsc_err rc = WSC_OK;
    TRY_NEW(w.dir, WSC_MEM_APP, n);
    wsc_log_quiet(true);
    for (int k = 1; k <= n && n > 1 && !rc; k++)
        rc = with_phase(call, text, k, check_loaded, &w);
    wsc_log_quiet(comm_rank(call->comm) != 0);
    for (int k = 1; k <= n && !rc; k++)
        rc = with_phase(call, text, n > 1 ? k : (int)o->phase, run_loaded, &w);
    written_fini(&w);
    return rc;
}

/* Load the files, parse all phases, run them one after the other. */
static enum wsc_err load_and_run(struct app_call *call, struct app_run *o)
{
    struct comm *comm = call->comm;
    struct params_text text = {0};
    struct modes modes = {0};
    int n = 1;
    enum wsc_err rc = app_read_params(comm, &o->config, &text.bytes, &text.n);
    if (!rc) rc = parse_phases(comm, o, &text, &modes, &n);
    if (!rc && o->dump_params && n > 1) rc = app_reported_once(comm, refuse_dump(o, n));
    if (o->job.requests && app_share_word(modes.text, "eval")) add_word(&modes, "--requests");
    if (!rc) rc = app_reported_once(comm, app_check_mode(call, modes.text));
    if (!rc) rc = run_phases(call, &text, n);
    wsc_free(text.bytes);
    return rc;
}

enum wsc_err app_run_job(struct app_call *call)
{
    struct app_run *o = call->request;
    complete(o);
    if (o->job.json) wsc_log_to_stderr();
    wsc_log_quiet(comm_rank(call->comm) != 0);
    if (comm_rank(call->comm) == 0) out_progress_start("set up", 0);
    enum wsc_err rc = load_and_run(call, o);
    out_progress_end();
    return rc;
}
