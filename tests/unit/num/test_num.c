// SPDX-License-Identifier: Apache-2.0
#include "../../../src/num/num_impl.h"
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/num_math.h>
#include <wsc/rng.h>

#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* ---- formats */

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint16_t bf16(float x)
{
    uint16_t y;
    num_narrow(NUM_BF16, &y, &x, 1);
    return y;
}

/* The words of the options stand in the order of the formats; the 16-bit formats are the others
 * after fp32, in one order. */
TEST(num_format, words_of_options_are_in_order)
{
    char words[64] = "";
    for (int f = NUM_FP32; f < NUM_N_FORMATS; f++)
        (void)snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s", f ? " " : "",
                       num_formats[f].word);
    T_STR(words, NUM_FORMAT_OPTIONS);
    T_STR(NUM_FORMAT_OPTIONS, "fp32 fp16 bf16 cb16");
    T_STR(NUM_HALF_OPTIONS, strchr(words, ' ') + 1);
    for (int h = 0; h < NUM_N_HALVES; h++)
        T_EQ(num_half_of(num_format_of((enum num_half)h)), h);
    T_EQ(num_format_of(NUM_HALF_CB16), NUM_CB16);
    T_EQ(num_half_of(NUM_FP32), NUM_HALF_FP16);
}

TEST(num_format, every_bf16_survives_the_round_trip)
{
    static uint16_t in[65536], out[65536];
    static float wide[65536];
    for (int i = 0; i < 65536; i++)
        in[i] = (uint16_t)i;
    num_widen(NUM_BF16, wide, in, 65536);
    num_narrow(NUM_BF16, out, wide, 65536);
    for (int i = 0; i < 65536; i++) {
        bool kept = isnan(wide[i]) ? isnan(from_bits((uint32_t)out[i] << 16)) : out[i] == in[i];
        CU_ASSERT(kept);
    }
}

TEST(num_format, rounds_to_nearest_even)
{
    T_EQ(bf16(from_bits(0x3F808000)), 0x3F80); /* tie, even below */
    T_EQ(bf16(from_bits(0x3F818000)), 0x3F82); /* tie, even above */
    T_EQ(bf16(from_bits(0x3F808001)), 0x3F81);
    T_EQ(bf16(from_bits(0x3F807FFF)), 0x3F80);
    T_EQ(bf16(from_bits(0xBF818000)), 0xBF82);
    T_EQ(bf16(from_bits(0x7F7FFFFF)), 0x7F80);          /* the largest float becomes infinity */
    T_EQ(bf16(from_bits(0x7F800001)) & 0x7FFF, 0x7FC0); /* a NaN of low bits only stays NaN */
    T_EQ(num_format_bytes(NUM_BF16), 2);
}

/* The value of code @p h by the definition of a format with @p m mantissa bits and bias @p b. */
static double value_of(int h, int m, int b)
{
    const int e = h >> m, digits = h & ((1 << m) - 1);
    return e ? ldexp(1 + ldexp(digits, -m), e - b) : ldexp(digits, 1 - b - m);
}

static uint16_t narrowed(enum num_format f, float x)
{
    uint16_t y;
    num_narrow(f, &y, &x, 1);
    return y;
}

static float widened(enum num_format f, uint16_t x)
{
    float y;
    num_widen(f, &y, &x, 1);
    return y;
}

/* Every positive code, the middle to the next one, and the numbers next to that middle. */
static void check_code(enum num_format f, int h, int m, int b)
{
    const uint16_t code = (uint16_t)h, minus = (uint16_t)(h | 0x8000);
    const float x = (float)value_of(h, m, b);
    const float middle = (float)((value_of(h, m, b) + value_of(h + 1, m, b)) / 2);
    float wide[2];
    num_widen(f, wide, (const uint16_t[]){code, minus}, 2);
    CU_ASSERT(wide[0] == x && wide[1] == -x && signbit(wide[1]));
    CU_ASSERT(narrowed(f, x) == code && narrowed(f, -x) == minus);
    CU_ASSERT(narrowed(f, middle) == (h & 1 ? h + 1 : h));
    CU_ASSERT(narrowed(f, nextafterf(middle, 0)) == code);
    CU_ASSERT(narrowed(f, nextafterf(middle, INFINITY)) == h + 1);
}

/* 16-bit formats by their definition: subnormals, normals, overflow to infinity. */
TEST(num_format, every_code_and_every_tie_of_16_bit_formats)
{
    static const struct {
        enum num_format format;
        int mantissa, bias;
    } row[] = {{NUM_FP16, 10, 15}, {NUM_CB16, 9, 31}, {NUM_BF16, 7, 127}};
    _Static_assert(sizeof row / sizeof *row == NUM_N_HALVES, "each 16-bit format has a row");
    for (int i = 0; i < NUM_N_HALVES; i++) {
        const int infinity = 0x8000 - (1 << row[i].mantissa);
        const int last = row[i].format == NUM_BF16 ? infinity - 1 : infinity;
        for (int h = 0; h < last; h++)
            check_code(row[i].format, h, row[i].mantissa, row[i].bias);
        T_EQ(narrowed(row[i].format, INFINITY), infinity);
        T_EQ(narrowed(row[i].format, -INFINITY), 0x8000 | infinity);
        T_EQ(narrowed(row[i].format, from_bits(0x7F7FFFFF)), infinity);
        for (int h = infinity + 1; h < 0x8000; h++)
            CU_ASSERT(isnan(widened(row[i].format, (uint16_t)h)));
        CU_ASSERT(narrowed(row[i].format, from_bits(0x7F800001)) > infinity);
        CU_ASSERT(narrowed(row[i].format, from_bits(0xFFC00000)) > (0x8000 | infinity));
    }
    T_STR(num_formats[NUM_CB16].name, "cbfloat16");
}

/* A processor's instruction rounds whole vectors and what is left of one, but no subnormal numbers,
 * which integer arithmetic rounds: all as a number alone. */
TEST(num_format, an_array_is_rounded_as_its_numbers_are)
{
    enum { N = 100, ROUNDS = 400 };
    for (int round = 0; round < ROUNDS; round++) {
        float in[N];
        uint16_t out[N + 1];
        const int n = round % (N + 1);
        for (int i = 0; i < n; i++) {
            uint32_t bits = (uint32_t)wsc_rng_u64(1, 2, (uint64_t)round * N + (uint64_t)i);
            if (i % 37 == round % 37) bits &= 0x807FFFFFU; /* subnormal */
            if (i % 41 == round % 41) bits |= 0x7F800000U; /* NaN or infinity */
            in[i] = from_bits(bits);
        }
        out[n] = 0x1234;
        num_narrow(NUM_BF16, out, in, n);
        for (int i = 0; i < n; i++)
            T_EQ(out[i], narrowed(NUM_BF16, in[i]));
        T_EQ(out[n], 0x1234);
    }
}

/* ---- vectors */

TEST(num_vector, sum_of_squares_is_exact_and_repeatable)
{
    static float x[1003];
    for (int n = 0; n < 40; n++) {
        double expected = 0;
        for (int i = 0; i < n; i++) {
            x[i] = (float)(i % 9 - 4);
            expected += (double)x[i] * (double)x[i];
        }
        CU_ASSERT(num_sum_squares(x, n) == expected);
    }
    test_fill(x, 1003, 5);
    double naive = 0;
    for (int i = 0; i < 1003; i++)
        naive += (double)x[i] * (double)x[i];
    T_NEAR(num_sum_squares(x, 1003), naive, 1e-14);
    static float shifted[1004];
    memcpy(shifted + 1, x, sizeof x);
    CU_ASSERT(num_sum_squares(x, 1003) == num_sum_squares(shifted + 1, 1003));
}

TEST(num_vector, a_largest_error_keeps_a_nan_wherever_it_stands)
{
    for (int bad = -1; bad < 3; bad++) {
        double max = 0;
        for (int i = 0; i < 3; i++)
            max = num_max_error(max, i == bad ? (double)NAN : (double)(i == 1) + 0.5);
        CU_ASSERT(bad < 0 ? max >= 1.5 && max <= 1.5 : isnan(max));
    }
}

TEST(num_vector, add_and_scale)
{
    float x[21], y[21], z[21];
    test_fill(x, 21, 1);
    test_fill(y, 21, 2);
    memcpy(z, y, sizeof z);
    num_add(z, x, 21);
    num_scale(z, -1.5F, 20);
    for (int i = 0; i < 21; i++)
        CU_ASSERT(z[i] == (i < 20 ? (y[i] + x[i]) * -1.5F : y[i] + x[i]));
}

/* Rows added at once, and products of two vectors, have the bits of one row after the other and of
 * num_dot(), in every format. */
TEST(num_vector, rows_and_products_of_every_format)
{
    enum { ROWS = 7, LD = 45, N = 41 };
    float wide[ROWS * LD], sum[N], expected[N], out[N];
    uint16_t narrow[ROWS * LD];
    for (enum num_format format = NUM_FP32; format < NUM_N_FORMATS; format++) {
        const void *x = format == NUM_FP32 ? (const void *)wide : narrow;
        const int64_t bytes = num_format_bytes(format);
        test_fill(wide, (int64_t)ROWS * LD, 3);
        if (format != NUM_FP32) num_narrow(format, narrow, wide, (int64_t)ROWS * LD);
        if (format != NUM_FP32) num_widen(format, wide, narrow, (int64_t)ROWS * LD);
        for (int64_t rows = 0; rows <= ROWS; rows++) {
            test_fill(sum, N, 4);
            memcpy(expected, sum, sizeof sum);
            num_add_rows(format, sum, x, rows, LD, N);
            for (int64_t r = 0; r < rows; r++)
                num_add(expected, wide + r * LD, N);
            T_EQ(memcmp((const void *)sum, (const void *)expected, sizeof sum), 0);
        }
        for (int64_t n = 0; n <= N; n++)
            CU_ASSERT(num_dot_of(format, x, (const char *)x + LD * bytes, n) ==
                      num_dot(wide, wide + LD, n));
        num_sum_of(out, wide, wide + LD, N);
        for (int i = 0; i < N; i++)
            CU_ASSERT(out[i] == wide[i] + wide[LD + i]);
    }
}

/* ---- threads */

struct tally {
    _Atomic int count[1000];
    _Atomic int bad_thread;
};

static void count_item(void *ctx, int64_t i, int thread)
{
    struct tally *t = ctx;
    atomic_fetch_add(&t->count[i], 1);
    if (thread < 0 || thread >= num_threads()) atomic_store(&t->bad_thread, 1);
}

TEST(num_threads, every_item_runs_once)
{
    static struct tally t;
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        memset(&t, 0, sizeof t);
        num_init(n_threads);
        T_EQ(num_threads(), n_threads);
        num_parallel(1000, count_item, &t);
        num_parallel(0, count_item, &t);
        for (int i = 0; i < 1000; i++)
            T_EQ(t.count[i], 1);
        T_EQ(t.bad_thread, 0);
    }
    num_init(5000);
    T_EQ(num_threads(), NUM_MAX_THREADS);
    num_init(1);
    T_EQ(num_threads(), 1);
}

/* Teams of every size one after the other, at once and after the workers have gone to sleep: a
 * worker that comes late or sits a loop out must neither miss an item nor take one twice. */
TEST(num_threads, loops_of_all_sizes_follow_each_other)
{
    enum { LOOPS = 3000, MOST_ITEMS = 7, LOOPS_PER_SLEEP = 300 };
    static struct tally t;
    const struct timespec nap = {.tv_nsec = 2000000};
    int expected[MOST_ITEMS] = {0};
    memset(&t, 0, sizeof t);
    num_init(5);
    for (int loop = 0; loop < LOOPS; loop++) {
        const int n = loop % (MOST_ITEMS + 1);
        if (loop % LOOPS_PER_SLEEP == 0) (void)nanosleep(&nap, NULL);
        num_parallel(n, count_item, &t);
        for (int i = 0; i < n; i++)
            T_EQ(t.count[i], ++expected[i]);
    }
    T_EQ(t.bad_thread, 0);
    num_init(1);
}

/* A loop inside an item runs on the thread of that item. */
enum { OUTER_ITEMS = 6, INNER_ITEMS = 40 };
struct nested {
    struct tally tally[OUTER_ITEMS];
    _Atomic int elsewhere;
};
struct nested_item {
    struct nested *all;
    struct tally *tally;
    int thread;
};

static void count_inner(void *ctx, int64_t i, int thread)
{
    const struct nested_item *item = ctx;
    count_item(item->tally, i, thread);
    if (thread != item->thread) atomic_store(&item->all->elsewhere, 1);
}

static void run_inner(void *ctx, int64_t i, int thread)
{
    struct nested *all = ctx;
    struct nested_item item = {all, &all->tally[i], thread};
    num_parallel(INNER_ITEMS, count_inner, &item);
}

TEST(num_threads, a_loop_inside_an_item_stays_on_its_thread)
{
    static struct nested n;
    memset(&n, 0, sizeof n);
    num_init(3);
    num_parallel(OUTER_ITEMS, run_inner, &n);
    for (int i = 0; i < OUTER_ITEMS * INNER_ITEMS; i++)
        T_EQ(n.tally[i / INNER_ITEMS].count[i % INNER_ITEMS], 1);
    T_EQ(n.elsewhere, 0);
    num_init(1);
}
