// SPDX-License-Identifier: Apache-2.0
/* Old models under new circumstances: a checkpoint whose vocabulary is smaller or larger than that
 * of the params, selective gradients, ids that the vocabulary does not have. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/store.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { V = 256, C = 64, MOST = 1 << 16 };
#define WORDS "model.embedding_layer.word_embeddings.weight"
#define FFN   "model.transformer_decoder.layers.1.ffn.ffn.0.linear_layer.weight"
#define NORM  "model.transformer_decoder.layers.1.norm1.weight"

/* Values of a tensor of @p dir/checkpoint_@p step.mdl, and how many; 0 when it is not there. */
static int64_t read_tensor(const char *dir, int step, const char *name, float *out)
{
    struct store_file *file = NULL;
    char path[240];
    int n_dims = 0;
    int64_t shape[2] = {1, 1}, n = 0;
    (void)snprintf(path, sizeof path, "%s/checkpoint_%d.mdl", dir, step);
    if (store_open(&file, path) != WSC_OK) return 0;
    if (store_has(file, name) && store_shape(file, name, &n_dims, shape) == WSC_OK)
        n = shape[0] * (n_dims > 1 ? shape[1] : 1);
    if (n > MOST || (n && store_read(file, name, STORE_F32, 0, n, out) != WSC_OK)) n = 0;
    store_close(&file);
    return n;
}

/* A truth value for each weight: which of them train, or a mask. */
static int64_t read_selected(const char *dir, const char *name, unsigned char *out)
{
    struct store_file *file = NULL;
    char path[240];
    int n_dims = 0;
    int64_t shape[2] = {1, 1}, n = 0;
    (void)snprintf(path, sizeof path, "%s/checkpoint_2.mdl", dir);
    if (store_open(&file, path) != WSC_OK) return 0;
    if (store_has(file, name) && store_shape(file, name, &n_dims, shape) == WSC_OK)
        n = shape[0] * shape[1];
    if (n > MOST || (n && store_read(file, name, STORE_BOOL, 0, n, out) != WSC_OK)) n = 0;
    store_close(&file);
    return n;
}

/* A few steps of the small model, with a checkpoint at the end. */
static bool train(const char *before, const char *dir, const char *options)
{
    return spawn_ok("%s %s --num_steps 2 --set runconfig.checkpoint_steps=2 --set "
                    "runconfig.save_initial_checkpoint=true --model_dir %s %s",
                    before, job_tiny(), dir, options);
}

/* ---- new vocabulary -------------------------------------------------------------------------- */

/* The old checkpoint into a model of @p rows tokens; initial weights of it are checkpoint_0. */
static bool extend(const char *before, const char *old, const char *dir, int rows,
                   const char *options)
{
    char all[1200];
    (void)snprintf(all, sizeof all,
                   "--set model.vocab_size=%d --checkpoint_path %s/checkpoint_2.mdl --set "
                   "runconfig.load_checkpoint_states=model %s",
                   rows, old, options);
    return train(before, dir, all);
}

/* The @p n rows of the file, then rows that are the mean of these, @p rows in all. */
static void check_mean(const float *old, int n, const float *new, int rows)
{
    CU_ASSERT(!memcmp((const void *)old, (const void *)new, sizeof(float) * (size_t)n * C));
    for (int c = 0; c < C; c++) {
        double mean = 0;
        for (int i = 0; i < n; i++)
            mean += (double)old[i * C + c] / n;
        for (int i = n; i < rows; i++)
            CU_ASSERT(fabs((double)new[i * C + c] - mean) < 1e-7);
    }
}

TEST(vocabulary, rows_of_another_one_start_by_rule)
{
    static float old[MOST], grown[MOST], fresh[MOST], shrunk[MOST];
    struct job_metrics one = {0}, other = {0};
    char base[160], dir[160];
    (void)snprintf(base, sizeof base, "%s", job_path("old_words"));
    (void)snprintf(dir, sizeof dir, "%s", job_path("new_words"));
    CU_ASSERT_FATAL(train("", base, "--num_csx 1"));
    CU_ASSERT_FATAL(read_tensor(base, 2, WORDS, old) == (int64_t)V * C);
    CU_ASSERT_FATAL(extend("", base, dir, 300, "--set runconfig.new_vocabulary=mean"));
    CU_ASSERT_FATAL(read_tensor(dir, 0, WORDS, grown) == (int64_t)300 * C);
    check_mean(old, V, grown, 300);
    CU_ASSERT_FATAL(job_read(dir, &one));
    /* the same bits where shards hold other parts of the table */
    (void)snprintf(dir, sizeof dir, "%s", job_path("new_words_shards"));
    CU_ASSERT_FATAL(extend("mpirun --quiet -n 2", base, dir, 300,
                           "--num_csx 2 --set cluster.memoryx.shards=3 --set "
                           "runconfig.new_vocabulary=mean"));
    CU_ASSERT_FATAL(job_read(dir, &other));
    CU_ASSERT(job_same_values(&one, &other));
    (void)snprintf(dir, sizeof dir, "%s", job_path("new_words_initial"));
    CU_ASSERT_FATAL(extend("", base, dir, 300, "--set runconfig.new_vocabulary=initial"));
    CU_ASSERT_FATAL(read_tensor(dir, 0, WORDS, fresh) == (int64_t)300 * C);
    CU_ASSERT(!memcmp((const void *)old, (const void *)fresh, sizeof(float) * V * C));
    for (int i = V * C; i < 300 * C; i++)
        CU_ASSERT(fresh[i] != grown[i] && fabsf(fresh[i]) <= 0.0401F);
    (void)snprintf(dir, sizeof dir, "%s", job_path("fewer_words"));
    CU_ASSERT_FATAL(extend("", base, dir, 200, "--set runconfig.new_vocabulary=mean"));
    CU_ASSERT_FATAL(read_tensor(dir, 0, WORDS, shrunk) == (int64_t)200 * C);
    CU_ASSERT(!memcmp((const void *)old, (const void *)shrunk, sizeof(float) * 200 * C));
}

/* The old rows are unchanged. A new row has the mask of row (its number mod V), and inside it the
 * means of the old weights of a column that are not zero. */
static void check_sparse_rows(const float *old, const unsigned char *mask, const float *new,
                              int rows)
{
    int n_wrong = 0;
    CU_ASSERT(!memcmp((const void *)old, (const void *)new, sizeof(float) * V * C));
    for (int c = 0; c < C; c++) {
        double sum = 0, n = 0;
        for (int i = 0; i < V; i++) {
            sum += (double)old[i * C + c];
            n += old[i * C + c] != 0;
        }
        for (int i = V; i < rows; i++) {
            const bool kept = mask[(i - V) * C + c] != 0;
            n_wrong += fabs((double)new[i * C + c] - (kept ? sum / n : 0)) > 1e-7;
        }
    }
    T_EQ(n_wrong, 0);
}

/* Masks belong to the weights of a table: those of the old rows are taken with them. */
TEST(vocabulary, a_sparse_table_keeps_its_mask)
{
    static float old[MOST], grown[MOST], shrunk[MOST];
    static unsigned char mask[MOST];
    static const char sparse[] = "--set 'sparsity={algorithm: rigl, update: {freq: 1}, "
                                 "drop_fraction: 0.5, sparsity: 0.7, param_filter: "
                                 "\"*word_embed*\"}' --set runconfig.new_vocabulary=mean";
    struct job_metrics one = {0}, other = {0};
    char base[160], dir[160], options[600];
    (void)snprintf(base, sizeof base, "%s", job_path("sparse_words"));
    (void)snprintf(dir, sizeof dir, "%s", job_path("more_sparse_words"));
    CU_ASSERT_FATAL(train("", base, sparse));
    CU_ASSERT_FATAL(read_tensor(base, 2, WORDS, old) == (int64_t)V * C);
    CU_ASSERT_FATAL(read_selected(base, WORDS "_mask", mask) == (int64_t)V * C);
    CU_ASSERT_FATAL(extend("", base, dir, 300, sparse) && job_read(dir, &one));
    CU_ASSERT_FATAL(read_tensor(dir, 0, WORDS, grown) == (int64_t)300 * C);
    check_sparse_rows(old, mask, grown, 300);
    (void)snprintf(dir, sizeof dir, "%s", job_path("sparse_words_shards"));
    (void)snprintf(options, sizeof options, "%s --num_csx 2 --set cluster.memoryx.shards=3",
                   sparse);
    CU_ASSERT_FATAL(extend("mpirun --quiet -n 2", base, dir, 300, options));
    CU_ASSERT_FATAL(job_read(dir, &other));
    CU_ASSERT(job_same_values(&one, &other));
    (void)snprintf(dir, sizeof dir, "%s", job_path("fewer_sparse_words"));
    CU_ASSERT_FATAL(extend("", base, dir, 200, sparse));
    CU_ASSERT_FATAL(read_tensor(dir, 0, WORDS, shrunk) == (int64_t)200 * C);
    CU_ASSERT(!memcmp((const void *)old, (const void *)shrunk, sizeof(float) * 200 * C));
}

/* Policy and reference of preference optimization take the rows of one model alike, and later each
 * those of its own, with the mean of its own. */
TEST(vocabulary, both_models_of_preference_optimization_grow)
{
    static const char *const table[] = {"policy_model." WORDS, "ref_model." WORDS};
    static float old[2][MOST], grown[2][MOST];
    char base[160], dir[160], larger[160], options[600];
    (void)snprintf(base, sizeof base, "%s", job_path("old_words_pairs"));
    (void)snprintf(dir, sizeof dir, "%s", job_path("new_words_pairs"));
    (void)snprintf(larger, sizeof larger, "%s", job_path("new_words_policy"));
    (void)snprintf(options, sizeof options,
                   "--set runconfig.new_vocabulary=mean --set model.dpo.beta=0.5 --set "
                   "train_input.data_processor=DpoHDF5DataProcessor --set "
                   "eval_input.data_processor=DpoHDF5DataProcessor --set "
                   "train_input.data_dir=%s/train --set runconfig.log_steps=1",
                   job_pairs());
    CU_ASSERT_FATAL(train("", base, "--num_csx 1"));
    CU_ASSERT_FATAL(read_tensor(base, 2, WORDS, old[0]) == (int64_t)V * C);
    CU_ASSERT_FATAL(extend("", base, dir, V + 4, options));
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_FATAL(read_tensor(dir, 0, table[i], grown[i]) == (int64_t)(V + 4) * C);
        check_mean(old[0], V, grown[i], V + 4);
    }
    CU_ASSERT(spawn_ok("head -1 %s/metrics.jsonl | grep -q '\"loss\": 0.69314718055'", dir));
    CU_ASSERT_FATAL(extend("mpirun --quiet -n 2", dir, larger, V + 8, options));
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_FATAL(read_tensor(dir, 2, table[i], old[i]) == (int64_t)(V + 4) * C);
        CU_ASSERT_FATAL(read_tensor(larger, 0, table[i], grown[i]) == (int64_t)(V + 8) * C);
        check_mean(old[i], V + 4, grown[i], V + 8);
    }
    CU_ASSERT(memcmp((const void *)old[0], (const void *)old[1], sizeof(float) * V * C) != 0);
}

TEST(vocabulary, another_one_is_taken_only_when_asked_for)
{
    static const struct {
        const char *options, *says;
    } cases[] = {
        {"--set runconfig.load_checkpoint_states=model", "--set runconfig.new_vocabulary=mean"},
        {"--set runconfig.new_vocabulary=mean", "runconfig.load_checkpoint_states=model"},
        {"--set runconfig.new_vocabulary=mean --set model.hidden_size=32",
         "has shape (256, 64), the params give (300, 32)"}};
    char base[160];
    (void)snprintf(base, sizeof base, "%s", job_path("old_words_refused"));
    CU_ASSERT_FATAL(train("", base, "--num_csx 1"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "%s --num_steps 1 --set model.vocab_size=300 --checkpoint_path "
                  "%s/checkpoint_2.mdl --model_dir %s_refused %s",
                  job_tiny(), base, base, cases[i].options);
        CU_ASSERT(r.status != 0 && strstr(r.err, cases[i].says) != NULL);
        if (!strstr(r.err, cases[i].says)) (void)fprintf(stderr, "%s", r.err);
        spawn_free(&r);
    }
}

/* ---- selective gradients --------------------------------------------------------------------- */

#define SELECT "--set 'model.selective_grad={param_filter: \"*ffn*linear_layer.weight\"}' "

/* Weights that do not train have their bits of the beginning, and the others do not. */
static void check_selected(const char *dir, int rows, int cols)
{
    static float before[MOST], after[MOST];
    static unsigned char trains[MOST];
    const int64_t n = (int64_t)rows * cols;
    int64_t n_trains = 0, n_wrong = 0, n_moved = 0;
    CU_ASSERT_FATAL(read_tensor(dir, 0, FFN, before) == n && read_tensor(dir, 2, FFN, after) == n);
    CU_ASSERT_FATAL(read_selected(dir, FFN "_requires_grad", trains) == n);
    for (int64_t i = 0; i < n; i++) {
        n_trains += trains[i] != 0;
        n_moved += trains[i] != 0 && before[i] != after[i];
        n_wrong += trains[i] == 0 && before[i] != after[i];
    }
    for (int c = 0; c < cols; c++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < rows; i++)
            sum += fabs((double)before[i * cols + c]) / rows;
        for (int i = 0; i < rows; i++)
            squares += pow(fabs((double)before[i * cols + c]) - sum, 2);
        const double least = 2.25 * sqrt(squares / (rows - 1));
        for (int i = 0; i < rows; i++) {
            const double size = fabs((double)before[i * cols + c]);
            if (fabs(size / least - 1) > 1e-5)
                n_wrong += (size > least) != (trains[i * cols + c] != 0);
        }
    }
    CU_ASSERT(n_wrong == 0);
    CU_ASSERT(n_trains > n / 20 && n_trains < n / 2 && n_moved > n_trains / 2);
    CU_ASSERT(read_tensor(dir, 0, NORM, before) == read_tensor(dir, 2, NORM, after));
    CU_ASSERT(memcmp((const void *)before, (const void *)after, sizeof(float) * C) != 0);
}

TEST(vocabulary, selective_gradients_leave_small_weights_alone)
{
    static const struct {
        const char *before, *options;
    } ways[] = {{"", "--num_csx 3 --set cluster.memoryx.shards=2"},
                {"mpirun --quiet -n 2", "--num_csx 2 --set cluster.memoryx.shards=3"}};
    struct job_metrics one = {0}, other = {0}, resumed = {0}, none = {0};
    char dir[160], options[400];
    (void)snprintf(dir, sizeof dir, "%s", job_path("selected"));
    CU_ASSERT_FATAL(train("", dir, SELECT "--num_csx 1") && job_read(dir, &one));
    check_selected(dir, 256, C);
    for (size_t i = 0; i < 2; i++) {
        char way[160];
        (void)snprintf(way, sizeof way, "%s", job_path("selected_way"));
        (void)snprintf(options, sizeof options, SELECT "%s", ways[i].options);
        CU_ASSERT_FATAL(train(ways[i].before, way, options) && job_read(way, &other));
        CU_ASSERT(job_same_values(&one, &other));
    }
    /* a run that resumes keeps the choice, although weights have moved */
    CU_ASSERT_FATAL(train("", dir, SELECT "--num_csx 2") && job_read(dir, &resumed));
    char straight[160];
    (void)snprintf(straight, sizeof straight, "%s", job_path("selected_straight"));
    CU_ASSERT_FATAL(spawn_ok("%s --num_steps 4 --model_dir %s " SELECT, job_tiny(), straight) &&
                    job_read(straight, &other));
    CU_ASSERT(job_same_values(&resumed, &other));
    (void)snprintf(straight, sizeof straight, "%s", job_path("selected_time"));
    CU_ASSERT_FATAL(train("", straight, SELECT "--num_csx 1 --numerics none") &&
                    job_read(straight, &none));
    CU_ASSERT(job_same_times(&none, &one));
}

/* Weights of the old rows train as before, and all weights of new rows train. */
TEST(vocabulary, selected_weights_of_a_table_stay_selected)
{
    static const char select[] = "--set 'model.selective_grad={param_filter: \"*word_embed*\"}' "
                                 "--set runconfig.new_vocabulary=mean";
    static unsigned char old[MOST], grown[MOST];
    char base[160], dir[160];
    (void)snprintf(base, sizeof base, "%s", job_path("selected_words"));
    (void)snprintf(dir, sizeof dir, "%s", job_path("more_selected_words"));
    CU_ASSERT_FATAL(train("", base, select) && extend("", base, dir, 300, select));
    CU_ASSERT_FATAL(read_selected(base, WORDS "_requires_grad", old) == (int64_t)V * C);
    CU_ASSERT_FATAL(read_selected(dir, WORDS "_requires_grad", grown) == (int64_t)300 * C);
    CU_ASSERT(memchr(old, 0, V * C) != NULL && !memcmp(old, grown, V * C));
    CU_ASSERT(memchr(grown + V * C, 0, (300 - V) * C) == NULL);
}

/* ---- ids ------------------------------------------------------------------------------------- */

TEST(vocabulary, eos_id_is_a_token)
{
    struct spawn_result r;
    spawn_run(&r, "%s --mode generate --prompt x --eos_id 256 --model_dir %s", job_tiny(),
              job_path("eos"));
    CU_ASSERT(r.status == 2 && strstr(r.err, "have 256 token ids; hint: an id below 256") != NULL);
    spawn_free(&r);
    spawn_run(&r, "%s --mode generate --prompt x --eos_id -2 --model_dir %s", job_tiny(),
              job_path("eos"));
    CU_ASSERT(r.status == 2 && strstr(r.err, "--eos_id") != NULL);
    spawn_free(&r);
}
