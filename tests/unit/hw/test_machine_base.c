// SPDX-License-Identifier: Apache-2.0
/* Cluster files that are based on others. */
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/hw.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file of the temporary folder; the last of a few paths at a time. */
static const char *write_file(const char *name, const char *text)
{
    static char path[4][300];
    static int turn;
    char *out = path[turn++ % 4];
    (void)snprintf(out, 300, "%s/%s", test_tmpdir(), name);
    FILE *f = fopen(out, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fputs(text, f);
    (void)fclose(f);
    return out;
}

static enum wsc_err load(struct hw_machine *c, const char *path)
{
    char *text = NULL;
    size_t n = 0;
    memset(c, 0, sizeof *c);
    enum wsc_err rc = hw_machine_read(path, &text, &n);
    if (!rc) rc = hw_machine_parse(c, path, text, n, NULL, 0);
    wsc_free(text);
    return rc;
}

/* The shipped file of the CS-2 beside the test's own. */
static void copy_cs2(void)
{
    char *bytes;
    size_t n;
    T_OK(conf_read_file("configs/cluster/cs2.yaml", &bytes, &n));
    (void)write_file("cs2.yaml", bytes);
    wsc_free(bytes);
}

static const struct hw_source *source_of(const struct hw_machine *c, const char *key)
{
    for (int i = 0; i < c->n_sources; i++)
        if (!strcmp(c->source[i].key, key)) return &c->source[i];
    return NULL;
}

TEST(hw_base, a_constant_replaces_that_of_the_base)
{
    struct hw_machine base, mine;
    copy_cs2();
    T_OK(load(&base, "configs/cluster/cs2.yaml"));
    T_OK(load(&mine, write_file("mine.yaml",
                                "schema_version: 1\nbase: cs2.yaml\nname: Mine\nwafer:\n"
                                "    clock: {value: 2 GHz, kind: assumed, source: a test}\n")));
    T_EQ(mine.wafer.clock_hz, 2000000000);
    T_EQ(mine.wafer.pe_cols, base.wafer.pe_cols);
    T_EQ(mine.memoryx.shards, base.memoryx.shards);
    T_STR(mine.name, "Mine");
    T_STR(mine.base, "cs2.yaml");
    T_STR(source_of(&mine, "wafer.clock")->kind, "assumed");
    T_STR(source_of(&mine, "wafer.clock")->source, "a test");
    T_STR(source_of(&mine, "wafer.pe_cols")->source, source_of(&base, "wafer.pe_cols")->source);
    CU_ASSERT(base.hash != mine.hash);
    hw_machine_fini(&base);
    hw_machine_fini(&mine);
}

TEST(hw_base, a_chain_takes_the_nearest)
{
    struct hw_machine c;
    copy_cs2();
    (void)write_file("middle.yaml", "schema_version: 1\nbase: cs2.yaml\nname: Middle\nwafer:\n"
                                    "    clock: {value: 2 GHz, kind: assumed, source: middle}\n"
                                    "    pe_cols: {value: 10, kind: assumed, source: middle}\n");
    T_OK(load(&c,
              write_file("far.yaml", "schema_version: 1\nbase: middle.yaml\nwafer:\n"
                                     "    clock: {value: 3 GHz, kind: assumed, source: far}\n")));
    T_EQ(c.wafer.clock_hz, 3000000000);
    T_EQ(c.wafer.pe_cols, 10);
    T_EQ(c.wafer.pe_rows, 994);
    hw_machine_fini(&c);
}

/* Two machines in one picture have two names: only a file that changes no value has that of its
 * base. */
TEST(hw_base, a_machine_without_a_name_has_that_of_its_file)
{
    static const struct {
        const char *file, *text, *name;
    } row[] = {
        {"fast.yaml", "wafer:\n    clock: {value: 2 GHz, kind: assumed, source: x}\n", "fast"},
        {"fast.v2.yaml", "wafer:\n    clock: {value: 2 GHz, kind: assumed, source: x}\n",
         "fast.v2"},
        {"lossy", "faults:\n- {kind: straggler, wafer: 0, factor: 1.5, from: 11}\n", "lossy"},
        {"mine.yaml", "name: Mine\nwafer:\n    clock: {value: 2 GHz, kind: assumed, source: x}\n",
         "Mine"},
        {"same.yaml", "", "Middle"},
        {"again.yaml", "wafer:\n    clock: {value: 3 GHz, kind: assumed, source: other}\n",
         "Middle"}};
    copy_cs2();
    (void)write_file("middle.yaml", "schema_version: 1\nbase: cs2.yaml\nname: Middle\nwafer:\n"
                                    "    clock: {value: 3 GHz, kind: assumed, source: middle}\n");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct hw_machine c;
        char text[256];
        (void)snprintf(text, sizeof text, "schema_version: 1\nbase: middle.yaml\n%s", row[i].text);
        T_OK(load(&c, write_file(row[i].file, text)));
        T_STR(c.name, row[i].name);
        hw_machine_fini(&c);
    }
    struct hw_machine c;
    T_OK(load(&c, write_file("far.yaml", "schema_version: 1\nbase: fast.yaml\n")));
    T_STR(c.name, "far"); /* its clock is not that of Middle, whose name it would have */
    hw_machine_fini(&c);
    T_EQ(wsc_mem_in_use(WSC_MEM_CONF), 0);
}

static void check_error(const char *path, const char *says)
{
    struct hw_machine c;
    int64_t before = wsc_mem_in_use(WSC_MEM_CONF);
    T_EQ(load(&c, path), WSC_CONFIG);
    if (!strstr(wsc_err_message(), says))
        (void)fprintf(stderr, "\"%s\" lacks \"%s\"\n", wsc_err_message(), says);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), says));
    hw_machine_fini(&c);
    T_EQ(wsc_mem_in_use(WSC_MEM_CONF), before);
}

TEST(hw_base, errors_name_the_file_that_has_them)
{
    copy_cs2();
    (void)write_file("bad.yaml", "schema_version: 1\nbase: cs2.yaml\nwafer:\n    clok: 1\n");
    check_error(write_file("on_bad.yaml", "schema_version: 1\nbase: bad.yaml\n"),
                "bad.yaml:4:5: wafer.clok: unknown key; hint: did you mean wafer.clock?");
    (void)write_file("torn.yaml", "schema_version: 1\nwafer: [\n");
    check_error(write_file("on_torn.yaml", "schema_version: 1\nbase: torn.yaml\n"),
                "torn.yaml:3:1");
    check_error(write_file("on_nothing.yaml", "schema_version: 1\nbase: nothing.yaml\n"),
                "on_nothing.yaml:2:7: base: ");
    check_error(write_file("part.yaml", "schema_version: 1\nbase: cs2.yaml\nwafer:\n"
                                        "    clock: {value: 2 GHz, kind: assumed}\n"),
                "part.yaml:4:12: wafer.clock: source is missing");
}

TEST(hw_base, circles_and_long_chains_are_refused)
{
    char name[32], text[64];
    (void)write_file("a.yaml", "schema_version: 1\nbase: b.yaml\n");
    (void)write_file("b.yaml", "schema_version: 1\nbase: c.yaml\n");
    (void)write_file("c.yaml", "schema_version: 1\nbase: ./a.yaml\n");
    char *path = wsc_asprintf(WSC_MEM_TEST, "%s/a.yaml", test_tmpdir());
    check_error(path, "c.yaml:2:7: base: ");
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "based on itself"));
    wsc_free(path);
    check_error(write_file("self.yaml", "schema_version: 1\nbase: self.yaml\n"), "self.yaml:2:7");
    for (int i = 0; i < 12; i++) {
        (void)snprintf(name, sizeof name, "long%d.yaml", i);
        (void)snprintf(text, sizeof text, "schema_version: 1\nbase: long%d.yaml\n", i + 1);
        (void)write_file(name, text);
    }
    path = wsc_asprintf(WSC_MEM_TEST, "%s/long0.yaml", test_tmpdir());
    check_error(path, "more than 8 files");
    wsc_free(path);
}

/* What travels to other ranks: one text, which may have come damaged. */
TEST(hw_base, a_damaged_text_is_an_error)
{
    char *text;
    size_t n;
    T_OK(hw_machine_read("configs/cluster/andromeda.yaml", &text, &n));
    CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(text, "configs/cluster/cs2.yaml"));
    n = (size_t)(strstr(text, "\n    chunks_in_flight:") -
                 text); /* the last key that is required */
    for (size_t cut = 0; cut < n; cut += n / 97 + 1) {
        struct hw_machine c;
        char *copy = wsc_alloc(WSC_MEM_TEST, cut + 1, 1);
        memcpy(copy, text, cut);
        T_EQ(hw_machine_parse(&c, "cut", copy, cut, NULL, 0), WSC_CONFIG);
        hw_machine_fini(&c);
        wsc_free(copy);
    }
    wsc_free(text);
}

TEST(hw_base, a_base_needs_the_file_system)
{
    struct hw_machine c;
    static const char text[] = "schema_version: 1\nbase: cs2.yaml\n";
    T_EQ(hw_machine_parse(&c, "x.yaml", text, sizeof text - 1, NULL, 0), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "x.yaml:2:7: base: "));
    hw_machine_fini(&c);
    CU_ASSERT(hw_is_machine_file(text, sizeof text - 1));
}

static void check_sources(const struct hw_machine *c)
{
    int calibrated = 0;
    for (int s = 0; s < c->n_sources; s++) {
        CU_ASSERT(c->source[s].source && strlen(c->source[s].source) > 10);
        calibrated += !strcmp(c->source[s].kind, "calibrated");
    }
    CU_ASSERT(calibrated <= 3);
}

/* Published sizes of the shipped machines. */
static const struct machine {
    const char *file;
    int64_t systems, cols, rows, hop;
    double fmachs;
} machines[] = {
    {"cs1", 0, 602, 595, 1, 1.67},           {"cs2", 0, 750, 994, 1, 1.67},
    {"cs3", 0, 755, 1170, 2, 2.92},          {"andromeda", 16, 750, 994, 1, 1.67},
    {"cg1", 64, 750, 994, 1, 1.67},          {"cg3", 64, 755, 1170, 2, 2.92},
    {"cs2_192", 192, 750, 994, 1, 1.67},     {"cs2_skipping", 0, 750, 994, 1, 1.75},
    {"cs3_skipping", 0, 755, 1170, 2, 2.92}, {"alcf_cs3", 4, 755, 1170, 2, 2.92},
};

static void check_machine(const struct machine *m)
{
    struct hw_machine c;
    char path[64];
    (void)snprintf(path, sizeof path, "configs/cluster/%s.yaml", m->file);
    T_OK(load(&c, path));
    T_EQ(c.systems, m->systems);
    T_EQ(c.wafer.pe_cols * 10000 + c.wafer.pe_rows, m->cols * 10000 + m->rows);
    T_EQ(c.wafer.hop_cycles, m->hop);
    T_NEAR(c.wafer.simd_fmachs, m->fmachs, 0);
    check_sources(&c);
    hw_machine_fini(&c);
}

TEST(hw_base, the_shipped_machines)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        check_machine(&machines[i]);
}
