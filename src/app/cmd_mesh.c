// SPDX-License-Identifier: Apache-2.0
#include "app.h"
#include "mesh_show.h"

#include <wsc/hw.h>
#include <wsc/kernels.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: wsc mesh list\n"
    "       wsc mesh survey [--max_p P] [--max_words B] [--json]\n"
    "       wsc mesh calibration [--json]\n"
    "       wsc mesh KERNEL [--fabric WxH] [--arch wse2|wse3] [--half fp16|bf16] [--algo NAME]\n"
    "                       [--words B] [--groups G] [--m M] [--n N] [--k K] [--zeros SHARE]\n"
    "                       [--length L] [--calls C] [--seed S] [--threads T] [--json]\n"
    "                       [--tokens T] [--samples B] [--features C] [--heads H] [--head_dim D]\n"
    "                       [--vocab V] [--pass forward|backward]\n"
    "                       [--explain] [--heatmap FILE.png]\n"
    "                       [--trace FILE.json [--trace_pe PES] [--trace_events N]]\n\n"
    "Runs a kernel on the emulated dataflow mesh, wavelet by wavelet, checks its result against\n"
    "the host and prints the cycles it took; threads change nothing but the time it takes the\n"
    "host.  survey compares counted cycles with the closed forms of the literature, calibration\n"
    "with published counts.\n\n"
    "  --pass PASS     backward runs the gradient of layernorm, attention, ... instead\n"
    "  --explain       where the cycles went: over all PEs, and on the critical path\n"
    "  --heatmap FILE  a picture of the fabric: how busy PEs and links are, what is held back,\n"
    "                  how full queues get\n"
    "  --trace FILE    tasks, operations and wavelets for chrome://tracing or Perfetto;\n"
    "                  1 cycle is 1 us there\n"
    "  --trace_pe PES  which PEs: all, 'X,Y;X,Y', X0-X1,Y0-Y1 (default: the corners, the middle,\n"
    "                  the neighbours of PE (0, 0))\n"
    "  --trace_events N  the most events of all traced PEs together (default 200000)\n\n"
    "examples:\n"
    "  wsc mesh allreduce --fabric 64x1 --words 256 --algo two-phase\n"
    "  wsc mesh gemm --fabric 8x8 --m 64 --n 32 --k 40 --algo stream --zeros 0.5 --json\n"
    "  wsc mesh allreduce --fabric 32x32 --words 64 --heatmap heat.png --explain\n"
    "  wsc mesh attention --fabric 16x8 --tokens 32 --heads 4 --head_dim 16 --pass backward\n"
    "  wsc mesh reduce --fabric 8x1 --algo chain --trace chain.json --trace_pe 0-7,0\n";

enum {
    OPT_FABRIC = 1,
    OPT_ARCH,
    OPT_HALF,
    OPT_ALGO,
    OPT_JSON,
    OPT_HELP,
    OPT_ZEROS,
    OPT_EXPLAIN,
    OPT_HEATMAP,
    OPT_TRACE,
    OPT_TRACE_PE,
    OPT_PASS,
    OPT_WORDS,
    OPT_M,
    OPT_N,
    OPT_K,
    OPT_LENGTH,
    OPT_CALLS,
    OPT_TOKENS,
    OPT_SAMPLES,
    OPT_FEATURES,
    OPT_HEADS,
    OPT_HEAD_DIM,
    OPT_VOCAB,
    OPT_GROUPS,
    OPT_SEED,
    OPT_THREADS,
    OPT_MAX_P,
    OPT_MAX_WORDS,
    OPT_TRACE_EVENTS
};

static const struct option long_option[] = {
    {"fabric", required_argument, NULL, OPT_FABRIC},
    {"arch", required_argument, NULL, OPT_ARCH},
    {"half", required_argument, NULL, OPT_HALF},
    {"algo", required_argument, NULL, OPT_ALGO},
    {"json", no_argument, NULL, OPT_JSON},
    {"help", no_argument, NULL, OPT_HELP},
    {"zeros", required_argument, NULL, OPT_ZEROS},
    {"explain", no_argument, NULL, OPT_EXPLAIN},
    {"heatmap", required_argument, NULL, OPT_HEATMAP},
    {"trace", required_argument, NULL, OPT_TRACE},
    {"trace_pe", required_argument, NULL, OPT_TRACE_PE},
    {"trace_events", required_argument, NULL, OPT_TRACE_EVENTS},
    {"words", required_argument, NULL, OPT_WORDS},
    {"m", required_argument, NULL, OPT_M},
    {"n", required_argument, NULL, OPT_N},
    {"k", required_argument, NULL, OPT_K},
    {"length", required_argument, NULL, OPT_LENGTH},
    {"calls", required_argument, NULL, OPT_CALLS},
    {"pass", required_argument, NULL, OPT_PASS},
    {"tokens", required_argument, NULL, OPT_TOKENS},
    {"samples", required_argument, NULL, OPT_SAMPLES},
    {"features", required_argument, NULL, OPT_FEATURES},
    {"heads", required_argument, NULL, OPT_HEADS},
    {"head_dim", required_argument, NULL, OPT_HEAD_DIM},
    {"vocab", required_argument, NULL, OPT_VOCAB},
    {"seed", required_argument, NULL, OPT_SEED},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"max_p", required_argument, NULL, OPT_MAX_P},
    {"max_words", required_argument, NULL, OPT_MAX_WORDS},
    {"groups", required_argument, NULL, OPT_GROUPS},
    {NULL, 0, NULL, 0}};

struct mesh_options {
    struct mesh_case c;
    struct app_show show;
    int64_t max_p, max_words;
    uint32_t given; /* set of numbers, by OPT_ - OPT_WORDS */
    bool json, help;
    bool first; /* of the points printed */
    int n_points, n_outside;
};

static enum wsc_err parse_fabric(struct mesh_case *c, const char *text)
{
    enum { MAX_SIDE = 2048 };
    char width[16];
    const char *x = strchr(text, 'x');
    int64_t w = 0, h = 0;
    if (!x || x - text >= (int)sizeof width)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--fabric: expected WxH, got \"%s\"", text),
                            "--fabric 16x8");
    (void)snprintf(width, sizeof width, "%.*s", (int)(x - text), text);
    TRY(app_parse_int("--fabric", width, 1, MAX_SIDE, &w));
    TRY(app_parse_int("--fabric", x + 1, 1, MAX_SIDE, &h));
    c->w = (int)w;
    c->h = (int)h;
    return WSC_OK;
}

static enum wsc_err parse_choice(const char *option, const char *text, const char *const name[2],
                                 int *out)
{
    for (*out = 0; *out < 2; (*out)++)
        if (!strcmp(text, name[*out])) return WSC_OK;
    return WSC_RAISE(WSC_USAGE, "%s: expected %s or %s, got \"%s\"", option, name[0], name[1],
                     text);
}

static void parse_show(struct app_show *s, int option)
{
    if (option == OPT_EXPLAIN) s->explain = true;
    if (option == OPT_HEATMAP) s->heatmap = optarg;
    if (option == OPT_TRACE) s->trace = optarg;
    if (option == OPT_TRACE_PE) s->trace_pe = optarg;
}

static enum wsc_err parse_word(struct mesh_options *o, int option)
{
    int choice;
    switch (option) {
    case OPT_FABRIC:
        return parse_fabric(&o->c, optarg);
    case OPT_ARCH:
        TRY(parse_choice("--arch", optarg, (const char *[2]){"wse2", "wse3"}, &choice));
        o->c.arch = (enum mesh_arch)choice;
        return WSC_OK;
    case OPT_HALF:
        TRY(parse_choice("--half", optarg, (const char *[2]){"fp16", "bf16"}, &choice));
        o->c.half = (enum mesh_half)choice;
        return WSC_OK;
    case OPT_ALGO:
        o->c.algo = optarg;
        return WSC_OK;
    case OPT_PASS:
        TRY(parse_choice("--pass", optarg, (const char *[2]){"forward", "backward"}, &choice));
        o->c.backward = choice;
        return WSC_OK;
    case OPT_ZEROS:
        return app_parse_real("--zeros", optarg, 0, 1, &o->c.zeros);
    case OPT_JSON:
        o->json = true;
        return WSC_OK;
    case OPT_EXPLAIN:
    case OPT_HEATMAP:
    case OPT_TRACE:
    case OPT_TRACE_PE:
        parse_show(&o->show, option);
        return WSC_OK;
    default:
        o->help = true;
        return WSC_OK;
    }
}

static const struct {
    const char *name;
    int64_t min, max;
} range[] = {{"--words", 1, 12288},  {"--m", 1, 65536},        {"--n", 1, 65536},
             {"--k", 1, 65536},      {"--length", 1, 6000},    {"--calls", 1, 1000000},
             {"--tokens", 1, 65536}, {"--samples", 1, 4096},   {"--features", 1, 65536},
             {"--heads", 1, 1024},   {"--head_dim", 1, 4096},  {"--vocab", 1, 65536},
             {"--groups", 1, 2048},  {"--seed", 0, INT32_MAX}, {"--threads", 1, 64},
             {"--max_p", 4, 512},    {"--max_words", 1, 4096}, {"--trace_events", 1, 50000000}};
_Static_assert(sizeof range / sizeof *range == OPT_TRACE_EVENTS - OPT_WORDS + 1,
               "a row for each number");

static enum wsc_err parse_number(struct mesh_options *o, int option)
{
    int64_t seed = 0, threads = 0;
    struct mesh_case *c = &o->c;
    int64_t *const to[] = {
        &c->words,  &c->m,       &c->n,        &c->k,     &c->length,    &c->calls,
        &c->tokens, &c->samples, &c->features, &c->heads, &c->head_dim,  &c->vocab,
        &c->groups, &seed,       &threads,     &o->max_p, &o->max_words, &o->show.trace_events};
    int i = option - OPT_WORDS;
    TRY(app_parse_int(range[i].name, optarg, range[i].min, range[i].max, to[i]));
    if (option == OPT_SEED) o->c.seed = (uint64_t)seed;
    if (option == OPT_THREADS) o->c.threads = (int)threads;
    o->given |= 1U << i;
    return WSC_OK;
}

static enum wsc_err parse(struct mesh_options *o, int argc, char **argv)
{
    int option;
    while ((option = getopt_long(argc, argv, ":", long_option, NULL)) != -1) {
        if (option == '?' || option == ':') return app_bad_option("mesh", argv, option);
        TRY(option >= OPT_WORDS ? parse_number(o, option) : parse_word(o, option));
    }
    if (o->help || optind + 1 == argc) return WSC_OK;
    if (optind < argc) return WSC_RAISE(WSC_USAGE, "%s: unexpected argument", argv[optind + 1]);
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "mesh: what to run is missing"), "wsc mesh list");
}

/* The fabric's kernels, then the transformer's. */
static const struct mesh_kernel *kernel_at(int i)
{
    int n = 0;
    while (mesh_kernel_at(n))
        n++;
    return i < n ? mesh_kernel_at(i) : kernels_mesh_kernel_at(i - n);
}

static enum wsc_err find_kernel(const char *name, const struct mesh_kernel **out)
{
    char names[512] = "";
    for (int i = 0; (*out = kernel_at(i)); i++) {
        if (!strcmp(name, (*out)->name)) return WSC_OK;
        const size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", (*out)->name);
    }
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: no such kernel", name), "there are %s", names);
}

static void print_list(void)
{
    const struct mesh_kernel *k;
    for (int i = 0; (k = kernel_at(i)); i++) {
        (void)printf("%-14s%s\n              options: --fabric --arch %s\n", k->name, k->summary,
                     k->options);
        if (*k->algos) (void)printf("              --algo: %s\n", k->algos);
    }
}

static void print_json(const char *name, const struct mesh_case *c, const struct mesh_result *r)
{
    const double router_cycles = (double)r->stats.cycles * c->w * c->h;
    (void)printf("{\"kernel\": \"%s\", \"algo\": \"%s\", \"arch\": \"%s\", \"fabric\": [%d, %d], "
                 "\"words\": %lld, \"cycles\": %lld, \"wavelets\": %lld, \"wavelet_hops\": %lld, "
                 "\"router_cycles\": %.0f, \"host_seconds\": %.6f, \"router_cycles_per_s\": %.0f, "
                 "\"max_error\": %.9g, \"elements\": %lld",
                 name, r->algo, c->arch == MESH_WSE3 ? "wse3" : "wse2", c->w, c->h,
                 (long long)r->words, (long long)r->stats.cycles, (long long)r->stats.wavelets,
                 (long long)r->stats.wavelet_hops, router_cycles, r->host_seconds,
                 r->host_seconds > 0 ? router_cycles / r->host_seconds : 0, r->max_error,
                 (long long)r->stats.elements);
    if (r->form >= 0) (void)printf(", \"closed_form\": %.1f", r->form);
    if (r->built >= 0) (void)printf(", \"built\": %.1f", r->built);
    if (r->schedule >= 0) (void)printf(", \"schedule\": %.1f", r->schedule);
}

static void print_text(const char *title, const struct mesh_case *c, const struct mesh_result *r)
{
    (void)printf("%s", title);
    if (r->form >= 0) (void)printf(", closed form %.0f", r->form);
    (void)printf("\n%lld wavelets, %lld hops, %lld elements; largest error against the host %g\n",
                 (long long)r->stats.wavelets, (long long)r->stats.wavelet_hops,
                 (long long)r->stats.elements, r->max_error);
    if (r->host_seconds > 0)
        (void)printf("%.3g s on this host, %.3g M router-cycles/s\n", r->host_seconds,
                     1e-6 * (double)r->stats.cycles * c->w * c->h / r->host_seconds);
}

static void fill_defaults(struct mesh_case *c, const char *name)
{
    bool ring = c->algo && !strcmp(c->algo, "ring"), single = !strcmp(name, "fmacs");
    if (!c->w) {
        c->w = single ? 1 : 8;
        c->h = single || ring ? 1 : 8;
    }
    if (!c->words) c->words = 64;
    if (!c->m) c->m = 32;
    if (!c->n) c->n = 32;
    if (!c->k) c->k = 32;
    if (!c->length) c->length = 32;
    if (!c->calls) c->calls = 100;
    if (!c->tokens) c->tokens = 16;
    if (!c->samples) c->samples = 1;
    if (!c->features) c->features = 32;
    if (!c->heads) c->heads = 2;
    if (!c->head_dim) c->head_dim = 8;
    if (!c->vocab) c->vocab = 64;
}

/* True when @p word is one of the words of @p list. */
static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        if (length == n && !strncmp(at, word, n)) return true;
        at += length;
    }
    return false;
}

/* Sizes and algorithms that this kernel does not have. */
static enum wsc_err check_kernel(const struct mesh_options *o, const struct mesh_kernel *k)
{
    for (int i = 0; i <= OPT_GROUPS - OPT_WORDS; i++)
        if (o->given >> i & 1U && !has_word(k->options, range[i].name))
            return WSC_RAISE(WSC_USAGE, "%s: kernel %s does not take it; it takes %s",
                             range[i].name, k->name, k->options);
    if (o->given >> (OPT_MAX_P - OPT_WORDS) & 3U)
        return WSC_RAISE(WSC_USAGE, "--max_p and --max_words are for the survey, not for kernel %s",
                         k->name);
    if (o->c.backward && !has_word(k->options, "--pass"))
        return WSC_RAISE(WSC_USAGE, "--pass: kernel %s has no backward pass", k->name);
    if (!o->c.algo || has_word(k->algos, o->c.algo)) return WSC_OK;
    if (!*k->algos) return WSC_RAISE(WSC_USAGE, "--algo: kernel %s has no choice", k->name);
    return WSC_RAISE(WSC_USAGE, "--algo: kernel %s has %s, got \"%s\"", k->name, k->algos,
                     o->c.algo);
}

static enum wsc_err show_result(const struct mesh_options *o, const char *name,
                                const struct mesh_result *r)
{
    char title[160];
    (void)snprintf(title, sizeof title, "%s%s%s on %d x %d PEs (%s): %lld cycles", name,
                   *r->algo ? " " : "", r->algo, o->c.w, o->c.h,
                   o->c.arch == MESH_WSE3 ? "WSE-3" : "WSE-2", (long long)r->stats.cycles);
    if (o->json)
        print_json(name, &o->c, r);
    else
        print_text(title, &o->c, r);
    TRY(app_show_explain(&o->show, o->json));
    if (o->json) (void)printf("}\n");
    return app_show_files(&o->show, o->c.w, o->c.h, title);
}

static enum wsc_err run_on(struct mesh_options *o, const struct mesh_kernel *k,
                           const struct hw *machine)
{
    const double tolerance = 1e-4; /* sums of a few thousand fp32 terms */
    const char *name = k->name;
    struct mesh_result r;
    o->c.machine = machine;
    TRY(app_show_begin(&o->show, o->c.w, o->c.h));
    o->c.watch = o->show.watch;
    enum wsc_err rc = k->run(&o->c, &r);
    if (!rc) rc = show_result(o, name, &r);
    app_show_fini(&o->show);
    if (rc) return wsc_err_frame(rc, __FILE__, __LINE__, name);
    if (r.max_error <= tolerance) return WSC_OK;
    return WSC_RAISE(WSC_NUMERIC, "%s: the mesh and the host differ by %g", name, r.max_error);
}

static enum wsc_err run_kernel(struct mesh_options *o, const char *name)
{
    const struct app_config config = {0}; /* the built-in machine */
    const struct mesh_kernel *k;
    struct hw_machine cluster;
    const struct hw machine = {.cluster = &cluster};
    TRY(find_kernel(name, &k));
    TRY(check_kernel(o, k));
    fill_defaults(&o->c, name);
    enum wsc_err rc = app_load_cluster(NULL, &config, &cluster, NULL);
    if (!rc) rc = run_on(o, k, &machine);
    hw_machine_fini(&cluster);
    return rc;
}

static void point_text(const struct mesh_options *o, const struct mesh_point *p, double error)
{
    const bool scheduled = mesh_point_scheduled(p);
    if (o->first)
        (void)printf("%-28s %-10s %4s %6s %9s %11s %8s\n", "what", "algo", "P", "words", "cycles",
                     "reference", "error");
    (void)printf("%-28s %-10s %4d %6lld %9lld %11.1f %+7.2f%%", p->what, p->algo, p->p,
                 (long long)p->words, (long long)p->cycles, p->form, error);
    if (scheduled) (void)printf("  schedule %.0f: %s", p->schedule, p->reason);
    if (!mesh_point_holds(p))
        (void)printf("  outside%s%s", p->reason && !scheduled ? ": " : "",
                     p->reason && !scheduled ? p->reason : "");
    (void)printf("\n");
}

static void point_json(const struct mesh_options *o, const struct mesh_point *p, double error)
{
    (void)printf("%s{\"what\": \"%s\", \"algo\": \"%s\", \"p\": %d, \"fabric\": [%d, %d], "
                 "\"words\": %lld, \"cycles\": %lld, \"reference\": %.3f, "
                 "\"error_percent\": %.4f, \"tolerance_percent\": %.3g, \"slack_cycles\": %.3g, "
                 "\"against\": \"%s\", \"at_most\": %s, \"holds\": %s",
                 o->first ? "[" : ",\n ", p->what, p->algo, p->p, p->p, p->h, (long long)p->words,
                 (long long)p->cycles, p->form, error, 100 * p->tolerance, p->slack,
                 mesh_point_scheduled(p) ? "schedule" : "reference", p->at_most ? "true" : "false",
                 mesh_point_holds(p) ? "true" : "false");
    if (p->built >= 0) (void)printf(", \"built\": %.3f", p->built);
    if (p->schedule >= 0) (void)printf(", \"schedule\": %.3f", p->schedule);
    if (p->reason) (void)printf(", \"reason\": \"%s\"", p->reason);
    (void)printf("}");
}

/* Progress for who watches while the table goes elsewhere. */
static void tell_progress(const struct mesh_options *o, const struct mesh_point *p)
{
    if (!isatty(STDERR_FILENO) || isatty(STDOUT_FILENO)) return;
    (void)fprintf(stderr, "\r%d points, %s %s, P = %d        ", o->n_points, p->what, p->algo,
                  p->p);
}

static enum wsc_err print_point(void *ctx, const struct mesh_point *p)
{
    struct mesh_options *o = ctx;
    double error = p->form > 0 ? 100 * ((double)p->cycles - p->form) / p->form : 0;
    o->n_points++;
    o->n_outside += !mesh_point_holds(p);
    (o->json ? point_json : point_text)(o, p, error);
    o->first = false;
    tell_progress(o, p);
    return WSC_OK;
}

static enum wsc_err run_points(struct mesh_options *o, bool survey)
{
    o->first = true;
    if (survey)
        TRY(mesh_survey((int)o->max_p, o->max_words, print_point, o));
    else
        TRY(mesh_calibration(print_point, o));
    if (o->json)
        (void)printf("%s]\n", o->first ? "[" : "");
    else
        (void)printf("%d of %d within the tolerance stated for them\n", o->n_points - o->n_outside,
                     o->n_points);
    return WSC_OK;
}

enum wsc_err app_mesh(int argc, char **argv)
{
    struct mesh_options o = {.max_p = 512, .max_words = 4096, .c = {.seed = 1}};
    TRY(parse(&o, argc, argv));
    if (o.help) {
        (void)fputs(help, stdout);
        return WSC_OK;
    }
    const char *what = argv[optind];
    const bool survey = !strcmp(what, "survey"), list = !strcmp(what, "list");
    const bool points = survey || !strcmp(what, "calibration");
    if ((list || points) && app_show_option(&o.show))
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: only a kernel can be watched, not the %s",
                                      app_show_option(&o.show), what),
                            "wsc mesh list shows the kernels");
    if (list) print_list();
    if (points) return run_points(&o, survey);
    return list ? WSC_OK : run_kernel(&o, what);
}
