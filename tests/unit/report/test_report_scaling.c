// SPDX-License-Identifier: Apache-2.0
#include "../../../src/report/plot_style.h"
#include "../../support/test.h"
#include "report_case.h"

#include <wsc/file.h>
#include <wsc/mem.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- scaling.csv, the picture, report.html ----------------------------------------------------
 */

static const char *const csv_head =
    "model,params,num_csx,global_batch,micro_batch,tokens_per_s,samples_per_s,speedup,efficiency,"
    "step_time_ps,compute_ps,weights_wait_ps,reduce_wait_ps,boundary_ps,mfu,joules_per_token,"
    "input_wait_ps\n";

/* All files once for all cases: gnuplot takes a while. */
static const char *sweep_dir(void)
{
    static char dir[256];
    static struct report_scaling s;
    if (dir[0]) return dir;
    (void)snprintf(dir, sizeof dir, "%s", case_path("sweep"));
    s = case_scaling();
    T_OK(report_scaling_write(dir, &s));
    return dir;
}

static const char *sweep_file(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", sweep_dir(), name);
    return case_read(path);
}

/* After the name a line is a list of numbers, as JSON writes them. */
static void check_csv_line(const char *line, const struct scaling_row *r)
{
    char list[512];
    size_t name = strlen(r->model);
    CU_ASSERT_FATAL(!strncmp(line, r->model, name) && line[name] == ',');
    (void)snprintf(list, sizeof list, "[%.*s]", (int)strcspn(line + name + 1, "\n"),
                   line + name + 1);
    json_t *a = json_loads(list, 0, NULL);
    const int64_t whole[] = {r->params, r->num_csx, r->global_batch, r->micro_batch};
    const double real[] = {r->tokens_per_s, r->samples_per_s, r->speedup, r->efficiency};
    const int64_t time[] = {r->step_time_ps, r->breakdown.compute_ps, r->breakdown.weights_wait_ps,
                            r->breakdown.reduce_wait_ps, r->breakdown.boundary_ps};
    T_EQ(json_array_size(a), 16);
    for (size_t i = 0; i < 4; i++)
        T_EQ(json_integer_value(json_array_get(a, i)), whole[i]);
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT(json_real_value(json_array_get(a, 4 + i)) == real[i]);
    for (size_t i = 0; i < 5; i++)
        T_EQ(json_integer_value(json_array_get(a, 8 + i)), time[i]);
    CU_ASSERT(json_real_value(json_array_get(a, 13)) == r->mfu);
    CU_ASSERT(json_real_value(json_array_get(a, 14)) == r->joules_per_token);
    T_EQ(json_integer_value(json_array_get(a, 15)), r->breakdown.input_wait_ps);
    json_decref(a);
}

TEST(report_scaling, csv_has_the_contract_head_and_every_value)
{
    struct report_scaling s = case_scaling();
    const char *line = sweep_file("scaling.csv");
    CU_ASSERT_FATAL(!strncmp(line, csv_head, strlen(csv_head)));
    line += strlen(csv_head);
    for (int i = 0; i < s.n_rows; i++) {
        check_csv_line(line, &s.row[i]);
        line += strcspn(line, "\n") + 1;
    }
    T_STR(line, "");
}

TEST(report_scaling, pictures_are_pictures)
{
    static const char png[] = "\x89PNG\r\n\x1a\n";
    CU_ASSERT(!memcmp(sweep_file("scaling.png"), png, 8));
    const char *svg = sweep_file("scaling.svg");
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "<svg"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "</svg>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "weak scaling on emulated CS-2 systems"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "GPT-3 111M"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "Vassilieva et al., Table V"));
    CU_ASSERT_PTR_NULL(strstr(svg, "for any legend")); /* long sources are cut */
}

/* The labels of the efficiencies stand in a low panel: at most seven of them, whatever the range;
 * an efficiency above 100 % is inside. */
TEST(report_scaling, labels_of_efficiencies_do_not_touch)
{
    static const struct {
        double low, high;
        const char *text;
    } axis[] = {{98, 100, "set yrange [90:100.5]\nset ytics 2\n"},
                {88.9, 100, "set yrange [88:100.5]\nset ytics 2\n"},
                {74, 100, "set yrange [70:100.5]\nset ytics 5\n"},
                {47, 100, "set yrange [40:100.5]\nset ytics 10\n"},
                {6, 100, "set yrange [0:100.5]\nset ytics 20\n"},
                {99, 120, "set yrange [90:120.5]\nset ytics 10\n"}};
    for (size_t i = 0; i < sizeof axis / sizeof *axis; i++) {
        struct wsc_text t = {0};
        report_efficiency_axis(&t, axis[i].low, axis[i].high);
        T_STR(t.bytes, axis[i].text);
        wsc_free(t.bytes);
    }
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

TEST(report_scaling, html_is_whole_escaped_and_needs_no_network)
{
    const char *html = sweep_file("report.html");
    CU_ASSERT(!strncmp(html, "<!DOCTYPE html>", 15));
    T_EQ(count(html, "<svg"), 1);
    T_EQ(count(html, "<!DOCTYPE"), 1);
    T_EQ(count(html, "<tr>"), count(html, "</tr>"));
    T_EQ(count(html, "<td"), count(html, "</td>"));
    T_EQ(count(html, "Where the loss comes from."), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(html, "# a &lt;b&gt;bold&lt;/b&gt; claim"));
    CU_ASSERT_PTR_NOT_NULL(strstr(html, "wsc scale --params &#39;a&amp;b.yaml&#39;"));
    CU_ASSERT_PTR_NOT_NULL(strstr(html, "Hot Chips 31, &quot;slide 5&quot;"));
    CU_ASSERT_PTR_NOT_NULL(strstr(html, "fit on &lt;1 system&gt; &amp; 2"));
    CU_ASSERT_PTR_NOT_NULL(strstr(html, "0123456789abcdef"));
    CU_ASSERT_PTR_NOT_NULL(strstr(html, out_version()));
    T_EQ(count(html, "src="), 0);
    T_EQ(count(html, "<link"), 0);
    T_EQ(count(html, "url("), 0);
}

/* The points of the curves, once in each panel, and those that were published, each with its own
 * mark of the picture. */
TEST(report_scaling, points_of_the_picture_say_their_values)
{
    const struct report_scaling s = case_scaling();
    const char *html = sweep_file("report.html");
    T_EQ(count(html, "<g class=\"pt\""), 2 * s.n_rows + s.n_points);
    CU_ASSERT_PTR_NOT_NULL(strstr(html, "GPT-3 13B on 64 systems: 1.46 M tokens/s, efficiency "
                                        "95.18 %, step 1.078 s"));
    CU_ASSERT_PTR_NOT_NULL(strstr(html, "\"published: "));
    T_EQ(count(html, "<title>"), 1 + 2 * s.n_rows + s.n_points); /* gnuplot's own are left out */
}

/* At 64 systems of the 13B: compute 1 s, weights 6/500 s, reduce 6/150 s, boundary 1/40 s; linear
 * is 1.025 s, so a step is 52/1025 longer, 40/1025 by the reduction. */
TEST(report_scaling, the_loss_in_words_is_the_difference_of_the_parts)
{
    const char *html = sweep_file("report.html");
    CU_ASSERT_PTR_NOT_NULL(strstr(
        html, "From 1 to 64 systems throughput grows 60.91 times. A step takes 1.078 s, 52.0 ms "
              "(5.07 %) more than with linear scaling. By cause: "
              "waiting for the reduction of gradients +40.0 ms, waiting for weights +12.0 ms."));
}

static void print_scaling(void)
{
    struct report_scaling s = case_scaling();
    T_OK(report_scaling_print(&s));
}

TEST(report_scaling, table_has_a_block_per_model_and_a_row_per_count)
{
    const char *text = case_capture(1, print_scaling);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "GPT-3 13B (12.9 B parameters), weak scaling on CS-2\n"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "\n       64   7680    1.078 s    1.46 M    60.91   95.18 %"));
    T_EQ(count(text, "\n        1 "), 2);
    T_EQ(count(text, "\n       64 "), 2);
    T_EQ(count(text, "step time"), 2);
}

TEST(report_scaling, rows_may_come_in_any_order)
{
    struct report_scaling s = case_scaling();
    struct scaling_row mixed[3] = {s.row[2], s.row[7], s.row[0]};
    s.row = mixed;
    s.n_rows = 3;
    s.n_points = 0;
    mixed[0].model = "a \"quoted\", 'odd' <model>";
    mixed[2].model = mixed[0].model;
    T_OK(report_scaling_write(case_path("mixed"), &s));
    const char *csv = case_read(case_path("mixed/scaling.csv")) + strlen(csv_head);
    CU_ASSERT(!strncmp(csv, "\"a \"\"quoted\"\", 'odd' <model>\",12853473280,1,", 42));
    CU_ASSERT_PTR_NOT_NULL(strstr(csv, "<model>\",12853473280,4,"));
    const char *html = case_read(case_path("mixed/report.html"));
    CU_ASSERT_PTR_NULL(strstr(html, "<model>"));
    T_EQ(count(html, "a &quot;quoted&quot;, &#39;odd&#39; &lt;model&gt;"),
         10); /* two points in two panels, each twice */
    CU_ASSERT_PTR_NOT_NULL(strstr(html, "Only one node count was swept"));
}

/* Both pictures are drawn by one script: each begins with the ticks of its own throughput, not with
 * those of the efficiency that the first one ended with. */
TEST(report_scaling, both_pictures_have_the_same_ticks)
{
    struct scaling_row row[2];
    struct report_scaling s = case_scaling();
    row[0] = row[1] = s.row[0];
    row[1].num_csx = 1000;
    row[1].tokens_per_s *= 1000;
    s.row = row;
    s.n_rows = 2;
    s.n_points = 0;
    T_OK(report_scaling_write(case_path("wide"), &s));
    const char *script = case_read(case_path("wide/scaling.gp"));
    T_EQ(count(script, "set ytics autofreq\n"), 2);
    const char *second = strstr(strstr(script, "unset multiplot"), "set ylabel");
    CU_ASSERT(strstr(second, "set ytics autofreq\n") < strstr(second, "plot \\\n"));
}

TEST(report_scaling, many_node_counts_are_thinned_in_the_headline_only)
{
    enum { N = 64 };
    static struct scaling_row row[N];
    struct report_scaling s = case_scaling();
    for (int i = 0; i < N; i++) {
        row[i] = s.row[0];
        row[i].num_csx = i + 1;
        row[i].tokens_per_s *= i + 1;
    }
    s.row = row;
    s.n_rows = N;
    T_OK(report_scaling_write(case_path("many"), &s));
    const char *html = case_read(case_path("many/report.html"));
    T_EQ(count(html, " systems</th>"), 6);
    CU_ASSERT_PTR_NOT_NULL(strstr(html, "<p>7 of 64 node counts"));
    T_EQ(count(html, "class=\"bar\""), N);
    CU_ASSERT_PTR_NOT_NULL(strstr(case_read(case_path("many/scaling.gp")),
                                  "set xtics ('1' 1, '2' 2, '4' 4, '8' 8, '16' 16, '32' 32, "
                                  "'64' 64)\n"));
}

/* The same global batch on 4 systems: linear is a quarter of the time, every part counts. */
static struct scaling_row strong[2];
static void print_strong(void)
{
    struct report_scaling s = case_scaling();
    s.row = strong;
    s.n_rows = 2;
    s.scaling = "strong";
    T_OK(report_scaling_print(&s));
}

static const char *strong_words(struct vtime_breakdown b)
{
    strong[0] = strong[1] = case_scaling().row[0];
    strong[0].breakdown = (struct vtime_breakdown){800, 100, 0, 88, 12};
    strong[0].step_time_ps = 1000;
    strong[1].num_csx = 4;
    strong[1].breakdown = b;
    strong[1].step_time_ps =
        b.compute_ps + b.weights_wait_ps + b.reduce_wait_ps + b.boundary_ps + b.input_wait_ps;
    static char joined[4096];
    const char *text = case_capture(1, print_strong);
    size_t n = 0;
    for (; *text && n + 1 < sizeof joined; text++) {
        const char c = *text;
        bool blank = c == ' ' || c == '\n';
        if (!blank)
            joined[n++] = c;
        else if (n && joined[n - 1] != ' ')
            joined[n++] = ' ';
    }
    joined[n] = '\0';
    return joined;
}

TEST(report_scaling, the_loss_of_strong_scaling_is_against_the_smaller_share)
{
    const char *text = strong_words((struct vtime_breakdown){190, 100, 110, 88, 12});
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "A step takes 500.0 ps, 250 ps (100 %) more than with"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "gradients +110 ps"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "weights +75.0 ps"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "boundary +66.0 ps"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "compute -10.0 ps, waiting for input +9.00 ps."));
    text = strong_words((struct vtime_breakdown){200, 25, 0, 22, 3});
    CU_ASSERT_PTR_NOT_NULL(strstr(text, " 0 s (0 %) more than with linear scaling."));
    text = strong_words((struct vtime_breakdown){150, 25, 0, 22, 3});
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "50.0 ps (20 %) less than with linear scaling. By cause: compute -50.0 ps."));
}

TEST(report_scaling, numbers_that_cannot_be_drawn_are_refused)
{
    struct report_scaling s = case_scaling();
    struct scaling_row bad = s.row[0];
    s.n_rows = 0;
    CU_ASSERT_EQUAL(report_scaling_write(case_path("bad"), &s), WSC_USAGE);
    s.n_rows = 1;
    s.row = &bad;
    bad.efficiency = NAN;
    CU_ASSERT_EQUAL(report_scaling_write(case_path("bad"), &s), WSC_NUMERIC);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "GPT-3 13B on 1 systems: efficiency is"));
    bad = case_scaling().row[0];
    bad.tokens_per_s = 0;
    CU_ASSERT_EQUAL(report_scaling_print(&s), WSC_NUMERIC);
    struct stat info;
    CU_ASSERT(stat(case_path("bad"), &info) != 0);
}

TEST(report_scaling, a_missing_gnuplot_is_named)
{
    struct report_scaling s = case_scaling();
    char path[4096];
    (void)snprintf(path, sizeof path, "%s", getenv("PATH") ? getenv("PATH") : "");
    CU_ASSERT_EQUAL(setenv("PATH", "/nowhere", 1), 0);
    enum wsc_err rc = report_scaling_write(case_path("no_gnuplot"), &s);
    CU_ASSERT_EQUAL(setenv("PATH", path, 1), 0);
    CU_ASSERT_EQUAL(rc, WSC_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "package gnuplot-nox"));
    CU_ASSERT_PTR_NOT_NULL(strstr(case_read(case_path("no_gnuplot/scaling.csv")), "model,params"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(case_read(case_path("no_gnuplot/report.html")), "scaling.svg could not be drawn"));
}

/* A full disk: gnuplot ends with status 0 and half a picture. */
TEST(report_scaling, half_a_picture_is_none)
{
    struct report_scaling s = case_scaling();
    struct stat info;
    char path[4096], fake[4096];
    T_OK(wsc_file_mkdir(case_path("fake")));
    case_write(case_path("fake/gnuplot"),
               "#!/bin/sh\nprintf '<svg>' >scaling.svg\n: >scaling.png\n");
    CU_ASSERT_EQUAL(chmod(case_path("fake/gnuplot"), 0755), 0);
    (void)snprintf(path, sizeof path, "%s", getenv("PATH") ? getenv("PATH") : "");
    (void)snprintf(fake, sizeof fake, "%s", case_path("fake"));
    CU_ASSERT_EQUAL(setenv("PATH", fake, 1), 0);
    enum wsc_err rc = report_scaling_write(case_path("half"), &s);
    CU_ASSERT_EQUAL(setenv("PATH", path, 1), 0);
    T_EQ(rc, WSC_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "has not written all of it"));
    CU_ASSERT(stat(case_path("half/scaling.svg"), &info) != 0);
    CU_ASSERT(stat(case_path("half/scaling.png"), &info) != 0);
    CU_ASSERT_EQUAL(stat(case_path("half/report.html"), &info), 0);
}

TEST(report_scaling, a_gnuplot_that_fails_is_told_with_its_words)
{
    struct report_scaling s = case_scaling();
    T_OK(wsc_file_mkdir(case_path("blocked/scaling.svg"))); /* a folder where the picture goes */
    CU_ASSERT_EQUAL(report_scaling_write(case_path("blocked"), &s), WSC_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "gnuplot failed: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "scaling.svg"));
}

/* ---- published points -------------------------------------------------------------------------
 */

TEST(report_points, reads_quotes_comments_and_more_columns)
{
    struct validation_point *p = NULL;
    int n = 0;
    case_write(case_path("good.csv"), "# published\nmodel,num_csx,tokens_per_s,source,note\r\n"
                                      "\n  # more\n"
                                      "GPT-3 13B , 1 ,24309,\"a \"\"b\"\", c\",x\n"
                                      "gpt,16,3.71e5,talk,\"\"");
    T_OK(validation_points_read(case_path("good.csv"), &p, &n));
    T_EQ(n, 2);
    T_STR(p[0].model, "GPT-3 13B");
    T_NEAR(p[0].tokens_per_s, 24309, 0);
    T_STR(p[0].source, "a \"b\", c");
    T_NEAR(p[1].num_csx, 16, 0);
    T_NEAR(p[1].tokens_per_s, 371000, 0);
    wsc_free(p);
}

TEST(report_points, the_third_column_may_be_samples_or_speedups)
{
    static const char *const name[] = {"tokens_per_s", "samples_per_s", "speedup"};
    for (int i = 0; i < 3; i++) {
        char text[80];
        struct validation_point *p = NULL;
        int n = 0;
        (void)snprintf(text, sizeof text, "model,num_csx,%s,source\ngpt,2,1.5,talk\n", name[i]);
        case_write(case_path("unit.csv"), text);
        T_OK(validation_points_read(case_path("unit.csv"), &p, &n));
        T_EQ(n, 1);
        T_EQ((int)p[0].unit, i);
        T_NEAR(p[0].tokens_per_s, 1.5, 0);
        wsc_free(p);
    }
}

TEST(report_points, many_points_fit)
{
    enum { N = 1000 };
    static char text[N * 32];
    struct validation_point *p = NULL;
    int n = 0, used = snprintf(text, sizeof text, "model,num_csx,tokens_per_s,source\n");
    for (int i = 1; i <= N; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "m,%d,%d.5,s\n", i, i);
    case_write(case_path("many.csv"), text);
    T_OK(validation_points_read(case_path("many.csv"), &p, &n));
    T_EQ(n, N);
    T_NEAR(p[N - 1].tokens_per_s, N + 0.5, 0);
    wsc_free(p);
}

#define HEAD "model,num_csx,tokens_per_s,source\n"

static void read_equal(void)
{
    struct validation_point *p = NULL;
    int n = 0;
    T_OK(validation_points_read(case_path("equal.csv"), &p, &n));
    T_EQ(n, 4);
    T_EQ(p[3].line, 6);
    wsc_free(p);
}

/* A second measurement, another source or number of systems is a point of its own. */
TEST(report_points, equal_rows_are_one_point)
{
    case_write(case_path("equal.csv"), HEAD "m,1,500,s\nm,1,501,s\nm,1,500,t\nm,1,5e2, s\n"
                                            "m,2,500,s\n");
    const char *text = case_capture(2, read_equal);
    const char *first = strstr(text, "equal.csv:5: is left out: equal to line 2");
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    if (first) CU_ASSERT_PTR_NULL(strstr(first, "WARNING"));
}

TEST(report_points, errors_name_file_and_line)
{
    static char long_line[10000];
    memset(long_line, 'x', sizeof long_line - 1);
    const struct {
        const char *text, *message;
    } cases[] = {
        {"", "bad.csv: empty"},
        {"model,tokens_per_s\n", "bad.csv:1:7: expected the column num_csx, got \"tokens_per_s\""},
        {"model,num_csx,rate,source\n", "bad.csv:1:15: expected the column tokens_per_s"},
        {"model,num_csx\n", "bad.csv:1:1: expected the column tokens_per_s, got \"\""},
        {HEAD, "bad.csv: no point after the head line"},
        {HEAD "m,1,x,s\n", "bad.csv:2:5: tokens_per_s: expected a number above 0, got \"x\""},
        {HEAD "m,1,12z,s\n", "bad.csv:2:5: tokens_per_s"},
        {HEAD "m,0x10,12,s\n", "bad.csv:2:3: num_csx"},
        {HEAD "m,1.5,12,s\n", "bad.csv:2:3: num_csx: expected a whole number above 0"},
        {HEAD "m,nan,12,s\n", "bad.csv:2:3: num_csx"},
        {HEAD "m,1,1e999,s\n", "bad.csv:2:5: tokens_per_s"},
        {HEAD "m,0,12,s\n", "bad.csv:2:3: num_csx"},
        {HEAD "#c\n\nm,1,-3,s\n", "bad.csv:4:5: tokens_per_s"},
        {HEAD "m,1,12\n", "bad.csv:2: 3 fields, the head line has 4"},
        {HEAD "m,1,12,s,t\n", "bad.csv:2: 5 fields"},
        {HEAD "m,1,12,\"s\n", "bad.csv:2:8: a quoted field does not end"},
        {HEAD "m,1,12,\"s\"t\n", "bad.csv:2:11: \"t\" after a quoted field"},
        {HEAD "m,1,12,s\"t\n", "bad.csv:2:9: a quote inside a field"},
        {HEAD ",1,12,s\n", "bad.csv:2:1: model: is empty"},
        {HEAD "m,1,12,\n", "bad.csv:2:8: source: is empty"},
        {long_line, "bad.csv:1: longer than"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct validation_point *p;
        int n;
        case_write(case_path("bad.csv"), cases[i].text);
        CU_ASSERT_EQUAL(validation_points_read(case_path("bad.csv"), &p, &n), WSC_CONFIG);
        if (!strstr(wsc_err_message(), cases[i].message))
            T_STR(wsc_err_message(), cases[i].message);
        CU_ASSERT(!p && n == 0);
    }
}

/* As spreadsheets write it: a byte order mark before the first line, CRLF after each. */
TEST(report_points, a_file_of_a_spreadsheet_is_read)
{
    struct validation_point *p;
    int n;
    case_write(case_path("sheet.csv"),
               "\xef\xbb\xbfmodel,num_csx,tokens_per_s,source\r\nm,4,12,s\r\n");
    T_OK(validation_points_read(case_path("sheet.csv"), &p, &n));
    T_EQ(n, 1);
    T_STR(p[0].model, "m");
    T_STR(p[0].source, "s");
    T_NEAR(p[0].num_csx, 4, 0);
    wsc_free(p);
}

TEST(report_points, a_missing_file_and_long_names_are_errors)
{
    char text[512];
    struct validation_point *p;
    int n;
    CU_ASSERT_EQUAL(validation_points_read(case_path("none.csv"), &p, &n), WSC_CONFIG);
    (void)snprintf(text, sizeof text, HEAD "%0*d,1,2,s\n", SCALING_NAME_BYTES, 7);
    case_write(case_path("long.csv"), text);
    CU_ASSERT_EQUAL(validation_points_read(case_path("long.csv"), &p, &n), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "long.csv:2:1: model: longer than 127 bytes"));
    T_EQ(wsc_mem_in_use(WSC_MEM_REPORT), 0);
}
