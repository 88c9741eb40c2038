// SPDX-License-Identifier: Apache-2.0
/* Tables and files of a comparison and of a fit, from rows made by hand. */
#include "../../support/test.h"
#include "report_case.h"

#include <wsc/conf.h>
#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N_ROWS = 3 };

static struct validation_figure ref[N_ROWS] = {{.id = "a,1",
                                                .quantity = VALIDATION_TIME,
                                                .unit = "h",
                                                .value = 100,
                                                .samples = 10,
                                                .model = "m",
                                                .num_csx = 2,
                                                .global_batch = 8,
                                                .kind = VALIDATION_KIND_CALIBRATION,
                                                .site = "here",
                                                .family = "few",
                                                .low = 90,
                                                .high = 130,
                                                .tolerance = "10 %",
                                                .reason = "why",
                                                .source = "a \"paper\""},
                                               {.id = "b",
                                                .quantity = VALIDATION_BOUNDARY,
                                                .unit = "s",
                                                .value = 0,
                                                .kind = VALIDATION_KIND_VALIDATION,
                                                .low = 0,
                                                .high = 0.1,
                                                .tolerance = "0..0.1",
                                                .reason = "bound",
                                                .source = "s"},
                                               {.id = "c",
                                                .quantity = VALIDATION_OTHER,
                                                .unit = "apples",
                                                .value = 3,
                                                .kind = VALIDATION_KIND_CONTEXT,
                                                .reason = "no apples | <here>",
                                                .source = "s"}};
static struct hw_source latency = {.key = "wafer.stage_latency",
                                   .value = (char[]){"2 ms"},
                                   .kind = "calibrated",
                                   .source = (char[]){"fitted on something"}};

static struct validation_table make(struct validation_prediction row[2])
{
    row[0] = (struct validation_prediction){.ref = &ref[0],
                                            .predicted = 128,
                                            .band_low = 64,
                                            .band_high = 256,
                                            .n_machines = 6,
                                            .neutral = 80,
                                            .sensitivity = {0.02},
                                            .step_time_ps = 1000,
                                            .mfu = 0.2,
                                            .mfu_neutral = 0.25,
                                            .micro_batch = 4,
                                            .lanes = 2,
                                            .breakdown = {900, 50, 30, 15, 5},
                                            .products_ps = 500,
                                            .attention_ps = 200,
                                            .elementwise_ps = 50,
                                            .recompute_ps = 40,
                                            .latency_ps = 100,
                                            .jitter_ps = 10};
    row[1] = row[0];
    row[1].ref = &ref[1];
    row[1].predicted = 0.2;
    row[1].band_low = row[1].band_high = NAN;
    row[1].n_machines = 0;
    return (struct validation_table){.row = row,
                                     .n_rows = 2,
                                     .figure = ref,
                                     .n_figures = N_ROWS,
                                     .calibrated = {&latency},
                                     .n_calibrated = 1,
                                     .fitted_deviation = 0.08,
                                     .site_deviation = 0.14,
                                     .n_banded = 4,
                                     .n_inside = 3,
                                     .command = "wsc validate"};
}

static void print(void)
{
    struct validation_prediction row[2];
    const struct validation_table v = make(row);
    T_OK(report_validation_print(&v));
}

static void check_says(const char *text, const char *what)
{
    if (!strstr(text, what)) (void)fprintf(stderr, "missing: %s\n", what);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, what));
}

TEST(validation, tables_tell_errors_parts_and_what_was_fitted)
{
    static const char fitted[] =
        "1 row fitted, 0 of them outside their tolerance; speed error of the one measurement among "
        "them: 21.9 %.";
    static const char band[] =
        "3 of 4 measurements that were never fitted (75 %) lie inside the 90 % band of their "
        "prediction, which combines the ranges of the constants, the deviation of the fitted rows "
        "(8.0 %) and that between sites (14.0 %).";
    static const char *const says[] = {"a,1",
                                       "-21.9 %", /* a time of 128 h for 100 h is too slow */
                                       "+25.0 %",
                                       "+2.0 %",
                                       "stage_latency +10 %",
                                       "fitted",
                                       "NO",
                                       "50.0 %", /* products */
                                       "20.0 %", /* attention, and the share of the peak */
                                       "25.0 %", /* neutral share */
                                       "no apples | <here>",
                                       "3 apples",
                                       fitted,
                                       "64..256 (6 of 8 machines)",
                                       "- (0 of 8 machines)",
                                       "1 row never fitted, 1 of them outside their tolerance.\n",
                                       band,
                                       "wafer.stage_latency = 2 ms: fitted on something."};
    const char *text = case_capture(1, print);
    for (size_t i = 0; i < sizeof says / sizeof *says; i++)
        check_says(text, says[i]);
}

/* Times of 128 and 200 h for 100 h: errors of 21.875 and 50 %. */
static void print_two_fitted(void)
{
    struct validation_prediction row[2];
    const struct validation_table v = make(row);
    row[1] = row[0];
    row[1].predicted = 200;
    T_OK(report_validation_print(&v));
}

TEST(validation, the_median_of_two_is_their_mean)
{
    check_says(case_capture(1, print_two_fitted), "median 35.9 %, mean 35.9 %, worst 50.0 %");
}

TEST(validation, files_hold_the_same)
{
    struct validation_prediction row[2];
    const struct validation_table v = make(row);
    T_OK(report_validation_write(case_path("validation"), &v));
    const char *csv = case_read(case_path("validation/validation.csv"));
    check_says(csv, "id,quantity,unit,published,predicted,speed_error_percent,accepted_low,"
                    "accepted_high,band_low,band_high,kind,site,family,source,holds,");
    check_says(csv, "\n\"a,1\",time,h,100.0,128.0,-21.875,90.0,130.0,64.0,256.0,calibration,here,"
                    "few,\"a \"\"paper\"\"\",yes,80.0,"
                    "25.0,0.2,0.25,2,8,4,2,1000,500,200,50,40,100,10,50,30,15,5,0.02\n");
    check_says(csv, "\nb,boundary,s,0.0,0.2,,0.0,0.1,,,validation,,,s,no,");
    CU_ASSERT_PTR_NULL(strstr(csv, "apples"));
    const char *markdown = case_read(case_path("validation/validation.md"));
    check_says(markdown, "| a,1 | h | 100 | 128 | -21.9 % | yes | 10 % | 64..256 (6 of 8 machines) "
                         "| fitted | 80 | +25.0 % |");
    check_says(markdown, "    wsc validate\n");
    check_says(markdown, "| c | 3 apples | no apples \\| &lt;here> |");
    check_says(markdown, "![predicted over published](validation.png)");
    CU_ASSERT(!access(case_path("validation/validation.png"), R_OK));
    CU_ASSERT(!access(case_path("validation/validation.svg"), R_OK));
    T_EQ(wsc_mem_in_use(WSC_MEM_REPORT), 0);
}

/* One column for each of as many calibrated constants as a fit may have. */
static void print_all_calibrated(void)
{
    struct validation_prediction row[2];
    struct validation_table v = make(row);
    for (int k = 0; k < VALIDATION_MAX_CALIBRATED; k++) {
        v.calibrated[k] = &latency;
        row[0].sensitivity[k] = row[1].sensitivity[k] = 0.01 * (k + 1);
    }
    v.n_calibrated = VALIDATION_MAX_CALIBRATED;
    T_OK(report_validation_print(&v));
    T_OK(report_validation_write(case_path("calibrated"), &v));
}

TEST(validation, each_calibrated_constant_has_a_column)
{
    check_says(case_capture(1, print_all_calibrated), "+6.0 %");
    const char *markdown = case_read(case_path("calibrated/validation.md"));
    check_says(markdown, "|---|---|---:|---:|---:|---|---:|---:|---|---:|---:"
                         "|---:|---:|---:|---:|---:|---:|\n");
    check_says(markdown, "| +1.0 % | +2.0 % | +3.0 % | +4.0 % | +5.0 % | +6.0 % |\n");
}

static void print_near_zero(void)
{
    const struct validation_product product = {
        .id = "p", .unit = "cycles", .value = 21218, .predicted = 21213.7, .tolerance = 0.02};
    struct validation_prediction row[2];
    const struct validation_table v = make(row);
    row[0].predicted = 100.01;
    row[0].sensitivity[0] = -0.0001;
    row[1].step_time_ps = 1000000;
    row[1].jitter_ps = -10;
    T_OK(report_validation_print(&v));
    T_OK(report_validation_write(case_path("zero"), &v));
    T_OK(report_products_print(&product, 1));
    T_OK(report_products_write(case_path("zero"), &product, 1));
}

/* Errors, sensitivities and parts of a step that show as zero have no minus. */
TEST(validation, zero_has_no_minus)
{
    static const char *const file[] = {"zero/validation.md", "zero/products.md"};
    for (int i = -1; i < 2; i++) {
        const char *text = i < 0 ? case_capture(1, print_near_zero) : case_read(case_path(file[i]));
        check_says(text, "+0.0 %");
        CU_ASSERT_PTR_NULL(strstr(text, "-0.0 %"));
    }
}

TEST(validation, what_is_not_finite_is_not_written)
{
    struct validation_prediction row[2];
    const struct validation_table v = make(row);
    row[1].neutral = NAN;
    T_EQ(report_validation_write(case_path("bad_validation"), &v), WSC_NUMERIC);
    check_says(wsc_err_message(), "b: predicted 0.2, neutral nan");
    CU_ASSERT(access(case_path("bad_validation/validation.csv"), R_OK));
}

/* ---- a fit ----------------------------------------------------------------------------------- */

static struct validation_fit make_fit(void)
{
    static const struct validation_figure *const point[] = {&ref[0]};
    static const double residual[] = {0.0487901641694320}; /* ln 1.05 */
    return (struct validation_fit){
        .constant = {{"wafer.stage_latency", 3, "3 ms", "100 us", "2800 us", "3200 us"},
                     {"memoryx.update_rate", 1, "6e9 params/s", "", "", ""},
                     {"wafer.kernel_factor", 1, "1.02", "0.01", "1", "1.04"},
                     {"wafer.clock", 2, "999 MHz", "30 MHz", "939 MHz", "1059 MHz"}},
        .machine = {{"cs2", false}, {"cs3", false}},
        .n_machines = 2,
        .correlation = {{1, 0, -0.5}, {0, 1, 0}, {-0.5, 0, 1}},
        .n_constants = 4,
        .point = point,
        .residual = residual,
        .n_points = 1,
        .sigma = 0.03,
        .threshold = 0.1,
        .objective = 1,
        .objective_before = 2,
        .n_evaluations = 7};
}

static void print_protocol(void)
{
    struct validation_left_out row[] = {
        {&ref[0], 0.0487901641694320, 0.0953101798043249, NAN}}; /* ln 1.05, ln 1.1 */
    const struct validation_protocol p = {
        .left_out = row,
        .n_left_out = 1,
        .rms_fitted = 0.05,
        .rms_without_row = 0.06,
        .rms_without_family = 0.075,
        .freedom = {{.n_free = 0, .fitted = 0.3, .never_fitted = NAN, .worst_never_fitted = NAN},
                    {.n_free = 1,
                     .value = {"3 ms"},
                     .fitted = 0.05,
                     .never_fitted = 0.2,
                     .worst_never_fitted = 0.9}},
        .n_freedoms = 2};
    T_OK(report_protocol_print(&p));
}

static void print_protocol_of_one_row(void)
{
    struct validation_left_out row[] = {{&ref[0], 0.05, NAN, NAN}};
    const struct validation_protocol p = {.left_out = row,
                                          .n_left_out = 1,
                                          .rms_fitted = 0.05,
                                          .rms_without_row = NAN,
                                          .rms_without_family = NAN};
    T_OK(report_protocol_print(&p));
}

TEST(validation, a_protocol_of_one_row_has_no_error_without_it)
{
    const char *text = case_capture(1, print_protocol_of_one_row);
    check_says(text, "root mean square 5.0 % fitted\n");
    CU_ASSERT_PTR_NULL(strstr(text, "nan"));
}

TEST(validation, a_protocol_says_what_rows_are_worth_that_were_left_out)
{
    const char *text = case_capture(1, print_protocol);
    check_says(text, "a,1");
    check_says(text, "-4.8 %"); /* a time 5 % too long */
    check_says(text, "-9.1 %");
    check_says(text, "1.95"); /* ln 1.1 / ln 1.05 */
    check_says(text, "6.0 % without the row (1.20 times), 7.5 % without its family (1.50 times)");
    check_says(text, "all neutral");
    check_says(text, "wafer.stage_latency = 3 ms");
    check_says(text, "90.0 %");
    check_says(text, "30.0 %             -                   -  all neutral");
}

static void print_fit(void)
{
    const struct validation_fit c = make_fit();
    T_OK(report_calibration_print(&c));
}

TEST(validation, a_fit_tells_how_sure_it_is)
{
    const char *text = case_capture(1, print_fit);
    check_says(text, "105 h");
    check_says(text, "-4.8 %");
    check_says(text, "100 us");
    check_says(text, "the points do not tell this constant");
    check_says(text, "correlation of wafer.stage_latency and wafer.kernel_factor: -0.50");
    check_says(text, "cs2, cs3");
}

/* A machine without a constant of the command line. */
static const struct hw_machine as_in_files = {.n_sources = 0};

enum { BASE_SIZE = 640 };

/* The full name of a shipped machine file. */
static const char *base_of(const char *name, char base[BASE_SIZE])
{
    char cwd[512];
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(cwd, sizeof cwd));
    (void)snprintf(base, BASE_SIZE, "%s/configs/cluster/%s.yaml", cwd, name);
    return base;
}

/* The file is a machine: read back it has the constants, of kind calibrated, with their sources. */
TEST(validation, a_fit_becomes_a_cluster_file)
{
    const struct validation_fit c = make_fit();
    struct hw_machine cluster;
    char *text = NULL, base[BASE_SIZE];
    size_t n = 0;
    int seen = 0;
    T_OK(report_calibration_write(case_path("fitted.yaml"), base_of("cs2", base), &c, 0,
                                  &as_in_files));
    T_OK(hw_machine_read(case_path("fitted.yaml"), &text, &n));
    T_OK(hw_machine_parse(&cluster, "fitted.yaml", text, n, NULL, 0));
    T_EQ(cluster.wafer.stage_latency_ps, 3000000000LL);
    T_NEAR(cluster.wafer.kernel_factor, 1.02, 1e-15);
    T_EQ(cluster.memoryx.update_rate_params_per_s, 6000000000LL);
    for (int i = 0; i < cluster.n_sources; i++) {
        const struct hw_source *s = &cluster.source[i];
        if (!strstr(s->source, "on 1 published points (a,1)")) continue; /* of the base */
        seen++;
        CU_ASSERT_STRING_EQUAL(s->kind, "calibrated");
        if (!strcmp(s->key, "wafer.stage_latency")) T_NEAR(s->low, 2.8e9, 0);
    }
    T_EQ(seen, 3);
    T_EQ(cluster.wafer.clock_hz, 1100000000);
    hw_machine_fini(&cluster);
    wsc_free(text);
}

/* The file of the second machine has what was fitted on it alone. */
TEST(validation, a_constant_of_one_machine_is_in_its_file_alone)
{
    const struct validation_fit c = make_fit();
    char *text = NULL, base[BASE_SIZE];
    size_t n = 0;
    T_OK(report_calibration_write(case_path("fitted_cs3.yaml"), base_of("cs3", base), &c, 1,
                                  &as_in_files));
    T_OK(conf_read_file(case_path("fitted_cs3.yaml"), &text, &n));
    check_says(text, "/configs/cluster/cs3.yaml\"");
    check_says(text, "    stage_latency:\n        value: 3 ms\n");
    check_says(text, "    clock:\n        value: 999 MHz\n");
    CU_ASSERT_PTR_NULL(strstr(text, "kernel_factor"));
    CU_ASSERT_PTR_NULL(strstr(text, "memoryx:"));
    wsc_free(text);
}

/* A fit of as many constants as there may be; the errors of any two have the correlation @p r. */
static struct validation_fit fit_of_all(double r)
{
    struct validation_fit c = make_fit();
    const struct validation_fitted all[VALIDATION_MAX_CALIBRATED] = {
        {"wafer.stage_latency", 1, "3 ms", "100 us", "2800 us", "3200 us", ""},
        {"wafer.arrival_cycles", 1, "9", "1", "7", "11", ""},
        {"wafer.simd_fmachs", 1, "2", "0.1", "1.8", "2.2", ""},
        {"wafer.clock", 1, "999 MHz", "30 MHz", "939 MHz", "1059 MHz", ""},
        {"memoryx.update_rate", 1, "6e9 params/s", "1e9 params/s", "4e9 params/s", "8e9 params/s",
         ""},
        {"wafer.kernel_factor", 1, "1.02", "0.01", "1", "1.04", ""}};
    memcpy(c.constant, all, sizeof all);
    c.n_constants = VALIDATION_MAX_CALIBRATED;
    for (int i = 0; i < c.n_constants; i++)
        for (int k = 0; k < c.n_constants; k++)
            c.correlation[i][k] = i == k ? 1 : r;
    return c;
}

/* Correlations as close to 1 as a fit may find them come back with all digits. */
TEST(validation, a_fit_of_all_constants_becomes_a_cluster_file)
{
    const double r = 1 - 1e-8;
    const struct validation_fit c = fit_of_all(r);
    struct hw_machine cluster;
    char *text = NULL, base[BASE_SIZE];
    size_t n = 0;
    T_OK(
        report_calibration_write(case_path("all.yaml"), base_of("cs2", base), &c, 0, &as_in_files));
    T_OK(hw_machine_read(case_path("all.yaml"), &text, &n));
    T_OK(hw_machine_parse(&cluster, "all.yaml", text, n, NULL, 0));
    for (int i = 0; i < c.n_constants; i++)
        for (int k = 0; k < c.n_constants; k++)
            T_NEAR(hw_correlation(&cluster, c.constant[i].path, c.constant[k].path), i == k ? 1 : r,
                   0);
    T_OK(validation_check_correlations(&cluster));
    hw_machine_fini(&cluster);
    wsc_free(text);
}

/* Of three errors any two cannot have a correlation below -1/2. */
TEST(validation, a_file_that_would_be_refused_is_not_written)
{
    struct validation_fit c = fit_of_all(-0.6);
    char base[BASE_SIZE];
    c.n_constants = 3;
    T_EQ(report_calibration_write(case_path("refused.yaml"), base_of("cs2", base), &c, 0,
                                  &as_in_files),
         WSC_CONFIG);
    check_says(wsc_err_message(), "its correlations contradict each other; hint: --fit also");
    CU_ASSERT(access(case_path("refused.yaml"), F_OK));
}
