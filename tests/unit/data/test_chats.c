// SPDX-License-Identifier: Apache-2.0
/* Chats as samples: which places are learned, where a chat is cut and padded, what is refused. */
#include "../../../src/data/chat_lines.h"
#include "../../support/case_files.h"
#include "../../support/test.h"

#include <wsc/data_chat.h>
#include <wsc/file.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { T = 24 };

enum { MOST_FILES = 2 };

static enum wsc_err write_lines(const char *path, const char *lines)
{
    FILE *f = fopen(path, "w");
    if (!f) return WSC_IO;
    (void)fputs(lines, f);
    (void)fclose(f);
    return WSC_OK;
}

/* Write each of @p lines to a file and make a dataset of the files. */
static enum wsc_err make_files(const char *const *lines, int n_files, const char *template,
                               double share, char dir[64], struct data_made *made)
{
    static int n;
    char path[MOST_FILES][80];
    const char *input[MOST_FILES] = {path[0], path[1]};
    struct data_make m = {.input = input,
                          .n_inputs = n_files,
                          .bos_id = DATA_NO_ID,
                          .eos_id = DATA_NO_ID,
                          .pad_id = 7,
                          .out_dir = dir,
                          .T = T,
                          .samples_per_file = 100,
                          .share[DATA_VAL] = share,
                          .type = STORE_INT32};
    (void)snprintf(dir, 64, "/tmp/wsc-chats-%d-%d", (int)getpid(), n++);
    for (int i = 0; i < n_files; i++) {
        (void)snprintf(path[i], sizeof path[i], "%s-%d.jsonl", dir, i);
        TRY(write_lines(path[i], lines[i]));
    }
    TRY(data_tokenizer_open(&m.tokenizer, "byte", NULL, NULL));
    const enum wsc_err rc = data_make_chats(&m, template, made);
    data_tokenizer_close(&m.tokenizer);
    for (int i = 0; i < n_files; i++)
        (void)remove(path[i]);
    return rc;
}

static enum wsc_err make_split(const char *lines, const char *template, double share, char dir[64],
                               struct data_made *made)
{
    return make_files(&lines, 1, template, share, dir, made);
}

static enum wsc_err make(const char *lines, const char *template, char dir[64],
                         struct data_made *made)
{
    return make_split(lines, template, 0, dir, made);
}

static void remove_all(const char *dir)
{
    char command[120];
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    CU_ASSERT_EQUAL(system(command), 0);
}

/* The only sample of the only file, as the reader of a run gets it. */
static void read_sample(const char *dir, struct data_batch **batch)
{
    char train[80];
    struct zoo_input in = {.data_dir = {train},
                           .n_data_dirs = 1,
                           .num_samples = CONF_NULL,
                           .max_sequence_length = CONF_NULL};
    struct data_source *source = NULL;
    (void)snprintf(train, sizeof train, "%s/train", dir);
    T_OK(data_source_open(&source, &in, T, 256));
    T_OK(data_batch_create(batch, 1, T));
    T_OK(data_source_read(source, 0, 1, *batch));
    data_source_close(&source);
}

/* A line of the description of a dataset. */
static bool describes(const char *dir, const char *line)
{
    char command[200];
    (void)snprintf(command, sizeof command, "grep -qF '%s' %s/train/data_params.json", line, dir);
    return system(command) == 0;
}

/* "hi\nyo\n" of the plain template: the answer and its newline are learned, where they are labels.
 */
TEST(chats, answers_alone_are_learned)
{
    static const int expected[T] = {[2] = 1, [3] = 1, [4] = 1};
    char dir[64];
    struct data_made made = {0};
    struct data_batch *b = NULL;
    T_OK(make("{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}, {\"content\": \"yo\", "
              "\"role\": \"assistant\", \"more\": [1]}], \"id\": 3}\n",
              "plain", dir, &made));
    T_EQ(made.n_documents, 1);
    T_EQ(made.n_bytes, 4);
    T_EQ(made.n_samples[DATA_TRAIN], 1);
    read_sample(dir, &b);
    CU_ASSERT(!memcmp(b->mask, expected, sizeof expected));
    CU_ASSERT(b->input_ids[3] == 'y' && b->labels[2] == 'y' && b->labels[4] == '\n');
    CU_ASSERT(b->input_ids[6] == 7);
    /* 6 of 24 positions have tokens, of which 3 are learned. */
    CU_ASSERT(describes(dir, "\"num_pad_tokens\": 18,"));
    CU_ASSERT(describes(dir, "\"non_pad_tokens\": 6,"));
    CU_ASSERT(describes(dir, "\"num_masked_tokens\": 21,"));
    CU_ASSERT(describes(dir, "\"loss_valid_tokens\": 3,"));
    CU_ASSERT(describes(dir, "\"pack_sequences\": false"));
    CU_ASSERT(!describes(dir, "raw_bytes_count") && !describes(dir, "per_sequence"));
    data_batch_destroy(&b);
    remove_all(dir);
}

/* The words of --chat_template stand in the order of the templates. */
TEST(chats, words_of_options_are_the_templates)
{
    const struct data_chat_template *t;
    char words[80] = "";
    for (int i = 0; (t = data_chat_template_at(i)); i++)
        (void)snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s", i ? " " : "",
                       t->name);
    T_STR(words, DATA_CHAT_TEMPLATES);
}

/* A chat is cut after T + 1 tokens; without an answer before that it is left out. */
TEST(chats, long_chats_are_cut)
{
    char dir[64];
    struct data_made made = {0};
    struct data_batch *b = NULL;
    T_OK(make("{\"prompt\": \"q\", \"completion\": \"abcdefghijklmnopqrstuvwxyz\"}\n\n"
              "{\"prompt\": \"abcdefghijklmnopqrstuvwxyz\", \"completion\": \"x\"}\n",
              "plain", dir, &made));
    T_EQ(made.n_documents, 2);
    T_EQ(made.n_empty, 1);
    read_sample(dir, &b);
    int64_t learned = 0;
    for (int t = 0; t < T; t++)
        learned += b->mask[t];
    T_EQ(learned, T - 1); /* all but the newline after the question */
    CU_ASSERT(b->labels[T - 1] == 'w');
    data_batch_destroy(&b);
    remove_all(dir);
}

TEST(chats, what_is_no_chat_is_refused)
{
    static const struct {
        const char *lines, *why;
    } row[] = {
        {"{\"text\": \"a\"}\n", "is no chat"},
        {"{\"messages\": [{\"role\": \"robot\", \"content\": \"a\"}]}\n", "role \"robot\""},
        {"{\"messages\": [{\"role\": \"user\"}]}\n", "has no content"},
        {"{\"messages\": [{\"role\": \"user\", \"role\": \"assistant\", \"content\": \"a\"}]}\n",
         ":1:39: \"role\" stands there twice"},
        {"{\"messages\": [{\"role\": \"user\", \"content\": \"b\", \"content\": \"a\"}]}\n",
         ":1:58: \"content\" stands there twice"},
        {"{\"completion\": \"a\", \"prompt\": \"b\"}\n", "prompt and then completion"},
        {"{\"prompt\": \"a\", \"completion\": \"b\"} x\n", "something follows"},
        {"{\"prompt\": \"a\", \"completion\": 3}\n", "expected \"\"\""},
        {"{\"prompt\": [{\"role\": \"user\", \"content\": \"a\"}], \"chosen\": []}\n",
         ":1:12: \"prompt\" is a list of messages, expected a text; hint: put its messages at"},
        {"{\"messages\": []}\n", "none of 1 chats has an answer within max_seq_length"},
        {"", "none of 0 chats has an answer"},
        {"{\"prompt\": \"a\", \"chosen\": \"b\", \"rejected\": \"\"}\n",
         "1 of 1 pairs with answers within max_seq_length cannot be split into train and val; "
         "hint: --split 0"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char dir[64];
        struct data_made made = {0};
        CU_ASSERT(make_split(row[i].lines, "plain", 0.1, dir, &made) != WSC_OK);
        CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), row[i].why));
        if (!strstr(wsc_err_message(), row[i].why))
            (void)fprintf(stderr, "%s\n", wsc_err_message());
        remove_all(dir);
    }
    char dir[64];
    struct data_made made = {0};
    CU_ASSERT_EQUAL(make("", "tabs", dir, &made), WSC_USAGE);
}

/* A weight of 0, calls of tools and a text of the system that the template does not get. */
static void make_with_other_keys(void)
{
    char dir[64];
    struct data_made made = {0};
    T_OK(make("{\"id\": 1, \"prompt\": \"a\", \"completion\": \"b\"}\n"
              "{\"messages\": [{\"role\": \"assistant\", \"weight\": 0, \"content\": \"b\"}]}\n"
              "{\"system\": \"be brief\", \"prompt\": \"a\", \"completion\": \"b\"}\n",
              "plain", dir, &made));
    remove_all(dir);
}

TEST(chats, the_first_key_that_is_not_read_is_named)
{
    const char *said = case_capture(2, make_with_other_keys);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "jsonl:2: \"weight\" is not read and changes nothing"));
    CU_ASSERT(strchr(said, '\n') == strrchr(said, '\n'));
}

/* Lists that begin with the prompt, after a text of the system too; a pair whose rejected list does
 * not; and one more pair like it, of which nothing is printed. */
static void make_pairs_with_prompts(void)
{
    char dir[64];
    struct data_made made = {0};
    T_OK(make(
        "{\"prompt\": \"q\", \"chosen\": [{\"role\": \"user\", \"content\": \"q\"}, {\"role\": "
        "\"assistant\", \"content\": \"b\"}], \"rejected\": [{\"role\": \"system\", "
        "\"content\": \"s\"}, {\"content\": \"q\", \"role\": \"user\"}, {\"role\": "
        "\"assistant\", \"content\": \"c\"}]}\n"
        "{\"prompt\": \"\", \"chosen\": [{\"role\": \"assistant\", \"content\": \"b\"}], "
        "\"rejected\": \"d\"}\n"
        "{\"prompt\": \"q\", \"chosen\": \"b\", \"rejected\": [{\"role\": \"assistant\", "
        "\"content\": \"c\"}]}\n"
        "{\"prompt\": \"q\", \"chosen\": [{\"role\": \"assistant\", \"content\": \"c\"}], "
        "\"rejected\": \"d\"}\n",
        "plain", dir, &made));
    remove_all(dir);
}

TEST(chats, a_prompt_that_is_lost_is_named)
{
    const char *said = case_capture(2, make_pairs_with_prompts);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "jsonl:3: \"prompt\" is not read, and the messages of "
                                        "\"rejected\" do not begin with it"));
    CU_ASSERT(strchr(said, '\n') == strrchr(said, '\n'));
}

/* The chosen list begins with the prompt, the rejected one with another text. */
static const char lost_prompt[] = "{\"prompt\": \"q\", \"chosen\": [{\"role\": \"assistant\", "
                                  "\"content\": \"q\"}], \"rejected\": "
                                  "[{\"role\": \"assistant\", \"content\": \"r\"}]}\n";

static void make_two_files(void)
{
    char dir[64];
    struct data_made made = {0};
    T_OK(make_files((const char *[]){lost_prompt, lost_prompt}, 2, "plain", 0, dir, &made));
    remove_all(dir);
}

TEST(chats, each_file_names_a_lost_prompt)
{
    const char *said = case_capture(2, make_two_files);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "-0.jsonl:1: \"prompt\" is not read, and the messages of "
                                        "\"rejected\" do not"));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "-1.jsonl:1: \"prompt\" is not read"));
}
