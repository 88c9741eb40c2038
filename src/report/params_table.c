// SPDX-License-Identifier: Apache-2.0
/* Prints a summary of a params file (struct job_description of <wsc/job.h>), as text for people or
 * as one JSON object on a line. With a plan it also prints the stages on the emulated machine.
 * Called by `wsc run --validate_only`, `--compile_only` and `wsc inspect`. */
#include <wsc/report.h>

#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* True when a setting of muP differs from a model without it. */
static bool has_mup(const struct zoo_model *m)
{
    return m->mup_base_hidden_size > 0 || m->scale_qk_dot_by_d || m->output_logits_scale != 1;
}

/* Name of the format of products. */
static const char *precision_of(const struct zoo_model *m)
{
    return m->mixed_precision ? zoo_params_choice("model.fp16_type", (int)m->fp16_type) : "float32";
}

/* NULL: no positions. */
static const char *position_of(const struct zoo_model *m)
{
    return m->position_embedding_type == ZOO_POSITION_NONE
               ? NULL
               : zoo_params_choice("model.position_embedding_type",
                                   (int)m->position_embedding_type);
}

/* Names as the params file spells them. */
static const char *norm_of(const struct zoo_model *m)
{
    return zoo_params_choice("model.norm_type", (int)m->norm_type);
}

static const char *nonlinearity_of(const struct zoo_model *m)
{
    return zoo_params_choice("model.nonlinearity", (int)m->nonlinearity);
}

/* The input whose batch is described: training, else evaluation. */
static const struct zoo_input *main_input(const struct zoo_params *p)
{
    return p->train_input.present ? &p->train_input : &p->eval_input;
}

/* Last step or number of steps, CONF_NULL when neither is given. */
static int64_t steps_of(const struct zoo_runconfig *r)
{
    return r->max_steps != CONF_NULL ? r->max_steps : r->num_steps;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* A name of the left column. */
static void line(const char *name)
{
    (void)printf("  %-14s", name);
}

/* Heads, positions and windows on one line. */
static void print_attention(const struct job_description *r)
{
    const struct zoo_model *m = &r->params->model;
    const char *position = position_of(m);
    line("attention");
    (void)printf("%lld head%s of %lld, %lld of keys and values; positions: %s",
                 (long long)m->num_heads, wsc_plural(m->num_heads), (long long)r->model->head_dim,
                 (long long)m->num_kv_groups, position ? position : "none");
    if (m->position_embedding_type == ZOO_POSITION_ROTARY)
        (void)printf(", %lld dimensions of a head", (long long)m->rotary_dim);
    if (m->attention_sliding_window_length != CONF_NULL)
        (void)printf("; window %lld%s", (long long)m->attention_sliding_window_length,
                     m->sliding_window_every_other_decoder_layer ? " in every other layer" : "");
    (void)printf("\n");
}

/* Width, nonlinearity and experts on one line. */
static void print_feed_forward(const struct zoo_model *m)
{
    line("feed-forward");
    (void)printf("%lld wide, %s", (long long)m->filter_size, nonlinearity_of(m));
    if (m->moe.num_experts)
        (void)printf("; %lld experts, %lld for each token, %lld shared",
                     (long long)m->moe.num_experts, (long long)m->moe.top_k,
                     (long long)m->moe.num_shared_experts);
    (void)printf("\n");
}

/* Latents, patches and classes of a diffusion transformer. */
static void print_latents(const struct job_description *r)
{
    const struct zoo_diffusion *d = &r->params->model.diffusion;
    line("latents");
    (void)printf("%lld x %lld of %lld channels, %lld patches of %lld x %lld\n",
                 (long long)d->latent_size[0], (long long)d->latent_size[1],
                 (long long)d->latent_channels, (long long)r->model->T, (long long)d->patch_size[0],
                 (long long)d->patch_size[1]);
    line("conditioning");
    (void)printf("%lld classes, %lld frequencies of a time step; scales, shifts and gates\n",
                 (long long)r->params->model.num_labels, (long long)r->model->frequencies);
}

static void print_model(const struct job_description *r)
{
    const struct zoo_model *m = &r->params->model;
    line("model");
    (void)printf("%lld %s blocks of width %lld, %s%s%s\n", (long long)m->num_hidden_layers,
                 m->parallel_block ? "parallel" : "sequential", (long long)m->hidden_size,
                 norm_of(m), m->norm_first_sandwich ? ", sandwich norms" : "",
                 has_mup(m) ? "; muP" : "");
    if (m->objective == ZOO_SEQ2SEQ) {
        line("decoder");
        (void)printf("%lld blocks more, which attend to the output of those above\n",
                     (long long)m->decoder_num_hidden_layers);
    }
    print_attention(r);
    print_feed_forward(m);
    if (m->objective == ZOO_DIFFUSION) {
        print_latents(r);
        return;
    }
    line("tokens");
    (void)printf("%lld in the vocabulary, %s; %lld in a sequence\n", (long long)r->model->V,
                 r->model->head[0].output != MODEL_LM_HEAD_W ? "no output layer over them"
                 : r->model->tied                            ? "tied output layer"
                                                             : "untied output layer",
                 (long long)r->model->stack[0].T);
    if (m->objective != ZOO_SEQ2SEQ) return;
    line("targets");
    (void)printf("%lld in a sequence\n", (long long)r->model->stack[1].T);
}

/* Global batch and micro-batch of an input. */
static void print_batch(const char *name, const struct zoo_input *in)
{
    if (!in->present) return;
    line(name);
    (void)printf("%lld %s, micro-batch ", (long long)in->batch_size,
                 in->samples == ZOO_SAMPLES_PAIRS ? "pairs of sequences" : "sequences");
    if (in->micro_batch_size == CONF_AUTO)
        (void)printf("auto\n");
    else if (in->micro_batch_size == CONF_EXPLORE)
        (void)printf("explore\n");
    else if (in->micro_batch_size == CONF_NULL)
        (void)printf("off: a system's whole share\n");
    else
        (void)printf("%lld\n", (long long)in->micro_batch_size);
}

/* The value of a key as the dump writes it, lists below each other. */
static enum wsc_err print_value(const char *name, const struct zoo_params *p, const char *path)
{
    char *text = NULL;
    TRY(zoo_params_text(p, path, &text));
    const char *value = text[0] == ' ' ? text + 1 : text;
    (void)printf("  %-*s%s\n", value[0] == '\n' ? 0 : 14, name, value);
    wsc_free(text);
    return WSC_OK;
}

/* A run makes num_steps steps and ends at max_steps, whichever comes first. */
static void print_steps(const struct zoo_runconfig *r)
{
    line("steps");
    if (r->num_epochs != CONF_NULL)
        (void)printf("those of %lld epoch%s of the data", (long long)r->num_epochs,
                     wsc_plural(r->num_epochs));
    if (r->num_epochs != CONF_NULL && r->max_steps != CONF_NULL)
        (void)printf(", at most up to step %lld\n", (long long)r->max_steps);
    else if (r->num_epochs != CONF_NULL)
        (void)printf("\n");
    else if (steps_of(r) == CONF_NULL)
        (void)printf("not given\n");
    else if (r->num_steps == CONF_NULL || r->max_steps == CONF_NULL)
        (void)printf("%lld\n", (long long)steps_of(r));
    else
        (void)printf("%lld, at most up to step %lld\n", (long long)r->num_steps,
                     (long long)r->max_steps);
}

/* Batches, steps, precision, optimizer and schedule. */
static enum wsc_err print_training(const struct zoo_params *p)
{
    print_batch("batch", &p->train_input);
    print_batch("evaluation", &p->eval_input);
    print_steps(&p->runconfig);
    line("precision");
    (void)printf("%s, precision_opt_level %lld\n", precision_of(&p->model),
                 (long long)p->runconfig.precision_opt_level);
    if (p->optimizer.optimizer_type) {
        line("optimizer");
        (void)printf("%s\n", p->optimizer.optimizer_type);
        TRY(print_value("schedule", p, "optimizer.learning_rate"));
    }
    return WSC_OK;
}

/* Parameters by module, with their total. */
static enum wsc_err print_parts(const struct job_description *r)
{
    struct out_table *table;
    TRY(out_table_new(&table, "lr", (const char *const[]){"module", "parameters"}));
    for (int i = 0; i < JOB_MODULES; i++) {
        if (!r->module[i].n_params) continue;
        out_table_cell(table, "%s", r->module[i].name);
        out_table_cell(table, "%lld", (long long)r->module[i].n_params);
    }
    out_table_cell(table, "total");
    out_table_cell(table, "%lld", (long long)r->model->n_params);
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

/* Sparse tensors by kind with what remains of them. */
static enum wsc_err print_sparse(const struct job_description *r)
{
    struct out_table *table;
    if (!r->n_sparse) return WSC_OK;
    TRY(out_table_new(&table, "lrlrrr",
                      (const char *const[]){"sparse tensors", "number", "algorithm", "elements",
                                            "density", "at the end"}));
    for (int i = 0; i < r->n_sparse; i++) {
        const struct job_sparse *s = &r->sparse[i];
        const double n = (double)s->n_elems;
        out_table_cell(table, "%s", s->name);
        out_table_cell(table, "%lld", (long long)s->n_tensors);
        out_table_cell(table, "%s",
                       zoo_sparsity_algorithm_name(r->model->sparsity[s->entry].algorithm));
        out_table_cell(table, "%lld", (long long)s->n_elems);
        out_table_cell(table, "%.4f", (double)s->kept_first / n);
        out_table_cell(table, "%.4f", (double)s->kept_last / n);
    }
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

/* The effective params as YAML, then what they come to, then the notes of the parse. */
static enum wsc_err print_params(const struct job_description *r)
{
    const struct zoo_params *p = r->params;
    char *yaml = NULL;
    TRY(zoo_params_dump(p, &yaml));
    if (p->n_phases > 1) (void)printf("# phase %d of %d\n", p->phase, p->n_phases);
    (void)printf("%s\n", yaml);
    wsc_free(yaml);
    print_model(r);
    TRY(print_training(p));
    TRY(print_parts(r));
    TRY(print_sparse(r));
    for (int i = 0; i < p->n_warnings; i++)
        (void)printf("# note: %s\n", p->warning[i].text);
    return WSC_OK;
}

/* A row of the table of stages. */
struct stage_row {
    int64_t n_elems, weight_bytes;
    int64_t cycles[2]; /* forward, backward; -1: the stage has no backward pass */
};

static struct stage_row stage_row_of(const struct job_description *d, int s)
{
    const struct cluster *c = d->cluster;
    const bool backward = !d->evaluates && s >= c->model->first_trained;
    struct stream_amounts amounts;
    stream_amounts_of(&c->hw, c->model, s, MODEL_DENSEST, &amounts);
    const struct model_density *density = amounts.sparse ? &amounts.density : NULL;
    struct stage_row row = {c->model->stage[s].n_elems, amounts.weight_bytes, {-1, -1}};
    for (int pass = 0; pass < (backward ? 2 : 1); pass++)
        row.cycles[pass] =
            cycles_stage(&c->hw, c->model, &d->plan, s, pass, d->plan.micro_batch, density);
    return row;
}

static bool is_same_row(const struct stage_row *a, const struct stage_row *b)
{
    return a->n_elems == b->n_elems && a->weight_bytes == b->weight_bytes &&
           a->cycles[0] == b->cycles[0] && a->cycles[1] == b->cycles[1];
}

/* Stages of the block that begins with stage @p s; 1 outside the blocks. */
static int block_length(const struct model *m, int s)
{
    int n = 1;
    if (m->stage[s].layer < 0) return 1;
    while (s + n < m->n_stages && m->stage[s + n].layer == m->stage[s].layer)
        n++;
    return n;
}

/* Number of blocks from stage @p s on, of @p n stages each, that have equal rows. */
static int equal_blocks(const struct job_description *d, int s, int n)
{
    const struct model *m = d->cluster->model;
    int blocks = 1;
    for (int at = s + n; m->stage[s].layer >= 0 && at + n <= m->n_stages; at += n, blocks++) {
        if (m->stage[at].stack != m->stage[s].stack) return blocks;
        if (m->stage[at].layer != m->stage[s].layer + blocks) return blocks;
        for (int i = 0; i < n; i++) {
            const struct stage_row one = stage_row_of(d, s + i), other = stage_row_of(d, at + i);
            if (!is_same_row(&one, &other)) return blocks;
        }
    }
    return blocks;
}

/* "layers.0-8" for nine equal blocks from the stage "layers.0" on. */
static void name_blocks(const char *name, int blocks, char *text, size_t size)
{
    static const char layers[] = "layers.";
    const char *at = strstr(name, layers);
    char *rest;
    if (!at || blocks == 1) {
        (void)snprintf(text, size, "%s", name);
        return;
    }
    at += strlen(layers);
    const long first = strtol(at, &rest, 10);
    (void)snprintf(text, size, "%.*s%ld-%ld%s", (int)(at - name), name, first, first + blocks - 1,
                   rest);
}

static void add_stage(struct out_table *table, const struct job_description *d, int s, int blocks)
{
    const struct model_stage *stage = &d->cluster->model->stage[s];
    const struct stage_row row = stage_row_of(d, s);
    char bytes[32], name[sizeof stage->name + 16];
    name_blocks(stage->name, blocks, name, sizeof name);
    out_si_unit(bytes, sizeof bytes, (double)row.weight_bytes, "B");
    out_table_cell(table, "%s", name);
    out_table_cell(table, "%lld", (long long)row.n_elems);
    out_table_cell(table, "%s", bytes);
    for (int pass = 0; pass < 2; pass++)
        if (row.cycles[pass] < 0)
            out_table_cell(table, "-");
        else
            out_table_cell(table, "%lld", (long long)row.cycles[pass]);
}

/* A row for each stage, one for equal blocks that follow each other. */
static enum wsc_err print_stages(const struct job_description *d)
{
    const struct model *m = d->cluster->model;
    struct out_table *table;
    TRY(out_table_new(&table, "lrrrr",
                      (const char *const[]){"stage", "parameters", "weights", "forward cycles",
                                            "backward cycles"}));
    for (int s = 0; s < m->n_stages;) {
        const int n = block_length(m, s), blocks = equal_blocks(d, s, n);
        for (int i = 0; i < n; i++)
            add_stage(table, d, s + i, blocks);
        s += n * blocks;
    }
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

/* The plan of a wafer, then its stages. */
static enum wsc_err print_plan(const struct job_description *d)
{
    const struct cluster *c = d->cluster;
    const struct cycles_plan *plan = &d->plan;
    char kept[32], have[32], spilled[32];
    out_si_unit(kept, sizeof kept, (double)(plan->act_bytes_per_sequence * plan->micro_batch), "B");
    out_si_unit(have, sizeof have, (double)plan->act_bytes_available, "B");
    out_si_unit(spilled, sizeof spilled, (double)plan->spill_bytes_per_sequence, "B");
    (void)printf("\nplan %son %d x %s\n"
                 "  lanes                %d\n"
                 "  micro-batch          %lld sequence%s of a system\n"
                 "  micro-batches        %lld of a step\n"
                 "  recomputation        %s\n"
                 "  activations kept     %s per system; the SRAM has %s for them\n"
                 "  of each sequence     %s go to the activation servers\n",
                 d->evaluates ? "of the evaluation " : "", c->net->topology->n_wafers,
                 c->hw.cluster->name, plan->lanes, (long long)plan->micro_batch,
                 wsc_plural(plan->micro_batch), (long long)d->batch.n_micro,
                 plan->recompute ? "on" : "off", kept, have, spilled);
    const struct zoo_input *in = d->evaluates ? &d->params->eval_input : &d->params->train_input;
    if (in->use_vsl) (void)printf("  packed texts         take the time of whole sequences\n");
    return print_stages(d);
}

/* A row of the table of steps: @p first, then time, rates and MFU. */
static void add_speed(struct out_table *table, int64_t first, const struct scaling_row *row)
{
    char step[32], samples[32], tokens[32], mfu[OUT_PERCENT_SIZE];
    out_step_time(step, sizeof step, row->step_time_ps);
    out_si(samples, sizeof samples, row->samples_per_s);
    out_si(tokens, sizeof tokens, row->tokens_per_s);
    out_table_cell(table, "%lld", (long long)first);
    out_table_cell(table, "%s", step);
    out_table_cell(table, "%s", samples);
    out_table_cell(table, "%s", tokens);
    out_table_cell(table, "%s", out_percent(mfu, 1, row->mfu));
}

/* The steady-state step of the described job. */
static enum wsc_err print_speed(const struct scaling_row *row)
{
    struct out_table *table;
    TRY(out_table_new(
        &table, "rrrrr",
        (const char *const[]){"systems", "step time", "samples/s", "tokens/s", "MFU"}));
    add_speed(table, row->num_csx, row);
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    return rc;
}

enum wsc_err report_explored_print(const struct scaling_row *row, int n, int best)
{
    struct out_table *table;
    TRY(out_table_new(
        &table, "rrrrr",
        (const char *const[]){"micro_batch_size", "step time", "samples/s", "tokens/s", "MFU"}));
    for (int i = 0; i < n; i++)
        add_speed(table, row[i].micro_batch, &row[i]);
    enum wsc_err rc = out_table_print(table, stdout, 2);
    out_table_free(&table);
    (void)printf("\nfastest: micro_batch_size %lld\n", (long long)row[best].micro_batch);
    return rc;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* A number, or null where the params have none. */
static void json_optional(struct out_json *j, const char *key, int64_t value)
{
    if (value == CONF_NULL)
        out_json_null(j, key);
    else
        out_json_int(j, key, value);
}

/* A text, or null. */
static void json_text(struct out_json *j, const char *key, const char *value)
{
    if (value)
        out_json_str(j, key, value);
    else
        out_json_null(j, key);
}

/* Fields of the model, docs/FILES.md. */
static void json_model(struct out_json *j, const struct job_description *r)
{
    const struct zoo_model *m = &r->params->model;
    const bool rotary = m->position_embedding_type == ZOO_POSITION_ROTARY;
    out_json_int(j, "params", r->model->n_params);
    out_json_str(j, "name", r->family + (r->family[0] == ' '));
    out_json_int(j, "hidden_size", m->hidden_size);
    out_json_int(j, "num_hidden_layers", m->num_hidden_layers);
    json_optional(j, "decoder_num_hidden_layers",
                  m->objective == ZOO_SEQ2SEQ ? m->decoder_num_hidden_layers : CONF_NULL);
    out_json_int(j, "num_heads", m->num_heads);
    out_json_int(j, "num_kv_groups", m->num_kv_groups);
    out_json_int(j, "head_dim", r->model->head_dim);
    out_json_int(j, "filter_size", m->filter_size);
    out_json_int(j, "vocab_size", m->vocab_size);
    out_json_int(j, "max_position_embeddings", m->max_position_embeddings);
    json_text(j, "position_embedding_type", position_of(m));
    json_optional(j, "rotary_dim", rotary ? m->rotary_dim : CONF_NULL);
    json_optional(j, "attention_sliding_window_length", m->attention_sliding_window_length);
    out_json_str(j, "nonlinearity", nonlinearity_of(m));
    out_json_str(j, "norm_type", norm_of(m));
    out_json_str(j, "block", m->parallel_block ? "par" : "seq");
    out_json_bool(j, "tied", r->model->tied);
    out_json_bool(j, "mup", has_mup(m));
    out_json_int(j, "num_experts", m->moe.num_experts);
    out_json_int(j, "num_shared_experts", m->moe.num_shared_experts);
    out_json_int(j, "top_k", m->moe.num_experts ? m->moe.top_k : 0);
}

/* The micro-batch as the file states it: null also where it says nothing; "tiling" distinguishes
 * the two. */
static void json_batch(struct out_json *j, const struct zoo_params *p)
{
    const struct zoo_input *in = main_input(p);
    const int64_t micro = in->micro_batch_size;
    json_optional(j, "batch_size", in->present ? in->batch_size : CONF_NULL);
    json_optional(j, "eval_batch_size",
                  p->eval_input.present ? p->eval_input.batch_size : CONF_NULL);
    if (micro == CONF_EXPLORE)
        out_json_str(j, "micro_batch_size", "explore");
    else if (micro == CONF_AUTO && in->micro_batch_given)
        out_json_str(j, "micro_batch_size", "auto");
    else
        json_optional(j, "micro_batch_size", micro == CONF_AUTO ? CONF_NULL : micro);
    out_json_str(j, "tiling",
                 micro == CONF_AUTO      ? "auto"
                 : micro == CONF_EXPLORE ? "explore"
                 : micro == CONF_NULL    ? "off"
                                         : "fixed");
}

/* A value of the dump as a list of its lines, without the marks of a YAML list. */
static void json_lines(struct out_json *j, const char *key, char *text)
{
    out_json_open_list(j, key);
    for (char *at = text; at && *at;) {
        at += strspn(at, "\n -");
        char *end = at + strcspn(at, "\n");
        const bool last = !*end;
        *end = '\0';
        if (*at) out_json_str(j, NULL, at);
        at = last ? end : end + 1;
    }
    out_json_close_list(j);
}

/* Fields of batch, steps, precision and optimizer. */
static enum wsc_err json_training(struct out_json *j, const struct zoo_params *p)
{
    const struct zoo_runconfig *run = &p->runconfig;
    char *rate = NULL;
    json_batch(j, p);
    json_optional(j, "steps", steps_of(run));
    json_optional(j, "num_csx", run->num_csx);
    out_json_str(j, "precision", precision_of(&p->model));
    out_json_int(j, "precision_opt_level", run->precision_opt_level);
    json_text(j, "optimizer", p->optimizer.optimizer_type);
    if (p->optimizer.optimizer_type) TRY(zoo_params_text(p, "optimizer.learning_rate", &rate));
    json_lines(j, "learning_rate", rate);
    wsc_free(rate);
    out_json_int(j, "phase", p->phase);
    out_json_int(j, "n_phases", p->n_phases);
    return WSC_OK;
}

/* An object with the speed; nothing without one. */
static void json_speed(struct out_json *j, const char *key, const struct scaling_row *row)
{
    if (!row) return;
    out_json_open(j, key);
    out_json_int(j, "num_csx", row->num_csx);
    out_json_int(j, "micro_batch_size", row->micro_batch);
    out_json_int(j, "step_time_ps", row->step_time_ps);
    out_json_real(j, "samples_per_s", row->samples_per_s);
    out_json_real(j, "tokens_per_s", row->tokens_per_s);
    out_json_real(j, "mfu", row->mfu);
    out_json_real(j, "joules_per_token", row->joules_per_token);
    out_json_close(j);
}

/* Sparse tensors by kind, docs/FILES.md. */
static void json_sparse(struct out_json *j, const struct job_description *r)
{
    const char *pattern;
    int at = 0;
    out_json_open_list(j, "sparse_tensors");
    for (int i = 0; i < r->n_sparse; i++) {
        const struct job_sparse *s = &r->sparse[i];
        out_json_open(j, NULL);
        out_json_str(j, "name", s->name);
        out_json_int(j, "tensors", s->n_tensors);
        out_json_str(j, "algorithm",
                     zoo_sparsity_algorithm_name(r->model->sparsity[s->entry].algorithm));
        out_json_int(j, "elements", s->n_elems);
        out_json_int(j, "kept", s->kept_first);
        out_json_int(j, "kept_at_end", s->kept_last);
        out_json_close(j);
    }
    out_json_close_list(j);
    out_json_open_list(j, "unmatched_patterns");
    for (; (pattern = model_unmatched_pattern(r->model, r->params, &at));)
        out_json_str(j, NULL, pattern);
    out_json_close_list(j);
}

/* Parameters by module, and warnings. */
static void json_rest(struct out_json *j, const struct job_description *r)
{
    out_json_open(j, "modules");
    for (int i = 0; i < JOB_MODULES; i++)
        out_json_int(j, r->module[i].name, r->module[i].n_params);
    out_json_close(j);
    json_sparse(j, r);
    out_json_open_list(j, "warnings");
    for (int i = 0; i < r->params->n_warnings; i++)
        out_json_str(j, NULL, r->params->warning[i].text);
    out_json_close_list(j);
}

enum wsc_err report_explored_print_json(const struct scaling_row *row, int n, int best)
{
    struct out_json j = {0};
    out_json_open(&j, NULL);
    out_json_int(&j, "micro_batch_size", row[best].micro_batch);
    out_json_open_list(&j, "explored");
    for (int i = 0; i < n; i++)
        json_speed(&j, NULL, &row[i]);
    out_json_close_list(&j);
    out_json_close(&j);
    enum wsc_err rc = out_json_check(&j, "explore");
    if (!rc) (void)fputs(j.text.bytes, stdout);
    wsc_text_free(&j.text);
    return rc;
}

static enum wsc_err print_json(const struct job_description *r, const struct scaling_row *speed)
{
    struct out_json j = {0};
    out_json_open(&j, NULL);
    json_model(&j, r);
    enum wsc_err rc = json_training(&j, r->params);
    json_speed(&j, "speed", speed);
    json_rest(&j, r);
    out_json_close(&j);
    if (!rc) rc = out_json_check(&j, r->params->file);
    if (!rc) (void)fputs(j.text.bytes, stdout);
    wsc_text_free(&j.text);
    return rc;
}

enum wsc_err report_job_print(const struct job_description *d, const struct scaling_row *speed,
                              bool json)
{
    if (json) return print_json(d, speed);
    TRY(print_params(d));
    if (!d->cluster) return WSC_OK;
    TRY(print_plan(d));
    return speed ? print_speed(speed) : WSC_OK;
}
