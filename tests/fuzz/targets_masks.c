// SPDX-License-Identifier: Apache-2.0
/* Masks of sparse weights in checkpoints, in the layouts of all releases and in wrong ones.  The
 * bytes say what a file holds: for each tensor where its mask is, of which type and shape, whether
 * weights are NaN, which elements; then the counters of masks.  One and three shards load the file
 * and must agree with each other and with the bytes (memoryx_mask_checkpoint.c). */
#include "../../src/memoryx/memoryx_mask.h"
#include "fuzz.h"

#include <wsc/cluster.h>
#include <wsc/store.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Fourteen sparse matrices of two sizes; the smallest model that has shards' worth of blocks. */
static const char params_text[] =
    "train_input:\n"
    "    data_processor: GptHDF5MapDataProcessor\n"
    "    data_dir: .\n"
    "    batch_size: 1\n"
    "model:\n"
    "    vocab_size: 16\n"
    "    hidden_size: 32\n"
    "    num_hidden_layers: 1\n"
    "    num_heads: 1\n"
    "    filter_size: 64\n"
    "    max_position_embeddings: 8\n"
    "    share_embedding_weights: true\n"
    "    dropout_rate: 0.0\n"
    "    attention_dropout_rate: 0.0\n"
    "    mixed_precision: false\n"
    "optimizer:\n"
    "    optimizer_type: AdamW\n"
    "    learning_rate: 0.01\n"
    "sparsity: {algorithm: rigl, sparsity: 0.75, update: {freq: 10}}\n"
    "runconfig:\n"
    "    max_steps: 10\n"
    "    seed: 1\n";

enum { MOST = 64 * 32, N_MACHINES = 2, NAME_BYTES = 240 };

/* The same params on one shard and on three; made once for all inputs. */
struct machine {
    struct zoo_params params;
    struct hw_machine hw;
    struct cluster *cluster;
};
static struct machine machine[N_MACHINES];
static struct comm *comm;

static void make_machines(void)
{
    static const char *const shards[N_MACHINES] = {"cluster.memoryx.shards=1",
                                                   "cluster.memoryx.shards=3"};
    static const struct memoryx_hooks hooks = {.ctx = NULL}; /* nobody listens */
    if (comm) return;
    fuzz_check(comm_create(&comm, false) == WSC_OK, "no communicator");
    for (int i = 0; i < N_MACHINES; i++) {
        struct machine *m = &machine[i];
        const struct conf_set set = {.text = shards[i]};
        enum wsc_err rc = zoo_params_parse(&m->params, "masks.yaml", params_text,
                                           sizeof params_text - 1, &set, 1);
        if (!rc) rc = hw_machine_parse(&m->hw, NULL, NULL, 0, &set, 1);
        if (!rc) rc = cluster_create(&m->cluster, comm, &m->params, &m->hw, true, &hooks);
        fuzz_check(rc == WSC_OK, "no machine");
    }
}

/* ---- what the bytes say ---------------------------------------------------------------------- */

enum place { BESIDE, STATES, NOWHERE, BOTH, FLOATS, INTEGERS, OTHER_SHAPE, NO_WEIGHTS, N_PLACES };

/* A tensor in the file. */
struct said {
    enum place place;
    bool nan;             /* what is pruned is NaN */
    unsigned char bit[8]; /* elements of the mask, over and over */
};

static bool kept(const struct said *s, int64_t e)
{
    return s->bit[e / 8 % 8] >> e % 8 & 1;
}

static void read_said(struct fuzz_bytes *in, struct said *s)
{
    const unsigned how = fuzz_next(in);
    s->place = (enum place)(how % N_PLACES);
    s->nan = how / N_PLACES % 2;
    for (size_t i = 0; i < sizeof s->bit; i++)
        s->bit[i] = (unsigned char)fuzz_next(in);
}

/* ---- the file -------------------------------------------------------------------------------- */

static enum store_type type_of(enum place place)
{
    return place == FLOATS ? STORE_F32 : place == INTEGERS ? STORE_I64 : STORE_BOOL;
}

static void name_of(const struct model_tensor *t, bool states, char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, "%s%s%s", states ? "optimizer.sparsity.state." : "", t->name,
                   states ? ".mask" : "_mask");
}

/* Masks of a tensor: beside it, among the states, or both. */
static bool has_mask(const struct said *s, bool states)
{
    if (s->place == NOWHERE || s->place == NO_WEIGHTS) return false;
    return s->place == BOTH || states == (s->place == STATES);
}

static enum wsc_err define_one(struct store_file *f, const struct model_tensor *t,
                               const struct said *s)
{
    const int64_t other[1] = {t->n_elems};
    if (s->place != NO_WEIGHTS) TRY(store_define(f, t->name, STORE_F32, t->n_dims, t->shape));
    for (int states = 0; states < 2; states++) {
        char name[NAME_BYTES];
        name_of(t, states, name);
        if (!has_mask(s, states)) continue;
        const bool flat = s->place == OTHER_SHAPE;
        TRY(store_define(f, name, type_of(s->place), flat ? 1 : t->n_dims,
                         flat ? other : t->shape));
    }
    return WSC_OK;
}

static enum wsc_err write_mask(struct store_file *f, const char *name, const struct said *s,
                               int64_t n)
{
    static unsigned char truth[MOST];
    static float number[MOST];
    static int64_t integer[MOST];
    for (int64_t e = 0; e < n; e++) {
        truth[e] = kept(s, e);
        number[e] = (float)truth[e];
        integer[e] = truth[e];
    }
    const void *const data[] = {[STORE_BOOL] = truth, [STORE_F32] = number, [STORE_I64] = integer};
    return store_write(f, name, 0, n, data[type_of(s->place)]);
}

static enum wsc_err write_one(struct store_file *f, const struct model_tensor *t,
                              const struct said *s)
{
    static float w[MOST];
    for (int64_t e = 0; e < t->n_elems; e++)
        w[e] = s->nan && !kept(s, e) ? NAN : 0.5F;
    if (s->place != NO_WEIGHTS) TRY(store_write(f, t->name, 0, t->n_elems, w));
    for (int states = 0; states < 2; states++) {
        char name[NAME_BYTES];
        name_of(t, states, name);
        if (has_mask(s, states)) TRY(write_mask(f, name, s, t->n_elems));
    }
    return WSC_OK;
}

/* Any of the counters of all releases, as integers or floats. */
static const char *const counter[] = {"sparsity.0.step", "sparsity.1.step", "sparsity.step",
                                      "optimizer.sparsity.step"};
enum { N_COUNTERS = sizeof counter / sizeof *counter };
struct counters {
    unsigned which; /* a bit for each; bit N_COUNTERS: as floats */
    int64_t value[N_COUNTERS];
};

static void read_counters(struct fuzz_bytes *in, struct counters *c)
{
    c->which = fuzz_next(in);
    for (int i = 0; i < N_COUNTERS; i++) {
        uint64_t bits = 0;
        for (int b = 0; b < 8 && c->which >> i & 1; b++)
            bits |= (uint64_t)fuzz_next(in) << 8 * b;
        memcpy(&c->value[i], &bits, sizeof bits);
    }
}

static enum wsc_err write_counters(struct store_file *f, const struct counters *c, bool define)
{
    const bool floats = c->which >> N_COUNTERS & 1;
    for (int i = 0; i < N_COUNTERS; i++) {
        const float number = (float)c->value[i];
        if (!(c->which >> i & 1)) continue;
        if (define)
            TRY(store_define(f, counter[i], floats ? STORE_F32 : STORE_I64, 0, NULL));
        else
            TRY(store_write(f, counter[i], 0, 1,
                            floats ? (const void *)&number : (const void *)&c->value[i]));
    }
    return WSC_OK;
}

static enum wsc_err write_file(const char *path, const struct model *model, const struct said *said,
                               const struct counters *c)
{
    const struct store_group alone = {.size = 1};
    struct store_file *f = NULL;
    TRY(store_create(&f, path, &alone));
    enum wsc_err rc = WSC_OK;
    for (int i = 0; i < model->n_tensors && !rc; i++)
        rc = define_one(f, &model->tensor[i], &said[i]);
    if (!rc) rc = write_counters(f, c, true);
    for (int i = 0; i < model->n_tensors && !rc; i++)
        rc = write_one(f, &model->tensor[i], &said[i]);
    if (!rc) rc = write_counters(f, c, false);
    if (!rc) return store_commit(&f);
    store_close(&f);
    return rc;
}

/* ---- what was loaded ------------------------------------------------------------------------- */

/* As before the first file: new weights, no masks. */
static void forget(const struct machine *m)
{
    for (int k = 0; k < m->cluster->net->topology->n_shards; k++) {
        struct memoryx *mx = m->cluster->memoryx[k];
        memoryx_init_weights(mx);
        for (int i = 0; i < m->cluster->model->n_tensors; i++)
            mx->part[i].mask_due = mx->part[i].mask != NULL;
    }
}

static enum wsc_err load(const struct machine *m, struct store_file *f, bool strict)
{
    const struct memoryx_load what = {.weights = true, .masks = true, .strict = strict};
    enum wsc_err rc = WSC_OK;
    forget(m);
    for (int k = 0; k < m->cluster->net->topology->n_shards && !rc; k++)
        rc = memoryx_load(m->cluster->memoryx[k], f, &what);
    return rc;
}

/* By one shard and by three: both take the file, or both refuse it for the same kind of error. */
static bool load_both(const char *path, bool strict)
{
    struct store_file *f = NULL;
    if (!fuzz_taken(store_open(&f, path))) return false;
    const enum wsc_err one = load(&machine[0], f, strict);
    const bool taken = fuzz_taken(one);
    fuzz_check(load(&machine[1], f, strict) == one, "three shards see another file than one");
    store_close(&f);
    return taken;
}

/* The whole tensor @p i: its mask, a byte per element, and weights. */
static void gather(const struct machine *m, int i, unsigned char *mask, float *w)
{
    for (int k = 0; k < m->cluster->net->topology->n_shards; k++) {
        const struct memoryx_part *s = &m->cluster->memoryx[k]->part[i];
        for (int64_t e = 0; e < s->n; e++) {
            mask[s->first + e] = s->mask[e / MEMORYX_WORD_BITS] >> e % MEMORYX_WORD_BITS & 1;
            w[s->first + e] = s->w[e];
        }
    }
}

/* The file says which elements are kept; a file that does not leaves it to the params. */
static bool says_mask(const struct said *s, int64_t n)
{
    if (has_mask(s, false) || has_mask(s, true)) return true;
    if (s->place == NO_WEIGHTS || !s->nan) return false;
    for (int64_t e = 0; e < n; e++)
        if (!kept(s, e)) return true;
    return false;
}

static void check_tensor(int i, const struct said *s)
{
    static unsigned char mask[N_MACHINES][MOST];
    static float w[N_MACHINES][MOST];
    const struct model *model = machine[0].cluster->model;
    const int64_t n = model->tensor[i].n_elems;
    int64_t n_kept = 0;
    for (int k = 0; k < N_MACHINES; k++)
        gather(&machine[k], i, mask[k], w[k]);
    fuzz_check(!memcmp(mask[0], mask[1], (size_t)n), "masks differ between one and three shards");
    for (int64_t e = 0; e < n; e++) {
        n_kept += mask[0][e];
        fuzz_check(mask[0][e] || (fpclassify(w[0][e]) == FP_ZERO && !signbit(w[0][e])),
                   "a weight outside its mask");
        fuzz_check(!says_mask(s, n) || mask[0][e] == kept(s, e), "another mask than the file's");
    }
    fuzz_check(says_mask(s, n) || n_kept == model_kept(model, i, 0), "a new mask of another count");
}

static void check_loaded(const struct said *said)
{
    const struct model *model = machine[0].cluster->model;
    for (int k = 0; k < N_MACHINES; k++) {
        const int64_t step = machine[k].cluster->memoryx[0]->mask_step;
        fuzz_check(step >= 0 && step <= STORE_LAST_STEP, "a counter of masks out of range");
        fuzz_check(cluster_make_masks(machine[k].cluster) == WSC_OK, "no masks after loading");
    }
    for (int i = 0; i < model->n_tensors; i++)
        if (model_sparsity_of(model, i)) check_tensor(i, &said[i]);
}

bool fuzz_masks(const uint8_t *bytes, size_t n)
{
    enum { MOST_TENSORS = 64 };
    static struct said said[MOST_TENSORS];
    char path[FUZZ_PATH_BYTES + 16];
    struct fuzz_bytes in = {bytes, n};
    struct counters counters;
    make_machines();
    const struct model *model = machine[0].cluster->model;
    fuzz_check(model->n_tensors <= MOST_TENSORS, "more tensors than the target has room for");
    const bool strict = fuzz_next(&in) % 2;
    read_counters(&in, &counters);
    for (int i = 0; i < model->n_tensors; i++)
        read_said(&in, &said[i]);
    (void)snprintf(path, sizeof path, "%s/masks.mdl", fuzz_folder());
    fuzz_check(write_file(path, model, said, &counters) == WSC_OK, "the file was not written");
    const bool taken = load_both(path, strict);
    if (taken) check_loaded(said);
    return taken;
}
