// SPDX-License-Identifier: Apache-2.0
/* Fields of tables as the csv module of Python reads them (its output, version 3.11), with quotes
 * in places where RFC 4180 has none; columns of the same name. */
#include "../../../src/data/table_file.h"
#include "../../support/case_files.h"
#include "../../support/test.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 3 };

static const struct {
    const char *record, *field[COLUMNS];
} rows[] = {
    {"5\" by 3\" disk,\"x \"\"y\"\" z\",1\n", {"5\" by 3\" disk", "x \"y\" z", "1"}},
    {"\"p\"q\"r\",s\"t,u\"\"\r\n", {"pq\"r\"", "s\"t", "u\"\""}},
    {"\"two\nlines, one field\",,\"\"\n", {"two\nlines, one field", "", ""}},
    {" \"a\",\"b\" ,c d\n", {" \"a\"", "b ", "c d"}},
    {"\"\"\"\",\"\"\"x\"\"\",\"no newline\"", {"\"", "\"x\"", "no newline"}},
};
enum { N = sizeof rows / sizeof *rows };

static struct data_table *open_text(const char *text, bool tabs)
{
    struct data_table *t = NULL;
    const char *path = case_path("table.csv");
    case_write(path, text);
    CU_ASSERT_FATAL(!data_table_open(&t, path, tabs));
    return t;
}

TEST(data_tables, fields_are_those_of_another_reader)
{
    char text[512] = "\xEF\xBB\xBF"
                     "a,b,c\n\n";
    for (int i = 0; i < N; i++) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s", rows[i].record);
    }
    struct data_table *t = open_text(text, false);
    T_EQ(data_table_n(t), N);
    for (int i = 0; i < N; i++)
        for (int column = 0; column < COLUMNS; column++) {
            const char *field = NULL;
            int64_t n = 0;
            CU_ASSERT_FATAL(!data_table_field(t, i, column, &field, &n));
            T_EQ(n, (int64_t)strlen(rows[i].field[column]));
            CU_ASSERT(!memcmp(field, rows[i].field[column], (size_t)n));
        }
    data_table_close(&t);
}

TEST(data_tables, quotes_of_a_table_with_tabs_are_bytes)
{
    const char *field = NULL;
    int64_t n = 0;
    struct data_table *t = open_text("a\tb\n\"x\t5\" y\n", true);
    T_EQ(data_table_n(t), 1);
    CU_ASSERT(!data_table_field(t, 0, 0, &field, &n) && n == 2 && !memcmp(field, "\"x", 2));
    CU_ASSERT(!data_table_field(t, 0, 1, &field, &n) && n == 4 && !memcmp(field, "5\" y", 4));
    data_table_close(&t);
}

TEST(data_tables, two_columns_of_one_name_are_an_error)
{
    int column = 0;
    struct data_table *t = open_text("a,b,a,c\n1,2,3,4\n", false);
    CU_ASSERT(!data_table_column(t, "c", &column) && column == 3);
    CU_ASSERT(!data_table_column(t, "d", &column) && column == -1);
    T_EQ(data_table_column(t, "a", &column), WSC_FORMAT);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(wsc_err_message(), "table.csv:1: column \"a\" stands there twice"));
    data_table_close(&t);
}
