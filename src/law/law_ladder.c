// SPDX-License-Identifier: Apache-2.0
/* Trains one size of a ladder: the params file with another width and depth.
 *
 * The file is parsed with the size's keys set, as if they came from --set: so every check of
 * params holds for each size.  The size of a head and the ratio of the feed-forward network to the
 * width stay those of the file.  Steps follow from tokens per parameter; steps of schedules are
 * multiplied with them.  The learning rate stays: with `model.mup_base_hidden_size` it is the base
 * from which muP scales every tensor's.  A training that is complete in its folder trains nothing
 * more, so an interrupted ladder resumes (law_earlier.c).  Called by `wsc law`; read next:
 * law_fit.c. */
#include "law_convention.h"
#include "law_earlier.h"

#include <wsc/law.h>

#include <wsc/cluster.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/model.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_OWN_SETS = 8, SET_SIZE = 4096, MAX_SETS = 256 };

/* The sets of a size, after those of the command line. */
struct sets {
    struct conf_set all[MAX_SETS];
    int n;
    char text[N_OWN_SETS][SET_SIZE];
    int n_texts;
};

static void add_set(struct sets *s, const char *key, int64_t value)
{
    char *text = s->text[s->n_texts++];
    (void)snprintf(text, SET_SIZE, "%s=%lld", key, (long long)value);
    s->all[s->n++] = (struct conf_set){.text = text};
}

/* The folder of a size; false when its name is too long. */
static bool add_folder(struct sets *s, const struct law_ladder *l, const struct law_size *size)
{
    char *text = s->text[s->n_texts++];
    const int n = snprintf(text, SET_SIZE, "runconfig.model_dir=%s/%lldx%lld", l->out,
                           (long long)size->hidden, (long long)size->layers);
    s->all[s->n++] = (struct conf_set){.text = text};
    return n < SET_SIZE;
}

static enum wsc_err parse(const struct law_ladder *l, const struct sets *s, struct zoo_params *p)
{
    return zoo_params_parse(p, l->params_path, l->bytes, l->n_bytes, s->all, s->n);
}

/* The width of @p size must hold whole heads of the file's size. */
static enum wsc_err check_width(const struct law_size *size, const struct zoo_params *of_file)
{
    const int64_t head = of_file->model.hidden_size / of_file->model.num_heads;
    if (size->hidden % head == 0) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--sizes: %lldx%lld: the width is no multiple of %lld",
                                  (long long)size->hidden, (long long)size->layers,
                                  (long long)head),
                        "heads keep their size: hidden_size / num_heads of the params");
}

/* Params of a size, with the steps of the file still. */
static enum wsc_err parse_size(const struct law_ladder *l, const struct law_size *size,
                               const struct zoo_params *of_file, struct zoo_params *out)
{
    struct sets *s;
    const int64_t width = of_file->model.hidden_size;
    TRY(check_width(size, of_file));
    if (l->n_sets + N_OWN_SETS > MAX_SETS)
        return WSC_RAISE(WSC_USAGE, "--set: more than %d keys", MAX_SETS - N_OWN_SETS);
    TRY_NEW(s, WSC_MEM_REPORT, 1);
    memcpy(s->all, l->set, (size_t)l->n_sets * sizeof *s->all);
    s->n = l->n_sets;
    add_set(s, "model.hidden_size", size->hidden);
    add_set(s, "model.num_hidden_layers", size->layers);
    add_set(s, "model.num_heads", of_file->model.num_heads * size->hidden / width);
    add_set(s, "model.filter_size", of_file->model.filter_size * size->hidden / width);
    add_set(s, "runconfig.num_csx", l->num_csx);
    enum wsc_err rc = add_folder(s, l, size) ? parse(l, s, out)
                                             : WSC_RAISE(WSC_USAGE, "--out: the name is too long");
    wsc_free(s);
    return rc;
}

/* A number of steps times @p factor, at least 1; CONF_NULL and 0 stay. */
static void multiply(int64_t *steps, double factor)
{
    if (*steps == CONF_NULL || *steps <= 0) return;
    const int64_t n = llround((double)*steps * factor);
    *steps = n > 1 ? n : 1;
}

static void multiply_schedule(struct zoo_schedule *schedule, double factor)
{
    for (int i = 0; i < schedule->n; i++) {
        struct zoo_schedule_node *n = &schedule->node[i];
        multiply(&n->total_iters, factor);
        multiply(&n->warmup_steps, factor);
        multiply(&n->step_size, factor);
        multiply(&n->step_size_up, factor);
        multiply(&n->step_size_down, factor);
        for (int k = 0; k < n->n_milestones; k++) {
            double *at = &schedule->value[n->first_milestone + k];
            *at = round(*at * factor);
        }
    }
}

/* Steps that the file was written for. */
static enum wsc_err steps_of(const struct zoo_params *p, int64_t *steps)
{
    *steps = p->runconfig.max_steps != CONF_NULL ? p->runconfig.max_steps : p->runconfig.num_steps;
    if (*steps != CONF_NULL && *steps > 0) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s: runconfig.max_steps is missing", p->file),
                        "schedules have its steps, and are made longer or shorter for each size");
}

/* Lets @p p train on the ladder's tokens and evaluate at the end; fills in what is known before. */
static enum wsc_err set_steps(const struct law_ladder *l, struct zoo_params *p,
                              struct law_point *point)
{
    struct model *model;
    int64_t steps;
    TRY(steps_of(p, &steps));
    if (p->optimizer.groups.n_tagged)
        return WSC_RAISE(WSC_CONFIG,
                         "%s: optimizer.tagged_schedules: not of a ladder in this "
                         "release",
                         p->file);
    TRY(model_create(&model, p, l->cluster->stream.granularity));
    const int64_t n_params = model->n_params;
    const double flop_per_token = model_flop_per_token_hoffmann(model, true);
    const int64_t of_step = p->train_input.batch_size * model_tokens(model);
    model_destroy(&model);
    const double tokens = l->tokens_per_param * (double)n_params;
    const int64_t wanted = (int64_t)ceil(tokens / (double)of_step);
    multiply_schedule(&p->optimizer.learning_rate, (double)wanted / (double)steps);
    multiply_schedule(&p->optimizer.weight_decay, (double)wanted / (double)steps);
    p->runconfig.mode = ZOO_TRAIN_AND_EVAL;
    p->runconfig.max_steps = wanted;
    p->runconfig.num_steps = p->runconfig.num_epochs = CONF_NULL;
    p->runconfig.eval_frequency = wanted;
    p->runconfig.eval_fraction = 0;
    point->params = n_params;
    point->tokens = wanted * of_step;
    point->convention = l->convention;
    point->flop = law_count(l->convention, (double)n_params, (double)point->tokens,
                            flop_per_token * (double)point->tokens);
    return WSC_OK;
}

/* The loss of the evaluation after the last step, on rank 0. */
static enum wsc_err take_loss(const struct zoo_params *p, struct law_point *point)
{
    int64_t step;
    TRY(job_last_evaluation(p->runconfig.model_dir, &step, &point->loss));
    if (step == p->runconfig.max_steps) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s: no evaluation after step %lld",
                                  p->runconfig.model_dir, (long long)p->runconfig.max_steps),
                        "a folder of another ladder? choose another --out");
}

static bool has_warning(const struct zoo_params *p, const char *text)
{
    for (int i = 0; i < p->n_warnings; i++)
        if (!strcmp(p->warning[i].text, text)) return true;
    return false;
}

/* Print the warnings of a size that the first size does not have; of the first size, all. */
static enum wsc_err warn(const struct law_ladder *l, int k, const struct zoo_params *of_file,
                         struct zoo_params *p)
{
    struct zoo_params first = {0};
    struct cluster_use use = {
        .kind = CLUSTER_USE_RUN, .params = p, .machine = l->cluster, .num_csx = l->num_csx};
    TRY(cluster_warn_idle(&use, p));
    enum wsc_err rc = k ? parse_size(l, &l->size[0], of_file, &first) : WSC_OK;
    use.params = &first;
    if (!rc && k) rc = cluster_warn_idle(&use, &first);
    for (int i = 0; i < p->n_warnings && !rc; i++)
        if (!has_warning(&first, p->warning[i].text)) WSC_WARNING("%s", p->warning[i].text);
    if (k) zoo_params_fini(&first);
    return rc;
}

enum wsc_err law_check_sizes(const struct law_ladder *ladder)
{
    struct zoo_params of_file = {0};
    enum wsc_err rc = zoo_params_parse(&of_file, ladder->params_path, ladder->bytes,
                                       ladder->n_bytes, ladder->set, ladder->n_sets);
    for (int k = 0; k < ladder->n_sizes && !rc; k++) {
        struct zoo_params p = {0};
        struct law_point point = {0};
        rc = parse_size(ladder, &ladder->size[k], &of_file, &p);
        if (!rc) rc = set_steps(ladder, &p, &point);
        zoo_params_fini(&p);
    }
    zoo_params_fini(&of_file);
    return rc;
}

enum wsc_err law_train(struct comm *comm, const struct law_ladder *ladder, int k,
                       struct law_point *out, bool *report)
{
    const struct law_size *size = &ladder->size[k];
    struct zoo_params of_file = {0}, p = {0};
    *report = comm_rank(comm) == 0; /* every rank finds the same errors in the same bytes */
    *out = (struct law_point){0};
    (void)snprintf(out->name, sizeof out->name, "%lldx%lld", (long long)size->hidden,
                   (long long)size->layers);
    enum wsc_err rc = zoo_params_parse(&of_file, ladder->params_path, ladder->bytes,
                                       ladder->n_bytes, ladder->set, ladder->n_sets);
    if (!rc) rc = parse_size(ladder, size, &of_file, &p);
    if (!rc) rc = set_steps(ladder, &p, out);
    if (!rc) rc = comm_agree(comm, comm_rank(comm) ? WSC_OK : law_check_earlier(&p), report);
    if (!rc) rc = warn(ladder, k, &of_file, &p);
    if (!rc && k == 0 && !(p.model.mup_base_hidden_size > 0))
        WSC_WARNING("all sizes train with the learning rate of %s; hint: "
                    "model.mup_base_hidden_size scales it with the width (muP)",
                    ladder->params_path);
    char title[96];
    (void)snprintf(title, sizeof title, "size %d of %d, %s", k + 1, ladder->n_sizes, out->name);
    const struct job job = {.params = &p,
                            .title = title,
                            .cluster = ladder->cluster,
                            .numerics = KERNELS_HOST,
                            .values = true,
                            .command = ladder->command};
    if (!rc) rc = job_run(comm, &job, report);
    if (!rc) rc = comm_agree(comm, comm_rank(comm) ? WSC_OK : take_loss(&p, out), report);
    zoo_params_fini(&p);
    zoo_params_fini(&of_file);
    return rc;
}
