// SPDX-License-Identifier: Apache-2.0
#include "data_options.h"

#include <wsc/report.h>

#include <stdio.h>

static const char help[] =
    "usage: wsc data train-bpe --input FILE|FOLDER... --out DIR --vocab_size N [options]\n\n"
    "Learns a byte-level BPE from text: DIR/vocab.json and DIR/merges.txt, as GPT-2 and Hugging\n"
    "Face's tokenizers have them.  The same text and options give the same files.\n\n"
    "  --input PATH...     files or folders; plain, gzip or zstd\n"
    "  --out DIR           where the two files go\n"
    "  --vocab_size N      256 bytes, the merges, and <|endoftext|> as the last; from 257\n"
    "  --min_frequency N   of a pair that becomes a token (2)\n"
    "  --max_bytes N       read so much text at most (1073741824)\n"
    "  --format, --jsonl_key, --column, --errors\n"
    "                      as with `wsc data`; errors: strict\n\n"
    "example:\n"
    "  wsc data train-bpe --input corpus/ --out data/bpe --vocab_size 8000\n"
    "  wsc data --input corpus/ --out data/corpus --tokenizer bpe \\\n"
    "           --vocab data/bpe/vocab.json --merges data/bpe/merges.txt\n";

enum { OPT_SIZE = DATA_OPT_OWN, OPT_FREQUENCY, OPT_MAX_BYTES };
static const struct option long_option[] = {
    DATA_OPTIONS,
    {"vocab_size", required_argument, NULL, OPT_SIZE},
    {"min_frequency", required_argument, NULL, OPT_FREQUENCY},
    {"max_bytes", required_argument, NULL, OPT_MAX_BYTES},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

struct options {
    struct data_options common;
    struct data_train_bpe request;
    bool help;
};

static enum wsc_err take_option(struct options *o, int option, const char *value)
{
    switch (option) {
    case OPT_SIZE:
        return app_parse_int("--vocab_size", value, 257, 1 << 20, &o->request.vocab_size);
    case OPT_FREQUENCY:
        return app_parse_int("--min_frequency", value, 1, INT64_MAX, &o->request.min_frequency);
    case OPT_MAX_BYTES:
        return app_parse_int("--max_bytes", value, 1, INT64_MAX, &o->request.max_bytes);
    case 'h':
        o->help = true;
        return WSC_OK;
    default:
        return app_data_option(&o->common, option, value);
    }
}

static enum wsc_err parse(struct options *o, int argc, char **argv)
{
    int option;
    app_data_options_init(&o->common);
    o->request.min_frequency = 2;
    o->request.max_bytes = (int64_t)1 << 30;
    while ((option = getopt_long(argc, argv, ":h", long_option, NULL)) != -1) {
        if (option == '?' || option == ':') return app_bad_option("data train-bpe", argv, option);
        TRY(take_option(o, option, optarg));
    }
    for (int i = optind; i < argc; i++)
        TRY(app_data_input(&o->common, argv[i]));
    if (o->help || (o->common.n_inputs && o->common.out_dir && o->request.vocab_size))
        return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--input, --out and --vocab_size are needed"),
                        "wsc data train-bpe --help");
}

static enum wsc_err train(struct options *o)
{
    struct data_trained made;
    struct data_display display = {0};
    struct data_train_bpe *r = &o->request;
    r->input = o->common.input;
    r->n_inputs = o->common.n_inputs;
    r->format = o->common.format;
    r->key = o->common.key;
    r->errors = o->common.errors_given ? o->common.errors : DATA_ERRORS_STRICT;
    r->out_dir = o->common.out_dir;
    r->progress = app_data_progress;
    r->progress_ctx = &display;
    enum wsc_err rc = data_train_bpe(r, &made);
    out_progress_end();
    TRY(rc);
    (void)printf("%lld bytes, %lld different words, %lld merges, vocabulary %lld\n"
                 "wrote %s/vocab.json %s/merges.txt\n",
                 (long long)made.n_bytes, (long long)made.n_words, (long long)made.n_merges,
                 (long long)made.vocab_size, r->out_dir, r->out_dir);
    if (made.vocab_size < r->vocab_size)
        (void)printf("no further pair occurs %lld times: the vocabulary is smaller than %lld\n",
                     (long long)r->min_frequency, (long long)r->vocab_size);
    return WSC_OK;
}

enum wsc_err app_data_train(int argc, char **argv)
{
    struct options o = {0};
    TRY(parse(&o, argc, argv));
    if (!o.help) return train(&o);
    (void)fputs(help, stdout);
    return WSC_OK;
}
