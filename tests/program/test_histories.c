// SPDX-License-Identifier: Apache-2.0
/* What a checkpoint knows of its run: the training and the phase that it belongs to, its samples,
 * its lines of metrics, the evaluation that is due, the faults that have occurred. */
#include "../support/test.h"
#include "fault.h"
#include "small_job.h"
#include "spawn.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both folders have equal lines of metrics, apart from the host's speed. */
static bool same_lines(const char *a, const char *b)
{
    return spawn_ok("for d in %s %s; do sed 's/\"host_[a-z_]*\": [^,]*, //g' $d/metrics.jsonl "
                    ">$d/values; done; cmp %s/values %s/values",
                    a, b, a, b);
}

/* The last line of both has equal weights after equal tokens. */
static bool same_end(const char *a, const char *b)
{
    return spawn_ok("for d in %s %s; do tail -n 1 $d/metrics.jsonl | "
                    "grep -o '\"\\(step\\|tokens\\|weights_hash\\)\": [^,]*' >$d/end; done; "
                    "cmp %s/end %s/end",
                    a, b, a, b);
}

/* Run until DIR/@p file has a line with @p text, then send SIGTERM; free @p r with spawn_free(). */
static void stop_at(const char *command, const char *dir, const char *file, const char *text,
                    struct spawn_result *r)
{
    struct spawn s;
    CU_ASSERT_FATAL(spawn_start(&s, command));
    for (bool found = false; !found && !spawn_ended(&s); fault_sleep_ms(10)) {
        char path[300], line[4000];
        (void)snprintf(path, sizeof path, "%s/%s", dir, file);
        FILE *f = fopen(path, "r");
        while (f && !found && fgets(line, sizeof line, f))
            found = strstr(line, text) != NULL;
        if (f) (void)fclose(f);
    }
    (void)kill(s.pid, SIGTERM);
    spawn_wait(&s, 60, r);
    T_EQ(r->status, 5);
}

/* The phases of tiny_phases.yaml on the tests' data, changed by @p edit of sed; borrowed. */
static const char *phases(const char *edit)
{
    static char command[900];
    const char *path = job_path("phases.yaml");
    CU_ASSERT_FATAL(spawn_ok(
        "sed -e '%s' -e 's#./configs/data/tiny/train#%s/train#' configs/params/tiny_phases.yaml >%s", edit,
        job_data(), path));
    (void)snprintf(command, sizeof command,
                   "\"$WSC\" run --params %s --num_csx 2 --set trace_hash=true", path);
    return command;
}

/* ---- where a training begins ----------------------------------------------------------------- */

#define LOST "--fault lost_shard:shard=0,from=12"

/* A shard that is lost in the second step of a phase takes no step of the phase before, which had
 * other batches or sparse weights. */
TEST(histories, a_loss_does_not_go_back_into_an_earlier_phase)
{
    static const char *const edit[] = {
        "s/checkpoint: .*/checkpoint: {steps: 4}/;$ s#fit: .*#fit: {train_dataloader: "
        "{data_processor: GptHDF5MapDataProcessor, data_dir: ./configs/data/tiny/train, batch_size: 12}}#",
        "s/checkpoint: .*/checkpoint: {steps: 4}/;s/^      loop: {max_steps: 10}/&\\n      "
        "sparsity: 0.75/;$ i \\      sparsity: null"};
    for (int i = 0; i < 2; i++) {
        const char *whole = job_path("whole"), *lost = job_path("lost");
        const char *command = phases(edit[i]);
        CU_ASSERT_FATAL(spawn_ok("%s --model_dir %s", command, whole));
        CU_ASSERT_FATAL(spawn_ok("%s " LOST " --model_dir %s", command, lost));
        CU_ASSERT(same_end(whole, lost));
        CU_ASSERT(spawn_ok("grep -q 'Restored .*checkpoint_10.mdl' %s/run.log", lost));
    }
}

/* Ten steps with @p first, then four with @p second and maybe a loss. */
static const char *two_parts(const char *first, const char *second, const char *fault)
{
    const char *dir = job_path("parts");
#define PARTS "%s --num_csx 2 --set runconfig.checkpoint_steps=4 --model_dir %s "
    CU_ASSERT_FATAL(spawn_ok(PARTS "--max_steps 10 %s", job_tiny(), dir, first));
    CU_ASSERT_FATAL(spawn_ok(PARTS "--max_steps 14 %s %s", job_tiny(), dir, second, fault));
    return dir;
}

/* A run that resumes with other batches, or skips samples, could not repeat earlier steps. */
TEST(histories, a_loss_does_not_go_back_to_other_samples)
{
    static const struct {
        const char *first, *second;
    } row[] = {{"", "--set train_input.batch_size=64"},
               {"", "--set optimizer.weight_decay=0.2"},
               {"--set runconfig.skip_samples=16", "--set runconfig.skip_samples=16"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        CU_ASSERT(same_end(two_parts(row[i].first, row[i].second, ""),
                           two_parts(row[i].first, row[i].second, LOST)));
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* A list that was trained is started again: the sparse phase does not load dense weights. */
TEST(histories, a_phase_that_is_past_is_left_out)
{
    struct spawn_result r;
    const char *dir = job_path("list");
    const char *command = phases("s/^      loop: {max_steps: 10}/&\\n      sparsity: 0.75/;"
                                 "$ i \\      sparsity: null");
    CU_ASSERT_FATAL(spawn_ok("%s --model_dir %s", command, dir));
    spawn_run(&r, "%s --model_dir %s", command, dir);
    T_EQ(r.status, 0);
    CU_ASSERT(strstr(r.out, "Phase 1 of 2 was trained by an earlier start.") != NULL);
    CU_ASSERT(strstr(r.err, "nothing to train: step 20 ") != NULL);
    spawn_free(&r);
}

/* A stop that is asked for in the last step of a phase comes before the next phase, on any number
 * of ranks; a start after it has the lines of a run that nobody stopped. */
TEST(histories, a_stop_in_the_last_step_of_a_phase_is_kept)
{
    static const char *const launcher[] = {"", "mpirun -n 3 --oversubscribe"};
    const char *list = phases("s/max_steps: 10/max_steps: 1/;s/max_steps: 20/max_steps: 2/");
    const char *straight = job_path("straight"), *file = job_path("stop");
    CU_ASSERT_FATAL(spawn_ok("%s --model_dir %s && touch %s", list, straight, file));
    for (int i = 0; i < 2; i++) {
        struct spawn_result r;
        const char *dir = job_path("asked");
        spawn_run(&r, "WSC_STOP_FILE=%s %s %s --model_dir %s", file, launcher[i], list, dir);
        T_EQ(r.status, 5);
        CU_ASSERT(strstr(r.err, "stopped by a call after phase 1 of 2; hint: started again, it "
                                "continues with phase 2") != NULL);
        CU_ASSERT(strstr(r.out, "Phase 2 of 2") == NULL);
        spawn_free(&r);
        CU_ASSERT_FATAL(spawn_ok("%s %s --model_dir %s", launcher[i], list, dir));
        CU_ASSERT(same_lines(straight, dir));
    }
}

/* Phases that count their own steps train them in each start. */
TEST(histories, a_stop_after_a_phase_of_its_own_steps_names_the_next_phase)
{
    const char *list = phases("s/max_steps: 10/num_steps: 1/;s/max_steps: 20/num_steps: 1/");
    const char *dir = job_path("counted"), *file = job_path("asks");
    struct spawn_result r;
    CU_ASSERT_FATAL(spawn_ok("touch %s", file));
    spawn_run(&r, "WSC_STOP_FILE=%s %s --model_dir %s", file, list, dir);
    T_EQ(r.status, 5);
    CU_ASSERT(strstr(r.err, "after phase 1 of 2; hint: --phase 2 continues") != NULL);
    spawn_free(&r);
    CU_ASSERT(spawn_ok("%s --phase 2 --model_dir %s && test $(wc -l <%s/metrics.jsonl) -eq 2", list,
                       dir, dir));
}

/* A signal while the checkpoint at the end of a phase is written. */
TEST(histories, a_signal_at_the_end_of_a_phase_is_kept)
{
    struct spawn_result r;
    char command[1100];
    const char *dir = job_path("signalled");
    (void)snprintf(command, sizeof command,
                   "exec %s --set model.hidden_size=512 --set model.num_heads=8 --model_dir %s",
                   phases(""), dir);
    stop_at(command, dir, "run.log", "Saving checkpoint at step 10", &r);
    CU_ASSERT(strstr(r.out, "Step=20,") == NULL);
    spawn_free(&r);
    CU_ASSERT(spawn_ok("%s", command));
}

/* The evaluation in which phase 2 stopped has the batches of phase 2. */
TEST(histories, an_evaluation_belongs_to_its_phase)
{
    struct spawn_result r;
    char command[1100];
    const char *straight = job_path("straight"), *dir = job_path("stopped");
    const char *list = phases("s/checkpoint: .*/checkpoint: {steps: 5}/;"
                              "s/loop: {max_steps: 10}/loop: {max_steps: 10, eval_frequency: 10, "
                              "eval_steps: 2}/;s/loop: {max_steps: 20}/loop: {max_steps: 20, "
                              "eval_frequency: 5, eval_steps: 500}/;"
                              "$ s#fit: .*#fit: {<<: *fit, val_dataloader: *train}#;"
                              "s/  train_dataloader:/&\\ \\&train/;"
                              "s/^        shuffle_seed: 1/&\\n      val_dataloader: *train/");
    (void)snprintf(command, sizeof command, "exec %s --mode train_and_eval --model_dir %s", list,
                   dir);
    CU_ASSERT_FATAL(spawn_ok("%s --mode train_and_eval --model_dir %s", list, straight));
    stop_at(command, dir, "metrics.jsonl", "\"step\": 15,", &r);
    CU_ASSERT(strstr(r.err, "checkpoint_15.mdl") != NULL);
    spawn_free(&r);
    CU_ASSERT_FATAL(spawn_ok("%s", command));
    CU_ASSERT(same_lines(straight, dir));
}

/* An evaluation that a run leaves out is not due any more once a step has followed. */
TEST(histories, an_evaluation_that_was_left_out_is_not_due)
{
    struct spawn_result r;
    char command[1100];
    const char *dir = job_path("due");
    (void)snprintf(command, sizeof command,
                   "exec %s --set runconfig.eval_frequency=10 --max_steps 20 --model_dir %s "
                   "--set runconfig.checkpoint_steps=100",
                   job_tiny(), dir);
    char stopped[1300];
    (void)snprintf(stopped, sizeof stopped,
                   "%s --mode train_and_eval --set runconfig.eval_steps=3000", command);
    stop_at(stopped, dir, "metrics.jsonl", "\"step\": 10,", &r);
    CU_ASSERT(strstr(r.err, "checkpoint_10.mdl") != NULL);
    spawn_free(&r);
    CU_ASSERT_FATAL(spawn_ok("%s --mode train --num_steps 4", command));
    spawn_run(&r, "%s --mode train_and_eval --set runconfig.eval_steps=2", command);
    CU_ASSERT_PTR_NULL(strstr(r.out, "GlobalStep=14,"));
    CU_ASSERT(strstr(r.out, "GlobalStep=20,") != NULL);
    spawn_free(&r);
}

/* ---- repeated steps -------------------------------------------------------------------------- */

#define REPEATS                                                                                    \
    "--num_csx 2 --max_steps 18 --set train_input.batch_size=384 "                                 \
    "--set runconfig.checkpoint_steps=6 --fault lost_shard:shard=0,from=12"

/* The faults' time of the run in @p dir is that of the run, which met @p n_events. */
static void check_costs(const char *dir, long long n_events)
{
    T_EQ(job_performance(dir, "time_ps", 0),
         job_performance(dir, "virtual_time_ps", 0) + job_performance(dir, "evaluation_ps", 0));
    T_EQ(job_performance(dir, "events", 0), n_events);
}

/* Stopped after step 8, and again while steps 7 to 11 are repeated, a run resumes there, although
 * there was a checkpoint of step 8; its files have what an uninterrupted run has.  Steps take so
 * long that a signal is seen among the repeated ones. */
TEST(histories, a_stop_in_repeated_steps_is_kept)
{
    struct spawn_result r;
    char command[1300];
    const char *straight = job_path("straight"), *dir = job_path("repeats");
    CU_ASSERT_FATAL(spawn_ok("%s " REPEATS " --model_dir %s", job_tiny(), straight));
    CU_ASSERT_FATAL(spawn_ok("%s " REPEATS " --num_steps 8 --model_dir %s", job_tiny(), dir));
    (void)snprintf(command, sizeof command, "exec %s " REPEATS " --model_dir %s", job_tiny(), dir);
    stop_at(command, dir, "run.log", "Restored ", &r);
    const char *at = strstr(r.err, "stopped by Terminated after step ");
    const long long step = at ? strtoll(at + 33, NULL, 10) : -1;
    CU_ASSERT_FATAL(step > 6 && step < 12);
    spawn_free(&r);
    T_EQ(job_performance(dir, "steps", 0), 3 + step - 6);
    CU_ASSERT(job_performance(dir, "global_rate", 0) > 0);
    check_costs(dir, 1);
    T_EQ(job_performance(dir, "cost_ps", 0) / 1000000000000,
         job_performance(straight, "cost_ps", 0) / 1000000000000);
    CU_ASSERT_FATAL(spawn_ok("%s", command));
    check_costs(dir, 0);
    T_EQ(job_performance(dir, "first_step", 0), step);
    CU_ASSERT(same_lines(straight, dir));
}

/* ---- links that lose packets ----------------------------------------------------------------- */

/* The report of a step that has ended delays no step after it. */
TEST(histories, a_resumed_run_has_the_times_of_lossy_links)
{
#define LOSSY                                                                                      \
    "--num_csx 2 --max_steps 14 --set train_input.micro_batch_size=2 "                             \
    "--set cluster.checkpoint.rate=0params/s --set runconfig.checkpoint_steps=5 "                  \
    "--fault lossy_link:wafer=1,loss=0.01"
    const char *straight = job_path("straight"), *dir = job_path("resumed");
    CU_ASSERT_FATAL(spawn_ok("%s " LOSSY " --model_dir %s", job_tiny(), straight));
    CU_ASSERT_FATAL(spawn_ok("%s " LOSSY " --num_steps 11 --model_dir %s", job_tiny(), dir));
    CU_ASSERT_FATAL(spawn_ok("%s " LOSSY " --model_dir %s", job_tiny(), dir));
    CU_ASSERT(same_lines(straight, dir));
}
