// SPDX-License-Identifier: Apache-2.0
#include "app.h"

#include <wsc/convert.h>
#include <wsc/report.h>
#include <wsc/units.h>

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: wsc convert --from hf --to cs --input DIR --out DIR [options]\n"
    "       wsc convert --from cs --to hf --input FILE --params FILE --model FAMILY --out DIR\n\n"
    "Makes a checkpoint and params of a Hugging Face folder (config.json and safetensors, one\n"
    "file or shards), or such a folder of a checkpoint and its params.\n\n"
    "  --input PATH          from hf: the folder; from cs: the checkpoint (.mdl)\n"
    "  --out DIR             from hf: gets model.mdl and params.yaml; from cs: gets config.json\n"
    "                        and model.safetensors, or shards and their index\n"
    "  --params FILE         from cs: the params of the checkpoint\n"
    "  --model FAMILY        from cs: gpt2, gptj, gpt-neox, llama, mistral, mixtral, bloom,\n"
    "                        falcon-7b, falcon-40b, starcoder; from hf it is in config.json\n"
    "  --dtype f32|f16|bf16  from cs: type of the tensors; default: as they were in the folder\n"
    "                        that the checkpoint was made of, else f32\n"
    "  --shard_size SIZE     from cs: largest file (10GB)\n"
    "  --set PATH=VALUE      override a key of the params; may be repeated\n"
    "  --lenient             leave out tensors without a counterpart, with a warning\n\n"
    "examples:\n"
    "  wsc convert --from hf --to cs --input gpt2 --out out/gpt2\n"
    "  wsc run --params out/gpt2/params.yaml --mode generate --prompt 'Once'\n"
    "  wsc convert --from cs --to hf --model gpt2 --input model_dir/checkpoint_100.mdl \\\n"
    "          --params out/gpt2/params.yaml --dtype bf16 --out out/gpt2_hf\n";

enum {
    OPT_FROM = 256,
    OPT_TO,
    OPT_INPUT,
    OPT_OUT,
    OPT_PARAMS,
    OPT_MODEL,
    OPT_DTYPE,
    OPT_SHARD,
    OPT_SET,
    OPT_LENIENT
};
static const struct option long_option[] = {{"from", required_argument, NULL, OPT_FROM},
                                            {"to", required_argument, NULL, OPT_TO},
                                            {"input", required_argument, NULL, OPT_INPUT},
                                            {"out", required_argument, NULL, OPT_OUT},
                                            {"params", required_argument, NULL, OPT_PARAMS},
                                            {"model", required_argument, NULL, OPT_MODEL},
                                            {"dtype", required_argument, NULL, OPT_DTYPE},
                                            {"shard_size", required_argument, NULL, OPT_SHARD},
                                            {"set", required_argument, NULL, OPT_SET},
                                            {"lenient", no_argument, NULL, OPT_LENIENT},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};

struct convert_options {
    struct app_config config;
    struct convert_job job;
    const char *from, *to;
    bool help, started; /* started: the progress */
};

static enum wsc_err take_dtype(struct convert_options *o, const char *value)
{
    static const struct {
        const char *name;
        enum convert_dtype dtype;
    } row[] = {{"f32", CONVERT_F32}, {"f16", CONVERT_F16}, {"bf16", CONVERT_BF16}};
    for (int i = 0; i < 3; i++) {
        if (strcmp(row[i].name, value) != 0) continue;
        o->job.dtype = row[i].dtype;
        return WSC_OK;
    }
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--dtype: %s is not known", value),
                        "f32, f16 or bf16");
}

static enum wsc_err take_shard_size(struct convert_options *o, const char *value)
{
    if (!wsc_units_quantity(WSC_UNIT_BYTES, value, &o->job.shard_bytes) && o->job.shard_bytes > 0)
        return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--shard_size: %s is no size", value),
                        "--shard_size 10GB");
}

static enum wsc_err take_option(struct convert_options *o, int option, const char *value)
{
    switch (option) {
    case OPT_FROM:
        o->from = value;
        return WSC_OK;
    case OPT_TO:
        o->to = value;
        return WSC_OK;
    case OPT_INPUT:
        o->job.input = value;
        return WSC_OK;
    case OPT_OUT:
        o->job.out = value;
        return WSC_OK;
    case OPT_PARAMS:
        o->job.params = value;
        return WSC_OK;
    case OPT_MODEL:
        o->job.family = value;
        return WSC_OK;
    case OPT_DTYPE:
        return take_dtype(o, value);
    case OPT_SHARD:
        return take_shard_size(o, value);
    case OPT_SET:
        return app_add_set(&o->config, value);
    case OPT_LENIENT:
        o->job.lenient = true;
        return WSC_OK;
    default:
        o->help = true;
        return WSC_OK;
    }
}

static enum wsc_err need(const char *option, const char *value)
{
    if (value) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s is missing", option), "wsc convert --help");
}

static enum wsc_err parse(struct convert_options *o, int argc, char **argv)
{
    int option;
    o->job = (struct convert_job){.dtype = CONVERT_OTHER, .shard_bytes = 10000000000};
    while ((option = getopt_long(argc, argv, ":h", long_option, NULL)) != -1) {
        if (option == '?' || option == ':') return app_bad_option("convert", argv, option);
        TRY(take_option(o, option, optarg));
    }
    if (o->help) return WSC_OK;
    if (optind < argc)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: not an option", argv[optind]), "--input %s",
                            argv[optind]);
    o->job.set = o->config.set;
    o->job.n_sets = o->config.n_sets;
    TRY(need("--from", o->from));
    TRY(need("--to", o->to));
    TRY(need("--input", o->job.input));
    TRY(need("--out", o->job.out));
    return WSC_OK;
}

static void show_progress(void *ctx, int64_t done, int64_t total)
{
    struct convert_options *o = ctx;
    if (!o->started) out_progress_start("convert", total);
    o->started = true;
    out_progress(done, "values");
}

static enum wsc_err from_hf(struct convert_options *o)
{
    struct convert_result r;
    enum wsc_err rc = convert_from_hf(&o->job, &r);
    out_progress_end();
    TRY(rc);
    (void)printf("%s: %lld tensors, %lld parameters\nwrote %s and %s\n", r.family,
                 (long long)r.n_tensors, (long long)r.n_params, r.checkpoint, r.params);
    return WSC_OK;
}

static enum wsc_err to_hf(struct convert_options *o)
{
    struct convert_result r;
    TRY(need("--params", o->job.params));
    TRY(need("--model", o->job.family));
    enum wsc_err rc = convert_to_hf(&o->job, &r);
    out_progress_end();
    TRY(rc);
    (void)printf("%s: %lld tensors, %lld parameters\nwrote %s, %lld file%s\n", r.family,
                 (long long)r.n_tensors, (long long)r.n_params, o->job.out, (long long)r.n_files,
                 r.n_files == 1 ? "" : "s");
    return WSC_OK;
}

static enum wsc_err work(struct convert_options *o)
{
    const char *from = o->from ? o->from : "", *to = o->to ? o->to : "";
    o->job.progress = show_progress;
    o->job.progress_ctx = o;
    if (!strcmp(from, "hf") && !strcmp(to, "cs")) return from_hf(o);
    if (!strcmp(from, "cs") && !strcmp(to, "hf")) return to_hf(o);
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--from %s --to %s: no such conversion", from, to),
                        "--from hf --to cs, or --from cs --to hf");
}

enum wsc_err app_convert(int argc, char **argv)
{
    struct convert_options o = {0};
    enum wsc_err rc = parse(&o, argc, argv);
    if (!rc && o.help)
        (void)fputs(help, stdout);
    else if (!rc)
        rc = work(&o);
    app_config_fini(&o.config);
    return rc;
}
