// SPDX-License-Identifier: Apache-2.0
/* Datasets whose making was interrupted, while another text had been interrupted in the same
 * folder before. A child process makes the dataset and leaves, without cleaning up, in a progress
 * report; the file of a dataset that is resumed must be equal to those of a straight run. */
#include "../../../src/data/dataset_folder.h"
#include "../../support/case_files.h"
#include "../../support/test.h"
#include "make_defaults.h"

#include <wsc/data_bert.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { T = 32, PER_FILE = 500, DOCUMENTS = 40, WORDS = 1000, LEFT = 77 };

/* Where the child leaves: in a report of @p what, from @p at on, after @p later further ones. */
struct stop {
    const char *what;
    int64_t at;
    int later;
};

static void leave(void *ctx, const char *what, int64_t done, int64_t total)
{
    struct stop *stop = ctx;
    (void)total;
    if (!strcmp(what, stop->what) && done >= stop->at && !stop->later--) _exit(LEFT);
}

/* Documents of one word, a line each. */
static const char *put_documents(const char *word)
{
    const char *path = case_path(word);
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (int d = 0; d < DOCUMENTS; d++) {
        (void)fputs("{\"text\": \"", f);
        for (int w = 0; w < WORDS; w++)
            (void)fprintf(f, "%s ", word);
        (void)fputs("\"}\n", f);
    }
    CU_ASSERT(!fclose(f));
    return path;
}

/* Make a dataset of the documents @p input in @p out, for a GPT or an encoder. */
static enum wsc_err make(const char *input, const char *out, bool encoder, struct stop *stop,
                         struct data_made *made)
{
    struct data_make m;
    struct data_bert bert = {.loader = "BertHDF5DataProcessor",
                             .disable_nsp = true,
                             .share = 0.15,
                             .most = 5,
                             .dupe_factor = 1};
    make_defaults(&m);
    m.input = &input;
    m.n_inputs = 1;
    m.format = "jsonl";
    m.out_dir = out;
    m.T = T;
    m.samples_per_file = PER_FILE;
    m.checkpoint_bytes = 1000;
    m.progress = stop ? leave : NULL;
    m.progress_ctx = stop;
    enum wsc_err rc = encoder ? data_tokenizer_open_wordpiece(
                                    &m.tokenizer, "tests/data/wordpiece_vocab.txt", true, false)
                              : data_tokenizer_open(&m.tokenizer, "byte", NULL, NULL);
    if (!rc) rc = encoder ? data_make_bert(&m, &bert, made) : data_make_dataset(&m, made);
    data_tokenizer_close(&m.tokenizer);
    return rc;
}

/* True when a child has made the dataset up to @p stop and left. */
static bool interrupted(const char *input, const char *out, bool encoder, struct stop stop)
{
    struct data_made made;
    int status = 0;
    const pid_t child = fork();
    if (!child) _exit(make(input, out, encoder, &stop, &made) ? 1 : 0);
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == LEFT;
}

static bool equal_files(const char *a, const char *b)
{
    FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
    bool equal = f && g;
    for (int x = 0, y; equal && x != EOF;) {
        x = fgetc(f);
        y = fgetc(g);
        equal = x == y;
    }
    if (f) (void)fclose(f);
    if (g) (void)fclose(g);
    return equal;
}

/* Files of the first text, then an interruption in the tokens of the second, which resumes. */
static void check_second_text(bool encoder)
{
    const char *first = put_documents("loan"), *second = put_documents("anst");
    const char *out = case_path(encoder ? "encoder" : "gpt");
    const char *straight = case_path(encoder ? "encoder_straight" : "gpt_straight");
    struct data_made made = {0};
    char path[2][400];
    CU_ASSERT(interrupted(first, out, encoder, (struct stop){"samples", 2 * PER_FILE + 1, 0}));
    (void)snprintf(path[0], sizeof path[0], "%s/train.tmp/data-00001.h5", out);
    CU_ASSERT(access(path[0], F_OK) == 0);
    CU_ASSERT(interrupted(second, out, encoder, (struct stop){"bytes", 0, DOCUMENTS / 2}));
    T_OK(make(second, out, encoder, NULL, &made));
    CU_ASSERT(made.n_resumed > 0);
    T_OK(make(second, straight, encoder, NULL, &made));
    T_EQ(made.n_resumed, 0);
    const int64_t n_files = (made.n_samples[DATA_TRAIN] + PER_FILE - 1) / PER_FILE;
    CU_ASSERT(n_files >= 3);
    for (int64_t i = 0; i < n_files; i++) {
        const char *const dir[] = {out, straight};
        for (int k = 0; k < 2; k++)
            (void)snprintf(path[k], sizeof path[k], "%s/train/data-%05lld.h5", dir[k],
                           (long long)i);
        CU_ASSERT(equal_files(path[0], path[1]));
    }
}

TEST(data_interrupted, a_gpts_files_of_another_text_are_not_kept)
{
    check_second_text(false);
}

TEST(data_interrupted, an_encoders_files_of_another_text_are_not_kept)
{
    check_second_text(true);
}

/* Chats and questions write to the folder of a part without an identity. */
TEST(data_interrupted, a_folder_keeps_files_of_its_request_only)
{
    static const struct step {
        uint64_t identity;
        bool keeps;
    } step[] = {{7, true}, {8, false}, {8, true}, {0, false}, {0, false}, {8, false}};
    const char *dir = case_path("train.tmp"), *file = case_path("train.tmp/data-00000.h5");
    T_OK(data_folder_begin(dir, 7));
    case_write(file, "samples");
    for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
        T_OK(data_folder_begin(dir, step[i].identity));
        T_EQ(access(file, F_OK) == 0, step[i].keeps);
        case_write(file, "samples");
    }
    T_OK(data_folder_finish(dir, case_path("train")));
    CU_ASSERT(access(case_path("train/data-00000.h5"), F_OK) == 0);
    CU_ASSERT(access(case_path("train/request"), F_OK) != 0);
}
