// SPDX-License-Identifier: Apache-2.0
/* Checks between keys of params files, and of texts that have a meaning. */
#include "conf_impl.h"

#include <string.h>
#include <strings.h>

/* Position of the first of the keys that is in the file. */
static struct conf_pos where(const struct conf_parse *p, const char *path, const char *other)
{
    const char *const paths[] = {path, other};
    for (int i = 0; i < 2; i++) {
        int row = paths[i] ? conf_keys_find(p->table, paths[i]) : -1;
        if (row >= 0 && p->given[row]) return p->given[row]->pos;
    }
    return (struct conf_pos){0};
}

static void check_sections(struct conf_parse *p, const struct conf_node *root, enum conf_mode mode)
{
    bool trains = mode == CONF_TRAIN || mode == CONF_TRAIN_AND_EVAL;
    bool evals = mode == CONF_EVAL || mode == CONF_TRAIN_AND_EVAL;
    const struct {
        const char *name;
        bool needed;
    } sections[] = {
        {"model", true}, {"train_input", trains}, {"optimizer", trains}, {"eval_input", evals}};
    for (int i = 0; i < 4; i++) {
        if (!sections[i].needed || !conf_node_is_null(conf_node_find(root, sections[i].name)))
            continue;
        conf_diag_error(p->diag, (struct conf_pos){0}, sections[i].name,
                        "required section is missing");
    }
}

static void check_text(struct conf_parse *p, const char *path, const char *text,
                       const struct conf_choice *choices)
{
    if (!text) return;
    const struct conf_node node = {
        .kind = CONF_NODE_SCALAR, .text = text, .pos = where(p, path, NULL)};
    if (conf_choice_find(choices, &node) < 0) conf_key_unsupported(p, path, &node, choices);
}

static void check_input(struct conf_parse *p, const struct conf_input *in, bool training,
                        const struct conf_params *params)
{
    static const struct conf_choice processors[CONF_MAX_CHOICES] = {
        {"GptHDF5MapDataProcessor", 0}, {"GptHDF5DataProcessor", 0}, {"BertHDF5DataProcessor", 1}};
    const char *batch = training ? "train_input.batch_size" : "eval_input.batch_size";
    const char *micro = training ? "train_input.micro_batch_size" : "eval_input.micro_batch_size";
    const char *processor = training ? "train_input.data_processor" : "eval_input.data_processor";
    const bool bert = in->data_processor && !strncasecmp(in->data_processor, "bert", 4);
    if (bert && params->model.objective == CONF_CAUSAL_LM)
        conf_diag_error(p->diag, where(p, processor, NULL), processor,
                        "%s makes data for model.objective masked_lm or classification",
                        in->data_processor);
    int64_t n = params->runconfig.num_csx, b = in->batch_size, m = in->micro_batch_size;
    check_text(p, processor, in->data_processor, processors);
    if (b < 1 || n < 1) return;
    if (b % n)
        conf_diag_warn(p->diag, where(p, batch, NULL), batch,
                       "%lld sequences do not divide evenly among %lld systems; the real cluster "
                       "wants that",
                       (long long)b, (long long)n);
    else if (m > 0 && (b / n) % m)
        conf_diag_warn(p->diag, where(p, micro, NULL), micro,
                       "%lld does not divide the %lld sequences of a system", (long long)m,
                       (long long)(b / n));
    if (training && params->reduction_leaf > b)
        conf_diag_error(p->diag, where(p, "reduction_leaf", NULL), "reduction_leaf",
                        "must be at most train_input.batch_size, %lld, got %lld", (long long)b,
                        (long long)params->reduction_leaf);
}

static void check_model(struct conf_parse *p, struct conf_model *m)
{
    if (m->num_heads > 0 && m->hidden_size % m->num_heads)
        conf_diag_error(p->diag, where(p, "model.num_heads", "model.hidden_size"),
                        "model.num_heads", "%lld heads do not divide hidden_size, %lld",
                        (long long)m->num_heads, (long long)m->hidden_size);
    if (m->loss_scaling == CONF_LOSS_NUM_TOKENS && m->loss_weight != 1) {
        conf_diag_warn(p->diag, where(p, "model.loss_weight", NULL), "model.loss_weight",
                       "taken as 1 with loss_scaling num_tokens");
        m->loss_weight = 1;
    }
}

static void check_optimizer(struct conf_parse *p, const struct conf_optimizer *o)
{
    static const struct conf_choice types[CONF_MAX_CHOICES] = {{"AdamW", 0}};
    const struct {
        const char *old;
        double value;
    } betas[] = {{"optimizer.beta1", o->beta1}, {"optimizer.beta2", o->beta2}};
    check_text(p, "optimizer.optimizer_type", o->optimizer_type, types);
    for (int i = 0; i < 2; i++)
        if (!(betas[i].value >= 0 && betas[i].value < 1))
            conf_diag_error(p->diag, where(p, "optimizer.betas", betas[i].old), "optimizer.betas",
                            "must be at least 0 and less than 1, got %.15g", betas[i].value);
    if (o->max_loss_scale > 0 && o->min_loss_scale > o->max_loss_scale)
        conf_diag_error(p->diag, where(p, "optimizer.min_loss_scale", NULL),
                        "optimizer.min_loss_scale", "is greater than max_loss_scale");
}

/* Comma list of what a checkpoint can hold. */
static void check_states(struct conf_parse *p, const char *list)
{
    static const char *const states[] = {"model",        "optimizer", "dataloader", "grad_scaler",
                                         "lr_scheduler", "sparsity",  "global_step"};
    const char *path = "runconfig.load_checkpoint_states";
    for (; list && *list; list += *list == ',') {
        list += strspn(list, " ");
        size_t n = strcspn(list, ", ");
        bool known = false;
        for (size_t i = 0; i < sizeof states / sizeof *states; i++)
            known = known || (strlen(states[i]) == n && !strncmp(list, states[i], n));
        if (!known) {
            conf_diag_error(p->diag, where(p, path, NULL), path,
                            "unknown state \"%.*s\"; supported: model, optimizer, dataloader, "
                            "grad_scaler, lr_scheduler, sparsity, global_step",
                            (int)(n < 40 ? n : 40), list);
            return;
        }
        list += n + strspn(list + n, " ");
    }
}

static void check_profile(struct conf_parse *p, const struct conf_runconfig *r)
{
    const char *first = "runconfig.op_profiler_config.start_step",
               *last = "runconfig.op_profiler_config.end_step";
    bool has_first = r->profile_start_step != CONF_NULL,
         has_last = r->profile_end_step != CONF_NULL;
    if (has_first != has_last)
        conf_diag_error(p->diag, where(p, first, last), "runconfig.op_profiler_config",
                        "needs both start_step and end_step");
    else if (has_first && r->profile_start_step > r->profile_end_step)
        conf_diag_error(p->diag, where(p, last, NULL), last, "must be at least start_step, %lld",
                        (long long)r->profile_start_step);
}

void conf_params_check(struct conf_parse *p, const struct conf_node *root,
                       struct conf_params *params)
{
    check_sections(p, root, params->runconfig.mode);
    if (params->train_input.present) check_input(p, &params->train_input, true, params);
    if (params->eval_input.present) check_input(p, &params->eval_input, false, params);
    check_model(p, &params->model);
    if (params->optimizer.optimizer_type) check_optimizer(p, &params->optimizer);
    check_states(p, params->runconfig.load_checkpoint_states);
    check_profile(p, &params->runconfig);
}
