// SPDX-License-Identifier: Apache-2.0
/* An encoder with a decoder as users run it, from lines of tokens: one result on every machine,
 * time with and without values, and a small T5 that learns a real text by span corruption. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/data.h>
#include <wsc/mem.h>
#include <wsc/zoo.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 4, SOURCE = 32, TARGET = 16, WORDS = 300, VOCABULARY = WORDS + 4, SENTINELS = 20 };

static const char params[] = "train_input:\n"
                             "    data_processor: T5DynamicDataProcessor\n"
                             "    src_vocab_file: %s/vocab.txt\n"
                             "    src_data_dir: %s\n"
                             "    extra_ids: 20\n"
                             "    src_max_sequence_length: 32\n"
                             "    tgt_max_sequence_length: 16\n"
                             "    shuffle: true\n"
                             "    shuffle_seed: 1\n"
                             "    batch_size: 12\n"
                             "model:\n"
                             "    src_vocab_size: 304\n"
                             "    extra_ids: 20\n"
                             "    encoder_num_hidden_layers: 2\n"
                             "    decoder_num_hidden_layers: 2\n"
                             "    d_model: 48\n"
                             "    d_kv: 16\n"
                             "    num_heads: 3\n"
                             "    d_ff: 64\n"
                             "    encoder_nonlinearity: geglu\n"
                             "    position_embedding_type: relative\n"
                             "    mlm_loss_scaling: num_masked\n"
                             "    mixed_precision: false\n"
                             "optimizer:\n"
                             "    optimizer_type: AdamW\n"
                             "    learning_rate: 0.004\n"
                             "    max_gradient_norm: 1.0\n"
                             "runconfig:\n"
                             "    max_steps: 1000\n"
                             "trace_hash: true\n";

/* Lines of words, the most frequent of which are the vocabulary; made once. */
static const char *corpus(void)
{
    static char dir[160];
    if (dir[0]) return dir;
    (void)snprintf(dir, sizeof dir, "%s", job_path("words"));
    char path[200];
    (void)snprintf(path, sizeof path, "%s/t5.yaml", dir);
    CU_ASSERT_FATAL(spawn_ok(
        "mkdir -p %s && cd %s && (cat /usr/share/doc/jargon-text/jargon.txt.gz | gzip -dc) | "
        "LC_ALL=C tr A-Z a-z | LC_ALL=C tr -cs 'a-z\\n' ' ' | awk 'NF > 7' | head -n 4000 > a.txt "
        "&& "
        "(printf '<pad>\\n</s>\\n<unk>\\n<s>\\n'; tr ' ' '\\n' < a.txt | grep . | LC_ALL=C sort | "
        "uniq -c | LC_ALL=C sort -k1,1nr -k2 | head -n %d | awk '{print $2}') > vocab.txt && "
        "echo 'a.txt 4000' > meta.dat",
        dir, dir, WORDS));
    FILE *f = fopen(path, "w");
    CU_ASSERT_FATAL(f && fprintf(f, params, dir, dir) > 0 && !fclose(f));
    return dir;
}

static bool train(const char *before, const char *dir, const char *options)
{
    return spawn_ok("%s \"$WSC\" run --params %s/t5.yaml --model_dir %s %s", before, corpus(), dir,
                    options);
}

TEST(seq2seq, values_do_not_depend_on_who_computes_them)
{
    static const struct {
        const char *before, *options;
    } ways[] = {{"", "--num_csx 3 --set train_input.micro_batch_size=1"},
                {"OMP_NUM_THREADS=2", "--num_csx 2 --set cluster.memoryx.shards=3 --set "
                                      "cluster.stream.granularity=matrix"},
                {"mpirun --quiet -n 3", "--num_csx 2 --set cluster.memoryx.shards=2"}};
    static const char more[] = "--set model.mixed_precision=true --set model.fp16_type=bfloat16";
    struct job_metrics one = {0}, other = {0};
    char options[600], dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("t5"));
    (void)snprintf(options, sizeof options, "--num_steps %d %s", STEPS, more);
    CU_ASSERT_FATAL(train("", dir, options) && job_read(dir, &one));
    T_EQ(one.n, STEPS);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(options, sizeof options, "--num_steps %d %s %s", STEPS, more,
                       ways[i].options);
        (void)snprintf(dir, sizeof dir, "%s", job_path("t5"));
        CU_ASSERT_FATAL(train(ways[i].before, dir, options) && job_read(dir, &other));
        CU_ASSERT(job_same_values(&one, &other));
    }
}

/* Every line has spans: none is left out, as a translation may be. */
TEST(seq2seq, lines_of_spans_are_all_read)
{
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" run --params %s/t5.yaml --num_steps 1 --model_dir %s", corpus(),
              job_path("t5_read"));
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NULL(strstr(r.err, "left out"));
    spawn_free(&r);
}

TEST(seq2seq, time_is_that_of_a_run_with_values)
{
    static const char *const ways[] = {"", "--set model.use_pre_encoder_decoder_layer_norm=false "
                                           "--set cluster.stream.granularity=matrix"};
    struct job_metrics with, without;
    char options[300], a[160], b[160];
    for (int i = 0; i < 2; i++) {
        (void)snprintf(a, sizeof a, "%s", job_path("t5_values"));
        (void)snprintf(b, sizeof b, "%s", job_path("t5_none"));
        (void)snprintf(options, sizeof options, "--num_steps 3 --num_csx 2 %s", ways[i]);
        CU_ASSERT_FATAL(train("", a, options) && job_read(a, &with));
        (void)snprintf(options, sizeof options, "--num_steps 3 --num_csx 2 --numerics none %s",
                       ways[i]);
        CU_ASSERT_FATAL(train("mpirun --quiet -n 2", b, options) && job_read(b, &without));
        CU_ASSERT(job_same_times(&with, &without));
    }
}

/* The profile has the blocks of each stack by its name, numbered from 0, and no row twice. */
TEST(seq2seq, modules_of_the_profile_have_the_names_of_their_stack)
{
    static const char *const names[] = {
        "model.encoder_embeddings.fwd", "model.decoder_embeddings.bwd",
        "model.encoder.layers.1.self_attn.fwd", "model.decoder.layers.0.multihead_attn.bwd",
        "model.decoder.layers.1.ffn.0.fwd"};
    char dir[160], options[300];
    (void)snprintf(dir, sizeof dir, "%s", job_path("t5_profile"));
    (void)snprintf(options, sizeof options, "--num_steps 3 --numerics none --trace %s.json", dir);
    CU_ASSERT_FATAL(train("", dir, options));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CU_ASSERT(spawn_ok("grep -q '^%s,' %s/op_profile.csv", names[i], dir));
    CU_ASSERT(spawn_ok("! grep -E 'transformer|layers.2' %s/op_profile.csv", dir));
    CU_ASSERT(spawn_ok("test -z \"$(cut -d, -f1 %s/op_profile.csv | sort | uniq -d)\"", dir));
}

/* A run that stops and resumes has the values of one that does not. */
TEST(seq2seq, a_checkpoint_resumes)
{
    struct job_metrics whole = {0}, resumed = {0};
    char a[160], b[160];
    (void)snprintf(a, sizeof a, "%s", job_path("t5_whole"));
    (void)snprintf(b, sizeof b, "%s", job_path("t5_resumed"));
    CU_ASSERT_FATAL(train("", a, "--num_steps 4") && job_read(a, &whole));
    CU_ASSERT_FATAL(train("", b, "--num_steps 2 --set runconfig.checkpoint_steps=2"));
    CU_ASSERT_FATAL(train("", b, "--num_steps 2 --num_csx 2") && job_read(b, &resumed));
    T_EQ(resumed.n, whole.n);
    CU_ASSERT(job_same_values(&whole, &resumed));
}

/* Scaled by the ratio of widths: one result everywhere, a checkpoint that resumes, and no folder of
 * Hugging Face, whose T5 has no key for the factors. */
TEST(seq2seq, a_model_by_mup_trains_and_has_no_folder)
{
    static const char mup[] = "--set model.mup_base_d_model=12 --set model.mup_base_d_ff=16 "
                              "--set model.embeddings_alpha=2 --set model.nonlinearity=relu "
                              "--set model.encoder_attention_logits_alpha=4";
    struct job_metrics whole = {0}, resumed = {0};
    struct spawn_result r;
    char a[160], b[160], options[500];
    (void)snprintf(a, sizeof a, "%s", job_path("t5_mup"));
    (void)snprintf(b, sizeof b, "%s", job_path("t5_mup_resumed"));
    (void)snprintf(options, sizeof options, "--num_steps 4 --num_csx 3 %s", mup);
    CU_ASSERT_FATAL(train("", a, options) && job_read(a, &whole));
    (void)snprintf(options, sizeof options, "--num_steps 2 --set runconfig.checkpoint_steps=2 %s",
                   mup);
    CU_ASSERT_FATAL(train("", b, options));
    (void)snprintf(options, sizeof options, "--num_steps 2 --num_csx 2 %s", mup);
    CU_ASSERT_FATAL(train("mpirun --quiet -n 2", b, options) && job_read(b, &resumed));
    CU_ASSERT(job_same_values(&whole, &resumed));
    spawn_run(&r,
              "\"$WSC\" convert --from cs --to hf --model t5 --params %s/t5.yaml --input "
              "%s/checkpoint_2.mdl --out %s %s",
              corpus(), b, job_path("t5_mup_hf"), mup);
    T_EQ(r.status, 2);
    CU_ASSERT(strstr(r.err, "a t5 model has no factors of embeddings, scores and logits") != NULL);
    if (r.status != 2) (void)fprintf(stderr, "%s\n", r.err);
    spawn_free(&r);
}

/* Sources and targets in one folder, in two below it, and targets in a folder of their own. */
TEST(seq2seq, translations_in_subfolders)
{
    static const char *const ways[][2] = {
        {"a.txt b.txt", ""}, {"de/a.txt en/a.txt", ""}, {"de/a.txt a.txt", "en"}};
    struct job_metrics flat = {0}, other = {0};
    char dir[160], pairs[160], options[700];
    (void)snprintf(pairs, sizeof pairs, "%s", job_path("pairs"));
    CU_ASSERT_FATAL(
        spawn_ok("mkdir -p %s/de %s/en && cd %s && head -n 200 %s/a.txt | cut -d ' ' -f 1-12 > "
                 "a.txt && tail -n 200 %s/a.txt | cut -d ' ' -f 1-9 > b.txt && cp a.txt de && cp "
                 "b.txt en/a.txt",
                 pairs, pairs, pairs, corpus(), corpus()));
    for (int i = 0; i < 3; i++) {
        (void)snprintf(dir, sizeof dir, "%s", job_path("translations"));
        (void)snprintf(options, sizeof options,
                       "--num_steps 2 --set train_input.data_processor="
                       "TransformerDynamicDataProcessor --set train_input.extra_ids=0 --set "
                       "train_input.tgt_vocab_file=%s/vocab.txt --set train_input.data_dir=%s "
                       "--set train_input.tgt_data_dir=%s/%s",
                       corpus(), pairs, pairs, ways[i][1]);
        CU_ASSERT_FATAL(spawn_ok("echo '%s' > %s/meta.dat", ways[i][0], pairs));
        CU_ASSERT_FATAL(train("", dir, options) && job_read(dir, i ? &other : &flat));
        CU_ASSERT(!i || job_same_values(&flat, &other));
    }
    struct spawn_result r;
    CU_ASSERT_FATAL(spawn_ok("echo 'de/a.txt' > %s/meta.dat", pairs));
    spawn_run(&r, "\"$WSC\" run --params %s/t5.yaml --model_dir %s %s", corpus(), dir, options);
    T_EQ(r.status, 1);
    CU_ASSERT(strstr(r.err, "meta.dat: number 1 of its lines names no file of targets") != NULL);
    if (r.status != 1) (void)fprintf(stderr, "%s\n", r.err);
    spawn_free(&r);
}

/* Sentinels are tokens of the decoder, and may end a text. */
TEST(seq2seq, a_sentinel_may_end_a_text)
{
    struct spawn_result r;
    for (int beyond = 0; beyond < 2; beyond++) {
        spawn_run(&r,
                  "\"$WSC\" run --params %s/t5.yaml --mode generate --prompt_ids 7,8 "
                  "--max_new_tokens 2 --eos_id %d --model_dir %s --set "
                  "runconfig.autoload_last_checkpoint=false",
                  corpus(), VOCABULARY + SENTINELS - 1 + beyond, job_path("t5_ended"));
        T_EQ(r.status, beyond ? 2 : 0);
        CU_ASSERT(!beyond == !strstr(r.err, "--eos_id 324: the texts of"));
        CU_ASSERT(!beyond == !strstr(r.err, "have 324 token ids; hint: an id below 324"));
        spawn_free(&r);
    }
}

/* What a generation of 40 random tokens prints after the prompt 'ab', of which @p how says the
 * form; owned. */
static char *draw(const char *how)
{
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" run --params %s/t5.yaml --mode generate %s --temperature 9 --top_k 0 "
              "--max_new_tokens 7 --model_dir %s --set runconfig.autoload_last_checkpoint=false | "
              "grep -v INFO:",
              corpus(), how, job_path("drawn"));
    return spawn_output(&r);
}

/* The tokenizer has bytes alone: other tokens are printed as their ids, sentinels by their names.
 */
TEST(seq2seq, tokens_that_the_tokenizer_lacks_are_printed)
{
    char *ids = draw("--prompt_ids 97,98 --prompt_ids 99,97 --prompt_ids 98"),
         *text = draw("--tokenizer byte --prompt ab --prompt ca --prompt b");
    char expected[2000] = "";
    int n_sentinels = 0, n_ids = 0;
    for (char *at = ids; *at; at++) {
        char *out = expected + strlen(expected);
        const size_t room = sizeof expected - strlen(expected);
        const int id = (int)strtol(at, &at, 10), from_end = VOCABULARY + SENTINELS - 1 - id;
        const bool shown = (id >= 32 && id < 127) || id == 9 || id == 10;
        if (from_end < SENTINELS)
            (void)snprintf(out, room, "<extra_id_%d>", from_end);
        else if (id > 255)
            (void)snprintf(out, room, "<%d>", id);
        else
            (void)snprintf(out, room, "%c", shown ? id : '?');
        n_sentinels += from_end < SENTINELS;
        n_ids += id > 255 && from_end >= SENTINELS;
        if (*at == '\n') (void)strncat(expected, "\n", 2);
    }
    CU_ASSERT(n_sentinels > 0 && n_ids > 0);
    T_STR(text, expected);
    free(ids);
    free(text);
}

/* A key of generation alone does not make a checkpoint one of another model. */
TEST(seq2seq, the_first_token_of_targets_is_nothing_that_is_trained)
{
    struct spawn_result r;
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("start"));
    CU_ASSERT_FATAL(train("", dir, "--max_steps 1"));
    spawn_run(&r,
              "\"$WSC\" run --params %s/t5.yaml --max_steps 2 --model_dir %s "
              "--set model.decoder_start_token_id=3",
              corpus(), dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.err, "model.decoder_start_token_id: without effect: the mode does not generate"));
    spawn_free(&r);
}

/* ---- learning -------------------------------------------------------------------------------- */

/* Entropy of the labels, nats: the loss of a model that knows nothing but how frequent each is. */
static double unigram_entropy(struct data_source *source)
{
    enum { SAMPLES = 2000 };
    static int64_t count[VOCABULARY + SENTINELS];
    struct data_batch *batch = NULL;
    int64_t n = 0;
    double nats = 0;
    CU_ASSERT_FATAL(test_ok(data_batch_create(&batch, SAMPLES, SOURCE + TARGET)) &&
                    test_ok(data_source_read(source, 0, SAMPLES, batch)));
    for (int64_t i = 0; i < SAMPLES * batch->T; i++) {
        count[batch->labels[i]] += batch->mask[i];
        n += batch->mask[i];
    }
    for (int i = 0; i < VOCABULARY + SENTINELS; i++) {
        const double p = (double)count[i] / (double)n;
        if (count[i]) nats -= p * log(p);
    }
    data_batch_destroy(&batch);
    return nats;
}

static double entropy_of_corpus(void)
{
    struct zoo_params p = {0};
    struct data_source *source = NULL;
    char path[200], *bytes = NULL;
    size_t n = 0;
    (void)snprintf(path, sizeof path, "%s/t5.yaml", corpus());
    CU_ASSERT_FATAL(test_ok(conf_read_file(path, &bytes, &n)) &&
                    test_ok(zoo_params_parse(&p, path, bytes, n, NULL, 0)) &&
                    test_ok(data_source_open(&source, &p.train_input, SOURCE + TARGET,
                                             VOCABULARY + SENTINELS)));
    const double nats = unigram_entropy(source);
    data_source_close(&source);
    zoo_params_fini(&p);
    wsc_free(bytes);
    return nats;
}

TEST(seq2seq, a_small_t5_learns_what_follows_what)
{
    enum { LEARN = 240, LAST = 20 };
    struct job_metrics m = {0};
    char dir[160], options[160];
    double loss = 0;
    (void)snprintf(dir, sizeof dir, "%s", job_path("t5_learns"));
    (void)snprintf(options, sizeof options, "--num_steps %d --set model.dropout_rate=0", LEARN);
    CU_ASSERT_FATAL(train("", dir, options) && job_read(dir, &m) && m.n == LEARN);
    for (int i = LEARN - LAST; i < LEARN; i++)
        loss += strtod(m.step[i].loss, NULL) / LAST;
    const double unigram = entropy_of_corpus();
    if (!(loss < 0.9 * unigram))
        (void)fprintf(stderr, "loss %.3f, unigram entropy %.3f\n", loss, unigram);
    CU_ASSERT(loss < 0.9 * unigram);
}
