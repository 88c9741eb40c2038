// SPDX-License-Identifier: Apache-2.0
/* Pairs of sequences from lines of tokens: what span corruption leaves out comes back from the
 * target, sentinels count down, and a sample is a function of seed and number alone. */
#include "../../../src/data/encoder_rows.h"
#include "../../../src/data/pair_texts.h"
#include "../../support/test.h"

#include <wsc/data.h>
#include <wsc/text.h>

#include <stdio.h>
#include <string.h>

enum { SOURCE = 40, TARGET = 20, T = SOURCE + TARGET, WORDS = 60, EXTRA = 16 };

static const char *path_of(const char *name)
{
    static char path[4][200];
    static int next;
    char *at = path[next++ % 4];
    (void)snprintf(at, sizeof path[0], "%s/pairs_%s", test_tmpdir(), name);
    return at;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(path_of(name), "w");
    CU_ASSERT_FATAL(f && fputs(text, f) >= 0 && !fclose(f));
}

/* A vocabulary w4, w5, ..., and lines of its words. */
static void make_files(void)
{
    static char text[1 << 16];
    size_t n;
    n = (size_t)snprintf(text, sizeof text, "<pad>\n</s>\n<unk>\n<s>\n");
    for (int i = 4; i < WORDS; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "w%d\n", i);
    put("vocab", text);
    n = 0;
    for (int line = 0; line < 5; line++) {
        for (int i = 0; i < 30 * line; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "w%d ", 4 + (7 * i + line) % 50);
        n += (size_t)snprintf(text + n, sizeof text - n, "\n");
    }
    put("lines", text);
}

static void open_rules(struct data_vocabulary *v, struct data_pair_rules *r)
{
    make_files();
    CU_ASSERT_FATAL(test_ok(data_vocabulary_open(v, path_of("vocab"), false)));
    T_EQ(data_vocabulary_n(v), WORDS);
    *r = (struct data_pair_rules){
        .words = v, .T_source = SOURCE, .T_target = TARGET, .extra_ids = EXTRA, .seed = 5};
}

static void read_rows(struct data_pair_texts *t, int64_t i, uint64_t draw, int32_t *rows)
{
    memset(rows, 0, (size_t)(DATA_ENCODER_ROWS * T) * sizeof *rows);
    data_pair_texts_read(t, i, draw, rows);
}

/* The piece again from source and target; returns its tokens, and how many of them were left out.
 */
static int put_together(const int32_t *rows, int32_t *piece, int *left_out)
{
    const int32_t *ids = rows, *target = rows + (int64_t)DATA_ROW_LABELS * T + SOURCE;
    const int32_t *attends = rows + (int64_t)DATA_ROW_ATTENDS * T;
    int n = 0, at = 0;
    int32_t sentinel = WORDS + EXTRA - 1;
    *left_out = 0;
    /* the target begins with the sentinel of the tokens that are there */
    for (int i = 0; i < SOURCE && attends[i]; i++) {
        if (ids[i] < WORDS) {
            piece[n++] = ids[i];
            continue;
        }
        T_EQ(ids[i], sentinel);
        T_EQ(target[at], sentinel);
        sentinel--;
        for (at++; target[at] < WORDS && target[at] != 1; at++, ++*left_out)
            piece[n++] = target[at];
    }
    return n;
}

TEST(data, spans_that_are_left_out_come_back_from_the_target)
{
    struct data_vocabulary v;
    struct data_pair_rules r;
    struct data_pair_texts *t = NULL;
    static int32_t rows[DATA_ENCODER_ROWS * T], again[DATA_ENCODER_ROWS * T], piece[4 * T];
    int32_t whole[4 * T];
    open_rules(&v, &r);
    CU_ASSERT_FATAL(test_ok(data_pair_texts_open(&t, path_of("lines"), NULL, &r)));
    /* Lines of 0, 30, 60, 90, 120 tokens in pieces of 43. */
    T_EQ(data_pair_texts_n(t), 1 + 2 + 3 + 3);
    struct data_lines lines;
    CU_ASSERT_FATAL(test_ok(data_lines_open(&lines, path_of("lines"))));
    for (int draw = 0; draw < 50; draw++) {
        int left_out;
        read_rows(t, 1, (uint64_t)draw, rows);
        const int n = put_together(rows, piece, &left_out);
        T_EQ(n, data_lines_ids(&lines, &v, 2, 0, 43, whole));
        CU_ASSERT(!memcmp(piece, whole, (size_t)n * sizeof *piece));
        T_EQ(left_out, 6); /* 15 % of 43 */
        read_rows(t, 1, (uint64_t)draw, again);
        CU_ASSERT(!memcmp(rows, again, sizeof rows));
        read_rows(t, 1, (uint64_t)draw + 1000, again);
        CU_ASSERT(memcmp(rows, again, sizeof rows) != 0);
    }
    data_lines_close(&lines);
    data_pair_texts_close(&t);
    r.T_target = 8;
    CU_ASSERT(data_pair_texts_open(&t, path_of("lines"), NULL, &r) == WSC_CONFIG && !t);
    data_vocabulary_close(&v);
}

/* A sample has at least one span: with sources of 3 to 9 tokens, a target of one token between a
 * sentinel and the end. */
TEST(data, targets_of_the_shortest_sources_need_three_tokens)
{
    struct data_vocabulary v;
    struct data_pair_rules r;
    struct data_pair_texts *t = NULL;
    static int32_t rows[DATA_ENCODER_ROWS * T];
    open_rules(&v, &r);
    T_EQ(data_span_sentinels(8), 1);
    T_EQ(data_span_sentinels(40), 2);
    T_EQ(data_span_sentinels(512), 28);
    r.T_source = 8;
    r.T_target = 2;
    CU_ASSERT(data_pair_texts_open(&t, path_of("lines"), NULL, &r) == WSC_CONFIG && !t);
    CU_ASSERT(wsc_ends_with(wsc_err_message(), "need 3"));
    r.T_target = 3;
    CU_ASSERT_FATAL(test_ok(data_pair_texts_open(&t, path_of("lines"), NULL, &r)));
    for (int i = 0; i < data_pair_texts_n(t); i++) {
        read_rows(t, i, (uint64_t)i, rows);
        T_EQ(rows[(int64_t)DATA_ROW_LABELS * 11 + 10], v.eos);
        T_EQ(rows[(int64_t)DATA_ROW_MASK * 11], 0);
    }
    data_pair_texts_close(&t);
    data_vocabulary_close(&v);
}

TEST(data, the_decoder_sees_the_labels_one_place_later)
{
    struct data_vocabulary v;
    struct data_pair_rules r;
    struct data_pair_texts *t = NULL;
    static int32_t rows[DATA_ENCODER_ROWS * T];
    open_rules(&v, &r);
    put("targets", "w4\nw5 w6 nowhere\nw7\nw8\n\n");
    CU_ASSERT_FATAL(test_ok(data_pair_texts_open(&t, path_of("lines"), path_of("targets"), &r)));
    T_EQ(data_pair_texts_n(t), 1); /* line 0 is empty, lines 2 and 3 are too long */
    T_EQ(data_pair_texts_lines(t), 5);
    T_EQ(data_pair_texts_left_out(t), 4);
    read_rows(t, 0, 0, rows);
    const int32_t *ids = rows + SOURCE, *labels = rows + (int64_t)DATA_ROW_LABELS * T + SOURCE,
                  *mask = rows + (int64_t)DATA_ROW_MASK * T + SOURCE;
    const int32_t in[] = {3, 5, 6, 2, 0}, out[] = {5, 6, 2, 1, 0}, counts[] = {1, 1, 1, 1, 0};
    for (int i = 0; i < 5; i++) {
        T_EQ(ids[i], in[i]);
        T_EQ(labels[i], out[i]);
        T_EQ(mask[i], counts[i]);
    }
    T_EQ(rows[(int64_t)DATA_ROW_ATTENDS * T + 29], 1);
    T_EQ(rows[(int64_t)DATA_ROW_ATTENDS * T + 30], 0);
    data_pair_texts_close(&t);
    data_vocabulary_close(&v);
}
