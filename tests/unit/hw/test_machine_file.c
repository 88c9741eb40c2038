// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/hw.h>
#include <wsc/mem.h>
#include <wsc/report.h>
#include <wsc/units.h>

#include <stdio.h>
#include <string.h>

#define FILE_NAME "configs/cluster/cs2.yaml"

TEST(hw_machine, built_in_text_is_the_shipped_file)
{
    struct hw_machine a, b;
    char *bytes;
    size_t n;
    T_OK(conf_read_file(FILE_NAME, &bytes, &n));
    T_OK(hw_machine_parse(&a, FILE_NAME, bytes, n, NULL, 0));
    T_OK(hw_machine_parse(&b, NULL, NULL, 0, NULL, 0));
    CU_ASSERT(hw_is_machine_file(bytes, n));
    CU_ASSERT_EQUAL(a.hash, b.hash);
    T_EQ(a.n_sources, b.n_sources);
    for (int i = 0; i < a.n_sources; i++) {
        T_STR(a.source[i].value, b.source[i].value);
        T_STR(a.source[i].source, b.source[i].source);
    }
    hw_machine_fini(&a);
    hw_machine_fini(&b);
    wsc_free(bytes);
}

/* Published constants of the WSE-2 and the CS-2, in base units. */
TEST(hw_machine, cs2_constants)
{
    struct hw_machine c;
    T_OK(hw_machine_parse(&c, NULL, NULL, 0, NULL, 0));
    T_STR(c.name, "CS-2");
    T_EQ(c.wafer.clock_hz, 1100000000);
    T_EQ(c.wafer.pe_cols * c.wafer.pe_rows, 745500);
    T_EQ(c.wafer.sram_bytes_per_pe, 49152);
    CU_ASSERT(c.wafer.simd_fmach == 4 && c.wafer.simd_fmachs == 1.67 && c.wafer.simd_fmacs == 1);
    T_EQ(c.wafer.io_rate_bytes_per_s, 150000000000LL);
    T_EQ(c.wafer.peak_flop_per_s, 7500000000000000LL);
    T_EQ(c.wafer.system_power_w, 23000);
    T_EQ(c.swarmx.fanout, 4);
    T_EQ(c.swarmx.link_latency_ps, 1000000);
    T_EQ(c.memoryx.shards * c.memoryx.link_rate_bytes_per_s, c.wafer.io_rate_bytes_per_s);
    T_EQ(c.memoryx.capacity_bytes, 2400000000000000LL);
    T_EQ(c.stream.granularity, HW_STREAM_BLOCK);
    T_EQ(c.stream.prefetch_window_bytes, 256LL << 20);
    /* (750 + 994) cycles, in nanoseconds rounded up. */
    hw_machine_fini(&c);
}

/* At most three constants may be calibrated; each has a kind and a source. */
TEST(hw_machine, every_constant_has_its_provenance)
{
    struct hw_machine c;
    int calibrated = 0;
    T_OK(hw_machine_parse(&c, NULL, NULL, 0, NULL, 0));
    CU_ASSERT(c.n_sources >= 35);
    T_STR(c.source[0].key, "wafer.clock");
    T_STR(c.source[0].value, "1.1 GHz");
    T_STR(c.source[0].kind, "documented");
    for (int i = 0; i < c.n_sources; i++) {
        CU_ASSERT_FATAL(c.source[i].key && c.source[i].value && c.source[i].kind);
        CU_ASSERT(c.source[i].source && strlen(c.source[i].source) > 10);
        calibrated += !strcmp(c.source[i].kind, "calibrated");
    }
    CU_ASSERT(calibrated <= 3);
    hw_machine_fini(&c);
}

TEST(hw_machine, set_changes_the_value_and_says_so)
{
    struct hw_machine a, b;
    const struct conf_set sets[] = {
        {.text = "cluster.wafer.clock=850 MHz"},
        {.text = "model.hidden_size=64"},
        {.text = "cluster.name=mine"},
        {.text = "cluster.stream.granularity={value: matrix, kind: derived, source: a test}"}};
    T_OK(hw_machine_parse(&a, NULL, NULL, 0, NULL, 0));
    T_OK(hw_machine_parse(&b, NULL, NULL, 0, sets, 4));
    T_EQ(b.wafer.clock_hz, 850000000);
    T_STR(b.name, "mine");
    T_STR(b.source[0].value, "850 MHz");
    T_STR(b.source[0].kind, "assumed");
    T_STR(b.source[0].source, "given on the command line");
    T_EQ(b.stream.granularity, HW_STREAM_MATRIX);
    CU_ASSERT(a.hash != b.hash);
    hw_machine_fini(&a);
    hw_machine_fini(&b);
}

/* The spelling of a value, its source and the comments do not make another machine. */
TEST(hw_machine, hash_is_of_values_alone)
{
    struct hw_machine a, b;
    const struct conf_set same[] = {{.text = "cluster.wafer.clock=1100 MHz"},
                                    {.text = "cluster.wafer.io_rate=1200 Gb/s"}};
    T_OK(hw_machine_parse(&a, NULL, NULL, 0, NULL, 0));
    T_OK(hw_machine_parse(&b, NULL, NULL, 0, same, 2));
    CU_ASSERT_EQUAL(a.hash, b.hash);
    hw_machine_fini(&a);
    hw_machine_fini(&b);
}

TEST(hw_machine, params_are_no_cluster_file)
{
    char *bytes;
    size_t n;
    T_OK(conf_read_file("configs/params/tiny.yaml", &bytes, &n));
    CU_ASSERT(!hw_is_machine_file(bytes, n));
    CU_ASSERT(!hw_is_machine_file("wafer: [", 8));
    CU_ASSERT(!hw_is_machine_file("", 0));
    wsc_free(bytes);
    /* Files with mistakes, so that the right table reports them. */
    static const char machine[] = "base: cs2.yaml\nfault: []\nwafer: {}\n";
    static const char params[] = "model: {}\nfaults: []\n";
    CU_ASSERT(hw_is_machine_file(machine, sizeof machine - 1));
    CU_ASSERT(!hw_is_machine_file(params, sizeof params - 1));
}

TEST(report_config_reference, names_every_kind_of_row)
{
    static const char *const parts[] = {
        "| `model.hidden_size` | `init.model.hidden_size` | whole number |  | 768 | 1 to 1048576 | "
        "used | width |",
        "| `model.attention_dropout_rate` | `init.model.attention_dropout_rate` | number |  | as "
        "model.dropout_rate | 0 to 1 |",
        "| `optimizer.eps` | `init.optimizer.TYPE.eps` | number, Adafactor",
        "| `eval_input.num_workers` | `fit.val_dataloader.num_workers`, `validate.val_dataloader.",
        "| `runconfig.log_steps` | `init.logging.log_steps` | whole number |",
        "| `runconfig.max_checkpoints` | `init.callbacks.KeepNCheckpoints.n` |",
        "| `init.callbacks.CountParams` | accepted, without effect |",
        "| `init.callbacks.EarlyExit` | other values are not supported |",
        "| `model.use_bfloat16: true` | `model.fp16_type: bfloat16` |",
        "| `model.attention_kernel` | `init.model.attention_kernel` | any |  |  |  | accepted, "
        "without effect |",
        "| `runconfig.drop_data` | `init.backend.drop_data`, "
        "`init.callbacks.GlobalFlags.csx.debug.",
        "| `wafer.clock` | quantity | Hz | required | 1 kHz to 1000 GHz | used |",
        "- [Params files](#params-files): Params files are Model Zoo files of two styles",
        "\n  - [Training input](#training-input): ",
        "\n### Training input\n",
        "\n  - [Recovery and retransmission](#recovery-and-retransmission): "};
    char *text;
    T_OK(report_config_reference(&text));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        CU_ASSERT_PTR_NOT_NULL(strstr(text, parts[i]));
        if (!strstr(text, parts[i])) (void)fprintf(stderr, "missing: %s\n", parts[i]);
    }
    wsc_free(text);
}
