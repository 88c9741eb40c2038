// SPDX-License-Identifier: Apache-2.0
/* Damaged files: whatever the bytes, the parse ends, says why, and gives its memory back. */
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/hw.h>
#include <wsc/mem.h>
#include <wsc/rng.h>
#include <wsc/zoo.h>

#include <stdio.h>
#include <string.h>

enum { N_MUTATIONS = 2400, N_FILES = 7, MAX_DAMAGE = 4 };

static uint64_t draw(uint64_t *i, uint64_t below)
{
    return wsc_rng_u64(11, wsc_rng_stream(WSC_RNG_TEST, 1), (*i)++) % below;
}

/* Bytes that mean something to YAML are likelier than others to break a reader. */
static char draw_byte(uint64_t *i)
{
    static const char special[] = "{}[]:,-&*!|>'\"%@`#?\n\t <~.0eE_\\";
    if (draw(i, 4)) return special[draw(i, sizeof special - 1)];
    return (char)draw(i, 256);
}

/* Copy the line around @p at again. */
static size_t duplicate_line(char *text, size_t n, size_t at)
{
    size_t first = at, end = at;
    while (first && text[first - 1] != '\n')
        first--;
    while (end < n && text[end] != '\n')
        end++;
    end += end < n;
    memmove(text + end + (end - first), text + end, n - end);
    memcpy(text + end, text + first, end - first);
    return n + (end - first);
}

static size_t damage(char *text, size_t n, uint64_t *i)
{
    size_t at = n ? draw(i, n) : 0;
    if (!n) return n;
    switch (draw(i, 8)) {
    case 0:
        return at;
    case 1:
    case 2:
        return duplicate_line(text, n, at);
    case 3:
        memmove(text + at, text + at + 1, n - at - 1);
        return n - 1;
    default:
        text[at] = draw_byte(i);
        return n;
    }
}

static void parse_one(const char *text, size_t n, bool cluster, int *accepted)
{
    enum wsc_err rc;
    struct zoo_params params;
    struct hw_machine machine;
    if (cluster) {
        rc = hw_machine_parse(&machine, "m", text, n, NULL, 0);
        hw_machine_fini(&machine);
    } else {
        rc = zoo_params_parse(&params, "m", text, n, NULL, 0);
        zoo_params_fini(&params);
    }
    CU_ASSERT(rc == WSC_OK || rc == WSC_CONFIG);
    if (rc) CU_ASSERT(!strncmp(wsc_err_message(), "m:", 2));
    *accepted += rc == WSC_OK;
}

static void mutate_file(const char *name, uint64_t *i, int *accepted)
{
    char *bytes;
    size_t n;
    T_OK(conf_read_file(name, &bytes, &n));
    char *text = wsc_alloc(WSC_MEM_TEST, n * (2 << MAX_DAMAGE), 1);
    for (int m = 0; text && m < N_MUTATIONS / N_FILES; m++) {
        size_t length = n;
        memcpy(text, bytes, n);
        for (uint64_t k = 1 + draw(i, MAX_DAMAGE); k; k--)
            length = damage(text, length, i);
        parse_one(text, length, strstr(name, "cluster") != NULL, accepted);
    }
    wsc_free(text);
    wsc_free(bytes);
}

TEST(zoo_mutations, never_crash_hang_or_leak)
{
    int64_t before = wsc_mem_in_use(WSC_MEM_CONF);
    uint64_t i = 0;
    int accepted = 0;
    mutate_file("configs/params/tiny.yaml", &i, &accepted);
    mutate_file("configs/params/gpt3_13b.yaml", &i, &accepted);
    mutate_file("tests/golden/params/trainer.yaml", &i, &accepted);
    mutate_file("tests/golden/params/old_runconfig.yaml", &i, &accepted);
    mutate_file("tests/golden/params/families.yaml", &i, &accepted);
    mutate_file("tests/golden/params/giga_gpt.yaml", &i, &accepted);
    mutate_file("configs/cluster/cs2.yaml", &i, &accepted);
    T_EQ(wsc_mem_in_use(WSC_MEM_CONF), before);
    /* Both outcomes must occur, else the damage proves nothing. */
    CU_ASSERT(accepted > N_MUTATIONS / 50 && accepted < N_MUTATIONS);
}

/* Files made to be slow: many keys, many unknown keys, many aliases, deep flow collections. */
static void parse_repeated(const char *head, const char *piece, int n, const char *tail)
{
    size_t size = strlen(head) + (size_t)n * (strlen(piece) + 12) + strlen(tail) + 1;
    int accepted = 0, before = (int)strcspn(piece, "#"); /* a # is a running number */
    FILE *f = NULL;
    char *text = wsc_alloc(WSC_MEM_TEST, size, 1);
    if (text) f = fmemopen(text, size, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    if (!f) return;
    (void)fputs(head, f);
    for (int i = 0; i < n; i++) {
        (void)fprintf(f, "%.*s", before, piece);
        if (piece[before]) (void)fprintf(f, "%d%s", i, piece + before + 1);
    }
    (void)fputs(tail, f);
    (void)fclose(f);
    parse_one(text, strlen(text), false, &accepted);
    T_EQ(accepted, 0);
    wsc_free(text);
}

TEST(zoo_mutations, hostile_files_end_quickly)
{
    int64_t before = wsc_mem_in_use(WSC_MEM_CONF);
    parse_repeated("", "k#: 1\n", 20000, "");
    parse_repeated("", "- &a# x\n", 20000, "");
    parse_repeated("x: &x 1\ny: [", "*x,", 100000, "]");
    parse_repeated("x: ", "[", 20000, "");
    parse_repeated("x: ", "{a: ", 20000, "");
    parse_repeated("x: [", "{a: 1, b: 2},", 20000, "]");
    parse_repeated("x: \"", "y", 200000, "");
    parse_repeated("", "? ", 5000, "");
    parse_repeated("x: 1e", "9", 10000, "");
    parse_repeated("runconfig:\n  max_steps: ", "9", 10000, "");
    T_EQ(wsc_mem_in_use(WSC_MEM_CONF), before);
}
