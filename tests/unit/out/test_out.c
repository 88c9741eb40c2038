// SPDX-License-Identifier: Apache-2.0
/* What other modules write with: units, tables, folders, files that appear whole. */
#include "../../support/case_files.h"
#include "../../support/test.h"

#include <wsc/file.h>
#include <wsc/mem.h>
#include <wsc/out.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TEST(out_units, three_significant_digits)
{
    static const struct {
        double value;
        const char *bare, *seconds;
    } cases[] = {{0, "0", "0 s"},
                 {1, "1.00", "1.00 s"},
                 {12345, "12.3 k", "12.3 ks"},
                 {4.5e6, "4.50 M", "4.50 Ms"},
                 {999.6, "1.00 k", "1.00 ks"},
                 {999.4, "999", "999 s"},
                 {9.996, "10.0", "10.0 s"},
                 {0.0123, "12.3 m", "12.3 ms"},
                 {-2e-6, "-2.00 u", "-2.00 us"},
                 {1e12, "1.00 T", "1.00 Ts"},
                 {1e-12, "1.00 p", "1.00 ps"}};
    char text[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        out_si(text, sizeof text, cases[i].value);
        T_STR(text, cases[i].bare);
        out_si_unit(text, sizeof text, cases[i].value, "s");
        T_STR(text, cases[i].seconds);
    }
    out_si(text, sizeof text, INFINITY);
    T_STR(text, "inf");
}

/* A unit is used from two of it on. */
TEST(out_units, durations_are_in_units_for_people)
{
    static const struct {
        double seconds;
        const char *text;
    } row[] = {
        {0.25, "0.25 s"},        {119, "119 s"},     {120, "2 min"},    {7199, "120 min"},
        {7200, "2 h"},           {172800, "2 days"}, {6e7, "694 days"}, {2 * 31557600, "2 years"},
        {INFINITY, "never ends"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[32];
        out_duration(text, sizeof text, row[i].seconds);
        T_STR(text, row[i].text);
    }
}

TEST(out_units, a_percentage_that_shows_as_zero_has_no_minus)
{
    static const struct {
        double share;
        int decimals;
        const char *percent, *change;
    } cases[] = {{0.1234, 1, "12.3 %", "+12.3 %"},      {-0.1234, 1, "-12.3 %", "-12.3 %"},
                 {-0.0004, 1, "0.0 %", "+0.0 %"},       {-0.0006, 1, "-0.1 %", "-0.1 %"},
                 {-0.0004, 2, "-0.04 %", "-0.04 %"},    {-0.004, 0, "0 %", "+0 %"},
                 {-0.000004, 3, "0.000 %", "+0.000 %"}, {-0.0, 1, "0.0 %", "+0.0 %"},
                 {-INFINITY, 1, "-inf %", "-inf %"}};
    char text[OUT_PERCENT_SIZE];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        T_STR(out_percent(text, cases[i].decimals, cases[i].share), cases[i].percent);
        T_STR(out_change(text, cases[i].decimals, cases[i].share), cases[i].change);
    }
}

static void print_table(void)
{
    static const char *const head[] = {"name", "µs"};
    struct out_table *t;
    T_OK(out_table_new(&t, "lr", head));
    out_table_cell(t, "%s", "ab");
    out_table_cell(t, "%d", 12345);
    out_table_cell(t, "longer");
    out_table_cell(t, "1");
    T_OK(out_table_print(t, stdout, 2));
    out_table_free(&t);
    CU_ASSERT_PTR_NULL(t);
}

TEST(out_table, columns_align)
{
    T_STR(case_capture(1, print_table), "  name       µs\n"
                                        "  -------------\n"
                                        "  ab      12345\n"
                                        "  longer      1\n");
}

/* Expected: Python's csv.writer of bytes.decode("utf-8", "replace"). */
TEST(out_text, csv_fields_are_quoted_and_utf8)
{
    static const struct {
        const char *text, *field;
    } row[] = {{"", ""},
               {"gpt3 13b", "gpt3 13b"},
               {"a,b", "\"a,b\""},
               {"say \"x\"", "\"say \"\"x\"\"\""},
               {"two\nlines", "\"two\nlines\""},
               {"\xC3\xA9\xF0\x9F\x98\x80", "\xC3\xA9\xF0\x9F\x98\x80"},
               {"cut\xC3", "cut\xEF\xBF\xBD"},
               {"x\xFF,", "\"x\xEF\xBF\xBD,\""}};
    for (int i = 0; i < (int)(sizeof row / sizeof *row); i++) {
        struct wsc_text t = {0};
        out_text_csv(&t, row[i].text);
        wsc_text_add(&t, "%s", "");
        CU_ASSERT_STRING_EQUAL(t.bytes, row[i].field);
        wsc_text_free(&t);
    }
}

TEST(out_file, write_replaces_and_leaves_nothing_beside)
{
    T_OK(wsc_file_mkdir(case_path("write")));
    T_OK(out_write_text(case_path("write/f"), "one"));
    T_OK(out_write_text(case_path("write/f"), "two"));
    T_STR(case_read(case_path("write/f")), "two");
    CU_ASSERT_EQUAL(out_write_text(case_path("missing/f"), "x"), WSC_IO);
    T_OK(wsc_file_mkdir(case_path("write/folder")));
    CU_ASSERT_EQUAL(out_write_text(case_path("write/folder"), "x"), WSC_IO);
    CU_ASSERT_EQUAL(remove(case_path("write/f")), 0);
    CU_ASSERT_EQUAL(rmdir(case_path("write/folder")), 0);
    CU_ASSERT_EQUAL(rmdir(case_path("write")), 0); /* fails when a temporary file is left */
}

TEST(out_file, version_names_the_program)
{
    CU_ASSERT(!strncmp(out_version(), "wsc ", 4));
    CU_ASSERT(strchr(out_version(), '(') != NULL);
}

TEST(out_file, no_memory_is_kept)
{
    T_EQ(wsc_mem_in_use(WSC_MEM_REPORT), 0);
}
