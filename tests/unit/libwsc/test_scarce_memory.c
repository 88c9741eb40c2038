// SPDX-License-Identifier: Apache-2.0
/* Memory that runs out in the middle of what the commands do: wherever it does, a function of the
 * library returns WSC_NOMEM and keeps nothing, and without that its result is whole.  The roles are
 * in tests/unit/cluster/test_no_memory.c. */
#include "../../support/case_files.h"
#include "../../support/small_run.h"
#include "../../support/test.h"
#include "../base/scarce.h"

#include <wsc/conf.h>
#include <wsc/convert.h>
#include <wsc/data.h>
#include <wsc/hw.h>
#include <wsc/kernels.h>
#include <wsc/law.h>
#include <wsc/mem.h>
#include <wsc/model.h>
#include <wsc/report.h>
#include <wsc/scaling.h>
#include <wsc/validation.h>
#include <wsc/zoo.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TRIES = 200000 };

/* Does the work once, and releases its result. */
typedef enum wsc_err (*attempt_fn)(void *ctx);

static int64_t memory_in_use(void)
{
    int64_t sum = 0;
    for (int tag = 0; tag < WSC_MEM_N_TAGS; tag++)
        sum += wsc_mem_in_use((enum wsc_mem_tag)tag);
    return sum;
}

/* Let allocation 0, `stride`, 2 `stride`, ... fail in turn until none does. */
static void fail_each(const char *what, attempt_fn attempt, void *ctx, int stride)
{
    int k = 0, wrong = 0;
    const int64_t before = memory_in_use();
    for (bool failed = true; failed && k < MOST_TRIES; k += stride) {
        test_scarce_after(k);
        const enum wsc_err rc = attempt(ctx);
        failed = test_scarce_end();
        if (rc == (failed ? WSC_NOMEM : WSC_OK) && memory_in_use() == before) continue;
        if (!wrong++)
            (void)fprintf(stderr, "%s: allocation %d: status %d, %lld bytes kept %s\n", what, k, rc,
                          (long long)(memory_in_use() - before), wsc_err_message());
    }
    T_EQ(wrong, 0);
    CU_ASSERT(k > stride && k < MOST_TRIES);
}

struct bytes {
    char *at;
    size_t n;
};

/* Parse a params file and dump it. */
static enum wsc_err read_params(void *ctx)
{
    static const struct conf_set sets[] = {{.text = "model.hidden_size=128"},
                                           {.text = "runconfig.num_csx=4"}};
    const struct bytes *bytes = ctx;
    struct zoo_params params;
    char *dump = NULL;
    enum wsc_err rc = zoo_params_parse(&params, "t.yaml", bytes->at, bytes->n, sets, 2);
    if (!rc) rc = zoo_params_dump(&params, &dump);
    wsc_free(dump);
    zoo_params_fini(&params);
    return rc;
}

TEST(scarce_memory, params_files_of_every_style)
{
    static const char *const files[] = {
        "tests/golden/params/runconfig.yaml", "tests/golden/params/trainer.yaml",
        "tests/golden/params/giga_gpt.yaml", "tests/golden/params/families.yaml"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct bytes bytes = {0};
        T_OK(conf_read_file(files[i], &bytes.at, &bytes.n));
        fail_each(files[i], read_params, &bytes, 1);
        wsc_free(bytes.at);
    }
}

static enum wsc_err read_machine(void *ctx)
{
    struct hw_machine machine;
    char *text = NULL;
    size_t n = 0;
    (void)ctx;
    TRY(hw_machine_read("configs/cluster/alcf_cs3.yaml", &text, &n));
    const enum wsc_err rc = hw_machine_parse(&machine, "alcf_cs3.yaml", text, n, NULL, 0);
    hw_machine_fini(&machine);
    wsc_free(text);
    return rc;
}

TEST(scarce_memory, machine_files)
{
    fail_each("machine", read_machine, NULL, 1);
}

static enum wsc_err make_model(void *ctx)
{
    struct model *m = NULL;
    const enum wsc_err rc = model_create(&m, ctx, HW_STREAM_BLOCK);
    model_destroy(&m);
    return rc;
}

TEST(scarce_memory, models)
{
    static const char *const files[] = {
        "tests/golden/params/families.yaml", "tests/golden/params/mup.yaml",
        "tests/golden/params/giga_gpt.yaml", "configs/params/bert_tiny.yaml",
        "configs/params/dit_2b.yaml"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *bytes = NULL;
        size_t n = 0;
        struct zoo_params p;
        T_OK(conf_read_file(files[i], &bytes, &n));
        T_OK(zoo_params_parse(&p, files[i], bytes, n, NULL, 0));
        fail_each(files[i], make_model, &p, 1);
        zoo_params_fini(&p);
        wsc_free(bytes);
    }
}

static enum wsc_err read_figures(void *ctx)
{
    struct validation_figure *rows = NULL;
    int n = 0;
    const enum wsc_err rc = validation_figures_read(ctx, &rows, &n);
    wsc_free(rows);
    return rc;
}

static enum wsc_err read_law(void *ctx)
{
    struct law_point *points = NULL;
    int n = 0;
    const enum wsc_err rc = law_points_read(ctx, &points, &n);
    wsc_free(points);
    return rc;
}

TEST(scarce_memory, tables_of_points)
{
    char scaling[] = "benchmarks/reference/scaling.csv";
    char law[] = "benchmarks/reference/laws/cerebras_gpt.csv";
    fail_each(scaling, read_figures, scaling, 1);
    fail_each(law, read_law, law, 1);
}

static enum wsc_err write_schema(void *ctx)
{
    char *text = NULL;
    (void)ctx;
    const enum wsc_err rc = report_config_schema(REPORT_PARAMS_FILE, &text);
    wsc_free(text);
    return rc;
}

static enum wsc_err write_reference(void *ctx)
{
    char *text = NULL;
    (void)ctx;
    const enum wsc_err rc = report_config_reference(&text);
    wsc_free(text);
    return rc;
}

TEST(scarce_memory, descriptions_of_keys)
{
    fail_each("schema", write_schema, NULL, 7);
    fail_each("reference", write_reference, NULL, 7);
}

static double last_tokens_per_s;

/* A stack that cannot be kept for the next fiber is unmapped: without that memory the result is the
 * same. */
static enum wsc_err simulate(void *ctx)
{
    const struct small_config *config = ctx;
    const struct scaling_model model = {.params = &config->params, .name = "small"};
    struct scaling_row row;
    const enum wsc_err rc = scaling_point(&model, &config->cluster, 2, 12, &row);
    if (rc) return rc;
    CU_ASSERT(!last_tokens_per_s || row.tokens_per_s == last_tokens_per_s);
    last_tokens_per_s = row.tokens_per_s;
    return test_scarce_end() ? WSC_NOMEM : WSC_OK;
}

TEST(scarce_memory, simulated_points)
{
    struct small_config config;
    T_OK(small_config_init(&config, 2, NULL));
    fail_each("point", simulate, &config, 3);
    small_config_fini(&config);
}

static enum wsc_err read_samples(void *ctx)
{
    struct data_source *s = NULL;
    struct data_batch *b = NULL;
    enum wsc_err rc = data_source_open(&s, ctx, 16, 50);
    if (!rc) rc = data_batch_create(&b, 4, 16);
    if (!rc) rc = data_source_read(s, 0, 4, b);
    data_batch_destroy(&b);
    data_source_close(&s);
    return rc;
}

TEST(scarce_memory, samples)
{
    char path[320];
    struct zoo_input in = {.samples = ZOO_SAMPLES_UINT16,
                           .data_dir = {path},
                           .n_data_dirs = 1,
                           .repeat = true,
                           .max_sequence_length = CONF_NULL};
    (void)snprintf(path, sizeof path, "%s", case_path("train.bin"));
    FILE *f = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (int i = 0; f && i < 200; i++)
        (void)fputc(i % 2 ? 0 : i % 50, f);
    if (f) (void)fclose(f);
    fail_each("tokens", read_samples, &in, 1);
}

static enum wsc_err convert(void *ctx)
{
    const struct convert_job job = {.input = "tests/data/hf_llama", .out = ctx};
    struct convert_result result;
    char path[400];
    (void)snprintf(path, sizeof path, "%s/model.mdl", job.out); /* of an attempt before */
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/params.yaml", job.out);
    (void)unlink(path);
    return convert_from_hf(&job, &result);
}

TEST(scarce_memory, conversions)
{
    char out[320];
    (void)snprintf(out, sizeof out, "%s", case_path("converted"));
    fail_each("hf_llama", convert, out, 5);
}

/* ---- the mesh -------------------------------------------------------------------------------- */

struct on_mesh {
    const struct kernels_row *row;
    struct programs_case c;
    int64_t cycles; /* of the first run that ended; 0: none yet */
};

/* What a mesh cannot keep, such as a recorded program, it computes again: the cycles are the same.
 */
static enum wsc_err run_kernel(void *ctx)
{
    struct on_mesh *on = ctx;
    struct programs_result r;
    const enum wsc_err rc = kernels_row_run(on->row, &on->c, &r);
    if (rc) return rc;
    CU_ASSERT(!on->cycles || r.stats.cycles == on->cycles);
    on->cycles = r.stats.cycles;
    return test_scarce_end() ? WSC_NOMEM : WSC_OK;
}

TEST(scarce_memory, kernels_on_the_mesh)
{
    static const char *const names[] = {"reduce",    "gemm",    "linear",    "layernorm",
                                        "attention", "softmax", "embedding", "cross_entropy"};
    struct small_config config;
    T_OK(small_config_init(&config, 1, NULL));
    const struct hw hw = {.cluster = &config.cluster};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct on_mesh on = {.c = {.w = 3,
                                   .h = 2,
                                   .words = 8,
                                   .m = 6,
                                   .n = 6,
                                   .k = 6,
                                   .tokens = 4,
                                   .samples = 1,
                                   .features = 6,
                                   .heads = 2,
                                   .head_dim = 4,
                                   .vocab = 9,
                                   .hw = &hw,
                                   .threads = 1,
                                   .seed = 1}};
        T_OK(kernels_row_find(names[i], &on.row));
        fail_each(names[i], run_kernel, &on, 1);
    }
    small_config_fini(&config);
}
