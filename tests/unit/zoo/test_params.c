// SPDX-License-Identifier: Apache-2.0
#include "../../support/params_case.h"
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/mem.h>
#include <wsc/zoo.h>

#include <stdio.h>
#include <string.h>

#define INPUT                                                                                      \
    "train_input: {data_processor: GptHDF5MapDataProcessor, data_dir: ./d, batch_size: 8}\n"
#define MODEL "model: {vocab_size: 256, hidden_size: 64, num_heads: 2}\n"
#define OPTIM "optimizer: {optimizer_type: AdamW, learning_rate: 1e-3}\n"

static enum wsc_err parse(struct zoo_params *p, const char *text)
{
    return zoo_params_parse(p, "t.yaml", text, strlen(text), NULL, 0);
}

static enum wsc_err parse_set(struct zoo_params *p, const char *text, const char *set)
{
    const struct conf_set sets[] = {{.text = set}};
    return zoo_params_parse(p, "t.yaml", text, strlen(text), sets, 1);
}

static void check_default_model(const struct zoo_model *m)
{
    T_EQ(m->num_hidden_layers, 12);
    T_EQ(m->filter_size, 3072);
    T_EQ(m->max_position_embeddings, 1024);
    T_EQ(m->position_embedding_type, ZOO_POSITION_LEARNED);
    T_EQ(m->nonlinearity, ZOO_GELU);
    T_EQ(m->fp16_type, NUM_HALF_BF16);
    CU_ASSERT(m->layer_norm_epsilon == 1e-5);
    CU_ASSERT(m->dropout_rate == 0.1 && m->attention_dropout_rate == 0.1);
    CU_ASSERT(m->share_embedding_weights && m->use_ffn_bias && m->use_ffn_bias_in_attention);
    CU_ASSERT(!m->use_bias_in_output && !m->mixed_precision && m->attention_softmax_fp32);
    T_EQ(m->initializer.kind, ZOO_INIT_DEFAULT);
    CU_ASSERT(m->embeddings_scale == 1 && m->output_logits_scale == 1);
}

/* The defaults that release 2.2 documents. */
TEST(zoo_params, defaults)
{
    struct zoo_params p;
    T_OK(parse(&p, INPUT MODEL OPTIM));
    check_default_model(&p.model);
    CU_ASSERT(p.optimizer.beta1 == 0.9 && p.optimizer.beta2 == 0.999 && p.optimizer.eps == 1e-6);
    CU_ASSERT(p.optimizer.correct_bias && p.optimizer.weight_decay.node[0].initial == 0);
    CU_ASSERT(p.optimizer.max_gradient_norm == 0 && p.optimizer.loss_scaling_factor == 1);
    T_EQ(p.optimizer.learning_rate.n, 1);
    T_EQ(p.optimizer.learning_rate.node[0].scheduler, ZOO_SCHEDULE_CONSTANT);
    CU_ASSERT(p.optimizer.learning_rate.node[0].initial == 1e-3);
    T_EQ(p.train_input.micro_batch_size, CONF_AUTO);
    CU_ASSERT(p.train_input.repeat && !p.train_input.shuffle && !p.eval_input.present);
    T_EQ(p.runconfig.num_steps, CONF_NULL);
    T_EQ(p.runconfig.max_steps, CONF_NULL);
    T_EQ(p.runconfig.checkpoint_steps, 0);
    T_EQ(p.runconfig.num_csx, 1);
    T_STR(p.runconfig.model_dir, "./model_dir");
    CU_ASSERT_PTR_NULL(p.runconfig.checkpoint_path);
    T_EQ(p.reduction_leaf, 1);
    T_EQ(p.n_warnings, 0);
    zoo_params_fini(&p);
}

/* What users' files do: anchors, merge keys, duplicates, dotless exponents, ints for floats,
 * mixed booleans, quotes, lists without indentation, no final newline. */
TEST(zoo_params, yaml_as_users_write_it)
{
    struct zoo_params p;
    T_OK(parse(&p, "train_input: &data\n"
                   "    data_processor: \"GptHDF5DataProcessor\"   \n"
                   "    data_dir:\n"
                   "    - './a b'\n"
                   "    - ./c/\n"
                   "    batch_size: 8.0 # trailing\n"
                   "    shuffle: True\n"
                   "    micro_batch_size: ~\n"
                   "eval_input:\n"
                   "    <<: *data\n"
                   "    data_dir: ./val\n"
                   "    shuffle: off\n"
                   "##### model\n"
                   "model:\n"
                   "  vocab_size: 50257\n"
                   "  layer_norm_epsilon: 1e-05\n"
                   "  dropout_rate: 0\n"
                   "  attention_dropout_rate: 0.5\n"
                   "  embeddings_scale: 10\n"
                   "  loss_weight: 2147483648.0\n"
                   "  loss_scaling: batch_size\n"
                   "  initializer: &i\n"
                   "    name: truncated_normal\n"
                   "    std: 0.08\n"
                   "    a: -0.15\n"
                   "    a: -0.16\n"
                   "  embedding_initializer: *i\n"
                   "  output_layer_initializer: zeros\n"
                   "optimizer:\n"
                   "  optimizer_type: adamw\n"
                   "  learning_rate: 6e-06\n"
                   "  betas: [0.9, 0.95]\n"
                   "runconfig: {max_steps: 1e3}"));
    T_EQ(p.train_input.n_data_dirs, 2);
    T_STR(p.train_input.data_dir[0], "./a b");
    T_EQ(p.train_input.micro_batch_size, CONF_NULL);
    T_EQ(p.eval_input.batch_size, 8);
    T_EQ(p.eval_input.n_data_dirs, 1);
    T_STR(p.eval_input.data_dir[0], "./val");
    CU_ASSERT(p.eval_input.present && p.train_input.shuffle && !p.eval_input.shuffle);
    CU_ASSERT(p.model.layer_norm_epsilon == 1e-5 && p.model.embeddings_scale == 10);
    CU_ASSERT(p.model.dropout_rate == 0 && p.model.attention_dropout_rate == 0.5);
    CU_ASSERT(p.model.embedding_dropout_rate == 0 && p.model.residual_dropout_rate == 0);
    CU_ASSERT(p.model.loss_weight == 2147483648.0);
    T_EQ(p.model.embedding_initializer.kind, ZOO_INIT_TRUNCATED_NORMAL);
    CU_ASSERT(p.model.embedding_initializer.a == -0.16 && p.model.embedding_initializer.b == 0.16);
    T_EQ(p.model.output_layer_initializer.kind, ZOO_INIT_ZEROS);
    CU_ASSERT(p.optimizer.learning_rate.node[0].initial == 6e-6 && p.optimizer.beta2 == 0.95);
    T_EQ(p.runconfig.max_steps, 1000);
    T_EQ(p.n_warnings, 1);
    CU_ASSERT(params_warn(&p, "t.yaml:26:5: model.initializer.a: given twice, first on line 25"));
    zoo_params_fini(&p);
}

TEST(zoo_params, old_spellings_are_taken_with_a_warning)
{
    struct zoo_params p;
    T_OK(parse(&p,
               INPUT "model: {vocab_size: 9, use_bfloat16: True, use_position_embedding: True,\n"
                     "  use_rms_norm: False, precision_opt_level: 2, scale_by_layer_index: on}\n"
                     "optimizer: {optimizer_type: AdamW, weight_decay_rate: 0.1, beta1: 0.8,\n"
                     "  epsilon: 1e-9, use_bias_correction: False, ws_summary: True,\n"
                     "  learning_rate: [{scheduler: linearlr, initial_learning_rate: 0,\n"
                     "    end_learning_rate: 1, steps: 10},\n"
                     "    {scheduler: COSINEDECAY, initial_learning_rate: 1, alpha: 0,\n"
                     "     end_learning_rate: 0, decay_steps: 1399998000}]}\n"
                     "runconfig: {save_checkpoint_steps: 7, keep_checkpoint_max: 3,\n"
                     "  is_pretrained_checkpoint: True, use_cs_grad_accum: True}\n"));
    T_EQ(p.model.fp16_type, NUM_HALF_BF16);
    CU_ASSERT(p.model.scale_qk_dot_by_layer_idx && !p.optimizer.correct_bias);
    CU_ASSERT(p.optimizer.weight_decay.node[0].initial == 0.1 && p.optimizer.eps == 1e-9);
    CU_ASSERT(p.optimizer.beta1 == 0.8 && p.optimizer.beta2 == 0.999);
    T_EQ(p.optimizer.learning_rate.n, 3);
    T_EQ(p.optimizer.learning_rate.node[1].total_iters, 10);
    T_EQ(p.optimizer.learning_rate.node[2].scheduler, ZOO_SCHEDULE_COSINE_DECAY);
    T_EQ(p.optimizer.learning_rate.node[2].total_iters, 1399998000);
    T_EQ(p.runconfig.precision_opt_level, 2);
    T_EQ(p.runconfig.checkpoint_steps, 7);
    T_EQ(p.runconfig.max_checkpoints, 3);
    T_STR(p.runconfig.load_checkpoint_states, "model,dataloader");
    CU_ASSERT(
        params_warn(&p, "optimizer.weight_decay_rate: old spelling: write optimizer.weight_decay"));
    CU_ASSERT(params_warn(&p, "model.use_bfloat16: old spelling: write model.fp16_type: bfloat16"));
    CU_ASSERT(params_warn(&p, "optimizer.learning_rate[0].steps: old spelling: write total_iters"));
    CU_ASSERT(params_warn(&p, "optimizer.ws_summary: ignored"));
    CU_ASSERT(!params_warn(&p, "beta2"));
    CU_ASSERT(params_warn(&p, "model.fp16_type: without effect: mixed_precision is off"));
    T_EQ(p.n_warnings, 18);
    zoo_params_fini(&p);
}

TEST(zoo_params, new_spelling_wins_over_the_old_one)
{
    struct zoo_params p;
    T_OK(parse(&p, INPUT MODEL "optimizer: {optimizer_type: AdamW, learning_rate: 1,\n"
                               "  weight_decay: 0.1, weight_decay_rate: 0.2}\n"));
    CU_ASSERT(p.optimizer.weight_decay.node[0].initial == 0.1);
    CU_ASSERT(params_warn(&p, "the new one, given as well, counts"));
    zoo_params_fini(&p);
}

TEST(zoo_params, warnings_of_meaning)
{
    struct zoo_params p;
    T_OK(parse(&p, INPUT "model: {vocab_size: 9, loss_weight: 0.5, pad_rope: true}\n" OPTIM
                         "runconfig: {num_csx: 3}\n"));
    CU_ASSERT(p.model.loss_weight == 1);
    CU_ASSERT(params_warn(&p, "model.loss_weight: taken as 1"));
    CU_ASSERT(params_warn(&p, "8 sequences do not divide evenly among 3 systems"));
    CU_ASSERT(params_warn(&p, "without effect here: model.pad_rope"));
    zoo_params_fini(&p);
}

/* Of two values of one key, however it is written, one is dropped, with a warning. */
TEST(zoo_params, a_key_twice_on_the_command_line_warns)
{
    static const struct {
        const char *set[2], *warning; /* NULL: none */
    } pair[] = {
        {{"runconfig.num_csx=2", "runconfig.num_csx=4"}, "--set runconfig.num_csx: given twice"},
        {{"optimizer.betas=[0.9, 0.95]", "optimizer.betas=[0.8, 0.9]"},
         "--set optimizer.betas: given twice"},
        {{"model.num_heads=3", "model={vocab_size: 9}"}, "--set model: given twice"},
        {{"runconfig.num_csx=2", "runconfig.seed=4"}, NULL},
        {{"cluster.jitter=0", "cluster.jitter=0.1"}, "--set cluster.jitter: given twice"},
        {{"cluster.jitter=0", "cluster.jitter_stage=0.1"}, NULL},
        {{"cluster.faults+=straggler:factor=2", "cluster.faults+=straggler:factor=3"}, NULL}};
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        struct zoo_params p;
        const struct conf_set sets[] = {{.text = pair[i].set[0]}, {.text = pair[i].set[1]}};
        const char *text = INPUT "model: {vocab_size: 9}\n" OPTIM;
        T_OK(zoo_params_parse(&p, "t.yaml", text, strlen(text), sets, 2));
        T_EQ(params_warn(&p, "given twice"), pair[i].warning != NULL);
        CU_ASSERT(!pair[i].warning || params_warn(&p, pair[i].warning));
        zoo_params_fini(&p);
    }
}

/* A key that nothing depends on, given the others, says so; with the others as it needs them, and
 * in a dump, it is silent. */
static void check_idle(const char *model, const char *more, const char *warning)
{
    struct zoo_params p, q;
    char text[1024], *dump = NULL;
    (void)snprintf(text, sizeof text,
                   INPUT "model: {vocab_size: 64, hidden_size: 32, num_heads: 2, %s}\n"
                         "optimizer: {optimizer_type: AdamW, learning_rate: 1%s}\n",
                   model, more);
    T_OK(parse(&p, text));
    T_EQ(p.n_warnings, warning ? 1 : 0);
    CU_ASSERT(!warning || params_warn(&p, warning));
    T_OK(zoo_params_dump(&p, &dump));
    T_OK(parse(&q, dump));
    T_EQ(q.n_warnings, 0);
    wsc_free(dump);
    zoo_params_fini(&p);
    zoo_params_fini(&q);
}

TEST(zoo_params, a_key_without_effect_beside_the_others_warns)
{
    static const struct {
        const char *model, *more, *warning, *acting; /* what makes the key act */
    } cases[] = {
        {"rotary_dim: 8", "", "model.rotary_dim: without effect: position_embedding_type is not",
         "rotary_dim: 8, position_embedding_type: rotary"},
        {"rope_theta: 5", "", "model.rope_theta: without effect",
         "rope_theta: 5, position_embedding_type: rotary"},
        {"pos_scaling_factor: 2", "", "model.pos_scaling_factor: without effect",
         "pos_scaling_factor: 2, position_embedding_type: alibi"},
        {"position_embedding_type: rotary, pos_scaling_extra_args: {beta_fast: 2}", "",
         "model.pos_scaling_extra_args.beta_fast: without effect",
         "position_embedding_type: rotary, pos_scaling_type: yarn, pos_scaling_extra_args: "
         "{beta_fast: 2, original_max_position_embeddings: 8}"},
        {"name: gptj, dropout_rate: 0.5, residual_dropout_rate: 0.25", "",
         "model.dropout_rate: gives way to model.residual_dropout_rate",
         "name: gptj, dropout_rate: 0.5, residual_dropout_rate: 0.50"},
        {"fp16_type: bfloat16", "", "model.fp16_type: without effect: mixed_precision is off",
         "fp16_type: bfloat16, mixed_precision: true"},
        {"fp16_type: float16, mixed_precision: true", ", initial_loss_scale: 8",
         "optimizer.initial_loss_scale: without effect", NULL},
        {"dropout_rate: 0", ", loss_scaling_factor: 8",
         "optimizer.loss_scaling_factor: without effect", NULL},
        {"dropout_rate: 0", ", loss_scaling_factor: 1.0", NULL, NULL},
        {"moe: {top_k: 2}", "", "model.moe.top_k: without effect: there are no experts",
         "moe: {num_experts: 4, top_k: 2}"},
        {"moe: {num_experts: 4, routing_algorithm: hash, router_selection_nonlinearity: sigmoid}",
         "", "model.moe.router_selection_nonlinearity: without effect",
         "moe: {num_experts: 4, router_selection_nonlinearity: sigmoid}"},
        {"moe: {num_experts: 4, sinkhorn_n_iters: 3}", "",
         "model.moe.sinkhorn_n_iters: without effect",
         "moe: {num_experts: 4, sinkhorn_n_iters: 3, expert_weighting_nonlinearity: sinkhorn}"},
        {"max_predictions_per_seq: 3", "", "model.max_predictions_per_seq: without effect",
         "name: bert, max_predictions_per_seq: 3"},
        {"num_segments: 3", "", "model.num_segments: without effect",
         "name: bert, num_segments: 3"},
        {"task_dropout: 0.25", "", "model.task_dropout: without effect",
         "name: bert/classifier, num_classes: 3, task_dropout: 0.25"},
        {"name: bert/token_classifier, num_classes: 3", "", NULL, NULL},
        {"output_logits_alpha: 2", "", "model.output_logits_alpha: without effect: muP",
         "output_logits_alpha: 2, mup_base_hidden_size: 16, mup_base_filter_size: 16"},
        {"attention_sink_tokens: 4", "", "model.attention_sink_tokens: without effect",
         "attention_sink_tokens: 4, attention_sliding_window_length: 8"},
        {"name: gpt3, use_untied_layer_norm: true", "",
         "model.use_untied_layer_norm: without effect", "name: gptj, use_untied_layer_norm: true"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_idle(cases[i].model, cases[i].more, cases[i].warning);
        if (cases[i].acting) check_idle(cases[i].acting, "", NULL);
    }
}

TEST(zoo_params, keys_that_pairs_do_not_use_warn)
{
    static const char text[] =
        "train_input: {data_processor: DpoHDF5DataProcessor, data_dir: ./d, batch_size: 8}\n"
        "model: {vocab_size: 256, hidden_size: 64, num_heads: 2, dpo: {beta: 0.5}}\n" OPTIM
        "runconfig: {num_csx: 2}\n";
    static const char *const keys[] = {"label_smoothing", "embedding_dropout_rate",
                                       "attention_dropout_rate", "dropout_rate"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (int on = 0; on < 2; on++) {
            char set[100], warning[100];
            struct zoo_params p;
            (void)snprintf(set, sizeof set, "model.%s=0.%d", keys[i], on);
            (void)snprintf(warning, sizeof warning, "model.%s: without effect", keys[i]);
            T_OK(parse_set(&p, text, set));
            CU_ASSERT_EQUAL(params_warn(&p, warning), on == 1);
            zoo_params_fini(&p);
        }
}

/* Files of the Model Zoo keep the seed beside the switch; who sets it means it. */
/* An input that the mode does not read has no effect, whatever its loader. */
TEST(zoo_params, inputs_of_pairs_are_checked_where_they_are_read)
{
    static const char text[] =
        "train_input: {data_processor: DpoHDF5DataProcessor, data_dir: ./d, batch_size: 8}\n"
        "eval_input: {data_processor: GptHDF5MapDataProcessor, data_dir: ./d, batch_size: 8}\n"
        "model: {vocab_size: 256, hidden_size: 64, num_heads: 2, dpo: {beta: 0.5}}\n" OPTIM;
    struct zoo_params p;
    T_OK(parse_set(&p, text, "runconfig.mode=train"));
    zoo_params_fini(&p);
    T_EQ(parse_set(&p, text, "runconfig.mode=train_and_eval"), WSC_CONFIG);
    T_STR(wsc_err_message(), "t.yaml:2:30: eval_input.data_processor: model.dpo trains on pairs; "
                             "hint: DpoHDF5DataProcessor");
    zoo_params_fini(&p);
}

TEST(zoo_params, an_idle_seed_of_shuffling_warns_from_the_command_line_alone)
{
    static const char text[] =
        "train_input: {data_processor: GptHDF5MapDataProcessor, data_dir: ./d, batch_size: 8, "
        "shuffle: false, shuffle_seed: 3}\n" MODEL OPTIM "runconfig: {num_csx: 2}\n";
    struct zoo_params p;
    T_OK(parse(&p, text));
    T_EQ(p.n_warnings, 0);
    zoo_params_fini(&p);
    T_OK(parse_set(&p, text, "train_input.shuffle_seed=4"));
    CU_ASSERT(params_warn(&p, "--set train_input.shuffle_seed: without effect: shuffle is off"));
    zoo_params_fini(&p);
}

/* A file serves all modes; a user who sets a key for one that has no use of it is warned. */
TEST(zoo_params, keys_of_other_modes_warn_from_the_command_line_alone)
{
    static const char text[] =
        INPUT "eval_input: {data_processor: GptHDF5MapDataProcessor, data_dir: ./d, batch_size: "
              "8}\n" MODEL OPTIM
              "runconfig: {num_csx: 2, eval_steps: 3, precision_opt_level: 1, mode: %s}\n";
    static const struct {
        const char *mode, *set, *why; /* NULL: acts */
    } cases[] = {
        {"train", "eval_input.batch_size=4", "the mode does not evaluate"},
        {"train", "eval_input.data_dir=./e", NULL},
        {"train_and_eval", "eval_input.batch_size=4", NULL},
        {"train", "runconfig.eval_steps=4", "the mode does not evaluate"},
        {"eval", "runconfig.eval_steps=4", NULL},
        {"eval", "runconfig.eval_frequency=4", "the mode is not train_and_eval"},
        {"train_and_eval", "runconfig.eval_frequency=4", NULL},
        {"eval", "optimizer.weight_decay=0.1", "the mode does not train"},
        {"eval", "train_input.batch_size=4", "the mode does not train"},
        {"eval", "runconfig.checkpoint_steps=4", "the mode does not train"},
        {"train", "runconfig.precision_opt_level=2", "mixed_precision is off"},
        {"train", "runconfig.checkpoint_steps=4", NULL},
        {"eval", "runconfig.max_steps=4", "the mode does not train"},
        {"train", "runconfig.max_steps=4", NULL},
        {"eval", "runconfig.skip_samples=4", "the mode does not train"},
        {"train_and_eval", "runconfig.skip_samples=4", NULL},
        {"eval", "trace_hash=true", "the mode does not train"},
        {"train", "trace_hash=true", NULL},
        {"eval", "runconfig.log_steps=2", NULL},
        {"generate", "runconfig.log_steps=2", "a generation logs no steps"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct zoo_params p;
        char file[1024], warning[128];
        const char *why = cases[i].why;
        (void)snprintf(file, sizeof file, text, cases[i].mode);
        (void)snprintf(warning, sizeof warning, "--set %.*s: without effect: %s",
                       (int)strcspn(cases[i].set, "="), cases[i].set, why ? why : "");
        T_OK(parse_set(&p, file, cases[i].set));
        T_EQ(p.n_warnings, why ? 1 : 0);
        T_TRUE(!why || params_warn(&p, warning));
        zoo_params_fini(&p);
    }
}

TEST(zoo_params, micro_batches_and_shares)
{
    struct zoo_params p;
    const char *text = INPUT MODEL OPTIM "runconfig: {num_csx: 2}\n";
    T_OK(parse_set(&p, text, "train_input.micro_batch_size=5"));
    CU_ASSERT(params_warn(&p, "5 is taken as 4, the sequences of a system"));
    zoo_params_fini(&p);
    T_OK(parse_set(&p, text, "train_input.micro_batch_size=3"));
    CU_ASSERT(params_warn(&p, "3 does not divide the 4 sequences of a system"));
    zoo_params_fini(&p);
    T_OK(parse_set(&p, text, "train_input.micro_batch_size=4"));
    T_EQ(p.n_warnings, 0);
    zoo_params_fini(&p);
}

/* The Model Zoo's BERT is trained by masked tokens. */
TEST(zoo_params, bert_is_a_masked_language_model)
{
    struct zoo_params p;
    T_OK(parse(&p, INPUT "model: {name: bert, vocab_size: 9}\n" OPTIM));
    T_EQ(p.model.objective, ZOO_MASKED_LM);
    zoo_params_fini(&p);
    T_OK(parse_set(&p, INPUT "model: {name: bert, vocab_size: 9}\n" OPTIM,
                   "model.objective=classification"));
    T_EQ(p.model.objective, ZOO_CLASSIFICATION);
    zoo_params_fini(&p);
}

TEST(zoo_params, states_are_a_text_or_a_list)
{
    struct zoo_params p;
    T_OK(parse_set(&p, INPUT MODEL OPTIM, "runconfig.load_checkpoint_states=[model, optimizer]"));
    T_STR(p.runconfig.load_checkpoint_states, "model,optimizer");
    zoo_params_fini(&p);
    T_OK(parse_set(&p, INPUT MODEL OPTIM, "runconfig.load_checkpoint_states=[model]"));
    T_STR(p.runconfig.load_checkpoint_states, "model");
    zoo_params_fini(&p);
}

TEST(zoo_params, set_goes_through_the_same_row)
{
    struct zoo_params p;
    const struct conf_set sets[] = {{.text = "model.hidden_size=128"},
                                    {.text = "optimizer.betas=[0.5, 0.6]"},
                                    {.text = "runconfig.op_profiler_config.start_step=2"},
                                    {.text = "runconfig.op_profiler_config.end_step=4"},
                                    {.text = "runconfig.model_dir=./a=b"},
                                    {.text = "optimizer.weight_decay_rate=0.3"},
                                    {.text = "model.use_bfloat16=False"},
                                    {.text = "cluster.wafer.clock=1 GHz"},
                                    {.text = "trace_hash=true"}};
    const char *text =
        INPUT "model: {vocab_size: 9, hidden_size: 64, num_heads: 2, fp16_type: bfloat16}\n"
              "optimizer: {optimizer_type: AdamW, learning_rate: 1, weight_decay: 1}\n";
    T_OK(zoo_params_parse(&p, "t.yaml", text, strlen(text), sets, 9));
    T_EQ(p.model.hidden_size, 128);
    CU_ASSERT(p.optimizer.beta1 == 0.5 && p.optimizer.beta2 == 0.6);
    T_EQ(p.runconfig.profile_start_step, 2);
    T_EQ(p.runconfig.profile_end_step, 4);
    T_STR(p.runconfig.model_dir, "./a=b");
    CU_ASSERT(p.optimizer.weight_decay.node[0].initial == 0.3 && p.trace_hash);
    T_EQ(p.model.fp16_type, NUM_HALF_FP16);
    zoo_params_fini(&p);
}

/* A profile of one step has the same first and last step. */
TEST(zoo_params, one_step_can_be_profiled)
{
    struct zoo_params p;
    const struct conf_set sets[] = {{.text = "runconfig.op_profiler_config.start_step=3"},
                                    {.text = "runconfig.op_profiler_config.end_step=3"}};
    const char *text =
        INPUT "model: {vocab_size: 9, hidden_size: 64, num_heads: 2}\n"
              "optimizer: {optimizer_type: AdamW, learning_rate: 1, weight_decay: 1}\n";
    T_OK(zoo_params_parse(&p, "t.yaml", text, strlen(text), sets, 2));
    T_EQ(p.runconfig.profile_end_step, 3);
    zoo_params_fini(&p);
}

/* The first factor of dynamic loss scaling may be one of its bounds, or both. */
TEST(zoo_params, loss_scaling_may_begin_at_a_bound)
{
    struct zoo_params p;
    const struct conf_set sets[] = {{.text = "optimizer.loss_scaling_factor=dynamic"},
                                    {.text = "optimizer.initial_loss_scale=8"},
                                    {.text = "optimizer.min_loss_scale=8"},
                                    {.text = "optimizer.max_loss_scale=8"}};
    const char *text =
        INPUT "model: {vocab_size: 9, hidden_size: 64, num_heads: 2, mixed_precision: true, "
              "fp16_type: float16}\n"
              "optimizer: {optimizer_type: AdamW, learning_rate: 1, weight_decay: 1}\n";
    T_OK(zoo_params_parse(&p, "t.yaml", text, strlen(text), sets, 4));
    const struct zoo_loss_scales scales = zoo_loss_scales(&p);
    CU_ASSERT(scales.first == 8 && scales.least == 8 && scales.most == 8);
    zoo_params_fini(&p);
}

/* However many keys have no effect, each is named. */
TEST(zoo_params, every_key_without_effect_is_told)
{
    static const char *const keys[] = {"transfer_processes",
                                       "wrk_memory_gi",
                                       "execute_crd_memory_gi",
                                       "act_memory_gi",
                                       "cmd_memory_gi",
                                       "wgt_memory_gi",
                                       "compile_crd_memory_gi",
                                       "compile_dir",
                                       "credentials_path",
                                       "mgmt_address",
                                       "mgmt_namespace",
                                       "mount_dirs",
                                       "python_paths",
                                       "debug_args_path",
                                       "debug_args",
                                       "ini",
                                       "job_labels",
                                       "job_priority",
                                       "job_time_sec",
                                       "wsc_log_level",
                                       "logging",
                                       "summary_dir",
                                       "lazy_initialization",
                                       "enable_distributed",
                                       "sync_batchnorm",
                                       "dist_addr",
                                       "dist_backend",
                                       "enable_act_frequency"};
    enum { N = sizeof keys / sizeof *keys };
    struct zoo_params p;
    char text[2048];
    size_t n = (size_t)snprintf(text, sizeof text, INPUT MODEL OPTIM "runconfig: {");
    for (int i = 0; i < N; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s: 1", i ? ", " : "", keys[i]);
    (void)snprintf(text + n, sizeof text - n, "}\n");
    T_OK(parse(&p, text));
    for (int i = 0; i < N; i++)
        CU_ASSERT(params_warn(&p, keys[i]));
    CU_ASSERT(p.n_warnings > 1);
    zoo_params_fini(&p);
}

TEST(zoo_params, epochs_are_steps)
{
    struct zoo_params p;
    T_OK(parse_set(&p, INPUT MODEL OPTIM "runconfig: {num_epochs: 3}\n",
                   "runconfig.steps_per_epoch=50"));
    T_EQ(p.runconfig.num_steps, 150);
    T_EQ(p.runconfig.num_epochs, CONF_NULL);
    T_EQ(p.runconfig.epoch_steps, 50);
    zoo_params_fini(&p);
    T_OK(parse(&p, INPUT MODEL OPTIM "runconfig: {num_epochs: 3}\n"));
    T_EQ(p.runconfig.num_steps, CONF_NULL);
    T_EQ(p.runconfig.num_epochs, 3);
    zoo_params_fini(&p);
    T_EQ(parse_set(&p, INPUT MODEL OPTIM "runconfig: {num_epochs: 1000000000}\n",
                   "runconfig.steps_per_epoch=1000001"),
         WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "at most 1000000000000000 steps together"));
    zoo_params_fini(&p);
}

TEST(zoo_params, the_command_line_chooses_steps_or_epochs)
{
    struct zoo_params p;
    T_OK(parse_set(&p, INPUT MODEL OPTIM "runconfig: {num_epochs: 3, steps_per_epoch: 5}\n",
                   "runconfig.num_steps=7"));
    T_EQ(p.runconfig.num_steps, 7);
    T_EQ(p.runconfig.num_epochs, CONF_NULL);
    T_EQ(p.n_warnings, 0);
    zoo_params_fini(&p);
    T_OK(parse_set(&p, INPUT MODEL OPTIM "runconfig: {num_steps: 7}\n", "runconfig.num_epochs=2"));
    T_EQ(p.runconfig.num_steps, CONF_NULL);
    T_EQ(p.runconfig.num_epochs, 2);
    zoo_params_fini(&p);
}

/* An alias shares the node of its anchor; a --set must not reach the other place. */
TEST(zoo_params, set_does_not_leak_through_an_alias)
{
    struct zoo_params p;
    T_OK(parse_set(&p,
                   "train_input: &d {data_processor: GptHDF5DataProcessor, data_dir: x,\n"
                   "  batch_size: 8}\neval_input: *d\n" MODEL OPTIM,
                   "eval_input.batch_size=2"));
    T_EQ(p.train_input.batch_size, 8);
    T_EQ(p.eval_input.batch_size, 2);
    zoo_params_fini(&p);
}

TEST(zoo_params, mode_decides_which_sections_are_needed)
{
    struct zoo_params p;
    T_OK(parse_set(&p, MODEL, "runconfig.mode=generate"));
    T_EQ(p.runconfig.mode, ZOO_GENERATE);
    zoo_params_fini(&p);
    CU_ASSERT_EQUAL(parse_set(&p, INPUT MODEL OPTIM, "runconfig.mode=eval"), WSC_CONFIG);
    T_STR(wsc_err_message(), "t.yaml: eval_input: required section is missing; hint: it needs "
                             "data_processor, batch_size");
    zoo_params_fini(&p);
}

static bool same_init(const struct zoo_init *x, const struct zoo_init *y)
{
    return x->kind == y->kind && x->mean == y->mean && x->std == y->std && x->a == y->a &&
           x->b == y->b && x->value == y->value && x->fan == y->fan &&
           x->distribution == y->distribution;
}

static void check_same(const struct zoo_params *p, const struct zoo_params *q)
{
    T_EQ(p->model.hidden_size, q->model.hidden_size);
    T_EQ(p->model.position_embedding_type, q->model.position_embedding_type);
    T_EQ(p->model.nonlinearity, q->model.nonlinearity);
    T_EQ(p->model.fp16_type, q->model.fp16_type);
    CU_ASSERT(same_init(&p->model.initializer, &q->model.initializer));
    CU_ASSERT(same_init(&p->model.embedding_initializer, &q->model.embedding_initializer));
    CU_ASSERT(p->optimizer.loss_scaling_factor == q->optimizer.loss_scaling_factor);
    const struct zoo_schedule *x = &p->optimizer.learning_rate, *y = &q->optimizer.learning_rate;
    T_EQ(x->n, y->n);
    CU_ASSERT(!memcmp(x->node, y->node, (size_t)x->n * sizeof *x->node));
    for (int i = 0; i < x->n_used; i++)
        CU_ASSERT(x->value[i] == y->value[i]);
    T_STR(p->runconfig.model_dir, q->runconfig.model_dir);
    T_EQ(p->runconfig.num_steps, q->runconfig.num_steps);
}

static void check_round_trip(const char *name, const char *bytes, size_t n)
{
    struct zoo_params p, q;
    char *once, *twice;
    T_OK(zoo_params_parse(&p, name, bytes, n, NULL, 0));
    T_OK(zoo_params_dump(&p, &once));
    T_OK(zoo_params_parse(&q, name, once, strlen(once), NULL, 0));
    T_OK(zoo_params_dump(&q, &twice));
    T_STR(twice, once);
    check_same(&p, &q);
    T_EQ(q.n_warnings, 0);
    wsc_free(once);
    wsc_free(twice);
    zoo_params_fini(&p);
    zoo_params_fini(&q);
}

TEST(zoo_params, dump_parses_back_to_the_same)
{
    static const char odd[] = INPUT
        "model: {vocab_size: 9, hidden_size: 4, num_heads: 2, position_embedding_type: null,\n"
        "  initializer: {name: normal, mean: 0.1, std: 0.3333333333333333}, nonlinearity: RELU,\n"
        "  embedding_initializer: {name: glorot_uniform, gain: 3}, fp16_type: cbfloat16,\n"
        "  mixed_precision: true}\n"
        "optimizer: {optimizer_type: AdamW, loss_scaling_factor: dynamic, learning_rate: [\n"
        "  {scheduler: Constant, learning_rate: 0.1, total_iters: 3},\n"
        "  {scheduler: Linear, initial_learning_rate: 1, end_learning_rate: 0, total_iters: 4}]}\n"
        "runconfig: {model_dir: \"a\\\"b\\\\ \\u00e9\\t\", num_steps: 5, mode: train}\n";
    int64_t before = wsc_mem_in_use(WSC_MEM_CONF);
    check_round_trip("odd", odd, strlen(odd));
    T_EQ(wsc_mem_in_use(WSC_MEM_CONF), before);
}

/* The decoder of T5 takes the activation of the encoder, whichever it is. */
TEST(zoo_params, a_dump_has_the_activation_of_a_decoder)
{
    static const char *const function[] = {"geglu_new", "silu", "swish", "relu", "linear"};
    for (size_t i = 0; i < sizeof function / sizeof *function; i++)
        for (int given = 0; given < 2; given++) {
            char text[1024];
            (void)snprintf(text, sizeof text,
                           "train_input: {data_processor: T5HDF5DataProcessor, data_dir: ./x, "
                           "batch_size: 4,\n  src_max_sequence_length: 8, "
                           "tgt_max_sequence_length: 6}\n"
                           "model: {name: t5, src_vocab_size: 40, d_model: 64, d_kv: 8, num_heads: "
                           "4,\n  encoder_nonlinearity: %s%s%s}\n"
                           "optimizer: {optimizer_type: AdamW, learning_rate: 0.01}\n"
                           "runconfig: {max_steps: 3}\n",
                           function[i], given ? ", decoder_nonlinearity: " : "",
                           given ? function[i] : "");
            check_round_trip("t5", text, strlen(text));
        }
}

struct shipped {
    const char *name;
    double parameters, tolerance;
    long long batch;
};

/* V C + T C + L (4 C^2 + 4 C + 2 C F + F + C + 4 C) + 2 C: a tied GPT with biases. */
static double n_parameters(const struct zoo_model *m)
{
    double c = (double)m->hidden_size, f = (double)m->filter_size;
    double rows = (double)(m->vocab_size + m->max_position_embeddings);
    double block = 4 * c * c + 9 * c + 2 * c * f + f;
    return rows * c + (double)m->num_hidden_layers * block + 2 * c;
}

static void check_shipped(const struct shipped *file)
{
    struct zoo_params p;
    char path[64], *bytes;
    size_t n;
    (void)snprintf(path, sizeof path, "configs/params/%s.yaml", file->name);
    T_OK(conf_read_file(path, &bytes, &n));
    T_OK(zoo_params_parse(&p, path, bytes, n, NULL, 0));
    T_NEAR(n_parameters(&p.model), file->parameters, file->tolerance);
    T_EQ(p.train_input.batch_size, file->batch);
    T_EQ(p.n_warnings, 0);
    CU_ASSERT(p.model.dropout_rate == 0 && p.optimizer.max_gradient_norm == 1);
    check_round_trip(path, bytes, n);
    zoo_params_fini(&p);
    wsc_free(bytes);
}

/* Parameter counts of Cerebras-GPT as published; 175B and 1T are published as rounded. */
/* A training and its evaluations have one length; an evaluation alone has its own. */
TEST(zoo_params, a_length_names_the_key_that_set_it)
{
    static const char text[] =
        "train_input: {data_processor: GptHDF5MapDataProcessor, data_dir: d, batch_size: 2,\n"
        "  max_sequence_length: 8}\n"
        "eval_input: {data_processor: GptHDF5MapDataProcessor, data_dir: d, batch_size: 2}\n"
        "model: {vocab_size: 9, max_position_embeddings: 16}\n" OPTIM;
    static const struct {
        const char *set, *key;
    } row[] = {{"runconfig.mode=train_and_eval", "t.yaml:2:24: train_input.max_sequence_length"},
               {"runconfig.mode=eval", "t.yaml:4:49: model.max_position_embeddings"}};
    for (int i = 0; i < 2; i++) {
        struct zoo_params p;
        T_OK(parse_set(&p, text, row[i].set));
        T_STR(zoo_input_length_key(&p.eval_input, false), row[i].key);
        zoo_params_fini(&p);
    }
}

/* What a check after the parse refuses is named as the parse names it. */
TEST(zoo_params, keys_keep_their_places)
{
    struct zoo_params p;
    T_OK(parse(&p, INPUT "model:\n    vocab_size: 256\n    recompute: true\n" OPTIM));
    T_STR(zoo_params_place(&p, "model.recompute"), "t.yaml:4:16: model.recompute");
    T_STR(zoo_params_place(&p, "model.name"), "t.yaml: model.name");
    zoo_params_fini(&p);
    T_OK(parse_set(&p, INPUT MODEL OPTIM, "model.recompute=true"));
    T_STR(zoo_params_place(&p, "model.recompute"), "--set model.recompute");
    zoo_params_fini(&p);
    T_OK(parse(&p, "trainer:\n"
                   "  init:\n"
                   "    model: {name: gpt2, vocab_size: 256}\n"
                   "    optimizer: {AdamW: {}}\n"
                   "    schedulers: [{ConstantLR: {learning_rate: 0.1}}]\n"
                   "  fit:\n"
                   "    train_dataloader: {data_processor: GptHDF5MapDataProcessor, data_dir: ./d,"
                   " batch_size: 8}\n"));
    T_STR(zoo_params_place(&p, "model.name"), "t.yaml:3:19: trainer.init.model.name");
    zoo_params_fini(&p);
}

TEST(zoo_params, shipped_files_have_the_published_sizes)
{
    static const struct shipped files[] = {{"gpt3_111m", 111050496, 0, 120},
                                           {"gpt3_256m", 255977024, 0, 264},
                                           {"gpt3_590m", 590310912, 0, 264},
                                           {"gpt3_1p3b", 1315723264, 0, 528},
                                           {"gpt3_2p7b", 2651553280, 0, 528},
                                           {"gpt3_6p7b", 6658404352, 0, 1040},
                                           {"gpt3_13b", 12853386240, 0, 1080},
                                           {"gpt3_20b", 20256221184, 0, 77},
                                           {"gpt3_175b", 175e9, 3e-3, 1472},
                                           {"gpt3_1t", 1008e9, 1e-4, 256},
                                           {"tiny", 120576, 0, 8},
                                           {"default", 4870144, 0, 4}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        check_shipped(&files[i]);
}

TEST(zoo_params, a_failed_parse_is_safe_to_release)
{
    struct zoo_params p;
    int64_t before = wsc_mem_in_use(WSC_MEM_CONF);
    CU_ASSERT_EQUAL(parse(&p, "model: ["), WSC_CONFIG);
    zoo_params_fini(&p);
    zoo_params_fini(&p);
    CU_ASSERT_EQUAL(parse(&p, INPUT "model: {vocab_size: 0}\n" OPTIM "zz: 1\n"), WSC_CONFIG);
    zoo_params_fini(&p);
    T_EQ(wsc_mem_in_use(WSC_MEM_CONF), before);
}

TEST(conf_file, missing_folder_and_huge_files_are_refused)
{
    char *bytes, path[128];
    size_t n;
    CU_ASSERT_EQUAL(conf_read_file("no/such/file.yaml", &bytes, &n), WSC_CONFIG);
    T_STR(wsc_err_message(), "no/such/file.yaml: cannot be opened: No such file or directory");
    CU_ASSERT_EQUAL(conf_read_file("configs", &bytes, &n), WSC_CONFIG);
    T_STR(wsc_err_message(), "configs: is a folder, a file was expected");
    CU_ASSERT_PTR_NULL(bytes);
    (void)snprintf(path, sizeof path, "%s/huge.yaml", test_tmpdir());
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fseek(f, 17L << 20, SEEK_SET);
    (void)fputc('x', f);
    (void)fclose(f);
    CU_ASSERT_EQUAL(conf_read_file(path, &bytes, &n), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "larger than 16 MiB"));
}
