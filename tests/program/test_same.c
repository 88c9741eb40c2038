// SPDX-License-Identifier: Apache-2.0
/* Ranks that were not started alike: with other options, or where other files lie under the same
 * path.  One line names the rank and what differs; status 2 (1: other folders), within seconds,
 * nothing is left. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/clock.h>

#include <stdio.h>
#include <string.h>

static void refused(const struct spawn_result *r, int status, double seconds, const char *says)
{
    const char *first = strstr(r->err, "wsc: error: ");
    const bool good = r->status == status && r->n_left == 0 && seconds < 20 && first &&
                      !strstr(first + 1, "wsc: error: ") && strstr(first, says);
    if (!good)
        (void)fprintf(stderr, "expected \"%s\": %d after %.0f s, %d left: %s\n", says, r->status,
                      seconds, r->n_left, r->err);
    CU_ASSERT(good);
}

static void start_unequal(const char *first, const char *second, const char *says)
{
    struct spawn_result r;
    const char *tiny = strstr(job_tiny(), "--params"), *dir = job_path("unequal");
    const double began = wsc_clock_s();
    spawn_run(&r,
              "mpirun --quiet -n 1 \"$WSC\" run %s --model_dir %s %s : "
              "-n 2 \"$WSC\" run %s --model_dir %s %s",
              tiny, dir, first, tiny, dir, second);
    refused(&r, 2, wsc_clock_s() - began, says);
    spawn_free(&r);
}

TEST(same, ranks_with_other_options_are_refused)
{
    start_unequal("--num_csx 2", "--num_csx 2 --set optimizer.learning_rate=0.5",
                  " was started with --set where rank 0 ");
    start_unequal("--num_csx 2 --max_steps 3", "--num_csx 2 --max_steps 4", "rank 1 on ");
    start_unequal("--num_csx 2", "--num_csx 3", " was started with 3 where rank 0 ");
    start_unequal("--num_csx 2", "--num_csx two", " was started with two where rank 0 ");
    start_unequal("--num_csx 2 --cluster configs/cluster/mesh.yaml", "--num_csx 2",
                  " was started with nothing where rank 0 ");
    start_unequal("--num_csx 2", "--num_csx 2 --nonsense", "--nonsense: no such option");
}

/* One byte in the middle of a copy differs. */
static void copies_that_differ_in_one_sample(const char *dir, const char *command)
{
    struct spawn_result r;
    CU_ASSERT_FATAL(spawn_ok("rm -r %s/b/data && cp -r %s/a/data %s/b/data && "
                             "f=%s/b/data/train/data-00000.h5 && "
                             "at=$(($(stat -c %%s $f) / 2)) && "
                             "printf '\\377' | dd of=$f bs=1 seek=$at conv=notrunc 2>/dev/null",
                             dir, dir, dir, dir));
    const double began = wsc_clock_s();
    spawn_run(&r,
              "n=$(\"$WSC\" ranks --num_csx 2); "
              "mpirun --quiet --wdir %s/a -n $((n - 1)) %s : --wdir %s/b -n 1 %s",
              dir, command, dir, command);
    refused(&r, 2, wsc_clock_s() - began, "the content of data/train/data-00000.h5");
    spawn_free(&r);
}

/* Two folders, as on two hosts, with another text under the same relative path. */
TEST(same, ranks_with_other_samples_are_refused)
{
    char dir[160], command[2048];
    struct spawn_result r;
    (void)snprintf(dir, sizeof dir, "%s", job_path("hosts"));
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s/a %s/b && ln -s $PWD/configs %s/a && "
                             "ln -s $PWD/configs %s/b && cp -r %s %s/a/data && "
                             "seq 30000 > %s/text && "
                             "\"$WSC\" data --input %s/text --out %s/b/data --max_seq_length 64 "
                             "--split 0.1",
                             dir, dir, dir, dir, job_data(), dir, dir, dir, dir));
    (void)snprintf(command, sizeof command,
                   "\"$WSC\" run --params configs/params/tiny.yaml --num_csx 2 --mode train "
                   "--set train_input.data_dir=data/train --set eval_input.data_dir=data/val "
                   "--model_dir %s/m --max_steps 2",
                   dir);
    const double began = wsc_clock_s();
    spawn_run(&r,
              "n=$(\"$WSC\" ranks --num_csx 2); "
              "mpirun --quiet --wdir %s/a -n $((n - 1)) %s : --wdir %s/b -n 1 %s",
              dir, command, dir, command);
    refused(&r, 2, wsc_clock_s() - began, "train_input: rank ");
    spawn_free(&r);
    copies_that_differ_in_one_sample(dir, command);
    spawn_run(&r,
              "n=$(\"$WSC\" ranks --num_csx 2); "
              "mpirun --quiet --wdir %s/a -n $((n - 1)) %s : --wdir %s/a -n 1 %s",
              dir, command, dir, command);
    if (r.status) (void)fprintf(stderr, "%s\n", r.err);
    T_EQ(r.status, 0);
    spawn_free(&r);
}

/* A checkpoint, or a file of gradients, whose parts would lie in two folders of one host. */
TEST(same, ranks_with_other_working_folders_are_refused)
{
    const char *dir = job_path("places");
    const struct {
        const char *at, *more, *says;
    } file[] = {{".", "", "here/: not the same place for rank 0"},
                {dir, "--dump_gradients g.h5", "g.h5: not the same place for rank 0"}};
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s/a %s/b && ln -s $PWD/configs %s/a && "
                             "ln -s $PWD/configs %s/b",
                             dir, dir, dir, dir));
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        struct spawn_result r;
        char words[1000];
        (void)snprintf(words, sizeof words,
                       "-n 1 %s --num_csx 2 --num_steps 1 --set runconfig.checkpoint_steps=1 "
                       "--set cluster.memoryx.shards=2 --model_dir %s/here %s",
                       job_tiny(), file[i].at, file[i].more);
        const double began = wsc_clock_s();
        spawn_run(&r, "mpirun --quiet --wdir %s/a %s : --wdir %s/b %s", dir, words, dir, words);
        refused(&r, 1, wsc_clock_s() - began, file[i].says);
        spawn_free(&r);
    }
}

/* What a rank cannot read as a number of threads is named once, and its processors decide. */
TEST(same, a_number_of_threads_that_is_none_is_named)
{
    struct spawn_result r;
    static const char *const bad[] = {"nan", "0", "2x"};
    for (int i = 0; i < 3; i++) {
        spawn_run(&r, "OMP_NUM_THREADS=%s %s --num_steps 1 --model_dir %s", bad[i], job_tiny(),
                  job_path("threads"));
        T_EQ(r.status, 0);
        static const char why[] = "not a whole number from 1 up";
        const char *line = strstr(r.err, why);
        CU_ASSERT(line && strstr(r.err, bad[i]) && !strstr(line + 1, why));
        spawn_free(&r);
    }
    spawn_run(&r, "OMP_NUM_THREADS=2,1 %s --num_steps 1 --model_dir %s", job_tiny(),
              job_path("threads"));
    T_EQ(r.status, 0);
    T_STR(r.err, "");
    spawn_free(&r);
}
