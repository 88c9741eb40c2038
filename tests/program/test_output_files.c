// SPDX-License-Identifier: Apache-2.0
/* Outputs that would replace an input or one another are refused before anything is written, and
 * those that cannot be written before the first step. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <string.h>

/* A command in a folder with params my.yaml, hard.yaml (hard link) and link.yaml (symbolic link), a
 * folder D with tables, and LINK, a link to a folder; what it says; its exit status. */
struct refused {
    const char *words, *message;
    int status;
};

/* Run the commands; afterwards the files of the folder are what they were. */
static void expect_refused(const struct refused *row, int n)
{
    const char *dir = job_path("named_files");
    CU_ASSERT(spawn_ok("mkdir -p %s/D %s/fold && cp configs/params/tiny.yaml %s/my.yaml && "
                       "cd %s && ln my.yaml hard.yaml && ln -s my.yaml link.yaml && "
                       "ln -s fold LINK && for f in law scaling validation; do "
                       "echo $f > D/$f.csv; done && cp -r . ../named_before",
                       dir, dir, dir, dir));
    for (int i = 0; i < n; i++) {
        struct spawn_result r;
        spawn_run(&r, "cd %s && \"$WSC\" %s", dir, row[i].words);
        T_EQ(r.status, row[i].status);
        if (!strstr(r.err, row[i].message)) (void)fprintf(stderr, "%s\n%s", row[i].words, r.err);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, row[i].message));
        spawn_free(&r);
    }
    CU_ASSERT(spawn_ok("cd %s && rm -rf mm && diff -r . ../named_before && test -L LINK && "
                       "rm -rf ../named_before %s",
                       dir, dir));
}

#define RUN "run --params my.yaml --num_steps 2 --model_dir mm "

TEST(output_files, do_not_replace_the_params)
{
    static const struct refused row[] = {
        {RUN "--trace my.yaml",
         "--trace: my.yaml is the file of --params; hint: another name for --trace", 2},
        {RUN "--trace hard.yaml", "--trace: hard.yaml is the file of --params", 2},
        {RUN "--goal ./link.yaml", "--goal: ./link.yaml is the file of --params", 2},
        {RUN "--dump_gradients D/../my.yaml", "--dump_gradients: D/../my.yaml is the file of", 2},
        {"scale --params my.yaml --out tr --goal my.yaml", "--goal: my.yaml is the file of", 2},
        {"scale --params link.yaml,my.yaml --out tr --trace my.yaml", "--trace: my.yaml is the",
         2}};
    expect_refused(row, sizeof row / sizeof *row);
}

TEST(output_files, do_not_replace_one_another)
{
    static const char result[] = "is a result of the command in the folder of ";
    char model_dir[128], out[128], key[128];
    (void)snprintf(model_dir, sizeof model_dir, "%s--model_dir", result);
    (void)snprintf(out, sizeof out, "--trace: tr/scaling.csv %s--out; hint: another", result);
    (void)snprintf(key, sizeof key, "%srunconfig.model_dir", result);
    const struct refused row[] = {
        {RUN "--trace mm/checkpoint_2.mdl", model_dir, 2},
        {RUN "--trace mm/metrics.jsonl", model_dir, 2},
        {"run --params my.yaml --set runconfig.model_dir=mm --goal ./mm/run.log", key, 2},
        {RUN "--trace same --goal ./same", "--goal: ./same is the file of --trace", 2},
        {"scale --params my.yaml --trace X --goal D/../X --out tr", "--goal: D/../X is the", 2},
        {"scale --params my.yaml --out tr --trace tr/scaling.csv", out, 2},
        {"mesh reduce --fabric 8x1 --trace a.png --heatmap a.png", "--trace: a.png is the file", 2},
        {"law --points D/law.csv --out D",
         "--out: would replace D/law.csv, the file of --points; hint: another folder for --out", 2},
        {"scale --params my.yaml --points D/scaling.csv --out ./D/", "would replace D/scaling", 2},
        {"validate --points D/validation.csv --out D", "would replace D/validation.csv", 2},
        {"data train-bpe --input D/vocab.json --out D --vocab_size 300",
         "--out: would replace D/vocab.json, the file of --input", 2}};
    expect_refused(row, sizeof row / sizeof *row);
}

TEST(output_files, of_a_run_are_tried_before_its_first_step)
{
    static const struct refused row[] = {
        {RUN "--trace LINK", "LINK: cannot be written: Is a directory", 1},
        {RUN "--trace none/x.json", "none/x.json: cannot be written: No such file", 1},
        {RUN "--goal my.yaml/x", "my.yaml/x: cannot be written: Not a directory", 1},
        {RUN "--dump_gradients none/g.h5", "none/g.h5: cannot be written: No such file", 1},
        {RUN "--trace /dev/null", "/dev/null: cannot be written: it is not a regular file", 1}};
    expect_refused(row, sizeof row / sizeof *row);
}

/* A trace among the results, in a folder that the run makes, beside a checkpoint that the run
 * replaces, is what users write. */
TEST(output_files, beside_the_results_are_written)
{
    const char *dir = job_path("beside");
    CU_ASSERT(spawn_ok("%s --num_steps 4 --model_dir %s --trace %s/chrome_trace.json --goal "
                       "%s/step.goal && test -s %s/chrome_trace.json && test -s %s/step.goal",
                       job_tiny(), dir, dir, dir, dir, dir));
    CU_ASSERT(spawn_ok("%s --num_steps 2 --model_dir %s --checkpoint_path "
                       "%s/checkpoint_4.mdl --dump_gradients %s/gradients.h5",
                       job_tiny(), dir, dir, dir));
}
