// SPDX-License-Identifier: Apache-2.0
#include "app.h"

#include <wsc/job.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/stop.h>

#include <stdio.h>
#include <string.h>

enum { MAX_PROMPTS = 64 };

struct run_options {
    struct app_config config;
    struct job job;
    const char *prompt[MAX_PROMPTS];
    bool validate_only, compile_only, dump_params, help;
    int64_t phase; /* 0: all */
    const char *trace, *goal;
};

static const char help[] =
    "usage: wsc run [CSX|CPU] --params FILE [options]\n"
    "       mpirun -n R wsc run ...     any R from 1 to `wsc ranks`; the results are the same\n\n"
    "  --params FILE           Model Zoo params, trainer or runconfig style\n"
    "  --phase N               of a list of trainers: this one alone; default: one after another\n"
    "  --mode MODE             train, eval, train_and_eval, generate\n"
    "  --num_csx N             emulated CS-2 systems\n"
    "  --num_steps S           steps of this run\n"
    "  --max_steps S           absolute last step\n"
    "  --model_dir DIR         where results and checkpoints go\n"
    "  --checkpoint_path FILE  start from this checkpoint, or from plain tensors\n"
    "  --run_id ID             shared by a run and its restarts: go on from a checkpoint of this\n"
    "                          ID in model_dir, to the step at which the first was to end\n"
    "  --cluster FILE          the emulated machine; built-in: CS-2\n"
    "  --numerics host|mesh|none\n"
    "                          compute values on the host, on an emulated mesh of PEs wavelet by\n"
    "                          wavelet (small models), or keep time only\n"
    "  --set PATH=VALUE        override any key, e.g. model.num_hidden_layers=2,\n"
    "                          trainer.init.model.num_hidden_layers=2,\n"
    "                          cluster.swarmx.link_latency=5us; may be repeated\n"
    "  --fault KIND:KEY=VALUE,...\n"
    "                          something that goes wrong, e.g. "
    "straggler:wafer=3,factor=2,from=10;\n"
    "                          may be repeated (docs/FAULTS.md)\n"
    "  --seed K                seed of the initial weights\n"
    "  --validate_only         check the params, print what they mean\n"
    "  --compile_only          print the plan of the emulated machine and its speed as well\n"
    "  --dump_params           print the params as they are understood, as YAML\n"
    "  --json                  results as JSON on stdout\n"
    "  --dump_gradients FILE   mean gradient of every tensor after the first step (HDF5)\n"
    "  --print_placement       which role lives on which rank and host\n"
    "  --trace FILE            Chrome trace of a step of the virtual timeline, with the op "
    "profile\n"
    "                          and the critical path; runconfig.op_profiler_config picks steps\n"
    "  --goal FILE             GOAL schedule (LogGOPSim) of that step\n"
    "  --prompt TEXT           generate: continue TEXT; may be repeated\n"
    "  --max_new_tokens N      generate: tokens to add (200)\n"
    "  --temperature X         generate: 0 takes the most likely token (0.8)\n"
    "  --prompt_ids I,J,...    generate: a prompt as token ids, and ids as the answer\n"
    "  --tokenizer byte|bpe    generate: how texts become tokens; bpe takes the files; without\n"
    "                          it byte, when the model has 256 tokens\n"
    "  --vocab FILE            vocab.json\n"
    "  --merges FILE           merges.txt\n"
    "  --top_k K               generate: draw among the K most likely; 0 = all (40)\n"
    "  --top_p P               generate: draw among the most likely that have the probability P\n"
    "                          together (1: all)\n"
    "  --eos_id ID             generate: a text ends behind this token (-1: none does)\n\n"
    "examples:\n"
    "  wsc run --params configs/params/tiny.yaml --num_csx 2 --num_steps 20\n"
    "  wsc run --params configs/params/gpt3_13b.yaml --num_csx 64 --num_steps 3 --numerics none\n"
    "  wsc run --params configs/params/mesh.yaml --num_csx 2 --numerics mesh \\\n"
    "          --set cluster.wafer.pe_cols=16 --set cluster.wafer.pe_rows=16\n"
    "  wsc run --params configs/params/gpt3_111m.yaml --num_csx 4 --num_steps 4 \\\n"
    "          --numerics none --model_dir out/111m --trace out/111m/chrome_trace.json\n"
    "  wsc run --params my.yaml --mode generate --prompt 'A hacker is '\n";

enum {
    OPT_PARAMS = 256,
    OPT_MODE,
    OPT_NUM_CSX,
    OPT_NUM_STEPS,
    OPT_MAX_STEPS,
    OPT_MODEL_DIR,
    OPT_CHECKPOINT,
    OPT_RUN_ID,
    OPT_CLUSTER,
    OPT_NUMERICS,
    OPT_SET,
    OPT_FAULT,
    OPT_SEED,
    OPT_VALIDATE,
    OPT_COMPILE,
    OPT_JSON,
    OPT_DUMP_PARAMS,
    OPT_PHASE,
    OPT_DUMP,
    OPT_PLACEMENT,
    OPT_PROMPT,
    OPT_NEW_TOKENS,
    OPT_TEMPERATURE,
    OPT_TOP_K,
    OPT_TOP_P,
    OPT_EOS,
    OPT_PROMPT_IDS,
    OPT_TOKENIZER,
    OPT_VOCAB,
    OPT_MERGES,
    OPT_TRACE,
    OPT_GOAL
};

static const struct option long_option[] = {
    {"params", required_argument, NULL, OPT_PARAMS},
    {"mode", required_argument, NULL, OPT_MODE},
    {"num_csx", required_argument, NULL, OPT_NUM_CSX},
    {"num_steps", required_argument, NULL, OPT_NUM_STEPS},
    {"max_steps", required_argument, NULL, OPT_MAX_STEPS},
    {"model_dir", required_argument, NULL, OPT_MODEL_DIR},
    {"checkpoint_path", required_argument, NULL, OPT_CHECKPOINT},
    {"run_id", required_argument, NULL, OPT_RUN_ID},
    {"cluster", required_argument, NULL, OPT_CLUSTER},
    {"numerics", required_argument, NULL, OPT_NUMERICS},
    {"set", required_argument, NULL, OPT_SET},
    {"fault", required_argument, NULL, OPT_FAULT},
    {"seed", required_argument, NULL, OPT_SEED},
    {"validate_only", no_argument, NULL, OPT_VALIDATE},
    {"compile_only", no_argument, NULL, OPT_COMPILE},
    {"json", no_argument, NULL, OPT_JSON},
    {"dump_params", no_argument, NULL, OPT_DUMP_PARAMS},
    {"phase", required_argument, NULL, OPT_PHASE},
    {"dump_gradients", required_argument, NULL, OPT_DUMP},
    {"print_placement", no_argument, NULL, OPT_PLACEMENT},
    {"prompt", required_argument, NULL, OPT_PROMPT},
    {"max_new_tokens", required_argument, NULL, OPT_NEW_TOKENS},
    {"temperature", required_argument, NULL, OPT_TEMPERATURE},
    {"top_k", required_argument, NULL, OPT_TOP_K},
    {"top_p", required_argument, NULL, OPT_TOP_P},
    {"eos_id", required_argument, NULL, OPT_EOS},
    {"prompt_ids", required_argument, NULL, OPT_PROMPT_IDS},
    {"tokenizer", required_argument, NULL, OPT_TOKENIZER},
    {"vocab", required_argument, NULL, OPT_VOCAB},
    {"merges", required_argument, NULL, OPT_MERGES},
    {"trace", required_argument, NULL, OPT_TRACE},
    {"goal", required_argument, NULL, OPT_GOAL},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

/* Options that are keys of the params under another name. */
static const struct {
    int option;
    const char *path;
} override[] = {
    {OPT_MODE, "runconfig.mode"},           {OPT_NUM_CSX, "runconfig.num_csx"},
    {OPT_NUM_STEPS, "runconfig.num_steps"}, {OPT_MAX_STEPS, "runconfig.max_steps"},
    {OPT_MODEL_DIR, "runconfig.model_dir"}, {OPT_CHECKPOINT, "runconfig.checkpoint_path"},
    {OPT_SEED, "runconfig.seed"},
};

static enum wsc_err parse_numerics(const char *text, struct job *job)
{
    static const char *const name[] = {"none", "host", "mesh"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, name[i]) != 0) continue;
        job->numerics = (enum kernels_numerics)i;
        job->values = job->numerics != KERNELS_NONE;
        return WSC_OK;
    }
    return WSC_RAISE(WSC_USAGE, "--numerics: expected host, mesh or none, got \"%s\"", text);
}

static enum wsc_err take_phase(struct run_options *o, const char *value)
{
    TRY(app_parse_int("--phase", value, 1, 1 << 20, &o->phase));
    return app_add_override(&o->config, "phase", value);
}

static enum wsc_err take_prompt(struct run_options *o, const char *value, bool ids)
{
    if (o->job.n_prompts == MAX_PROMPTS)
        return WSC_RAISE(WSC_USAGE, "--prompt: more than %d", MAX_PROMPTS);
    if (o->job.n_prompts && o->job.prompts_are_ids != ids)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--prompt and --prompt_ids go not together"),
                            "either texts or ids");
    o->job.prompts_are_ids = ids;
    o->prompt[o->job.n_prompts++] = value;
    return WSC_OK;
}

static enum wsc_err take_generation(struct run_options *o, int option, const char *value)
{
    struct job *job = &o->job;
    switch (option) {
    case OPT_NEW_TOKENS:
        return app_parse_int("--max_new_tokens", value, 1, 1 << 20, &job->max_new_tokens);
    case OPT_TEMPERATURE:
        return app_parse_real("--temperature", value, 0, 100, &job->temperature);
    case OPT_TOP_K:
        return app_parse_int("--top_k", value, 0, 1 << 20, &job->top_k);
    case OPT_TOP_P:
        return app_parse_real("--top_p", value, 1e-9, 1, &job->top_p);
    case OPT_EOS:
        return app_parse_int("--eos_id", value, -1, INT32_MAX, &job->eos_id);
    case OPT_TOKENIZER:
        job->tokenizer = value;
        return WSC_OK;
    case OPT_VOCAB:
        job->vocab = value;
        return WSC_OK;
    case OPT_MERGES:
        job->merges = value;
        return WSC_OK;
    default:
        return take_prompt(o, value, option == OPT_PROMPT_IDS);
    }
}

static enum wsc_err take_option(struct run_options *o, int option, const char *value)
{
    for (int i = 0; i < (int)(sizeof override / sizeof *override); i++)
        if (override[i].option == option)
            return app_add_override(&o->config, override[i].path, value);
    switch (option) {
    case OPT_PARAMS:
        o->config.params_path = value;
        return WSC_OK;
    case OPT_CLUSTER:
        o->config.cluster_path = value;
        return WSC_OK;
    case OPT_SET:
        return app_add_set(&o->config, value);
    case OPT_FAULT:
        return app_add_fault(&o->config, value);
    case OPT_NUMERICS:
        return parse_numerics(value, &o->job);
    case OPT_RUN_ID:
        o->job.run_id = value;
        return WSC_OK;
    case OPT_DUMP:
        o->job.dump_gradients = value;
        return WSC_OK;
    case OPT_VALIDATE:
        o->validate_only = true;
        return WSC_OK;
    case OPT_COMPILE:
        o->compile_only = true;
        return WSC_OK;
    case OPT_JSON:
        o->job.json = true;
        return WSC_OK;
    case OPT_DUMP_PARAMS:
        o->dump_params = true;
        return WSC_OK;
    case OPT_PHASE:
        return take_phase(o, value);
    case OPT_PLACEMENT:
        o->job.print_placement = true;
        return WSC_OK;
    case OPT_TRACE:
        o->trace = value;
        return WSC_OK;
    case OPT_GOAL:
        o->goal = value;
        return WSC_OK;
    case 'h':
        o->help = true;
        return WSC_OK;
    default:
        return take_generation(o, option, value);
    }
}

/* The Model Zoo's run.py takes the device as a word; every device here is emulated. */
static enum wsc_err take_device(int argc, char **argv)
{
    for (int i = optind; i < argc; i++)
        if (strcmp(argv[i], "CSX") != 0 && strcmp(argv[i], "CPU") != 0)
            return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: unexpected argument", argv[i]),
                                "wsc run --help");
    return WSC_OK;
}

static enum wsc_err parse(struct run_options *o, int argc, char **argv)
{
    int option;
    o->job.numerics = KERNELS_HOST;
    o->job.values = true;
    o->job.max_new_tokens = 200;
    o->job.temperature = 0.8;
    o->job.top_k = 40;
    o->job.top_p = 1;
    o->job.eos_id = -1;
    o->job.prompt = o->prompt;
    o->job.command = app_command_line();
    while ((option = getopt_long(argc, argv, ":h", long_option, NULL)) != -1) {
        if (option == '?' || option == ':') return app_bad_option("run", argv, option);
        TRY(take_option(o, option, optarg));
    }
    return take_device(argc, argv);
}

/* Which steps a profile looks at: those of op_profiler_config, else the third one, which is like
 * all that follow; false when nobody asks. */
static bool choose_steps(const struct run_options *o, struct timeline_job *job)
{
    enum { STEADY = 2, MOST_STEPS = 16 };
    const struct zoo_runconfig *rc = &o->job.params->runconfig;
    const bool given = rc->profile_start_step != CONF_NULL;
    if (!given && !o->trace && !o->goal) return false;
    job->first_step = given ? rc->profile_start_step - 1 : STEADY;
    job->n_steps = 1;
    if (!given || rc->profile_end_step == CONF_NULL) return true;
    job->n_steps = rc->profile_end_step - rc->profile_start_step + 1;
    if (job->n_steps <= MOST_STEPS) return true;
    WSC_WARNING("op_profiler_config: %lld steps, the first %d are traced", (long long)job->n_steps,
                MOST_STEPS);
    job->n_steps = MOST_STEPS;
    return true;
}

/* Virtual time does not depend on ranks or values, so one process can walk the steps again. */
static enum wsc_err profile(const struct run_options *o)
{
    const struct zoo_params *p = o->job.params;
    struct timeline_job job = {.params = p,
                               .cluster = o->job.cluster,
                               .num_csx = p->runconfig.num_csx,
                               .global_batch = p->train_input.batch_size};
    struct app_anatomy a;
    char path[4096];
    const char *trace = o->trace;
    if (!choose_steps(o, &job)) return WSC_OK;
    TRY(app_refuse_passing_faults(o->job.cluster, "a profile looks at a step", false));
    (void)snprintf(path, sizeof path, "%s/chrome_trace.json", p->runconfig.model_dir);
    if (!trace && p->runconfig.profile_start_step != CONF_NULL) trace = path;
    TRY(app_anatomy_make(&a, &job, p->file, trace, o->goal));
    enum wsc_err rc = o->job.json ? WSC_OK : report_anatomy_print(&a.report);
    if (!rc) rc = report_anatomy_write(p->runconfig.model_dir, &a.report);
    app_anatomy_fini(&a);
    return rc;
}

static bool trains(const struct zoo_params *p)
{
    return p->runconfig.mode == ZOO_TRAIN || p->runconfig.mode == ZOO_TRAIN_AND_EVAL;
}

static bool explores(const struct zoo_params *p)
{
    return trains(p) && p->train_input.present && p->train_input.micro_batch_size == CONF_EXPLORE;
}

/* True when nothing runs. */
static bool describes(const struct run_options *o, const struct zoo_params *p)
{
    return o->dump_params || o->validate_only || o->compile_only || p->runconfig.validate_only ||
           p->runconfig.compile_only || explores(p);
}

static enum wsc_err dump_params(const struct zoo_params *p)
{
    char *yaml = NULL;
    TRY(zoo_params_dump(p, &yaml));
    (void)fputs(yaml, stdout);
    wsc_free(yaml);
    return WSC_OK;
}

/* `--compile_only` also tells how fast the emulated machine trains. */
static enum wsc_err describe(struct run_options *o)
{
    const struct zoo_params *p = o->job.params;
    const bool with_plan = o->compile_only || p->runconfig.compile_only;
    struct report_scale_row speed;
    const struct scaling_model model = {.name = p->file, .params = p};
    if (with_plan && p->train_input.present) {
        TRY(scaling_point(&model, o->job.cluster, p->runconfig.num_csx, p->train_input.batch_size,
                          &speed));
        o->job.speed = &speed;
    }
    enum wsc_err rc = job_describe(&o->job, with_plan);
    o->job.speed = NULL;
    return rc;
}

/* micro_batch_size: explore. */
static enum wsc_err explore(struct run_options *o)
{
    const struct zoo_params *p = o->job.params;
    const struct scaling_model model = {.name = p->file, .params = p};
    struct report_scale_row *rows = NULL;
    int n, best;
    TRY(scaling_explore(&model, o->job.cluster, &rows, &n, &best));
    enum wsc_err rc = o->job.json ? report_explored_print_json(rows, n, best)
                                  : report_explored_print(rows, n, best);
    wsc_free(rows);
    return rc;
}

static enum wsc_err execute(struct comm *comm, struct run_options *o)
{
    const struct zoo_params *p = o->job.params;
    if (o->dump_params) return comm_rank(comm) ? WSC_OK : dump_params(p);
    if (o->job.print_placement)
        return comm_rank(comm) ? WSC_OK : job_print_placement(&o->job, comm);
    const bool tries = explores(p) && !o->validate_only && !p->runconfig.validate_only;
    if (tries) return comm_rank(comm) ? WSC_OK : explore(o);
    if (describes(o, p)) return comm_rank(comm) ? WSC_OK : describe(o);
    bool report;
    enum wsc_err rc = job_run(comm, &o->job, &report);
    if (!report) app_set_reported();
    if (!rc && trains(p) && comm_rank(comm) == 0) rc = profile(o);
    return rc;
}

static enum wsc_err check_ranks(struct comm *comm, const struct job *job)
{
    int64_t n_roles;
    TRY(cluster_n_roles(job->params, job->cluster, job->params->runconfig.num_csx, &n_roles));
    if (comm_size(comm) <= n_roles) return WSC_OK;
    if (comm_rank(comm)) app_set_reported();
    return wsc_err_hint(
        WSC_RAISE(WSC_USAGE, "%d ranks for %lld roles", comm_size(comm), (long long)n_roles),
        "mpirun -n %lld, or fewer", (long long)n_roles);
}

/* A phase goes on from the checkpoint that the one before it leaves in the same model_dir, or from
 * one that its own params name. */
static enum wsc_err check_continues(const struct run_options *o, const struct zoo_params *before,
                                    const struct zoo_params *p)
{
    const bool named = p->runconfig.checkpoint_path != NULL;
    const bool same = !strcmp(before->runconfig.model_dir, p->runconfig.model_dir) &&
                      p->runconfig.autoload_last_checkpoint &&
                      before->runconfig.checkpoint_steps > 0;
    if (!o->job.values || !trains(p) || named || same) return WSC_OK;
    return wsc_err_hint(
        WSC_RAISE(WSC_CONFIG, "%s: phase %d would start from new weights", p->file, p->phase),
        "the phases need one model_dir, checkpoints (checkpoint.steps) and "
        "autoload_last_checkpoint, "
        "or a ckpt_path; --phase %d runs it alone",
        p->phase);
}

/* The params file as every rank has it. */
struct params_text {
    char *bytes; /* owned */
    size_t n;
};

/* All phases are understood before the first one runs.  *@p n: their number. */
static enum wsc_err check_phases(struct comm *comm, const struct run_options *o,
                                 const struct params_text *text, int *n)
{
    struct zoo_params p[2] = {0};
    const bool runs = !o->validate_only && !o->compile_only && !o->dump_params;
    enum wsc_err rc = app_parse_params(comm, &o->config, text->bytes, text->n, 0, &p[1]);
    *n = rc || o->phase ? 1 : p[1].n_phases;
    for (int k = 2; k <= *n && !rc; k++) {
        zoo_params_fini(&p[0]);
        p[0] = p[1];
        rc = app_parse_params(comm, &o->config, text->bytes, text->n, k, &p[1]);
        if (rc || !runs) continue;
        rc = check_continues(o, &p[0], &p[1]);
        if (rc && comm_rank(comm)) app_set_reported();
    }
    zoo_params_fini(&p[0]);
    zoo_params_fini(&p[1]);
    return rc;
}

/* Phase @p k, 0 where there is no choice. */
static enum wsc_err run_phase(struct comm *comm, struct run_options *o,
                              const struct params_text *text, int k)
{
    struct zoo_params params = {0};
    struct hw_machine cluster = {0};
    enum wsc_err rc = app_parse_params(comm, &o->config, text->bytes, text->n, k, &params);
    if (!rc) rc = app_load_cluster(comm, &o->config, &cluster, NULL);
    for (int i = 0; i < params.n_warnings && !rc && !describes(o, &params); i++)
        WSC_WARNING("%s", params.warning[i].text);
    o->job.params = &params;
    o->job.cluster = &cluster;
    if (!rc && k && !describes(o, &params)) WSC_INFO("Phase %d of %d", k, params.n_phases);
    if (!rc) rc = check_ranks(comm, &o->job);
    if (!rc) rc = execute(comm, o);
    o->job.params = NULL;
    o->job.cluster = NULL;
    zoo_params_fini(&params);
    hw_machine_fini(&cluster);
    return rc;
}

static enum wsc_err load_and_run(struct comm *comm, struct run_options *o)
{
    struct params_text text = {0};
    int n = 1;
    wsc_log_quiet(comm_rank(comm) != 0);
    enum wsc_err rc = app_read_params(comm, &o->config, &text.bytes, &text.n);
    if (!rc) rc = check_phases(comm, o, &text, &n);
    for (int k = 1; k <= n && !rc; k++)
        rc = run_phase(comm, o, &text, n > 1 ? k : 0);
    wsc_free(text.bytes);
    return rc;
}

/* From here on all ranks take the same way: a wrong command line on one of them is the end of all,
 * and so is another one. */
static enum wsc_err start_together(struct comm *comm, enum wsc_err rc, int argc, char **argv)
{
    bool report;
    rc = comm_agree(comm, rc, &report);
    if (!rc) rc = job_compare_commands(comm, argc, argv, &report);
    if (rc && !report) app_set_reported();
    return rc;
}

enum wsc_err app_run(int argc, char **argv)
{
    struct run_options o = {0};
    struct comm *comm = NULL;
    enum wsc_err rc = wsc_stop_start();
    if (!rc) rc = parse(&o, argc, argv);
    if (!rc && o.help) {
        (void)fputs(help, stdout);
        app_config_fini(&o.config);
        return WSC_OK;
    }
    /* Even a wrong command line starts MPI, so that the ranks end together and one speaks. */
    if (app_under_mpi() || !rc) {
        enum wsc_err started = comm_create(&comm, app_under_mpi());
        if (!rc) rc = started;
        if (!started) rc = start_together(comm, rc, argc, argv);
    }
    num_init(0);
    if (!rc) rc = load_and_run(comm, &o);
    /* Before MPI ends: the first rank that exits with a failure takes the others with it. */
    if (rc) app_report_error();
    comm_destroy(&comm);
    app_config_fini(&o.config);
    return rc;
}
