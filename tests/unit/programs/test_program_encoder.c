// SPDX-License-Identifier: Apache-2.0
#include "program_fixture.h"

#include "../../support/test.h"

/* A training step of encoders on the mesh against the same step on the host. */

enum { ENCODER_SAMPLES = 5, ENCODER_T = 7 };

/* What the batch of an encoder has besides; samples end one token earlier each. */
struct encoder_rows {
    int32_t attends[ENCODER_SAMPLES * ENCODER_T], types[ENCODER_SAMPLES * ENCODER_T];
    int32_t span[ENCODER_SAMPLES * ENCODER_T], position[ENCODER_SAMPLES * ENCODER_T];
    float targets[ENCODER_SAMPLES];
};

/* First and last token of an answer in each sample; one sample without, one with half of it. */
static void mark_answers(struct fixture *f)
{
    static const int first[ENCODER_SAMPLES] = {1, -1, 3, 2, 0},
                     last[ENCODER_SAMPLES] = {5, -1, 3, -1, 2};
    for (int i = 0; i < ENCODER_SAMPLES * ENCODER_T; i++) {
        const int t = i % ENCODER_T, sample = i / ENCODER_T;
        f->batch.labels[i] =
            (t == first[sample] ? ZOO_ANSWER_FIRST : 0) | (t == last[sample] ? ZOO_ANSWER_LAST : 0);
        f->batch.mask[i] = f->batch.labels[i] > 0;
    }
}

static void set_rows(struct fixture *f, struct encoder_rows *r, enum zoo_objective objective)
{
    const int64_t classes = f->model.head[0].outputs;
    for (int i = 0; i < ENCODER_SAMPLES * ENCODER_T; i++) {
        const int t = i % ENCODER_T, sample = i / ENCODER_T;
        r->attends[i] = t < ENCODER_T - sample;
        r->types[i] = t > 2;
        if (!r->attends[i]) {
            f->batch.input_ids[i] = 0;
            f->batch.mask[i] = 0;
        }
        if (f->batch.mask[i]) f->batch.labels[i] %= (int32_t)classes;
    }
    for (int s = 0; s < ENCODER_SAMPLES; s++)
        r->targets[s] = objective == ZOO_REGRESSION ? 0.7F * (float)s - 1 : (float)(s % 2);
    if (objective == ZOO_SPAN) mark_answers(f);
    f->batch.attends = r->attends;
    f->batch.token_types = r->types;
    f->batch.targets = r->targets;
}

/* Two texts of 3 and of 2 tokens and padding in each sample; of 2 and of 3 in every second one. */
static void pack_rows(struct fixture *f, struct encoder_rows *r)
{
    static const int32_t span[2][ENCODER_T] = {{2, 1, 0, 1, 0, 0, 0}, {1, 0, 2, 1, 0, 0, 0}};
    static const int32_t position[2][ENCODER_T] = {{0, 1, 2, 0, 1, 0, 0}, {0, 1, 0, 1, 2, 0, 0}};
    for (int i = 0; i < ENCODER_SAMPLES * ENCODER_T; i++) {
        r->span[i] = span[i / ENCODER_T % 2][i % ENCODER_T];
        r->position[i] = position[i / ENCODER_T % 2][i % ENCODER_T];
    }
    f->batch.attention_span = r->span;
    f->batch.position_ids = r->position;
}

struct encoder {
    enum zoo_objective objective;
    bool disable_nsp, norm_first, final_norm, embedding_norm, padded, packed, token_dropout;
    enum zoo_position positions;
    int64_t num_segments;
    double scale, dropout, task_dropout;
};

static struct zoo_params encoder_params(const struct encoder *e)
{
    struct zoo_params p = program_params(3, ENCODER_T);
    struct zoo_model *m = &p.model;
    m->use_ffn_bias_in_attention = m->use_projection_bias_in_attention = true;
    m->use_bias_in_output = true;
    m->objective = e->objective;
    m->disable_nsp = e->disable_nsp;
    m->norm_first = e->norm_first;
    m->use_final_layer_norm = e->final_norm;
    m->embedding_layer_norm = e->embedding_norm;
    m->embeddings_scale = e->scale > 0 ? e->scale : 1;
    m->mask_padding_in_positional_embed = e->padded;
    m->position_embedding_type = e->positions;
    m->rotary_dim = e->positions == ZOO_POSITION_ROTARY ? 4 : 0;
    m->rope_theta = 10000;
    m->num_segments = e->num_segments;
    m->num_labels = 3;
    m->token_dropout = e->token_dropout;
    m->mask_token_id = 1;
    m->max_predictions_per_seq = 3;
    m->mlm_loss_weight = 0.7;
    m->mlm_nonlinearity = ZOO_GELU;
    m->pooler_nonlinearity = ZOO_TANH;
    m->dropout_rate = m->attention_dropout_rate = e->dropout;
    m->task_dropout = e->task_dropout;
    return p;
}

static void check_encoder(const struct encoder *e, int64_t leaf_samples,
                          const struct program_fabric *fabric)
{
    const struct zoo_params p = encoder_params(e);
    struct encoder_rows rows;
    struct fixture f;
    fixture_create_of(&f, &p, ENCODER_SAMPLES);
    set_rows(&f, &rows, e->objective);
    if (e->packed) pack_rows(&f, &rows);
    CU_ASSERT(!f.model.causal);
    program_check(&f, leaf_samples, fabric);
    fixture_destroy(&f);
}

static void check_encoders(const struct encoder *e, int n)
{
    static const struct program_fabric fabrics[] = {{5, 3, 1, 1}, {1, 4, 2, 1}, {8, 2, 1, 2}};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 2; j++)
            check_encoder(&e[i], 1 + (i + j) % 2, &fabrics[(i + j) % 3]);
}

/* Simulated and analytical cycles of the nonlinearities of a step in fp32. */
static void check_function_cycles(enum zoo_nonlinearity blocks, enum zoo_nonlinearity tokens,
                                  enum zoo_nonlinearity pooler)
{
    const struct encoder e = {.objective = ZOO_MASKED_LM, .num_segments = 2};
    struct zoo_params p = encoder_params(&e);
    struct encoder_rows rows;
    struct fixture f;
    struct fixture_result result;
    int64_t cycles;
    p.model.nonlinearity = blocks;
    p.model.mlm_nonlinearity = tokens;
    p.model.pooler_nonlinearity = pooler;
    fixture_create_of(&f, &p, ENCODER_SAMPLES);
    set_rows(&f, &rows, e.objective);
    const struct fixture_run run = {.end_leaf = fixture_n_leaves(&f, 1), .leaf_samples = 1};
    program_step(&f, &run, &(struct program_fabric){5, 3, 1, 1}, &(struct program_masked){0},
                 &result, &cycles);
    for (int i = 0; i < PROGRAMS_ROWS; i++) {
        const struct programs_row *r = &program_rows[i];
        if (strcmp(r->kernel, "nonlinearity") != 0) continue;
        CU_ASSERT(r->cycles > 0);
        T_NEAR(r->analytical / (double)r->cycles, 1, 5e-3);
    }
    fixture_result_destroy(&f, &result);
    fixture_destroy(&f);
}

/* A head has a function of its own, with its own cycles. */
TEST(pe_model, functions_of_heads_take_their_own_cycles)
{
    for (int i = 0; i < ZOO_N_FUNCTIONS; i++) {
        const enum zoo_nonlinearity f = (enum zoo_nonlinearity)i;
        check_function_cycles(f, ZOO_GELU, ZOO_TANH);
        check_function_cycles(ZOO_RELU, f, ZOO_TANH);
        check_function_cycles(ZOO_GELU, ZOO_RELU, f);
    }
}

/* BERT with its two heads, RoBERTa's positions, ESM's norms and rotary positions, packed texts;
 * padding, token types, dropout at every place. */
TEST(pe_model, masked_tokens_are_those_of_the_host)
{
    static const struct encoder e[] = {
        {.objective = ZOO_MASKED_LM, .num_segments = 2, .embedding_norm = true, .scale = 3},
        {.objective = ZOO_MASKED_LM, .disable_nsp = true, .padded = true, .dropout = 0.3},
        {.objective = ZOO_MASKED_LM,
         .disable_nsp = true,
         .norm_first = true,
         .final_norm = true,
         .token_dropout = true,
         .positions = ZOO_POSITION_ROTARY},
        {.objective = ZOO_MASKED_LM, .disable_nsp = true, .packed = true, .num_segments = 2},
        {.objective = ZOO_MASKED_LM,
         .disable_nsp = true,
         .packed = true,
         .positions = ZOO_POSITION_ROTARY}};
    check_encoders(e, (int)(sizeof e / sizeof *e));
}

/* Classes of sequences and of tokens, regression, answers as spans. */
TEST(pe_model, tasks_of_encoders_are_those_of_the_host)
{
    static const struct encoder e[] = {
        {.objective = ZOO_CLASSIFICATION, .num_segments = 2, .task_dropout = 0.4},
        {.objective = ZOO_TOKEN_CLASSIFICATION, .final_norm = true, .task_dropout = 0.4},
        {.objective = ZOO_TOKEN_CLASSIFICATION, .task_dropout = 0.4, .scale = 2},
        {.objective = ZOO_REGRESSION, .num_segments = 2, .task_dropout = 0.4},
        {.objective = ZOO_SPAN, .num_segments = 2},
        {.objective = ZOO_SPAN, .final_norm = true, .dropout = 0.3}};
    check_encoders(e, (int)(sizeof e / sizeof *e));
}

/* Cycles of a step of each task, as a golden: 5 x 3 PEs, leaves of two samples. */
static int64_t cycles_of(const struct encoder *e)
{
    const struct zoo_params p = encoder_params(e);
    const struct program_fabric fabric = {5, 3, 1, 1};
    struct encoder_rows rows;
    struct fixture f;
    struct fixture_result mesh;
    int64_t cycles;
    fixture_create_of(&f, &p, ENCODER_SAMPLES);
    set_rows(&f, &rows, e->objective);
    const struct fixture_run run = {.end_leaf = fixture_n_leaves(&f, 2), .leaf_samples = 2};
    program_step(&f, &run, &fabric, &(struct program_masked){0}, &mesh, &cycles);
    fixture_result_destroy(&f, &mesh);
    fixture_destroy(&f);
    return cycles;
}

TEST(pe_model, cycles_of_tasks_of_encoders_are_unchanged)
{
    static const struct {
        enum zoo_objective objective;
        int64_t cycles;
    } golden[] = {{ZOO_MASKED_LM, 151589},
                  {ZOO_CLASSIFICATION, 111417},
                  {ZOO_TOKEN_CLASSIFICATION, 87660},
                  {ZOO_REGRESSION, 107680},
                  {ZOO_SPAN, 86109}};
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        const struct encoder e = {.objective = golden[i].objective, .num_segments = 2};
        T_EQ(cycles_of(&e), golden[i].cycles);
    }
}
