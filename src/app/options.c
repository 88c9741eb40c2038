// SPDX-License-Identifier: Apache-2.0
/* The table of options: one row for each option of each command.
 *
 * To add an option: a row here and a member of the command's request (requests.h).  Parsing, range
 * and choice errors, `did you mean`, `--help` and the checks of option against option follow from
 * the row (option_parse.c, option_help.c).  Rows that several commands share stand first; a command
 * sees its rows in the order of the table. */
#include "options.h"
#include "option_parse.h"
#include "requests.h"
#include "result_files.h"

#include <wsc/data_chat.h>
#include <wsc/report.h>

#include <stdio.h>
#include <string.h>

/* ---- values that no type describes ----------------------------------------------------------- */

/* "16x8" */
static enum wsc_err take_fabric(void *request, const struct app_option *o, const char *text)
{
    struct programs_case *c = &((struct app_mesh *)request)->c;
    char width[16];
    const char *x = strchr(text, 'x');
    int64_t w = 0, h = 0;
    if (!x || x - text >= (int)sizeof width)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--%s: expected WxH, got \"%s\"", o->name, text),
                            "--fabric 16x8");
    (void)snprintf(width, sizeof width, "%.*s", (int)(x - text), text);
    TRY(app_parse_int("--fabric", width, o->min, o->max, &w));
    TRY(app_parse_int("--fabric", x + 1, o->min, o->max, &h));
    c->w = (int)w;
    c->h = (int)h;
    return WSC_OK;
}

/* cluster.KEY=VALUES. */
static enum wsc_err take_sweep(void *request, const struct app_option *o, const char *text)
{
    (void)o;
    return scaling_values_parse(&((struct app_scale *)request)->values, text);
}

/* A number of tokens, or of tokens per parameter. */
static enum wsc_err take_tokens(void *request, const struct app_option *o, const char *text)
{
    struct app_scale *r = request;
    (void)o;
    return scaling_tokens_parse(text, &r->tokens, &r->tokens_per_param);
}

/* Systems of `wsc ranks`, also where no params are read; with params an override of theirs, as in
 * `wsc run`. */
static enum wsc_err take_systems(void *request, const struct app_option *o, const char *text)
{
    struct app_ranks_of *r = request;
    TRY(app_parse_int("--num_csx", text, o->min, o->max, &r->num_csx));
    return app_add_override(&r->config, o, text);
}

/* Tokens for each parameter of a size: 20xparams. */
static enum wsc_err take_tokens_per_param(void *request, const struct app_option *o,
                                          const char *text)
{
    struct app_law *r = request;
    double tokens = 0;
    TRY(scaling_tokens_parse(text, &tokens, &r->tokens_per_param));
    if (r->tokens_per_param > 0) return WSC_OK;
    return wsc_err_hint(
        WSC_RAISE(WSC_USAGE, "--%s: every size has tokens of its own, got \"%s\"", o->name, text),
        "--tokens 20xparams");
}

/* "64x2,96x3": width and depth of each size. */
static enum wsc_err take_sizes(void *request, const struct app_option *o, const char *text)
{
    struct app_law *r = request;
    for (const char *p = text;; p++) {
        char width[16], depth[16];
        const size_t n = strcspn(p, "x"), rest = strcspn(p + n, ",");
        if (r->n_sizes == APP_MAX_SIZES)
            return WSC_RAISE(WSC_USAGE, "--%s: more than %d", o->name, APP_MAX_SIZES);
        if (!p[n] || rest < 2 || n >= sizeof width || rest >= sizeof depth)
            return wsc_err_hint(
                WSC_RAISE(WSC_USAGE, "--%s: expected WIDTHxDEPTH,..., got \"%s\"", o->name, text),
                "--sizes 64x2,96x3,128x4,192x6");
        (void)snprintf(width, sizeof width, "%.*s", (int)n, p);
        (void)snprintf(depth, sizeof depth, "%.*s", (int)rest - 1, p + n + 1);
        struct law_size *size = &r->size[r->n_sizes];
        TRY(app_parse_int("--sizes", width, o->min, o->max, &size->hidden));
        TRY(app_parse_int("--sizes", depth, o->min, o->max, &size->layers));
        for (int i = 0; i < r->n_sizes; i++)
            if (r->size[i].hidden == size->hidden && r->size[i].layers == size->layers)
                return WSC_RAISE(WSC_USAGE, "--%s: %sx%s stands twice in the list", o->name, width,
                                 depth);
        r->n_sizes++;
        p += strcspn(p, ",");
        if (!*p) return WSC_OK;
    }
}

/* "a,b,c", cut in place. */
static enum wsc_err take_fit(void *request, const struct app_option *o, const char *list)
{
    struct app_calibrate *r = request;
    char *rest = r->fit;
    TRY(app_check_names(o, list));
    if (strlen(list) >= sizeof r->fit)
        return WSC_RAISE(WSC_USAGE, "--%s: the list is too long", o->name);
    memcpy(r->fit, list, strlen(list) + 1);
    r->n_paths = 0;
    for (char *item = strsep(&rest, ","); item; item = strsep(&rest, ",")) {
        if (r->n_paths == VALIDATION_MAX_CALIBRATED)
            return WSC_RAISE(WSC_USAGE, "--%s: more than %d constants", o->name,
                             VALIDATION_MAX_CALIBRATED);
        r->path[r->n_paths++] = item;
    }
    return WSC_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

#define AT(command, member) .at = offsetof(struct app_##command, member)
/* Also a member of the struct that all requests begin with. */
#define SHARED(member) .at = offsetof(struct app_config, member)

enum { APP_MAX_ID = (1 << 22) - 1 };

#define DRY_RUNS    "instead of a run"
#define RUNS        "!validate_only !compile_only !dump_params !print_placement"
#define PROFILE     "one step, taken apart"
#define GENERATION  "generation (--mode generate)"
#define SCORING     "scoring (--mode eval)"
#define TEXTS       "texts of --prompt and --requests"
#define STUDY       "what the curve depends on (tables, CSV, pictures, sections of report.html)"
#define SCALE_STEP  "one step, taken apart, of the first model on the largest node count"
#define MESH_MODE   "with --mesh: simulated cycles against the analytical model"
#define TO_HF       "from cs to hf"
#define SHAPES      "shape of a kernel (wsc mesh list shows which kernel takes which)"
#define WATCH       "what a kernel did"
#define SNAPSHOTS   "interrupting and resuming a kernel"
#define SURVEY      "survey"
#define KERNEL_ONLY "!KERNEL=list !KERNEL=survey !KERNEL=calibration"

/* Sizes of a kernel's operands, all alike. */
#define SHAPE(option, letter, most, usual, text)                                                   \
    {                                                                                              \
        APP_ON_MESH, #option, APP_INT, letter, SHAPES, text, AT(mesh, c.option),                   \
            .min = 1, .max = (most), .preset = usual, .needs = KERNEL_ONLY                         \
    }

const struct app_option app_options[] = {
    /* several commands */
    {APP_ON_RUN, NULL, APP_CHOICE, "CSX|CPU", .help = "the Model Zoo's device; always emulated",
     AT(run, device), .words = "CSX CPU", .bare = true},
    {APP_ON_RUN | APP_ON_RANKS, "params", APP_FILE, "FILE", SHARED(params_path),
     .help = "Model Zoo params, trainer or runconfig style"},
    {APP_ON_SCALE, "params", APP_NAMES, "FILE[,FILE...]", AT(scale, params_list),
     .help = "params of one or more models", .required = ""},
    {APP_ON_SCALE, "out", APP_FOLDER, "DIR", AT(scale, out),
     .help = "folder for scaling.csv, scaling.gp, .svg, .png, report.html", .required = "",
     .writes = APP_SWEEP_FILES},
    {APP_ON_VALIDATE, "out", APP_FOLDER, "DIR", AT(validate, out),
     .help = "folder for " REPORT_VALIDATION_FILES ", " REPORT_PRODUCT_FILES " (default: no files)",
     .needs = "!mesh", .writes = REPORT_VALIDATION_FILES ", " REPORT_PRODUCT_FILES},
    {APP_ON_REPRODUCE, "out", APP_FOLDER, "DIR", AT(reproduce, out),
     .help = "folder for reproduction.html, reproduction.pdf and the files of each exhibit",
     .required = "", .writes = "reproduction.html reproduction.pdf"},
    {APP_ON_REPRODUCE, NULL, APP_TEXTS, "EXHIBIT", AT(reproduce, exhibits), .max = 128,
     .bare = true, .help = "this exhibit alone, and others that are named beside it",
     .preset_why = "all of exhibits.yaml"},
    {APP_ON_REPRODUCE, "only", APP_NAMES, "EXHIBIT,...", AT(reproduce, only), .needs = "!EXHIBIT",
     .help = "these exhibits alone", .preset_why = "all of exhibits.yaml"},
    {APP_ON_CALIBRATE, "out", APP_FILE, "FILE", AT(calibrate, out),
     .help = "the cluster file to write; it must not exist yet; other machines of the rows get one "
             "beside it, FILE_cs3.yaml for example",
     .required = "", .writes = ""},
    {APP_ON_CALIBRATE, "overwrite", APP_FLAG, AT(calibrate, overwrite),
     .help = "the cluster file may exist: replace it"},
    {APP_ON_CALIBRATE, "leave_one_out", APP_FLAG, AT(calibrate, leave_one_out),
     .help = "predict each fitted row without it and without its family, and fit with 0 to 6 "
             "constants"},
    {APP_ON_CALIBRATE, "fit", APP_NAMES, "LIST", .take = take_fit,
     .preset_why = "those that the machines of the rows have with kind calibrated",
     .help = "constants to fit, of wafer.stage_latency, wafer.arrival_cycles, wafer.simd_fmachs, "
             "wafer.clock, memoryx.update_rate, wafer.kernel_factor"},
    {APP_ON_RUN, "phase", APP_INT, "N", AT(run, phase), .min = 1, .max = 1 << 20,
     .help = "of a list of trainers, run this one alone", .preset_why = "all, one after another"},
    {APP_ON_RANKS, "phase", APP_INT, "N", AT(ranks_of, phase), .min = 1, .max = 1 << 20,
     .needs = "params", .help = "of a list of trainers, the roles of this one alone",
     .preset_why = "the least number of any"},
    {APP_ON_RUN, "mode", APP_TEXT, "MODE", .key = "runconfig.mode",
     .help = "train, eval, train_and_eval or generate"},
    {APP_ON_RUN, "num_csx", APP_INT, "N", .key = "runconfig.num_csx",
     .help = "number of emulated CS-2 systems"},
    {APP_ON_RANKS, "num_csx", APP_INT, "N", .key = "runconfig.num_csx", .take = take_systems,
     .min = 1, .max = HW_MAX_SYSTEMS, .help = "number of emulated CS-2 systems",
     .required = "!params"},
    {APP_ON_SCALE, "num_csx", APP_INTS, "LIST", AT(scale, num_csx), .min = 1, .max = HW_MAX_SYSTEMS,
     .preset = "1,2,4,8,16,32,64",
     .help = "node counts; the default is cut to what the cluster has"},
    {APP_ON_SCALE, "scaling", APP_CHOICE, NULL, AT(scale, strong), .words = "weak strong",
     .preset = "weak",
     .help = "weak: the batch per system is constant; strong: the global batch is constant"},
    {APP_ON_SCALE, "batch_per_csx", APP_INT, "B", AT(scale, batch_per_csx), .min = 1,
     .max = SCALING_MOST_SEQUENCES, .needs = "scaling=weak",
     .help = "weak scaling: sequences per system",
     .preset_why = "batch_size / num_csx of the file"},
    {APP_ON_RUN | APP_ON_SCALE | APP_ON_LAW | APP_ON_RANKS, "cluster", APP_FILE, "FILE",
     SHARED(cluster_path), .help = "the emulated machine", .preset_why = "built-in CS-2"},
    {APP_ON_VALIDATE | APP_ON_REPRODUCE, "cluster", APP_FILE, "FILE", SHARED(cluster_path),
     .help = "replaces the rows' machines that have the same grid of PEs"},
    {APP_ON_CALIBRATE, "cluster", APP_FILE, "FILE", SHARED(cluster_path),
     .help = "the machine to fit", .preset_why = "configs/cluster/cs2.yaml", .renewed_by = "out"},
    {APP_ON_SCALE, "points", APP_FILE, "FILE", AT(scale, points),
     .help = "published measurements to draw, CSV: model,num_csx,tokens_per_s (or samples_per_s, "
             "speedup),source",
     .preset_why = "those that come with the program"},
    {APP_ON_VALIDATE, "points", APP_FILE, "FILE", AT(validate, figures.points),
     .help = "figures of your own, CSV: id,quantity,unit,value,model,num_csx,global_batch,"
             "micro_batch,msl,cluster and what else a reference file has; predicted instead of "
             "the published ones that were never fitted",
     .needs = "!mesh"},
    {APP_ON_VALIDATE, "reference", APP_FOLDER, "DIR", AT(validate, figures.reference),
     .help = "published figures, *.csv", .preset_why = "benchmarks/reference", .needs = "!mesh"},
    {APP_ON_VALIDATE, "params", APP_FOLDER, "DIR", AT(validate, figures.params),
     .help = "models of the rows", .preset_why = "configs/params", .needs = "!mesh"},
    {APP_ON_VALIDATE, "machines", APP_FOLDER, "DIR", AT(validate, figures.machines),
     .help = "machines of the rows", .preset_why = "configs/cluster", .needs = "!mesh"},
    {APP_ON_CALIBRATE, "reference", APP_FOLDER, "DIR", AT(calibrate, figures.reference),
     .help = "published figures, *.csv", .preset_why = "benchmarks/reference"},
    {APP_ON_CALIBRATE, "params", APP_FOLDER, "DIR", AT(calibrate, figures.params),
     .help = "models of the rows", .preset_why = "configs/params"},
    {APP_ON_CALIBRATE, "machines", APP_FOLDER, "DIR", AT(calibrate, figures.machines),
     .help = "machines of the rows", .preset_why = "configs/cluster"},
    {APP_ON_REPRODUCE, "reference", APP_FOLDER, "DIR", AT(reproduce, figures.reference),
     .help = "published figures, *.csv, and exhibits.yaml", .preset_why = "benchmarks/reference"},
    {APP_ON_REPRODUCE, "params", APP_FOLDER, "DIR", AT(reproduce, figures.params),
     .help = "models of rows and curves", .preset_why = "configs/params"},
    {APP_ON_REPRODUCE, "machines", APP_FOLDER, "DIR", AT(reproduce, figures.machines),
     .help = "machines of rows and curves", .preset_why = "configs/cluster"},
    {APP_ON_RUN | APP_ON_SCALE | APP_ON_LAW | APP_ON_RANKS, "set", APP_TEXT, "PATH=VALUE",
     .key = "", .repeats = true,
     .help = "override any key of the params, e.g. model.num_hidden_layers=2, or of the cluster, "
             "e.g. cluster.swarmx.link_latency=5us"},
    {APP_ON_VALIDATE | APP_ON_CALIBRATE | APP_ON_REPRODUCE, "set", APP_TEXT, "PATH=VALUE",
     .key = "", .repeats = true,
     .help = "override any key of all models or, cluster.KEY, of all machines"},
    {APP_ON_RUN | APP_ON_SCALE, "fault", APP_TEXT, "KIND:KEY=VALUE,...", .key = "cluster.faults+",
     .repeats = true,
     .help = "something that goes wrong, e.g. straggler:wafer=0,factor=2 (docs/FAULTS.md); "
             "wsc scale takes faults that last and leaves out node counts without the part"},

    /* run */
    {APP_ON_RUN, "num_steps", APP_INT, "S", .key = "runconfig.num_steps",
     .help = "steps of this run", .modes = "train train_and_eval"},
    {APP_ON_RUN, "max_steps", APP_INT, "S", .key = "runconfig.max_steps",
     .help = "absolute last step", .modes = "train train_and_eval"},
    {APP_ON_RUN, "num_epochs", APP_INT, "E", .key = "runconfig.num_epochs",
     .help = "epochs of this run, instead of steps", .modes = "train train_and_eval"},
    {APP_ON_RUN, "model_dir", APP_FOLDER, "DIR", .key = "runconfig.model_dir",
     .help = "where results and checkpoints go",
     .writes =
         "run.log metrics.jsonl performance.json scores.json checkpoint_*.mdl " APP_STEP_FILES},
    {APP_ON_RUN, "checkpoint_path", APP_FILE, "FILE", .key = "runconfig.checkpoint_path",
     .needs = "!numerics=none", .help = "start from this checkpoint, or from a file of tensors",
     .renewed_by = "model_dir"},
    {APP_ON_RUN, "run_id", APP_TEXT, "ID", AT(run, job.run_id),
     .help = "shared by a run and its restarts: a restart resumes from the newest checkpoint of "
             "this ID in model_dir and trains to the step at which the first was to end"},
    {APP_ON_RUN, "numerics", APP_CHOICE, NULL, AT(run, numerics), .words = KERNELS_NUMERICS_OPTIONS,
     .preset = "host",
     .help = "none: keep time only; host: compute values on the host; mesh: compute them on an "
             "emulated mesh of PEs, wavelet by wavelet (small models)"},
    {APP_ON_RUN, "seed", APP_INT, "K", .key = "runconfig.seed", .help = "seed of random numbers"},
    {APP_ON_RUN, "json", APP_FLAG, AT(run, job.json), .needs = "!dump_params !print_placement",
     .help = "results as JSON on stdout; log lines go to stderr"},
    {APP_ON_RUN, "dump_gradients", APP_FILE, "FILE", AT(run, job.dump_gradients),
     .needs = RUNS " !numerics=none", .modes = "train train_and_eval",
     .help = "HDF5 file with the mean gradient of every tensor after the first step", .writes = ""},
    {APP_ON_RUN, "validate_only", APP_FLAG, NULL, DRY_RUNS, AT(run, validate_only),
     .needs = "!compile_only !dump_params !print_placement",
     .help = "check the params and the data, and print what they mean"},
    {APP_ON_RUN, "compile_only", APP_FLAG, NULL, DRY_RUNS, AT(run, compile_only),
     .needs = "!dump_params !print_placement !numerics=mesh",
     .help = "print the plan of the emulated machine and its speed as well"},
    {APP_ON_RUN, "dump_params", APP_FLAG, NULL, DRY_RUNS, AT(run, dump_params),
     .needs = "!print_placement", .help = "print the params as they are understood, as YAML"},
    {APP_ON_RUN, "print_placement", APP_FLAG, NULL, DRY_RUNS, AT(run, print_placement),
     .help = "print which role runs on which rank and host"},
    {APP_ON_RUN, "trace", APP_FILE, "FILE", PROFILE, AT(run, trace), .needs = RUNS,
     .help = "Chrome trace of a step of the virtual timeline, with op profile and critical path; "
             "runconfig.op_profiler_config chooses steps",
     .writes = ""},
    {APP_ON_RUN, "goal", APP_FILE, "FILE", PROFILE, AT(run, goal), .needs = RUNS,
     .help = "GOAL schedule (LogGOPSim) of that step", .writes = ""},
    {APP_ON_RUN, "prompt", APP_TEXTS, "TEXT", GENERATION, AT(run, prompt), .max = 64,
     .needs = "!prompt_ids", .modes = "generate", .help = "continue this text"},
    {APP_ON_RUN, "prompt_ids", APP_TEXTS, "I,J,...", GENERATION, AT(run, prompt_ids), .max = 64,
     .modes = "generate", .help = "continue these token ids, and print ids"},
    {APP_ON_RUN, "max_new_tokens", APP_INT, "N", GENERATION, AT(run, job.max_new_tokens), .min = 1,
     .max = 1 << 20, .preset = "200", .modes = "generate", .help = "tokens to add"},
    {APP_ON_RUN, "temperature", APP_REAL, "X", GENERATION, AT(run, job.temperature), .low = 0,
     .high = 100, .preset = "0.8", .modes = "generate", .help = "0 takes the most likely token"},
    {APP_ON_RUN, "top_k", APP_INT, "K", GENERATION, AT(run, job.top_k), .min = 0, .max = 1 << 20,
     .preset = "40", .modes = "generate", .needs = "!temperature=0",
     .help = "sample among the K most likely tokens; 0: among all"},
    {APP_ON_RUN, "top_p", APP_REAL, "P", GENERATION, AT(run, job.top_p), .low = 1e-9, .high = 1,
     .preset = "1", .modes = "generate", .needs = "!temperature=0",
     .help = "sample among the most likely tokens that have the probability P together; 1: all"},
    {APP_ON_RUN, "num_beams", APP_INT, "N", GENERATION, AT(run, job.n_beams), .min = 1, .max = 64,
     .preset = "1", .modes = "generate",
     .help =
         "beam search: the N most likely texts of each prompt are continued side by side; 1: none"},
    {APP_ON_RUN, "length_penalty", APP_REAL, "A", GENERATION, AT(run, job.length_penalty),
     .low = -100, .high = 100, .preset = "1", .modes = "generate", .needs = "num_beams",
     .help = "beam search: a text's score is its log-probability over its new tokens to the A-th "
             "power"},
    {APP_ON_RUN, "early_stopping", APP_FLAG, NULL, GENERATION, AT(run, job.early_stopping),
     .modes = "generate", .needs = "num_beams",
     .help = "beam search: end a prompt as soon as N of its texts have ended"},
    {APP_ON_RUN, "eos_id", APP_INT, "ID", GENERATION, AT(run, job.eos_id), .min = -1,
     .max = INT32_MAX, .none = "none", .preset = "none", .modes = "generate --requests",
     .help =
         "a text ends after this token; with --requests it stands before a text without context"},
    {APP_ON_RUN, "requests", APP_FILE, "FILE", SCORING, AT(run, job.requests), .modes = "eval",
     .help = "log-likelihoods and metrics of the requests in the JSON Lines of an evaluation "
             "harness, to stdout and model_dir/scores.json, instead of eval_input's data"},
    {APP_ON_RUN, "tokenizer", APP_WORD, NULL, TEXTS, AT(run, job.tokenizer),
     .words = DATA_TOKENIZERS, .needs = "!prompt_ids", .modes = "generate --requests",
     .help = "how texts become tokens; bpe needs --vocab and --merges",
     .preset_why = "byte, when the model has 256 tokens"},
    {APP_ON_RUN, "vocab", APP_FILE, "FILE", TEXTS, AT(run, job.vocab), .needs = "tokenizer=bpe",
     .modes = "generate --requests", .help = "vocab.json"},
    {APP_ON_RUN, "merges", APP_FILE, "FILE", TEXTS, AT(run, job.merges), .needs = "tokenizer=bpe",
     .modes = "generate --requests", .help = "merges.txt"},

    /* scale */
    {APP_ON_SCALE, "effects", APP_FLAG, NULL, STUDY, AT(scale, effects),
     .help = "scaling-loss breakdown: each mechanism switched off in turn"},
    {APP_ON_SCALE, "sensitivity", APP_FLAG, NULL, STUDY, AT(scale, sensitivity),
     .help = "each uncertain constant at the ends of its range: tornado plot, band"},
    {APP_ON_SCALE, "sweep", APP_TEXT, "KEY=VALUES", STUDY, .take = take_sweep,
     .help = "one constant of the cluster, global_batch or sparsity: LOW..HIGH, LOW..HIGH:N "
             "(logarithmic; of sparsity in equal steps) or A,B,C; values have units"},
    {APP_ON_SCALE, "tokens", APP_TEXT, "N", STUDY, .take = take_tokens,
     .help = "time, energy and expected loss of a training on N tokens: 300B, 2.6T or 20xparams"},
    {APP_ON_SCALE, "breakdown", APP_FLAG, NULL, SCALE_STEP, AT(scale, breakdown),
     .help = "step breakdown: op profile, critical path, load of the links"},
    {APP_ON_SCALE, "trace", APP_FILE, "FILE", SCALE_STEP, AT(scale, trace),
     .help = "Chrome trace of the virtual timeline (chrome://tracing, Perfetto); includes "
             "--breakdown",
     .writes = ""},
    {APP_ON_SCALE, "goal", APP_FILE, "FILE", SCALE_STEP, AT(scale, goal),
     .help = "GOAL schedule (LogGOPSim), 1 stands for 1 ps; includes --breakdown", .writes = ""},

    /* law */
    {APP_ON_LAW, "params", APP_FILE, "FILE", SHARED(params_path), .required = "!points",
     .needs = "sizes", .help = "params whose width and depth are varied"},
    {APP_ON_LAW, "sizes", APP_TEXT, "CxL,...", .take = take_sizes, .min = 1, .max = 1 << 20,
     .required = "!points", .needs = "params",
     .help = "width and number of layers of each training"},
    {APP_ON_LAW, "points", APP_FILE, "FILE", AT(law, points),
     .help = "trainings that were made: CSV with name, loss, and flop or params and tokens; with "
             "use = judge compared with the law instead of fitted"},
    {APP_ON_LAW, "out", APP_FOLDER, "DIR", AT(law, out), .required = "",
     .help =
         "folder for " REPORT_LAW_TABLES ", " REPORT_LAW_PICTURES ", and a folder for each size",
     .writes = REPORT_LAW_TABLES ", " REPORT_LAW_PICTURES},
    {APP_ON_LAW, "tokens", APP_TEXT, "Nxparams", .take = take_tokens_per_param,
     .preset_why = "20xparams", .help = "tokens of each training, for each parameter of the size"},
    {APP_ON_LAW, "num_csx", APP_INT, "N", AT(law, num_csx), .min = 1, .max = HW_MAX_SYSTEMS,
     .preset = "1", .help = "number of emulated CS-2 systems, of trainings and predictions"},
    {APP_ON_LAW, "predict", APP_TEXT, "FILE[,FILE...]", AT(law, predict),
     .help =
         "params of models whose loss and time are predicted, at the global batch of each file"},
    {APP_ON_LAW, "target", APP_REAL, "LOSS", AT(law, target), .low = 1e-6, .high = 100,
     .help = "FLOPs, and with --predict the time, to this loss"},

    /* validate --mesh */
    {APP_ON_VALIDATE, "mesh", APP_FLAG, NULL, MESH_MODE, AT(validate, mesh),
     .help = "run kernels on emulated fabrics and compare their cycles with the analytical model"},
    {APP_ON_VALIDATE, "wafer", APP_FLAG, NULL, MESH_MODE, AT(validate, wafer), .needs = "mesh",
     .help = "operations of published models' plans on strips of the wafer instead"},
    {APP_ON_VALIDATE, "sparse", APP_FLAG, NULL, MESH_MODE, AT(validate, sparse),
     .needs = "mesh !wafer",
     .help = "products and weight gradients with densities of 1 to 0.05 instead"},
    {APP_ON_VALIDATE, "products", APP_FLAG, NULL, MESH_MODE, AT(validate, products),
     .needs = "mesh !wafer !sparse",
     .help = "published cycles of products with tiles in the PEs instead"},
    {APP_ON_VALIDATE, "csv", APP_FILE, "FILE", MESH_MODE, AT(validate, csv), .needs = "wafer",
     .help = "the cases of --wafer as a table", .writes = ""},
    {APP_ON_VALIDATE, "pairs", APP_INT, "N", MESH_MODE, AT(validate, pairs), .min = 1,
     .max = 100000, .preset_why = "264, with --sparse 100", .needs = "mesh !wafer !products",
     .help = "number of kernels, shapes and grids"},
    {APP_ON_VALIDATE, "seed", APP_INT, "S", MESH_MODE, AT(validate, seed), .min = 0,
     .max = INT32_MAX, .preset = "1", .needs = "mesh !wafer", .help = "seed that samples them"},
    {APP_ON_VALIDATE, "json", APP_FLAG, NULL, MESH_MODE, AT(validate, json), .needs = "mesh",
     .help = "pairs as JSON"},

    /* mesh */
    {APP_ON_MESH, NULL, APP_TEXT, "KERNEL",
     .help = "name of a kernel, or list, survey, calibration", AT(mesh, what), .bare = true,
     .required = ""},
    {APP_ON_MESH, "json", APP_FLAG, AT(mesh, json), .is_of_host = true, .needs = "!KERNEL=list",
     .help = "results as JSON"},
    {APP_ON_MESH, "fabric", APP_TEXT, "WxH", .take = take_fabric, .min = 1, .max = 2048,
     .help = "size of the fabric, PEs", .preset_why = "8x8; 8x1 for a ring, 1x1 for fmacs",
     .needs = KERNEL_ONLY},
    {APP_ON_MESH, "arch", APP_CHOICE, NULL, AT(mesh, arch), .words = "wse2 wse3", .preset = "wse2",
     .needs = KERNEL_ONLY, .help = "generation of the wafer"},
    {APP_ON_MESH, "half", APP_CHOICE, NULL, AT(mesh, half), .words = NUM_HALF_OPTIONS,
     .preset = "fp16", .needs = KERNEL_ONLY,
     .help = "16-bit format of the operands, where the kernel has any"},
    {APP_ON_MESH, "format", APP_CHOICE, NULL, AT(mesh, format), .words = NUM_FORMAT_OPTIONS,
     .preset = "fp32", .needs = KERNEL_ONLY,
     .help = "format of the activations; sums over them have 32 bits in any case"},
    {APP_ON_MESH, "algo", APP_TEXT, "NAME", AT(mesh, c.algo), .needs = KERNEL_ONLY,
     .help = "algorithm, of those that wsc mesh list shows for the kernel",
     .preset_why = "the kernel's own choice"},
    {APP_ON_MESH, "pass", APP_CHOICE, NULL, AT(mesh, pass), .words = "forward backward",
     .preset = "forward", .needs = KERNEL_ONLY,
     .help = "backward runs the gradient of layernorm, attention, ..."},
    {APP_ON_MESH, "seed", APP_INT, "S", AT(mesh, seed), .min = 0, .max = INT32_MAX, .preset = "1",
     .needs = KERNEL_ONLY, .help = "seed of the operands' values"},
    {APP_ON_MESH, "threads", APP_INT, "T", AT(mesh, threads), .min = 1, .max = 64,
     .is_of_host = true, .needs = KERNEL_ONLY,
     .help = "threads of the host; the results do not depend on them",
     .preset_why = "one for each processor"},
    {APP_ON_MESH, "plan", APP_FLAG, AT(mesh, plan), .is_of_host = true,
     .needs = KERNEL_ONLY " !explain !heatmap !trace !snapshot !resume",
     .help = "instead of the run: how long it would take, on how many threads or ranks, in how "
             "much memory"},
    SHAPE(words, "B", 12288, "64", "32-bit words of a vector or block"),
    SHAPE(m, "M", 65536, "32", "rows"),
    SHAPE(n, "N", 65536, "32", "columns"),
    SHAPE(k, "K", 65536, "32", "inner dimension, or features that come out"),
    SHAPE(length, "L", 6000, "32", "elements of a vector operation"),
    SHAPE(calls, "C", 1000000, "100", "vector operations, one after another"),
    SHAPE(tokens, "T", 65536, "16", "tokens of a sequence"),
    SHAPE(samples, "B", 4096, "1", "sequences"),
    SHAPE(features, "C", 65536, "32", "features"),
    SHAPE(heads, "H", 1024, "2", "attention heads"),
    SHAPE(head_dim, "D", 4096, "8", "size of a head"),
    SHAPE(vocab, "V", 65536, "64", "vocabulary"),
    {APP_ON_MESH, "groups", APP_INT, "G", SHAPES, AT(mesh, c.groups), .min = 1, .max = 2048,
     .needs = KERNEL_ONLY, .help = "groups of a ktree",
     .preset_why = "the divisor of the width below its square root"},
    {APP_ON_MESH, "both_ways", APP_FLAG, NULL, SHAPES, AT(mesh, c.both_ways), .needs = KERNEL_ONLY,
     .help = "attention without a causal mask, as encoders have it"},
    {APP_ON_MESH, "softcap", APP_REAL, "C", SHAPES, AT(mesh, c.softcap), .low = 0.001, .high = 1e6,
     .needs = KERNEL_ONLY, .help = "scores of attention s become C tanh(s / C)",
     .preset_why = "none"},
    {APP_ON_MESH, "alibi", APP_FLAG, NULL, SHAPES, AT(mesh, c.alibi),
     .needs = KERNEL_ONLY " !both_ways",
     .help = "scores of attention fall with the distance, by a slope for each head (ALiBi)"},
    {APP_ON_MESH, "density", APP_REAL, "D", SHAPES, AT(mesh, c.density), .low = 0.001, .high = 1,
     .preset = "1", .needs = KERNEL_ONLY,
     .help = "fraction of the weights that are not zero; below 1 these alone stream, with their "
             "positions"},
    {APP_ON_MESH, "explain", APP_FLAG, NULL, WATCH, AT(mesh, show.explain), .needs = KERNEL_ONLY,
     .help = "where the cycles went: over all PEs, and on the critical path"},
    {APP_ON_MESH, "heatmap", APP_FILE, "FILE.png", WATCH, AT(mesh, show.heatmap),
     .needs = KERNEL_ONLY,
     .help = "picture of the fabric: how busy PEs and links are, what is held back, how full "
             "queues get",
     .writes = ""},
    {APP_ON_MESH, "trace", APP_FILE, "FILE.json", WATCH, AT(mesh, show.trace), .needs = KERNEL_ONLY,
     .help = "tasks, operations and wavelets for chrome://tracing or Perfetto; 1 cycle is 1 us",
     .writes = ""},
    {APP_ON_MESH, "trace_pe", APP_TEXT, "PES", WATCH, AT(mesh, show.trace_pe), .needs = "trace",
     .help = "which PEs: all, 'X,Y;X,Y', X0-X1,Y0-Y1",
     .preset_why = "the corners, the middle, the neighbours of PE (0, 0)"},
    {APP_ON_MESH, "trace_events", APP_INT, "N", WATCH, AT(mesh, show.trace_events), .min = 1,
     .max = 50000000, .preset = "200000", .needs = "trace",
     .help = "the most events of all traced PEs together"},
    {APP_ON_MESH, "snapshot", APP_FILE, "FILE.h5", SNAPSHOTS, AT(mesh, snapshot),
     .is_of_host = true, .needs = KERNEL_ONLY,
     .help = "write the state of the run there when SIGTERM, SIGUSR1 or SIGHUP ends it, and with "
             "--every at intervals; the newest replaces the one before",
     .writes = ""},
    {APP_ON_MESH, "every", APP_INT, "CYCLES", SNAPSHOTS, AT(mesh, every), .min = 1,
     .is_of_host = true, .max = INT32_MAX, .needs = "snapshot",
     .help = "cycles from one snapshot to the next",
     .preset_why = "one when a signal ends the run"},
    {APP_ON_MESH, "resume", APP_FILE, "FILE.h5", SNAPSHOTS, AT(mesh, resume), .is_of_host = true,
     .needs = KERNEL_ONLY,
     .help = "continue from a snapshot of the same kernel with the same sizes, on any number of "
             "threads and ranks",
     .renewed_by = "snapshot"},
    {APP_ON_MESH, "max_p", APP_INT, "P", SURVEY, AT(mesh, max_p), .is_of_host = true, .min = 4,
     .max = 512, .preset = "512", .needs = "KERNEL=survey", .help = "largest row of PEs"},
    {APP_ON_MESH, "max_words", APP_INT, "B", SURVEY, AT(mesh, max_words), .is_of_host = true,
     .min = 1, .max = 4096, .preset = "4096", .needs = "KERNEL=survey", .help = "longest vector"},

/* data and data train-bpe */
#define MASKED_NOW                                                                                 \
    "data_processor !data_processor=BertQADataProcessor "                                          \
    "!data_processor=BertCSVDynamicMaskDataProcessor"
#define TRAINS_VOCABULARY APP_ON_TRAIN_BPE | APP_ON_TRAIN_WORDPIECE
    {APP_ON_DATA, "input", APP_PATHS, "PATH...", AT(data, text.path), .max = 4096, .bare = true,
     .required = "", .help = "files or folders; plain, gzip or zstd"},
    {TRAINS_VOCABULARY, "input", APP_PATHS, "PATH...", AT(train_bpe, text.path), .max = 4096,
     .bare = true, .required = "", .help = "files or folders; plain, gzip or zstd"},
    {APP_ON_DATA, "out", APP_FOLDER, "DIR", AT(data, text.out), .required = "",
     .help = "folder for the dataset", .writes = ""},
    {APP_ON_TRAIN_BPE, "out", APP_FOLDER, "DIR", AT(train_bpe, text.out), .required = "",
     .writes = "vocab.json merges.txt", .help = "folder for the vocabulary"},
    {APP_ON_TRAIN_WORDPIECE, "out", APP_FOLDER, "DIR", AT(train_bpe, text.out), .required = "",
     .writes = "vocab.txt", .help = "folder for the vocabulary"},
#define TEXT_INPUT(on, request, usual)                                                             \
    {on,                                                                                           \
     "format",                                                                                     \
     APP_WORD,                                                                                     \
     NULL,                                                                                         \
     AT(request, text.format),                                                                     \
     .words = DATA_TEXT_FORMATS,                                                                   \
     .help = "format of all files",                                                                \
     .preset_why = "by the ending of each, else text"},                                            \
        {on,                                                                                       \
         "jsonl_key",                                                                              \
         APP_TEXT,                                                                                 \
         "KEY",                                                                                    \
         AT(request, text.jsonl_key),                                                              \
         .needs = "!column",                                                                       \
         .help = "key of the text in JSON Lines",                                                  \
         .preset_why = "text"},                                                                    \
        {on,                                                                                       \
         "column",                                                                                 \
         APP_TEXT,                                                                                 \
         "NAME",                                                                                   \
         AT(request, text.column),                                                                 \
         .help = "column of the text in CSV and TSV",                                              \
         .preset_why = "text"},                                                                    \
    {                                                                                              \
        on, "errors", APP_CHOICE, NULL, AT(request, text.errors),                                  \
            .words = "strict replace keep", .preset_why = usual,                                   \
            .help = "where a byte is not UTF-8: an error, U+FFFD, or the byte as it is"            \
    }
    TEXT_INPUT(APP_ON_DATA, data, "keep with byte, otherwise strict"),
    TEXT_INPUT(TRAINS_VOCABULARY, train_bpe, "strict"),
    {APP_ON_DATA, "chat_template", APP_WORD, NULL, AT(data, chat_template),
     .words = DATA_CHAT_TEMPLATES,
     .needs = "!format !jsonl_key !column !use_vsl !shuffle !test_split !checkpoint_bytes",
     .help = "each line is a chat and one sample, of which the answers alone are learned: messages "
             "with role and content, or prompt and completion; or a pair for preference "
             "optimization: prompt, chosen and rejected"},
    {APP_ON_DATA, "data_processor", APP_WORD, "LOADER", AT(data, bert.loader),
     .words = DATA_BERT_LOADERS, .required = "tokenizer=wordpiece",
     .needs = "tokenizer=wordpiece !chat_template !shuffle !test_split !eos_id !bos_id !pad_id "
              "!dtype",
     .help = "samples as this data loader of BERT reads them: BertHDF5DataProcessor or "
             "BertCSVDataProcessor (masked tokens), BertCSVDynamicMaskDataProcessor (tokens that "
             "are masked when they are read), BertQADataProcessor (questions of SQuAD-style "
             "JSON)"},
    {APP_ON_DATA, "disable_nsp", APP_FLAG, AT(data, bert.disable_nsp),
     .needs = "data_processor !data_processor=BertQADataProcessor",
     .help = "no pairs of sentences: a sample is one piece of a document"},
    {APP_ON_DATA, "masked_lm_prob", APP_REAL, "F", AT(data, bert.share), .low = 0, .high = 1,
     .preset = "0.15", .needs = MASKED_NOW, .help = "fraction of the tokens that are predicted"},
    {APP_ON_DATA, "max_predictions_per_seq", APP_INT, "N", AT(data, bert.most), .min = 1,
     .max = 1 << 20, .preset = "20", .needs = MASKED_NOW, .help = "most masked tokens of a sample"},
    {APP_ON_DATA, "mask_whole_word", APP_FLAG, AT(data, bert.whole_word), .needs = MASKED_NOW,
     .help = "all pieces of a word are masked together"},
    {APP_ON_DATA, "dupe_factor", APP_INT, "N", AT(data, bert.dupe_factor), .min = 1,
     .max = DATA_BERT_MOST_ROUNDS, .preset = "1", .needs = MASKED_NOW,
     .help =
         "train has every document this many times, with other masks and other pairs each time; "
         "BERT's own program has 10"},
    {APP_ON_DATA, "short_seq_prob", APP_REAL, "F", AT(data, bert.short_share), .low = 0, .high = 1,
     .preset = "0.1", .needs = "data_processor !data_processor=BertQADataProcessor !disable_nsp",
     .help = "fraction of the pairs that are made shorter than max_seq_length"},
    {APP_ON_DATA, "doc_stride", APP_INT, "N", AT(data, bert.stride), .min = 1, .max = 1 << 20,
     .preset = "128", .needs = "data_processor=BertQADataProcessor",
     .help = "a text that is too long becomes several samples, this many tokens apart"},
    {APP_ON_DATA, "max_query_length", APP_INT, "N", AT(data, bert.most_question), .min = 1,
     .max = 1 << 20, .preset = "64", .needs = "data_processor=BertQADataProcessor",
     .help = "a question is cut after this many tokens"},
    {APP_ON_DATA, "tokenizer", APP_CHOICE, NULL, AT(data, tokenizer),
     .words = DATA_TOKENIZERS " wordpiece", .preset = DATA_DEFAULT_TOKENIZER,
     .help = "byte: one token per byte, vocabulary 256; bpe: byte-level BPE of GPT-2; wordpiece: "
             "that of BERT"},
    {APP_ON_DATA, "do_lower", APP_FLAG, AT(data, do_lower), .needs = "tokenizer=wordpiece",
     .help = "texts and vocabulary in lower case and without accents"},
    {APP_ON_DATA, "vocab", APP_FILE, "FILE", AT(data, vocab), .needs = "!tokenizer=byte",
     .required = "!tokenizer=byte", .help = "vocab.json; of wordpiece vocab.txt or tokenizer.json"},
    {APP_ON_DATA, "merges", APP_FILE, "FILE", AT(data, merges), .needs = "tokenizer=bpe",
     .required = "tokenizer=bpe", .help = "merges.txt"},
    {APP_ON_DATA, "eos_id", APP_INT, "ID", AT(data, make.eos_id), .min = 0, .max = APP_MAX_ID,
     .none = "none", .preset_why = "<|endoftext|> where the vocabulary has it, else none",
     .help = "token after each document, or none"},
    {APP_ON_DATA, "bos_id", APP_INT, "ID", AT(data, make.bos_id), .min = 0, .max = APP_MAX_ID,
     .none = "none", .preset = "none", .help = "token before each document, or none"},
    {APP_ON_DATA, "pad_id", APP_INT, "ID", AT(data, make.pad_id), .min = 0, .max = APP_MAX_ID,
     .preset_why = "the EOS, else 0", .help = "token after the text in the last sample"},
    {APP_ON_DATA, "max_seq_length", APP_INT, "T", AT(data, make.T), .min = 1, .max = 1 << 20,
     .preset = "256", .help = "tokens per sample"},
    {APP_ON_DATA, "use_vsl", APP_FLAG, AT(data, make.use_vsl),
     .help = "whole documents in a sample, which do not attend to each other: also attention_span "
             "and position_ids; needs an EOS, or --data_processor BertHDF5DataProcessor"},
    {APP_ON_DATA, "split", APP_REAL, "F", AT(data, make.share[DATA_VAL]), .low = 0, .high = 0.99,
     .preset = "0.05", .help = "fraction of the samples held out in val/"},
    {APP_ON_DATA, "test_split", APP_REAL, "F", AT(data, make.share[DATA_TEST]), .low = 0,
     .high = 0.99, .preset = "0", .help = "fraction of the samples held out in test/"},
    {APP_ON_DATA, "shuffle", APP_FLAG, AT(data, make.shuffle),
     .help = "permute the samples before they are written"},
    {APP_ON_DATA, "seed", APP_INT, "S", AT(data, make.seed), .min = INT64_MIN, .max = INT64_MAX,
     .preset = "0",
     .help = "seed of that permutation; with data_processor of masks and pairs of sentences"},
    {APP_ON_DATA, "dtype", APP_CHOICE, NULL, AT(data, dtype), .words = "int32 uint16",
     .preset = "int32", .help = "type of the token ids in the files"},
    {APP_ON_DATA, "samples_per_file", APP_INT, "N", AT(data, make.samples_per_file), .min = 1,
     .max = 1 << 30, .preset = "2000", .help = "samples in each file"},
    {APP_ON_DATA, "checkpoint_bytes", APP_INT, "N", AT(data, make.checkpoint_bytes), .min = 1,
     .max = INT64_MAX, .preset = "67108864",
     .help = "bytes of text between two states from which an interrupted run resumes"},
    {APP_ON_TRAIN_BPE, "vocab_size", APP_INT, "N", AT(train_bpe, request.vocab_size), .min = 257,
     .max = 1 << 20, .required = "",
     .help = "256 bytes, the merges, and <|endoftext|> as the last; from 257"},
    {APP_ON_TRAIN_WORDPIECE, "vocab_size", APP_INT, "N", AT(train_bpe, request.vocab_size),
     .min = 6, .max = 1 << 20, .required = "",
     .help = "5 special tokens, characters, and pieces; from 6"},
    {APP_ON_TRAIN_WORDPIECE, "do_lower", APP_FLAG, AT(train_bpe, do_lower),
     .help = "texts in lower case and without accents"},
    {TRAINS_VOCABULARY, "min_frequency", APP_INT, "N", AT(train_bpe, request.min_frequency),
     .min = 1, .max = INT64_MAX, .preset = "2",
     .help = "a pair becomes a token when it occurs this often"},
    {TRAINS_VOCABULARY, "max_bytes", APP_INT, "N", AT(train_bpe, request.max_bytes), .min = 1,
     .max = INT64_MAX, .preset = "1073741824", .help = "read at most this many bytes of text"},

    /* convert */
    {APP_ON_CONVERT, "from", APP_CHOICE, NULL, AT(convert, from), .words = "hf cs", .required = "",
     .help = "format of the input: Hugging Face, or checkpoint and params"},
    {APP_ON_CONVERT, "to", APP_CHOICE, NULL, AT(convert, to), .words = "hf cs", .required = "",
     .help = "format of the output"},
    {APP_ON_CONVERT, "input", APP_FILE, "PATH", AT(convert, job.input), .required = "",
     .help = "from hf: the folder; from cs: the checkpoint (.mdl)"},
    {APP_ON_CONVERT, "out", APP_FOLDER, "DIR", AT(convert, job.out), .required = "",
     .help = "to cs: gets model.mdl and params.yaml, from cs with the adapters merged; to hf: gets "
             "config.json and model.safetensors, or shards and their index",
     .writes = ""},
    {APP_ON_CONVERT, "set", APP_TEXT, "PATH=VALUE", .key = "", .repeats = true,
     .help = "override a key of the params"},
    {APP_ON_CONVERT, "lenient", APP_FLAG, AT(convert, job.lenient),
     .help = "leave out tensors without a counterpart, with a warning"},
    {APP_ON_CONVERT, "params", APP_FILE, "FILE", AT(convert, job.params), .needs = "from=cs",
     .required = "from=cs", .help = "the params of the checkpoint"},
    {APP_ON_CONVERT, "model", APP_WORD, "FAMILY", TO_HF, AT(convert, job.family),
     .needs = "from=cs to=hf", .required = "from=cs to=hf", .words = CONVERT_FAMILIES,
     .help = "family of the folder:"},
    {APP_ON_CONVERT, "dtype", APP_CHOICE, NULL, TO_HF, AT(convert, dtype), .words = "f32 f16 bf16",
     .needs = "from=cs to=hf", .help = "type of the tensors",
     .preset_why = "as in the folder that the checkpoint was made of, else f32"},
    {APP_ON_CONVERT, "shard_size", APP_BYTES, "SIZE", TO_HF, AT(convert, job.shard_bytes), .min = 1,
     .max = INT64_MAX, .preset = "10GB", .needs = "from=cs to=hf", .help = "largest file"},

    /* inspect */
    {APP_ON_INSPECT, NULL, APP_FILE, "FILE", .help = "checkpoint, dataset, params or cluster file",
     AT(inspect, file), .bare = true, .required = ""},
    {APP_ON_INSPECT, "json", APP_FLAG, AT(inspect, json),
     .help = "results as JSON, of params and cluster files"},

    /* params */
    {APP_ON_PARAMS, NULL, APP_TEXT, "WORD", AT(params, word), .bare = true,
     .help = "with --template: the size; with --diff: the second file; with --schema: params or "
             "cluster"},
    {APP_ON_PARAMS, "template", APP_TEXT, "FAMILY", AT(params, template_of),
     .needs = "!diff "
              "!schema",
     .required = "!diff !schema",
     .help = "write the params file of a model of this family and size, or list: all there are"},
    {APP_ON_PARAMS, "diff", APP_FILE, "FILE", AT(params, diff), .needs = "WORD !schema",
     .help = "print the keys whose effective values differ in two params files"},
    {APP_ON_PARAMS, "schema", APP_FLAG, AT(params, schema),
     .help = "print the JSON Schema of params files, or of cluster files"},

    /* doctor */
    {APP_ON_DOCTOR, "quick", APP_FLAG, AT(doctor, quick),
     .help = "start no MPI jobs and no gnuplot: look only"},
    {APP_ON_DOCTOR, "json", APP_FLAG, AT(doctor, json), .help = "results as JSON"},

    /* help */
    {APP_ON_HELP, NULL, APP_TEXTS, "COMMAND", AT(help_request, words), .max = 2, .bare = true,
     .help = "print the options of this command", .preset_why = "list the commands"},
    {APP_ON_HELP, "man", APP_TEXT, "PAGE", AT(help_request, man), .needs = "!COMMAND",
     .help = "print a page of the manual, in the macros of man(7), or list: the names of all"},
    {APP_ON_HELP, "completion", APP_WORD, NULL, AT(help_request, completion), .words = "bash zsh",
     .needs = "!COMMAND !man", .help = "print a script that completes command lines in this shell"},
    {0}};
_Static_assert(sizeof app_options / sizeof *app_options <= APP_MAX_ROWS,
               "struct app_call has no place for the values of all rows");
