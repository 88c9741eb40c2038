// SPDX-License-Identifier: Apache-2.0
#include "app.h"

#include <wsc/data.h>
#include <wsc/report.h>

#include <stdio.h>
#include <string.h>

enum { MAX_INPUTS = 4096 };

static const char help[] =
    "usage: wsc data --input FILE... --out DIR [options]\n\n"
    "Makes a Model Zoo HDF5 dataset from text: DIR/train and DIR/val with .h5 files and\n"
    "data_params.json.\n\n"
    "  --input FILE...       text files, plain or .gz\n"
    "  --out DIR             where the dataset goes\n"
    "  --tokenizer byte      one token per byte, vocabulary 256\n"
    "  --max_seq_length T    tokens per sample (256)\n"
    "  --split F             share of the samples held out in val/ (0.05)\n"
    "  --samples_per_file N  (2000)\n\n"
    "example:\n"
    "  wsc data --input book.txt notes.txt.gz --out data/books --max_seq_length 512\n";

enum { OPT_INPUT = 256, OPT_OUT, OPT_TOKENIZER, OPT_LENGTH, OPT_SPLIT, OPT_PER_FILE };
static const struct option long_option[] = {
    {"input", required_argument, NULL, OPT_INPUT},
    {"out", required_argument, NULL, OPT_OUT},
    {"tokenizer", required_argument, NULL, OPT_TOKENIZER},
    {"max_seq_length", required_argument, NULL, OPT_LENGTH},
    {"split", required_argument, NULL, OPT_SPLIT},
    {"samples_per_file", required_argument, NULL, OPT_PER_FILE},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

struct data_options {
    struct data_make make;
    const char *input[MAX_INPUTS];
    bool help;
};

static enum wsc_err add_input(struct data_options *o, const char *path)
{
    if (o->make.n_inputs == MAX_INPUTS)
        return WSC_RAISE(WSC_USAGE, "--input: more than %d files", MAX_INPUTS);
    o->input[o->make.n_inputs++] = path;
    return WSC_OK;
}

static enum wsc_err take_option(struct data_options *o, int option, const char *value)
{
    switch (option) {
    case OPT_INPUT:
        return add_input(o, value);
    case OPT_OUT:
        o->make.out_dir = value;
        return WSC_OK;
    case OPT_TOKENIZER:
        if (!strcmp(value, "byte")) return WSC_OK;
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--tokenizer: %s is not supported", value),
                            "this release has: byte");
    case OPT_LENGTH:
        return app_parse_int("--max_seq_length", value, 1, 1 << 20, &o->make.T);
    case OPT_SPLIT:
        return app_parse_real("--split", value, 0, 0.99, &o->make.split);
    case OPT_PER_FILE:
        return app_parse_int("--samples_per_file", value, 1, 1 << 30, &o->make.samples_per_file);
    default:
        o->help = true;
        return WSC_OK;
    }
}

static enum wsc_err parse(struct data_options *o, int argc, char **argv)
{
    int option;
    o->make =
        (struct data_make){.input = o->input, .T = 256, .split = 0.05, .samples_per_file = 2000};
    while ((option = getopt_long(argc, argv, ":h", long_option, NULL)) != -1) {
        if (option == '?' || option == ':') return app_bad_option("data", argv, option);
        TRY(take_option(o, option, optarg));
    }
    /* --input takes a list: what follows it without an option is input too. */
    for (int i = optind; i < argc; i++)
        TRY(add_input(o, argv[i]));
    if (o->help || (o->make.n_inputs && o->make.out_dir)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--input and --out are needed"), "wsc data --help");
}

/* The total is known when the first piece is done. */
static void show_progress(void *ctx, int64_t done, int64_t total)
{
    bool *started = ctx;
    if (!*started) report_progress_start("data", total);
    *started = true;
    report_progress(done, "bytes");
}

static enum wsc_err make_data(struct data_options *o)
{
    struct data_made made;
    bool started = false;
    o->make.progress = show_progress;
    o->make.progress_ctx = &started;
    enum wsc_err rc = data_make_bytes(&o->make, &made);
    report_progress_end();
    TRY(rc);
    (void)printf("%lld bytes, %lld training samples, %lld held out, %lld tokens each\n"
                 "vocabulary %lld, unigram entropy %.4f nats per token\n"
                 "wrote %s/train and %s/val\n",
                 (long long)made.n_bytes, (long long)made.n_train, (long long)made.n_val,
                 (long long)o->make.T, (long long)made.vocab_size, made.unigram_entropy_nats,
                 o->make.out_dir, o->make.out_dir);
    return WSC_OK;
}

enum wsc_err app_data(int argc, char **argv)
{
    struct data_options o = {0};
    TRY(parse(&o, argc, argv));
    if (!o.help) return make_data(&o);
    (void)fputs(help, stdout);
    return WSC_OK;
}
