// SPDX-License-Identifier: Apache-2.0
/* Checkpoints of cstorch, made by tests/fixtures/make_cstorch_checkpoints.py: a run resumes from
 * them as from the same state under plain names. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/store.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { N = 48, T = 8, VOCAB = 32, STEP = 7 };

/* Samples that fit the fixture's model. */
static const char *samples(void)
{
    static char dir[200];
    static int32_t data[N][3][T];
    char path[240];
    if (dir[0]) return dir;
    for (int i = 0; i < N; i++)
        for (int t = 0; t < T; t++) {
            data[i][0][t] = (i * 7 + t * t) % VOCAB;
            data[i][1][t] = 1;
            data[i][2][t] = (i * 7 + (t + 1) * (t + 1)) % VOCAB;
        }
    (void)snprintf(dir, sizeof dir, "%s", job_path("samples"));
    CU_ASSERT_FATAL(mkdir(dir, 0755) == 0);
    (void)snprintf(path, sizeof path, "%s/a.h5", dir);
    T_OK(store_samples_write(path, &data[0][0][0], N, T));
    return dir;
}

/* Two steps from @p checkpoint on. */
static const char *command(const char *dir, const char *checkpoint, const char *options)
{
    static char text[2048];
    (void)snprintf(text, sizeof text,
                   "%s --model_dir %s --max_steps 9 --set train_input.data_dir=%s "
                   "--set model.vocab_size=32 --set model.hidden_size=8 --set model.num_heads=2 "
                   "--set model.num_hidden_layers=1 --set model.filter_size=16 "
                   "--set model.max_position_embeddings=8 --set model.use_ffn_bias=false "
                   "--set model.use_projection_bias_in_attention=false "
                   "--set model.use_ffn_bias_in_attention=false --checkpoint_path %s %s",
                   job_tiny(), dir, samples(), checkpoint, options);
    return text;
}

static bool go_on(const char *dir, const char *checkpoint, const char *options)
{
    return spawn_ok("%s", command(dir, checkpoint, options));
}

TEST(cstorch, a_run_goes_on_from_every_layout_alike)
{
    struct job_metrics plain, other;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("plain"));
    CU_ASSERT_FATAL(go_on(dir, "tests/data/cstorch_plain.mdl", "--num_csx 1"));
    CU_ASSERT_FATAL(job_read(dir, &plain));
    T_EQ(plain.n, 2);
    T_EQ(plain.step[0].step, STEP + 1);
    for (int v = 4; v <= 5; v++) {
        char file[64];
        (void)snprintf(file, sizeof file, "tests/data/cstorch_0%d.mdl", v);
        (void)snprintf(dir, sizeof dir, "%s", job_path("other"));
        CU_ASSERT_FATAL(go_on(dir, file, v == 4 ? "--num_csx 1" : "--num_csx 2"));
        CU_ASSERT_FATAL(job_read(dir, &other));
        CU_ASSERT(job_same_values(&plain, &other));
    }
}

/* Moments that were taken for those of other parameters would change the weights. */
TEST(cstorch, moments_find_their_parameters)
{
    struct job_metrics with, without;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("with"));
    CU_ASSERT_FATAL(go_on(dir, "tests/data/cstorch_05.mdl", ""));
    CU_ASSERT_FATAL(job_read(dir, &with));
    (void)snprintf(dir, sizeof dir, "%s", job_path("without"));
    CU_ASSERT_FATAL(go_on(dir, "tests/data/cstorch_05.mdl",
                          "--set runconfig.load_checkpoint_states=model,global_step,dataloader"));
    CU_ASSERT_FATAL(job_read(dir, &without));
    T_STR(with.step[0].loss, without.step[0].loss);
    CU_ASSERT(strcmp(with.step[0].hash, without.step[0].hash) != 0);
}

TEST(cstorch, other_groups_of_parameters_are_refused)
{
    struct spawn_result r;
    spawn_run(&r, "%s",
              command(job_path("groups"), "tests/data/cstorch_05.mdl",
                      "--set optimizer.adjust_learning_rate.decoder_kernel=0.5"));
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "optimizer.param_groups.0 has other parameters"));
    spawn_free(&r);
}
