// SPDX-License-Identifier: Apache-2.0
/* Preference optimization as users run it: pairs from JSON Lines, a policy and a reference that
 * begin from one checkpoint, the same bits on any machine, resuming, held-out pairs.  Gradients
 * against PyTorch are in test_run_families.c, cases pairs_*. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/store.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 6 };
#define PAIRS                                                                                      \
    "--set train_input.data_processor=DpoHDF5DataProcessor "                                       \
    "--set eval_input.data_processor=DpoHDF5DataProcessor --set model.dpo.beta=0.5 "

static bool train(const char *before, const char *dir, const char *options)
{
    return spawn_ok("%s %s " PAIRS "--set train_input.data_dir=%s/train --max_steps %d "
                    "--model_dir %s %s",
                    before, job_tiny(), job_pairs(), STEPS, dir, options);
}

/* ---- one result on every machine ------------------------------------------------------------- */

TEST(preferences, values_do_not_depend_on_who_computes_them)
{
    static const struct {
        const char *before, *options;
    } ways[] = {{"", "--num_csx 3 --set train_input.micro_batch_size=1"},
                {"OMP_NUM_THREADS=2", "--num_csx 2 --set cluster.memoryx.shards=3 --set "
                                      "cluster.stream.granularity=matrix"},
                {"mpirun --quiet -n 2", "--num_csx 2 --set cluster.memoryx.shards=2"}};
    static const char cb16[] =
        "--set model.mixed_precision=true --set model.fp16_type=cbfloat16 "
        "--set optimizer.loss_scaling_factor=dynamic --set reduction_leaf=3 ";
    struct job_metrics one = {0}, other = {0};
    char options[600], dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("pairs_one"));
    CU_ASSERT_FATAL(train("", dir, cb16) && job_read(dir, &one));
    T_EQ(one.n, STEPS);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(options, sizeof options, "%s%s", cb16, ways[i].options);
        (void)snprintf(dir, sizeof dir, "%s", job_path("pairs_other"));
        CU_ASSERT_FATAL(train(ways[i].before, dir, options) && job_read(dir, &other));
        CU_ASSERT(job_same_values(&one, &other));
    }
}

/* On the mesh: values within rounding of the host's, with dropout of the policy alone, and equal
 * bits on one system, on ranks and on two lanes. */
TEST(preferences, the_mesh_trains_on_pairs)
{
    enum { FEW = 3 };
    static const char small[] =
        "--set model.hidden_size=16 --set model.num_heads=2 --set model.filter_size=32 "
        "--set model.num_hidden_layers=1 --set train_input.batch_size=3 "
        "--set model.dpo.disable_dropout=false --set model.dropout_rate=0.3 --num_steps 3 "
        "--set cluster.wafer.pe_rows=8 ";
    static const struct {
        const char *before, *options;
    } ways[] = {
        {"", "--numerics mesh --num_csx 1 --set cluster.wafer.pe_cols=8"},
        {"mpirun --quiet -n 3", "--numerics mesh --num_csx 2 --set cluster.wafer.pe_cols=8"},
        {"", "--numerics mesh --num_csx 1 --set lanes=2 --set cluster.wafer.pe_cols=17"},
        {"", "--numerics host --num_csx 2"}};
    struct job_metrics m[4] = {{0}};
    char options[700], dir[160];
    for (int i = 0; i < 4; i++) {
        (void)snprintf(options, sizeof options, "%s%s", small, ways[i].options);
        (void)snprintf(dir, sizeof dir, "%s", job_path("pairs_mesh"));
        CU_ASSERT_FATAL(train(ways[i].before, dir, options) && job_read(dir, &m[i]));
        T_EQ(m[i].n, FEW);
        if (i < 3) CU_ASSERT(job_same_values(&m[i], &m[0]));
    }
    for (int i = 0; i < FEW; i++) {
        T_NEAR(strtod(m[0].step[i].loss, NULL), strtod(m[3].step[i].loss, NULL), 1e-5);
        T_NEAR(strtod(m[0].step[i].grad_norm, NULL), strtod(m[3].step[i].grad_norm, NULL), 1e-4);
    }
}

/* Smoothed labels are of models that predict tokens: a warning says that the key has no effect, and
 * it has none. */
TEST(preferences, labels_of_tokens_are_not_smoothed)
{
    static const char *const options[] = {"", "--set model.label_smoothing=0.3"};
    struct job_metrics m[2] = {{0}};
    char dir[160];
    for (int i = 0; i < 2; i++) {
        (void)snprintf(dir, sizeof dir, "%s", job_path("pairs_labels"));
        CU_ASSERT_FATAL(train("", dir, options[i]) && job_read(dir, &m[i]));
    }
    CU_ASSERT(job_same_values(&m[0], &m[1]));
    CU_ASSERT(job_same_times(&m[0], &m[1]));
}

/* `policy_model` of the newer releases, `model_name` of the older one, and a dump. */
TEST(preferences, every_form_of_a_file_is_the_same_job)
{
    static const char policy[] =
        "vocab_size: 256, hidden_size: 64, num_hidden_layers: 2, num_heads: 2, filter_size: 256, "
        "max_position_embeddings: 64, share_embedding_weights: true, nonlinearity: gelu, "
        "layer_norm_epsilon: 1.0e-5, dropout_rate: 0.3";
    struct job_metrics m[3];
    char command[2400], yaml[200], dir[160];
    (void)snprintf(yaml, sizeof yaml, "%s", job_path("forms.yaml"));
    static const char *const before[] = {
        "{name: dpo, dpo: {beta: 0.5}, policy_model: {name: gpt2, ",
        "{model_name: gpt2, dpo: {beta: 0.5}, "};
    static const char *const after[] = {"}}", "}"};
    for (int i = 0; i < 3; i++) {
        char form[1200] = "";
        if (i < 2) (void)snprintf(form, sizeof form, "%s%s%s", before[i], policy, after[i]);
        (void)snprintf(dir, sizeof dir, "%s", job_path("forms"));
        (void)snprintf(
            command, sizeof command,
            "\"$WSC\" run --params configs/params/tiny_trainer.yaml --set trace_hash=true "
            "--set trainer.fit.train_dataloader.data_processor=DpoHDF5DataProcessor "
            "--set trainer.fit.train_dataloader.data_dir=%s/train --set "
            "trainer.fit.val_dataloader.data_processor=DpoHDF5DataProcessor --set "
            "'trainer.init.model=%s'",
            job_pairs(), form);
        if (i == 1) CU_ASSERT_FATAL(spawn_ok("%s --dump_params >%s", command, yaml));
        if (i == 2) (void)snprintf(command, sizeof command, "\"$WSC\" run --params %s", yaml);
        CU_ASSERT_FATAL(spawn_ok("%s --max_steps %d --model_dir %s", command, STEPS, dir) &&
                        job_read(dir, &m[i]));
        CU_ASSERT(job_same_values(&m[0], &m[i]));
    }
}

/* The reference model is streamed and computed before the policy's forward. */
TEST(preferences, a_reference_model_takes_time)
{
    struct job_metrics with = {0}, without = {0}, values = {0};
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("pairs_with"));
    CU_ASSERT_FATAL(train("", dir, "--num_csx 2 --numerics none") && job_read(dir, &with));
    (void)snprintf(dir, sizeof dir, "%s", job_path("pairs_values"));
    CU_ASSERT_FATAL(train("", dir, "--num_csx 2") && job_read(dir, &values));
    CU_ASSERT(job_same_times(&with, &values));
    (void)snprintf(dir, sizeof dir, "%s", job_path("pairs_without"));
    CU_ASSERT_FATAL(
        train("", dir, "--num_csx 2 --numerics none --set model.dpo.reference_free=true") &&
        job_read(dir, &without));
    CU_ASSERT(with.step[2].step_time_ps > without.step[2].step_time_ps);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

TEST(preferences, a_resumed_run_is_the_straight_one)
{
    struct job_metrics straight, resumed;
    char a[160], b[160];
    (void)snprintf(a, sizeof a, "%s", job_path("pairs_straight"));
    (void)snprintf(b, sizeof b, "%s", job_path("pairs_resumed"));
    CU_ASSERT_FATAL(train("", a, "--num_csx 2"));
    CU_ASSERT_FATAL(train("", b, "--num_steps 3 --set runconfig.checkpoint_steps=3"));
    CU_ASSERT_FATAL(train("", b, "--num_csx 3 --set cluster.memoryx.shards=2"));
    CU_ASSERT_FATAL(job_read(a, &straight) && job_read(b, &resumed));
    CU_ASSERT(job_same_values(&straight, &resumed));
}

/* True when the tensor @p name of @p a has the bytes of @p other of @p b. */
static bool is_same(const char *a, const char *name, const char *b, const char *other)
{
    enum { MOST = 1 << 16 };
    static float x[MOST], y[MOST];
    struct store_file *first = NULL, *last = NULL;
    int n_dims;
    int64_t shape[2] = {1, 1};
    bool ok = store_open(&first, a) == WSC_OK && store_open(&last, b) == WSC_OK &&
              store_shape(first, name, &n_dims, shape) == WSC_OK;
    const int64_t n = ok ? shape[0] * (n_dims > 1 ? shape[1] : 1) : 0;
    ok = ok && n <= MOST && store_read(first, name, STORE_F32, 0, n, x) == WSC_OK &&
         store_read(last, other, STORE_F32, 0, n, y) == WSC_OK &&
         !memcmp(x, y, (size_t)n * sizeof *x);
    store_close(&first);
    store_close(&last);
    return ok;
}

/* A number that stands after @p name in what the command prints. */
static double printed(const char *name, const char *command)
{
    struct spawn_result r;
    spawn_run(&r, "%s 2>&1 | sed -n 's/.*%s[=: ]*\\([-0-9.e+]*\\).*/\\1/p' | tail -1", command,
              name);
    const double value = r.out[0] ? strtod(r.out, NULL) : NAN;
    spawn_free(&r);
    return value;
}

#define Q_LAYER "model.transformer_decoder.layers.0.self_attn.proj_q_dense_layer.weight"

/* Both models begin from the checkpoint of one, so that the first margins are 0; a model alone
 * takes the policy back. */
TEST(preferences, both_models_begin_from_one_checkpoint)
{
    char base[160], tuned[160], from[240], to[240], command[1200];
    (void)snprintf(base, sizeof base, "%s", job_path("pairs_base"));
    (void)snprintf(tuned, sizeof tuned, "%s", job_path("pairs_tuned"));
    (void)snprintf(from, sizeof from, "%s/checkpoint_4.mdl", base);
    (void)snprintf(to, sizeof to, "%s/checkpoint_6.mdl", tuned);
    CU_ASSERT_FATAL(spawn_ok("%s --max_steps 4 --set runconfig.checkpoint_steps=4 --model_dir %s",
                             job_tiny(), base));
    (void)snprintf(command, sizeof command,
                   "--checkpoint_path %s --set runconfig.load_checkpoint_states=model --set "
                   "runconfig.checkpoint_steps=6 --set runconfig.log_steps=1",
                   from);
    CU_ASSERT_FATAL(train("", tuned, command));
    (void)snprintf(command, sizeof command, "head -1 %s/metrics.jsonl | tr -d '\"'", tuned);
    T_NEAR(printed("step: 1, loss", command), log(2), 1e-12);
    T_NEAR(printed("reward_margins", command), 0, 0);
    CU_ASSERT(printed("policy_chosen_logps", command) < 0);
    CU_ASSERT(is_same(from, Q_LAYER, to, "ref_model." Q_LAYER));
    CU_ASSERT(!is_same(from, Q_LAYER, to, "policy_model." Q_LAYER));
    (void)snprintf(command, sizeof command, "%s --mode eval --checkpoint_path %s --model_dir %s",
                   job_tiny(), to, job_path("pairs_policy"));
    CU_ASSERT(printed("Eval Loss", command) > 0);
    CU_ASSERT(spawn_ok("%s " PAIRS "--dump_params >%s.yaml && \"$WSC\" convert --from cs --to hf "
                       "--model gpt2 --params %s.yaml --input %s --out %s_hf && test -s "
                       "%s_hf/model.safetensors",
                       job_tiny(), tuned, tuned, to, tuned, tuned));
}

/* ---- learning -------------------------------------------------------------------------------- */

TEST(preferences, the_margin_of_held_out_pairs_rises)
{
    static const char *const losses[] = {"sigmoid", "hinge", "ipo"};
    for (int i = 0; i < 3; i++) {
        char dir[160], command[1200];
        (void)snprintf(dir, sizeof dir, "%s", job_path(losses[i]));
        (void)snprintf(command, sizeof command,
                       "%s " PAIRS
                       "--set train_input.data_dir=%s/train --set eval_input.data_dir=%s/val "
                       "--set model.dpo.loss_type=%s --set train_input.batch_size=16 --set "
                       "eval_input.batch_size=8 --max_steps 30 --set optimizer.learning_rate=0.003 "
                       "--mode train_and_eval --model_dir %s",
                       job_tiny(), job_pairs(), job_pairs(), losses[i], dir);
        const double margin = printed("eval.rewards_margins", command);
        (void)printf("%s: margin of held-out pairs 0 -> %.4f\n", losses[i], margin);
        CU_ASSERT(margin > 0.2);
        (void)snprintf(command, sizeof command, "tail -1 %s/metrics.jsonl | tr -d '\"'", dir);
        CU_ASSERT(printed("eval_rewards_accuracies", command) > 0.9);
    }
}

/* The policy and the reference have a row each for a module. */
TEST(preferences, modules_of_the_profile_are_of_one_model)
{
    char dir[160], options[300];
    (void)snprintf(dir, sizeof dir, "%s", job_path("dpo_profile"));
    (void)snprintf(options, sizeof options, "--numerics none --trace %s.json", dir);
    CU_ASSERT_FATAL(train("", dir, options));
    CU_ASSERT(spawn_ok("grep -q '^ref_model.model.transformer_decoder.layers.1.ffn.0.fwd,' "
                       "%s/op_profile.csv",
                       dir));
    CU_ASSERT(spawn_ok("test -z \"$(cut -d, -f1 %s/op_profile.csv | sort | uniq -d)\"", dir));
}

/* Virtual time of the third step, ps. */
static long long step_ps(const char *options)
{
    struct job_metrics m = {0};
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("dpo_input"));
    CU_ASSERT_FATAL(train("", dir, options) && job_read(dir, &m) && m.n == STEPS);
    return m.step[2].step_time_ps;
}

/* A worker process reads a pair as one sample: at 10 s each all else is short. */
TEST(preferences, a_pair_is_one_sample_of_the_input)
{
    const long long ps = step_ps("--numerics none --set train_input.batch_size=8 "
                                 "--set cluster.input.workers=1 --set train_input.num_workers=1 "
                                 "--set cluster.input.sample_time='10 s'");
    T_NEAR((double)ps * 1e-12 / 80, 1, 1e-2);
}
