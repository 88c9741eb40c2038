// SPDX-License-Identifier: Apache-2.0
/* `wsc scale` with everything it can look at, and the traces of `wsc run`: files, their contents,
 * and that they agree with each other. */
#include "../support/goal.h"
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/conf.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file of a folder; owned by the caller. */
static char *read_in(const char *dir, const char *name)
{
    char path[300], *text = NULL;
    size_t n;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    T_OK(conf_read_file(path, &text, &n));
    return text;
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

static int lines_in(const char *dir, const char *name)
{
    char *text = read_in(dir, name);
    const int n = count(text, "\n");
    wsc_free(text);
    return n;
}

/* One sweep with all that there is, made once: its folder. */
static const char *swept(void)
{
    static char dir[160];
    if (dir[0]) return dir;
    (void)snprintf(dir, sizeof dir, "%s", job_path("swept"));
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1,2,5 "
                             "--out %s --effects --sensitivity --tokens 20xparams --breakdown "
                             "--sweep cluster.swarmx.latency=1us,1ms --trace %s/trace.json "
                             "--goal %s/step.goal",
                             dir, dir, dir));
    return dir;
}

TEST(scale, the_document_has_the_efficiencies_of_the_program)
{
    CU_ASSERT(spawn_ok("sh tests/scaling_doc.sh check \"$WSC\" %s", job_path("scaling_doc")));
}

/* The time of a whole training follows the schedule of its zeros: dense at first, sparser with each
 * update. As many tokens as 20 for each parameter are the same training. */
TEST(scale, a_training_of_given_tokens_follows_the_schedule_of_zeros)
{
    static const char *const tokens[] = {"20xparams", "2221009920"};
    static const char *const model[] = {"dense", "pruned"};
    double seconds[2][2] = {{0}};
    const char *dir = job_path("schedule");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && cp configs/params/gpt3_111m.yaml %s/dense.yaml && "
                             "(cat %s/dense.yaml && printf 'sparsity:\n    algorithm: gmp\n    "
                             "sparsity: {type: linear, init: 0.0, slope: 0.0001}\n    update: "
                             "{freq: 100}\n') >%s/pruned.yaml",
                             dir, dir, dir, dir));
    for (int m = 0; m < 2; m++)
        for (int t = 0; t < 2; t++) {
            CU_ASSERT_FATAL(spawn_ok("\"$WSC\" scale --params %s/%s.yaml --num_csx 1 --tokens %s "
                                     "--out %s/%s%d",
                                     dir, model[m], tokens[t], dir, model[m], t));
            char folder[200];
            (void)snprintf(folder, sizeof folder, "%s/%s%d", dir, model[m], t);
            char *text = read_in(folder, "training.csv");
            const char *field = strchr(text, '\n');
            for (int i = 0; i < 4 && field; i++)
                field = strchr(field + 1, ',');
            CU_ASSERT_PTR_NOT_NULL(field);
            if (field) seconds[m][t] = strtod(field + 1, NULL);
            wsc_free(text);
        }
    T_NEAR(seconds[0][0], seconds[0][1], 0);
    T_NEAR(seconds[1][0], seconds[1][1], 0);
    CU_ASSERT(seconds[1][0] < 0.95 * seconds[0][0]);
}

TEST(scale, every_table_has_its_rows)
{
    const char *dir = swept();
    char *text = read_in(dir, "sensitivity.csv");
    const int n_constants = count(text, "\ntiny,5,"); /* a row of five systems for each constant */
    CU_ASSERT(n_constants >= 15);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "swarmx.link_latency,assumed,1 us,500 ns,10 us,"));
    wsc_free(text);
    T_EQ(lines_in(dir, "sensitivity.csv"), 1 + 3 * n_constants);
    T_EQ(lines_in(dir, "band.csv"), 1 + 3);
    T_EQ(lines_in(dir, "effects.csv"), 1 + 10 * 3);
    T_EQ(lines_in(dir, "sweep.csv"), 1 + 2 * 3);
    T_EQ(lines_in(dir, "training.csv"), 1 + 3);
    /* 12 shards and 5 wafers below a root with 2 leaves: 12 + 2 + 5 joints, both directions. */
    T_EQ(lines_in(dir, "links.csv"), 1 + 2 * (12 + 2 + 5));
}

/* Sum of the differences of the first two columns, or the second column alone. */
static long long sum_of(const char *text, bool difference)
{
    long long sum = 0;
    for (const char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        const char *comma = strchr(line + 1, ',');
        const long long first = strtoll(line + 1, NULL, 10), second = strtoll(comma + 1, NULL, 10);
        sum += difference ? second - first : second;
    }
    return sum;
}

TEST(scale, path_profile_and_schedule_take_the_same_time)
{
    const char *dir = swept();
    char *path = read_in(dir, "critical_path.csv"), *modules = read_in(dir, "op_profile.csv"),
         file[200];
    struct goal_result r;
    (void)snprintf(file, sizeof file, "%s/step.goal", dir);
    T_OK(goal_run(file, &r));
    T_EQ(sum_of(path, true), sum_of(modules, false));
    T_EQ(sum_of(path, true), r.makespan - r.begin);
    T_EQ(r.n_ranks, 12 + 3 + 5);
    wsc_free(path);
    wsc_free(modules);
}

/* A page that opens without network: nothing is fetched, the pictures are inside. */
TEST(scale, the_report_is_self_contained)
{
    static const char *const part[] = {"Scaling-loss breakdown",
                                       "Sweep of <code>swarmx.latency</code>",
                                       "Sensitivity to the constants",
                                       "A whole training",
                                       "Critical path",
                                       "Constants of the machine",
                                       "Provenance"};
    char *text = read_in(swept(), "report.html");
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        CU_ASSERT_PTR_NOT_NULL(strstr(text, part[i]));
    T_EQ(count(text, "<svg"), 3);
    T_EQ(count(text, "<script>"), 1); /* its own, inside */
    T_EQ(count(text, "<script"), 1);
    T_EQ(count(text, " src="), 0);
    T_EQ(count(text, "href=\"http"), 0);
    T_EQ(count(text, "@import"), 0);
    wsc_free(text);
}

/* HTML allows an id once in a page; what a picture refers to is in the page. */
TEST(scale, ids_of_the_report_are_unique)
{
    CU_ASSERT(
        spawn_ok("f=%s/report.html; grep -o ' id=[\"'\\''][^\"'\\'']*' $f | cut -c6- >$f.ids; "
                 "test $(wc -l <$f.ids) -gt 40 && test -z \"$(sort $f.ids | uniq -d)\" && "
                 "grep -o \"href='#[^']*\" $f | cut -c8- | grep -vxFf $f.ids; test $? -eq 1",
                 swept()));
}

TEST(scale, a_run_writes_the_trace_of_its_profiled_steps)
{
    struct spawn_result r;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("profiled"));
    spawn_run(&r,
              "%s --num_csx 2 --num_steps 4 --model_dir %s "
              "--set runconfig.op_profiler_config.start_step=2 "
              "--set runconfig.op_profiler_config.end_step=3",
              job_tiny(), dir);
    T_EQ(r.status, 0);
    T_EQ(count(r.out, "MODULE NAME"), 1);
    char *trace = read_in(dir, "chrome_trace.json"), *metrics = read_in(dir, "metrics.jsonl"),
         *modules = read_in(dir, "op_profile.csv"), key[80];
    CU_ASSERT(count(trace, "\"ph\": \"X\"") > 50);
    /* The profile is of step 3, and takes as long as the run says that it took. */
    (void)snprintf(key, sizeof key, "\"step_time_ps\": %lld,", sum_of(modules, false));
    const char *third = strstr(metrics, "\"step\": 3,");
    CU_ASSERT_PTR_NOT_NULL_FATAL(third);
    const char *at = strstr(third, key), *next = strchr(third, '\n');
    CU_ASSERT(at && next && at < next);
    wsc_free(trace);
    wsc_free(metrics);
    wsc_free(modules);
    spawn_free(&r);
}

/* A line on the axis of values, in the script of the picture of a sweep. */
static void expect_axis(const char *values, const char *line)
{
    const char *dir = job_path("axis");
    CU_ASSERT(spawn_ok("\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 2 --out %s "
                       "--sweep %s",
                       dir, values));
    char *text = read_in(dir, "sweep.gp");
    CU_ASSERT_PTR_NOT_NULL(strstr(text, line));
    wsc_free(text);
}

TEST(scale, a_sweep_of_one_value_or_in_any_order_is_drawn)
{
    expect_axis("cluster.swarmx.link_latency=2us", "set xrange [1000000:4000000]\n");
    expect_axis("cluster.swarmx.link_latency=0us", "set xrange [-1:1]\n");
    expect_axis("global_batch=8,2,4", "set xtics rotate by -30 ('2' 2, '4' 4, '8' 8)\n");
}

/* Tables and pictures of a curve's studies are of its largest node count, wherever the command line
 * names it. */
TEST(scale, the_order_of_node_counts_changes_nothing)
{
    static const char *const study[] = {
        "--sensitivity", "--sweep sparsity=0.5,0.9 --breakdown",
        "--sweep cluster.wafer.io_rate=1GB/s,10GB/s --effects --tokens 1M"};
    static const char *const counts[] = {"1,3", "3,1"};
    char dir[2][160];
    for (int k = 0; k < 2; k++) {
        (void)snprintf(dir[k], sizeof dir[k], "%s", job_path(counts[k]));
        for (int i = 0; i < 3; i++)
            CU_ASSERT_FATAL(spawn_ok("\"$WSC\" scale --params configs/params/tiny.yaml "
                                     "--num_csx %s %s --out %s/%d",
                                     counts[k], study[i], dir[k], i));
    }
    CU_ASSERT(spawn_ok("diff -r -x '*.html' -x '*.png' -x '*.svg' %s %s", dir[0], dir[1]));
    CU_ASSERT(spawn_ok("grep -q '<h3>tiny on 3 systems' %s/0/report.html", dir[1]));
    CU_ASSERT(spawn_ok("grep -q 'tiny on 3 systems' %s/0/tornado.gp", dir[1]));
}

/* A row of the user's own is drawn, or the run reports it by its source. */
TEST(scale, points_of_a_model_that_is_not_swept_are_named)
{
    struct spawn_result r;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("pointed"));
    CU_ASSERT_FATAL(
        spawn_ok("mkdir -p %s && printf 'model,num_csx,tokens_per_s,source,global_batch\\n"
                 "tiny,1,100,mine,8\\ntinny,1,100,yours,8\\n' > %s/points.csv",
                 dir, dir));
    spawn_run(&r,
              "\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1,2 "
              "--points %s/points.csv --out %s",
              dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "yours is left out: model tinny is not swept"));
    CU_ASSERT_PTR_NULL(strstr(r.err, "mine is left out"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "points.csv:1:35: column global_batch is ignored\n"));
    spawn_free(&r);
}

/* The table of 800 systems on @p n_threads threads; owned by the caller. */
static char *table_of_threads(int n_threads, const char *options)
{
    const char *dir = job_path("threads");
    CU_ASSERT_FATAL(spawn_ok("OMP_NUM_THREADS=%d \"$WSC\" scale --params configs/params/tiny.yaml "
                             "--num_csx 800 --set cluster.stream.granularity=matrix %s --out %s",
                             n_threads, options, dir));
    return read_in(dir, "scaling.csv");
}

/* Threads that share the systems of a large cluster change no figure: with jitter, where the
 * amounts of a step come from a schedule of sparsity, and with lost packets. */
TEST(scale, the_threads_of_a_large_cluster_change_nothing)
{
    static const char *const options[] = {"", "--set sparsity=0.75",
                                          "--fault lossy_link:wafer=500,loss=1e-3"};
    for (int i = 0; i < 3; i++) {
        char *expected = table_of_threads(1, options[i]);
        for (int n_threads = 2; n_threads <= 3; n_threads++) {
            char *text = table_of_threads(n_threads, options[i]);
            T_STR(text, expected);
            wsc_free(text);
        }
        wsc_free(expected);
    }
}

/* Points that threads share have the figures of one thread, with bands, and so have the large ones,
 * each of which has all threads. */
TEST(scale, the_threads_of_a_sweep_change_nothing)
{
    char *expected[2] = {NULL};
    static const char *const file[2] = {"scaling.csv", "sensitivity.csv"};
    for (int n_threads = 1; n_threads <= 4; n_threads *= 2) {
        const char *dir = job_path("sweep_threads");
        CU_ASSERT_FATAL(spawn_ok("OMP_NUM_THREADS=%d \"$WSC\" scale --params "
                                 "configs/params/tiny.yaml --num_csx 1,2,600,4,8 --sensitivity "
                                 "--set cluster.jitter_stage=0.05 --out %s",
                                 n_threads, dir));
        for (int k = 0; k < 2; k++) {
            char *text = read_in(dir, file[k]);
            if (expected[k]) T_STR(text, expected[k]);
            if (expected[k])
                wsc_free(text);
            else
                expected[k] = text;
        }
    }
    wsc_free(expected[0]);
    wsc_free(expected[1]);
}

/* A sweep over sparsity leaves tensors dense that the params keep dense: by a fraction of 0, by
 * null, or because no entry names them. */
TEST(scale, a_sweep_of_sparsity_keeps_dense_tensors_dense)
{
    static const char *const sections[] = {
        "{sparsity: 0.3, param_filter: \"*self_attn.proj*\"}",
        "[{sparsity: 0, param_filter: \"*ffn*\"}, {sparsity: 0.3}]",
        "[{sparsity: null, param_filter: \"*ffn*\"}, {algorithm: gmp, sparsity: "
        "{type: linear, init: 0.1, slope: 0.01}}]",
        "{sparsity: 0, param_filter: \"*ffn*\"}"};
    char *expected = NULL;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const char *dir = job_path("sweep_dense");
        CU_ASSERT_FATAL(spawn_ok("\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1 "
                                 "--set 'sparsity=%s' --sweep sparsity=0.5,0.9 --out %s",
                                 sections[i], dir));
        char *text = read_in(dir, "sparsity.csv");
        if (expected) T_STR(text, expected);
        if (expected)
            wsc_free(text);
        else
            expected = text;
    }
    wsc_free(expected);
}

/* Static masks stand for a schedule, which the user hears; RigL and SET have their own updates. */
TEST(scale, a_sweep_over_sparsities_warns_of_schedules)
{
    static const char *const sparsity[] = {
        "{algorithm: gmp, sparsity: {type: linear, init: 0.1, slope: 0.01}}",
        "{algorithm: rigl, sparsity: 0.3, update: {steps: [5]}}",
        "{algorithm: rigl, sparsity: 0.3, update: {freq: 3, start: 9}}"};
    static const char *const says[] = {
        "entry 1 of sparsity (gmp): the fraction of zeros changes",
        "entry 1 of sparsity (rigl): no mask is made before the first step", NULL};
    for (int i = 0; i < 3; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1 "
                  "--set 'sparsity=%s' --sweep sparsity=0.5 --out %s",
                  sparsity[i], job_path("schedules"));
        T_EQ(r.status, 0);
        CU_ASSERT((strstr(r.err, says[i] ? says[i] : "entry 1 of sparsity") != NULL) == (i < 2));
        spawn_free(&r);
    }
}

/* Files of an earlier sweep in the folder are named, and those that this sweep writes are not. */
TEST(scale, files_of_an_earlier_sweep_are_named)
{
    struct spawn_result r;
    const char *dir = job_path("earlier");
    CU_ASSERT_FATAL(
        spawn_ok("mkdir -p %s && : >%s/training.csv && : >%s/sweep.csv && : >%s/own.csv", dir, dir,
                 dir, dir));
    spawn_run(&r,
              "\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1,2 --out %s "
              "--sweep sparsity=0.5",
              dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.err, ": training.csv: of an earlier sweep, not of this one; hint: "));
    spawn_free(&r);
}

/* The schedule of one step is written last: a name that cannot be written is an error first. */
TEST(scale, a_schedule_that_cannot_be_written_is_refused_first)
{
    struct spawn_result r;
    const char *dir = job_path("goal");
    spawn_run(&r,
              "\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1 --out %s --trace "
              "%s/t.json --goal %s/none/step.goal; s=$?; test ! -e %s/t.json && exit $s",
              dir, dir, dir, dir);
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "none/step.goal: cannot be written: No such file"));
    T_STR(r.out, "");
    spawn_free(&r);
}

static void expect_error(const char *option, const char *text)
{
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1 %s --out %s",
              option, job_path("refused"));
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, text));
    spawn_free(&r);
}

TEST(scale, a_section_instead_of_a_key_is_named)
{
    expect_error(
        "--set cluster.wafer=3",
        "--set cluster.wafer: a section; hint: set one of its keys, such as cluster.wafer.");
    expect_error("--sweep cluster.swarmx=1,2",
                 "--sweep cluster.swarmx: a section; hint: set one of its keys, such as cluster.");
    expect_error("--sweep cluster.foo=1,2", "--sweep cluster.foo: unknown key");
    expect_error("--sweep cluster.swarmx.latancy=1us,2us",
                 "--sweep cluster.swarmx.latancy: unknown key; hint: did you mean "
                 "cluster.swarmx.latency?");
    expect_error("--sweep cluster.swarmx.latency=1,2us",
                 "--sweep cluster.swarmx.latency: expected a quantity");
    expect_error("--sweep cluster.jitter=0.1,0.5",
                 "--sweep cluster.jitter: 0.5 is not in 0 .. 0.2");
    expect_error("--sweep cluster.name=1,2", "--sweep cluster.name: is no number");
    expect_error("--sweep cluster.jitter=0,0.1,0", "a value stands twice");
}

/* Curves of a sweep have rates of steps: no energy, no failures, nothing that the host alone has.
 */
TEST(scale, constants_that_no_curve_shows_are_named)
{
    static const char *const row[][2] = {
        {"--sweep cluster.reliability.mtbf_hours=100,1000 --tokens 1B",
         "the machine's own value; hint: a run for each value, with --set "
         "cluster.reliability.mtbf_hours=VALUE"},
        {"--sweep cluster.reliability.mtbf_hours=100,1000",
         "--sweep cluster.reliability.mtbf_hours: without effect on steady steps: failures count"},
        {"--sweep cluster.checkpoint.rate=1e6params/s,1e7params/s --tokens 1B",
         "--sweep cluster.checkpoint.rate: without effect on steady steps; the whole trainings"},
        {"--sweep cluster.wafer.system_power=1kW,2kW",
         "--sweep cluster.wafer.system_power: without effect on steady steps: a sweep of values"},
        {"--sweep cluster.wafer.peak=1PFLOP/s,2PFLOP/s",
         "--sweep cluster.wafer.peak: without effect on steady steps: a sweep of values has no"},
        {"--set cluster.stream.keep=1MB",
         "--set cluster.stream.keep: without effect: nothing is sent on the host"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        spawn_run(&r, "\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1,2 --out %s %s",
                  job_path("unseen"), row[i][0]);
        T_EQ(r.status, 0);
        if (!strstr(r.err, row[i][1])) (void)fprintf(stderr, "%s\n", r.err);
        CU_ASSERT(strstr(r.err, row[i][1]) != NULL);
        spawn_free(&r);
    }
}

/* The published law is of the next token. */
TEST(scale, only_models_of_the_next_token_have_an_expected_loss)
{
    static const char *const row[] = {"tiny", "bert_tiny", "esm2_35m"};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *dir = job_path("losses");
        CU_ASSERT_FATAL(spawn_ok("\"$WSC\" scale --params configs/params/%s.yaml --num_csx 1 "
                                 "--tokens 20xparams --out %s",
                                 row[i], dir));
        char *csv = read_in(dir, "training.csv");
        const char *line = csv ? strchr(csv, '\n') : NULL;
        if (!line) abort();
        for (int k = 0; k < 6; k++)
            line = strchr(line + 1, ',');
        line = strchr(line + 1, ',');
        T_EQ(line[1] == ',', i > 0);
        wsc_free(csv);
    }
}

/* In tables and plots they are models of their own. */
TEST(scale, files_of_one_name_are_called_by_their_folders)
{
    const char *dir = job_path("names");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s/a %s/b && cp configs/params/tiny.yaml %s/a/x.yaml && "
                             "cp configs/params/bert_tiny.yaml %s/b/x.yaml && "
                             "\"$WSC\" scale --params %s/a/x.yaml,%s/b/x.yaml --num_csx 1,2 "
                             "--out %s/out",
                             dir, dir, dir, dir, dir, dir, dir));
    CU_ASSERT(spawn_ok("test $(grep -c '^a/x,' %s/out/scaling.csv) = 2 && "
                       "test $(grep -c '^b/x,' %s/out/scaling.csv) = 2",
                       dir, dir));
}

/* A batch that does not grow with the systems is named where it does not divide. */
TEST(scale, a_fixed_batch_that_does_not_divide_warns)
{
    static const char sweep[] = "\"$WSC\" scale --params configs/params/tiny.yaml --set "
                                "train_input.batch_size=12 --num_csx 1,4,5,8 --out %s %s";
    struct spawn_result r;
    spawn_run(&r, sweep, job_path("uneven"), "--scaling strong");
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.err, "tiny: 12 sequences do not divide evenly among 5, 8 systems; the real"));
    spawn_free(&r);
    spawn_run(&r, sweep, job_path("even"), "--sweep global_batch=8,40");
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "tiny: 8 sequences do not divide evenly among 5 systems"));
    CU_ASSERT_PTR_NULL(strstr(r.err, "40 sequences"));
    spawn_free(&r);
}

/* 12 sequences are 3, 2 and 1 on 4, 6 and 12 systems: micro-batches of 2 fit 6 of them, those of 8
 * none. */
TEST(scale, a_micro_batch_that_does_not_divide_a_part_warns)
{
    static const char sweep[] =
        "\"$WSC\" scale --params configs/params/tiny.yaml --set train_input.batch_size=12 "
        "--num_csx "
        "4,6,12 --out %s --scaling strong --set train_input.micro_batch_size=%d";
    struct spawn_result r;
    spawn_run(&r, sweep, job_path("parts"), 2);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "tiny: train_input.micro_batch_size: 2 does not divide "
                                         "the sequences of a system, of 12 on 4, 12 systems:"));
    spawn_free(&r);
    spawn_run(&r, sweep, job_path("parts"), 8);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "8 does not divide the 12 sequences of the batch"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "of a system, of 12 on 4, 6, 12 systems:"));
    spawn_free(&r);
    spawn_run(&r, sweep, job_path("parts"), 1);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NULL(strstr(r.err, "micro_batch_size"));
    spawn_free(&r);
}

/* The batch of a system has one source; what else is asked of it has a warning. */
TEST(scale, a_batch_that_an_option_replaces_warns)
{
    static const struct {
        const char *options, *warning; /* NULL: none */
    } sweep[] = {{"--batch_per_csx 2 --set train_input.batch_size=12",
                  "--set train_input.batch_size: without effect: --batch_per_csx says it"},
                 {"--batch_per_csx 2 --set runconfig.num_csx=2",
                  "--set runconfig.num_csx: without effect: --batch_per_csx says it"},
                 {"--scaling strong --set runconfig.num_csx=2",
                  "--set runconfig.num_csx: without effect: --num_csx says it"},
                 {"--scaling strong --set train_input.batch_size=12", NULL},
                 {"--set train_input.batch_size=12 --set runconfig.num_csx=2", NULL}};
    for (size_t i = 0; i < sizeof sweep / sizeof *sweep; i++) {
        struct spawn_result r;
        spawn_run(&r, "\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 2 --out %s %s",
                  job_path("replaced"), sweep[i].options);
        T_EQ(r.status, 0);
        CU_ASSERT(sweep[i].warning ? strstr(r.err, sweep[i].warning) != NULL
                                   : !strstr(r.err, "without effect: --"));
        spawn_free(&r);
    }
}

/* The systems of the params file are not those of a sweep that has its own batches. */
TEST(scale, batches_are_checked_by_the_systems_of_the_sweep)
{
    static const struct {
        const char *options, *warning; /* NULL: none */
    } sweep[] = {{"--scaling strong", NULL},
                 {"--scaling strong --set train_input.batch_size=13",
                  "seven: 13 sequences do not divide evenly among 2 systems"},
                 {"--batch_per_csx 4 --set train_input.micro_batch_size=2", NULL},
                 {"--batch_per_csx 5 --set train_input.micro_batch_size=2",
                  "micro_batch_size: 2 does not divide the 5 sequences of a system"},
                 {"", "12 sequences do not divide evenly among 7 systems"}};
    const char *dir = job_path("systems");
    for (size_t i = 0; i < sizeof sweep / sizeof *sweep; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "mkdir -p %s && sed -e '/num_csx/d' -e 's/^runconfig:/&\\n    num_csx: 7/' "
                  "-e 's/ batch_size: .*/ batch_size: 12/' configs/params/tiny.yaml > "
                  "%s/seven.yaml && \"$WSC\" scale --params %s/seven.yaml --out %s --num_csx 2 %s",
                  dir, dir, dir, dir, sweep[i].options);
        T_EQ(r.status, 0);
        CU_ASSERT(sweep[i].warning ? strstr(r.err, sweep[i].warning) != NULL
                                   : !strstr(r.err, "sequences"));
        spawn_free(&r);
    }
}

/* Of a sweep's values the one that does not fit is named, and the others have their curves. */
TEST(scale, the_value_that_fails_is_named)
{
    struct spawn_result r;
    const char *dir = job_path("systems");
    spawn_run(&r,
              "\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 2 --out %s "
              "--sweep cluster.systems=4,1",
              dir);
    T_EQ(r.status, 3);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.err, "--sweep cluster.systems=1 is left out: num_csx: 2, but CS-2 has 1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "error: 1 points or values do not fit"));
    T_EQ(lines_in(dir, "sweep.csv"), 2);
    spawn_free(&r);
    spawn_run(&r,
              "\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 2 --out %s "
              "--sweep cluster.systems=1",
              dir);
    T_EQ(r.status, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "--sweep cluster.systems=1: num_csx: 2, but CS-2 has 1"));
    spawn_free(&r);
}

/* Models and numbers of systems that do not fit leave the curves of the others. */
TEST(scale, points_that_do_not_fit_are_left_out)
{
    struct spawn_result r;
    const char *dir = job_path("left_out");
    spawn_run(
        &r,
        "\"$WSC\" scale --params configs/params/gpt3_13b.yaml,configs/params/tiny.yaml "
        "--num_csx 1,2,32 --out %s --set cluster.memoryx.capacity=1GB --set cluster.systems=16",
        dir);
    T_EQ(r.status, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "gpt3_13b on 2 systems is left out: 12853386240 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "tiny on 32 systems is left out: num_csx: 32"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "error: 4 points or values do not fit and are left out, "
                                         "the first: gpt3_13b on 1 systems: 12853386240 "));
    T_EQ(lines_in(dir, "scaling.csv"), 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "From 1 to 2 systems"));
    spawn_free(&r);
}

/* The fault of wafer 3 needs four systems, the one of SwarmX node 0 two. */
TEST(scale, counts_without_the_part_of_a_fault_are_left_out)
{
    struct spawn_result r;
    const char *dir = job_path("no_part");
    spawn_run(&r,
              "\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1,2,4,8 --out %s --fault "
              "lost_planes:node=0,planes=3 --fault straggler:wafer=3,factor=2",
              dir);
    T_EQ(r.status, 0);
    T_EQ(lines_in(dir, "scaling.csv"), 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "fault lost_planes:node=0,planes=3: left out: --num_csx "
                                         "1, without SwarmX node 0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "fault straggler:wafer=3,factor=2: left out: --num_csx 2, "
                                         "without wafer 3"));
    T_EQ(count(r.err, "left out"), 2);
    spawn_free(&r);
}

/* Started by mpirun as one rank, a run has the threads too. */
TEST(scale, one_rank_of_mpirun_has_threads)
{
    CU_ASSERT(spawn_ok("OMP_NUM_THREADS=2 mpirun -n 1 --bind-to none \"$WSC\" run --params "
                       "configs/params/tiny.yaml --numerics none --num_csx 600 --num_steps 2 "
                       "--set train_input.batch_size=1200 --model_dir %s",
                       job_path("one_rank")));
}

TEST(scale, a_value_instead_of_a_section_is_one_error)
{
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1 --set optimizer=3 "
              "--out %s",
              job_path("refused"));
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "--set optimizer: expected a map of keys, got \"3\""));
    CU_ASSERT_PTR_NULL(strstr(r.err, "required key is missing"));
    spawn_free(&r);
}

/* A row of benchmarks/reference is of its params file, whatever the file of a sweep is called. */
TEST(scale, points_of_another_model_are_left_out)
{
    static const char *const sets[] = {"", "--set model.num_hidden_layers=2"};
    static const char says[] = "is left out: model.num_hidden_layers 14, in this sweep 2";
    for (int i = 0; i < 2; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "\"$WSC\" scale --params configs/params/gpt3_256m.yaml --num_csx 1 %s --out %s",
                  sets[i], job_path("another_model"));
        T_EQ(r.status, 0);
        T_EQ(strstr(r.err, says) != NULL, i == 1);
        spawn_free(&r);
    }
}

/* A sweep has training steps; other modes are refused at their place, before any other warning. */
TEST(scale, modes_that_do_not_train_are_refused)
{
    const char *dir = job_path("modes");
    static const struct {
        const char *command, *says;
    } wrong[] = {
        {"scale --params configs/params/tiny.yaml --num_csx 1 --set runconfig.mode=eval",
         "error: --set runconfig.mode: the mode does not train"},
        {"scale --params configs/params/tiny.yaml --num_csx 1 --set runconfig.mode=generate",
         "; hint: wsc run --mode generate"},
        {"scale --params $DIR/validate.yaml --num_csx 1",
         "validate.yaml:58:21: runconfig.mode: the mode does not train"},
        {"law --points benchmarks/reference/laws/cerebras_gpt.csv --predict $DIR/validate.yaml",
         "; hint: wsc run --mode eval --numerics none, or a row of quantity eval_rate for "}};
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && sed -n '1,/^  fit:/p' configs/params/"
                             "tiny_trainer.yaml | sed '$d' >%s/validate.yaml && printf '  validate:"
                             "\n    val_dataloader: {data_processor: GptHDF5MapDataProcessor, "
                             "data_dir: ., batch_size: 8}\n' >>%s/validate.yaml",
                             dir, dir, dir));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct spawn_result r;
        spawn_run(&r, "DIR=%s; \"$WSC\" %s --out %s/out", dir, wrong[i].command, dir);
        T_EQ(r.status, 2);
        if (!strstr(r.err, wrong[i].says)) (void)printf("got: %s\n", r.err);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, wrong[i].says));
        CU_ASSERT_PTR_NULL(strstr(r.err, "WARNING"));
        spawn_free(&r);
    }
}

/* Value of the last column of the second line of training.csv, eval_s, or of column @p k from 0. */
static double training_column(const char *dir, int k)
{
    char *csv = read_in(dir, "training.csv");
    const char *at = strchr(csv, '\n') + 1;
    for (; k > 0; k--)
        at = strchr(at, ',') + 1;
    const double value = strtod(at, NULL);
    wsc_free(csv);
    return value;
}

/* Two systems, 40 steps of 8 sequences, evaluations of three batches after steps 15, 30 and 40.  On
 * the clock of a run step 31 follows the second one, and steps 21 to 30 lie between evaluations. */
TEST(scale, evaluations_take_the_time_that_they_take_in_a_run)
{
    enum { SECONDS = 4, EVAL_S = 12, SEQUENCES = 8, STEPS = 40, LENGTH = 64 };
    static const char sets[] = "--num_csx 2 --set runconfig.mode=train_and_eval --set "
                               "runconfig.eval_frequency=15 --set runconfig.eval_steps=3 --set "
                               "cluster.jitter=0 --set cluster.reliability.mtbf_hours=0 --set "
                               "runconfig.checkpoint_steps=0 --set train_input.batch_size=8 --set "
                               "eval_input.batch_size=24";
    const char *dir = job_path("evaluations"), *run = job_path("evaluations_run");
    static struct job_metrics m;
    CU_ASSERT_FATAL(
        spawn_ok("\"$WSC\" scale --params configs/params/tiny.yaml %s --batch_per_csx 4 "
                 "--tokens %d --out %s",
                 sets, SEQUENCES * STEPS * LENGTH, dir));
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" run --params configs/params/tiny.yaml %s --numerics none "
                             "--set runconfig.max_steps=%d --model_dir %s",
                             sets, STEPS, run));
    CU_ASSERT_FATAL(job_read(run, &m) && m.n == STEPS);
    const double step_s = (double)m.step[24].step_time_ps * 1e-12;
    const double eval_s =
        (double)(m.step[39].virtual_time_ps - m.step[24].virtual_time_ps) * 1e-12 - 15 * step_s;
    T_NEAR(training_column(dir, EVAL_S) / (3 * eval_s), 1, 1e-6);
    T_NEAR(training_column(dir, SECONDS) / (STEPS * step_s + 3 * eval_s), 1, 1e-6);
    CU_ASSERT(eval_s > step_s);
}

/* A fraction of the training, rounded up: 0.3 of 40 steps are 12, so evaluations follow steps 12,
 * 24, 36 and 40.  Without eval_steps one of them is one batch, and a warning says so. */
TEST(scale, evaluations_after_fractions_of_a_training)
{
    enum { EVAL_S = 12 };
    static const char *const sets[] = {
        "--set runconfig.eval_frequency=40 --set runconfig.eval_steps=1",
        "--set runconfig.eval_frequency=0.3 --set runconfig.eval_steps=null",
        "--set runconfig.eval_frequency=0"};
    double eval_s[3];
    for (int i = 0; i < 3; i++) {
        struct spawn_result r;
        const char *dir = job_path("fractions");
        spawn_run(&r,
                  "\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1 --batch_per_csx 8 "
                  "--tokens 20480 --set runconfig.mode=train_and_eval %s --set cluster.jitter=0 "
                  "--out %s",
                  sets[i], dir);
        T_EQ(r.status, 0);
        T_EQ(strstr(r.err, "tiny: runconfig.eval_steps is null") != NULL, i == 1);
        eval_s[i] = training_column(dir, EVAL_S);
        spawn_free(&r);
    }
    CU_ASSERT(eval_s[0] > 0);
    T_NEAR(eval_s[1] / eval_s[0], 4, 1e-9);
    T_NEAR(eval_s[2], 0, 0);
}

/* Shards that the params leave unused have no power: the files of the sweep are those of a machine
 * with as many shards. */
TEST(scale, unused_shards_have_no_energy)
{
    static const char *const sets[] = {"--set runconfig.num_wgt_servers=3",
                                       "--set cluster.memoryx.shards=3"};
    char *csv[2];
    for (int i = 0; i < 2; i++) {
        const char *dir = job_path("unused_shards");
        CU_ASSERT_FATAL(spawn_ok("\"$WSC\" scale --params configs/params/tiny.yaml --num_csx 1,2 "
                                 "%s --out %s",
                                 sets[i], dir));
        csv[i] = read_in(dir, "scaling.csv");
    }
    T_STR(csv[0], csv[1]);
    wsc_free(csv[0]);
    wsc_free(csv[1]);
}
