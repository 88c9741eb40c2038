// SPDX-License-Identifier: Apache-2.0
#include "app.h"

#include <wsc/mesh.h>

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: wsc mesh list\n"
    "       wsc mesh survey [--max_p P] [--max_words B] [--json]\n"
    "       wsc mesh calibration [--json]\n"
    "       wsc mesh KERNEL [--fabric WxH] [--arch wse2|wse3] [--half fp16|bf16] [--algo NAME]\n"
    "                       [--words B] [--m M] [--n N] [--k K] [--zeros SHARE]\n"
    "                       [--length L] [--calls C] [--seed S] [--threads T] [--json]\n\n"
    "Runs a kernel on the emulated dataflow mesh, wavelet by wavelet, checks its result against\n"
    "the host and prints the cycles it took; threads change nothing but the time it takes the\n"
    "host.  survey compares counted cycles with the closed\n"
    "forms of the literature, calibration with published counts.\n\n"
    "examples:\n"
    "  wsc mesh allreduce --fabric 64x1 --words 256 --algo two-phase\n"
    "  wsc mesh gemm --fabric 8x8 --m 64 --n 32 --k 40 --algo stream --zeros 0.5 --json\n";

enum {
    OPT_FABRIC = 1,
    OPT_ARCH,
    OPT_HALF,
    OPT_ALGO,
    OPT_JSON,
    OPT_HELP,
    OPT_ZEROS,
    OPT_WORDS,
    OPT_M,
    OPT_N,
    OPT_K,
    OPT_LENGTH,
    OPT_CALLS,
    OPT_SEED,
    OPT_THREADS,
    OPT_MAX_P,
    OPT_MAX_WORDS
};

static const struct option long_option[] = {{"fabric", required_argument, NULL, OPT_FABRIC},
                                            {"arch", required_argument, NULL, OPT_ARCH},
                                            {"half", required_argument, NULL, OPT_HALF},
                                            {"algo", required_argument, NULL, OPT_ALGO},
                                            {"json", no_argument, NULL, OPT_JSON},
                                            {"help", no_argument, NULL, OPT_HELP},
                                            {"zeros", required_argument, NULL, OPT_ZEROS},
                                            {"words", required_argument, NULL, OPT_WORDS},
                                            {"m", required_argument, NULL, OPT_M},
                                            {"n", required_argument, NULL, OPT_N},
                                            {"k", required_argument, NULL, OPT_K},
                                            {"length", required_argument, NULL, OPT_LENGTH},
                                            {"calls", required_argument, NULL, OPT_CALLS},
                                            {"seed", required_argument, NULL, OPT_SEED},
                                            {"threads", required_argument, NULL, OPT_THREADS},
                                            {"max_p", required_argument, NULL, OPT_MAX_P},
                                            {"max_words", required_argument, NULL, OPT_MAX_WORDS},
                                            {NULL, 0, NULL, 0}};

struct mesh_options {
    struct mesh_case c;
    int64_t max_p, max_words;
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
    case OPT_ZEROS:
        return app_parse_real("--zeros", optarg, 0, 1, &o->c.zeros);
    case OPT_JSON:
        o->json = true;
        return WSC_OK;
    default:
        o->help = true;
        return WSC_OK;
    }
}

static enum wsc_err parse_number(struct mesh_options *o, int option)
{
    static const struct {
        const char *name;
        int64_t min, max;
    } range[] = {{"--words", 1, 12288},    {"--m", 1, 65536},     {"--n", 1, 65536},
                 {"--k", 1, 65536},        {"--length", 1, 6000}, {"--calls", 1, 1000000},
                 {"--seed", 0, INT32_MAX}, {"--threads", 1, 64},  {"--max_p", 4, 512},
                 {"--max_words", 1, 4096}};
    int64_t seed = 0, threads = 0;
    int64_t *const to[] = {&o->c.words, &o->c.m, &o->c.n,  &o->c.k,   &o->c.length,
                           &o->c.calls, &seed,   &threads, &o->max_p, &o->max_words};
    int i = option - OPT_WORDS;
    TRY(app_parse_int(range[i].name, optarg, range[i].min, range[i].max, to[i]));
    if (option == OPT_SEED) o->c.seed = (uint64_t)seed;
    if (option == OPT_THREADS) o->c.threads = (int)threads;
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

static void print_list(void)
{
    const struct mesh_kernel *k;
    for (int i = 0; (k = mesh_kernel_at(i)); i++) {
        (void)printf("%-10s %s\n           options: --fabric --arch %s\n", k->name, k->summary,
                     k->options);
        if (*k->algos) (void)printf("           --algo: %s\n", k->algos);
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
    (void)printf("}\n");
}

static void print_text(const char *name, const struct mesh_case *c, const struct mesh_result *r)
{
    (void)printf("%s%s%s on %d x %d PEs (%s): %lld cycles", name, *r->algo ? " " : "", r->algo,
                 c->w, c->h, c->arch == MESH_WSE3 ? "WSE-3" : "WSE-2", (long long)r->stats.cycles);
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
}

static enum wsc_err run_kernel(struct mesh_options *o, const char *name)
{
    const double tolerance = 1e-4; /* sums of a few thousand fp32 terms; the inputs are exact */
    const struct mesh_kernel *k;
    struct mesh_result r;
    TRY(mesh_kernel_find(name, &k));
    fill_defaults(&o->c, name);
    TRY(k->run(&o->c, &r));
    (o->json ? print_json : print_text)(name, &o->c, &r);
    if (r.max_error <= tolerance) return WSC_OK;
    return WSC_RAISE(WSC_NUMERIC, "%s: the mesh and the host differ by %g", name, r.max_error);
}

static enum wsc_err print_point(void *ctx, const struct mesh_point *p)
{
    struct mesh_options *o = ctx;
    double error = p->form > 0 ? 100 * ((double)p->cycles - p->form) / p->form : 0;
    bool holds = mesh_point_holds(p);
    o->n_points++;
    o->n_outside += !holds;
    if (!o->json) {
        if (o->first)
            (void)printf("%-28s %-10s %4s %6s %9s %11s %8s\n", "what", "algo", "P", "words",
                         "cycles", "reference", "error");
        (void)printf("%-28s %-10s %4d %6lld %9lld %11.1f %+7.2f%% %s%s%s\n", p->what, p->algo, p->p,
                     (long long)p->words, (long long)p->cycles, p->form, error,
                     holds ? "" : "outside", p->reason ? "  " : "", p->reason ? p->reason : "");
    } else {
        (void)printf("%s{\"what\": \"%s\", \"algo\": \"%s\", \"p\": %d, \"words\": %lld, "
                     "\"cycles\": %lld, \"reference\": %.3f, \"error_percent\": %.4f, "
                     "\"tolerance_percent\": %.3g, \"slack_cycles\": %.3g, \"holds\": %s",
                     o->first ? "[" : ",\n ", p->what, p->algo, p->p, (long long)p->words,
                     (long long)p->cycles, p->form, error, 100 * p->tolerance, p->slack,
                     holds ? "true" : "false");
        if (p->reason) (void)printf(", \"reason\": \"%s\"", p->reason);
        (void)printf("}");
    }
    o->first = false;
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
    if (!strcmp(what, "list")) {
        print_list();
        return WSC_OK;
    }
    if (!strcmp(what, "survey") || !strcmp(what, "calibration"))
        return run_points(&o, *what == 's');
    return run_kernel(&o, what);
}
