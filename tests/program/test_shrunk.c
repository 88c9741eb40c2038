// SPDX-License-Identifier: Apache-2.0
/* A file of every family, in the size that it is published in, trains as a shrunk copy when --set
 * makes its sizes small: what a user does who tries the own file on a laptop.  What has to be set
 * follows from what --validate_only --json prints.  WSC_MODELZOO=DIR does it with all params files
 * below a folder as well. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/rng.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 5, T = 64, SINKS = 4, SETS_BYTES = 2048, EOS = 256 };

/* ---- published sizes ------------------------------------------------------------------------- */

#define NO_BIAS                                                                                    \
    "use_projection_bias_in_attention: false, use_ffn_bias_in_attention: false, "                  \
    "use_ffn_bias: false"
#define LLAMA                                                                                      \
    "position_embedding_type: rotary, rotary_dim: 128, norm_type: rmsnorm, nonlinearity: swiglu, " \
    "share_embedding_weights: false, " NO_BIAS
#define GROUPS(n)                                                                                  \
    "attention_module: multiquery_attention, extra_attention_params: {num_kv_groups: " #n "}"

/* Keys of the model, then of train_input. */
static const struct published {
    const char *model, *input;
} published[] = {
    {.model =
         "name: gpt2, hidden_size: 768, num_hidden_layers: 12, num_heads: 12, filter_size: 3072, "
         "vocab_size: 50257, max_position_embeddings: 1024, dropout_rate: 0.1"},
    {.model =
         "name: gpt3, hidden_size: 1088, num_hidden_layers: 14, num_heads: 17, filter_size: 4352, "
         "vocab_size: 50257, max_position_embeddings: 2048, embeddings_scale: 10, "
         "output_logits_scale: 0.235, scale_qk_dot_by_d: true"},
    {.model =
         "name: gptj, hidden_size: 4096, num_hidden_layers: 28, num_heads: 16, filter_size: 16384, "
         "vocab_size: 50257, max_position_embeddings: 2048, rotary_dim: 64, use_ffn_bias: true, "
         "share_embedding_weights: false, use_bias_in_output: true"},
    {.model =
         "name: gpt-neox, hidden_size: 6144, num_hidden_layers: 44, num_heads: 64, filter_size: "
         "24576, "
         "vocab_size: 50277, max_position_embeddings: 2048, rotary_dim: 24, use_ffn_bias: true, "
         "use_untied_layer_norm: true, share_embedding_weights: false"},
    {.model = "name: falcon, hidden_size: 4544, num_hidden_layers: 32, num_heads: 71, filter_size: "
              "18176, "
              "vocab_size: 65024, max_position_embeddings: 2048, rotary_dim: 64, " NO_BIAS
              ", " GROUPS(1)},
    {.model = "name: llama, hidden_size: 4096, num_hidden_layers: 32, num_heads: 32, filter_size: "
              "14336, "
              "vocab_size: 128256, max_position_embeddings: 131072, rope_theta: 500000, "
              "pos_scaling_type: llama3, pos_scaling_factor: 8, " LLAMA ", " GROUPS(8)},
    {.model = "name: mistral, hidden_size: 4096, num_hidden_layers: 32, num_heads: 32, "
              "filter_size: 14336, "
              "vocab_size: 32000, max_position_embeddings: 32768, attention_sliding_window_length: "
              "4096, " LLAMA ", " GROUPS(8)},
    {.model = "name: mixtral, hidden_size: 4096, num_hidden_layers: 32, num_heads: 32, "
              "filter_size: 14336, "
              "vocab_size: 32000, max_position_embeddings: 32768, " LLAMA
              ", " GROUPS(8) ", "
                             "moe: {num_experts: 8, top_k: 2, load_balancing_loss_coef: 0.02}"},
    {.model = "name: bloom, hidden_size: 4096, num_hidden_layers: 30, num_heads: 32, filter_size: "
              "16384, "
              "vocab_size: 250880, max_position_embeddings: 2048, position_embedding_type: alibi, "
              "embedding_layer_norm: true"},
    {.model =
         "name: mpt, hidden_size: 4096, num_hidden_layers: 32, num_heads: 32, filter_size: 16384, "
         "vocab_size: 50432, max_position_embeddings: 2048, position_embedding_type: alibi, "
         "norm_type: biasless-layernorm, " NO_BIAS},
    {.model =
         "name: btlm, hidden_size: 2560, num_hidden_layers: 32, num_heads: 32, filter_size: 6826, "
         "vocab_size: 50257, max_position_embeddings: 8192, position_embedding_type: alibi, "
         "nonlinearity: swiglu, embeddings_scale: 14.6, output_logits_scale: 0.222, "
         "scale_qk_dot_by_d: true"},
    {.model =
         "name: jais, hidden_size: 5120, num_hidden_layers: 40, num_heads: 40, filter_size: 13653, "
         "vocab_size: 84992, max_position_embeddings: 2048, position_embedding_type: alibi, "
         "nonlinearity: swiglu, embeddings_scale: 14.6, output_logits_scale: 0.11, "
         "scale_qk_dot_by_d: true",
     .input = "mixture: [{data_dir: a, weight: 0.7}, {data_dir: b, weight: 0.3}]"},
    {.model = "name: starcoder, hidden_size: 6144, num_hidden_layers: 40, num_heads: 48, "
              "filter_size: 24576, vocab_size: 49152, max_position_embeddings: 8192, " GROUPS(1)},
    {.model = "name: santacoder, hidden_size: 2048, num_hidden_layers: 24, num_heads: 16, "
              "filter_size: 8192, vocab_size: 49280, max_position_embeddings: 2048, " GROUPS(1)},
    {.model =
         "name: gemma2, hidden_size: 3584, num_hidden_layers: 42, num_heads: 16, filter_size: "
         "14336, "
         "vocab_size: 256000, max_position_embeddings: 8704, position_embedding_type: rotary, "
         "rotary_dim: 256, attention_inner_dim: 4096, norm_type: rmsnorm, nonlinearity: geglu, "
         "norm_first_sandwich: true, attention_logit_softcapping: 50, final_logit_softcapping: 30, "
         "attention_sliding_window_length: 4096, sliding_window_every_other_decoder_layer: true, "
         "attention_sink_tokens: 512, embeddings_scale: 59.87, " GROUPS(8) ", " NO_BIAS,
     .input = "data_dir: elsewhere, data_transforms: [{name: add_sink_tokens, "
              "num_sink_tokens: 512, sink_token_id: 255999}]"},
};

static void write_params(const struct published *p, const char *path)
{
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    if (!f) return;
    (void)fprintf(f,
                  "train_input: {data_processor: GptHDF5MapDataProcessor, batch_size: 512, %s}\n"
                  "model: {%s, mixed_precision: true, fp16_type: bfloat16}\n"
                  "optimizer: {optimizer_type: AdamW, learning_rate: 0.003, weight_decay: 0.1, "
                  "max_gradient_norm: 1.0}\nrunconfig: {num_steps: 100000, log_steps: 100}\n",
                  p->input ? p->input : "data_dir: elsewhere", p->model);
    CU_ASSERT(!fclose(f));
}

/* ---- a shrunk copy --------------------------------------------------------------------------- */

/* Number at a key of a line of JSON; 0 where it is null, false or not there. */
static long long field(const char *json, const char *key)
{
    char quoted[64];
    (void)snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(json, quoted);
    return at ? strtoll(at + strlen(quoted), NULL, 10) : 0;
}

struct sets {
    char text[SETS_BYTES];
    size_t n;
};

static void set(struct sets *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void set(struct sets *s, const char *format, ...)
{
    va_list args;
    s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, " --set ");
    va_start(args, format);
    s->n += (size_t)vsnprintf(s->text + s->n, sizeof s->text - s->n, format, args);
    va_end(args);
    CU_ASSERT_FATAL(s->n < sizeof s->text);
}

/* Width, heads, and what goes with them. */
static void shrink_attention(struct sets *s, const char *json)
{
    enum { WIDTH = 64, HEADS = 4 };
    const long long heads = field(json, "num_heads"), groups = field(json, "num_kv_groups");
    const long long head = field(json, "head_dim"), turned = field(json, "rotary_dim");
    const bool own_width = head * heads != field(json, "hidden_size");
    const int small = (own_width ? 2 * WIDTH : WIDTH) / HEADS;
    set(s, "model.hidden_size=%d", WIDTH);
    set(s, "model.num_heads=%d", HEADS);
    if (own_width) set(s, "model.attention_inner_dim=%d", 2 * WIDTH);
    if (groups != heads)
        set(s, "model.extra_attention_params.num_kv_groups=%d", groups == 1 ? 1 : HEADS / 2);
    if (turned) set(s, "model.rotary_dim=%d", turned == head ? small : small / 2);
    if (field(json, "attention_sliding_window_length"))
        set(s, "model.attention_sliding_window_length=%d", T / 4);
}

/* Short texts, several in a sample: words out of a few, in lines of JSON. */
static const char *packed_data(void)
{
    static char dir[160];
    char text[176];
    if (dir[0]) return dir;
    (void)snprintf(dir, sizeof dir, "%s", job_path("packed"));
    (void)snprintf(text, sizeof text, "%s.jsonl", dir);
    FILE *f = fopen(text, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (uint64_t i = 0; f && i < 400; i++) {
        (void)fputs("{\"text\": \"", f);
        for (uint64_t n = wsc_rng_u64(2, WSC_RNG_TEST, i) % 30 + 1; n; n--)
            (void)fputs(n * i % 7 < 3 ? "on " : "red ", f);
        (void)fputs("\"}\n", f);
    }
    CU_ASSERT_FATAL(f && !fclose(f));
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" data --input %s --out %s --max_seq_length %d --use_vsl "
                             "--eos_id %d",
                             text, dir, T, EOS));
    return dir;
}

static void shrink(struct sets *s, const char *json, bool sinks)
{
    shrink_attention(s, json);
    set(s, "model.num_hidden_layers=2");
    set(s, "model.filter_size=128");
    set(s, "model.vocab_size=%d", EOS + 1);
    set(s, "model.max_position_embeddings=%d", sinks ? T + SINKS : T);
    if (field(json, "num_experts")) set(s, "model.moe.num_experts=4");
    if (sinks) set(s, "model.attention_sink_tokens=%d", SINKS);
    if (sinks)
        set(s,
            "train_input.data_transforms='[{name: add_sink_tokens, num_sink_tokens: %d, "
            "sink_token_id: 255}]'",
            SINKS);
    set(s, "train_input.mixture=null");
    set(s, "train_input.data_dir=%s/train", job_data());
    set(s, "train_input.batch_size=8");
    set(s, "train_input.micro_batch_size=auto");
    set(s, "runconfig.log_steps=1");
    set(s, "trace_hash=true");
}

static bool train(const char *path, const struct sets *s, int num_csx, struct job_metrics *m)
{
    const char *dir = job_path("shrunk");
    return spawn_ok("\"$WSC\" run --params %s --mode train --num_steps %d --num_csx %d "
                    "--model_dir %s%s",
                    path, STEPS, num_csx, dir, s->text) &&
           job_read(dir, m) && m->n == STEPS;
}

/* Finite, and another one after the last step than after the first. */
static bool learns(const struct job_metrics *m)
{
    for (int i = 0; i < m->n; i++)
        if (!*m->step[i].loss || !isfinite(strtod(m->step[i].loss, NULL))) return false;
    return strcmp(m->step[0].loss, m->step[STEPS - 1].loss) != 0 &&
           strcmp(m->step[0].hash, m->step[STEPS - 1].hash) != 0;
}

static void check_trains(const char *path, const struct sets *s)
{
    struct job_metrics one, two;
    const bool ok = train(path, s, 1, &one) && learns(&one) && train(path, s, 2, &two) &&
                    job_same_values(&one, &two);
    if (!ok) (void)fprintf(stderr, "in: %s%s\n", path, s->text);
    CU_ASSERT(ok);
}

/* False when --validate_only has an error. */
static bool describe(const char *path, struct sets *s, bool sinks)
{
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" run --params '%s' --validate_only --json", path);
    const bool ok = r.status == 0;
    if (ok) shrink(s, r.out, sinks);
    spawn_free(&r);
    return ok;
}

TEST(shrunk, a_file_of_every_family_trains)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct sets s = {.n = 0};
        char path[200];
        (void)snprintf(path, sizeof path, "%s.yaml", job_path("published"));
        write_params(&published[i], path);
        CU_ASSERT(describe(path, &s, published[i].input && strstr(published[i].input, "sink")));
        check_trains(path, &s);
    }
}

/* Packed texts; one set of sink tokens before all of them has no meaning. */
TEST(shrunk, every_family_trains_on_packed_texts)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct sets s = {.n = 0};
        char path[200];
        const bool sinks = published[i].input && strstr(published[i].input, "sink");
        (void)snprintf(path, sizeof path, "%s.yaml", job_path("packed"));
        write_params(&published[i], path);
        describe(path, &s, sinks);
        set(&s, "train_input.data_dir=%s/train", packed_data());
        set(&s, "train_input.use_vsl=true");
        if (sinks) set(&s, "train_input.data_transforms=null");
        if (sinks) set(&s, "model.attention_sink_tokens=0");
        if (sinks) set(&s, "model.max_position_embeddings=%d", T);
        check_trains(path, &s);
    }
}

/* ---- files of users -------------------------------------------------------------------------- */

static bool says(const char *path, const char *word)
{
    struct spawn_result r;
    spawn_run(&r, "grep -qi %s '%s'", word, path);
    const bool found = r.status == 0;
    spawn_free(&r);
    return found;
}

/* False for what is refused: encoders, preference optimisation. */
static bool try_file(const char *path)
{
    struct sets s = {.n = 0};
    if (!describe(path, &s, says(path, "num_sink_tokens"))) return false;
    check_trains(path, &s);
    return true;
}

TEST(shrunk, files_of_a_folder_train)
{
    const char *folder = getenv("WSC_MODELZOO");
    struct spawn_result list;
    int n = 0, n_trained = 0;
    if (!folder) {
        (void)fprintf(stderr, "shrunk: WSC_MODELZOO names no folder: its files are left out\n");
        return;
    }
    spawn_run(&list, "find '%s' -name '*.yaml' | sort", folder);
    for (char *path = strtok(list.out, "\n"); path; path = strtok(NULL, "\n"), n++)
        n_trained += try_file(path);
    spawn_free(&list);
    (void)fprintf(stderr, "shrunk: %d of %d files of %s have values\n", n_trained, n, folder);
    CU_ASSERT(n_trained > 0);
}
