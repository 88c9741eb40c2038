// SPDX-License-Identifier: Apache-2.0
/* Params files of the trainer style, and the files of tests/golden/params in both styles. */
#include "../../support/params_case.h"
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/mem.h>
#include <wsc/zoo.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define FOLDER "tests/golden/params/"
enum { MAX_SETS = 4, LEAST_FILES = 5 };

static enum wsc_err parse_file(struct zoo_params *p, const char *path, const char *set)
{
    char *bytes = NULL;
    size_t n = 0;
    const struct conf_set sets[] = {{.text = set ? set : ""}};
    memset(p, 0, sizeof *p);
    TRY(conf_read_file(path, &bytes, &n));
    enum wsc_err rc = zoo_params_parse(p, path, bytes, n, sets, set ? 1 : 0);
    wsc_free(bytes);
    return rc;
}

static enum wsc_err parse_text(struct zoo_params *p, const char *text, const char *set)
{
    const struct conf_set sets[] = {{.text = set ? set : ""}};
    return zoo_params_parse(p, "t.yaml", text, strlen(text), sets, set ? 1 : 0);
}

static char *dump_of(const char *path, const char *set)
{
    struct zoo_params p;
    char *text = NULL;
    T_OK(parse_file(&p, path, set));
    T_OK(zoo_params_dump(&p, &text));
    zoo_params_fini(&p);
    return text;
}

/* Two spellings of one job are one job. */
TEST(zoo_trainer, means_what_the_runconfig_style_means)
{
    char *trainer = dump_of(FOLDER "trainer.yaml", NULL);
    char *runconfig = dump_of(FOLDER "runconfig.yaml", NULL);
    T_STR(trainer, runconfig);
    wsc_free(trainer);
    wsc_free(runconfig);
}

static void check_callbacks(const struct zoo_params *p)
{
    T_EQ(p->train_input.micro_batch_size, 2);
    T_EQ(p->eval_input.micro_batch_size, 4);
    T_STR(p->runconfig.load_checkpoint_states, "model,optimizer");
    T_EQ(p->runconfig.max_checkpoints, 5);
    CU_ASSERT(p->runconfig.check_loss_values && p->optimizer.log_summaries);
    CU_ASSERT(params_warn(p, "CheckLoss: false is taken as true: every run stops"));
    T_EQ(p->runconfig.profile_end_step, 2);
    CU_ASSERT(params_warn(p, "trainer.init.callbacks.GlobalFlags.csx.debug.*"));
    CU_ASSERT(params_warn(p, "trainer.init.loggers.TensorBoardLogger"));
    CU_ASSERT(params_warn(p, "trainer.init.backend.cluster_config.mount_dirs"));
}

TEST(zoo_trainer, every_part_goes_to_its_place)
{
    struct zoo_params p;
    T_OK(parse_file(&p, FOLDER "trainer.yaml", NULL));
    T_EQ(p.phase, 1);
    T_EQ(p.n_phases, 1);
    T_EQ(p.model.hidden_size, 64);
    CU_ASSERT(p.model.mixed_precision && p.model.fp16_type == NUM_HALF_BF16);
    CU_ASSERT(p.optimizer.beta2 == 0.95 && p.optimizer.adjust_learning_rate.decoder_kernel == 0.25);
    CU_ASSERT(p.optimizer.loss_scaling_factor == ZOO_LOSS_SCALE_DYNAMIC);
    CU_ASSERT(p.optimizer.initial_loss_scale == 1024 && p.optimizer.max_gradient_norm == 1);
    T_EQ(p.optimizer.learning_rate.n, 3);
    T_EQ(p.optimizer.learning_rate.node[2].total_iters, 96);
    T_EQ(p.runconfig.num_csx, 2);
    T_EQ(p.runconfig.num_wgt_servers, 3);
    T_STR(p.runconfig.checkpoint_path, "./start.mdl");
    T_STR(p.eval_input.data_dir[0], "./data/val/");
    check_callbacks(&p);
    zoo_params_fini(&p);
}

/* The Model Zoo's class of `precision` has enabled=True, whatever else the section says. */
TEST(zoo_trainer, a_section_precision_is_16_bits)
{
    static const char fmt[] =
        "trainer: {init: {model: {name: gpt2, vocab_size: 9%s}, optimizer: {SGD: {lr: 0.1}}, %s},\n"
        "fit: {train_dataloader: {data_processor: GptHDF5DataProcessor, data_dir: d,\n"
        "batch_size: 1}}}\n";
    static const struct {
        const char *model, *precision, *set;
        bool mixed;
    } files[] = {{"", "precision: {fp16_type: float16}", NULL, true},
                 {"", "precision: {max_gradient_norm: 1.0}", NULL, true},
                 {"", "precision: {}", NULL, true},
                 {"", "precision: {enabled: false, max_gradient_norm: 1.0}", NULL, false},
                 {", mixed_precision: false", "precision: {max_gradient_norm: 1.0}", NULL, false},
                 {"", "precision: {fp16_type: float16}", "model.mixed_precision=false", false},
                 {"", "precision: null", NULL, false},
                 {"", "seed: 1", NULL, false}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct zoo_params p;
        char text[512];
        (void)snprintf(text, sizeof text, fmt, files[i].model, files[i].precision);
        T_OK(parse_text(&p, text, files[i].set));
        T_EQ(p.model.mixed_precision, files[i].mixed);
        zoo_params_fini(&p);
    }
}

static void check_set(const char *set, int64_t width, int64_t micro_batch, double decay)
{
    struct zoo_params p;
    T_OK(parse_file(&p, FOLDER "trainer.yaml", set));
    T_EQ(p.model.hidden_size, width);
    T_EQ(p.train_input.micro_batch_size, micro_batch);
    CU_ASSERT(p.optimizer.weight_decay.node[0].initial == decay);
    T_EQ(p.runconfig.max_checkpoints, 5); /* of another callback, which a set leaves as it is */
    zoo_params_fini(&p);
}

TEST(zoo_trainer, sets_take_the_paths_of_both_styles)
{
    check_set("trainer.init.model.hidden_size=128", 128, 2, 0.1);
    check_set("model.hidden_size=128", 128, 2, 0.1);
    check_set("trainer.init.optimizer.ADAMW.weight_decay=0.5", 64, 2, 0.5);
    check_set("optimizer.weight_decay_rate=0.5", 64, 2, 0.5);
    check_set("trainer.init.callbacks.ScopedTrainFlags.csx.performance.micro_batch_size=8", 64, 8,
              0.1);
    check_set("train_input.micro_batch_size=8", 64, 8, 0.1);
}

TEST(zoo_trainer, a_list_has_phases)
{
    struct zoo_params p;
    T_OK(parse_file(&p, FOLDER "phases.yaml", NULL));
    CU_ASSERT(p.phase == 1 && p.n_phases == 2);
    T_EQ(p.model.max_position_embeddings, 32);
    T_EQ(p.runconfig.max_steps, 4);
    zoo_params_fini(&p);
    T_OK(parse_file(&p, FOLDER "phases.yaml", "phase=2"));
    CU_ASSERT(p.phase == 2 && p.n_phases == 2);
    T_EQ(p.model.max_position_embeddings, 64);
    T_EQ(p.model.hidden_size, 64);
    T_EQ(p.runconfig.max_steps, 6);
    T_EQ(p.runconfig.checkpoint_steps, 4);
    T_EQ(p.train_input.batch_size, 4);
    T_STR(p.train_input.data_dir[0], "./long");
    zoo_params_fini(&p);
    CU_ASSERT_EQUAL(parse_file(&p, FOLDER "phases.yaml", "phase=3"), WSC_CONFIG);
    T_STR(wsc_err_message(), FOLDER "phases.yaml: trainer: there is no phase 3, the file has 2");
    zoo_params_fini(&p);
}

TEST(zoo_trainer, without_training_data_it_evaluates)
{
    struct zoo_params p;
    T_OK(parse_file(&p, FOLDER "validate_only.yaml", NULL));
    T_EQ(p.runconfig.mode, ZOO_EVAL);
    CU_ASSERT(p.eval_input.present && !p.train_input.present);
    T_EQ(p.eval_input.micro_batch_size, CONF_NULL);
    T_STR(p.eval_input.data_dir[0], "./val");
    CU_ASSERT(params_warn(&p, "trainer.validate_all.val_dataloaders: 2 sets: the first one"));
    zoo_params_fini(&p);
}

#define TRAINER(init, fit)                                                                         \
    "trainer:\n"                                                                                   \
    "  init:\n"                                                                                    \
    "    model: {name: gpt2, vocab_size: 9, hidden_size: 4, num_heads: 2}\n" init "  fit:\n"       \
    "    train_dataloader: {data_processor: GptHDF5DataProcessor, data_dir: d, batch_size: "       \
    "2}\n" fit
#define ADAMW     "    optimizer: {AdamW: {}}\n"
#define SCHEDULER "    schedulers: {ConstantLR: {learning_rate: 1}}\n"

TEST(zoo_trainer, short_forms)
{
    struct zoo_params p;
    T_OK(parse_text(&p,
                    TRAINER("    optimizer: {adamw: {lr: 1e-05}}\n"
                            "    schedulers: null\n    precision: null\n    sparsity: 0.0\n"
                            "    callbacks: [ComputeNorm: null, CountParams: null, {Lora: null}]\n",
                            "    val_dataloader: null\n    ckpt_path: ~\n"),
                    NULL));
    CU_ASSERT(p.optimizer.learning_rate.node[0].initial == 1e-5);
    CU_ASSERT(!p.optimizer.log_summaries && !p.model.mixed_precision);
    CU_ASSERT_PTR_NULL(p.runconfig.checkpoint_path);
    T_EQ(p.train_input.micro_batch_size, CONF_AUTO);
    T_EQ(p.n_warnings, 0);
    zoo_params_fini(&p);
}

/* An empty map, as in the Model Zoo's files, or a truth value; CheckLoss is always on. */
TEST(zoo_trainer, callbacks_are_switched_on_and_off)
{
    static const struct {
        const char *value;
        bool on;
    } row[] = {{"{}", true},    {"true", true},   {"yes", true},
               {"null", false}, {"false", false}, {"off", false}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct zoo_params p;
        char text[1200];
        const char *v = row[i].value;
        (void)snprintf(text, sizeof text,
                       TRAINER(ADAMW SCHEDULER
                               "    callbacks: [CheckLoss: %s, ComputeNorm: %s, ComputeNormGNS: "
                               "%s, LogSparsity: %s, LogInputSummaries: %s]\n",
                               ""),
                       v, v, v, v, v);
        T_OK(parse_text(&p, text, NULL));
        T_EQ(p.optimizer.log_summaries, row[i].on);
        T_EQ(p.optimizer.gradient_noise_scale, row[i].on);
        T_EQ(p.log_sparsity, row[i].on);
        T_EQ(p.runconfig.check_loss_values, true);
        T_EQ(params_warn(&p, "CheckLoss: false is taken as true"), !row[i].on);
        zoo_params_fini(&p);
    }
}

TEST(zoo_trainer, classes_of_the_noise_scale_are_named_in_a_warning)
{
    static const char warning[] =
        "t.yaml:6:58: trainer.init.callbacks.ComputeNormGNS.per_example_grad_norms: not used: the "
        "noise scale is that of all parameters";
    static const struct {
        const char *classes;
        bool warns;
    } row[] = {{"[torch.nn.LayerNorm]", true}, {"null", false}};
    for (int i = 0; i < 2; i++) {
        struct zoo_params p;
        char text[1200];
        (void)snprintf(text, sizeof text,
                       TRAINER(ADAMW SCHEDULER "    callbacks: [ComputeNormGNS: "
                                               "{per_example_grad_norms: %s}]\n",
                               ""),
                       row[i].classes);
        T_OK(parse_text(&p, text, NULL));
        CU_ASSERT(p.optimizer.gradient_noise_scale);
        T_EQ(params_warn(&p, warning), row[i].warns);
        T_EQ(p.n_warnings, row[i].warns);
        zoo_params_fini(&p);
    }
}

TEST(zoo_trainer, a_rate_beside_schedulers_warns)
{
    static const struct {
        const char *lr;
        bool warns;
    } row[] = {{"0.5", true}, {"null", false}};
    for (int i = 0; i < 2; i++) {
        struct zoo_params p;
        char text[1200];
        (void)snprintf(text, sizeof text,
                       TRAINER("    optimizer: {AdamW: {lr: %s}}\n" SCHEDULER, ""), row[i].lr);
        T_OK(parse_text(&p, text, NULL));
        CU_ASSERT(p.optimizer.learning_rate.node[0].initial == 1);
        T_EQ(params_warn(&p, "AdamW.lr: not used: the schedulers say the rate"), row[i].warns);
        zoo_params_fini(&p);
    }
}

TEST(zoo_trainer, a_key_that_another_overrides_warns)
{
#define FLAGS "    callbacks: [ScopedTrainFlags: {csx.performance.micro_batch_size: 2}]\n"
    static const struct {
        const char *init, *why, *set;
    } row[] = {{"    optimizer: {AdamW: {learning_rate: 0.5}}\n" SCHEDULER,
                "AdamW.learning_rate: not used: trainer.init.schedulers says it", NULL},
               {"    optimizer: {AdamW: {weight_decay: 0.5}}\n"
                "    schedulers: [ConstantLR: {learning_rate: 1}, ConstantWD: {val: 0.1}]\n",
                "AdamW.weight_decay: not used: trainer.init.schedulers[1] says it", NULL},
               {"    optimizer: {AdamW: {lr: 1, max_gradient_norm: 2}}\n"
                "    precision: {max_gradient_norm: 1}\n",
                "t.yaml:4:51: trainer.init.optimizer.AdamW.max_gradient_norm: not used: "
                "trainer.init.precision.max_gradient_norm says it",
                NULL},
               {"    optimizer: {AdamW: {lr: 1, max_gradient_norm: 1}}\n"
                "    precision: {max_gradient_norm: 1}\n",
                NULL, NULL},
               {"    optimizer: {AdamW: {lr: 1}}\n" FLAGS,
                "trainer.fit.train_dataloader.micro_batch_size: not used: "
                "trainer.init.callbacks.ScopedTrainFlags.csx.performance.micro_batch_size says it",
                "trainer.fit.train_dataloader.micro_batch_size=4"}};
#undef FLAGS
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct zoo_params p;
        char text[1200];
        (void)snprintf(text, sizeof text, TRAINER("%s", ""), row[i].init);
        T_OK(parse_text(&p, text, row[i].set));
        CU_ASSERT(row[i].why ? params_warn(&p, row[i].why) : !params_warn(&p, "not used"));
        zoo_params_fini(&p);
    }
}

/* An evaluation takes the checkpoint of `validate`, also beside one that `fit` starts from. */
TEST(zoo_trainer, each_run_takes_its_own_checkpoint)
{
    static const struct {
        const char *fit, *validate, *set, *path;
        bool warns;
    } row[] = {{"null", "v.mdl", NULL, NULL, true},
               {"null", "v.mdl", "runconfig.mode=eval", "v.mdl", false},
               {"f.mdl", "v.mdl", "runconfig.mode=eval", "v.mdl", false},
               {"f.mdl", "v.mdl", "runconfig.mode=generate", "v.mdl", false},
               {"f.mdl", "v.mdl", NULL, "f.mdl", true},
               {"f.mdl", "v.mdl", "runconfig.mode=train_and_eval", "f.mdl", true},
               {"f.mdl", "null", "runconfig.mode=eval", "f.mdl", false}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct zoo_params p;
        char text[1200];
        (void)snprintf(text, sizeof text,
                       TRAINER(ADAMW SCHEDULER,
                               "    val_dataloader: {data_processor: "
                               "GptHDF5DataProcessor, data_dir: d, batch_size: 2}\n"
                               "    ckpt_path: %s\n  validate:\n"
                               "    ckpt_path: %s\n"),
                       row[i].fit, row[i].validate);
        T_OK(parse_text(&p, text, row[i].set));
        T_STR(p.runconfig.checkpoint_path ? p.runconfig.checkpoint_path : "none",
              row[i].path ? row[i].path : "none");
        T_EQ(params_warn(&p, "trainer.validate.ckpt_path: not used: the run trains"), row[i].warns);
        zoo_params_fini(&p);
    }
}

/* Names with dots, maps, and both at once, in any order. */
TEST(zoo_trainer, flags_in_every_form)
{
    static const char *const flags[] = {
        "{csx.performance.micro_batch_size: 4, csx: {performance: {transfer_processes: 5}}}",
        "{csx: {performance: {transfer_processes: 5}}, csx.performance.micro_batch_size: 4}",
        "{csx.performance: {micro_batch_size: 4}, csx.debug: {ini: {a.b: 1}}}",
        "{csx.performance.micro_batch_size: 4, csx: null}",
        "{csx: {performance: {micro_batch_size: 4}, debug: {debug_args: {x: {y: 1}}}}}"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        struct zoo_params p;
        char text[800];
        (void)snprintf(text, sizeof text,
                       TRAINER(ADAMW SCHEDULER "    callbacks: [{ScopedTrainFlags: %s}]\n", ""),
                       flags[i]);
        T_OK(parse_text(&p, text, NULL));
        T_EQ(p.train_input.micro_batch_size, 4);
        zoo_params_fini(&p);
    }
}

TEST(zoo_trainer, a_scope_comes_before_all_scopes)
{
    static const char *const callbacks[] = {
        "[{GlobalFlags: {csx.performance.micro_batch_size: 16}}, {ScopedTrainFlags: "
        "{csx.performance.micro_batch_size: 4}}]",
        "[{ScopedTrainFlags: {csx.performance.micro_batch_size: 4}}, {GlobalFlags: "
        "{csx.performance.micro_batch_size: 16}}]"};
    for (int i = 0; i < 2; i++) {
        struct zoo_params p;
        char text[900];
        (void)snprintf(text, sizeof text,
                       TRAINER(ADAMW SCHEDULER "    callbacks: %s\n",
                               "    val_dataloader: {data_processor: GptHDF5DataProcessor, "
                               "data_dir: e, batch_size: 32}\n"),
                       callbacks[i]);
        T_OK(parse_text(&p, text, NULL));
        T_EQ(p.train_input.micro_batch_size, 4);
        T_EQ(p.eval_input.micro_batch_size, 16);
        CU_ASSERT_FALSE(params_warn(&p, "not used"));
        zoo_params_fini(&p);
    }
}

/* Keys of releases that this program did not know at first. */
TEST(zoo_trainer, keys_without_an_effect_here)
{
    struct zoo_params p;
    T_OK(
        parse_text(&p,
                   TRAINER(ADAMW SCHEDULER
                           "    autorestart: {max_num_restarts: 3, min_num_csx: 1}\n"
                           "    callbacks: [{LoadCheckpointStates: {load_checkpoint_states: all}}, "
                           "{EmailNotification: {}}]\n"
                           "    loop: {eval_frequency: 0.5}\n",
                           ""),
                   NULL));
    CU_ASSERT(p.runconfig.load_checkpoint_states == NULL && p.runconfig.eval_fraction == 0.5);
    CU_ASSERT(params_warn(&p, "trainer.init.autorestart.max_num_restarts"));
    zoo_params_fini(&p);
}

/* null asks for no evaluation, a file without the key for one at the end. */
TEST(zoo_trainer, a_null_of_eval_frequency_is_no_evaluation)
{
    static const char *const loop[] = {"eval_frequency: null", "max_steps: 3"};
    for (int i = 0; i < 2; i++) {
        struct zoo_params p;
        char text[1200];
        (void)snprintf(text, sizeof text, TRAINER(ADAMW SCHEDULER "    loop: {%s}\n", ""), loop[i]);
        T_OK(parse_text(&p, text, NULL));
        T_EQ(p.runconfig.eval_frequency, 0);
        CU_ASSERT(p.runconfig.eval_fraction == i);
        zoo_params_fini(&p);
    }
}

/* An evaluation has the checkpoint that it names, in a list or not. */
TEST(zoo_trainer, validate_all_names_its_checkpoint)
{
    static const char *const paths[] = {"a.mdl", "[a.mdl]", "[a.mdl, b.mdl]"};
    for (int i = 0; i < 3; i++) {
        struct zoo_params p;
        char text[500];
        (void)snprintf(text, sizeof text,
                       "trainer:\n  init:\n    model: {name: gpt2, vocab_size: 9, hidden_size: 4, "
                       "num_heads: 2}\n  validate_all:\n    ckpt_paths: %s\n    val_dataloaders: "
                       "{data_processor: GptHDF5DataProcessor, data_dir: d, batch_size: 4}\n",
                       paths[i]);
        T_OK(parse_text(&p, text, NULL));
        T_STR(p.runconfig.checkpoint_path, "a.mdl");
        T_EQ(params_warn(&p, "2 checkpoints: the first one is evaluated"), i == 2);
        zoo_params_fini(&p);
    }
}

/* A list may name a callback twice, which loses what the first one asks for. */
TEST(zoo_trainer, a_callback_that_stands_twice_warns)
{
    struct zoo_params p;
    T_OK(parse_text(&p,
                    "trainer:\n"
                    "  init:\n"
                    "    model: {name: gpt2, vocab_size: 256}\n"
                    "    optimizer: {AdamW: {}}\n"
                    "    schedulers: [{ConstantLR: {learning_rate: 0.1}}]\n"
                    "    callbacks:\n"
                    "    - KeepNCheckpoints: {n: 3}\n"
                    "    - keepncheckpoints: {n: 4}\n"
                    "  fit:\n"
                    "    train_dataloader: {data_processor: GptHDF5MapDataProcessor, data_dir: ./d,"
                    " batch_size: 8}\n",
                    NULL));
    T_EQ(p.runconfig.max_checkpoints, 4);
    CU_ASSERT(params_warn(&p,
                          "t.yaml:8:7: trainer.init.callbacks.KeepNCheckpoints: given twice, first "
                          "on line 7; the last one counts"));
    zoo_params_fini(&p);
}

/* An empty map is a callback with its defaults, null is none. */
TEST(zoo_trainer, a_callback_that_is_not_supported_is_refused)
{
    const int64_t before = wsc_mem_in_use(WSC_MEM_CONF);
    static const char *const name[] = {"EarlyExit", "RunSchedule", "EleutherEvalHarness",
                                       "BigCodeEvalHarness"};
    for (size_t i = 0; i < 4 * sizeof name / sizeof *name; i++) {
        static const char *const value[] = {"{}", "[]", "{exit_steps: 3}", "null"};
        const bool fits = i % 4 == 3;
        struct zoo_params p;
        char text[1200], path[80];
        (void)snprintf(text, sizeof text, TRAINER(ADAMW SCHEDULER "    callbacks: [%s: %s]\n", ""),
                       name[i / 4], value[i % 4]);
        T_EQ(parse_text(&p, text, NULL), fits ? WSC_OK : WSC_CONFIG);
        (void)snprintf(path, sizeof path, "trainer.init.callbacks.%s: ", name[i / 4]);
        CU_ASSERT(fits || strstr(wsc_err_message(), path));
        zoo_params_fini(&p);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_CONF), before);
}

/* Names that end in WD schedule the weight decay, the others the learning rate. */
TEST(zoo_trainer, schedulers_of_the_weight_decay)
{
    struct zoo_params p;
    T_OK(parse_text(&p,
                    TRAINER(ADAMW "    schedulers:\n"
                                  "    - LinearWD: {initial_val: 0.1, end_val: 0.2, "
                                  "total_iters: 5}\n"
                                  "    - ConstantLR: {learning_rate: 1}\n",
                            ""),
                    NULL));
    T_EQ(p.optimizer.weight_decay.node[0].scheduler, ZOO_SCHEDULE_LINEAR);
    CU_ASSERT(p.optimizer.weight_decay.node[0].end == 0.2);
    T_EQ(p.optimizer.learning_rate.node[0].scheduler, ZOO_SCHEDULE_CONSTANT);
    zoo_params_fini(&p);
}

/* @p text gives a constant rate and some decay. */
static void check_rate_and_decay(const char *text)
{
    struct zoo_params p = params_parsed(text);
    T_EQ(p.optimizer.learning_rate.node[0].scheduler, ZOO_SCHEDULE_CONSTANT);
    CU_ASSERT(p.optimizer.weight_decay.n > 0);
    zoo_params_fini(&p);
}

/* One scheduler sets the rate and one the decay; a tree of schedulers has those of one value. */
TEST(zoo_trainer, no_scheduler_is_lost_or_taken_for_another_value)
{
#define RATE  "{ConstantLR: {learning_rate: 0.001}}"
#define DECAY "{ConstantWD: {val: 0.5}}"
    static const struct {
        const char *schedulers, *error; /* NULL: none */
    } row[] = {
        {RATE ", " DECAY, NULL},
        {RATE ", {SequentialWD: {schedulers: [{ConstantWD: {val: 1, total_iters: 2}}, " DECAY "]}}",
         NULL},
        {RATE ", " DECAY ", " DECAY,
         "schedulers[2]: one scheduler of the weight decay is supported by this release; hint: put "
         "them into a SequentialWD or ChainedWD"},
        {RATE ", " RATE,
         "schedulers[1]: one scheduler of the learning rate is supported by this release; hint: "
         "put them into a SequentialLR or ChainedScheduler"},
        {RATE ", {ConstantMomentum: {val: 1}}", "schedulers[1]: \"ConstantMomentum\" is not"},
        {"{SequentialLR: {schedulers: [{ConstantWD: {val: 1, total_iters: 2}}, " DECAY "]}}",
         "schedulers[0]: ConstantWD schedules the weight decay, not the learning rate; hint: "
         "ConstantLR"},
        {"{ChainedScheduler: {schedulers: [" DECAY "]}}", "ConstantWD schedules the weight decay"},
        {RATE ", {SequentialWD: {schedulers: [" RATE "]}}", NULL},
        {"{ScalePerParamLR: {scheduler: " DECAY "}}", "ConstantWD schedules the weight decay"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[1200];
        (void)snprintf(text, sizeof text, TRAINER(ADAMW "    schedulers: [%s]\n", ""),
                       row[i].schedulers);
        const bool refused = row[i].error && params_refused(text, row[i].error);
        CU_ASSERT_EQUAL(refused, row[i].error != NULL);
        if (!row[i].error) check_rate_and_decay(text);
    }
}

/* The errors of @p text are that no scheduler sets the rate, and no other one. */
#define NO_RATE                                                                                    \
    "trainer.init.schedulers: none of them sets the learning rate of all tensors; hint: begin "    \
    "with one ...LR without param_group_tags"
static bool lacks_a_rate(const char *text)
{
    return params_refused(text, NO_RATE) && !strstr(wsc_err_message(), "required key is missing");
}

/* Schedulers of tagged tensors, or of the weight decay, leave the rate of the others open. */
TEST(zoo_trainer, schedulers_without_a_rate_for_all_tensors_are_an_error)
{
    static const char tagged[] = "{ConstantLR: {learning_rate: 1, param_group_tags: b}}";
    static const struct {
        const char *adamw, *scheduler;
        bool is_refused;
    } row[] = {{"params: {params: bias, tag: b}", tagged, true},
               {"params: {params: bias, tag: b}, lr: null", tagged, true},
               {"params: {params: bias, tag: b}, lr: 1", tagged, false},
               {"eps: 1", DECAY, true},
               {"eps: 1", RATE, false}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[1200];
        (void)snprintf(text, sizeof text,
                       TRAINER("    optimizer: {AdamW: {%s}}\n    schedulers: [%s]\n", ""),
                       row[i].adamw, row[i].scheduler);
        const bool refused = row[i].is_refused && lacks_a_rate(text);
        CU_ASSERT_EQUAL(refused, row[i].is_refused);
        if (row[i].is_refused) continue;
        struct zoo_params p = params_parsed(text);
        CU_ASSERT(p.optimizer.learning_rate.n > 0);
        zoo_params_fini(&p);
    }
}

/* The Model Zoo wraps any scheduler in a ScalePerParamLR when the optimizer has factors. */
TEST(zoo_trainer, factors_of_groups_apply_with_any_scheduler)
{
    static const char *const schedulers[] = {
        SCHEDULER,
        "    schedulers: [{ScalePerParamLR: {scheduler: {ConstantLR: {learning_rate: 1}}}}]\n"};
    for (int i = 0; i < 2; i++) {
        struct zoo_params p;
        char text[1200];
        (void)snprintf(text, sizeof text,
                       TRAINER("    optimizer: {AdamW: {adjust_learning_rate: {decoder_kernel: "
                               "0.5}}}\n%s",
                               ""),
                       schedulers[i]);
        T_OK(parse_text(&p, text, NULL));
        CU_ASSERT(p.optimizer.adjust_learning_rate.decoder_kernel == 0.5);
        CU_ASSERT(!params_warn(&p, "adjust_learning_rate"));
        zoo_params_fini(&p);
    }
}

TEST(zoo_trainer, a_changed_alias_changes_one_place)
{
    struct zoo_params p;
    const char *text = TRAINER(ADAMW SCHEDULER "    loop: {eval_frequency: 5}\n",
                               "    val_dataloader: &v {data_processor: GptHDF5DataProcessor,\n"
                               "      data_dir: v, batch_size: 2}\n"
                               "  validate: {val_dataloader: *v}\n");
    T_OK(parse_text(&p, text, "trainer.fit.val_dataloader.batch_size=4"));
    T_EQ(p.eval_input.batch_size, 4);
    CU_ASSERT(params_warn(&p, "trainer.validate.val_dataloader: not used"));
    zoo_params_fini(&p);
}

static void expect_error(const char *text, const char *set, const char *message)
{
    struct zoo_params p;
    CU_ASSERT_EQUAL(parse_text(&p, text, set), WSC_CONFIG);
    T_STR(wsc_err_message(), message);
    zoo_params_fini(&p);
}

TEST(zoo_trainer, errors_of_sets_name_the_path_as_given)
{
    const char *text = TRAINER(ADAMW SCHEDULER, "");
    expect_error(text, "trainer.init.model.hidden_size=x",
                 "--set trainer.init.model.hidden_size: expected a whole number, got \"x\"");
    expect_error(text, "model.hidden_size=x",
                 "--set model.hidden_size: expected a whole number, got \"x\"");
    expect_error(
        text, "trainer.init.modelx.x=1",
        "--set trainer.init.modelx.x: trainer.init.modelx: unknown key; hint: did you mean "
        "trainer.init.model?");
    expect_error(text, "phase=x", "--set phase: expected a whole number, got \"x\"");
    expect_error("model: {vocab_size: 9, hidden_size: 4, num_heads: 2}\n"
                 "runconfig: {mode: generate}\n",
                 "trainer.init.seed=1",
                 "--set trainer.init.seed: the file has the runconfig style; hint: its keys are "
                 "model, optimizer, train_input, eval_input, runconfig");
}

static void check_round_trip(const char *name)
{
    char path[512], *once, *twice;
    struct zoo_params p, q;
    (void)snprintf(path, sizeof path, FOLDER "%s", name);
    T_OK(parse_file(&p, path, NULL));
    T_OK(zoo_params_dump(&p, &once));
    T_OK(parse_text(&q, once, NULL));
    T_OK(zoo_params_dump(&q, &twice));
    T_STR(twice, once);
    T_EQ(q.n_warnings, 0);
    T_EQ(q.train_input.batch_size, p.train_input.batch_size);
    wsc_free(once);
    wsc_free(twice);
    zoo_params_fini(&p);
    zoo_params_fini(&q);
}

TEST(zoo_trainer, every_dump_parses_back_to_the_same)
{
    int n_files = 0;
    int64_t before = wsc_mem_in_use(WSC_MEM_CONF);
    DIR *folder = opendir(FOLDER);
    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    if (!folder) return;
    for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
        if (e->d_name[0] == '.') continue;
        check_round_trip(e->d_name);
        n_files++;
    }
    (void)closedir(folder);
    CU_ASSERT(n_files >= LEAST_FILES);
    T_EQ(wsc_mem_in_use(WSC_MEM_CONF), before);
}

/* Keys of the old releases go to those of today. */
TEST(zoo_trainer, old_spellings)
{
    struct zoo_params p;
    T_OK(parse_file(&p, FOLDER "old_runconfig.yaml", NULL));
    CU_ASSERT(p.optimizer.eps == 1e-8);
    T_EQ(p.optimizer.learning_rate.node[2].total_iters, 1399998000);
    T_EQ(p.runconfig.max_checkpoints, 2);
    CU_ASSERT(params_warn(&p, "optimizer.epsilon: old spelling: write optimizer.eps"));
    zoo_params_fini(&p);
}

/* The section is that of the runconfig style; messages name the user's key. */
TEST(zoo_trainer, sparsity_is_that_of_the_runconfig_style)
{
    struct zoo_params p;
    T_OK(parse_text(
        &p,
        TRAINER("    sparsity: {sparsity: 0.75, algorithm: rigl, update: {freq: 100}}\n" ADAMW
                    SCHEDULER,
                ""),
        "sparsity.drop_fraction=0.1"));
    T_EQ(p.sparsity.n, 1);
    CU_ASSERT_EQUAL(p.sparsity.entry[0].algorithm, ZOO_SPARSITY_RIGL);
    CU_ASSERT_EQUAL(p.sparsity.entry[0].drop_fraction.init, 0.1);
    zoo_params_fini(&p);
    CU_ASSERT_EQUAL(parse_text(&p, TRAINER("    sparsity: 1.5\n" ADAMW SCHEDULER, ""), NULL),
                    WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "t.yaml:4:15: trainer.init.sparsity: "));
    zoo_params_fini(&p);
}
