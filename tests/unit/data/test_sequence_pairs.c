// SPDX-License-Identifier: Apache-2.0
/* Values of samples of an encoder with a decoder, from HDF5: ids of sources and of targets have
 * limits of their own, and attention must see a token of the source. */
#include "../../support/case_files.h"
#include "../../support/test.h"

#include <wsc/data.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { SAMPLES = 4, SOURCE = 6, TARGET = 5, T = SOURCE + TARGET };

/* Values of all samples, by dataset. */
struct sequences {
    int64_t input_ids[SAMPLES * SOURCE], attention_mask[SAMPLES * SOURCE],
        decoder_input_ids[SAMPLES * TARGET], decoder_attention_mask[SAMPLES * TARGET],
        labels[SAMPLES * TARGET];
};

static void fill(int64_t *x, int n, int64_t value)
{
    for (int i = 0; i < n; i++)
        x[i] = value;
}

static struct sequences plain(void)
{
    struct sequences p;
    fill(p.input_ids, SAMPLES * SOURCE, 3);
    fill(p.attention_mask, SAMPLES * SOURCE, 1);
    fill(p.decoder_input_ids, SAMPLES * TARGET, 3);
    fill(p.decoder_attention_mask, SAMPLES * TARGET, 1);
    fill(p.labels, SAMPLES * TARGET, 3);
    return p;
}

static const char *write_file(const struct sequences *p)
{
    static char dir[300];
    char path[340];
    struct store_file *f = NULL;
    const struct {
        const char *name;
        int64_t T;
        const int64_t *x;
    } row[] = {{"input_ids", SOURCE, p->input_ids},
               {"attention_mask", SOURCE, p->attention_mask},
               {"decoder_input_ids", TARGET, p->decoder_input_ids},
               {"decoder_attention_mask", TARGET, p->decoder_attention_mask},
               {"labels", TARGET, p->labels}};
    enum { N = sizeof row / sizeof *row };
    (void)snprintf(dir, sizeof dir, "%s", case_path("sequences"));
    (void)snprintf(path, sizeof path, "%s/a.h5", dir);
    (void)mkdir(dir, 0777);
    T_OK(store_create(&f, path, NULL));
    for (int i = 0; i < N; i++)
        T_OK(store_define(f, row[i].name, STORE_I64, 2, (int64_t[]){SAMPLES, row[i].T}));
    for (int i = 0; i < N; i++)
        T_OK(store_write(f, row[i].name, 0, SAMPLES * row[i].T, row[i].x));
    T_OK(store_commit(&f));
    return dir;
}

/* The error of reading all samples with so many ids on both sides; "" when there is none. */
static const char *read_all(const struct sequences *p, int64_t n_sources, int64_t n_targets)
{
    static char text[512];
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    char dir[300];
    (void)snprintf(dir, sizeof dir, "%s", write_file(p));
    const struct zoo_input in = {.data_dir = {dir},
                                 .n_data_dirs = 1,
                                 .samples = ZOO_SAMPLES_SEQ2SEQ,
                                 .num_samples = CONF_NULL,
                                 .max_sequence_length = SOURCE,
                                 .tgt_max_sequence_length = TARGET,
                                 .batch_size = 1,
                                 .n_labels = n_targets,
                                 .repeat = true};
    T_OK(data_source_open(&s, &in, T, n_sources));
    T_OK(data_batch_create(&b, SAMPLES, T));
    const enum wsc_err rc = data_source_read(s, 0, SAMPLES, b);
    CU_ASSERT(!rc || rc == WSC_FORMAT);
    (void)snprintf(text, sizeof text, "%s", rc ? wsc_err_message() : "");
    data_batch_destroy(&b);
    data_source_close(&s);
    return text;
}

static void expect_error(const char *error, const char *text)
{
    if (!strstr(error, text)) T_STR(error, text);
}

TEST(data, ids_of_sources_and_targets_have_limits_of_their_own)
{
    struct sequences p = plain();
    p.input_ids[2 * SOURCE + 1] = 250;
    T_STR(read_all(&p, 300, 100), "");
    expect_error(read_all(&p, 100, 300),
                 "a.h5: sample 2, position 1: input_ids is 250, expected 0 to 99");
    p = plain();
    p.decoder_input_ids[2 * TARGET + 1] = 250;
    T_STR(read_all(&p, 100, 300), "");
    expect_error(read_all(&p, 300, 100),
                 "a.h5: sample 2, position 7: input_ids is 250, expected 0 to 99");
    p = plain();
    p.labels[2 * TARGET + 1] = 250;
    T_STR(read_all(&p, 100, 300), "");
    expect_error(read_all(&p, 300, 100), "position 7: labels is 250, expected 0 to 99");
}

/* The decoder sees its own tokens, but it cannot attend to a source without any. */
TEST(data, a_source_without_tokens_is_named)
{
    struct sequences p = plain();
    p.attention_mask[(ptrdiff_t)3 * SOURCE] = 0;
    T_STR(read_all(&p, 10, 10), "");
    fill(p.attention_mask + (ptrdiff_t)3 * SOURCE, SOURCE, 0);
    expect_error(read_all(&p, 10, 10), "a.h5: sample 3 has no token that attention may see");
}
