// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/err.h>
#include <wsc/rng.h>
#include <wsc/units.h>

#include <stdio.h>
#include <string.h>

struct quantity {
    enum wsc_unit unit;
    const char *text;
    long long expected;
};

/* clang-format off */
/* Generated with exact rational arithmetic (Python's fractions, seed 7), rounded half up. */
static const struct quantity exact[] = {
    {WSC_UNIT_RATE, "46.596e-5TB/s", 465960000LL},
    {WSC_UNIT_TIME, "80004216502ns", 80004216502000LL},
    {WSC_UNIT_POWER, "54938  W", 54938LL},
    {WSC_UNIT_POWER, "8.577e-5MW", 86LL},
    {WSC_UNIT_FREQUENCY, "38.254e-1GHz", 3825400000LL},
    {WSC_UNIT_TIME, "68839  s", 68839000000000000LL},
    {WSC_UNIT_FREQUENCY, "5.985e-4  kHz", 1LL},
    {WSC_UNIT_PARAMS_RATE, "358.7717592285 params/s", 359LL},
    {WSC_UNIT_RATE, "47709586  B/s", 47709586LL},
    {WSC_UNIT_BYTES, "8330001 KiB", 8529921024LL},
    {WSC_UNIT_PARAMS_RATE, "748865219905params/s", 748865219905LL},
    {WSC_UNIT_FLOPS, "851.5078123983  TFLOP/s", 851507812398300LL},
    {WSC_UNIT_RATE, "879.663135165  Tbps", 109957891895625LL},
    {WSC_UNIT_PARAMS_RATE, "6693755params/s", 6693755LL},
    {WSC_UNIT_BYTES, "0.580e-2MiB", 6082LL},
    {WSC_UNIT_RATE, "81.258e5 B/s", 8125800LL},
    {WSC_UNIT_FREQUENCY, "63  Hz", 63LL},
    {WSC_UNIT_RATE, "92886288  Mbps", 11610786000000LL},
    {WSC_UNIT_POWER, "320071362 W", 320071362LL},
    {WSC_UNIT_PARAMS_RATE, "581503268 params/s", 581503268LL},
    {WSC_UNIT_FLOPS, "504.766513 TFLOP/s", 504766513000000LL},
    {WSC_UNIT_BYTES, "468953 TiB", 515619276380438528LL},
    {WSC_UNIT_TIME, "81.340e-4 h", 29282400000000LL},
    {WSC_UNIT_FREQUENCY, "16.28e-2 GHz", 162800000LL},
    {WSC_UNIT_PARAMS_RATE, "8505349271params/s", 8505349271LL},
    {WSC_UNIT_PARAMS_RATE, "804765446 params/s", 804765446LL},
    {WSC_UNIT_FLOPS, "53.846e-2PFLOP/s", 538460000000000LL},
    {WSC_UNIT_POWER, "8MW", 8000000LL},
    {WSC_UNIT_TIME, "4538 ns", 4538000LL},
    {WSC_UNIT_RATE, "61.519e1  bps", 77LL},
    {WSC_UNIT_BYTES, "28 KiB", 28672LL},
    {WSC_UNIT_BYTES, "1543  MiB", 1617952768LL},
    {WSC_UNIT_FREQUENCY, "441741 GHz", 441741000000000LL},
    {WSC_UNIT_POWER, "66.638e3kW", 66638000LL},
    {WSC_UNIT_TIME, "86.35641h", 310883076000000000LL},
    {WSC_UNIT_PARAMS_RATE, "65.584e9 params/s", 65584000000LL},
    {WSC_UNIT_TIME, "435.302778325515002us", 435302778LL},
    {WSC_UNIT_POWER, "883.58  W", 884LL},
    {WSC_UNIT_BYTES, "761859252 B", 761859252LL},
    {WSC_UNIT_FLOPS, "210.58417 PFLOP/s", 210584170000000000LL},
};

static const struct quantity by_hand[] = {
    {WSC_UNIT_TIME, "5ms", 5000000000LL},
    {WSC_UNIT_TIME, "1 us", 1000000LL},
    {WSC_UNIT_TIME, "1 \xc2\xb5s", 1000000LL},
    {WSC_UNIT_TIME, "0 ps", 0},
    {WSC_UNIT_TIME, "0.0 ns", 0},
    {WSC_UNIT_TIME, "0.0000014 us", 1},
    {WSC_UNIT_TIME, ".5 s", 500000000000LL},
    {WSC_UNIT_TIME, "1e-12 s", 1},
    {WSC_UNIT_BYTES, "48 KiB", 49152},
    {WSC_UNIT_BYTES, "48 kB", 48000},
    {WSC_UNIT_BYTES, "12 TB", 12000000000000LL},
    {WSC_UNIT_BYTES, " 7 B ", 7},
    {WSC_UNIT_RATE, "150 GB/s", 150000000000LL},
    {WSC_UNIT_RATE, "100 Gbps", 12500000000LL},
    {WSC_UNIT_RATE, "100 Gb/s", 12500000000LL},
    {WSC_UNIT_RATE, "1.2 Tb/s", 150000000000LL},
    {WSC_UNIT_FREQUENCY, "1.1 GHz", 1100000000LL},
    {WSC_UNIT_FREQUENCY, "850 MHz", 850000000LL},
    {WSC_UNIT_POWER, "23 kW", 23000},
    {WSC_UNIT_FLOPS, "7.5 PFLOP/s", 7500000000000000LL},
    {WSC_UNIT_PARAMS_RATE, "2e9 params/s", 2000000000LL},
    {WSC_UNIT_BYTES, "9223372036854775807 B", 9223372036854775807LL},
    {WSC_UNIT_BYTES, "9223372036854775.807 kB", 9223372036854775807LL},
    {WSC_UNIT_NONE, "12", 12},
};

static const struct quantity wrong[] = {
    {WSC_UNIT_TIME, "5", 0},         {WSC_UNIT_TIME, "5 m", 0},       {WSC_UNIT_TIME, "ms", 0},
    {WSC_UNIT_TIME, "", 0},          {WSC_UNIT_TIME, "-1 ms", 0},     {WSC_UNIT_TIME, "5 ms x", 0},
    {WSC_UNIT_TIME, "5 MS", 0},      {WSC_UNIT_TIME, "1e9 h", 0},     {WSC_UNIT_TIME, "0.4 ps", 0},
    {WSC_UNIT_TIME, "1e-400 s", 0},  {WSC_UNIT_TIME, "1e400 s", 0},   {WSC_UNIT_TIME, "nan s", 0},
    {WSC_UNIT_TIME, "inf s", 0},     {WSC_UNIT_TIME, "1_000 ns", 0},  {WSC_UNIT_TIME, "010 ns", 0},
    {WSC_UNIT_TIME, "0x10 ns", 0},   {WSC_UNIT_TIME, "1.2.3 ns", 0},  {WSC_UNIT_TIME, "- ns", 0},
    {WSC_UNIT_TIME, ". ns", 0},      {WSC_UNIT_TIME, "--1 ns", 0},    {WSC_UNIT_BYTES, "1 KB", 0},
    {WSC_UNIT_BYTES, "1 kb", 0},     {WSC_UNIT_BYTES, "1 Kib", 0},    {WSC_UNIT_RATE, "150 Gb", 0},
    {WSC_UNIT_RATE, "150 GB", 0},    {WSC_UNIT_RATE, "150 GBps", 0},  {WSC_UNIT_FREQUENCY, "1 W", 0},
    {WSC_UNIT_BYTES, "9223372036854775808 B", 0},
    {WSC_UNIT_BYTES, "12345678901234567891 B", 0},
    {WSC_UNIT_BYTES, "1.23456789012345678901 B", 0},
    {WSC_UNIT_BYTES, "99999999999999999999999999999999999999999999 PiB", 0},
};
/* clang-format on */

static void check_all(const struct quantity *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t value = -1;
        CU_ASSERT(wsc_units_quantity(list[i].unit, list[i].text, &value) == WSC_OK);
        CU_ASSERT(test_eq(value, list[i].expected, list[i].text, __FILE__, __LINE__));
    }
}

TEST(units, quantities_equal_exact_rationals)
{
    check_all(exact, sizeof exact / sizeof *exact);
    check_all(by_hand, sizeof by_hand / sizeof *by_hand);
}

TEST(units, wrong_quantities_are_refused_and_leave_the_output)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t value = 77;
        enum wsc_err rc = wsc_units_quantity(wrong[i].unit, wrong[i].text, &value);
        CU_ASSERT(test_eq(rc, WSC_CONFIG, wrong[i].text, __FILE__, __LINE__));
        T_EQ(value, 77);
    }
}

static void expect_message(enum wsc_unit unit, const char *text, const char *message)
{
    int64_t value;
    CU_ASSERT_EQUAL(wsc_units_quantity(unit, text, &value), WSC_CONFIG);
    T_STR(wsc_err_message(), message);
}

TEST(units, messages_name_the_text_and_the_nearest_unit)
{
    expect_message(
        WSC_UNIT_RATE, "150 Gb",
        "expected a quantity such as 150 GB/s, got \"150 Gb\"; hint: did you mean Gb/s?");
    expect_message(
        WSC_UNIT_RATE, "150 gB/s",
        "expected a quantity such as 150 GB/s, got \"150 gB/s\"; hint: did you mean GB/s?");
    expect_message(
        WSC_UNIT_RATE, "150 gb/s",
        "expected a quantity such as 150 GB/s, got \"150 gb/s\"; hint: did you mean Gb/s?");
    expect_message(WSC_UNIT_BYTES, "48 kib",
                   "expected a quantity such as 48 KiB, got \"48 kib\"; hint: did you mean KiB?");
    expect_message(WSC_UNIT_TIME, "5", "expected a quantity such as 5 us, got \"5\"");
    expect_message(WSC_UNIT_TIME, "0.4 ps", "\"0.4 ps\" is less than half of the base unit, 1 ps");
    expect_message(WSC_UNIT_TIME, "7\t\nx",
                   "expected a quantity such as 5 us, got \"7??x\"; "
                   "hint: did you mean ps?");
}

TEST(units, the_nearest_suffix)
{
    T_STR(wsc_units_nearest(WSC_UNIT_BYTES, "3KB"), "kB");
    T_STR(wsc_units_nearest(WSC_UNIT_RATE, "1 gbit/s"), "Gbit/s");
    CU_ASSERT_PTR_NULL(wsc_units_nearest(WSC_UNIT_BYTES, "3 kB"));
    CU_ASSERT_PTR_NULL(wsc_units_nearest(WSC_UNIT_BYTES, "3"));
    CU_ASSERT_PTR_NULL(wsc_units_nearest(WSC_UNIT_BYTES, "kB"));
}

TEST(units, whole_numbers)
{
    static const struct {
        const char *text;
        long long expected;
    } good[] = {{"0", 0},
                {"-5", -5},
                {"+7", 7},
                {"2147483648.0", 2147483648LL},
                {"1e6", 1000000},
                {"2.0", 2},
                {"12.50e1", 125},
                {"-0", 0},
                {"9223372036854775807", 9223372036854775807LL},
                {"1000000e-6", 1}};
    static const char *const bad[] = {
        "",    "010",  "1_000", "12abc", "1.5", "nan", "inf",
        "0x1", "1e19", "3e-4",  "--1",   "1 2", "e5",  "9223372036854775808",
        "00",  "1e",   "+",     "."};
    int64_t value;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CU_ASSERT(wsc_units_int(good[i].text, &value) == WSC_OK);
        CU_ASSERT(test_eq(value, good[i].expected, good[i].text, __FILE__, __LINE__));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT(test_eq(wsc_units_int(bad[i], &value), WSC_CONFIG, bad[i], __FILE__, __LINE__));
}

TEST(units, doubles)
{
    static const struct {
        const char *text;
        double expected;
    } good[] = {{"1e-05", 1e-05},
                {"6e-06", 6e-06},
                {"2147483648.0", 2147483648.0},
                {"0", 0},
                {"10", 10},
                {"-1", -1},
                {"0.07761140001162656", 0.07761140001162656},
                {"6.0000e-05", 6e-05},
                {".5", 0.5},
                {"5.", 5},
                {"1.7976931348623157e308", 1.7976931348623157e308},
                {"0.1000000000000000055511151231257827021181583404541015625", 0.1}};
    static const char *const bad[] = {"",       "nan",   ".nan",  "inf",   ".inf",  "-inf", "1e400",
                                      "1e-400", "3e-4x", "1_000", "0x1p3", "010.5", "1,5",  "e5"};
    double value;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CU_ASSERT(wsc_units_double(good[i].text, &value) == WSC_OK);
        CU_ASSERT(value == good[i].expected);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT(
            test_eq(wsc_units_double(bad[i], &value), WSC_CONFIG, bad[i], __FILE__, __LINE__));
}

TEST(units, many_digits_are_rounded_in_the_largest_unit)
{
    static const struct quantity shown[] = {
        {WSC_UNIT_RATE, "976.5625 TB/s", 976562500000000},
        {WSC_UNIT_RATE, "150 GB/s", 150000000000},
        {WSC_UNIT_BYTES, "1 GiB", 1 << 30},
        {WSC_UNIT_TIME, "1000 s", 1000000000000000},
        {WSC_UNIT_PARAMS_RATE, "1e+18 params/s", 1000000000000000000}};
    char text[48];
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        wsc_units_format_digits(shown[i].unit, (double)shown[i].expected, 7, text, sizeof text);
        T_STR(text, shown[i].text);
    }
}

TEST(units, format_is_short_and_reads_back)
{
    static const struct quantity shown[] = {{WSC_UNIT_FREQUENCY, "850 MHz", 850000000LL},
                                            {WSC_UNIT_TIME, "2052 ns", 2052000LL},
                                            {WSC_UNIT_BYTES, "48 KiB", 49152},
                                            {WSC_UNIT_RATE, "150 GB/s", 150000000000LL},
                                            {WSC_UNIT_TIME, "0 ps", 0},
                                            {WSC_UNIT_RATE, "0 B/s", 0},
                                            {WSC_UNIT_NONE, "12", 12}};
    char text[48];
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        wsc_units_format(shown[i].unit, shown[i].expected, text, sizeof text);
        T_STR(text, shown[i].text);
    }
    for (uint64_t i = 0; i < 2000; i++) {
        enum wsc_unit unit = (enum wsc_unit)(i % (WSC_UNIT_PARAMS_RATE + 1));
        int64_t value = (int64_t)(wsc_rng_u64(1, 2, i) >> (1 + i % 63)), back = -1;
        wsc_units_format(unit, value, text, sizeof text);
        CU_ASSERT(wsc_units_quantity(unit, text, &back) == WSC_OK);
        T_EQ(back, value);
    }
}

/* Textbook distances; a swap of neighbours is one edit. */
TEST(units, distance)
{
    T_EQ(wsc_units_distance("kitten", "sitting"), 3);
    T_EQ(wsc_units_distance("", "abc"), 3);
    T_EQ(wsc_units_distance("abc", "abc"), 0);
    T_EQ(wsc_units_distance("hiden_size", "hidden_size"), 1);
    T_EQ(wsc_units_distance("setps", "steps"), 1);
    T_EQ(wsc_units_distance("ca", "abc"), 3);
}
