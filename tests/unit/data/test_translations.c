// SPDX-License-Identifier: Apache-2.0
/* Translations of a folder: meta.dat names sources and targets, in subfolders and elsewhere, with
 * the number of their lines. */
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/data.h>
#include <wsc/file.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

enum { SOURCE = 6, TARGET = 5, T = SOURCE + TARGET };

static const char *path_of(const char *name)
{
    static char path[8][300];
    static int next;
    char *at = path[next++ % 8];
    (void)snprintf(at, sizeof path[0], "%s/translations/%s", test_tmpdir(), name);
    return at;
}

static void put(const char *name, const char *text)
{
    const char *path = path_of(name);
    T_OK(wsc_file_mkdir_above(path));
    T_OK(wsc_file_replace(path, text, strlen(text)));
}

/* With so many ids of sources and of targets; the vocabulary has eight. */
static enum wsc_err open_limited(struct data_source **s, const char *targets, int64_t n_sources,
                                 int64_t n_targets)
{
    static char dir[300], vocabulary[300], target_dir[300];
    put("vocab", "<pad>\n</s>\n<unk>\n<s>\na\nb\nc\nd\n");
    (void)snprintf(dir, sizeof dir, "%s", path_of(""));
    (void)snprintf(vocabulary, sizeof vocabulary, "%s", path_of("vocab"));
    (void)snprintf(target_dir, sizeof target_dir, "%s", path_of(targets ? targets : ""));
    static struct zoo_input in;
    in = (struct zoo_input){.data_dir = {dir},
                            .n_data_dirs = 1,
                            .samples = ZOO_SAMPLES_TRANSLATION,
                            .vocab_file = vocabulary,
                            .tgt_data_dir = targets ? target_dir : NULL,
                            .num_samples = CONF_NULL,
                            .max_sequence_length = SOURCE,
                            .tgt_max_sequence_length = TARGET,
                            .batch_size = 1,
                            .n_labels = n_targets,
                            .repeat = true};
    return data_source_open(s, &in, T, n_sources);
}

static enum wsc_err open_folder(struct data_source **s, const char *targets)
{
    return open_limited(s, targets, 8, 8);
}

/* The first source and target token of each sample. */
static void expect(const char *targets, int n, const int32_t *expected)
{
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    CU_ASSERT_FATAL(test_ok(open_folder(&s, targets)));
    T_EQ(data_source_n_samples(s), n);
    T_OK(data_batch_create(&b, n, T));
    T_OK(data_source_read(s, 0, n, b));
    for (int64_t i = 0; i < n; i++) {
        T_EQ(b->input_ids[i * T], expected[2 * i]);
        T_EQ(b->labels[i * T + SOURCE], expected[2 * i + 1]);
    }
    data_batch_destroy(&b);
    data_source_close(&s);
}

static void expect_error(const char *targets, const char *text)
{
    struct data_source *s = NULL;
    CU_ASSERT(open_folder(&s, targets) == WSC_FORMAT && !s);
    if (!strstr(wsc_err_message(), text)) T_STR(wsc_err_message(), text);
}

TEST(data, targets_are_those_of_the_line_that_lists_the_sources)
{
    char meta[1000];
    struct data_file_sum *sums = NULL;
    struct data_source *s = NULL;
    int n = 0;
    put("x/sources", "a\nb c\n");
    put("x/targets", "b\nc\n");
    put("other/x/targets", "d\nd a b c\n");
    put("y", "c\n");
    put("z", "a\n");
    put("meta.dat", "x/sources x/targets 2\n");
    expect(NULL, 2, (const int32_t[]){4, 5, 5, 6});
    expect("other", 2, (const int32_t[]){4, 7, 5, 7});
    (void)snprintf(meta, sizeof meta, "x/sources x/targets\n%s %s 1\n", path_of("y"), path_of("z"));
    put("meta.dat", meta);
    expect(NULL, 3, (const int32_t[]){4, 5, 5, 6, 6, 4});
    CU_ASSERT_FATAL(test_ok(open_folder(&s, "other")));
    T_EQ(data_source_left_out(s), 0);
    T_OK(data_source_sums(s, 1 << 20, &sums, &n));
    T_EQ(n, 5); /* sources, targets, vocabulary */
    wsc_free(sums);
    data_source_close(&s);
}

TEST(data, translations_that_do_not_fit_their_list_are_errors)
{
    put("x/sources", "a\nb c\n");
    put("x/targets", "b\nc\n");
    put("short", "b\n");
    put("meta.dat", "x/sources x/targets 3\n");
    expect_error(NULL, "x/sources: has 2 lines, but meta.dat lists 3; hint: ");
    put("meta.dat", "x/sources x/targets two\n");
    expect_error(NULL, "meta.dat: \"two\" is no number of samples");
    put("meta.dat", "x/sources\n");
    expect_error(NULL, "meta.dat: number 1 of its lines names no file of targets");
    put("meta.dat", "x/sources short 2\n");
    expect_error(NULL, "x/sources: has 2 lines, but its targets in ");
    put("x/sources", "\na b a b a b\n");
    put("meta.dat", "x/sources x/targets 2\n");
    expect_error(NULL, "x/sources: the files of its data set hold no sample");
}

/* One vocabulary serves sources and targets, so that both sides of the model need its ids. */
TEST(data, both_sides_of_a_model_have_the_ids_of_a_vocabulary)
{
    struct data_source *s = NULL;
    put("x/sources", "a\nb c\n");
    put("x/targets", "b\nc\n");
    put("meta.dat", "x/sources x/targets 2\n");
    T_OK(open_limited(&s, NULL, 8, 9));
    data_source_close(&s);
    T_EQ(open_limited(&s, NULL, 7, 9), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(wsc_err_message(), "has 8 tokens, with extra_ids 8, but the encoder has 7"));
    T_EQ(open_limited(&s, NULL, 9, 7), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(wsc_err_message(), "has 8 tokens, with extra_ids 8, but the decoder has 7"));
}
