// SPDX-License-Identifier: Apache-2.0
/* Refuses, before anything is built, what the params ask for and this program cannot do:
 * combinations with sparse and preference training, modes without their input, models without
 * programs on the mesh.  Called by job_setup.c on every rank, of which the first one reports, and
 * by the command that only describes a job. */
#include <wsc/job.h>

#include <wsc/check.h>
#include <wsc/data.h>
#include <wsc/log.h>

#include <stdio.h>
#include <string.h>

/* A text becomes tokens by a tokenizer that is named, or bytes. */
static enum wsc_err check_tokenizer(const struct job *job, const char *option)
{
    const struct zoo_params *p = job->params;
    if (p->model.vocab_size == 256 || job->prompts_are_ids || job->tokenizer) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "%s: %s: no tokenizer is named, and vocab_size %lld is not "
                                  "that of bytes",
                                  p->file, option, (long long)p->model.vocab_size),
                        "--tokenizer bpe --vocab vocab.json --merges merges.txt, --tokenizer byte, "
                        "or --prompt_ids");
}

/* The token that ends a text, or begins one that is scored, is one of the model's. */
static enum wsc_err check_eos(const struct job *job)
{
    const struct zoo_params *p = job->params;
    const int64_t n = zoo_model_n_ids(&p->model);
    if (job->eos_id < n) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--eos_id %lld: the texts of %s have %lld token ids",
                                  (long long)job->eos_id, p->file, (long long)n),
                        "an id below %lld, or -1 for none", (long long)n);
}

/* The search for beams knows ends of one token alone, and counts them in the scores. */
static enum wsc_err check_stops(const struct job *job)
{
    const struct zoo_params *p = job->params;
    if (!p->model.generation.stop.n || job->n_beams < 2) return WSC_OK;
    return wsc_err_hint(
        WSC_RAISE(WSC_CONFIG, "%s: model.stop_sequences: not with --num_beams", p->file),
        "--eos_id, and --set model.stop_sequences=null");
}

/* Scores are of single samples of a decoder's labels. */
static enum wsc_err check_requests(const struct job *job)
{
    const struct zoo_params *p = job->params;
    if (p->runconfig.mode != ZOO_EVAL)
        return WSC_RAISE(WSC_USAGE, "--requests: --mode eval scores requests, not another mode");
    if (p->model.objective != ZOO_CAUSAL_LM)
        return WSC_RAISE(WSC_CONFIG, "%s: --requests needs a decoder",
                         zoo_params_place(p, "model.objective"));
    if (p->eval_input.use_vsl || p->eval_input.sink_tokens)
        return WSC_RAISE(WSC_CONFIG, "%s: --requests has no packed texts and no sink tokens",
                         zoo_params_place(p, "eval_input"));
    if (p->reduction_leaf != 1)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s: --requests needs scores of single samples",
                                      zoo_params_place(p, "reduction_leaf")),
                            "--set reduction_leaf=1");
    if (!job->values)
        return WSC_RAISE(WSC_USAGE, "--requests: --numerics none computes no likelihoods");
    TRY(check_eos(job));
    return check_tokenizer(job, "--requests");
}

/* A training ends somewhere.  Epochs whose length the data have need these. */
static enum wsc_err check_length(const struct job *job)
{
    const struct zoo_runconfig *r = &job->params->runconfig;
    const bool epochs = r->num_epochs != CONF_NULL;
    if (epochs && !job->values && r->max_steps == CONF_NULL)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "%s: --numerics none reads no data, whose length is that of "
                                      "an epoch",
                                      zoo_params_place(job->params, "runconfig.num_epochs")),
                            "--num_steps 100, or --set runconfig.steps_per_epoch=...");
    if (epochs || r->num_steps != CONF_NULL || r->max_steps != CONF_NULL) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "%s: neither runconfig.num_steps nor max_steps nor num_epochs",
                                  job->params->file),
                        "--num_steps 100");
}

/* Each mode needs an input of its own; without this an evaluation would fail only after the first
 * steps of training. */
static enum wsc_err check_modes(const struct job *job)
{
    const struct zoo_params *p = job->params;
    const enum zoo_mode mode = p->runconfig.mode;
    const bool trains = zoo_mode_trains(mode);
    if (trains) TRY(check_length(job));
    if (zoo_mode_evaluates(mode) && !p->eval_input.present)
        return WSC_RAISE(WSC_CONFIG, "%s: the mode evaluates, but there is no eval_input", p->file);
    if (zoo_moe_has_sinkhorn(&p->model.moe) && (job->requests || mode == ZOO_GENERATE))
        return WSC_RAISE(
            WSC_CONFIG,
            "%s: sinkhorn normalises over whole sequences: such models generate no text "
            "and score no --requests",
            zoo_params_place(p, "model.moe"));
    if (job->requests) TRY(check_requests(job));
    if (mode != ZOO_GENERATE) return WSC_OK;
    if (p->model.objective != ZOO_CAUSAL_LM && p->model.objective != ZOO_SEQ2SEQ)
        return WSC_RAISE(WSC_CONFIG, "%s: encoders without a decoder generate no text",
                         zoo_params_place(p, "model.objective"));
    if (p->model.dpo.on)
        return wsc_err_hint(
            WSC_RAISE(WSC_CONFIG, "%s: pairs of sequences generate no text",
                      zoo_params_place(p, "model.dpo")),
            "the params without model.dpo read its checkpoints and take the policy");
    if (!job->n_prompts)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--mode generate needs a text to continue"),
                            "--prompt 'The hacker '");
    TRY(check_eos(job));
    TRY(check_stops(job));
    return check_tokenizer(job, "--prompt");
}

/* Samples without labels of the objective would train on zeros. The time of a step needs no
 * samples. */
static enum wsc_err check_loader(const struct job *job, const struct zoo_input *in, const char *key)
{
    const struct zoo_params *p = job->params;
    const enum zoo_objective objective = p->model.objective;
    const char *other = zoo_objective_loader(objective);
    if (zoo_input_serves(in, objective)) return WSC_OK;
    WSC_CHECK(other, "objective %d has no loader", (int)objective);
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s: %s has no labels for model.objective %s",
                                  zoo_params_place(p, key), in->data_processor,
                                  zoo_params_choice("model.objective", (int)objective)),
                        "%s has; --numerics none reads no samples", other);
}

static enum wsc_err check_loaders(const struct job *job)
{
    const struct zoo_params *p = job->params;
    const enum zoo_mode mode = p->runconfig.mode;
    if (!job->values) return WSC_OK;
    if (zoo_mode_trains(mode))
        TRY(check_loader(job, &p->train_input, "train_input.data_processor"));
    if (zoo_mode_evaluates(mode) && !job->requests)
        TRY(check_loader(job, &p->eval_input, "eval_input.data_processor"));
    return WSC_OK;
}

/* What a run without values cannot write, in one warning. */
static void warn_without_values(const struct job *job)
{
    const struct zoo_params *p = job->params;
    const bool generates = p->runconfig.mode == ZOO_GENERATE;
    const struct {
        const char *key;
        bool asked;
    } row[] = {{"--eos_id", generates && job->eos_id >= 0},
               {"model.stop_sequences", generates && p->model.generation.stop.n},
               {"trace_hash", p->trace_hash},
               {"runconfig.num_epochs", p->runconfig.num_epochs != CONF_NULL},
               {"model.recompute", p->model.recompute},
               {"optimizer.log_summaries", p->optimizer.log_summaries},
               {"optimizer.gradient_noise_scale", p->optimizer.gradient_noise_scale},
               {"runconfig.save_initial_checkpoint", p->runconfig.save_initial_checkpoint},
               {"runconfig.max_checkpoints", p->runconfig.max_checkpoints != CONF_NULL},
               {"runconfig.load_checkpoint_states", p->runconfig.load_checkpoint_states != NULL}};
    char list[320] = "";
    for (size_t i = 0, used = 0; i < sizeof row / sizeof *row; i++) {
        if (!row[i].asked) continue;
        (void)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", row[i].key);
        used = strlen(list);
    }
    if (*list) WSC_WARNING("without effect: %s: --numerics none keeps the time alone", list);
}

/* The whole block is computed again when its backward pass begins, with all of its weights. */
static enum wsc_err check_recompute(const struct job *job)
{
    const struct zoo_params *p = job->params;
    if (!p->model.recompute || job->cluster->stream.granularity == HW_STREAM_BLOCK) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "%s: needs whole blocks, and stream.granularity is matrix",
                                  zoo_params_place(p, "model.recompute")),
                        "--set cluster.stream.granularity=block");
}

/* Diffusion transformers have virtual time alone. */
static enum wsc_err check_diffusion(const struct job *job)
{
    const struct zoo_params *p = job->params;
    if (p->model.objective != ZOO_DIFFUSION) return WSC_OK;
    if (job->values)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "%s: no values of diffusion transformers are computed in "
                                      "this release, their virtual time is",
                                      zoo_params_place(p, "model.name")),
                            "--numerics none");
    if (p->runconfig.mode == ZOO_GENERATE)
        return WSC_RAISE(WSC_CONFIG, "%s: diffusion transformers generate no text",
                         zoo_params_place(p, "model.name"));
    return WSC_OK;
}

/* Every PE is emulated cycle by cycle: of 128 x 128 busy PEs some thousand cycles a second
 * (docs/BENCHMARKS.md), so that a step of a small model takes hours on a whole wafer. */
static void warn_of_large_mesh(const struct hw_wafer *w)
{
    enum { SMALL = 128 * 128 };
    if (w->pe_cols * w->pe_rows <= SMALL) return;
    WSC_WARNING("--numerics mesh: %lld x %lld PEs are emulated cycle by cycle, so that a step may "
                "take hours; fewer: --set cluster.wafer.pe_cols=16 --set cluster.wafer.pe_rows=16",
                (long long)w->pe_cols, (long long)w->pe_rows);
}

/* With fewer sentinels than spans the Model Zoo takes the last tokens of the vocabulary too. */
static void warn_of_sentinels(const struct zoo_input *in, const char *key)
{
    if (in->samples != ZOO_SAMPLES_SPANS) return;
    const int64_t n = data_span_sentinels(in->max_sequence_length);
    if (in->extra_ids >= n) return;
    WSC_WARNING("%s: %lld sentinel%s, but sources of %lld tokens have up to %lld spans: the last "
                "tokens of the vocabulary are sentinels too",
                key, (long long)in->extra_ids, wsc_plural(in->extra_ids),
                (long long)in->max_sequence_length, (long long)n);
}

/* Warnings about the inputs whose samples the run reads. */
static void warn_of_inputs(const struct job *job)
{
    const struct zoo_params *p = job->params;
    const enum zoo_mode mode = p->runconfig.mode;
    if (zoo_mode_trains(mode)) warn_of_sentinels(&p->train_input, "train_input.extra_ids");
    if (!zoo_mode_evaluates(mode) || job->requests) return;
    if (!p->eval_input.drop_last)
        WSC_WARNING("%s: batches are of one size: samples after the last whole one are not "
                    "evaluated",
                    zoo_params_place(p, "eval_input.drop_last"));
    warn_of_sentinels(&p->eval_input, "eval_input.extra_ids");
}

enum wsc_err job_check(const struct job *job)
{
    TRY(check_diffusion(job));
    TRY(check_modes(job));
    TRY(check_loaders(job));
    if (job->dump_gradients && !job->values)
        return WSC_RAISE(WSC_USAGE, "--dump_gradients needs values: --numerics host");
    if (!job->values) warn_without_values(job);
    if (job->values) warn_of_inputs(job);
    if (job->numerics == KERNELS_MESH && job->params->model.recompute)
        WSC_WARNING("model.recompute: without effect on the mesh");
    if (job->numerics == KERNELS_MESH) warn_of_large_mesh(&job->cluster->wafer);
    if (job->numerics == KERNELS_HOST) TRY(check_recompute(job));
    return WSC_OK;
}
