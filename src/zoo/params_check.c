// SPDX-License-Identifier: Apache-2.0
/* Checks between keys of params files, after the table has read all keys: sections that the mode
 * needs, the checks of params_checks.h, then formats, loss scaling, clipping, epochs. zoo_params.c
 * calls; idle_keys.c has the keys without effect. */
#include "params_checks.h"
#include "params_passes.h"
#include "params_values.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

/* Check for the sections that the mode needs: train_input and optimizer for training, eval_input
 * for evaluation. */
static void check_sections(struct conf_parse *p, const struct conf_node *root, enum zoo_mode mode)
{
    const bool trains = zoo_mode_trains(mode), evals = zoo_mode_evaluates(mode);
    const struct {
        const char *name;
        bool needed;
    } sections[] = {
        {"model", true}, {"train_input", trains}, {"optimizer", trains}, {"eval_input", evals}};
    for (int i = 0; i < 4; i++) {
        if (sections[i].needed && conf_node_is_null(conf_node_find(root, sections[i].name)))
            conf_keys_no_section(p, sections[i].name);
    }
}

/* The name of checkpoints must have the step once, and must not lead to another folder or to the
 * name of a file that is still written. */
static void check_checkpoint_name(struct conf_parse *p, const char *name)
{
    static const char path[] = "runconfig.checkpoint_name", step[] = "{step}";
    enum { MOST_BYTES = 200 };
    const char *at = strstr(name, step);
    const char *rest = at ? at + sizeof step - 1 : name;
    const size_t before = at ? (size_t)(at - name) : 0, n = strlen(name);
    if (!at || strcspn(name, "{}") < before || rest[strcspn(rest, "{}")])
        conf_diag_error(p->diag, conf_parse_place(p, path, NULL), path,
                        "expected one %s in it and no other braces, as in checkpoint_%s.mdl", step,
                        step);
    else if (strchr(name, '/') || n > MOST_BYTES || (n > 4 && !strcmp(name + n - 4, ".tmp")))
        conf_diag_error(p->diag, conf_parse_place(p, path, NULL), path,
                        "expected a file name of at most %d bytes without / and .tmp", MOST_BYTES);
}

/* float16 is the format that earlier releases used without this key; then the loss was scaled. */
static void check_format(struct conf_parse *p, const struct zoo_params *params)
{
    const char *scaling = "optimizer.loss_scaling_factor", *format = "model.fp16_type";
    if (!params->model.mixed_precision || conf_parse_given(p, format) ||
        params->optimizer.loss_scaling_factor == 1)
        return;
    conf_diag_warn(p->diag, conf_parse_place(p, scaling, NULL), format,
                   "bfloat16 without this key; earlier releases took float16, which needs "
                   "loss_scaling_factor; hint: write it");
}

/* Dynamic loss scaling begins between its bounds. A first factor above the greatest one is cut to
 * it, as in the Model Zoo. */
static void check_first_scale(struct conf_parse *p, const struct zoo_params *params)
{
    static const char first[] = "optimizer.initial_loss_scale",
                      least[] = "optimizer.min_loss_scale", most[] = "optimizer.max_loss_scale";
    const struct zoo_loss_scales s = zoo_loss_scales(params);
    const double initial = params->optimizer.initial_loss_scale;
    if (!zoo_key_acts(params, first)) return;
    if (initial > s.most)
        conf_diag_warn(p->diag, conf_parse_place(p, first, NULL), first,
                       "%g is above max_loss_scale: the first factor is %g", initial, s.most);
    if (s.least > s.most)
        conf_diag_error(p->diag, conf_parse_place(p, least, most), least,
                        "%g is above max_loss_scale; hint: at most %g", s.least, s.most);
    else if (s.first < s.least)
        conf_diag_error(p->diag, conf_parse_place(p, least, first), least,
                        "%g, but the first factor is %g; hint: initial_loss_scale: %g", s.least,
                        s.first, s.least);
}

/* The loss is multiplied by its scale in 32 bits. */
static void check_scales_in_32_bits(struct conf_parse *p, const struct zoo_optimizer *o)
{
    const struct {
        const char *path;
        double value;
    } scales[] = {{"optimizer.loss_scaling_factor", o->loss_scaling_factor},
                  {"optimizer.initial_loss_scale", o->initial_loss_scale},
                  {"optimizer.min_loss_scale", o->min_loss_scale},
                  {"optimizer.max_loss_scale", o->max_loss_scale}};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        const char *path = scales[i].path;
        const double value = scales[i].value;
        if (value <= 0 || ((float)value >= FLT_MIN && (float)value <= FLT_MAX)) continue;
        conf_diag_error(p->diag, conf_parse_place(p, path, NULL), path,
                        "%.15g is %s in 32 bits; hint: 2e-38 to 3e38", value,
                        value < 1 ? "0 or almost 0" : "infinite");
    }
}

/* Some formats have too few bits to train with a fixed loss scale. */
static void check_loss_scaling(struct conf_parse *p, const struct zoo_params *params)
{
    const char *path = "optimizer.loss_scaling_factor";
    const struct num_format_row *format = &num_formats[zoo_number_format(&params->model)];
    if (!params->optimizer.optimizer_type || format->loss_scaling != NUM_LOSS_DYNAMIC ||
        params->optimizer.loss_scaling_factor == ZOO_LOSS_SCALE_DYNAMIC)
        return;
    conf_diag_error(p->diag, conf_parse_place(p, path, "model.fp16_type"), path,
                    "%s needs dynamic loss scaling; hint: write dynamic", format->name);
}

/* Level -1 takes the format of each operation from a table that debug_args names. */
static void check_precision(struct conf_parse *p, struct zoo_runconfig *r)
{
    const char *path = "runconfig.precision_opt_level";
    if (r->precision_opt_level != -1) return;
    conf_diag_warn(p->diag, conf_parse_place(p, path, NULL), path,
                   "-1 is taken as 1: its table of formats is one of the real cluster");
    r->precision_opt_level = 1;
}

/* The bits of a NaN depend on the order of sums, which must not show in any result. */
static void check_loss_values(struct conf_parse *p, struct zoo_runconfig *r)
{
    const char *path = "runconfig.check_loss_values";
    if (r->check_loss_values) return;
    conf_diag_warn(p->diag, conf_parse_place(p, path, NULL), path,
                   "false is taken as true: every run stops at NaN and infinity");
    r->check_loss_values = true;
}

/* Wafers measure gradients of single samples before MemoryX leaves weights out. */
static void check_selective(struct conf_parse *p, const struct zoo_params *params)
{
    const char *path = "model.selective_grad", *noise = "optimizer.gradient_noise_scale";
    if (params->model.selective_grad.on && params->optimizer.gradient_noise_scale)
        conf_diag_error(p->diag, conf_parse_place(p, path, noise), path,
                        "not together with optimizer.gradient_noise_scale");
}

/* The Model Zoo raises a ValueError for both ways of clipping at once. */
static void check_clipping(struct conf_parse *p, const struct zoo_optimizer *o)
{
    const char *path = "optimizer.max_gradient_value";
    if (!(o->max_gradient_norm > 0) || !(o->max_gradient_value > 0)) return;
    conf_diag_error(p->diag, conf_parse_place(p, path, "optimizer.max_gradient_norm"), path,
                    "gradients are clipped by norm or by value, not both; hint: leave out this key "
                    "or max_gradient_norm");
}

/* Steps of the operator profiler: both or none, in order. */
static void check_profile(struct conf_parse *p, const struct zoo_runconfig *r)
{
    const char *first = "runconfig.op_profiler_config.start_step",
               *last = "runconfig.op_profiler_config.end_step";
    bool has_first = r->profile_start_step != CONF_NULL,
         has_last = r->profile_end_step != CONF_NULL;
    if (has_first != has_last)
        conf_diag_error(p->diag, conf_parse_place(p, first, last), "runconfig.op_profiler_config",
                        "needs both start_step and end_step");
    else if (has_first && r->profile_start_step > r->profile_end_step)
        conf_diag_error(p->diag, conf_parse_place(p, last, NULL), last,
                        "must be at least start_step, %lld", (long long)r->profile_start_step);
}

static bool on_command_line(const struct conf_parse *p, const char *path)
{
    return conf_parse_place(p, path, NULL).line < 0;
}

/* The command line may set steps or epochs while the file has the other: the command line counts.
 */
static void choose_length(const struct conf_parse *p, struct zoo_runconfig *r)
{
    const bool steps = on_command_line(p, "runconfig.num_steps");
    if (r->num_epochs == CONF_NULL || r->num_steps == CONF_NULL) return;
    if (steps == on_command_line(p, "runconfig.num_epochs")) return;
    if (steps)
        r->num_epochs = r->steps_per_epoch = CONF_NULL;
    else
        r->num_steps = CONF_NULL;
}

/* Convert epochs to steps if the file has the length of an epoch; otherwise the data determine it.
 */
static void check_epochs(struct conf_parse *p, struct zoo_runconfig *r)
{
    const char *epochs = "runconfig.num_epochs", *length = "runconfig.steps_per_epoch";
    choose_length(p, r);
    const bool known = r->num_epochs != CONF_NULL && r->steps_per_epoch != CONF_NULL;
    if (r->num_epochs != CONF_NULL && r->num_steps != CONF_NULL)
        conf_diag_error(p->diag, conf_parse_place(p, epochs, NULL), epochs,
                        "not together with num_steps");
    else if (known && r->num_epochs > ZOO_MOST_STEPS / r->steps_per_epoch)
        conf_diag_error(p->diag, conf_parse_place(p, epochs, length), epochs,
                        "%lld of %lld steps, expected at most %lld steps together; hint: fewer "
                        "epochs, or num_steps",
                        (long long)r->num_epochs, (long long)r->steps_per_epoch,
                        (long long)ZOO_MOST_STEPS);
    else if (known)
        r->num_steps = r->num_epochs * r->steps_per_epoch;
    else if (r->steps_per_epoch != CONF_NULL)
        conf_diag_warn(p->diag, conf_parse_place(p, length, NULL), length,
                       "without effect: no num_epochs");
    r->epoch_steps = known ? r->steps_per_epoch : CONF_NULL;
    if (known) r->num_epochs = CONF_NULL;
    r->steps_per_epoch = CONF_NULL;
}

/* The order matters: sections first, so that later checks may assume theirs; warnings about idle
 * keys last, and only for a file without errors. */
void zoo_params_check(struct conf_parse *p, const struct conf_node *root, struct zoo_params *params)
{
    check_sections(p, root, params->runconfig.mode);
    zoo_check_inputs(p, params);
    zoo_check_features(p, params);
    zoo_check_seq2seq(p, params);
    zoo_diffusion_check(p, params);
    zoo_set_positions(p, params);
    zoo_check_samples(p, params);
    zoo_check_model(p, params);
    zoo_check_generation(p, &params->model);
    zoo_set_ranges(params);
    if (params->optimizer.optimizer_type) zoo_optimizer_check(p, &params->optimizer);
    check_precision(p, &params->runconfig);
    if (params->runconfig.checkpoint_name)
        check_checkpoint_name(p, params->runconfig.checkpoint_name);
    check_selective(p, params);
    check_clipping(p, &params->optimizer);
    zoo_groups_check(p, &params->optimizer.groups);
    check_format(p, params);
    check_loss_scaling(p, params);
    check_scales_in_32_bits(p, &params->optimizer);
    check_first_scale(p, params);
    check_loss_values(p, &params->runconfig);
    check_profile(p, &params->runconfig);
    check_epochs(p, &params->runconfig);
    for (int i = 0; i < params->sparsity.n && params->log_sparsity; i++)
        params->sparsity.entry[i].add_summaries = true;
    if (!p->diag->n_errors) zoo_idle_warn(p, params);
}
