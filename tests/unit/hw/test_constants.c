// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/hw.h>
#include <wsc/mem.h>

#include <string.h>

static struct hw_machine with_set(const char *text)
{
    struct hw_machine c;
    const struct conf_set set = {.text = text};
    T_OK(hw_machine_parse(&c, NULL, NULL, 0, &set, 1));
    return c;
}

static const struct hw_source *source_of(const struct hw_machine *c, const char *key)
{
    for (int i = 0; i < c->n_sources; i++)
        if (!strcmp(c->source[i].key, key)) return &c->source[i];
    CU_FAIL_FATAL("no such constant");
    return NULL;
}

/* ---- uncertainty ----------------------------------------------------------------------------- */

static void check_range(const char *set, const char *key, double low, double high)
{
    struct hw_machine c = with_set(set);
    const struct hw_source *s = source_of(&c, key);
    T_NEAR(s->low, low, 1e-12);
    T_NEAR(s->high, high, 1e-12);
    hw_machine_fini(&c);
}

#define CLOCK(kind, rest)                                                                          \
    "cluster.wafer.clock={value: 1 GHz, kind: " kind ", source: a test" rest "}"

TEST(hw_constants, uncertainty_is_a_percentage_a_range_or_by_kind)
{
    check_range(CLOCK("assumed", ", uncertainty: 10 %"), "wafer.clock", 0.9e9, 1.1e9);
    check_range(CLOCK("assumed", ", uncertainty: 0 %"), "wafer.clock", 1e9, 1e9);
    check_range(CLOCK("assumed", ", uncertainty: 800 MHz..1.2 GHz"), "wafer.clock", 0.8e9, 1.2e9);
    check_range(CLOCK("documented", ""), "wafer.clock", 1e9, 1e9);
    check_range(CLOCK("derived", ""), "wafer.clock", 0.95e9, 1.05e9);
    check_range(CLOCK("calibrated", ""), "wafer.clock", 0.9e9, 1.1e9);
    check_range(CLOCK("assumed", ""), "wafer.clock", 0.5e9, 2e9);
    check_range("cluster.wafer.clock=2 GHz", "wafer.clock", 2e9, 2e9);
    /* Never out of the key's own range. */
    check_range("cluster.memoryx.shards={value: 40, kind: assumed, source: a test}",
                "memoryx.shards", 20, 64);
    /* Without an entry in the file: the default, and no doubt about it. */
    check_range("cluster.wafer.clock=2 GHz", "recovery.reroute", 1e12, 1e12);
}

static void check_bad(const char *set, const char *why)
{
    struct hw_machine c;
    const struct conf_set one = {.text = set};
    T_EQ(hw_machine_parse(&c, NULL, NULL, 0, &one, 1), WSC_CONFIG);
    if (!strstr(wsc_err_message(), why)) T_STR(wsc_err_message(), why);
    hw_machine_fini(&c);
}

TEST(hw_constants, a_wrong_uncertainty_is_told)
{
    check_bad(CLOCK("assumed", ", uncertainty: 10"),
              "wafer.clock: uncertainty: expected a percentage (10 %) or a range");
    check_bad(CLOCK("assumed", ", uncertainty: 2 GHz..3 GHz"),
              "2 GHz..3 GHz is no range around the value, 1 GHz; hint: another range");
    check_bad(CLOCK("assumed", ", uncertainty: 1.1 GHz..850 MHz"), "is no range around the value");
    check_bad(CLOCK("assumed", ", uncertainty: 0 Hz..2 GHz"),
              "is not in the range of the key, 1 kHz");
    check_bad(CLOCK("assumed", ", uncertainty: 800..1200"), "or a range (LOW..HIGH), got");
    check_bad(CLOCK("assumed", ", uncertainty: 120 %"), "or a range (LOW..HIGH), got");
    check_bad("cluster.stream.granularity={value: block, kind: assumed, source: a test, "
              "uncertainty: 10 %}",
              "the value is no number");
}

/* ---- correlation ----------------------------------------------------------------------------- */

TEST(hw_constants, a_calibrated_constant_has_correlations)
{
    struct hw_machine c = with_set(
        CLOCK("calibrated", ", correlation: {wafer.simd_fmachs: -0.4, wafer.stage_latency: 0.9}"));
    T_NEAR(hw_correlation(&c, "wafer.clock", "wafer.simd_fmachs"), -0.4, 0);
    T_NEAR(hw_correlation(&c, "wafer.stage_latency", "wafer.clock"), 0.9, 0);
    T_NEAR(hw_correlation(&c, "wafer.clock", "wafer.clock"), 1, 0);
    T_NEAR(hw_correlation(&c, "wafer.clock", "swarmx.latency"), 0, 0);
    hw_machine_fini(&c);
}

TEST(hw_constants, a_wrong_correlation_is_told)
{
    check_bad(CLOCK("assumed", ", correlation: {wafer.simd_fmachs: 0.4}"),
              "wafer.clock: correlation: a calibrated constant may have a map");
    check_bad(CLOCK("calibrated", ", correlation: 0.4"), "may have a map of at most 5 others");
    check_bad(CLOCK("calibrated", ", correlation: {wafer.clok: 0.4}"),
              "correlation: wafer.clok is no other constant");
    check_bad(CLOCK("calibrated", ", correlation: {wafer.clock: 0.4}"), "is no other constant");
    check_bad(CLOCK("calibrated", ", correlation: {wafer.simd_fmachs: 1}"),
              "expected a number between -1 and 1 for wafer.simd_fmachs");
    check_bad(CLOCK("calibrated", ", correlated: {wafer.simd_fmachs: 0.1}"),
              "wafer.clock: unknown key correlated; hint: a constant has value, kind, source");
    check_bad("cluster.wafer.clock={value: 1 GHz, kind: assumed, souce: a test}",
              "wafer.clock: unknown key souce; hint: a constant has value, kind, source");
    check_bad("cluster.wafer.clock={value: 1 GHz, kind: assumed}", "source is missing");
}

/* ---- one constant at a time ------------------------------------------------------------------ */

TEST(hw_constants, find_read_get_set)
{
    struct hw_machine c = with_set("cluster.name=x");
    struct hw_constant k;
    char text[48];
    double value;
    T_OK(hw_constant_find("cluster.swarmx.latency", &k));
    T_STR(k.path, "swarmx.latency");
    CU_ASSERT(k.whole);
    T_NEAR(hw_constant_get(&k, &c), 1e6, 0);
    T_OK(hw_constant_read(&k, "2.5us", &value));
    T_NEAR(value, 2.5e6, 0);
    T_OK(hw_constant_set(&k, &c, value));
    T_EQ(c.swarmx.latency_ps, 2500000);
    hw_constant_write(&k, 13335214, text, sizeof text);
    T_STR(text, "13.34 us");
    hw_constant_write(&k, 5e9, text, sizeof text);
    T_STR(text, "5 ms");
    hw_constant_write(&k, 1.13e9, text, sizeof text); /* as machine files have it, not 1130 us */
    T_STR(text, "1.13 ms");
    hw_constant_write_exact(&k, 2.37e6, text, sizeof text);
    T_STR(text, "2.37 us");
    T_OK(hw_constant_find("jitter", &k));
    CU_ASSERT(!k.whole);
    T_OK(hw_constant_set(&k, &c, 0.125));
    T_NEAR(c.jitter, 0.125, 0);
    T_EQ(hw_constant_set(&k, &c, 0.5), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "cluster.jitter: 0.5 is not in 0 .. 0.2"));
    hw_machine_fini(&c);
}

TEST(hw_constants, what_is_no_number_cannot_be_varied)
{
    struct hw_constant k;
    double value;
    T_EQ(hw_constant_find("cluster.stream.granularity", &k), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "is no number"));
    T_EQ(hw_constant_find("cluster.swarmx.latancy", &k), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "swarmx.latency"));
    T_OK(hw_constant_find("swarmx.latency", &k));
    T_EQ(hw_constant_read(&k, "12", &value), WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "cluster.swarmx.latency: "));
}

TEST(hw_constants, a_switch_is_on_or_off)
{
    check_bad("cluster.effects.jitter=maybe", "expected true or false");
}

/* What `wsc validate --mesh` takes: the arithmetic and the fabric of a PE, no constant of a stage.
 */
TEST(hw_constants, kernels_read_some_of_the_wafer)
{
    static const struct {
        const char *path;
        bool dense, sparse;
    } cases[] = {{"wafer.ramp_cycles", true, true},     {"wafer.simd_fmacs", true, true},
                 {"wafer.exp_cycles", true, false},     {"wafer.sparse_index_cycles", false, true},
                 {"wafer.stage_latency", false, false}, {"wafer.pe_cols", false, false},
                 {"memoryx.shards", false, false},      {"wafer.no_such_key", false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        T_EQ(hw_kernels_read(HW_KERNELS_DENSE, cases[i].path), cases[i].dense);
        T_EQ(hw_kernels_read(HW_KERNELS_SPARSE, cases[i].path), cases[i].sparse);
    }
}

/* Plain numbers have their unit in the table, not in files. */
TEST(hw_constants, plain_numbers_are_shown_with_their_unit)
{
    static const struct {
        const char *path;
        double value;
        const char *shown, *written;
    } cases[] = {{"wafer.hop_cycles", 3, "3 cycles", "3"},
                 {"wafer.simd_fmachs", 1.5, "1.5 elements/cycle", "1.5"},
                 {"input.worker_rate", 4e6, "4000000 tokens/s", "4000000"},
                 {"reliability.mtbf_hours", 600, "600 h", "600"},
                 {"wafer.pe_cols", 7, "7", "7"},
                 {"swarmx.latency", 2e6, "2 us", "2 us"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hw_constant k;
        char text[48];
        T_OK(hw_constant_find(cases[i].path, &k));
        hw_constant_show(&k, cases[i].value, text, sizeof text);
        T_STR(text, cases[i].shown);
        hw_constant_write(&k, cases[i].value, text, sizeof text);
        T_STR(text, cases[i].written);
    }
}

/* What the file leaves out is marked, so that reports count it apart from what it states. */
TEST(hw_constants, keys_at_the_default_are_marked)
{
    struct hw_machine c;
    T_OK(hw_machine_parse(&c, NULL, NULL, 0, NULL, 0));
    for (int i = 0; i < c.n_sources; i++) {
        const struct hw_source *s = &c.source[i];
        if (!strcmp(s->key, "systems")) CU_ASSERT(s->is_default && !s->unit);
        if (!strcmp(s->key, "wafer.hop_cycles")) CU_ASSERT(!s->is_default);
        if (!strcmp(s->key, "wafer.hop_cycles")) T_STR(s->unit, "cycles");
        T_EQ(s->is_default, !strcmp(s->source, "not in the cluster file: the default"));
    }
    hw_machine_fini(&c);
}
