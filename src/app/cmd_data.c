// SPDX-License-Identifier: Apache-2.0
#include "data_options.h"

#include <wsc/report.h>

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: wsc data --input FILE|FOLDER... --out DIR [options]\n"
    "       wsc data train-bpe --input FILE|FOLDER... --out DIR --vocab_size N [options]\n\n"
    "Makes a Model Zoo HDF5 dataset from text: DIR/train, DIR/val, DIR/test with .h5 files and\n"
    "data_params.json.  A run that was interrupted goes on when it is started again.\n\n"
    "  --input PATH...        files or folders; plain, gzip or zstd\n"
    "  --out DIR              where the dataset goes\n"
    "  --format F             text, jsonl, csv or tsv (by the ending of each file, else text)\n"
    "  --jsonl_key KEY        key of the text in JSON Lines (text)\n"
    "  --column NAME          column of the text in CSV and TSV (text)\n"
    "  --errors HOW           where a byte is not UTF-8: strict (an error; default with bpe),\n"
    "                         replace (U+FFFD), keep (the bytes; default with byte)\n"
    "  --tokenizer KIND       byte: one token per byte, vocabulary 256 (default)\n"
    "                         bpe: byte-level BPE of GPT-2, with the two files\n"
    "  --vocab FILE           vocab.json\n"
    "  --merges FILE          merges.txt\n"
    "  --eos_id ID            put behind each document, or none (<|endoftext|> where the\n"
    "                         vocabulary has it)\n"
    "  --bos_id ID            put before each document, or none (none)\n"
    "  --pad_id ID            behind the text in the last sample (the EOS, else 0)\n"
    "  --max_seq_length T     tokens per sample (256)\n"
    "  --use_vsl              whole documents in a sample, which do not see each other: also\n"
    "                         attention_span and position_ids; needs an EOS\n"
    "  --split F              share of the samples held out in val/ (0.05)\n"
    "  --test_split F         share of the samples held out in test/ (0)\n"
    "  --shuffle              permute the samples before they are dealt out\n"
    "  --seed S               of that permutation (0)\n"
    "  --dtype TYPE           int32 or uint16 (int32)\n"
    "  --samples_per_file N   (2000)\n"
    "  --checkpoint_bytes N   text between two states to go on from (67108864)\n\n"
    "examples:\n"
    "  wsc data --input book.txt notes.txt.gz --out data/books --max_seq_length 512\n"
    "  wsc data --input pile/ --tokenizer bpe --vocab vocab.json --merges merges.txt \\\n"
    "           --out data/pile --max_seq_length 2048 --split 0.01 --test_split 0.01 --shuffle\n"
    "  wsc data --input reviews.csv.zst --column review --out data/reviews\n";

enum {
    OPT_TOKENIZER = DATA_OPT_OWN,
    OPT_VOCAB,
    OPT_MERGES,
    OPT_EOS,
    OPT_BOS,
    OPT_PAD,
    OPT_LENGTH,
    OPT_SPLIT,
    OPT_TEST_SPLIT,
    OPT_SHUFFLE,
    OPT_VSL,
    OPT_SEED,
    OPT_DTYPE,
    OPT_PER_FILE,
    OPT_CHECKPOINT
};
static const struct option long_option[] = {
    DATA_OPTIONS,
    {"tokenizer", required_argument, NULL, OPT_TOKENIZER},
    {"vocab", required_argument, NULL, OPT_VOCAB},
    {"merges", required_argument, NULL, OPT_MERGES},
    {"eos_id", required_argument, NULL, OPT_EOS},
    {"bos_id", required_argument, NULL, OPT_BOS},
    {"pad_id", required_argument, NULL, OPT_PAD},
    {"max_seq_length", required_argument, NULL, OPT_LENGTH},
    {"split", required_argument, NULL, OPT_SPLIT},
    {"test_split", required_argument, NULL, OPT_TEST_SPLIT},
    {"shuffle", no_argument, NULL, OPT_SHUFFLE},
    {"use_vsl", no_argument, NULL, OPT_VSL},
    {"seed", required_argument, NULL, OPT_SEED},
    {"dtype", required_argument, NULL, OPT_DTYPE},
    {"samples_per_file", required_argument, NULL, OPT_PER_FILE},
    {"checkpoint_bytes", required_argument, NULL, OPT_CHECKPOINT},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

static const int64_t max_id = (1 << 22) - 1, not_given = -2;

struct options {
    struct data_options common;
    struct data_make make;
    const char *tokenizer, *vocab, *merges;
    bool help;
};

static enum wsc_err take_dtype(struct options *o, const char *value)
{
    static const char *const words[] = {"int32", "uint16", NULL};
    int place = 0;
    TRY(app_data_word("--dtype", value, words, &place));
    o->make.type = (enum store_int)place;
    return WSC_OK;
}

static enum wsc_err take_id(const char *option, const char *value, int64_t *id)
{
    *id = DATA_NO_ID;
    return strcmp(value, "none") ? app_parse_int(option, value, 0, max_id, id) : WSC_OK;
}

static enum wsc_err take_number(struct options *o, int option, const char *value)
{
    struct data_make *m = &o->make;
    switch (option) {
    case OPT_EOS:
        return take_id("--eos_id", value, &m->eos_id);
    case OPT_BOS:
        return take_id("--bos_id", value, &m->bos_id);
    case OPT_PAD:
        return app_parse_int("--pad_id", value, 0, max_id, &m->pad_id);
    case OPT_LENGTH:
        return app_parse_int("--max_seq_length", value, 1, 1 << 20, &m->T);
    case OPT_SPLIT:
        return app_parse_real("--split", value, 0, 0.99, &m->share[DATA_VAL]);
    case OPT_TEST_SPLIT:
        return app_parse_real("--test_split", value, 0, 0.99, &m->share[DATA_TEST]);
    case OPT_SEED:
        return app_parse_int("--seed", value, INT64_MIN, INT64_MAX, &m->seed);
    case OPT_PER_FILE:
        return app_parse_int("--samples_per_file", value, 1, 1 << 30, &m->samples_per_file);
    default:
        return app_parse_int("--checkpoint_bytes", value, 1, INT64_MAX, &m->checkpoint_bytes);
    }
}

static enum wsc_err take_option(struct options *o, int option, const char *value)
{
    if (option >= DATA_OPT_INPUT && option < DATA_OPT_OWN)
        return app_data_option(&o->common, option, value);
    switch (option) {
    case OPT_TOKENIZER:
        o->tokenizer = value;
        return WSC_OK;
    case OPT_VOCAB:
        o->vocab = value;
        return WSC_OK;
    case OPT_MERGES:
        o->merges = value;
        return WSC_OK;
    case OPT_SHUFFLE:
        o->make.shuffle = true;
        return WSC_OK;
    case OPT_VSL:
        o->make.use_vsl = true;
        return WSC_OK;
    case OPT_DTYPE:
        return take_dtype(o, value);
    case 'h':
        o->help = true;
        return WSC_OK;
    default:
        return take_number(o, option, value);
    }
}

static enum wsc_err parse(struct options *o, int argc, char **argv)
{
    int option;
    data_make_defaults(&o->make);
    app_data_options_init(&o->common);
    o->make.share[DATA_VAL] = 0.05;
    o->make.eos_id = o->make.pad_id = not_given;
    o->tokenizer = "byte";
    while ((option = getopt_long(argc, argv, ":h", long_option, NULL)) != -1) {
        if (option == '?' || option == ':') return app_bad_option("data", argv, option);
        TRY(take_option(o, option, optarg));
    }
    /* --input takes a list: what follows it without an option is input too. */
    for (int i = optind; i < argc; i++)
        TRY(app_data_input(&o->common, argv[i]));
    if (o->help || (o->common.n_inputs && o->common.out_dir)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--input and --out are needed"), "wsc data --help");
}

/* What depends on the tokenizer where the user says nothing. */
static void fill_in(struct options *o)
{
    static const char end[] = "<|endoftext|>";
    const struct data_options *c = &o->common;
    struct data_make *m = &o->make;
    bool bpe = !strcmp(o->tokenizer, "bpe");
    m->input = c->input;
    m->n_inputs = c->n_inputs;
    m->format = c->format;
    m->key = c->key;
    m->out_dir = c->out_dir;
    m->errors = c->errors_given ? c->errors : bpe ? DATA_ERRORS_STRICT : DATA_ERRORS_KEEP;
    if (m->eos_id == not_given) m->eos_id = data_tokenizer_find(m->tokenizer, end, sizeof end - 1);
    if (m->pad_id == not_given) m->pad_id = m->eos_id == DATA_NO_ID ? 0 : m->eos_id;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void print_made(const struct data_make *m, const struct data_made *made)
{
    const int64_t n_held = made->n_samples[DATA_VAL] + made->n_samples[DATA_TEST];
    if (made->n_resumed)
        (void)printf("went on behind %lld tokens of an interrupted run\n",
                     (long long)made->n_resumed);
    if (made->n_ignored)
        (void)printf("left out %lld files whose ending is not known\n", (long long)made->n_ignored);
    (void)printf("%lld bytes, %lld training samples, %lld held out, %lld tokens each\n",
                 (long long)made->n_bytes, (long long)made->n_samples[DATA_TRAIN],
                 (long long)n_held, (long long)m->T);
    (void)printf("%lld documents in %lld files, %lld of them empty, %lld tokens\n",
                 (long long)made->n_documents, (long long)made->n_files, (long long)made->n_empty,
                 (long long)made->n_tokens);
    (void)printf("vocabulary %lld, unigram entropy %.4f nats per token\nwrote",
                 (long long)made->vocab_size, made->unigram_entropy_nats);
    static const char *const name[DATA_N_PARTS] = {"train", "val", "test"};
    for (int p = 0; p < DATA_N_PARTS; p++)
        if (made->n_samples[p]) (void)printf(" %s/%s", m->out_dir, name[p]);
    (void)printf("\n");
}

static enum wsc_err make_data(struct options *o)
{
    struct data_made made;
    struct data_display display = {0};
    struct data_tokenizer *tokenizer = NULL;
    TRY(data_tokenizer_open(&tokenizer, o->tokenizer, o->vocab, o->merges));
    o->make.tokenizer = tokenizer;
    o->make.progress = app_data_progress;
    o->make.progress_ctx = &display;
    fill_in(o);
    enum wsc_err rc = data_make_dataset(&o->make, &made);
    out_progress_end();
    data_tokenizer_close(&tokenizer);
    TRY(rc);
    print_made(&o->make, &made);
    return WSC_OK;
}

enum wsc_err app_data(int argc, char **argv)
{
    struct options o = {0};
    if (argc > 1 && !strcmp(argv[1], "train-bpe")) return app_data_train(argc - 1, argv + 1);
    TRY(parse(&o, argc, argv));
    if (!o.help) return make_data(&o);
    (void)fputs(help, stdout);
    return WSC_OK;
}
