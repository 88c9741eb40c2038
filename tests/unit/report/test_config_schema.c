// SPDX-License-Identifier: Apache-2.0
/* Every form of a value in the key tables has a schema, and every key of params and cluster files
 * is in the document.  What the schemas accept: tests/program/test_params_files.c. */
#include "../../support/test.h"

#include <wsc/hw.h>
#include <wsc/mem.h>
#include <wsc/report.h>
#include <wsc/zoo.h>

#include <stdio.h>
#include <string.h>

/* The last part of each path of @p table is a member of some object of the document. */
static void check_names(const char *text, const struct conf_table *table)
{
    int n = 0;
    for (int i = 0; i < table->n; i++) {
        const char *path = table->key[i].path, *dot = strrchr(path, '.');
        char member[CONF_MAX_PATH + 8];
        if (strchr(path, '*')) continue;
        (void)snprintf(member, sizeof member, "\"%s\": {", dot ? dot + 1 : path);
        if (!strstr(text, member)) (void)fprintf(stderr, "no member %s\n", path);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, member));
        n++;
    }
    CU_ASSERT(n > 50);
}

TEST(config_schema, every_key_has_a_schema)
{
    char *text = NULL;
    T_OK(report_config_schema(REPORT_PARAMS_FILE, &text));
    check_names(text, zoo_params_table());
    check_names(text, zoo_trainer_table());
    wsc_free(text);
    T_OK(report_config_schema(REPORT_CLUSTER_FILE, &text));
    check_names(text, hw_machine_table());
    wsc_free(text);
}

/* A file of gigaGPT has none of the sections of the table of keys. */
TEST(config_schema, a_file_of_gigagpt_has_no_section)
{
    const struct conf_table *table = zoo_params_table();
    char *text = NULL;
    T_OK(report_config_schema(REPORT_PARAMS_FILE, &text));
    const char *begin = strstr(text, "\"not\""), *end = begin ? strstr(begin, "\"then\"") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    if (!begin || !end) return;
    for (int i = 0; i < table->n; i++) {
        const char *path = table->key[i].path;
        char section[CONF_MAX_PATH];
        if (!strchr(path, '.')) continue;
        (void)snprintf(section, sizeof section, "\"%.*s\"", (int)strcspn(path, "."), path);
        const char *at = strstr(begin, section);
        if (!at || at > end) (void)fprintf(stderr, "no section %s\n", section);
        CU_ASSERT(at && at < end);
    }
    wsc_free(text);
}
