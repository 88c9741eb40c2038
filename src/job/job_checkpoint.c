// SPDX-License-Identifier: Apache-2.0
/* Checkpoints of a job: which one to load, what to take from it, and how one is written.
 *
 * The ranks with MemoryX shards write one HDF5 file together (store): weights and optimizer state
 * by memoryx, the counters of the stream of samples and of the run here.  At the start rank 0
 * chooses the newest file of model_dir that passes its own checks, all ranks load their slices, and
 * runconfig.load_checkpoint_states says what is taken.  To which training a file belongs:
 * job_history.c. */
#include "job_checkpoint.h"
#include "job_history.h"
#include "job_samples.h"

#include <wsc/check.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/model_stored.h>
#include <wsc/units.h>

#include <stdio.h>
#include <string.h>

static struct memoryx *any_shard(const struct job_state *s)
{
    for (int m = 0; m < s->cluster->net->topology->n_shards; m++)
        if (s->cluster->memoryx[m]) return s->cluster->memoryx[m];
    return NULL;
}

/* Every rank arrives, whether its part failed or not, and all go the same way. */
static enum wsc_err agree(struct job_state *s, enum wsc_err rc)
{
    enum wsc_err all = comm_agree(s->comm, rc, &s->failure.reports);
    s->failure.everywhere = all != WSC_OK;
    if (all && !s->failure.reports) return WSC_RAISE(all, "another rank failed");
    return all;
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* Text attributes: in which phase of a list of trainers the file was written, and by which run, see
 * struct job's run_id. */
#define RUN_ID    "wsc.run_id"
#define RUN_PHASE "wsc.run_phase"

/* Where the run is: position in the stream of samples, and steps. */
enum count {
    COUNT_STEP,
    COUNT_SAMPLES,
    COUNT_SEED,
    COUNT_EPOCH,
    COUNT_DATA,
    COUNT_LAST_STEP,
    COUNT_REACHED_STEP,
    COUNT_ORIGIN_STEP,
    COUNT_ORIGIN_SAMPLES,
    COUNT_PARAMS,
    COUNT_EVAL_DUE,
    COUNT_LINES,
    N_COUNTS
};
struct counts {
    int64_t value[N_COUNTS];
    struct store_counter row[N_COUNTS]; /* each points to its value */
};

/* The present values, and their names in a file.  A step lies in [0, the largest step that a file
 * name has digits for]. */
static void list_counts(const struct job_state *s, struct counts *c)
{
    int64_t *v = c->value;
    const struct counts now = {
        .value = {[COUNT_STEP] = s->at.step,
                  [COUNT_SAMPLES] = s->at.samples,
                  [COUNT_SEED] = s->job->params->train_input.shuffle_seed,
                  [COUNT_EPOCH] = s->checkpoint.samples.n,
                  [COUNT_DATA] = s->checkpoint.samples.hash,
                  [COUNT_LAST_STEP] = s->run.last_step,
                  [COUNT_REACHED_STEP] = hw_faults_reached(s->cluster->faults),
                  [COUNT_ORIGIN_STEP] = s->run.origin_step,
                  [COUNT_ORIGIN_SAMPLES] = s->run.origin_samples,
                  [COUNT_PARAMS] = s->checkpoint.params_hash,
                  [COUNT_EVAL_DUE] = s->at.eval_due,
                  [COUNT_LINES] = s->checkpoint.n_lines},
        .row = {{"global_step", v + COUNT_STEP, NULL, 0, STORE_LAST_STEP},
                {"dataloader.samples_streamed", v + COUNT_SAMPLES, NULL, 0, INT64_MAX},
                {"dataloader.seed", v + COUNT_SEED, NULL, INT64_MIN, INT64_MAX},
                {"wsc.samples_per_epoch", v + COUNT_EPOCH, NULL, 0, INT64_MAX},
                {"wsc.samples_hash", v + COUNT_DATA, NULL, 0, INT64_MAX},
                {"wsc.last_step", v + COUNT_LAST_STEP, NULL, 0, STORE_LAST_STEP},
                {"wsc.reached_step", v + COUNT_REACHED_STEP, NULL, -1, STORE_LAST_STEP},
                {"wsc.origin_step", v + COUNT_ORIGIN_STEP, NULL, 0, STORE_LAST_STEP},
                {"wsc.origin_samples", v + COUNT_ORIGIN_SAMPLES, NULL, -1, INT64_MAX},
                {"wsc.params_hash", v + COUNT_PARAMS, NULL, 0, INT64_MAX},
                {"wsc.eval_due", v + COUNT_EVAL_DUE, NULL, 0, 1},
                {"wsc.metrics_lines", v + COUNT_LINES, NULL, -1, INT64_MAX}}};
    *c = now;
}

static enum wsc_err write_shards(const struct job_state *s, struct store_file *file,
                                 const struct counts *c)
{
    for (int m = 0; m < s->cluster->net->topology->n_shards; m++)
        if (s->cluster->memoryx[m]) TRY(memoryx_save(s->cluster->memoryx[m], file));
    return s->checkpoint.group.rank == 0 ? store_write_counters(file, c->row, N_COUNTS) : WSC_OK;
}

/* A restart finds out from it where it has to resume. */
static enum wsc_err write_run(const struct job *job, struct store_file *file)
{
    char phase[16];
    (void)snprintf(phase, sizeof phase, "%d", job->params->phase);
    TRY(store_set_text(file, RUN_PHASE, phase));
    return job->run_id ? store_set_text(file, RUN_ID, job->run_id) : WSC_OK;
}

static enum wsc_err write_checkpoint(struct job_state *s, const char *path)
{
    struct store_file *file = NULL;
    struct counts c = {.value = {0}};
    list_counts(s, &c);
    TRY(store_create(&file, path, &s->checkpoint.group));
    enum wsc_err rc = memoryx_define(any_shard(s), file);
    if (!rc) rc = store_define_counters(file, c.row, N_COUNTS);
    if (!rc) rc = store_describe(file);
    if (!rc) rc = job_history_write(s, file);
    if (!rc) rc = write_run(s->job, file);
    if (rc) {
        store_close(&file);
        return rc;
    }
    rc = write_shards(s, file, &c);
    enum wsc_err committed = store_commit(&file);
    return rc ? rc : committed;
}

enum wsc_err job_check_weights(struct job_state *s)
{
    const struct model *model = s->cluster->model;
    int64_t first = model->n_tensors;
    for (int m = 0; m < s->cluster->net->topology->n_shards; m++) {
        const struct memoryx *shard = s->cluster->memoryx[m];
        const int here = shard ? memoryx_first_nonfinite(shard) : model->n_tensors;
        if (here < first) first = here;
    }
    first = -comm_max(s->comm, -first);
    if (first == model->n_tensors) return WSC_OK;
    return agree(s, wsc_err_hint(WSC_RAISE(WSC_NUMERIC, "step %lld: %s is not finite",
                                           (long long)s->at.step, model->tensor[first].name),
                                 s->at.step == s->run.first_step
                                     ? "the run started with such values"
                                     : "lower the learning rate or lengthen the warm-up"));
}

enum wsc_err job_save(struct job_state *s)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    const struct store_folder folder = job_folder(s);
    char *path = NULL;
    TRY(job_check_weights(s));
    s->checkpoint.n_lines = comm_max(s->comm, job_metrics_lines(s->log.metrics));
    enum wsc_err err = store_step_path(&folder, s->at.step, &path);
    out_progress(s->at.step - s->run.first_step, "saving a checkpoint");
    WSC_INFO("Saving checkpoint at step %lld", (long long)s->at.step);
    if (!err && s->checkpoint.in_group) err = write_checkpoint(s, path);
    err = agree(s, err);
    if (!err) WSC_INFO("Saved checkpoint %s", path);
    wsc_free(path);
    TRY(err);
    s->checkpoint.saved_step = s->at.step;
    if (comm_rank(s->comm)) return WSC_OK;
    if (s->at.repeated_steps) TRY(job_history_undo(s));
    return store_prune(&folder, s->at.step, rc->max_checkpoints);
}

/* ---- gradients ------------------------------------------------------------------------------- */

static enum wsc_err write_gradients(struct job_state *s, const char *path)
{
    struct store_file *file = NULL;
    const int64_t one = 1;
    TRY(store_create(&file, path, &s->checkpoint.group));
    enum wsc_err rc = memoryx_define_gradients(any_shard(s), file);
    if (!rc) rc = store_define(file, "loss", STORE_F64, 1, &one);
    if (rc) {
        store_close(&file);
        return rc;
    }
    for (int m = 0; m < s->cluster->net->topology->n_shards && !rc; m++)
        if (s->cluster->memoryx[m]) rc = memoryx_save_gradients(s->cluster->memoryx[m], file);
    if (!rc && comm_rank(s->comm) == 0) rc = store_write(file, "loss", 0, 1, &s->log.last_loss);
    enum wsc_err committed = store_commit(&file);
    return rc ? rc : committed;
}

enum wsc_err job_dump_gradients(struct job_state *s)
{
    const char *path = s->job->dump_gradients;
    TRY(agree(s, s->checkpoint.in_group ? write_gradients(s, path) : WSC_OK));
    WSC_INFO("Wrote the gradients of step %lld to %s", (long long)s->at.step, path);
    if (s->log.last_skipped)
        WSC_WARNING("--dump_gradients: gradients of step %lld are not finite, which loss scaling "
                    "skipped; hint: a smaller optimizer.initial_loss_scale",
                    (long long)s->at.step);
    return WSC_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

static bool asks_for(const char *states, const char *what)
{
    const size_t length = strlen(what);
    for (const char *p = states; p && *p;) {
        p += strspn(p, ", ");
        size_t n = strcspn(p, ", ");
        if (n == length && !strncmp(p, what, n)) return true;
        p += n;
    }
    return !states;
}

/* One counter, or @p otherwise where the file does not have it. */
static enum wsc_err read_count(const struct job_state *s, struct store_file *file, enum count count,
                               int64_t otherwise, int64_t *value)
{
    struct counts c = {.value = {0}};
    list_counts(s, &c);
    c.value[count] = otherwise;
    TRY(store_read_counters(file, &c.row[count], 1));
    *value = c.value[count];
    return WSC_OK;
}

/* A file of weights has nothing else that could be asked for, and a run that does not train uses
 * nothing else. */
static enum wsc_err check_states(const struct store_file *file, bool is_run, bool trains,
                                 const char *states)
{
    if ((is_run && trains) || asks_for(states, "model")) return WSC_OK;
    return wsc_err_hint(
        WSC_RAISE(WSC_CONFIG, "%s: %s, and runconfig.load_checkpoint_states asks for \"%s\"",
                  store_path(file),
                  is_run ? "without training its weights alone are used" : "it holds weights alone",
                  states),
        "--set runconfig.load_checkpoint_states=model");
}

/* The zeros of a sparse training, as in its dense phase, are trained like other weights; those of
 * frozen tensors, as under adapters, stay. */
static void report_dropped_masks(const struct job_state *s, const struct store_file *file)
{
    const struct model *model = s->cluster->model;
    int n[2] = {0}; /* that train, that are frozen */
    for (int i = 0; i < model->n_tensors; i++) {
        const struct model_tensor *m = &model->tensor[i];
        const struct store_tensor t = model_stored(m);
        char name[STORE_NAME_BYTES];
        n[m->frozen] += m->sparsity < 0 && store_find_mask(file, &t, name);
    }
    if (n[0])
        WSC_INFO("The checkpoint has masks of %d tensors that are dense here: all of their weights "
                 "are trained.",
                 n[0]);
    if (n[1])
        WSC_INFO("The checkpoint has masks of %d tensors that are frozen here: their zeros stay.",
                 n[1]);
}

/* Continue with sample @p at of the stream, and report samples that are not the checkpoint's. */
static enum wsc_err continue_stream(struct job_state *s, struct store_file *file, int64_t at)
{
    struct job_samples then = {0};
    s->at.samples = at;
    TRY(read_count(s, file, COUNT_EPOCH, 0, &then.n));
    TRY(read_count(s, file, COUNT_DATA, 0, &then.hash));
    job_compare_samples(s, &then);
    return WSC_OK;
}

static bool is_run(const struct store_file *file)
{
    return store_has(file, "global_step");
}

/* True when the run continues with the optimizer state of the file. */
static bool resumes_from(const struct store_file *file, const char *states)
{
    return is_run(file) && asks_for(states, "optimizer");
}

enum wsc_err job_check_start(const struct job_state *s, const char *path)
{
    const char *states = s->job->params->runconfig.load_checkpoint_states;
    struct store_file *file = NULL;
    TRY(store_open(&file, path));
    enum wsc_err rc = check_states(file, is_run(file), job_trains(s), states);
    if (!rc && asks_for(states, "model"))
        rc = job_history_check(s, file, resumes_from(file, states));
    store_close(&file);
    return rc ? wsc_err_frame(rc, __FILE__, __LINE__, path) : WSC_OK;
}

/* Load the parts of all shards of this rank; a scale above max_loss_scale, which another run may
 * have had, is cut. */
static enum wsc_err load_shards(struct job_state *s, struct store_file *file,
                                const struct memoryx_load *what)
{
    double cut = 0;
    for (int m = 0; m < s->cluster->net->topology->n_shards; m++) {
        struct memoryx *shard = s->cluster->memoryx[m];
        if (!shard) continue;
        TRY(memoryx_load(shard, file, what));
        cut = memoryx_cut_scale(shard);
    }
    if (cut > 0)
        WSC_WARNING("optimizer.max_loss_scale: the loss scale of the checkpoint, %g, is above "
                    "max_loss_scale: the first factor is %g",
                    cut, zoo_loss_scales(s->job->params).most);
    return WSC_OK;
}

/* A training of an earlier release continues with the weight decay of other tensors. */
static enum wsc_err warn_of_decay(const struct job_state *s, struct store_file *file, int64_t step)
{
    const char *first = NULL;
    TRY(memoryx_find_changed_decay(file, s->cluster->model, &s->job->params->optimizer, step,
                                   &first));
    if (first)
        WSC_WARNING(
            "%s: an earlier release wrote it, whose weight decay had other tensors, such as "
            "%s; the training continues with those of this release",
            store_path(file), first);
    return WSC_OK;
}

/* What @p states, NULL for all, asks for; a file that is not of a run has weights alone, and a run
 * that does not train updates none: another optimizer's file will do, and its clock starts at 0. */
static enum wsc_err load_file(struct job_state *s, struct store_file *file, const char *states)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    const bool of_run = is_run(file);
    const bool trains = job_trains(s);
    const bool resumes = resumes_from(file, states);
    struct memoryx_load what = {.weights = asks_for(states, "model"),
                                .optimizer = resumes && trains,
                                .times = resumes && trains,
                                .schedule = of_run && trains && asks_for(states, "lr_scheduler"),
                                .scaler = of_run && trains && asks_for(states, "grad_scaler"),
                                .masks = of_run && asks_for(states, "sparsity"),
                                .strict = !rc->disable_strict_checkpoint_loading};
    int64_t samples = s->at.samples, eval_due = 0;
    TRY(check_states(file, of_run, trains, states));
    if (of_run) TRY(read_count(s, file, COUNT_STEP, 0, &what.step));
    if (of_run) TRY(read_count(s, file, COUNT_SAMPLES, s->at.samples, &samples));
    const struct memoryx_config config = {.params = s->job->params};
    if (what.weights)
        TRY(memoryx_check_vocabulary(&config, s->cluster->model, file, what.optimizer));
    TRY(load_shards(s, file, &what));
    if (what.weights) report_dropped_masks(s, file);
    if (what.weights) TRY(job_history_check(s, file, resumes));
    if (what.optimizer) TRY(warn_of_decay(s, file, what.step));
    if (of_run && asks_for(states, "global_step")) {
        s->at.step = what.step;
        TRY(read_count(s, file, COUNT_EVAL_DUE, 0, &eval_due));
        s->at.eval_due = eval_due != 0;
    }
    if (of_run && asks_for(states, "dataloader")) TRY(continue_stream(s, file, samples));
    return WSC_OK;
}

/* What a run has in common with the one that wrote the file: nothing but the values; the training,
 * of which both are parts; or all, as this is the same run that was started again. */
enum bond { VALUES_ALONE, SAME_TRAINING, SAME_RUN };

/* The phase of a list of trainers in which the file was written; one without the attribute is of a
 * program that noted the first phase alone, and only under an ID. */
static enum wsc_err read_phase(struct store_file *file, int64_t *phase)
{
    char *text = NULL;
    *phase = 1;
    if (!store_has_text(file, RUN_PHASE)) return WSC_OK;
    TRY(store_get_text(file, RUN_PHASE, &text));
    enum wsc_err rc = wsc_units_int(text, phase);
    if (!rc && *phase < 1) rc = WSC_RAISE(WSC_FORMAT, "%lld is no phase", (long long)*phase);
    wsc_free(text);
    return rc ? wsc_err_frame(rc, __FILE__, __LINE__, RUN_PHASE) : WSC_OK;
}

/* Was the file written in the phase of this run?  Params without a list of trainers have no phases,
 * and continue a file of any. */
static enum wsc_err is_of_phase(const struct job_state *s, struct store_file *file, bool *same)
{
    int64_t phase = s->job->params->phase;
    if (s->job->params->n_phases > 1 && store_has_text(file, RUN_PHASE))
        TRY(read_phase(file, &phase));
    *same = phase == s->job->params->phase;
    return WSC_OK;
}

/* Would this run compute what the run of the file computed, if it repeated its steps?  Files
 * without the counters are taken to be of the same params and data. */
static enum wsc_err repeats_equally(const struct job_state *s, struct store_file *file, bool *equal)
{
    struct job_samples then = s->checkpoint.samples;
    int64_t params = s->checkpoint.params_hash;
    TRY(is_of_phase(s, file, equal));
    TRY(read_count(s, file, COUNT_EPOCH, then.n, &then.n));
    TRY(read_count(s, file, COUNT_DATA, then.hash, &then.hash));
    TRY(read_count(s, file, COUNT_PARAMS, params, &params));
    *equal &= params == s->checkpoint.params_hash && then.n == s->checkpoint.samples.n &&
              then.hash == s->checkpoint.samples.hash;
    return WSC_OK;
}

/* The training of a file from which no step was taken begins here, and so does one whose steps this
 * run could not repeat. */
static enum wsc_err find_origin(struct job_state *s, struct store_file *file, enum bond bond)
{
    const int64_t step = s->at.step;
    int64_t origin = step;
    bool equal = false;
    s->run.origin_step = step;
    if (bond == VALUES_ALONE || step == 0) return WSC_OK;
    TRY(repeats_equally(s, file, &equal));
    if (equal) TRY(read_count(s, file, COUNT_ORIGIN_STEP, origin, &origin));
    if (origin >= step) return WSC_OK;
    s->run.origin_step = origin;
    return read_count(s, file, COUNT_ORIGIN_SAMPLES, -1, &s->run.origin_samples);
}

/* Faults, the origin, the evaluation that is due, lines of metrics and, for the same run, its last
 * step. */
static enum wsc_err continue_training(struct job_state *s, struct store_file *file, enum bond bond)
{
    const int64_t step = s->at.step;
    int64_t reached = step - 1;
    bool same_phase = false;
    TRY(read_count(s, file, COUNT_REACHED_STEP, reached, &reached));
    s->at.reached_step = bond != VALUES_ALONE && step > 0 ? reached : step - 1;
    TRY(find_origin(s, file, bond));
    TRY(is_of_phase(s, file, &same_phase));
    s->at.eval_due &= same_phase; /* it has other batches in another phase */
    TRY(read_count(s, file, COUNT_LINES, -1, &s->checkpoint.n_lines));
    if (bond != SAME_RUN) return WSC_OK;
    return read_count(s, file, COUNT_LAST_STEP, s->run.planned_last_step,
                      &s->run.planned_last_step);
}

/* The newest checkpoint that can be trusted.  One that fails its own checks is passed over with a
 * warning; when all fail the run ends, as starting again would hide that steps were lost. */
static enum wsc_err newest_good(const struct store_folder *folder, char **path)
{
    enum wsc_err rc = WSC_OK;
    int64_t step;
    int n_bad = 0;
    for (;; n_bad++) {
        TRY(store_newest(folder, n_bad, path, &step));
        if (!*path) break;
        rc = store_check(*path);
        if (rc != WSC_FORMAT && rc != WSC_IO) break;
        WSC_WARNING("%s", wsc_err_message());
        wsc_free(*path);
        *path = NULL;
    }
    if (*path && n_bad && !rc) WSC_WARNING("resuming from %s instead", *path);
    if (*path || !n_bad) return rc;
    return wsc_err_hint(
        WSC_RAISE(WSC_FORMAT, "%s: none of its %d checkpoint(s) can be read", folder->dir, n_bad),
        "warnings say why; move them away to begin from step 0");
}

/* The phase in which the run @p run_id wrote the checkpoint @p path; 0: another run wrote it, or
 * one of them is NULL. */
static enum wsc_err find_phase(const char *run_id, const char *path, int64_t *phase)
{
    struct store_file *file = NULL;
    char *id = NULL;
    *phase = 0;
    if (!run_id || !path) return WSC_OK;
    TRY(store_open(&file, path));
    enum wsc_err rc = WSC_OK;
    if (store_has_text(file, RUN_ID)) rc = store_get_text(file, RUN_ID, &id);
    if (!rc && id && !strcmp(id, run_id)) rc = read_phase(file, phase);
    wsc_free(id);
    store_close(&file);
    return rc;
}

/* A phase with an end, max_steps, that the checkpoint @p path of a later phase has passed: *@p
 * phase is that one.  Where phases count their own steps (num_steps), each start trains as many
 * more. */
static enum wsc_err find_later_phase(const struct zoo_params *p, const char *path, int64_t *phase)
{
    struct store_file *file = NULL;
    const struct zoo_runconfig *rc = &p->runconfig;
    int64_t step = -1, of_file = 0;
    struct store_counter row = {"global_step", &step, NULL, 0, STORE_LAST_STEP};
    const bool automatic = !rc->checkpoint_path && rc->autoload_last_checkpoint;
    if (!path || !automatic || !zoo_mode_trains(rc->mode) || rc->max_steps == CONF_NULL)
        return WSC_OK;
    TRY(store_open(&file, path));
    enum wsc_err rc_read = read_phase(file, &of_file);
    if (!rc_read && of_file > p->phase) rc_read = store_read_counters(file, &row, 1);
    if (!rc_read && step >= rc->max_steps) *phase = of_file;
    store_close(&file);
    return rc_read;
}

enum wsc_err job_find_phase(const struct job *job, int64_t *phase)
{
    const struct zoo_runconfig *rc = &job->params->runconfig;
    const struct store_folder folder = {rc->model_dir, rc->checkpoint_name};
    char *path = NULL;
    *phase = 0;
    if (!job->values) return WSC_OK;
    enum wsc_err err = newest_good(&folder, &path);
    if (!err) err = find_phase(job->run_id, path, phase);
    if (!err && !*phase) err = find_later_phase(job->params, path, phase);
    wsc_free(path);
    return err;
}

/* Random weights continue no text that anybody wants, unless they are asked for. */
static enum wsc_err none_found(const struct store_folder *folder, enum zoo_mode mode)
{
    char *other = NULL;
    if (mode == ZOO_GENERATE)
        return wsc_err_hint(
            WSC_RAISE(WSC_CONFIG, "%s: no checkpoint to generate from", folder->dir),
            "--model_dir of a training, or --checkpoint_path FILE; "
            "--set runconfig.autoload_last_checkpoint=false takes random weights");
    WSC_INFO("No checkpoints were found in \"%s\".", folder->dir);
    TRY(store_find_other(folder, 0, NULL, &other));
    if (other) WSC_INFO("%s has not the checkpoint_name \"%s\".", other, folder->name);
    wsc_free(other);
    return WSC_OK;
}

/* On rank 0: a checkpoint of this phase of this very run, when *@p same is set; else the given one;
 * else the newest. */
static enum wsc_err look_for_path(const struct job_state *s, char **path, bool *same)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    const bool automatic = !rc->checkpoint_path && rc->autoload_last_checkpoint;
    int64_t phase;
    if (automatic)
        WSC_INFO("Checkpoint autoloading is enabled. Looking for latest checkpoint in %s",
                 rc->model_dir);
    const struct store_folder folder = job_folder(s);
    if (automatic || s->job->run_id) TRY(newest_good(&folder, path));
    if (automatic && *path) WSC_INFO("Found latest checkpoint at \"%s\".", *path);
    if (automatic && !*path) TRY(none_found(&folder, rc->mode));
    TRY(find_phase(s->job->run_id, *path, &phase));
    *same = phase == s->job->params->phase;
    if (automatic || *same) return WSC_OK;
    wsc_free(*path);
    *path = NULL;
    if (!rc->checkpoint_path) return WSC_OK;
    *path = wsc_strdup(WSC_MEM_RUN, rc->checkpoint_path);
    if (!*path) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "checkpoint path");
    return store_check(*path);
}

static enum bond bond_of(const struct job_state *s, const char *path, bool same)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    const bool all = path && !rc->load_checkpoint_states;
    if (same) return SAME_RUN;
    return all && job_lies_in(path, rc->model_dir) ? SAME_TRAINING : VALUES_ALONE;
}

/* Rank 0 looks, all get the path; *path is NULL when there is nothing to load. */
static enum wsc_err choose_path(struct job_state *s, char **path, enum bond *bond)
{
    enum wsc_err err = WSC_OK;
    int64_t n_bytes = -1, found = VALUES_ALONE;
    *path = NULL;
    if (comm_rank(s->comm) == 0) {
        bool same = false;
        err = look_for_path(s, path, &same);
        n_bytes = *path ? (int64_t)strlen(*path) : -1;
        found = bond_of(s, *path, same);
    }
    TRY(agree(s, err));
    *bond = (enum bond)comm_max(s->comm, found);
    return comm_share(s->comm, path, &n_bytes);
}

/* The clock with which the run begins, for a run like it without a fault. */
static enum wsc_err note_clock(struct job_state *s, struct store_file *file)
{
    const bool goes_on = resumes_from(file, s->checkpoint.start_states) && job_trains(s);
    if (!goes_on || comm_rank(s->comm) || !s->job->cluster->faults.n) return WSC_OK;
    return memoryx_read_times(file, s->cluster->model, s->cluster->machine->n_shards,
                              &s->run.start_ps);
}

/* Load the checkpoint from which the run begins. */
static enum wsc_err begin_from(struct job_state *s, const char *path, enum bond bond)
{
    const char *states = s->job->params->runconfig.load_checkpoint_states;
    struct store_file *file = NULL;
    s->checkpoint.start_states = bond == SAME_RUN ? NULL : states;
    TRY(store_open(&file, path));
    enum wsc_err rc = load_file(s, file, s->checkpoint.start_states);
    if (!rc) rc = continue_training(s, file, bond);
    if (!rc) rc = note_clock(s, file);
    store_close(&file);
    return rc ? wsc_err_frame(rc, __FILE__, __LINE__, path) : WSC_OK;
}

enum wsc_err job_restore(struct job_state *s)
{
    char *path = NULL;
    enum bond bond = VALUES_ALONE;
    enum wsc_err rc = choose_path(s, &path, &bond);
    for (int m = 0; !rc && !path && m < s->cluster->net->topology->n_shards; m++)
        if (s->cluster->memoryx[m]) memoryx_init_weights(s->cluster->memoryx[m]);
    if (!rc && path) rc = agree(s, begin_from(s, path, bond));
    if (!rc && !path)
        WSC_INFO("No checkpoint was provided. Using randomly initialized model parameters.");
    if (!rc && path)
        WSC_INFO("Loaded checkpoint %s, global step %lld", path, (long long)s->at.step);
    if (path && (bond == SAME_RUN || !s->job->params->runconfig.checkpoint_path))
        s->checkpoint.saved_step = s->at.step;
    s->checkpoint.start_path = path;
    return rc;
}

/* The file of @p step, and what of it is loaded; *@p path is the caller's.  The run began from any
 * file, maybe in the middle of its training.  That training may have begun from a file too: of
 * model_dir, or from one that only params of the same run still name. */
static enum wsc_err find_step(const struct job_state *s, int64_t step, char **path,
                              const char **states)
{
    const struct zoo_runconfig *rc = &s->job->params->runconfig;
    const struct store_folder folder = job_folder(s);
    const char *known = NULL;
    *path = NULL;
    *states = NULL;
    if (step > 0 && step == s->run.first_step) {
        known = s->checkpoint.start_path;
        *states = s->checkpoint.start_states;
    } else if (step > 0 && step == s->run.origin_step) {
        *states = rc->load_checkpoint_states;
        if (s->job->run_id) known = rc->checkpoint_path;
    }
    if (!known) return store_step_path(&folder, step, path);
    *path = wsc_strdup(WSC_MEM_RUN, known);
    return *path ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, known);
}

bool job_can_restore(const struct job_state *s, int64_t step)
{
    const char *states;
    char *path = NULL;
    const bool can = !find_step(s, step, &path, &states) && path && !store_check(path);
    wsc_free(path);
    return can;
}

/* Samples of the stream before @p step, where its file says something else or nothing: samples may
 * have been skipped when the run or its training began. */
static int64_t samples_before(const struct job_state *s, int64_t step, int64_t of_file)
{
    if (step == s->run.first_step) return s->run.first_samples;
    return step == s->run.origin_step && s->run.origin_samples >= 0 ? s->run.origin_samples
                                                                    : of_file;
}

enum wsc_err job_restore_again(struct job_state *s, int64_t step)
{
    const char *states;
    char *path = NULL;
    struct store_file *file = NULL;
    s->at.samples = s->run.first_samples + (step - s->run.first_step) * s->train.batch.batch_size;
    s->at.step = step;
    if (!s->job->values) return WSC_OK;
    TRY(find_step(s, step, &path, &states));
    WSC_CHECK(path, "no checkpoint of step %lld", (long long)step);
    enum wsc_err err = store_check(path);
    if (!err) err = store_open(&file, path);
    if (!err) err = load_file(s, file, states);
    store_close(&file);
    err = agree(s, err);
    if (!err) WSC_INFO("Restored %s, global step %lld", path, (long long)step);
    wsc_free(path);
    s->at.samples = samples_before(s, step, s->at.samples);
    s->at.eval_due = false; /* its step was followed by others */
    return err;
}
