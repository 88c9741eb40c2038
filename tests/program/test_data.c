// SPDX-License-Identifier: Apache-2.0
/* `wsc data`: killed at any moment and started again it makes the files of a run that was not;
 * what it cannot do it refuses in one line. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/rng.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BPE "--tokenizer bpe --vocab tests/data/bpe_vocab.json --merges tests/data/bpe_merges.txt"

static void sleep_ms(int ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    (void)nanosleep(&t, NULL);
}

/* Text as JSON Lines, some long, some empty, and one that is most of the file. */
static void put_lines(const char *path, int n_lines, int n_words)
{
    static const char *const words[] = {"the",   "quick", "brown", "f\xc3\xb6x",
                                        "jumps", "12",    "\\n",   "\\u4e00\\u4e8c",
                                        "over",  "lazy",  "dogs",  "it's"};
    uint64_t at = 0;
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (int line = 0; line < n_lines; line++) {
        uint64_t n = wsc_rng_u64(1, WSC_RNG_TEST, at++) % 40;
        if (line == n_lines / 2) n = (uint64_t)n_words;
        (void)fputs("{\"id\": 7, \"text\": \"", f);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t x = wsc_rng_u64(1, WSC_RNG_TEST, at++);
            (void)fprintf(f, "%s%s%llx", i ? " " : "", words[x % 12],
                          x % 5 ? 0ULL : (unsigned long long)(x >> 40));
        }
        (void)fputs("\"}\n", f);
    }
    (void)fclose(f);
}

/* Start it, wait for a state, kill it @p ms later; true when it ended before, which it does without
 * an error.  One that finds a state says so. */
static bool run_for(const char *command, const char *state, int ms)
{
    struct spawn s;
    struct spawn_result r;
    const bool has_state = access(state, F_OK) == 0;
    if (!spawn_start(&s, command)) return false;
    while (!spawn_ended(&s) && access(state, F_OK) != 0)
        sleep_ms(1);
    sleep_ms(ms);
    (void)spawn_kill(&s);
    spawn_wait(&s, 30, &r);
    const bool done = r.status != 128 + SIGKILL;
    if (done && r.status) T_STR(r.err, "");
    if (!r.status) T_EQ(strstr(r.out, "resumed an interrupted run") != NULL, has_state);
    spawn_free(&r);
    return done;
}

static void killed_is_like_straight(const char *options)
{
    char in[160], out[160], straight[160], state[200], command[1024];
    int n_resumed = 0, n_runs = 0;
    bool done = false;
    (void)snprintf(in, sizeof in, "%s.jsonl", job_path("lines"));
    (void)snprintf(out, sizeof out, "%s", job_path("killed"));
    (void)snprintf(straight, sizeof straight, "%s", job_path("straight"));
    (void)snprintf(state, sizeof state, "%s/wsc-data.tmp/state", out);
    put_lines(in, 20000, 400000);
    (void)snprintf(command, sizeof command,
                   "\"$WSC\" data --input %s --out %s --max_seq_length 64 --samples_per_file 500 "
                   "--checkpoint_bytes 100000 --split 0.1 --test_split 0.05 %s",
                   in, out, options);
    CU_ASSERT_FATAL(spawn_ok("%s && mv %s %s", command, out, straight));
    for (; n_runs < 200 && !done; n_runs++) {
        n_resumed += access(state, F_OK) == 0;
        done = run_for(command, state, n_runs * n_runs); /* a busy machine may need seconds */
    }
    CU_ASSERT(done && n_runs >= 2 && n_resumed >= 1);
    CU_ASSERT(spawn_ok("diff -r %s %s", straight, out));
}

TEST(data, killed_and_started_again_makes_the_same_files)
{
    killed_is_like_straight(BPE);
    killed_is_like_straight("--shuffle --seed 3 --dtype uint16 --eos_id 300");
    killed_is_like_straight("--shuffle --eos_id 256 --use_vsl");
}

TEST(data, a_damaged_or_foreign_state_is_not_used)
{
    char in[160], out[160], command[800];
    (void)snprintf(in, sizeof in, "%s.jsonl", job_path("damaged"));
    (void)snprintf(out, sizeof out, "%s", job_path("damaged"));
    put_lines(in, 3000, 300000);
    (void)snprintf(command, sizeof command,
                   "\"$WSC\" data --input %s --out %s --checkpoint_bytes 100000 " BPE, in, out);
    CU_ASSERT_FATAL(spawn_ok("%s && mv %s %s.straight", command, out, out));
    static const char *const damage[] = {"printf x | dd of=tokens bs=1 seek=1000 conv=notrunc 2>&1",
                                         "sed -i s/^tokens/tokenz/ state", "truncate -s 10 tokens"};
    for (int i = 0; i < 3; i++) {
        /* A disk that is full stops it between two states. */
        CU_ASSERT(spawn_ok("! (ulimit -f 300; trap '' XFSZ; %s) 2>&1", command));
        CU_ASSERT_FATAL(spawn_ok("test -s %s/wsc-data.tmp/state", out));
        CU_ASSERT(spawn_ok("cd %s/wsc-data.tmp && %s", out, damage[i]));
        CU_ASSERT(spawn_ok("%s | grep -c '^resumed an interrupted run' | grep -x 0", command));
        CU_ASSERT(spawn_ok("diff -r %s.straight %s && rm -r %s", out, out, out));
    }
}

struct refusal {
    const char *options;
    int status;
    const char *what;
};

/* The same file by its name, through a link, in a folder and under a second name. */
TEST(data, a_file_that_is_read_twice_is_named)
{
    static const struct {
        const char *input, *says;
    } row[] = {
        {"a.txt b.txt", ""},
        {"a.txt b.txt a.txt", "WARNING:   a.txt: is read again, as it is the file a.txt\n"},
        {"link.txt b.txt a.txt", "WARNING:   a.txt: is read again, as it is the file link.txt\n"},
        {"b.txt hard.txt a.txt", "WARNING:   a.txt: is read again, as it is the file hard.txt\n"},
        {". ./a.txt",
         "WARNING:   ./hard.txt: is read again, as it is the file ./a.txt, and so are 2 other "
         "files\n"},
    };
    const char *dir = job_path("twice");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && cd %s && echo one >a.txt && cp a.txt b.txt && "
                             "ln -s a.txt link.txt && ln a.txt hard.txt",
                             dir, dir));
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        spawn_run(&r, "cd %s && \"$WSC\" data --input %s --out %s --max_seq_length 2", dir,
                  row[i].input, job_path("twice_out"));
        T_EQ(r.status, 0);
        const char *said = strstr(r.err, "WARNING");
        T_STR(said ? said : "", row[i].says);
        spawn_free(&r);
    }
}

/* A part of an earlier dataset is named before it is removed. */
TEST(data, parts_of_an_earlier_dataset_that_go_are_named)
{
    struct spawn_result r;
    const char *out = job_path("parts");
    CU_ASSERT(spawn_ok("\"$WSC\" data --input docs/DATA.md --out %s --max_seq_length 64 --split "
                       "0.2 --test_split 0.2 && test -d %s/val && test -d %s/test",
                       out, out, out));
    spawn_run(&r, "\"$WSC\" data --input docs/DATA.md --out %s --max_seq_length 64 --split 0.3",
              out);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NULL(strstr(r.err, "val: of an earlier"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "/test: of an earlier dataset, will be removed: this one "
                                         "has no test samples; hint: another --out"));
    spawn_free(&r);
    CU_ASSERT(spawn_ok("test -d %s/val && ! test -e %s/test", out, out));
    CU_ASSERT(spawn_ok(
        "\"$WSC\" data --input docs/DATA.md --out %s --max_seq_length 64 --split 0.3", out));
}

TEST(data, refusals_are_one_line_with_a_hint)
{
    static const struct refusal cases[] = {
        {"--tokenizer sentencepiece", 2,
         "--tokenizer: expected byte, bpe or wordpiece, got \"sentencepiece\""},
        {"--tokenizer bpe", 2, "--vocab, --merges are missing; hint: wsc data --help"},
        {"--vocab x", 2, "--vocab: cannot be combined with --tokenizer byte"},
        {"--errors ignore", 2, "--errors: expected strict, replace or keep, got \"ignore\""},
        {"--dtype float", 2, "--dtype: expected int32 or uint16, got \"float\""},
        {"--format xml", 2, "--format: expected text, jsonl, csv or tsv, got \"xml\""},
        {"--format jsonl --errors keep", 1, ":1:1: expected an object"},
        {"--errors strict", 1, ":2:3: byte 0xFF is not UTF-8; hint: --errors replace"},
        {BPE, 1, ":2:3: byte 0xFF is not UTF-8"},
        {"--split 0.6 --test_split 0.4", 2,
         "--split, --test_split: fractions add up to 1, expected less than 1"},
        {"--eos_id -1", 2, "--eos_id"},
    };
    char in[160];
    (void)snprintf(in, sizeof in, "%s", job_path("bad"));
    FILE *f = fopen(in, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fputs("good\nno\xff\n", f);
    (void)fclose(f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spawn_result r;
        spawn_run(&r, "\"$WSC\" data --input %s --out %s.out %s", in, in, cases[i].options);
        T_EQ(r.status, cases[i].status);
        bool said =
            strstr(r.err, cases[i].what) && strchr(r.err, '\n') == r.err + strlen(r.err) - 1;
        if (!said) (void)fprintf(stderr, "%s: %s", cases[i].options, r.err);
        CU_ASSERT(said);
        spawn_free(&r);
    }
    CU_ASSERT(spawn_ok("! test -e %s.out", in));
}

/* Samples of a text that was held out for a test may be among the chats. */
TEST(data, chats_leave_no_part_of_an_earlier_dataset)
{
    const char *dir = job_path("stale");
    CU_ASSERT(spawn_ok("mkdir %s && seq 400 >%s/a.txt && "
                       "echo '{\"prompt\": \"hi\", \"completion\": \"yo\"}' >%s/b.jsonl",
                       dir, dir, dir));
    CU_ASSERT(spawn_ok("cd %s && \"$WSC\" data --input a.txt --tokenizer byte --max_seq_length 8 "
                       "--split 0.2 --test_split 0.2 --out o && test -d o/val -a -d o/test",
                       dir));
    CU_ASSERT(spawn_ok("cd %s && \"$WSC\" data --input b.jsonl --tokenizer byte --max_seq_length 8 "
                       "--chat_template plain --split 0 --out o && test -d o/train && "
                       "test ! -d o/val -a ! -d o/test",
                       dir));
}

TEST(data, a_tokenizer_is_learned_and_used)
{
    char out[160];
    (void)snprintf(out, sizeof out, "%s", job_path("learned"));
    CU_ASSERT_FATAL(spawn_ok("\"$WSC\" data train-bpe --input tests/data/bpe_train.txt --out %s "
                             "--vocab_size 600 | grep -q 'vocabulary 600'",
                             out));
    CU_ASSERT(
        spawn_ok("\"$WSC\" data --input tests/data/bpe_train.txt --out %s/set --tokenizer bpe "
                 "--vocab %s/vocab.json --merges %s/merges.txt --max_seq_length 32 && "
                 "grep -q '\"eos_id\": 599,' %s/set/train/data_params.json",
                 out, out, out, out));
    CU_ASSERT(
        spawn_ok("! \"$WSC\" data train-bpe --out %s 2>&1 | grep -v 'are missing; hint'", out));
    CU_ASSERT(spawn_ok("\"$WSC\" data train-bpe --help | grep -q 'wsc data train-bpe --input'"));
}

/* Two at once in one folder: the second is refused, and harms nothing. */
TEST(data, one_run_at_a_time)
{
    char in[160], out[160];
    (void)snprintf(in, sizeof in, "%s", job_path("lock.txt"));
    (void)snprintf(out, sizeof out, "%s", job_path("lock"));
    CU_ASSERT(spawn_ok("seq 1000 > %s && mkdir -p %s/wsc-data.tmp && touch %s/wsc-data.tmp/tokens",
                       in, out, out));
    CU_ASSERT(spawn_ok("flock %s/wsc-data.tmp sh -c '! \"$WSC\" data --input %s --out %s 2>&1 | "
                       "grep -v \"another .wsc data. is at work\"'",
                       out, in, out));
    CU_ASSERT(spawn_ok("test -e %s/wsc-data.tmp/tokens && \"$WSC\" data --input %s --out %s", out,
                       in, out));
}

/* ---- mixtures -------------------------------------------------------------------------------- */

static void put_mixture(const char *path, const char *shuffle)
{
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fprintf(f,
                  "train_input:\n"
                  "    data_processor: GptHDF5MapDataProcessor\n"
                  "    batch_size: 7\n"
                  "    shuffle: %s\n"
                  "    mixture:\n"
                  "        - {data_dir: %s/train, weight: 0.8, data_subset: \"0.0-0.1,0.5-0.6\"}\n"
                  "        - {data_dir: %s/val, weight: 0.2}\n"
                  "model: {vocab_size: 256, hidden_size: 32, num_heads: 2, num_hidden_layers: 1,\n"
                  "        filter_size: 64, max_position_embeddings: 64, dropout_rate: 0.0}\n"
                  "optimizer: {optimizer_type: AdamW, learning_rate: 0.001}\n"
                  "runconfig: {num_steps: 5}\n"
                  "trace_hash: true\n",
                  shuffle, job_data(), job_data());
    (void)fclose(f);
}

TEST(data, a_mixture_gives_the_same_values_on_any_systems_and_ranks)
{
    static const char *const shuffle[] = {"false", "true"};
    for (int k = 0; k < 2; k++) {
        struct job_metrics one, three;
        char params[160], a[160], b[160];
        (void)snprintf(params, sizeof params, "%s", job_path("mixture.yaml"));
        (void)snprintf(a, sizeof a, "%s", job_path("one"));
        (void)snprintf(b, sizeof b, "%s", job_path("three"));
        put_mixture(params, shuffle[k]);
        CU_ASSERT_FATAL(spawn_ok("\"$WSC\" run --params %s --model_dir %s", params, a));
        CU_ASSERT_FATAL(spawn_ok("mpirun --quiet -n 2 \"$WSC\" run --params %s --num_csx 3 "
                                 "--model_dir %s",
                                 params, b));
        CU_ASSERT_FATAL(job_read(a, &one) && job_read(b, &three));
        T_EQ(one.n, 5);
        CU_ASSERT(job_same_values(&one, &three));
    }
}

/* A share that rounds down to no sample is named, of a set with weight 0 nothing is wanted. */
TEST(data, a_set_of_a_mixture_without_samples_is_a_warning)
{
    static const char *const before[] = {"", "mpirun --quiet -n 4"};
    static const char *const weight[] = {"1e-9", "0", "0.2"};
    for (int i = 0; i < 6; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "%s %s --num_steps 1 --num_csx 2 --model_dir %s --set train_input.data_dir=null "
                  "--set train_input.mixture='[{data_dir: %s/train, weight: 1}, {data_dir: "
                  "%s/val, weight: %s}]'",
                  before[i % 2], job_tiny(), job_path("unread"), job_data(), job_data(),
                  weight[i / 2]);
        T_EQ(r.status, 0);
        const char *found = strstr(r.err, "train_input.mixture: an epoch has no sample of data "
                                          "set 2 of 2: its weight is too small beside the others");
        CU_ASSERT(!found == (i > 1));
        CU_ASSERT(!found || !strstr(found + 1, "train_input.mixture: an epoch"));
        spawn_free(&r);
    }
}

static void expect_end(const char *options, const char *message)
{
    struct spawn_result r;
    spawn_run(&r, "%s --model_dir %s --num_csx 2 %s", job_tiny(), job_path("once"), options);
    T_EQ(r.status, 2);
    if (!strstr(r.err, message)) T_STR(r.err, message);
    CU_ASSERT_PTR_NULL(strstr(r.out, "Step="));
    spawn_free(&r);
}

/* How many batches there are is known before the first step. */
TEST(data, data_that_do_not_repeat_are_compared_with_the_steps)
{
    struct job_metrics m;
    char dir[160];
    expect_end("--set train_input.repeat=false --set train_input.num_samples=20 --num_steps 3",
               "train_input.repeat: is false, and the data have 20 samples: after sample 0 there "
               "are 2 batches of 8, and the run reads 3; hint: --set train_input.repeat=true, or "
               "fewer steps");
    expect_end("--mode train_and_eval --set eval_input.repeat=false --set "
               "eval_input.num_samples=20 --num_steps 3",
               "eval_input.repeat: is false, and the data have 20 samples: after sample 0 there "
               "are 2 batches of 8, and the run reads 4; hint: --set eval_input.repeat=true, or "
               "fewer runconfig.eval_steps");
    (void)snprintf(dir, sizeof dir, "%s", job_path("once"));
    for (int i = 0; i < 2; i++)
        CU_ASSERT_FATAL(spawn_ok("%s %s --set train_input.repeat=false --set "
                                 "train_input.num_samples=20 --num_steps 1 --set "
                                 "runconfig.log_steps=5 --model_dir %s",
                                 i ? "mpirun --quiet -n 3" : "", job_tiny(), dir));
    CU_ASSERT(job_read(dir, &m) && m.n == 2 && m.step[1].step == 2);
    for (int n = 16; n <= 20; n += 4) {
        struct spawn_result r;
        spawn_run(&r,
                  "mpirun --quiet -n 3 %s --set train_input.repeat=false --set "
                  "train_input.num_samples=%d --num_steps 1 --model_dir %s",
                  job_tiny(), n, dir);
        T_EQ(r.status, 2);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "after sample 16 there are 0 batches of 8"));
        spawn_free(&r);
    }
}

TEST(data, a_batch_above_the_number_of_samples_warns_once)
{
    static const char *const batch[] = {"20", "24"};
    for (int i = 0; i < 2; i++) {
        struct spawn_result r;
        spawn_run(&r,
                  "mpirun --quiet -n 2 %s --set train_input.num_samples=20 --num_csx 2 "
                  "--set train_input.batch_size=%s --num_steps 1 --model_dir %s",
                  job_tiny(), batch[i], job_path(batch[i]));
        T_EQ(r.status, 0);
        const char *line = strstr(r.err, "train_input.batch_size: a batch of 24 is more than the "
                                         "20 samples of train_input");
        T_EQ(line != NULL, i == 1);
        CU_ASSERT_PTR_NULL(strstr(line ? line + 1 : "", "train_input.batch_size: a batch"));
        spawn_free(&r);
    }
}

/* Weights that need more memory than there is are not asked for when there is nothing to train on.
 */
TEST(data, missing_data_are_told_before_weights_are_made)
{
    struct spawn_result r;
    spawn_run(&r,
              "ulimit -v 1000000; %s --set model.hidden_size=4096 --set model.filter_size=16384 "
              "--set train_input.data_dir=/nowhere --model_dir %s",
              job_tiny(), job_path("no_data"));
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "data_dir /nowhere: cannot be listed"));
    spawn_free(&r);
}
