// SPDX-License-Identifier: Apache-2.0
/* Every file of tests/golden/errors is rejected with exactly the text that stands beside it.  With
 * WSC_GOLDEN_UPDATE in the environment the texts are written again instead; read the difference. */
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/hw.h>
#include <wsc/mem.h>
#include <wsc/zoo.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/golden/errors"
enum { MAX_SETS = 8, LEAST_CASES = 25 };

static enum wsc_err parse_params(const char *name, const char *bytes, size_t n,
                                 const struct conf_set *sets, int n_sets)
{
    struct zoo_params params;
    enum wsc_err rc = zoo_params_parse(&params, name, bytes, n, sets, n_sets);
    zoo_params_fini(&params);
    return rc;
}

static enum wsc_err parse_cluster(const char *name, const char *bytes, size_t n,
                                  const struct conf_set *sets, int n_sets)
{
    struct hw_machine cluster;
    enum wsc_err rc = hw_machine_parse(&cluster, name, bytes, n, sets, n_sets);
    hw_machine_fini(&cluster);
    return rc;
}

/* One --set a line, on top of the tiny params and the built-in cluster. */
static enum wsc_err parse_sets(char *lines)
{
    struct conf_set sets[MAX_SETS] = {0};
    int n_sets = 0;
    char *tiny, *rest = lines;
    size_t n;
    for (char *line = strsep(&rest, "\n"); line && *line && n_sets < MAX_SETS;
         line = strsep(&rest, "\n"))
        sets[n_sets++] = (struct conf_set){.text = line};
    TRY(conf_read_file("configs/params/tiny.yaml", &tiny, &n));
    enum wsc_err rc = parse_params("tiny.yaml", tiny, n, sets, n_sets);
    if (!rc) rc = parse_cluster(NULL, NULL, 0, sets, n_sets);
    wsc_free(tiny);
    return rc;
}

static bool ends(const char *name, const char *tail)
{
    size_t n = strlen(name), m = strlen(tail);
    return n >= m && !strcmp(name + n - m, tail);
}

static enum wsc_err parse_case(const char *name, char *bytes, size_t n)
{
    if (ends(name, ".set")) return parse_sets(bytes);
    if (ends(name, ".cluster.yaml")) return parse_cluster(name, bytes, n, NULL, 0);
    return parse_params(name, bytes, n, NULL, 0);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    if (!f) return;
    (void)fputs(text, f);
    (void)fclose(f);
}

static void check_case(const char *name)
{
    char path[512], *bytes = NULL, *expected = NULL;
    size_t n, n_expected;
    (void)snprintf(path, sizeof path, FOLDER "/%s", name);
    T_OK(conf_read_file(path, &bytes, &n));
    enum wsc_err rc = parse_case(name, bytes, n);
    CU_ASSERT_EQUAL(rc, WSC_CONFIG);
    char *message = wsc_asprintf(WSC_MEM_TEST, "%s\n", rc ? wsc_err_message() : "accepted");
    (void)snprintf(path, sizeof path, FOLDER "/%s.expected", name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(message);
    if (message && getenv("WSC_GOLDEN_UPDATE")) write_text(path, message);
    T_OK(conf_read_file(path, &expected, &n_expected));
    T_STR(message, expected);
    wsc_free(message);
    wsc_free(expected);
    wsc_free(bytes);
}

TEST(zoo_golden, errors_read_exactly_as_written)
{
    int n_cases = 0;
    int64_t before = wsc_mem_in_use(WSC_MEM_CONF);
    DIR *folder = opendir(FOLDER);
    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    if (!folder) return;
    for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
        if (!ends(e->d_name, ".yaml") && !ends(e->d_name, ".set")) continue;
        check_case(e->d_name);
        n_cases++;
    }
    (void)closedir(folder);
    CU_ASSERT(n_cases >= LEAST_CASES);
    T_EQ(wsc_mem_in_use(WSC_MEM_CONF), before);
}
