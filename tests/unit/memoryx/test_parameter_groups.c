// SPDX-License-Identifier: Apache-2.0
/* Groups of parameters in optimizer states, and weight decay, against modules of PyTorch that
 * register their parameters as the Model Zoo's classes do
 * (tests/fixtures/make_parameter_groups.py): every state is read into its tensor. In files of this
 * program labels are indices of tensors, in groups of any order. */
#include "../../../src/memoryx/memoryx_groups.h"
#include "../../support/params_case.h"
#include "../../support/test.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXTURE "tests/data/parameter_groups.txt"
enum { MAX_GROUPS = 16, MAX_NAMES = 200, TEXT_BYTES = 2048, LEAST_CASES = 17, LABELS = 1000 };

/* ---- the fixture ----------------------------------------------------------------------------- */

struct group {
    bool decay;
    double factor;
    int first; /* of the names of all groups */
};

struct case_of {
    char name[64], params[TEXT_BYTES], parameter[MAX_NAMES][128];
    struct group group[MAX_GROUPS];
    int n, n_groups;
};

/* Read a line "group DECAY FACTOR" into @p g; false: another line. */
static bool read_group(const char *line, struct group *g)
{
    static const char word[] = "group ";
    char *end;
    if (strncmp(line, word, sizeof word - 1) != 0) return false;
    g->decay = strtol(line + sizeof word - 1, &end, 10) != 0;
    g->factor = strtod(end, NULL);
    return true;
}

/* Read the lines up to the next case, of which *@p line is the first then; false: no more case. */
static bool read_case(FILE *file, char line[TEXT_BYTES], struct case_of *x)
{
    bool is_read = true;
    memset(x, 0, sizeof *x);
    if (sscanf(line, "case %63s", x->name) != 1) return false;
    while (fgets(line, TEXT_BYTES, file) && strncmp(line, "case ", 5) != 0) {
        CU_ASSERT_FATAL(x->n < MAX_NAMES && x->n_groups < MAX_GROUPS - 1);
        if (line[0] == '|')
            strncat(x->params, line + 1, TEXT_BYTES - strlen(x->params) - 1);
        else if (read_group(line, &x->group[x->n_groups]))
            x->group[x->n_groups++].first = x->n;
        else
            is_read &= sscanf(line, "%127s", x->parameter[x->n++]) == 1;
    }
    CU_ASSERT_FATAL(is_read);
    x->group[x->n_groups].first = x->n;
    if (feof(file)) line[0] = '\0';
    return true;
}

static const struct model_tensor *find(const struct model *m, const char *name, int64_t *index)
{
    for (int i = 0; i < m->n_tensors; i++) {
        const struct model_tensor *t = &m->tensor[i];
        *index = i;
        if (!strcmp(t->name, name) || !strcmp(t->alias, name) || !strcmp(t->also, name)) return t;
    }
    (void)fprintf(stderr, "%s is missing\n", name);
    CU_FAIL("missing tensor");
    return NULL;
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* Labels that are neither indices of tensors nor in the order of the groups. */
static int64_t label_of(int k)
{
    return LABELS - 3 * k;
}

/* A file as another program writes it, with the groups alone. */
static void write_groups(const struct case_of *x, const char *path)
{
    struct store_file *file = NULL;
    char key[120];
    T_OK(store_create(&file, path, NULL));
    for (int g = 0; g < x->n_groups; g++)
        for (int k = x->group[g].first; k < x->group[g + 1].first; k++) {
            (void)snprintf(key, sizeof key, "optimizer.param_groups.%d.params.%d", g,
                           k - x->group[g].first);
            T_OK(store_set_number(file, key, STORE_I64, (double)label_of(k)));
        }
    T_OK(store_describe(file));
    T_OK(store_commit(&file));
    const hid_t h = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    CU_ASSERT(H5Adelete(h, "__wsc_version__") >= 0);
    (void)H5Fclose(h);
}

static void check_labels(const struct case_of *x, const struct model *m, const char *path)
{
    struct store_file *file = NULL;
    int64_t *label = calloc((size_t)m->n_tensors, sizeof *label), i = 0;
    T_OK(store_open(&file, path));
    T_OK(memoryx_read_labels(file, m, label));
    for (int k = 0; k < x->n; k++) {
        if (!find(m, x->parameter[k], &i)) continue;
        if (label[i] != label_of(k))
            (void)fprintf(stderr, "%s: %s has the state of another\n", x->name, x->parameter[k]);
        T_EQ(label[i], label_of(k));
    }
    store_close(&file);
    free(label);
}

/* Decay and factor of every parameter, and no other tensors that are trained. */
static void check_tensors(const struct case_of *x, const struct model *m)
{
    int64_t i = 0;
    int n = 0;
    for (int g = 0; g < x->n_groups; g++)
        for (int k = x->group[g].first; k < x->group[g + 1].first; k++) {
            const struct model_tensor *t = find(m, x->parameter[k], &i);
            if (t && t->decay != x->group[g].decay)
                (void)fprintf(stderr, "%s: weight decay of %s\n", x->name, t->name);
            CU_ASSERT(t && t->decay == x->group[g].decay && t->lr_scale == x->group[g].factor);
        }
    for (int k = 0; k < m->n_tensors; k++)
        n += !m->tensor[k].frozen;
    T_EQ(n, x->n);
}

static void check_case(const struct case_of *x)
{
    struct zoo_params p = params_parsed(x->params);
    struct model *m = NULL;
    char path[300];
    (void)snprintf(path, sizeof path, "%s/groups.mdl", test_tmpdir());
    if (test_ok(model_create(&m, &p, HW_STREAM_BLOCK))) {
        check_tensors(x, m);
        write_groups(x, path);
        check_labels(x, m, path);
    }
    model_destroy(&m);
    zoo_params_fini(&p);
}

TEST(parameter_groups, states_of_every_class_find_their_tensors)
{
    static struct case_of x;
    static char line[TEXT_BYTES];
    int n = 0;
    FILE *file = fopen(FIXTURE, "r");
    CU_ASSERT_FATAL(file && fgets(line, sizeof line, file));
    for (; read_case(file, line, &x); n++)
        check_case(&x);
    (void)fclose(file);
    CU_ASSERT(n >= LEAST_CASES);
}

/* ---- files of this program ----------------------------------------------------------------------
 */

/* A T5 of one layer in each stack, of which a run wrote the file in the order of its table, with
 * relative positions among the parameters that decay and RMSNorm among the others. */
static const char earlier[] =
    "train_input: {data_processor: T5HDF5DataProcessor, data_dir: ./x, batch_size: 4, "
    "src_max_sequence_length: 16, tgt_max_sequence_length: 8}\n"
    "model: {name: t5, src_vocab_size: 12, d_model: 4, d_kv: 2, num_heads: 2, d_ff: 8, "
    "encoder_num_hidden_layers: 1, decoder_num_hidden_layers: 1, encoder_nonlinearity: geglu, "
    "relative_attention_num_buckets: 4%s}\n"
    "optimizer: {optimizer_type: AdamW, learning_rate: 0.01}\n"
    "runconfig: {max_steps: 2}\n";

static struct model *make_earlier(const char *more)
{
    char text[TEXT_BYTES];
    struct model *m = NULL;
    (void)snprintf(text, sizeof text, earlier, more);
    struct zoo_params p = params_parsed(text);
    T_OK(model_create(&m, &p, HW_STREAM_BLOCK));
    zoo_params_fini(&p);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

TEST(parameter_groups, files_of_version_1_are_read_in_their_order)
{
    struct store_file *file = NULL;
    struct model *m = make_earlier(""), *other = make_earlier(", use_ffn_bias: true");
    int64_t label[LABELS], i = 0, relative = 0;
    T_OK(store_open(&file, "tests/data/wsc_groups_1.mdl"));
    T_EQ(store_version(file), 1);
    T_OK(memoryx_read_labels(file, m, label));
    for (int k = 0; k < m->n_tensors; k++)
        T_EQ(label[k], k);
    CU_ASSERT(find(m,
                   "model.encoder_embeddings.position_embed_helper.relative_attention_bias."
                   "weight",
                   &relative) != NULL);
    T_OK(store_read_i64(file, "optimizer.param_groups.0.params.1", 0, INT64_MAX, &i));
    T_EQ(i, relative);
    CU_ASSERT(memoryx_read_labels(file, other, label) == WSC_FORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "has no optimizer states of "));
    store_close(&file);
    model_destroy(&m);
    model_destroy(&other);
}

/* Relative positions decayed in version 1; a file of cstorch has a version of its own. */
TEST(parameter_groups, a_change_of_weight_decay_is_found)
{
    static const char *const path[] = {"tests/data/wsc_groups_1.mdl", "tests/data/cstorch_05.mdl"};
    struct model *m = make_earlier("");
    struct zoo_optimizer optimizer = {.weight_decay = {.n = 1, .node = {{.initial = 0.1}}}};
    for (int i = 0; i < 2; i++) {
        struct store_file *file = NULL;
        const char *first = NULL;
        T_OK(store_open(&file, path[i]));
        T_OK(memoryx_find_changed_decay(file, m, &optimizer, 2, &first));
        CU_ASSERT(i ? !first : first && strstr(first, "relative_attention_bias") != NULL);
        optimizer.weight_decay.node[0].initial = 0;
        T_OK(memoryx_find_changed_decay(file, m, &optimizer, 2, &first));
        CU_ASSERT_PTR_NULL(first);
        optimizer.weight_decay.node[0].initial = 0.1;
        store_close(&file);
    }
    model_destroy(&m);
}
