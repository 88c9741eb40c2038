// SPDX-License-Identifier: Apache-2.0
/* wsc convert as a user runs it: both ways, into a run, within a bound of memory. */
#include "../support/test.h"
#include "fault.h"
#include "small_job.h"
#include "spawn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool says(const char *text, const char *what)
{
    if (strstr(text, what)) return true;
    (void)fprintf(stderr, "\"%s\", expected \"%s\"\n", text, what);
    return false;
}

/* ---- there, back, and into a run ------------------------------------------------------------- */

/* The line of an evaluation that has the loss; empty when there is none. */
static void eval_loss(const char *params, const char *checkpoint, const char *dir, char loss[80])
{
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" run --params %s --mode eval --set eval_input.data_dir=%s/val "
              "--set runconfig.eval_steps=4 %s%s --model_dir %s",
              params, job_data(), checkpoint ? "--checkpoint_path " : "",
              checkpoint ? checkpoint : "", dir);
    const char *at = strstr(r.out, "Avg Eval Loss: ");
    (void)snprintf(loss, 80, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
    spawn_free(&r);
}

TEST(convert, a_trained_model_goes_there_and_back_into_a_run)
{
    char run[160], hf[160], cs[160], path[400], before[80], after[80];
    (void)snprintf(run, sizeof run, "%s", job_path("run"));
    (void)snprintf(hf, sizeof hf, "%s", job_path("hf"));
    (void)snprintf(cs, sizeof cs, "%s", job_path("cs"));
    CU_ASSERT_FATAL(spawn_ok("%s --num_steps 10 --model_dir %s", job_tiny(), run));
    CU_ASSERT(spawn_ok("\"$WSC\" convert --from cs --to hf --model gpt2 --out %s "
                       "--params configs/params/tiny.yaml --input %s/checkpoint_10.mdl "
                       "--shard_size 100kB",
                       hf, run));
    CU_ASSERT(spawn_ok("\"$WSC\" convert --from hf --to cs --input %s --out %s", hf, cs));
    (void)snprintf(path, sizeof path, "%s/checkpoint_10.mdl", run);
    eval_loss("configs/params/tiny.yaml", path, job_path("eval"), before);
    (void)snprintf(path, sizeof path, "%s/params.yaml", cs);
    eval_loss(path, NULL, job_path("eval"), after);
    CU_ASSERT(before[0] && !strcmp(before, after));
    if (strcmp(before, after) != 0) (void)fprintf(stderr, "%s, %s\n", before, after);
}

/* A folder with 32 bits cannot say that the params compute in 16: both ways say so. */
TEST(convert, a_precision_that_gets_lost_is_named)
{
    struct spawn_result r;
    char run[160], hf[160];
    (void)snprintf(run, sizeof run, "%s", job_path("run"));
    (void)snprintf(hf, sizeof hf, "%s", job_path("hf"));
    CU_ASSERT_FATAL(spawn_ok("%s --num_steps 1 --model_dir %s", job_tiny(), run));
    for (int narrow = 0; narrow < 2; narrow++) {
        spawn_run(&r,
                  "rm -rf %s && \"$WSC\" convert --from cs --to hf --model gpt2 --out %s --params "
                  "configs/params/tiny.yaml --input %s/checkpoint_1.mdl "
                  "--set model.mixed_precision=true %s && "
                  "\"$WSC\" convert --from hf --to cs --input %s --out %s",
                  hf, hf, run, narrow ? "--dtype bf16" : "", hf, job_path("cs"));
        T_EQ(r.status, 0);
        T_EQ(strstr(r.err, "cannot say model.mixed_precision; hint: ") != NULL, !narrow);
        T_EQ(strstr(r.out, "model.mixed_precision: false, as torch_dtype") != NULL, !narrow);
        spawn_free(&r);
    }
}

#define TOTAL(size)                                                                                \
    "sed -i 's/\"metadata\": {}/\"metadata\": {\"total_size\": " size "}/' "                       \
    "model.safetensors.index.json"
#define CLASS(name) "sed -i 's/LlamaForCausalLM/" name "/' config.json"
/* Convert a folder after a change in it; free with spawn_free(). */
static void convert_changed(const char *change, struct spawn_result *r)
{
    const char *dir = job_path("changed");
    CU_ASSERT_FATAL(spawn_ok("cp -r tests/data/hf_llama %s && cd %s && %s", dir, dir, change));
    spawn_run(r, "\"$WSC\" convert --from hf --to cs --input %s --out %s", dir,
              job_path("changed_cs"));
    T_EQ(r->status, 0);
}

/* A tied head of its own values, a value that ends every run, another size than that of the tensors
 * and a class of another name are converted with a word. */
TEST(convert, contradictions_of_a_folder_are_named)
{
    static const char *const change[] = {
        "sed -i 's/\"tie_word_embeddings\": false/\"tie_word_embeddings\": true/' config.json",
        "f=model-00001-of-00002.safetensors && printf '\\300\\177' | dd of=$f bs=1 "
        "seek=$(($(stat -c %s $f) - 2)) conv=notrunc",
        TOTAL("1000"),
        TOTAL("\"1000\""),
        CLASS("YiForCausalLM"),
        CLASS("LlamaModel"),
    };
    static const char *const says[] = {
        "tensor lm_head.weight differs from model.embed_tokens.weight and is left out",
        "has values that are not finite, such as nan",
        "index.json: metadata.total_size: 1000 bytes, but the tensors of the files have 16224",
        "metadata.total_size: expected a number of bytes",
        "architectures: YiForCausalLM is converted as LlamaForCausalLM",
        "architectures: LlamaModel is converted as LlamaForCausalLM",
    };
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        struct spawn_result r;
        convert_changed(change[i], &r);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, says[i]));
        CU_ASSERT(strchr(r.err, '\n') == strrchr(r.err, '\n'));
        spawn_free(&r);
    }
}

/* A window has one token more here than in the transformers library: both ways say so, unless it
 * hides nothing.  So are params that the conversion does not use. */
TEST(convert, a_sliding_window_is_named_both_ways)
{
    static const char *const window[] = {"5", "64"};
    struct spawn_result r;
    char hf[160], cs[160];
    (void)snprintf(hf, sizeof hf, "%s", job_path("window"));
    (void)snprintf(cs, sizeof cs, "%s", job_path("window_cs"));
    for (int i = 0; i < 2; i++) {
        spawn_run(&r,
                  "rm -rf %s %s && cp -r tests/data/hf_llama %s && sed -i 's/\"model_type\": "
                  "\"llama\"/\"model_type\": \"mistral\", \"sliding_window\": %s/; "
                  "s/LlamaFor/MistralFor/' %s/config.json && "
                  "\"$WSC\" convert --from hf --to cs --input %s --out %s",
                  hf, cs, hf, window[i], hf, hf, cs);
        T_EQ(r.status, 0);
        T_EQ(strstr(r.err, "sliding window of 5: a token sees itself and the 5 before it here") !=
                 NULL,
             !i);
        T_EQ(strstr(r.err, "attention_sliding_window_length 4\n") != NULL, !i);
        spawn_free(&r);
        spawn_run(&r,
                  "rm -rf %s && \"$WSC\" convert --from cs --to hf --model mistral --input "
                  "%s/model.mdl --params %s/params.yaml --out %s "
                  "--set model.alibi_implementation=embedding",
                  hf, cs, cs, hf);
        T_EQ(r.status, 0);
        T_EQ(strstr(r.err, "attention_sliding_window_length 6\n") != NULL, !i);
        CU_ASSERT(says(r.err, "model.alibi_implementation: ignored"));
        spawn_free(&r);
    }
}

/* Names of classes of which a checkpoint has numbers alone. */
TEST(convert, names_of_classes_that_are_lost_are_named)
{
    static const char lost[] = "id2label: names of classes are not kept";
    const char *dir = job_path("classes");
    struct spawn_result r;
    CU_ASSERT_FATAL(spawn_ok("cp -r tests/data/hf_bert_classifier %s", dir));
    for (int i = 0; i < 2; i++) {
        spawn_run(&r, "\"$WSC\" convert --from hf --to cs --input %s --out %s", dir,
                  job_path("classes_cs"));
        T_EQ(r.status, 0);
        CU_ASSERT((strstr(r.err, lost) != NULL) == !i);
        spawn_free(&r);
        CU_ASSERT(spawn_ok("sed -i 's/\"a\"/\"LABEL_0\"/; s/\"b\"/\"LABEL_1\"/; "
                           "s/\"c\"/\"LABEL_2\"/' %s/config.json",
                           dir));
    }
}

/* What agrees has no word. */
TEST(convert, a_folder_that_agrees_is_converted_in_silence)
{
    static const char *const change[] = {TOTAL("16224"), TOTAL("16224.0"),
                                         CLASS("LLaMAForCausalLM"),
                                         "sed -i 's/\"architectures\".*\\],//' config.json"};
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        struct spawn_result r;
        convert_changed(change[i], &r);
        T_STR(r.err, "");
        spawn_free(&r);
    }
}

/* Another number of heads has the same shapes, and gives other logits. */
TEST(convert, params_of_another_model_warn)
{
    struct spawn_result r;
    char run[160];
    (void)snprintf(run, sizeof run, "%s", job_path("run"));
    CU_ASSERT_FATAL(spawn_ok("%s --num_steps 1 --model_dir %s", job_tiny(), run));
    for (int other = 0; other < 2; other++) {
        spawn_run(&r,
                  "\"$WSC\" convert --from cs --to hf --model gpt2 --out %s --params "
                  "configs/params/tiny.yaml --input %s/checkpoint_1.mdl "
                  "--set train_input.batch_size=2 %s",
                  job_path("hf"), run, other ? "--set model.num_heads=4" : "");
        T_EQ(r.status, 0);
        T_EQ(strstr(r.err, "WARNING:   model.num_heads: 4; the checkpoint is of a run with 2") !=
                 NULL,
             other);
        CU_ASSERT_PTR_NULL(strstr(r.err, "batch_size"));
        spawn_free(&r);
    }
}

static double loss_of(const char *line)
{
    return *line ? strtod(line + sizeof "Avg Eval Loss: " - 1, NULL) : NAN;
}

/* Folders know no factors of muP: with them in the tensors the model is the same. */
static void check_folded(const char *factors)
{
    char run[160], hf[160], cs[160], path[400], before[80], after[80];
    (void)snprintf(run, sizeof run, "%s", job_path("run"));
    (void)snprintf(hf, sizeof hf, "%s", job_path("hf"));
    (void)snprintf(cs, sizeof cs, "%s", job_path("cs"));
    CU_ASSERT_FATAL(spawn_ok("%s --num_steps 6 --model_dir %s %s", job_tiny(), run, factors));
    CU_ASSERT(spawn_ok("\"$WSC\" convert --from cs --to hf --model gpt2 --out %s "
                       "--params configs/params/tiny.yaml --input %s/checkpoint_6.mdl %s",
                       hf, run, factors));
    CU_ASSERT(spawn_ok("\"$WSC\" convert --from hf --to cs --input %s --out %s", hf, cs));
    (void)snprintf(path, sizeof path, "%s/checkpoint_6.mdl %s", run, factors);
    eval_loss("configs/params/tiny.yaml", path, job_path("eval"), before);
    (void)snprintf(path, sizeof path, "%s/params.yaml", cs);
    eval_loss(path, NULL, job_path("eval"), after);
    T_NEAR(loss_of(before), loss_of(after), 2e-5); /* five digits are printed */
}

TEST(convert, factors_of_mup_become_part_of_the_tensors)
{
    check_folded("--set model.embeddings_scale=3 --set model.output_logits_scale=0.4 "
                 "--set model.scale_qk_dot_by_d=true");
    check_folded("--set model.embeddings_scale=3 --set model.embedding_layer_norm=false "
                 "--set model.share_embedding_weights=false --set model.attention_logits_alpha=2");
    check_folded("--set model.mup_base_hidden_size=16 --set model.mup_base_filter_size=64");
}

/* Eight tokens after three, on one and on two systems. */
static void check_continues(const char *dir)
{
    struct spawn_result r[2];
    for (int k = 0; k < 2; k++) {
        spawn_run(&r[k],
                  "\"$WSC\" run --params %s/params.yaml --mode generate --prompt_ids 1,2,3 "
                  "--temperature 0 --max_new_tokens 8 --model_dir %s/run --num_csx %d | "
                  "grep -v INFO:",
                  dir, dir, k + 1);
        T_EQ(r[k].status, 0);
    }
    CU_ASSERT(!strncmp(r[0].out, "1,2,3,", 6));
    T_STR(r[1].out, r[0].out);
    spawn_free(&r[0]);
    spawn_free(&r[1]);
}

/* The params that are written run as they are. */
TEST(convert, every_family_runs_with_the_params_that_were_written)
{
    static const char *const name[] = {"gpt2",  "llama",  "mistral",     "mixtral",    "starcoder",
                                       "gptj",  "neox",   "bloom",       "falcon_7b",  "falcon_40b",
                                       "btlm",  "jais",   "mpt",         "santacoder", "codegen",
                                       "qwen2", "gemma2", "mistral_wide"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char dir[160];
        (void)snprintf(dir, sizeof dir, "%s", job_path(name[i]));
        CU_ASSERT(spawn_ok("\"$WSC\" convert --from hf --to cs --input tests/data/hf_%s --out %s",
                           name[i], dir));
        check_continues(dir);
    }
}

/* Encoders do not generate: their params are read, with a plan and a speed. */
TEST(convert, encoders_have_a_plan_with_the_params_that_were_written)
{
    static const char *const name[] = {"bert", "bert_masked", "roberta", "esm2"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        struct spawn_result r;
        char dir[160];
        (void)snprintf(dir, sizeof dir, "%s", job_path(name[i]));
        CU_ASSERT(spawn_ok("\"$WSC\" convert --from hf --to cs --input tests/data/hf_%s --out %s",
                           name[i], dir));
        spawn_run(&r, "\"$WSC\" run --params %s/params.yaml --compile_only", dir);
        T_EQ(r.status, 0);
        CU_ASSERT(!strstr(r.err, "no effect"));
        if (strstr(r.err, "no effect")) (void)fprintf(stderr, "%s\n", r.err);
        spawn_free(&r);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* A GPT-2 whose tensors are holes of a file: 0.5 GB of values. */
static bool write_large(const char *dir)
{
    static const long long vocab = 100000, width = 1024, inner = 20000, length_max = 64;
    static const char config[] =
        "{\"model_type\": \"gpt2\", \"vocab_size\": 100000, \"n_embd\": 1024, "
        "\"n_layer\": 1, \"n_head\": 8, \"n_positions\": 64, "
        "\"n_inner\": 20000}";
    const struct {
        const char *name;
        long long rows, columns;
    } tensor[] = {{"wte.weight", vocab, width},
                  {"wpe.weight", length_max, width},
                  {"h.0.ln_1.weight", width, 0},
                  {"h.0.ln_1.bias", width, 0},
                  {"h.0.attn.c_attn.weight", width, 3 * width},
                  {"h.0.attn.c_attn.bias", 3 * width, 0},
                  {"h.0.attn.c_proj.weight", width, width},
                  {"h.0.attn.c_proj.bias", width, 0},
                  {"h.0.ln_2.weight", width, 0},
                  {"h.0.ln_2.bias", width, 0},
                  {"h.0.mlp.c_fc.weight", width, inner},
                  {"h.0.mlp.c_fc.bias", inner, 0},
                  {"h.0.mlp.c_proj.weight", inner, width},
                  {"h.0.mlp.c_proj.bias", width, 0},
                  {"ln_f.weight", width, 0},
                  {"ln_f.bias", width, 0}};
    char path[300], header[4096] = "{";
    size_t used = 1;
    long long at = 0;
    for (size_t i = 0; i < sizeof tensor / sizeof *tensor; i++) {
        const long long n = tensor[i].rows * (tensor[i].columns ? tensor[i].columns : 1);
        char shape[64];
        (void)snprintf(shape, sizeof shape, tensor[i].columns ? "%lld,%lld" : "%lld",
                       tensor[i].rows, tensor[i].columns);
        used += (size_t)snprintf(header + used, sizeof header - used,
                                 "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],"
                                 "\"data_offsets\":[%lld,%lld]}",
                                 i ? "," : "", tensor[i].name, shape, at, at + 4 * n);
        at += 4 * n;
    }
    (void)snprintf(header + used, sizeof header - used, "}");
    const unsigned long long length = strlen(header);
    if (mkdir(dir, 0777)) return false;
    (void)snprintf(path, sizeof path, "%s/config.json", dir);
    FILE *f = fopen(path, "w");
    bool ok = f && fputs(config, f) >= 0 && !fclose(f);
    (void)snprintf(path, sizeof path, "%s/model.safetensors", dir);
    f = ok ? fopen(path, "wb") : NULL;
    ok = f && fwrite(&length, 8, 1, f) == 1 && fputs(header, f) >= 0 && !fclose(f);
    return ok && !truncate(path, (off_t)(8 + (long long)length + at));
}

/* The limit is on data of the process, in KiB; the model has 570000. */
TEST(convert, memory_does_not_grow_with_the_model)
{
    char dir[160], cs[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("large"));
    (void)snprintf(cs, sizeof cs, "%s", job_path("large_cs"));
    CU_ASSERT_FATAL(write_large(dir));
    CU_ASSERT(spawn_ok("ulimit -d 150000 && export OMP_NUM_THREADS=1 && "
                       "\"$WSC\" convert --from hf --to cs --input %s --out %s",
                       dir, cs));
    CU_ASSERT(spawn_ok("ulimit -d 150000 && export OMP_NUM_THREADS=1 && "
                       "\"$WSC\" convert --from cs --to hf --model gpt2 --input %s/model.mdl "
                       "--params %s/params.yaml --out %s/hf --dtype bf16",
                       cs, cs, cs));
    CU_ASSERT(spawn_ok("rm -r %s %s", dir, cs));
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* With one other bit the model would be another one, and its new file would have valid sums. */
TEST(convert, a_damaged_checkpoint_is_refused)
{
    static const char tensor[] = "model.embedding_layer.word_embeddings.weight";
    static const struct {
        const char *to, *options;
    } row[] = {{"hf --model gpt2", ""},
               {"cs", "--set model.lora_params='{r: 4, target_modules: [Linear]}'"}};
    char run[160], out[160];
    for (int i = 0; i < 2; i++) {
        struct spawn_result r;
        (void)snprintf(run, sizeof run, "%s", job_path("damaged"));
        (void)snprintf(out, sizeof out, "%s", job_path("converted"));
        CU_ASSERT_FATAL(
            spawn_ok("%s --num_steps 1 --model_dir %s %s", job_tiny(), run, row[i].options));
        fault_invert_bit(run, "checkpoint_1.mdl", tensor, 1000);
        spawn_run(&r,
                  "\"$WSC\" convert --from cs --to %s --params configs/params/tiny.yaml --input "
                  "%s/checkpoint_1.mdl --out %s %s",
                  row[i].to, run, out, row[i].options);
        T_EQ(r.status, 1);
        CU_ASSERT(says(r.err, "checkpoint_1.mdl: the values of "));
        CU_ASSERT(says(r.err, tensor));
        T_EQ(access(out, F_OK), -1);
        spawn_free(&r);
    }
}

/* ---- wrong usage ----------------------------------------------------------------------------- */

TEST(convert, wrong_usage_is_told)
{
    static const struct {
        const char *options, *why;
        int status;
    } row[] = {
        {"--to cs --input a --out b", "--from is missing", 2},
        {"--from hf --to cs --out b", "--input is missing", 2},
        {"--from hf --to hf --input a --out b", "--from and --to name the same format", 2},
        {"--from cs --to hf --input a --out b", "--params, --model are missing", 2},
        {"--from cs --to hf --input a --out b --params p", "--model is missing", 2},
        {"--from cs --to hf --input a --out b --params p --model gpt5",
         "--model: expected gpt2, gptj,", 2},
        {"--from cs --to hf --input a --out b --dtype f8", "f32, f16 or bf16", 2},
        {"--from cs --to hf --input a --out b --shard_size 10", "--shard_size: expected a size", 2},
        {"--from cs --to hf --input a --out b --shard_size 3KB", "did you mean kB?", 2},
        {"--from hf --to cs --input /nonexistent --out b", "config.json: cannot be opened", 1},
        {"--from hf --to cs a", "a: unexpected argument", 2},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct spawn_result r;
        spawn_run(&r, "\"$WSC\" convert %s", row[i].options);
        T_EQ(r.status, row[i].status);
        CU_ASSERT(says(r.err, row[i].why));
        spawn_free(&r);
    }
}
