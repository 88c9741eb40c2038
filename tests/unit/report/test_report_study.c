// SPDX-License-Identifier: Apache-2.0
/* Tables, files and sections on what a curve depends on and on one step, from made-up numbers. */
#include "../../support/test.h"
#include "report_case.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_ROWS = 2 };

static struct scaling_row rows[3][N_ROWS];
static struct scaling_variant variant[] = {{"all", 1, rows[0], ""},
                                           {"without, \"jitter\"", 10, rows[1], ""},
                                           {"none of them", 100, rows[2], ""}};
static double low[] = {1, 0.9}, high[] = {1, 1.05}, unfit[] = {NAN, NAN}, one[] = {1, 1},
              below[] = {1, 0.9}, above[] = {1, 1.05}, rates[] = {100, 390};
static int64_t counts[] = {1, 4};
static struct scaling_constant constant[] = {{"wafer.sram_per_pe",
                                              "assumed",
                                              "48 KiB",
                                              "1 KiB",
                                              "96 KiB",
                                              unfit,
                                              one,
                                              {"48 KiB", "1 KiB", "96 KiB"}},
                                             {"wafer.clock",
                                              "documented",
                                              "1 GHz",
                                              "800 MHz",
                                              "1.2 GHz",
                                              low,
                                              high,
                                              {"1 GHz", "800 MHz", "1.2 GHz"}}};
static const struct scaling_sensitivity sensitivity = {"m",   counts, below,    above,
                                                       rates, 2,      constant, 2};
static const struct scaling_training training = {"m",  50,   4,     5.12e9, 93600, 7.2e9, 8e20,
                                                 4e20, 9e20, 2.049, 936,    1872,  468};
static const struct timeline_segment path[] = {
    {"compute", "wafer 3", "layers.11 forward, micro-batch 2", 0, 600},
    {"compute", "wafer 3", "layers.12 forward, micro-batch 2", 600, 900},
    {"optimizer", "MemoryX shard 10", "end of step", 900, 1000}};
static const struct timeline_link links[] = {
    {"MemoryX shard 0", "SwarmX node 0", 100, 2000, 250, 4},
    {"MemoryX shard 11", "SwarmX node 0", 100, 4000, 500, 4},
    {"wafer 0", "SwarmX node 0", 0, 10, 0, 1}};
static const struct timeline_module modules[] = {{"model.lm_head.fwd", 700},
                                                 {"(step boundary)", 300}};
static const struct timeline_step breakdown = {"m",   4, 1000,    12345, path,    3,
                                               links, 3, modules, 2,     modules, 2};

static struct report_scaling study_case(void)
{
    static struct report_scaling s;
    s = case_scaling();
    for (int v = 0; v < 3; v++)
        for (int i = 0; i < N_ROWS; i++) {
            rows[v][i] = s.row[0];
            rows[v][i].model = "m";
            rows[v][i].num_csx = counts[i];
            rows[v][i].tokens_per_s = rates[i] * (1 + 0.25 * v);
            rows[v][i].step_time_ps = 1000 - v;
        }
    s.row = rows[0];
    s.n_rows = N_ROWS;
    s.effect = variant;
    s.n_effects = 3;
    s.varied = variant;
    s.n_varied = 3;
    s.varied_key = "swarmx.latency";
    s.sensitivity = &sensitivity;
    s.n_sensitivities = 1;
    s.training = &training;
    s.n_trainings = 1;
    s.breakdown = &breakdown;
    s.n_breakdowns = 1;
    return s;
}

static void write_study(char dir[256])
{
    const struct report_scaling s = study_case();
    (void)snprintf(dir, 256, "%s", case_path("study"));
    T_OK(report_scaling_write(dir, &s));
}

static const char *study_file(const char *name)
{
    static char dir[256];
    char file[512];
    if (!dir[0]) write_study(dir);
    (void)snprintf(file, sizeof file, "%s/%s", dir, name);
    return case_read(file);
}

TEST(report_study, csv_files)
{
    T_STR(study_file("effects.csv"),
          "machine,model,num_csx,tokens_per_s,step_time_ps,against_first\n"
          "all,m,1,100.0,1000,1.0\nall,m,4,390.0,1000,1.0\n"
          "\"without, \"\"jitter\"\"\",m,1,125.0,999,1.25\n"
          "\"without, \"\"jitter\"\"\",m,4,487.5,999,1.25\n"
          "none of them,m,1,150.0,998,1.5\nnone of them,m,4,585.0,998,1.5\n");
    T_STR(study_file("sensitivity.csv"),
          "model,num_csx,constant,kind,value,low,high,at_low,at_high\n"
          "m,1,wafer.sram_per_pe,assumed,48 KiB,1 KiB,96 KiB,,1.0\n"
          "m,1,wafer.clock,documented,1 GHz,800 MHz,1.2 GHz,1.0,1.0\n"
          "m,4,wafer.sram_per_pe,assumed,48 KiB,1 KiB,96 KiB,,1.0\n"
          "m,4,wafer.clock,documented,1 GHz,800 MHz,1.2 GHz,0.9,1.05\n");
    T_STR(study_file("band.csv"), "model,num_csx,tokens_per_s,low,high\n"
                                  "m,1,100.0,100.0,100.0\nm,4,390.0,351.0,409.5\n");
    T_STR(study_file("training.csv"),
          "model,params,num_csx,tokens,seconds,joules,flop,expected_loss,"
          "flop_hoffmann,checkpoint_s,restart_s,flop_useful,eval_s\n"
          "m,50,4,5.12e+09,93600.0,7.2e+09,8e+20,2.049,9e+20,936.0,1872.0,4e+20,468.0\n");
    T_STR(study_file("links.csv"), "from,to,rate_bytes_per_s,messages,bytes,busy_ps,busy_fraction\n"
                                   "MemoryX shard 0,SwarmX node 0,100,4,2000,250,0.250000\n"
                                   "MemoryX shard 11,SwarmX node 0,100,4,4000,500,0.500000\n"
                                   "wafer 0,SwarmX node 0,0,1,10,0,0.000000\n");
    T_STR(study_file("critical_path.csv"),
          "begin_ps,end_ps,part,who,what\n"
          "0,600,compute,wafer 3,\"layers.11 forward, micro-batch 2\"\n"
          "600,900,compute,wafer 3,\"layers.12 forward, micro-batch 2\"\n"
          "900,1000,optimizer,MemoryX shard 10,end of step\n");
    T_STR(study_file("op_profile.csv"), "module,time_ps,fraction\n"
                                        "model.lm_head.fwd,700,0.700000\n"
                                        "(step boundary),300,0.300000\n");
}

static void print_study(void)
{
    const struct report_scaling s = study_case();
    T_OK(report_scaling_print(&s));
}

TEST(report_study, tables_on_stdout)
{
    static const char *const part[] = {
        "without, \"jitter\"  125 +25.00 %  488 +25.00 %",
        "wafer.clock        documented   1 GHz  800 MHz  1.2 GHz     -10.000 %  +5.000 %",
        "does not fit",
        "together, with the correlation of calibrated constants: -10.0 % to +5.0 %",
        "m            4  5.12 B  26 h       0.50 %       1.00 %    2.00 %  2.00 MWh  8e+20",
        "MODULE NAME        CSX TIME (in ms)  % CSX TIME",
        "model.lm_head.fwd             0.000       70.00",
        "compute, wafer *, layers.* forward            2  900.0 ps  90.0000 %",
        "optimizer, MemoryX shard *, end of step       1  100.0 ps  10.0000 %",
        "MemoryX shard to SwarmX node       2     3.00 kB      25.00 %     50.00 %",
        "a step of 1.000 ns on 4 systems, 12.3 k events"};
    const char *text = case_capture(1, print_study);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (!strstr(text, part[i])) (void)fprintf(stderr, "missing: %s\n%s\n", part[i], text);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, part[i]));
    }
}

/* Twenty modules of 50 ps each and twenty constants, the fourth from the end with 3 % at one end.
 */
static void print_long_study(void)
{
    enum { N = 20 };
    static struct timeline_module module[N];
    static struct timeline_segment segment[N];
    static struct scaling_constant many[N];
    static double little[] = {1, 0.97};
    struct report_scaling s = study_case();
    struct scaling_sensitivity all = sensitivity;
    struct timeline_step step = breakdown;
    for (int i = 0; i < N; i++) {
        module[i] = (struct timeline_module){"m", 50};
        segment[i] = (struct timeline_segment){.part = "compute",
                                               .who = "wafer 3",
                                               .begin_ps = INT64_C(50) * i,
                                               .end_ps = INT64_C(50) * (i + 1)};
        (void)snprintf(segment[i].what, sizeof segment[i].what, "%c", 'a' + i);
        many[i] = constant[1];
        if (i >= N - 4) many[i].at_low = many[i].at_high = one;
    }
    many[N - 4].at_low = little;
    step.module = module;
    step.path = segment;
    step.n_modules = step.n_path = all.n = N;
    all.constant = many;
    s.sensitivity = &all;
    s.breakdown = &step;
    T_OK(report_scaling_print(&s));
    T_OK(report_scaling_write(case_path("long"), &s));
}

/* What a table leaves out is a row of its own: the rows add up to the step. */
TEST(report_study, rows_that_are_left_out_are_summed)
{
    const char *text = case_capture(1, print_long_study);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n  4 others, all in sensitivity.csv"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "  at most 3.000 %  at most 0.000 %\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n  (10 others)             0.000       50.00\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(strstr(text, "\n  (5 others)"), " 5  250.0 ps  25.0000 %"));
    CU_ASSERT_PTR_NOT_NULL(strstr(case_read(case_path("long/tornado.gp")),
                                  "ends of its range; others in sensitivity.csv'"));
    const char *html = case_read(case_path("long/report.html"));
    int n = 0;
    for (const char *at = html; (at = strstr(at, "<td>wafer.clock</td>")); at++)
        n++;
    T_EQ(n, 20);
}

TEST(report_study, sections_of_the_page)
{
    const char *html = study_file("report.html");
    CU_ASSERT_PTR_NOT_NULL(strstr(html, "<h2>Scaling-loss breakdown</h2>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(html, "without, &quot;jitter&quot;"));
    CU_ASSERT_PTR_NOT_NULL(strstr(html, "<td class=\"n\">does not fit</td>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(html, "compute, wafer *, layers.* forward"));
    CU_ASSERT(strlen(study_file("tornado.svg")) > 1000);
    CU_ASSERT(strlen(study_file("sweep.svg")) > 1000);
    CU_ASSERT_PTR_NOT_NULL(strstr(study_file("scaling.gp"), "$b0 using 1:2:3 with filledcurves"));
}

/* sweep.svg of @p n values, at most eleven, each with its number as its name; the last of them
 * comes first in the sweep. */
static const char *picture_of_values(const double *value, int n)
{
    static struct scaling_variant many[11];
    struct report_scaling s = study_case();
    s.varied = many;
    s.n_varied = n;
    for (int k = 0; k < n; k++) {
        many[k] = (struct scaling_variant){.value = value[(k + n - 1) % n], .row = rows[k % 3]};
        (void)snprintf(many[k].name, sizeof many[k].name, "%g", many[k].value);
    }
    T_OK(report_scaling_write(case_path("values"), &s));
    return case_read(case_path("values/sweep.svg"));
}

static bool has_label(const char *svg, double value)
{
    char label[48];
    (void)snprintf(label, sizeof label, "<text>%g</text>", value);
    return strstr(svg, label) != NULL;
}

/* gnuplot draws no label at the very end of a logarithmic axis. The numbers are none of the other
 * axis. Values that are too close have one label. */
TEST(report_study, ends_of_the_axis_of_values_have_labels)
{
    static const double pair[] = {17, 170}, from_zero[] = {0, 17, 35}, alone[] = {17},
                        ten[] = {11, 17, 27, 43, 67, 105, 160, 260, 410, 650},
                        close[] = {17, 17.1, 17.2, 100, 167, 168, 170};
    static const struct {
        const double *value;
        int n, labels;
    } axis[] = {{pair, 2, 2}, {from_zero, 3, 3}, {alone, 1, 1}, {ten, 10, 10}, {close, 7, 3}};
    for (size_t a = 0; a < sizeof axis / sizeof *axis; a++) {
        const char *svg = picture_of_values(axis[a].value, axis[a].n);
        int n = 0;
        for (int k = 0; k < axis[a].n; k++) {
            const bool labelled = has_label(svg, axis[a].value[k]);
            CU_ASSERT(labelled || (k && k + 1 < axis[a].n));
            n += labelled;
        }
        T_EQ(n, axis[a].labels);
    }
}

/* The curve goes from value to value, whatever their order in the sweep; ratios are against the
 * first one of the sweep. */
TEST(report_study, a_curve_over_values_ascends)
{
    static const double value[] = {10, 20, 40};
    (void)picture_of_values(value, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(case_read(case_path("values/sweep.gp")),
                                  "$s0 << EOD\n10 1.25\n20 1.5\n40 1\nEOD\n"));
}

/* The band is wider than its curve, and all of it is drawn. */
TEST(report_study, band_is_inside_the_picture)
{
    static double wide[] = {4, 400}, narrow[] = {0.25, 0.0025};
    struct scaling_sensitivity s = sensitivity;
    s.below = narrow;
    s.above = wide;
    struct report_scaling r = study_case();
    r.sensitivity = &s;
    T_OK(report_scaling_write(case_path("band"), &r));
    const char *range = strstr(case_read(case_path("band/scaling.gp")), "set yrange [");
    CU_ASSERT_FATAL(range != NULL);
    char *end;
    const double lo = strtod(range + strlen("set yrange ["), &end);
    CU_ASSERT_FATAL(*end == ':');
    CU_ASSERT(lo < 390 * 0.0025 && strtod(end + 1, NULL) > 390 * 400);
}

/* ---- several models -------------------------------------------------------------------------- */

static bool has_panel(const char *picture, const char *model, const char *of)
{
    char title[96];
    (void)snprintf(title, sizeof title, "<text>%s on 4 systems: %s", model, of);
    return strstr(case_read(case_path(picture)), title) != NULL;
}

/* Rows of "m" and of "n" in each variant; those of "n" have twice the rates, and speedups of their
 * own. */
static void double_rows(struct scaling_variant v[3], struct scaling_row row[3][2 * N_ROWS])
{
    for (int k = 0; k < 3; k++) {
        v[k] = (struct scaling_variant){.name = "v", .value = 0.45 * k, .row = row[k]};
        for (int i = 0; i < 2 * N_ROWS; i++) {
            row[k][i] = rows[k][i % N_ROWS];
            row[k][i].flop_per_token = row[k][i].useful_flop_per_token = 1;
            if (i < N_ROWS) continue;
            row[k][i].model = "n";
            row[k][i].tokens_per_s *= 2 + k;
        }
    }
}

/* Pictures show every model, not only the first one; curves go from value to value, and the axis
 * holds the fastest of them, which need not be the last one. */
TEST(report_study, pictures_have_all_models)
{
    static struct scaling_row row[3][2 * N_ROWS];
    static struct scaling_variant v[3];
    struct scaling_sensitivity both[2] = {sensitivity, sensitivity};
    struct report_scaling s = study_case();
    double_rows(v, row);
    both[1].model = "n";
    s.row = row[0];
    s.n_rows = 2 * N_ROWS;
    s.effect = s.varied = s.varied_all = v;
    s.varied_key = "sparsity";
    s.sensitivity = both;
    s.n_sensitivities = 2;
    v[1].value = 0.9;
    v[2].value = 0.45;
    T_OK(report_scaling_write(case_path("both"), &s));
    for (int i = 0; i < 2; i++) {
        const char *model = i ? "n" : "m";
        CU_ASSERT(has_panel("both/tornado.svg", model, "each constant"));
        CU_ASSERT(has_panel("both/sparsity.svg", model, "speedup against sparsity"));
    }
    const char *gp = case_read(case_path("both/sparsity.gp"));
    CU_ASSERT_PTR_NOT_NULL(strstr(gp, "$s1 << EOD\n0 1 1 1\n0.45 3 3 1\n0.9 1.875 1.875 1\nEOD\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(gp, "set yrange [0:3.9]\n"));
}

/* A machine of which all constants are certain has a picture without bars. */
TEST(report_study, no_constant_has_a_range)
{
    struct report_scaling s = study_case();
    struct scaling_sensitivity certain = sensitivity;
    certain.n = 0;
    certain.constant = NULL;
    s.sensitivity = &certain;
    T_OK(report_scaling_write(case_path("certain"), &s));
    CU_ASSERT(has_panel("certain/tornado.svg", "m", "no constant has a range"));
}

/* ---- trace ----------------------------------------------------------------------------------- */

TEST(out_trace, is_json_and_loses_no_picosecond)
{
    struct out_trace *t;
    const char *path_of = case_path("trace.json");
    T_OK(out_trace_open(&t, path_of));
    out_trace_row(t, 1, "a \"group\"", 4, "row");
    out_trace_bar(t, 1, 4, "bar", 1234567890123, 1234567890124, 77);
    out_trace_arrow(t, 5, false, 1, 4, 1000001);
    out_trace_arrow(t, 5, true, 1, 4, 2000000);
    T_OK(out_trace_close(&t));
    const char *text = case_read(path_of);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"ts\": 1234567.890123, \"dur\": 0.000001"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"ts\": 1.000001"));
    json_t *o = json_loads(text, 0, NULL), *events = json_object_get(o, "traceEvents");
    T_EQ(json_array_size(events), 6);
    T_STR(json_string_value(json_object_get(json_array_get(events, 3), "ph")), "X");
    T_EQ(json_integer_value(
             json_object_get(json_object_get(json_array_get(events, 3), "args"), "bytes")),
         77);
    json_decref(o);
    T_EQ(out_trace_open(&t, "/nowhere/at/all.json"), WSC_IO);
}
