// SPDX-License-Identifier: Apache-2.0
/* Values of params that the Model Zoo decides by other keys or by null: bounds of dynamic loss
 * scaling, evaluations during a training, the scheduler that a list makes; the hash of a training.
 */
#include "../../support/params_case.h"
#include "../../support/test.h"

#include <wsc/conf.h>
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

/* Whatever the first factor is, the greatest one is that of the format. */
TEST(zoo_values, loss_scaling_has_the_bound_of_its_format)
{
    static const struct {
        const char *set;
        double first, most;
        bool warns;
    } row[] = {{"optimizer.initial_loss_scale=1024", 1024, 0x1p15, false},
               {"optimizer.initial_loss_scale=131072", 0x1p15, 0x1p15, true},
               {"optimizer.max_loss_scale=16", 16, 16, false},
               {"optimizer.max_loss_scale=1048576", 0x1p15, 0x1p20, false},
               {"model.fp16_type=cbfloat16", 0x1p31, 0x1p31, false}};
    const char *text =
        INPUT "model: {vocab_size: 9, hidden_size: 64, num_heads: 2, mixed_precision: true, "
              "fp16_type: float16}\n"
              "optimizer: {optimizer_type: AdamW, learning_rate: 1, loss_scaling_factor: "
              "dynamic}\n";
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct zoo_params p;
        T_OK(parse_set(&p, text, row[i].set));
        const struct zoo_loss_scales scales = zoo_loss_scales(&p);
        CU_ASSERT(scales.first == row[i].first && scales.most == row[i].most);
        T_EQ(params_warn(&p, "--set optimizer.initial_loss_scale: 131072 is above "
                             "max_loss_scale: the first factor is 32768"),
             row[i].warns);
        zoo_params_fini(&p);
    }
}

/* The formats with fewer exponent bits than fp32 scale the loss, cbfloat16 dynamically: the key has
 * an effect with those formats alone, which the format of the model decides. */
TEST(zoo_values, the_format_decides_on_loss_scaling)
{
    static const bool scales[] = {
        [NUM_HALF_FP16] = true, [NUM_HALF_BF16] = false, [NUM_HALF_CB16] = true};
    _Static_assert(sizeof scales / sizeof *scales == NUM_N_HALVES, "each format has a row");
    for (int i = 0; i < 2 * NUM_N_HALVES; i++) {
        const enum num_format format = num_format_of((enum num_half)(i / 2));
        const bool mixed = i % 2, factor = mixed && format != NUM_CB16;
        struct zoo_params p;
        char text[512];
        (void)snprintf(text, sizeof text,
                       INPUT "model: {vocab_size: 9, hidden_size: 64, num_heads: 2, "
                             "mixed_precision: %s, fp16_type: %s}\n"
                             "optimizer: {optimizer_type: AdamW, learning_rate: 1, "
                             "loss_scaling_factor: %s}\n",
                       mixed ? "true" : "false", num_formats[format].name,
                       factor ? "8" : "dynamic");
        T_OK(parse(&p, text));
        T_EQ(zoo_number_format(&p.model), mixed ? format : NUM_FP32);
        T_EQ(zoo_key_acts(&p, "optimizer.loss_scaling_factor"), mixed && scales[i / 2]);
        T_EQ(zoo_key_acts(&p, "optimizer.initial_loss_scale"), mixed && scales[i / 2] && !factor);
        zoo_params_fini(&p);
    }
}

/* Without the key a training is evaluated at its end; null and zero ask for no evaluation. */
TEST(zoo_values, no_evaluation_by_null_or_zero)
{
    static const struct {
        const char *set;
        double fraction;
    } row[] = {{NULL, 1},
               {"runconfig.eval_frequency=null", 0},
               {"runconfig.eval_frequency=0", 0},
               {"runconfig.eval_frequency=0.0", 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct zoo_params p;
        T_OK(row[i].set ? parse_set(&p, INPUT MODEL OPTIM, row[i].set)
                        : parse(&p, INPUT MODEL OPTIM));
        CU_ASSERT(p.runconfig.eval_fraction == row[i].fraction);
        CU_ASSERT(p.runconfig.eval_frequency == 0);
        zoo_params_fini(&p);
    }
}

/* A list becomes a chain by any of its entries; conflicting and unknown names are errors. */
TEST(zoo_values, any_entry_names_the_main_scheduler)
{
    static const struct {
        const char *first, *second, *error;
        enum zoo_scheduler scheduler;
    } row[] = {
        {"null", "null", NULL, ZOO_SCHEDULE_SEQUENTIAL},
        {"chained", "null", NULL, ZOO_SCHEDULE_CHAINED},
        {"ChainedLR", "ChainedLR", NULL, ZOO_SCHEDULE_CHAINED},
        {"null", "CHAINEDLR", NULL, ZOO_SCHEDULE_CHAINED},
        {"SequentialLR", "sequential", NULL, ZOO_SCHEDULE_SEQUENTIAL},
        {"Chained", "SequentialLR",
         "optimizer.learning_rate[1].main_scheduler: \"SequentialLR\" contradicts line 5; hint: "
         "one value in all entries",
         ZOO_SCHEDULE_CHAINED},
        {"null", "ChainedScheduler",
         "optimizer.learning_rate[1].main_scheduler: expected SequentialLR or ChainedLR, got "
         "\"ChainedScheduler\"",
         ZOO_SCHEDULE_CHAINED},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct zoo_params p;
        char text[1000];
        (void)snprintf(text, sizeof text,
                       INPUT MODEL "optimizer:\n  optimizer_type: AdamW\n  learning_rate: "
                                   "[{scheduler: Linear, initial_learning_rate: 0.5, "
                                   "end_learning_rate: 1, total_iters: 3, main_scheduler: %s},\n"
                                   "    {scheduler: Constant, learning_rate: 0.5, "
                                   "main_scheduler: %s}]\n",
                       row[i].first, row[i].second);
        T_EQ(parse(&p, text), row[i].error ? WSC_CONFIG : WSC_OK);
        CU_ASSERT(!row[i].error || strstr(wsc_err_message(), row[i].error));
        CU_ASSERT(row[i].error || p.optimizer.learning_rate.node[0].scheduler == row[i].scheduler);
        zoo_params_fini(&p);
    }
}

/* A list of one schedule is neither chain nor sequence, but the name is looked at. */
TEST(zoo_values, a_single_entry_names_a_known_main_scheduler)
{
    static const char *const names[] = {"ChainedLR", "bogus"};
    for (int i = 0; i < 2; i++) {
        struct zoo_params p;
        char text[1000];
        (void)snprintf(text, sizeof text,
                       INPUT MODEL "optimizer:\n  optimizer_type: AdamW\n  learning_rate: "
                                   "[{scheduler: Constant, learning_rate: 0.5, "
                                   "main_scheduler: %s}]\n",
                       names[i]);
        T_EQ(parse(&p, text), i ? WSC_CONFIG : WSC_OK);
        CU_ASSERT(!i || strstr(wsc_err_message(), "learning_rate[0].main_scheduler"));
        zoo_params_fini(&p);
    }
}

static int64_t hash_of(const char *input, const char *run)
{
    struct zoo_params p;
    int64_t hash = -1;
    char text[1000];
    (void)snprintf(text, sizeof text,
                   "train_input:\n  data_processor: GptHDF5MapDataProcessor\n  batch_size: 8\n"
                   "  %s\n" MODEL OPTIM "runconfig: {max_steps: 4%s}\n",
                   input, run);
    T_OK(parse(&p, text));
    T_OK(zoo_training_hash(&p, &hash));
    zoo_params_fini(&p);
    return hash;
}

/* Folders and speed do not decide the values of a step; weights of a mixture, ids of sink tokens
 * and the format of the softmax do. */
TEST(zoo_values, the_hash_of_a_training_has_what_decides_its_values)
{
#define MIXTURE(one, two, weight)                                                                  \
    "mixture: [{data_dir: " one ", weight: " weight "}, {data_dir: " two ", weight: 1}]"
#define SINKS(id)                                                                                  \
    "data_dir: ./d\n  data_transforms: [{name: add_sink_tokens, num_sink_tokens: 1, "              \
    "sink_token_id: " id "}]"
    static const struct {
        const char *input[2], *run[2];
        bool equal;
    } row[] = {{{"data_dir: ./d", "data_dir: ./e"}, {"", ""}, true},
               {{"data_dir: [./d, ./e]", "data_dir: ./f"}, {"", ""}, true},
               {{"data_dir: ./d", "data_dir: ./d\n  micro_batch_size: 2"}, {"", ""}, true},
               {{"data_dir: ./d", "data_dir: ./d"}, {"", ", num_csx: 2"}, true},
               {{MIXTURE("./a", "./b", "2"), MIXTURE("./c", "./d", "2")}, {"", ""}, true},
               {{MIXTURE("./a", "./b", "2"), MIXTURE("./a", "./b", "3")}, {"", ""}, false},
               {{SINKS("5"), SINKS("5")}, {"", ""}, true},
               {{SINKS("5"), SINKS("6")}, {"", ""}, false},
               {{"data_dir: ./d", "data_dir: ./d"}, {"", ", seed: 2"}, false},
               {{"data_dir: ./d", "data_dir: ./d"}, {"", ", precision_opt_level: 2"}, false}};
#undef MIXTURE
#undef SINKS
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        T_EQ(hash_of(row[i].input[0], row[i].run[0]) == hash_of(row[i].input[1], row[i].run[1]),
             row[i].equal);
}

/* True when the learning rate @p rate is refused with @p error; NULL: when it is read. */
static bool rate_is(const char *rate, const char *error)
{
    char text[1000];
    (void)snprintf(text, sizeof text,
                   INPUT MODEL "optimizer: {optimizer_type: AdamW, learning_rate: %s}\n", rate);
    if (error) return params_refused(text, error);
    struct zoo_params p = params_parsed(text);
    const bool is = p.optimizer.learning_rate.n > 0;
    zoo_params_fini(&p);
    return is;
}

/* Names of schedulers are looked at wherever they stand, and two of them must agree. */
TEST(zoo_values, no_name_of_a_scheduler_is_lost)
{
#define PART "{scheduler: Constant, learning_rate: 0.5, total_iters: 2}"
#define MAIN "{scheduler: Constant, learning_rate: 0.5, total_iters: 2, main_scheduler: ChainedLR}"
    static const struct {
        const char *rate, *error; /* NULL: none */
    } row[] = {
        {"{scheduler: Constant, learning_rate: 0.5, main_scheduler: ChainedLR}", NULL},
        {"{scheduler: Constant, learning_rate: 0.5, main_scheduler: Nonsense}",
         "learning_rate.main_scheduler: expected SequentialLR or ChainedLR, got \"Nonsense\""},
        {"{ConstantLR: {learning_rate: 0.5, main_scheduler: blah}}",
         "learning_rate.main_scheduler: expected SequentialLR"},
        {"[" PART ", {ConstantLR: {learning_rate: 0.5, main_scheduler: blah}}]",
         "learning_rate[1].main_scheduler: expected SequentialLR"},
        {"{scheduler: Sequential, schedulers: [" PART ", " MAIN "]}",
         "learning_rate[1].main_scheduler: \"ChainedLR\" contradicts the scheduler Sequential; "
         "hint: one of the two"},
        {"{scheduler: Chained, schedulers: [" PART ", " MAIN "]}", NULL},
        {"{scheduler: Sequential, schedulers: [" PART "], main_scheduler: ChainedLR}",
         "learning_rate.main_scheduler: \"ChainedLR\" contradicts the scheduler Sequential"},
        {"[{SequentialLR: {main_scheduler: blah, schedulers: [" PART "]}}]",
         "learning_rate[0].main_scheduler: expected SequentialLR"},
        {"[{SequentialLR: {main_scheduler: ChainedLR, schedulers: [" PART "]}}, " MAIN "]", NULL},
        {"{LinearLR: {scheduler: Cosine, initial_val: 0, end_val: 1, total_iters: 2}}",
         "learning_rate.scheduler: \"Cosine\" is not supported"},
        {"{LinearLR: {scheduler: CosineDecay, initial_val: 0, end_val: 1, total_iters: 2}}",
         "learning_rate.scheduler: \"CosineDecay\" contradicts the scheduler LinearLR"},
        {"{LinearLR: {scheduler: Linear, initial_val: 0, end_val: 1, total_iters: 2}}", NULL},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        CU_ASSERT(rate_is(row[i].rate, row[i].error));
}

/* The wrapper of factors has the scheduler that it contains, and no other keys. */
TEST(zoo_values, the_wrapper_of_factors_has_one_argument)
{
    static const struct {
        const char *rate, *error; /* NULL: none */
    } row[] = {
        {"[{ScalePerParamLR: {scheduler: " PART "}}]", NULL},
        {"{scheduler: ScalePerParam, schedulers: " PART "}", NULL},
        {"{ScalePerParamLR: {scheduler: [" PART ", " PART "], param_group_tags: null}}", NULL},
        {"[{ScalePerParamLR: {scheduler: " PART ", junk: 3, total_iters: 1}}]",
         "learning_rate[0].junk: unknown key"},
        {"[{ScalePerParamLR: {scheduler: " PART ", total_iters: 1}}]",
         "learning_rate[0].total_iters: unknown key"},
        {"[{ScalePerParamLR: {scheduler: " PART ", schedulers: " PART "}}]",
         "learning_rate[0].schedulers: unknown key"},
        {"{scheduler: ScalePerParam, schedulers: " PART ", initial_learning_rate: 7}",
         "learning_rate.initial_learning_rate: unknown key"},
        {"{ScalePerParamLR: {param_group_tags: null}}",
         "learning_rate.scheduler: required key is missing"},
        {"{scheduler: ScalePerParam}", "learning_rate.schedulers: required key is missing"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        CU_ASSERT(rate_is(row[i].rate, row[i].error));
}

/* Schedules of tagged tensors are read as that of all tensors. */
TEST(zoo_values, a_wrapper_of_factors_for_tagged_tensors_has_one_argument)
{
    CU_ASSERT(params_refused(
        INPUT MODEL "optimizer: {optimizer_type: AdamW, learning_rate: 1, params: {params: bias, "
                    "tag: b}, tagged_schedules: {param_group_tags: b, learning_rate: "
                    "{ScalePerParamLR: {scheduler: " PART ", junk: 3}}}}\n",
        "junk: unknown key"));
}
