// SPDX-License-Identifier: Apache-2.0
/* Whole params files with the sizes, schedules and `sparsity` of the six sparse files of the Model
 * Zoo (release 2.10.0, gpt3/configs/sparsity/pretraining): what --validate_only lists, and a copy
 * that --set shrinks, trained with values on several machines.  tests/sparse_zoo.sh does it with
 * files of a folder, unchanged, and for more steps. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <string.h>

enum { STEPS = 6 };

static const struct zoo_file {
    const char *name;
    int hidden, layers, heads, length, batch, n_warm, n_steps;
    int n_updating; /* steps that have updates */
    double dropout, sparsity;
    const char *algorithm; /* keys of the algorithm, for --set too: an update every other step */
    int width, small_heads;
} files[] = {
    {"125m_static75", 768, 12, 12, 2048, 256, 716, 4778, 0, 0, 0.75, "static", 64, 4},
    {"125m_set75", 768, 12, 12, 2048, 256, 716, 4778, 3584, 0, 0.75, "set", 64, 4},
    {"125m_rigl75", 768, 12, 12, 2048, 256, 716, 4778, 3584, 0, 0.75, "rigl", 64, 4},
    {"125m_sparsewide-ift_rigl75", 1536, 12, 12, 1024, 512, 2151, 21511, 17209, 0.1, 0.75, "rigl",
     128, 4},
    {"125m_sparsewide-ift_static50", 1092, 12, 12, 1024, 512, 2151, 21511, 0, 0.1, 0.5, "static",
     91, 7},
    {"6p7b_vspdf_phase1", 4096, 32, 32, 2048, 1040, 177, 62523, 0, 0, 0.9, "static", 64, 4}};
enum { N_FILES = sizeof files / sizeof *files };

static void write_sparsity(FILE *f, const struct zoo_file *z)
{
    (void)fprintf(f, "    sparsity:\n      sparsity: %g\n      init_method: random\n", z->sparsity);
    if (z->n_updating)
        (void)fprintf(f,
                      "      algorithm: %s\n      drop_fraction: {type: cosine, init: 0.3, "
                      "half_period: %d}\n      update: {freq: 100, stop: %d}\n",
                      z->algorithm, z->n_updating, z->n_updating);
    (void)fprintf(f, "      param_filter:\n      - '*proj_[qkv]_dense_layer.weight'\n"
                     "      - '*proj_output_dense_layer.weight'\n      - '*linear_layer.weight'\n");
}

static const char *write_file(const struct zoo_file *z)
{
    static char path[200];
    (void)snprintf(path, sizeof path, "%s.yaml", job_path(z->name));
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    if (!f) return path;
    (void)fprintf(f,
                  "trainer:\n  init:\n    backend: {backend_type: CSX}\n"
                  "    model: {name: gpt3, hidden_size: %d, num_hidden_layers: %d, num_heads: %d, "
                  "filter_size: %d, max_position_embeddings: %d, vocab_size: 50257, dropout_rate: "
                  "%g, attention_dropout_rate: %g, share_embedding_weights: true}\n"
                  "    optimizer: {AdamW: {betas: [0.9, 0.95], eps: 1.0e-8, weight_decay: 0.1}}\n"
                  "    schedulers:\n    - SequentialLR: {schedulers: [{LinearLR: "
                  "{initial_learning_rate: 0.0, end_learning_rate: 0.0006, total_iters: %d}}, "
                  "{CosineDecayLR: {initial_learning_rate: 0.0006, end_learning_rate: 6.0e-5, "
                  "total_iters: %d}}]}\n"
                  "    precision: {enabled: true, fp16_type: cbfloat16, loss_scaling_factor: "
                  "dynamic, max_gradient_norm: 1.0}\n",
                  z->hidden, z->layers, z->heads, 4 * z->hidden, z->length, z->dropout, z->dropout,
                  z->n_warm, z->n_steps - z->n_warm);
    write_sparsity(f, z);
    (void)fprintf(f,
                  "    loop: {max_steps: %d, eval_frequency: 956, eval_steps: 1}\n"
                  "    checkpoint: {steps: 956}\n    logging: {log_steps: 50}\n"
                  "  fit:\n    train_dataloader: {data_processor: GptHDF5MapDataProcessor, "
                  "data_dir: ./elsewhere, batch_size: %d}\n",
                  z->n_steps, z->batch);
    CU_ASSERT(!fclose(f));
    return path;
}

/* The row of a matrix of each block: its elements and its density. */
static bool lists(const char *out, const struct zoo_file *z, const char *matrix, long long elements)
{
    char row[200], expected[120];
    const char *at = strstr(out, matrix);
    (void)snprintf(row, sizeof row, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
    (void)snprintf(expected, sizeof expected, "%d %s %lld %.4f %.4f", z->layers, z->algorithm,
                   elements, 1 - z->sparsity, 1 - z->sparsity);
    char words[200] = "", *rest = row;
    (void)strtok_r(row, " ", &rest);
    for (char *word = strtok_r(NULL, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        (void)snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s",
                       *words ? " " : "", word);
    if (strcmp(words, expected) != 0)
        (void)fprintf(stderr, "%s: %s: \"%s\", expected \"%s\"\n", z->name, matrix, words,
                      expected);
    return !strcmp(words, expected);
}

TEST(sparse_files, tensors_and_densities_are_listed)
{
    for (int i = 0; i < N_FILES; i++) {
        const struct zoo_file *z = &files[i];
        const long long n = (long long)z->hidden * z->hidden;
        struct spawn_result r;
        spawn_run(&r, "\"$WSC\" run --params %s --validate_only", write_file(z));
        T_EQ(r.status, 0);
        CU_ASSERT(lists(r.out, z, "self_attn.proj_q_dense_layer.weight", n));
        CU_ASSERT(lists(r.out, z, "self_attn.proj_output_dense_layer.weight", n));
        CU_ASSERT(lists(r.out, z, "ffn.ffn.0.linear_layer.weight", 4 * n));
        CU_ASSERT(lists(r.out, z, "ffn.ffn.1.linear_layer.weight", 4 * n));
        CU_ASSERT_PTR_NULL(strstr(r.out, "no tensor matches"));
        spawn_free(&r);
    }
}

static bool train(const char *before, const char *path, const struct zoo_file *z,
                  const char *options, struct job_metrics *m)
{
    const char *dir = job_path("zoo");
    const char *updates =
        z->n_updating ? "--set sparsity.update.freq=2 --set sparsity.drop_fraction.half_period=6"
                      : "";
    return spawn_ok("%s \"$WSC\" run --params %s --mode train --num_steps %d --model_dir %s "
                    "--set model.hidden_size=%d --set model.num_heads=%d --set "
                    "model.filter_size=%d --set model.num_hidden_layers=2 --set "
                    "model.vocab_size=257 --set model.max_position_embeddings=64 --set "
                    "train_input.data_dir=%s/train --set train_input.batch_size=24 --set "
                    "runconfig.log_steps=1 --set trace_hash=true %s %s",
                    before, path, STEPS, dir, z->width, z->small_heads, 4 * z->width, job_data(),
                    updates, options) &&
           job_read(dir, m) && m->n == STEPS;
}

static void check_file(const struct zoo_file *z)
{
#define SHARDS(n) " --set cluster.memoryx.shards=" #n
    static const struct {
        const char *before, *options;
        bool values;
    } machine[] = {{"", "--num_csx 1" SHARDS(1), true},
                   {"mpirun --quiet -n 6", "--num_csx 2" SHARDS(3), true},
                   {"OMP_NUM_THREADS=2", "--num_csx 8" SHARDS(3), true},
                   {"", "--num_csx 8 --numerics none" SHARDS(3), false}};
    const char *path = write_file(z);
    static struct job_metrics m[4];
    for (int i = 0; i < 4; i++)
        CU_ASSERT_FATAL(train(machine[i].before, path, z, machine[i].options, &m[i]));
    CU_ASSERT(job_same_values(&m[0], &m[1]));
    CU_ASSERT(job_same_values(&m[0], &m[2]));
    CU_ASSERT(job_same_times(&m[2], &m[3]));
    CU_ASSERT(strcmp(m[0].step[0].hash, m[0].step[STEPS - 1].hash) != 0);
}

TEST(sparse_files, files_of_125m_train)
{
    for (int i = 0; i < 3; i++)
        check_file(&files[i]);
}

TEST(sparse_files, wide_files_and_spdf_train)
{
    for (int i = 3; i < N_FILES; i++)
        check_file(&files[i]);
}
