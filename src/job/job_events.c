// SPDX-License-Identifier: Apache-2.0
/* What a run leaves for TensorBoard: <model_dir>/train and <model_dir>/eval, each with events and
 * the params of the run, under the tags of the Model Zoo (docs/FILES.md lists them).
 *
 * A scalar that this step does not have is NaN, which out_events_scalars() leaves out, so that each
 * kind of line is one table.  Folders are opened by job.c, events written by job_log.c. */
#include "job_events.h"

#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>

static enum wsc_err write_params(const struct job_state *s, const char *path)
{
    char *params = NULL;
    TRY(zoo_params_dump(s->job->params, &params));
    enum wsc_err rc = out_write_text(path, params);
    wsc_free(params);
    return rc;
}

static enum wsc_err open_folder(const struct job_state *s, const char *mode,
                                struct out_events **events)
{
    char *dir = wsc_asprintf(WSC_MEM_RUN, "%s/%s", s->job->params->runconfig.model_dir, mode);
    char *path = dir ? wsc_asprintf(WSC_MEM_RUN, "%s/params_%s.yaml", dir, mode) : NULL;
    enum wsc_err rc = path ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "name");
    if (!rc) rc = out_events_open(events, dir);
    if (!rc) rc = write_params(s, path);
    wsc_free(path);
    wsc_free(dir);
    return rc;
}

enum wsc_err job_events_open(struct job_state *s, bool trains, bool evaluates)
{
    if (trains) TRY(open_folder(s, "train", &s->train.events));
    /* An evaluation without values has a time but no loss: nothing to draw. */
    if (evaluates && s->job->values) TRY(open_folder(s, "eval", &s->eval.events));
    return WSC_OK;
}

void job_events_close(struct job_state *s)
{
    out_events_close(&s->train.events);
    out_events_close(&s->eval.events);
}

/* One tag for each block, numbered from 0 as in the names of its tensors. */
static enum wsc_err layer_norms(struct out_events *events, const struct job_logged_step *step)
{
    struct out_scalar *scalar;
    enum { TAG_BYTES = 48 };
    const int64_t L = step->n_layers;
    TRY_NEW(scalar, WSC_MEM_RUN, L);
    char *tags = wsc_alloc(WSC_MEM_RUN, (size_t)L, TAG_BYTES);
    for (int64_t l = 0; tags && l < L; l++) {
        char *tag = tags + l * TAG_BYTES;
        (void)snprintf(tag, TAG_BYTES, "per_layer_grad_norm/layer_%lld", (long long)l);
        scalar[l] = (struct out_scalar){tag, step->layer_grad_norm[l]};
    }
    enum wsc_err rc = tags ? out_events_scalars(events, step->step, scalar, (int)L)
                           : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "tags of layers");
    wsc_free(tags);
    wsc_free(scalar);
    return rc;
}

/* Two tags for each sparse tensor whose entry asks for them: the value of its schedule at this
 * step, and the fraction of zeros of its mask. As in cstorch the schedule counts a step that
 * dynamic loss scaling skips, until the next step. */
static enum wsc_err sparsities(struct out_events *events, const struct model *model,
                               const struct job_logged_step *step)
{
    enum { TAG_BYTES = 160 };
    const int64_t t = step->mask_step + step->skipped;
    for (int i = 0; i < model->n_tensors; i++) {
        const struct zoo_sparsity *e = model_sparsity_of(model, i);
        const struct model_tensor *tensor = &model->tensor[i];
        char target[TAG_BYTES], actual[TAG_BYTES];
        if (!e || !e->add_summaries) continue;
        (void)snprintf(target, sizeof target, "sparsity/%s/target", tensor->name);
        (void)snprintf(actual, sizeof actual, "sparsity/%s/actual", tensor->name);
        const struct out_scalar scalar[] = {
            {target, (double)zoo_sparsity_scheduled(e, t)},
            {actual, 1 - (double)step->kept[i] / (double)tensor->n_elems}};
        TRY(out_events_scalars(events, step->step, scalar, 2));
    }
    return WSC_OK;
}

enum wsc_err job_events_train(struct job_state *s, const struct job_logged_step *step,
                              const struct job_pace *pace)
{
    const bool norms = step->has_values && step->layer_grad_norm;
    const double none = NAN, batch = (double)s->train.batch.batch_size;
    const struct out_scalar scalar[] = {
        {"loss", step->has_values ? step->loss : none},
        {"loss_scale", step->has_values ? step->loss_scale : none},
        {"lr/0", step->has_values ? step->lr : none},
        {"model_wise_grad_norm", norms ? step->grad_norm : none},
        {"model_wise_params_norm", norms ? step->params_norm : none},
        {"pegsqnorm/model", step->has_noise ? step->pegsqnorm : none},
        {"gsqnorm/model", step->has_noise ? step->gsqnorm : none},
        {"gradient_noise_scale", step->has_noise ? step->noise_scale : none},
        {"local_samples_per_sec", pace->rate},
        {"avg_samples_per_sec", pace->global_rate},
        {"avg_steps_per_sec", pace->global_rate / batch},
        {"loop_time_remaining", pace->loop_s},
        {"time_remaining", pace->total_s},
    };
    TRY(out_events_scalars(s->train.events, step->step, scalar,
                           (int)(sizeof scalar / sizeof *scalar)));
    struct out_scalar reward[JOB_MOST_SCORES];
    for (int i = 0; i < step->n_rewards; i++)
        reward[i] = (struct out_scalar){step->reward[i].name, step->reward[i].value};
    if (step->n_rewards)
        TRY(out_events_scalars(s->train.events, step->step, reward, step->n_rewards));
    if (step->kept) TRY(sparsities(s->train.events, s->cluster->model, step));
    return norms ? layer_norms(s->train.events, step) : WSC_OK;
}

enum wsc_err job_events_eval(struct job_state *s, const struct job_evaluation *e)
{
    struct out_scalar scalar[2 + JOB_MOST_SCORES] = {{"loss", e->loss}, {"val_loss", e->loss}};
    for (int i = 0; i < e->n_scores; i++)
        scalar[2 + i] = (struct out_scalar){e->score[i].name, e->score[i].value};
    return out_events_scalars(s->eval.events, s->at.step, scalar, 2 + e->n_scores);
}
