// SPDX-License-Identifier: Apache-2.0
/* The part of a shard in a checkpoint: weights under the names of tensors, optimizer state under
 * PyTorch's names, counters of updates, schedules and scaler, and the virtual times with which a
 * resumed run starts. Every rank defines all datasets; each shard writes and reads its own parts.
 * job_checkpoint.c calls; memoryx_groups.c numbers the states. */
#include "memoryx_groups.h"
#include "memoryx_init.h"
#include "memoryx_loss_scale.h"
#include "memoryx_mask_checkpoint.h"
#include "memoryx_optimizer.h"
#include "memoryx_state.h"
#include "memoryx_vocabulary.h"

#include <wsc/mem.h>
#include <wsc/model_stored.h>
#include <wsc/out.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 160 };

/* ---- virtual times: a row per shard ---------------------------------------------------------- */

/* Times: step_end, reduced, updating, and ready of each stage. */
static int64_t n_times(const struct model *model)
{
    return 3 + model->n_stages;
}

static void pack_times(const struct memoryx *mx, int64_t *row)
{
    *row++ = mx->times.step_end.ps;
    *row++ = mx->times.reduced.ps;
    *row++ = mx->times.updating.ps;
    for (int s = 0; s < mx->net->model->n_stages; s++)
        *row++ = mx->times.ready[s].ps;
}

static void unpack_times(struct memoryx *mx, const int64_t *row)
{
    mx->times.step_end = (struct vtime){.ps = *row++};
    mx->times.reduced = (struct vtime){.ps = *row++};
    mx->times.updating = (struct vtime){.ps = *row++};
    for (int s = 0; s < mx->net->model->n_stages; s++)
        mx->times.ready[s] = (struct vtime){.ps = *row++};
}

static enum wsc_err save_times(const struct memoryx *mx, struct store_file *file)
{
    int64_t *row, n = n_times(mx->net->model);
    TRY_NEW(row, WSC_MEM_MEMORYX, n);
    pack_times(mx, row);
    enum wsc_err rc = store_write(file, "wsc.virtual_time_ps", mx->shard * n, n, row);
    wsc_free(row);
    return rc;
}

/* Reduce the rows of all shards to the latest time of each column. This is done if the cluster has
 * another number of shards than the checkpoint. */
static void take_latest_times(int64_t *rows, int64_t n_rows, int64_t n)
{
    for (int64_t r = 1; r < n_rows; r++)
        for (int64_t i = 0; i < n; i++)
            if (rows[r * n + i] > rows[i]) rows[i] = rows[r * n + i];
}

/* A time below 0, or at the end of the range of virtual time, cannot come from a run. */
static enum wsc_err check_times(const struct store_file *file, const int64_t *ps, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (ps[i] < 0 || ps[i] == VTIME_END)
            return WSC_RAISE(WSC_FORMAT, "%s: wsc.virtual_time_ps holds %lld ps", store_path(file),
                             (long long)ps[i]);
    return WSC_OK;
}

/* A file with times of another number of stages is of another model: the clock starts at zero. */
enum wsc_err memoryx_read_times(struct store_file *file, const struct model *model, int n_shards,
                                int64_t **out)
{
    int n_dims;
    int64_t shape[2], *rows;
    const int64_t n = n_times(model);
    *out = NULL;
    if (!store_has(file, "wsc.virtual_time_ps")) return WSC_OK;
    TRY(store_shape(file, "wsc.virtual_time_ps", &n_dims, shape));
    if (n_dims != 2 || shape[1] != n || shape[0] < 1 || shape[0] > HW_MAX_SHARDS) return WSC_OK;
    TRY_NEW(rows, WSC_MEM_MEMORYX, (shape[0] > n_shards ? shape[0] : n_shards) * n);
    enum wsc_err rc = store_read(file, "wsc.virtual_time_ps", STORE_I64, 0, shape[0] * n, rows);
    if (!rc) rc = check_times(file, rows, shape[0] * n);
    if (!rc && shape[0] != n_shards) {
        take_latest_times(rows, shape[0], n);
        for (int m = 1; m < n_shards; m++)
            memcpy(rows + m * n, rows, (size_t)n * sizeof *rows);
    }
    if (rc) wsc_free(rows);
    if (!rc) *out = rows;
    return rc;
}

void memoryx_set_times(struct memoryx *memoryx, const int64_t *rows)
{
    unpack_times(memoryx, rows + memoryx->shard * n_times(memoryx->net->model));
}

static enum wsc_err load_times(struct memoryx *mx, struct store_file *file)
{
    int64_t *rows;
    TRY(memoryx_read_times(file, mx->net->model, mx->n_shards, &rows));
    if (rows) memoryx_set_times(mx, rows);
    wsc_free(rows);
    return WSC_OK;
}

/* ---- saving ---------------------------------------------------------------------------------- */

static void state_name(char *name, int64_t label, const char *what)
{
    (void)snprintf(name, NAME_BYTES, "optimizer.state.%lld.%s", (long long)label, what);
}

static enum wsc_err define_states(const struct memoryx *mx, int i, struct store_file *file)
{
    const struct model_tensor *t = &mx->net->model->tensor[i];
    char name[NAME_BYTES];
    for (int k = 0; k < MEMORYX_MAX_STATE; k++) {
        const struct memoryx_state s = memoryx_state_of(&mx->config.params->optimizer, t, k);
        if (!s.name) continue;
        state_name(name, i, s.name);
        TRY(store_define(file, name, STORE_F32, s.n_dims, s.shape));
    }
    return WSC_OK;
}

/* Statistics of a whole tensor are equal on all shards; the first shard writes them. */
static enum wsc_err save_states(const struct memoryx *mx, int i, struct store_file *file)
{
    const struct memoryx_part *part = &mx->part[i];
    char name[NAME_BYTES];
    for (int k = 0; k < MEMORYX_MAX_STATE; k++) {
        const struct memoryx_state s =
            memoryx_state_of(&mx->config.params->optimizer, &mx->net->model->tensor[i], k);
        if (!s.name) continue;
        state_name(name, i, s.name);
        if (s.extent == MEMORYX_ELEMENTS)
            TRY(store_write(file, name, part->first, part->n, part->state[k]));
        else if (mx->shard == 0)
            TRY(store_write(file, name, 0, s.shape[0], part->state[k]));
    }
    return WSC_OK;
}

/* ---- counters: the first shard's, all have the same ------------------------------------------ */

/* The part of the training state that a counter belongs to. */
enum counted { COUNTED_OPTIMIZER, COUNTED_SCHEDULE, COUNTED_SCALER, COUNTED_NOISE, N_COUNTED };
enum { N_COUNTERS = 9 };

static bool counts(const struct memoryx *mx, enum counted part)
{
    if (part == COUNTED_SCALER)
        return memoryx_scales_dynamically(mx->config.params, mx->net->model);
    return part != COUNTED_NOISE || mx->config.params->optimizer.gradient_noise_scale;
}

/* List the counters of a run with these params that belong to the parts @p wanted (NULL: all).
 * Returns their number. */
static int list_counters(struct memoryx *mx, const bool *wanted,
                         struct store_counter list[N_COUNTERS])
{
    struct memoryx_scaler *s = &mx->scaler;
    const int64_t most = INT64_MAX;
    const struct {
        enum counted part;
        struct store_counter row;
    } all[N_COUNTERS] = {
        {COUNTED_OPTIMIZER, {"wsc.optimizer_updates", &mx->updates, NULL, 0, most}},
        {COUNTED_SCHEDULE, {"schedulers.0.last_epoch", &mx->schedule, NULL, 0, most}},
        {COUNTED_SCALER, {"grad_scaler.loss_scale", NULL, &s->scale, 0, 0}},
        {COUNTED_SCALER, {"grad_scaler.steps_since_rescale", &s->good_steps, NULL, 0, most}},
        {COUNTED_SCALER, {"grad_scaler.overflows_since_rescale", &s->overflows, NULL, 0, most}},
        {COUNTED_SCALER, {"grad_scaler.num_skipped_steps", &s->skipped, NULL, 0, most}},
        {COUNTED_NOISE, {"wsc.noise_scale.steps", &mx->noise_steps, NULL, 0, most}},
        {COUNTED_NOISE, {"wsc.noise_scale.variance", NULL, &mx->noise.variance, 0, 0}},
        {COUNTED_NOISE, {"wsc.noise_scale.gradient", NULL, &mx->noise.gradient, 0, 0}}};
    int n = 0;
    for (int i = 0; i < N_COUNTERS; i++)
        if (counts(mx, all[i].part) && (!wanted || wanted[all[i].part])) list[n++] = all[i].row;
    return n;
}

/* A file without a counter of updates comes from a run that skipped none. */
static enum wsc_err load_counters(struct memoryx *mx, struct store_file *file,
                                  const struct memoryx_load *what)
{
    const bool wanted[N_COUNTED] = {[COUNTED_OPTIMIZER] = what->optimizer,
                                    [COUNTED_SCHEDULE] = what->schedule,
                                    [COUNTED_SCALER] = what->scaler,
                                    [COUNTED_NOISE] = what->optimizer};
    struct store_counter list[N_COUNTERS];
    const int n = list_counters(mx, wanted, list);
    if (what->optimizer) mx->updates = what->step;
    if (what->schedule) mx->schedule = what->step;
    TRY(store_read_counters(file, list, n));
    if (mx->scaler.scale > 0 && mx->scaler.scale < INFINITY) return WSC_OK;
    return WSC_RAISE(WSC_FORMAT, "%s: a loss scale of %g", store_path(file), mx->scaler.scale);
}

enum wsc_err memoryx_define(struct memoryx *memoryx, struct store_file *file)
{
    const struct model *model = memoryx->net->model;
    const int64_t times[2] = {memoryx->n_shards, n_times(model)};
    struct store_counter counter[N_COUNTERS];
    const int n_counters = list_counters(memoryx, NULL, counter);
    for (int i = 0; i < model->n_tensors; i++) {
        const struct store_tensor t = model_stored(&model->tensor[i]);
        TRY(store_define_tensor(file, &t));
    }
    for (int i = 0; i < model->n_tensors; i++)
        TRY(define_states(memoryx, i, file));
    TRY(memoryx_define_masks(memoryx, file));
    TRY(store_define_counters(file, counter, n_counters));
    TRY(memoryx_define_groups(memoryx, file));
    return store_define(file, "wsc.virtual_time_ps", STORE_I64, 2, times);
}

enum wsc_err memoryx_save(struct memoryx *memoryx, struct store_file *file)
{
    const struct model *model = memoryx->net->model;
    struct store_counter counter[N_COUNTERS];
    const int n_counters = list_counters(memoryx, NULL, counter);
    for (int i = 0; i < model->n_tensors; i++) {
        const struct memoryx_part *s = &memoryx->part[i];
        TRY(store_write(file, model->tensor[i].name, s->first, s->n, s->w));
        TRY(save_states(memoryx, i, file));
    }
    TRY(memoryx_save_masks(memoryx, file));
    if (memoryx->shard == 0) TRY(store_write_counters(file, counter, n_counters));
    TRY(memoryx_save_powers(memoryx, file));
    return save_times(memoryx, file);
}

enum wsc_err memoryx_define_gradients(const struct memoryx *memoryx, struct store_file *file)
{
    const struct model *model = memoryx->net->model;
    for (int i = 0; i < model->n_tensors; i++) {
        const struct model_tensor *t = &model->tensor[i];
        if (!t->frozen) TRY(store_define(file, t->name, STORE_F32, t->n_dims, t->shape));
    }
    return WSC_OK;
}

enum wsc_err memoryx_save_gradients(const struct memoryx *memoryx, struct store_file *file)
{
    for (int i = 0; i < memoryx->net->model->n_tensors; i++) {
        const struct memoryx_part *s = &memoryx->part[i];
        if (s->g) TRY(store_write(file, memoryx->net->model->tensor[i].name, s->first, s->n, s->g));
    }
    return WSC_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

static enum wsc_err load_weights(struct memoryx *mx, struct store_file *file, int i, bool strict)
{
    const struct store_tensor t = model_stored(&mx->net->model->tensor[i]);
    struct memoryx_part *s = &mx->part[i];
    char name[STORE_NAME_BYTES];
    int64_t n_rows = 0;
    if (!store_find_tensor(file, &t, name)) {
        if (!strict) memoryx_init_tensor(mx, i);
        if (!strict) return WSC_OK;
        enum wsc_err rc = WSC_RAISE(WSC_FORMAT, "%s: %s is missing", store_path(file), t.name);
        return wsc_err_hint(rc, "--set runconfig.disable_strict_checkpoint_loading=true keeps the "
                                "initial values of missing tensors");
    }
    TRY(memoryx_other_rows(&mx->config, &mx->net->model->tensor[i], file, name, &n_rows));
    if (n_rows) {
        TRY(memoryx_load_rows(mx, i, file, name, n_rows));
    } else {
        TRY(store_check_shape(file, name, &t));
        TRY(store_read(file, name, STORE_F32, s->first, s->n, s->w));
    }
    TRY(memoryx_load_selected(mx, file, i, n_rows));
    return memoryx_load_mask(mx, file, i, &(struct memoryx_weights){name, n_rows, strict});
}

static enum wsc_err load_states(struct memoryx *mx, struct store_file *file, int i, int64_t label)
{
    const struct memoryx_part *part = &mx->part[i];
    char name[NAME_BYTES];
    for (int k = 0; k < MEMORYX_MAX_STATE; k++) {
        const struct memoryx_state s =
            memoryx_state_of(&mx->config.params->optimizer, &mx->net->model->tensor[i], k);
        if (!s.name) continue;
        const struct store_tensor shape = {name, "", s.n_dims, s.shape, ""};
        const bool by_element = s.extent == MEMORYX_ELEMENTS;
        state_name(name, label, s.name);
        if (!store_has(file, name))
            return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: %s is missing", store_path(file), name),
                                "--set runconfig.load_checkpoint_states=model takes the weights "
                                "alone");
        TRY(store_check_shape(file, name, &shape));
        TRY(store_read(file, name, STORE_F32, by_element ? part->first : 0,
                       by_element ? part->n : s.shape[0], part->state[k]));
    }
    return WSC_OK;
}

static enum wsc_err load_optimizer(struct memoryx *mx, struct store_file *file)
{
    const struct model *model = mx->net->model;
    int64_t *label;
    TRY_NEW(label, WSC_MEM_MEMORYX, model->n_tensors);
    enum wsc_err rc = memoryx_read_labels(file, model, label);
    for (int i = 0; i < model->n_tensors && !rc; i++)
        rc = load_states(mx, file, i, label[i]);
    wsc_free(label);
    return rc;
}

/* Only names of tensors are checked: a file may also have state of other parts of a trainer. */
static enum wsc_err check_known(const struct model *model, struct store_file *file)
{
    struct store_tensor *tensor;
    const char *first;
    int n;
    TRY_NEW(tensor, WSC_MEM_MEMORYX, model->n_tensors);
    for (int i = 0; i < model->n_tensors; i++)
        tensor[i] = model_stored(&model->tensor[i]);
    enum wsc_err rc = store_count_unknown(file, tensor, model->n_tensors, &first, &n);
    if (!rc && n) {
        rc = WSC_RAISE(WSC_FORMAT, "%s: the params have no tensor named %s", store_path(file),
                       first);
        (void)wsc_err_hint(rc, "--set runconfig.disable_strict_checkpoint_loading=true ignores it");
    }
    wsc_free(tensor);
    return rc;
}

enum wsc_err memoryx_load(struct memoryx *memoryx, struct store_file *file,
                          const struct memoryx_load *what)
{
    const struct model *model = memoryx->net->model;
    memoryx_begin(memoryx);
    if (!what->weights) memoryx_init_weights(memoryx);
    if (what->weights && what->strict) TRY(check_known(model, file));
    for (int i = 0; i < model->n_tensors && what->weights; i++) {
        out_progress_at("load weights", i, model->n_tensors, model->tensor[i].name);
        TRY(load_weights(memoryx, file, i, what->strict));
    }
    if (what->optimizer) TRY(load_optimizer(memoryx, file));
    TRY(load_counters(memoryx, file, what));
    if (what->masks) TRY(memoryx_load_mask_step(memoryx, file));
    return what->times ? load_times(memoryx, file) : WSC_OK;
}
