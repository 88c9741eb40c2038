/** Unit tests on CUnit: TEST(suite, name) defines a case and registers it; nothing else to edit.
 *
 *  T_NEAR and T_EQ print both values when they differ, which CUnit's own macros do not.
 *  T_NEAR passes where |a - b| <= tol (1 + |b|): relative for large b, absolute where b is 0.
 */
#ifndef WSC_TEST_H
#define WSC_TEST_H
#include <wsc/err.h>

#include <CUnit/CUnit.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*test_fn)(void);
void test_add(const char *suite, const char *name, test_fn fn);

#define TEST(suite, name)                                                                          \
    static void test_##suite##_##name(void);                                                       \
    __attribute__((constructor)) static void register_##suite##_##name(void)                       \
    {                                                                                              \
        test_add(#suite, #name, test_##suite##_##name);                                            \
    }                                                                                              \
    static void test_##suite##_##name(void)

/** True after WSC_OK; prints the trace of an error. */
bool test_ok(enum wsc_err rc);
/** |a - b| <= tol (1 + |b|), NaN never passes; prints both values and their place otherwise. */
bool test_near(double a, double b, double tol, const char *what, const char *file, int line);
bool test_eq(long long a, long long b, const char *what, const char *file, int line);
bool test_str(const char *a, const char *b, const char *what, const char *file, int line);
/** CUnit's check as an expression: its own macros are blocks, and count as nesting. */
#define T_CHECK(is_well, text, is_fatal)                                                           \
    ((void)CU_assertImplementation((is_well), __LINE__, (text), __FILE__, "", (is_fatal)))
#define T_TRUE(is_well) T_CHECK((is_well), #is_well, CU_FALSE)
#define T_NEAR(a, b, tol)                                                                          \
    T_CHECK(test_near((a), (b), (tol), #a, __FILE__, __LINE__), #a " is near " #b, CU_FALSE)
#define T_EQ(a, b)                                                                                 \
    T_CHECK(test_eq((long long)(a), (long long)(b), #a " == " #b, __FILE__, __LINE__),             \
            #a " == " #b, CU_FALSE)
#define T_STR(a, b) T_CHECK(test_str((a), (b), #a, __FILE__, __LINE__), #a " is " #b, CU_FALSE)
/** The call succeeds; otherwise its error is printed and the case ends. */
#define T_OK(call) T_CHECK(test_ok(call), #call, CU_TRUE)

/** Leave a case out that this host cannot run: prints `skipped: WHAT: WHY`, and the case counts as
 *  neither passed nor failed.  The caller returns at once, without an assertion. */
void test_skip(const char *what, const char *why);
/** Cases that test_skip() left out so far. */
unsigned test_n_skipped(void);
/** True on every rank or on none (MPI tests): a rank that failed alone would leave the others in
 *  the next collective. */
bool test_agree(bool ok);
/** End this process by SIGPROF after so much processor time of all its threads, on which the load
 *  of the host has no effect, or by SIGALRM after 15 times as much elapsed time, which is for what
 *  waits for ever; 0: no limit.  WSC_TEST_PATIENCE in the environment multiplies both. */
void test_limit(int processor_s);
/** Unit tests: the time that a case may take begins again, for cases of many small parts that wait
 *  for other processes. */
void test_more_time(void);
/** The wait status of a child process that calls @p call with @p arg and ends with what it returns;
 *  in @p text what it writes to stderr. */
int test_in_child(int (*call)(void *arg), void *arg, char *text, size_t size);
/** A fresh folder for this process, removed at exit; borrowed. */
const char *test_tmpdir(void);
/** Deterministic values in (-1, 1): element i of stream @p seed. */
void test_fill(float *x, int64_t n, uint64_t seed);
#endif
