// SPDX-License-Identifier: Apache-2.0
/* `wsc mesh` as a user starts it: every kernel, the tables, heat map, trace and --explain. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *parse(const char *text, size_t n)
{
    json_error_t error = {0};
    json_t *json = json_loadb(text, n, 0, &error);
    if (!json) (void)fprintf(stderr, "%s in line %d of: %.200s\n", error.text, error.line, text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    return json;
}

/* What `wsc mesh WORDS --json` prints. */
static json_t *run_json(const char *words)
{
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" mesh %s --json", words);
    T_EQ(r.status, 0);
    T_STR(r.err, "");
    json_t *json = parse(r.out, strlen(r.out));
    spawn_free(&r);
    return json;
}

static int64_t integer(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) (void)fprintf(stderr, "%s is no whole number\n", key);
    CU_ASSERT_FATAL(json_is_integer(value));
    return json_integer_value(value);
}

static double real(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) (void)fprintf(stderr, "%s is no number\n", key);
    CU_ASSERT_FATAL(json_is_number(value));
    return json_number_value(value);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void check_kernel(const char *name)
{
    static const char *const text[] = {"kernel", "algo", "arch"};
    json_t *json = run_json(name);
    for (int i = 0; i < 3; i++)
        CU_ASSERT(json_is_string(json_object_get(json, text[i])));
    T_STR(json_string_value(json_object_get(json, "kernel")), name);
    T_STR(json_string_value(json_object_get(json, "arch")), "wse2");
    const json_t *fabric = json_object_get(json, "fabric");
    T_EQ(json_array_size(fabric), 2);
    int64_t pes = json_integer_value(json_array_get(fabric, 0)) *
                  json_integer_value(json_array_get(fabric, 1));
    CU_ASSERT(integer(json, "words") > 0 && integer(json, "cycles") > 0);
    CU_ASSERT(integer(json, "wavelet_hops") >= 0 && integer(json, "wavelets") >= 0);
    T_EQ(integer(json, "router_cycles"), integer(json, "cycles") * pes);
    const double seconds = real(json, "host_seconds"), rate = real(json, "router_cycles_per_s");
    CU_ASSERT(seconds > 0 && rate > 0);
    /* seconds are printed in whole microseconds, the rate as a whole number */
    const double cycles = (double)integer(json, "router_cycles"), unit = 0.5e-6;
    CU_ASSERT(rate >= cycles / (seconds + unit) - 1);
    CU_ASSERT(seconds <= unit || rate <= cycles / (seconds - unit) + 1);
    CU_ASSERT(real(json, "max_error") <= 1e-4);
    json_decref(json);
}

/* The list names each kernel at the beginning of a line; what follows is indented. */
TEST(mesh_program, every_kernel_of_the_list_runs)
{
    struct spawn_result r;
    int n = 0;
    spawn_run(&r, "\"$WSC\" mesh list");
    T_EQ(r.status, 0);
    for (const char *line = r.out; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char name[64];
        if (*line == ' ') continue;
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(line, " \n"), line);
        check_kernel(name);
        n++;
    }
    CU_ASSERT(n >= 9);
    spawn_free(&r);
}

static void check_points(const char *words, size_t least)
{
    json_t *json = run_json(words);
    CU_ASSERT(json_is_array(json) && json_array_size(json) >= least);
    for (size_t i = 0; i < json_array_size(json); i++) {
        const json_t *point = json_array_get(json, i);
        CU_ASSERT(json_is_string(json_object_get(point, "what")));
        CU_ASSERT(json_is_boolean(json_object_get(point, "holds")));
        CU_ASSERT(integer(point, "cycles") > 0 && real(point, "reference") > 0);
        (void)real(point, "cycles_error_percent");
    }
    json_decref(json);
}

TEST(mesh_program, survey_and_calibration)
{
    struct spawn_result r;
    check_points("survey --max_p 8 --max_words 16", 40);
    check_points("calibration", 5);
    spawn_run(&r, "\"$WSC\" mesh calibration");
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "within the tolerance stated for them"));
    spawn_free(&r);
}

TEST(mesh_program, help_shows_every_option)
{
    static const char *const option[] = {"--explain", "--heatmap", "--trace", "--trace_pe",
                                         "--trace_events"};
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" mesh --help");
    T_EQ(r.status, 0);
    for (int i = 0; i < 5; i++)
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, option[i]));
    spawn_free(&r);
}

/* ---- to look at ------------------------------------------------------------------------------ */

static int64_t add_up(const json_t *object, const char *const *key)
{
    int64_t sum = 0;
    for (; *key; key++)
        sum += integer(object, *key);
    return sum;
}

static const char *const part[] = {"compute", "set_up", "scalar", "ramp",
                                   "hops",    "queues", "edge",   NULL};

static void check_explain(const char *words)
{
    static const char *const state[] = {"compute",        "scalar", "set_up", "wait_for_output",
                                        "wait_for_input", "idle",   NULL};
    json_t *json = run_json(words);
    const json_t *explain = json_object_get(json, "explain");
    const json_t *path = json_object_get(explain, "critical_path");
    const json_t *legs = json_object_get(path, "legs");
    int64_t at = 0;
    T_EQ(add_up(json_object_get(explain, "pe_cycles"), state), integer(json, "router_cycles"));
    T_EQ(integer(path, "cycles"), integer(json, "cycles"));
    T_EQ(add_up(path, part), integer(json, "cycles"));
    CU_ASSERT(json_is_true(json_object_get(path, "complete")));
    for (size_t i = 0; i < json_array_size(legs); i++) {
        const json_t *leg = json_array_get(legs, i);
        T_EQ(integer(leg, "from"), at);
        at = integer(leg, "to");
        T_EQ(add_up(leg, part), at - integer(leg, "from"));
        T_EQ(json_array_size(json_object_get(leg, "pe")), 2);
    }
    T_EQ(at, integer(json, "cycles"));
    double share = 0;
    for (int i = 0; state[i]; i++)
        share += real(json_object_get(explain, "pe_fraction"), state[i]);
    T_NEAR(share, 1, 1e-5);
    json_decref(json);
}

TEST(mesh_program, explain_accounts_for_every_cycle)
{
    struct spawn_result r;
    check_explain("allreduce --fabric 9x5 --words 17 --explain");
    check_explain("gemm --algo stream --fabric 3x3 --arch wse3 --explain");
    check_explain("fmacs --calls 3 --explain");
    spawn_run(&r, "\"$WSC\" mesh reduce --algo chain --fabric 8x1 --words 32 --explain");
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "critical path, 74 cycles:"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "42 .. 74  (0, 0)"));
    spawn_free(&r);
}

/* The formulas of collectives are those of WSE-2; other kernels have a model of either machine. */
TEST(mesh_program, no_formula_of_another_generation_is_shown)
{
    static const struct {
        const char *words;
        bool has;
    } run[] = {{"broadcast --fabric 16x1", true},
               {"broadcast --fabric 16x1 --arch wse3", false},
               {"allreduce --algo ring --fabric 8x1 --arch wse3", false},
               {"reduce --arch wse3", false},
               {"softmax --arch wse3", true}};
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        json_t *json = run_json(run[i].words);
        T_EQ(json_object_get(json, "analytical_cycles") != NULL, run[i].has);
        json_decref(json);
    }
}

static char *read_file(const char *path, size_t *n)
{
    enum { MOST = 1 << 24 };
    FILE *f = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    char *bytes = malloc(MOST);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    *n = fread(bytes, 1, MOST, f);
    (void)fclose(f);
    return bytes;
}

/* PNG (RFC 2083): signature, then IHDR with width and height, big-endian; IEND at the end. */
static void check_png(const char *path, uint32_t least_w, uint32_t least_h)
{
    static const unsigned char head[16] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    size_t n;
    char *bytes = read_file(path, &n);
    const unsigned char *u = (const unsigned char *)bytes;
    CU_ASSERT_FATAL(n > 1000);
    T_EQ(memcmp(u, head, sizeof head), 0);
    uint32_t w = (uint32_t)u[16] << 24 | (uint32_t)u[17] << 16 | (uint32_t)u[18] << 8 | u[19];
    uint32_t h = (uint32_t)u[20] << 24 | (uint32_t)u[21] << 16 | (uint32_t)u[22] << 8 | u[23];
    CU_ASSERT(w >= least_w && w < 4096 && h >= least_h && h < 4096);
    T_EQ(memcmp(bytes + n - 8, "IEND", 4), 0);
    free(bytes);
}

TEST(mesh_program, heat_maps_of_every_shape)
{
    static const struct {
        const char *words;
        uint32_t w, h;
    } shape[] = {{"fmacs", 600, 500},
                 {"broadcast --fabric 512x1", 1024, 400},
                 {"reduce --fabric 1x60", 500, 900},
                 {"allreduce --fabric 16x16", 900, 900}};
    const char *dir = job_path("heat");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s", dir));
    for (int i = 0; i < 4; i++) {
        char path[300];
        (void)snprintf(path, sizeof path, "%s/%d.png", dir, i);
        CU_ASSERT(spawn_ok("\"$WSC\" mesh %s --heatmap %s", shape[i].words, path));
        check_png(path, shape[i].w, shape[i].h);
    }
    /* Nothing is left beside the pictures. */
    CU_ASSERT(spawn_ok("test \"$(ls %s | wc -l)\" -eq 4", dir));
}

static json_t *trace_of(const char *words)
{
    char path[300];
    size_t n;
    (void)snprintf(path, sizeof path, "%s", job_path("trace.json"));
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" mesh %s --trace %s", words, path));
    char *bytes = read_file(path, &n);
    json_t *json = parse(bytes, n);
    free(bytes);
    return json;
}

static int count_phase(const json_t *trace, const char *phase)
{
    const json_t *events = json_object_get(trace, "traceEvents");
    int n = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        const char *ph = json_string_value(json_object_get(event, "ph"));
        CU_ASSERT_PTR_NOT_NULL_FATAL(ph);
        CU_ASSERT(integer(event, "pid") >= 0 && integer(event, "tid") >= 0);
        n += !strcmp(ph, phase);
    }
    return n;
}

TEST(mesh_program, traces_of_chosen_pes)
{
    struct spawn_result r;
    json_t *two = trace_of("reduce --algo chain --fabric 8x1 --words 5 --trace_pe '0,0;1,0'");
    json_t *some = trace_of("reduce --algo chain --fabric 8x2 --words 5 --trace_pe 2-3,0-1");
    json_t *usual = trace_of("allreduce --fabric 16x16 --words 5");
    T_EQ(integer(json_object_get(two, "otherData"), "traced_pes"), 2);
    T_EQ(integer(json_object_get(some, "otherData"), "traced_pes"), 4);
    T_EQ(integer(json_object_get(usual, "otherData"), "traced_pes"), 7);
    /* PE 1 sends 5 words: up the ramp, over the link, down at PE 0; two arrows each. */
    T_EQ(count_phase(two, "s"), 10);
    T_EQ(count_phase(two, "f"), 10);
    CU_ASSERT(count_phase(two, "X") > 15);
    json_decref(two);
    json_decref(some);
    json_decref(usual);
    spawn_run(&r, "\"$WSC\" mesh reduce --trace %s --trace_events 50", job_path("cut.json"));
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "WARNING"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "--trace_events) reach further"));
    spawn_free(&r);
}

/* An operation of several programs says which one its explanation and its trace are of. */
TEST(mesh, the_longest_of_several_programs_is_named)
{
    static const char *const words = "attention --fabric 4x4 --tokens 16 --pass backward";
    const char *file = job_path("programs.json");
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" mesh %s --explain", words);
    T_EQ(r.status, 0);
    CU_ASSERT(strstr(r.out, "all PEs, of the longest of ") != NULL);
    spawn_free(&r);
    spawn_run(&r, "\"$WSC\" mesh allreduce --explain");
    CU_ASSERT(strstr(r.out, "all PEs:\n") != NULL);
    spawn_free(&r);
    char all[400];
    (void)snprintf(all, sizeof all, "%s --explain --trace %s", words, file);
    json_t *run = run_json(all), *trace = json_load_file(file, 0, NULL);
    const json_t *explain = json_object_get(run, "explain");
    const json_t *other = json_object_get(trace, "otherData");
    const int64_t n = integer(explain, "of_programs"), program = integer(explain, "program");
    CU_ASSERT(n > 1 && program >= 0 && program < n);
    T_EQ(integer(other, "of_programs"), n);
    T_EQ(integer(other, "program"), program);
    CU_ASSERT(integer(other, "cycles") < integer(run, "cycles"));
    T_EQ(integer(other, "cycles"), integer(json_object_get(explain, "critical_path"), "cycles"));
    json_decref(run);
    json_decref(trace);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* The JSON of a kernel without what depends on the host. A run that hangs is ended. */
static char *on_ranks(int n, const char *words)
{
    struct spawn_result r;
    spawn_run(&r, "timeout 300 mpirun --quiet -n %d \"$WSC\" mesh %s --json", n, words);
    T_EQ(r.status, 0);
    json_t *json = parse(r.out, strlen(r.out));
    spawn_free(&r);
    CU_ASSERT(!json_object_del(json, "host_seconds"));
    CU_ASSERT(!json_object_del(json, "router_cycles_per_s"));
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    return text;
}

TEST(mesh, ranks_share_a_fabric)
{
    static const char *const words[] = {
        "allreduce --fabric 9x7 --words 40 --threads 1",
        "attention --fabric 6x5 --tokens 12 --heads 2 --head_dim 6 --pass backward --threads 1",
        "gemm --fabric 5x6 --m 20 --n 12 --k 18 --algo stream --density 0.6 --threads 2",
        "spmm --fabric 4x5 --m 16 --n 8 --k 12 --density 0.3 --threads 1",
    };
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++) {
        char *one = on_ranks(1, words[i]);
        for (int n = 2; n <= 5; n += 3) {
            char *other = on_ranks(n, words[i]);
            T_STR(other, one);
            free(other);
        }
        free(one);
    }
}

/* Ranks with several threads each: a region lies between one of its process, for which it waits
 * inside a batch, and one of another, for which it waits after every cycle. */
TEST(mesh, ranks_with_threads_share_a_fabric)
{
    static const char *const words[] = {
        "allreduce --fabric 64x64 --words 64",
        "layernorm --fabric 40x70 --tokens 4 --features 40",
        "gemm --fabric 16x90 --m 180 --n 4 --k 32 --algo stream",
    };
    static const int of[][2] = {{2, 2}, {3, 2}, {2, 3}};
    for (int i = 0; i < 3; i++) {
        char all[200];
        (void)snprintf(all, sizeof all, "%s --threads 1", words[i]);
        char *one = on_ranks(1, all);
        for (int k = 0; k < 3; k++) {
            (void)snprintf(all, sizeof all, "%s --threads %d", words[i], of[k][1]);
            char *other = on_ranks(of[k][0], all);
            T_STR(other, one);
            free(other);
        }
        free(one);
    }
}

/* The picture, the trace and the explanation of a fabric that ranks share are those of one. */
TEST(mesh, ranks_show_what_one_shows)
{
    char all[1200], dir[400], *expected = NULL;
    struct spawn_result r;
    (void)snprintf(dir, sizeof dir, "%s", job_path("shown"));
    spawn_run(&r, "mkdir -p %s", dir);
    T_EQ(r.status, 0);
    spawn_free(&r);
    for (int n = 1; n <= 4; n++) {
        (void)snprintf(all, sizeof all,
                       "gemm --fabric 6x7 --m 20 --n 12 --k 18 --algo stream --threads 1 "
                       "--explain --heatmap %s/%d.png --trace %s/%d.json --trace_pe all",
                       dir, n, dir, n);
        char *text = on_ranks(n, all);
        if (!expected) expected = strdup(text);
        T_STR(text, expected);
        free(text);
        spawn_run(&r, "cmp %s/1.png %s/%d.png && cmp %s/1.json %s/%d.json", dir, dir, n, dir, dir,
                  n);
        T_EQ(r.status, 0);
        spawn_free(&r);
    }
    free(expected);
}

TEST(mesh, what_ranks_cannot_share_is_refused)
{
    static const char *const words[][2] = {
        {"survey", "wsc mesh survey: 2 ranks, but it uses one"},
        {"gemm --fabric 4x1", "2 processes share a fabric of 1 rows"},
    };
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++) {
        struct spawn_result r;
        spawn_run(&r, "mpirun --quiet -n 2 \"$WSC\" mesh %s", words[i][0]);
        T_EQ(r.status, 2);
        CU_ASSERT(strstr(r.err, words[i][1]) != NULL);
        spawn_free(&r);
    }
}

/* ---- snapshots ------------------------------------------------------------------------------- */

/* The JSON on one process, or on ranks, without what depends on the host. */
static char *result_of(int n, const char *words, const char *more)
{
    char all[800];
    (void)snprintf(all, sizeof all, "%s %s", words, more);
    if (n > 1) return on_ranks(n, all);
    json_t *json = run_json(all);
    CU_ASSERT(!json_object_del(json, "host_seconds"));
    CU_ASSERT(!json_object_del(json, "router_cycles_per_s"));
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    return text;
}

static void expect_result(const char *expected, int n, const char *words, const char *more)
{
    char *text = result_of(n, words, more);
    T_STR(text, expected);
    free(text);
}

/* Snapshots that @p writers ranks wrote, continued on threads and on ranks. */
static void check_resumed(const char *const words[2], const char *expected, int writers)
{
    char write[400], again[400];
    const char *file = job_path("mesh_snapshot.h5");
    (void)snprintf(write, sizeof write, "--threads 1 --snapshot %s %s", file, words[1]);
    expect_result(expected, writers, words[0], write);
    for (int threads = 1; threads <= 4; threads++) {
        (void)snprintf(again, sizeof again, "--resume %s --threads %d", file, threads);
        expect_result(expected, 1, words[0], again);
    }
    (void)snprintf(again, sizeof again, "--resume %s --threads 1", file);
    expect_result(expected, 5 - writers, words[0], again);
}

TEST(mesh, a_run_is_resumed_from_its_snapshot)
{
    static const char *const words[][2] = {
        {"allreduce --fabric 12x9 --words 60", "--every 90"},
        {"attention --fabric 6x5 --tokens 14 --heads 2 --head_dim 6 --pass backward",
         "--every 1500"},
        {"wgrad --fabric 5x6 --tokens 24 --m 20 --k 18 --density 0.5", "--every 300"},
    };
    for (int i = 0; i < 3; i++) {
        char *expected = result_of(1, words[i][0], "--threads 1");
        check_resumed(words[i], expected, 1);
        check_resumed(words[i], expected, 2);
        free(expected);
    }
}

TEST(mesh, what_explain_shows_survives_a_snapshot)
{
    static const char *const words = "allreduce --fabric 7x5 --words 40 --explain";
    const char *file = job_path("mesh_explain.h5");
    char more[400];
    char *expected = result_of(1, words, "--threads 1");
    (void)snprintf(more, sizeof more, "--snapshot %s --every 60", file);
    expect_result(expected, 1, words, more);
    (void)snprintf(more, sizeof more, "--resume %s --threads 3", file);
    expect_result(expected, 1, words, more);
    free(expected);
}

static void refused(int status, const char *why, const char *words, const char *file)
{
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" mesh %s --resume %s", words, file);
    T_EQ(r.status, status);
    if (!strstr(r.err, why)) (void)printf("expected %s, got %s\n", why, r.err);
    CU_ASSERT(strstr(r.err, why) != NULL);
    CU_ASSERT(strchr(r.err, '\n') == strrchr(r.err, '\n'));
    spawn_free(&r);
}

TEST(mesh, other_and_damaged_snapshots_are_refused)
{
    static const char *const words = "allreduce --fabric 7x5 --words 40";
    const char *file = job_path("mesh_whole.h5");
    char bad[300];
    (void)snprintf(bad, sizeof bad, "%s.bad", file);
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" mesh %s --snapshot %s --every 60", words, file));
    refused(2, "--words 40, not with --words 41", "allreduce --fabric 7x5 --words 41", file);
    refused(2, "allreduce, not with reduce", "reduce --fabric 7x5 --words 40", file);
    refused(2, "--fabric 7x5, not with --fabric 5x7", "allreduce --fabric 5x7 --words 40", file);
    refused(2, "--explain no, not with --explain yes",
            "allreduce --fabric 7x5 --words 40 --explain", file);
    CU_ASSERT_FATAL(
        spawn_ok("cp %s %s && printf x | dd of=%s bs=1 seek=12000 conv=notrunc", file, bad, bad));
    refused(1, bad, words, bad);
    CU_ASSERT_FATAL(spawn_ok("head -c 9000 %s > %s", file, bad));
    refused(1, bad, words, bad);
    CU_ASSERT_FATAL(spawn_ok("echo no snapshot > %s", bad));
    refused(1, "is not an HDF5 file", words, bad);
    CU_ASSERT_FATAL(spawn_ok("rm %s", bad));
    refused(1, "No such file", words, bad);
}

/* A machine file of which one constant differs. */
TEST(mesh, a_snapshot_of_another_machine_is_refused)
{
    static const char *const words = "gelu --fabric 3x2 --features 9 --arch wse3";
    const char *file = job_path("mesh_machine.h5");
    const char *root = job_path("mesh_root");
    struct spawn_result r;
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" mesh %s --snapshot %s --every 60", words, file));
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && cp -r configs %s && "
                             "sed -i 's/875 MHz/876 MHz/' %s/configs/cluster/cs3.yaml",
                             root, root, root));
    spawn_run(&r, "WSC_DATA_DIR=%s \"$WSC\" mesh %s --resume %s", root, words, file);
    T_EQ(r.status, 2);
    CU_ASSERT(strstr(r.err, "a snapshot of a run with --machine CS-3 ") != NULL);
    spawn_free(&r);
    CU_ASSERT(spawn_ok("\"$WSC\" mesh %s --resume %s", words, file));
}

/* Options after a value of more than 1024 bytes count too, and so does the end of the value. */
TEST(mesh, snapshots_of_long_cases_are_told_apart)
{
    static const char *const words = "allreduce --fabric 7x5 --words 40 --trace";
    const char *file = job_path("mesh_long.h5"), *trace = job_path("mesh_long.json");
    char pes[1400] = "0,0", of[2048];
    for (size_t n = strlen(pes); n < 1200; n = strlen(pes))
        (void)snprintf(pes + n, sizeof pes - n, ";0-6,0-%d", (int)(n % 5));
    (void)snprintf(of, sizeof of, "%s %s --trace_pe '%s;6,4'", words, trace, pes);
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" mesh %s --snapshot %s --every 60", of, file));
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" mesh %s --resume %s", of, file));
    (void)snprintf(of, sizeof of, "%s %s --trace_pe '%s;6,4' --trace_events 300", words, trace,
                   pes);
    refused(2, "--trace_events 200000, not with --trace_events 300", of, file);
    (void)snprintf(of, sizeof of, "%s %s --trace_pe '%s;5,4'", words, trace, pes);
    refused(2, ";6,4, not with --trace_pe ...", of, file);
}

/* Before the run, not when a signal has ended hours of it. */
TEST(mesh, a_snapshot_that_cannot_be_written_is_refused_first)
{
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" mesh allreduce --fabric 4x4 --snapshot %s/none/s.h5", job_path("no"));
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "none/s.h5: cannot be written: No such file"));
    T_STR(r.out, "");
    spawn_free(&r);
}

/* Two working folders, as on two hosts that share none: ranks would write two files, or continue
 * from two cycles. */
TEST(mesh, ranks_need_one_snapshot)
{
    static const struct {
        const char *a, *b, *option, *says;
    } host[] = {
        {"true", "true", "--snapshot s.h5 --every 60", "s.h5: not the same place for rank 0"},
        {"cp 60.h5 a/s.h5", "true", "--resume s.h5", "s.h5: cannot be opened: No such file"},
        {"cp 60.h5 a/s.h5", "cp 70.h5 b/s.h5", "--resume s.h5",
         "s.h5: not the same snapshot for all ranks"}};
    /* Of 195 cycles; the last snapshots are of cycles 180 and 140. */
    static const char *const words = "allreduce --fabric 7x5 --words 40";
    const char *dir = job_path("mesh_hosts");
    CU_ASSERT_FATAL(
        spawn_ok("mkdir -p %s/a %s/b && \"$WSC\" mesh %s --snapshot %s/60.h5 --every 60 "
                 "&& \"$WSC\" mesh %s --snapshot %s/70.h5 --every 70",
                 dir, dir, words, dir, words, dir));
    for (size_t i = 0; i < sizeof host / sizeof *host; i++) {
        struct spawn_result r;
        CU_ASSERT_FATAL(
            spawn_ok("cd %s && rm -f [ab]/s.h5 && %s && %s", dir, host[i].a, host[i].b));
#define ON "-n 1 \"$WSC\" mesh %s %s"
        spawn_run(&r, "mpirun --quiet --wdir %s/a " ON " : --wdir %s/b " ON, dir, words,
                  host[i].option, dir, words, host[i].option);
#undef ON
        T_EQ(r.status, 1);
        if (!strstr(r.err, host[i].says)) T_STR(r.err, host[i].says);
        spawn_free(&r);
    }
}

/* Status 5 after a signal, which comes when the first snapshot is there. */
TEST(mesh, a_signal_ends_a_run_that_can_be_resumed)
{
    static const char *const words = "allreduce --fabric 160x160 --words 300";
    struct spawn_result r;
    const char *file = job_path("mesh_stopped.h5");
    char more[400];
    spawn_run(&r,
              "rm -f %s; \"$WSC\" mesh %s --threads 1 --snapshot %s --every 40 & p=$!; "
              "while kill -0 $p && ! test -e %s; do sleep 0.02; done; kill -TERM $p; wait $p",
              file, words, file, file);
    T_EQ(r.status, 5);
    CU_ASSERT(strstr(r.err, "stopped by a signal before cycle") != NULL);
    CU_ASSERT(strstr(r.err, "--resume") != NULL);
    spawn_free(&r);
    char *expected = result_of(1, words, "--threads 2");
    (void)snprintf(more, sizeof more, "--resume %s --threads 1", file);
    expect_result(expected, 1, words, more);
    free(expected);
}

/* Cycles that this process simulated, by the rate that it reports. */
static double simulated_cycles(const char *words, int64_t pes)
{
    json_t *json = run_json(words);
    const double cycles = real(json, "router_cycles_per_s") * real(json, "host_seconds");
    json_decref(json);
    return cycles / (double)pes;
}

/* An observed kernel of several programs runs twice; the rate is of the second run alone. */
TEST(mesh, a_resumed_run_reports_the_rate_of_what_it_simulated)
{
    static const char kernel[] = "linear --fabric 7x3 --tokens 5 --m 9 --k 11 --density 0.3 "
                                 "--seed 3 --threads 1 --explain";
    char words[400];
    json_t *json = run_json(kernel);
    const double cycles = real(json, "cycles");
    json_decref(json);
    for (int every = 50; every <= 100; every += 50) {
        const char *file = job_path("mesh_rate.h5");
        (void)snprintf(words, sizeof words, "%s --snapshot %s --every %d", kernel, file, every);
        T_NEAR(simulated_cycles(words, 21), cycles, 0.01 * cycles);
        (void)snprintf(words, sizeof words, "%s --resume %s", kernel, file);
        const double rest = 2 * cycles - every * floor(2 * cycles / every);
        T_NEAR(simulated_cycles(words, 21), rest, 0.01 * cycles);
    }
}

/* Chains, whose schedule is exact, and the broadcast after them, on both generations. */
TEST(mesh, the_schedule_of_an_allreduce_is_exact_where_that_of_its_reduction_is)
{
    static const char *const arch[] = {"wse2", "wse3"};
    for (int i = 0; i < 6; i++) {
        char words[128];
        (void)snprintf(words, sizeof words,
                       "allreduce --fabric %dx1 --arch %s --algo chain --words %d", 2 + 31 * i,
                       arch[i % 2], 1 + 15 * i);
        json_t *json = run_json(words);
        T_EQ(real(json, "schedule"), real(json, "cycles"));
        json_decref(json);
    }
}

/* ---- plan ------------------------------------------------------------------------------------ */

TEST(mesh, a_plan_counts_work_and_memory)
{
    json_t *json = run_json("allreduce --fabric 48x40 --words 100 --plan");
    json_t *run = run_json("allreduce --fabric 48x40 --words 100 --threads 1");
    const double expected = real(json, "expected_cycles"), cycles = real(run, "cycles");
    CU_ASSERT(expected > 0.8 * cycles && expected < 1.2 * cycles);
    T_NEAR(real(json, "router_cycles"), expected * 48 * 40, 48 * 40);
    CU_ASSERT(real(json, "router_cycles_per_s") > 0);
    CU_ASSERT(real(json, "bytes_per_pe") > 400);
    T_NEAR(real(json, "memory_bytes"), real(json, "bytes_per_pe") * 48 * 40, 48 * 40);
    const json_t *seconds = json_object_get(json, "seconds");
    CU_ASSERT(real(seconds, "2") < real(seconds, "1"));
    CU_ASSERT_PTR_NULL(json_object_get(seconds, "64"));
    json_t *brief = run_json("broadcast --fabric 40x40 --plan");
    CU_ASSERT(real(brief, "bytes_per_pe") > 400); /* of a run of few cycles, too */
    json_decref(brief);
    brief = run_json("reduce --fabric 64x1 --arch wse3 --plan");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(brief, "model_arch")), "wse2");
    json_decref(brief);
    brief = run_json("fmacs --fabric 3x3 --plan"); /* has no model */
    T_EQ(json_object_size(json_object_get(brief, "seconds")), 0);
    json_decref(brief);
    json_decref(json);
    json_decref(run);
}

/* A plan measures PEs that hold what those of the whole fabric hold: sizes along the columns shrink
 * with the columns, those along the rows with the rows. */
TEST(mesh, a_plan_keeps_what_a_pe_holds)
{
    static const char *const pairs[][2] = {
        {"linear --fabric 256x64 --tokens 128 --m 512 --k 256 --plan",
         "linear --fabric 32x32 --tokens 64 --m 64 --k 32 --plan"},
        {"wgrad --fabric 256x8 --tokens 16 --m 512 --k 256 --plan",
         "wgrad --fabric 32x8 --tokens 16 --m 64 --k 32 --plan"},
        {"cross_entropy --fabric 512x4 --tokens 64 --vocab 16384 --plan",
         "cross_entropy --fabric 32x4 --tokens 64 --vocab 1024 --plan"},
        {"rotary --fabric 256x4 --tokens 8 --heads 2 --head_dim 512 --plan",
         "rotary --fabric 32x4 --tokens 8 --heads 1 --head_dim 128 --plan"},
        {"rotary --fabric 64x4 --tokens 8 --heads 4 --head_dim 32 --plan",
         "rotary --fabric 32x4 --tokens 8 --heads 2 --head_dim 32 --plan"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        json_t *whole = run_json(pairs[i][0]), *corner = run_json(pairs[i][1]);
        T_NEAR(real(whole, "bytes_per_pe"), real(corner, "bytes_per_pe"), 0.01);
        CU_ASSERT(real(whole, "router_cycles") > real(corner, "router_cycles"));
        json_decref(whole);
        json_decref(corner);
    }
}
