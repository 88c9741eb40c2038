// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"

#include <wsc/conf.h>
#include <wsc/mem.h>
#include <wsc/model.h>
#include <wsc/store.h>
#include <wsc/units.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(bool ok, const char *what)
{
    if (ok) return;
    (void)fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

/* One line, whatever stood in the file; configuration errors may have several. */
static void check_message(void)
{
    check(wsc_err_message()[0] != '\0', "an error without a message");
}

/* A text with the NUL behind it that conf_read_file() gives. */
static char *as_text(const uint8_t *bytes, size_t n)
{
    char *text = wsc_alloc_raw(WSC_MEM_TEST, n + 1, 1);
    check(text != NULL, "no memory");
    memcpy(text, bytes, n);
    text[n] = '\0';
    return text;
}

/* ---- configuration --------------------------------------------------------------------------- */

/* What is accepted also becomes a model, or is refused there: sizes multiply. */
static void run_params(const uint8_t *bytes, size_t n)
{
    struct conf_params p;
    struct model *m = NULL;
    char *text = as_text(bytes, n);
    enum wsc_err rc = conf_params_parse(&p, "params.yaml", text, n, NULL, 0);
    if (!rc) rc = model_create(&m, &p, CONF_STREAM_BLOCK);
    if (rc)
        check_message();
    else
        check(m->n_params > 0 && m->n_stages > 0 && m->T > 0 && m->V > 0, "a model of no size");
    model_destroy(&m);
    conf_params_fini(&p);
    wsc_free(text);
    check(wsc_mem_balanced(), "params: memory is left");
}

static void run_cluster(const uint8_t *bytes, size_t n)
{
    struct conf_cluster c;
    char *text = as_text(bytes, n);
    if (conf_cluster_parse(&c, "cluster.yaml", text, n, NULL, 0) != WSC_OK)
        check_message();
    else
        check(c.wafer.pe_rows > 0 && c.memoryx.shards > 0 && c.swarmx.fanout > 1,
              "a machine of no size");
    conf_cluster_fini(&c);
    wsc_free(text);
    check(wsc_mem_balanced(), "cluster: memory is left");
}

/* `--set path=value` for both kinds of file. */
static void run_set(const uint8_t *bytes, size_t n)
{
    static const char least[] = "train_input: {data_dir: d, batch_size: 4}\n"
                                "model: {vocab_size: 256, hidden_size: 8, num_hidden_layers: 1, "
                                "num_heads: 1, filter_size: 16, max_position_embeddings: 16}\n"
                                "optimizer: {optimizer_type: AdamW, learning_rate: 0.1}\n"
                                "runconfig: {max_steps: 1}\n";
    struct conf_params p;
    struct conf_cluster c;
    char *text = as_text(bytes, n);
    const struct conf_set set = {text};
    if (conf_params_parse(&p, "params.yaml", least, sizeof least - 1, &set, 1)) check_message();
    if (conf_cluster_parse(&c, NULL, NULL, 0, &set, 1)) check_message();
    conf_params_fini(&p);
    conf_cluster_fini(&c);
    wsc_free(text);
    check(wsc_mem_balanced(), "set: memory is left");
}

/* What is read is written so that it reads back as the same. */
static void check_quantity(enum wsc_unit unit, const char *text)
{
    int64_t value, again;
    char written[64];
    if (wsc_units_quantity(unit, text, &value)) return;
    check(value >= 0 || unit == WSC_UNIT_NONE, "a negative quantity");
    wsc_units_format(unit, value, written, sizeof written);
    check(!wsc_units_quantity(unit, written, &again) && again == value,
          "a quantity that does not read back");
}

static void run_units(const uint8_t *bytes, size_t n)
{
    char *text = as_text(bytes, n);
    double real;
    int64_t whole;
    for (int unit = WSC_UNIT_NONE; unit <= WSC_UNIT_PARAMS_RATE; unit++)
        check_quantity((enum wsc_unit)unit, text);
    if (!wsc_units_double(text, &real)) check(real - real == 0, "a number that is not finite");
    if (!wsc_units_int(text, &whole)) check(!wsc_units_double(text, &real), "an int, no number");
    (void)wsc_units_distance(text, "150 GB/s");
    wsc_free(text);
}

/* ---- HDF5 ------------------------------------------------------------------------------------ */

/* The bytes as a file without a name. */
static int as_file(const uint8_t *bytes, size_t n, char path[64])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    check(fd >= 0 && write(fd, bytes, n) == (ssize_t)n, "no file in memory");
    (void)snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void run_samples(const uint8_t *bytes, size_t n)
{
    enum { MOST = 1 << 16 };
    static int32_t x[MOST];
    struct store_samples *s = NULL;
    char path[64];
    int fd = as_file(bytes, n, path);
    if (store_samples_open(&s, path, 16)) {
        check_message();
    } else {
        const int64_t n_samples = store_samples_n(s), T = store_samples_T(s);
        check(n_samples > 0 && T > 0, "samples of no size");
        if (T * store_samples_rows(s) <= MOST)
            for (int64_t i = 0; i < n_samples && i < 4; i++)
                if (store_samples_read(s, i, x)) check_message();
    }
    store_samples_close(&s);
    (void)close(fd);
    check(wsc_mem_in_use(WSC_MEM_STORE) == 0, "samples: memory is left");
}

static enum wsc_err read_some(void *ctx, const char *name, const char *type, int n_dims,
                              const int64_t *shape)
{
    float x[4];
    (void)type;
    int64_t n = 1;
    for (int d = 0; d < n_dims && d < 2; d++)
        n *= shape[d] < 4 ? shape[d] : 4;
    if (n > 0 && store_read(ctx, name, STORE_F32, 0, n < 4 ? n : 4, x)) check_message();
    return WSC_OK;
}

static void run_checkpoint(const uint8_t *bytes, size_t n)
{
    struct store_file *f = NULL;
    char path[64], *text = NULL;
    int fd = as_file(bytes, n, path);
    if (store_check(path)) check_message();
    if (store_open(&f, path)) {
        check_message();
    } else {
        (void)!store_visit(f, read_some, f);
        if (store_has_text(f, "params") && store_get_text(f, "params", &text)) check_message();
        wsc_free(text);
    }
    store_close(&f);
    (void)close(fd);
    check(wsc_mem_in_use(WSC_MEM_STORE) == 0, "checkpoint: memory is left");
}

const struct fuzz_target fuzz_target[] = {
    {"params", run_params}, {"cluster", run_cluster}, {"set", run_set},
    {"units", run_units},   {"samples", run_samples}, {"checkpoint", run_checkpoint},
    {NULL, NULL},
};
