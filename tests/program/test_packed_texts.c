// SPDX-License-Identifier: Apache-2.0
/* Packed texts: a sample takes the time of a whole sequence, with and without values, and the
 * program says so (docs/decisions/0046-packed-texts.md). */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <string.h>

enum { T = 64, EOS = 256 };

/* Short texts of different lengths, several to a sample. */
static const char *packed_data(void)
{
    static char dir[160];
    char text[176];
    if (dir[0]) return dir;
    (void)snprintf(dir, sizeof dir, "%s", job_path("texts"));
    (void)snprintf(text, sizeof text, "%s.jsonl", dir);
    FILE *f = fopen(text, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (int i = 0; i < 300; i++)
        (void)fprintf(f, "{\"text\": \"%.*s\"}\n", 3 + i * 7 % 40,
                      "packed texts do not attend to each other");
    CU_ASSERT_FATAL(!fclose(f));
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" data --input %s --out %s --max_seq_length %d --use_vsl "
                             "--eos_id %d",
                             text, dir, T, EOS));
    return dir;
}

/* tiny.yaml with the vocabulary of the packed texts. */
static bool run(const char *options, const char *dir, struct job_metrics *m)
{
    return spawn_ok("%s --num_steps 3 --set runconfig.log_steps=1 --set model.vocab_size=%d "
                    "--model_dir %s %s",
                    job_tiny(), EOS + 1, dir, options) &&
           job_read(dir, m) && m->n == 3;
}

static bool has_line(const char *dir, const char *line)
{
    return spawn_ok("grep -q '%s' %s/run.log", line, dir);
}

TEST(packed, a_sample_takes_the_time_of_a_whole_sequence)
{
    for (int num_csx = 1; num_csx <= 2; num_csx++) {
        struct job_metrics plain, packed, none;
        char options[600];
        const char *dir = job_path("run");
        (void)snprintf(options, sizeof options, "--num_csx %d", num_csx);
        CU_ASSERT_FATAL(run(options, job_path("plain"), &plain));
        (void)snprintf(options, sizeof options,
                       "--num_csx %d --set train_input.use_vsl=true --set train_input.data_dir=%s"
                       "/train",
                       num_csx, packed_data());
        CU_ASSERT_FATAL(run(options, dir, &packed));
        CU_ASSERT(has_line(dir, "Packed texts (use_vsl): a sample takes the time of a whole"));
        CU_ASSERT(strcmp(plain.step[0].loss, packed.step[0].loss) != 0);
        CU_ASSERT(job_same_times(&plain, &packed));
        (void)strncat(options, " --numerics none", sizeof options - strlen(options) - 1);
        CU_ASSERT_FATAL(run(options, dir, &none));
        CU_ASSERT(has_line(dir, "Packed texts (use_vsl): a sample takes the time of a whole"));
        CU_ASSERT(job_same_times(&none, &packed));
    }
}

/* Two of five numbers a token more through a port that is the limit. */
TEST(packed, the_input_has_more_to_send)
{
    struct job_metrics plain = {0}, packed = {0};
    char options[600];
    CU_ASSERT_FATAL(
        run("--numerics none --set cluster.input.rate='1 kB/s'", job_path("plain"), &plain));
    (void)snprintf(
        options, sizeof options,
        "--numerics none --set cluster.input.rate='1 kB/s' --set train_input.use_vsl=true "
        "--set train_input.data_dir=%s/train",
        packed_data());
    CU_ASSERT_FATAL(run(options, job_path("packed"), &packed));
    T_NEAR((double)packed.step[1].step_time_ps, 20.0 / 12 * (double)plain.step[1].step_time_ps,
           1e-3 * (double)plain.step[1].step_time_ps);
}

TEST(packed, the_plan_names_the_assumption)
{
    struct spawn_result r;
    spawn_run(&r, "%s --compile_only", job_tiny());
    CU_ASSERT(r.status == 0 && !strstr(r.out, "packed texts"));
    spawn_free(&r);
    spawn_run(&r, "%s --compile_only --set train_input.use_vsl=true", job_tiny());
    CU_ASSERT(r.status == 0 && strstr(r.out, "packed texts         take the time of whole"));
    spawn_free(&r);
}
