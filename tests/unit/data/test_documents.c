// SPDX-License-Identifier: Apache-2.0
/* What text comes out of which files: seen through the byte tokenizer, with an end mark. */
#include "../../../src/data/documents.h"
#include "../../support/case_files.h"
#include "../../support/test.h"
#include "make_defaults.h"

#include <wsc/data.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { MAX = 4096, END = 256 };

static void put(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, n, f), n);
    (void)fclose(f);
}

static void put_gz(const char *path, const char *text)
{
    gzFile f = gzopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)gzputs(f, text);
    (void)gzclose(f);
}

static size_t put_zst(const char *path, const char *text, size_t left_out)
{
    char packed[MAX];
    size_t n = ZSTD_compress(packed, sizeof packed, text, strlen(text), 3);
    CU_ASSERT_FATAL(!ZSTD_isError(n));
    put(path, packed, n - left_out);
    return n;
}

static enum wsc_err make(const char *const *input, int n, struct data_make *m,
                         struct data_made *made)
{
    enum wsc_err rc = data_tokenizer_open(&m->tokenizer, "byte", NULL, NULL);
    if (rc) return rc;
    m->input = input;
    m->n_inputs = n;
    m->out_dir = case_path("docs");
    m->T = MAX;
    m->eos_id = END;
    rc = data_make_dataset(m, made);
    data_tokenizer_close(&m->tokenizer);
    return rc;
}

/* The text of the one sample, with '|' for the end marks. */
static void text_of(int64_t n_tokens, char *text)
{
    char dir[300];
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    (void)snprintf(dir, sizeof dir, "%s/train", case_path("docs"));
    struct zoo_input in = {.data_dir = {dir}, .n_data_dirs = 1, .max_sequence_length = CONF_NULL};
    T_OK(data_source_open(&s, &in, MAX, 257));
    T_OK(data_batch_create(&b, 1, MAX));
    T_OK(data_source_read(s, 0, 1, b));
    for (int64_t t = 0; t < n_tokens; t++) {
        int32_t id = t ? b->labels[t - 1] : b->input_ids[0];
        text[t] = (char)(id == END ? '|' : id);
    }
    text[n_tokens] = '\0';
    data_batch_destroy(&b);
    data_source_close(&s);
}

static void gives(const char *const *input, int n, struct data_make *m, const char *expected)
{
    struct data_made made = {0};
    char text[MAX + 1];
    T_OK(make(input, n, m, &made));
    text_of(made.n_tokens, text);
    T_STR(text, expected);
}

static void one_gives(const char *name, const char *content, const char *expected)
{
    struct data_make m;
    make_defaults(&m);
    m.errors = DATA_ERRORS_REPLACE;
    const char *const input[] = {case_path(name)};
    put(input[0], content, strlen(content));
    gives(input, 1, &m, expected);
}

static void fails(const char *name, const char *content, size_t n, enum data_errors errors,
                  const char *what)
{
    struct data_make m;
    struct data_made made = {0};
    make_defaults(&m);
    m.errors = errors;
    const char *const input[] = {case_path(name)};
    put(input[0], content, n);
    enum wsc_err rc = make(input, 1, &m, &made);
    bool said = rc && strstr(wsc_err_message(), what) != NULL;
    if (!said)
        (void)fprintf(stderr, "%s: expected \"%s\": %s\n", content, what,
                      rc ? wsc_err_message() : "no error");
    CU_ASSERT(said);
}

static void refused(const char *name, const char *content, const char *what)
{
    fails(name, content, strlen(content), DATA_ERRORS_STRICT, what);
}

TEST(docs, formats_by_ending_and_folders_in_order)
{
    struct data_make m;
    make_defaults(&m);
    (void)mkdir(case_path("tree"), 0777);
    (void)mkdir(case_path("tree/sub"), 0777);
    put(case_path("tree/b.txt"), "bee", 3);
    put_gz(case_path("tree/a.jsonl.gz"), "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
    (void)put_zst(case_path("tree/sub/c.csv.zst"), "n,text\n1,three\n2,four\n", 0);
    put(case_path("tree/sub/d.TSV"), "text\tn\nfive\t5\n", 14);
    put(case_path("tree/e.parquet"), "PAR1", 4);
    put(case_path("tree/.hidden.txt"), "no", 2);
    const char *const input[] = {case_path("tree"), case_path("tree/b.txt")};
    gives(input, 2, &m, "one|two|bee|three|four|five|bee|");
    struct data_made made = {0};
    T_OK(make(input, 1, &m, &made));
    T_EQ(made.n_ignored, 1);
    T_EQ(made.n_files, 4);
    T_EQ(made.n_documents, 6);
}

TEST(docs, text_is_taken_as_it_is)
{
    one_gives("plain",
              "\xef\xbb\xbf"
              "a\r\nb\n",
              "\xef\xbb\xbf"
              "a\r\nb\n|");
}

/* As an empty line of JSON Lines; a state that is saved after it does not count it again. */
TEST(docs, an_empty_file_is_an_empty_document)
{
    struct data_make m;
    struct data_made made = {0};
    const char *const input[] = {case_path("empty.txt"), case_path("full.txt")};
    make_defaults(&m);
    put(input[0], "", 0);
    put(input[1], "x", 1);
    T_OK(make(input, 2, &m, &made));
    T_EQ(made.n_documents, 2);
    T_EQ(made.n_empty, 1);
    struct data_inputs inputs = {0};
    struct data_docs docs = {.inputs = &inputs};
    bool found = false;
    T_OK(data_inputs_list(&inputs, input, 2, NULL));
    T_OK(data_docs_next(&docs, &found));
    CU_ASSERT(found);
    const struct data_place after = data_docs_place(&docs);
    T_EQ(after.file, 1);
    T_EQ(after.offset, 0);
    data_docs_close(&docs);
    data_inputs_fini(&inputs);
}

TEST(docs, json_lines)
{
    one_gives("a.jsonl",
              "\xef\xbb\xbf{\"text\":\"a\"}\r\n\n  {\"id\": [1,{\"x\":[]}], \"text\" : \"b\" , "
              "\"y\": -1.5e+3}\n{\"text\": \"\"}\n{\"text\": \"c\"}",
              "a|b|c|");
    one_gives("b.jsonl", "{\"text\": \"q\\\" \\\\ \\/ \\n\\t \\u00e9\\u4e00\\ud83d\\ude00\"}",
              "q\" \\ / \n\t \xc3\xa9\xe4\xb8\x80\xf0\x9f\x98\x80|");
    one_gives("c.jsonl", "{\"text\": \"\\ud83d\\n\\ude00x\\ud800\\ud83d\\ude00\\ud83d\"}",
              "\xef\xbf\xbd\n\xef\xbf\xbdx\xef\xbf\xbd\xf0\x9f\x98\x80\xef\xbf\xbd|");
}

TEST(docs, json_mistakes_name_the_place)
{
    refused("e.jsonl", "{\"text\": \"a\"}\n{\"text\": 5}",
            "e.jsonl:2:10: \"text\" is not a string");
    refused("e.jsonl", "{\"body\": \"a\"}", "the object has no key \"text\"; hint: name the key");
    refused("e.jsonl", "{}", "the object has no key");
    refused("e.jsonl", "[\"a\"]", "e.jsonl:1:1: expected an object; hint: JSON Lines");
    refused("e.jsonl", "{\"text\": \"a\"\n}",
            "e.jsonl:1:13: the line ends, expected \",\" or \"}\"");
    refused("e.jsonl", "{\"text\": \"a",
            "e.jsonl:1:12: the file ends, expected the end of a string");
    refused("e.jsonl", "{\"text\": \"a\nb\"}", "e.jsonl:1:12: the line ends, expected the end of");
    refused("e.jsonl", "{\"text\": \"\\x\"}", "e.jsonl:1:12: \"x\", expected one of \"\\/bfnrtu");
    refused("e.jsonl", "{\"text\": \"\\u12g4\"}", "\"g\", expected four hexadecimal digits");
    refused("e.jsonl", "{\"text\": \"\\ud83d\"}",
            "\\ud83d is half of a surrogate pair; hint: --errors");
    refused("e.jsonl", "{\"text\": \"a\"} x", "e.jsonl:1:15: something follows the object");
    refused("e.jsonl", "{\"text\": \"a\", \"text\": \"b\"}", "\"text\" stands there twice");
    refused("e.jsonl", "{\"a\": 01, \"text\": \"b\"}", "01 before here is no JSON value");
    refused("e.jsonl", "{\"a\": nul, \"text\": \"b\"}", "nul before here is no JSON value");
    refused("e.jsonl", "{\"a\": , \"text\": \"b\"}", "e.jsonl:1:7: \",\", expected a value");
    refused("e.jsonl", "{\"a\": [1,], \"text\": \"b\"}", "e.jsonl:1:10: \"]\", expected a value");
    refused("e.jsonl", "{\"a\": [1}, \"text\": \"b\"}", "\"}\", expected \",\" or \"]\"");
    refused("e.jsonl", "{\"text\": \"\xc3(\"}",
            "e.jsonl:1:11: byte 0xC3 is not UTF-8; hint: --errors");
}

TEST(docs, tables)
{
    one_gives("a.csv",
              "id,text,n\n1,plain,x\n\n2,\"with, comma \"\"q\"\" and\nbreak\",\"y\"\n3,,z\n",
              "plain|with, comma \"q\" and\nbreak|");
    one_gives("b.csv", "\xef\xbb\xbftext\r\na\r\n\"b\"\r\nc", "a|b|c|");
    one_gives("c.tsv", "x\t\"text\"\n1\ta,b\n", "a,b|");
}

TEST(docs, table_mistakes_name_the_place)
{
    refused("e.csv", "a,b\n1,2\n", "e.csv:1: the head line has no column \"text\"; hint: name the");
    refused("e.csv", "", "has no column");
    refused("e.csv", "a,text\n1,2\n3\n", "e.csv:3: the row has 1 fields, the head line 2");
    refused("e.csv", "a,text\n1,2,3\n", "e.csv:2: the row has more than 2 fields, the head line 2");
    refused("e.csv", "text,a\nx\n", "e.csv:2: the row has 1 fields, the head line 2");
    refused("e.csv", "text\n\"abc", "e.csv:2:5: the file ends inside a quoted field");
    refused("e.csv", "text\na\"b\n", "e.csv:2:2: a quote inside a field without quotes");
    refused("e.csv", "text\n\"a\"b\n", "e.csv:2:4: something follows the closing quote");
    refused("e.csv", "text\na\rb\n", "e.csv:2:3: a carriage return inside a row");
    refused("e.csv", "text\n\rab\n", "e.csv:2:2: a carriage return inside a row");
    refused("e.csv", "text,text\na,b\n", "e.csv:1: column \"text\" stands there twice");
}

TEST(docs, what_is_not_utf8)
{
    static const char text[] = "ok\nab\xe2\x82(\xff\xed\xa0\x80\xf0\x9f";
    struct data_make m;
    const char *const input[] = {case_path("u.txt")};
    fails("u.txt", text, strlen(text), DATA_ERRORS_STRICT, "u.txt:2:3: byte 0xE2 is not UTF-8");
    make_defaults(&m);
    m.errors = DATA_ERRORS_REPLACE; /* as bytes.decode("utf-8", "replace") of Python gives it */
    gives(input, 1, &m,
          "ok\nab\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|");
    make_defaults(&m);
    gives(input, 1, &m, "ok\nab\xe2\x82(\xff\xed\xa0\x80\xf0\x9f|");
    fails("u.txt", "\xff\xfeh\0i\0", 6, DATA_ERRORS_STRICT, "looks like UTF-16");
}

TEST(docs, damaged_zstd_is_noticed)
{
    static char text[3000];
    struct data_make m;
    struct data_made made = {0};
    for (int i = 0; i < 2999; i++)
        text[i] = (char)('a' + i * i % 23);
    make_defaults(&m);
    const char *const input[] = {case_path("cut.zst")};
    (void)put_zst(input[0], text, 5);
    CU_ASSERT_EQUAL(make(input, 1, &m, &made), WSC_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "cut.zst: cannot be read: unexpected end"));
    CU_ASSERT(access(case_path("docs/wsc-data.tmp"), F_OK) != 0);
}

TEST(docs, requests_that_cannot_be)
{
    struct data_make m;
    struct data_made made = {0};
    const char *input[] = {case_path("none.d")};
    (void)mkdir(input[0], 0777);
    make_defaults(&m);
    CU_ASSERT_EQUAL(make(input, 1, &m, &made), WSC_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "none.d: holds no file of text; hint: known"));
    make_defaults(&m);
    m.format = "parquet";
    CU_ASSERT_EQUAL(make(input, 1, &m, &made), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "format parquet is not known; hint: text"));
}

TEST(docs, memory_is_balanced)
{
    T_EQ(wsc_mem_in_use(WSC_MEM_DATA), 0);
    T_EQ(wsc_mem_in_use(WSC_MEM_STORE), 0);
}
