// SPDX-License-Identifier: Apache-2.0
/* Calls the product library oneDNN, versions 2 and 3, on the calling thread alone: sgemm, and
 * bfloat16 products by a primitive that is cached for each shape. Compiled with ONEDNN=yes of the
 * Makefile; library_plain.c replaces it otherwise. Called by gemm.c and gemm_16.c. */
#include "library.h"
#include "num_impl.h"

#include <wsc/check.h>
#include <wsc/hash.h>

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_version.h>

#include <stdio.h>
#include <string.h>

const char *num_library(void)
{
    static char name[40];
    const dnnl_version_t *v = dnnl_version();
    (void)snprintf(name, sizeof name, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
    return name;
}

void num_library_gemm(const struct num_product *p, const float *a, const float *b, float *c)
{
    num_pin_library();
    dnnl_status_t status = dnnl_sgemm(p->trans_a ? 'T' : 'N', p->trans_b ? 'T' : 'N', p->m, p->n,
                                      p->k, 1.0F, a, p->lda, b, p->ldb, p->beta, c, p->ldc);
    WSC_CHECK(status == dnnl_success, "dnnl_sgemm returned %d", (int)status);
}

/* Creating a primitive costs more than a small product, so each thread caches the ones it used:
 * direct-mapped by shape, a new shape evicts the old one. The cache is per thread, because the
 * scratchpad of a primitive belongs to the thread that created it. */
enum { N_CACHED = 128 };

struct built {
    struct num_product shape;   /**< m = 0: the slot is free */
    bool arranged;              /**< B is in the order of arranged.c */
    dnnl_primitive_t primitive; /**< NULL: the library has no such product */
    dnnl_memory_t a, b, c;
};

static _Thread_local struct built cache[N_CACHED];

/* oneDNN's CPU engine, one for each thread; it is never released, since it lives as long as the
 * thread. */
static dnnl_engine_t engine(void)
{
    static _Thread_local dnnl_engine_t cpu;
    if (!cpu) {
        dnnl_status_t status = dnnl_engine_create(&cpu, dnnl_cpu, 0);
        WSC_CHECK(status == dnnl_success, "dnnl_engine_create returned %d", (int)status);
    }
    return cpu;
}

/* The stream of this thread, which executes in order. */
static dnnl_stream_t stream(void)
{
    static _Thread_local dnnl_stream_t in_order;
    if (!in_order) {
        dnnl_status_t status = dnnl_stream_create(&in_order, engine(), dnnl_stream_default_flags);
        WSC_CHECK(status == dnnl_success, "dnnl_stream_create returned %d", (int)status);
    }
    return in_order;
}

static bool same_shape(const struct num_product *s, const struct num_product *t)
{
    return s->trans_a == t->trans_a && s->trans_b == t->trans_b && s->m == t->m && s->n == t->n &&
           s->k == t->k && s->lda == t->lda && s->ldb == t->ldb && s->ldc == t->ldc &&
           s->beta == t->beta;
}

/* Slot of a shape in the cache. */
static size_t place_of(const struct num_product *s, bool arranged)
{
    int64_t key[] = {s->trans_a, s->trans_b, s->m,   s->n,         s->k,
                     s->lda,     s->ldb,     s->ldc, s->beta != 0, arranged};
    return (size_t)(wsc_hash64(key, sizeof key, 0) % N_CACHED);
}

static void release(struct built *p)
{
    if (p->primitive) dnnl_primitive_destroy(p->primitive);
    if (p->a) dnnl_memory_destroy(p->a);
    if (p->b) dnnl_memory_destroy(p->b);
    if (p->c) dnnl_memory_destroy(p->c);
    *p = (struct built){.shape = {.m = 0}};
}

/* A matrix op(X) (rows, cols) as it is stored; its transpose is the same memory with exchanged
 * strides. */
struct stored {
    int64_t rows, cols, ld;
    bool transposed;
    dnnl_data_type_t type;
    bool arranged;
};

/* The interface changed between versions 2 and 3; the primitive is the same. */
#if DNNL_VERSION_MAJOR >= 3
static dnnl_status_t describe(dnnl_memory_desc_t *desc, const struct stored *s)
{
    dnnl_dims_t dims = {s->rows, s->cols};
    dnnl_dims_t strides = {s->transposed ? 1 : s->ld, s->transposed ? s->ld : 1};
    if (s->arranged)
        return dnnl_memory_desc_create_with_tag(desc, 2, dims, s->type, dnnl_BA16a64b2a);
    return dnnl_memory_desc_create_with_strides(desc, 2, dims, s->type, strides);
}

static dnnl_status_t resolve(dnnl_primitive_desc_t *out, const dnnl_memory_desc_t desc[static 3],
                             dnnl_primitive_attr_t attr)
{
    return dnnl_matmul_primitive_desc_create(out, engine(), desc[0], desc[1], NULL, desc[2], attr);
}

static dnnl_status_t create_memory(dnnl_memory_t *out, const dnnl_memory_desc_t *desc)
{
    return dnnl_memory_create(out, *desc, engine(), DNNL_MEMORY_NONE);
}

static void forget(dnnl_memory_desc_t desc[static 3])
{
    for (int i = 0; i < 3; i++)
        if (desc[i]) dnnl_memory_desc_destroy(desc[i]);
}

static dnnl_status_t add_to_result(dnnl_post_ops_t after)
{
    return dnnl_post_ops_append_sum(after, 1.0F, 0, dnnl_data_type_undef);
}

/* Version 3.7 reads and writes a strided bfloat16 vector as if its elements were consecutive. */
static bool is_trusted(const struct num_product *p)
{
    const bool row_is_apart = p->m == 1 && p->trans_a && p->lda > 1;
    const bool column_is_apart = p->n == 1 && ((!p->trans_b && p->ldb > 1) || p->ldc > 1);
    return !row_is_apart && !column_is_apart;
}
#else
static dnnl_status_t describe(dnnl_memory_desc_t *desc, const struct stored *s)
{
    dnnl_dims_t dims = {s->rows, s->cols};
    dnnl_dims_t strides = {s->transposed ? 1 : s->ld, s->transposed ? s->ld : 1};
    if (s->arranged) return dnnl_memory_desc_init_by_tag(desc, 2, dims, s->type, dnnl_BA16a64b2a);
    return dnnl_memory_desc_init_by_strides(desc, 2, dims, s->type, strides);
}

static dnnl_status_t resolve(dnnl_primitive_desc_t *out, const dnnl_memory_desc_t desc[static 3],
                             dnnl_primitive_attr_t attr)
{
    dnnl_matmul_desc_t product;
    dnnl_status_t status = dnnl_matmul_desc_init(&product, &desc[0], &desc[1], NULL, &desc[2]);
    if (status) return status;
    return dnnl_primitive_desc_create(out, &product, attr, engine(), NULL);
}

static dnnl_status_t create_memory(dnnl_memory_t *out, const dnnl_memory_desc_t *desc)
{
    return dnnl_memory_create(out, desc, engine(), DNNL_MEMORY_NONE);
}

static void forget(dnnl_memory_desc_t desc[static 3])
{
    (void)desc; /* plain structs */
}

static dnnl_status_t add_to_result(dnnl_post_ops_t after)
{
    return dnnl_post_ops_append_sum(after, 1.0F);
}

static bool is_trusted(const struct num_product *p)
{
    (void)p;
    return true;
}
#endif

/* False when no optimised kernel reads the blocked operand: the library would then use its
 * reference loops. */
static bool has_kernel(const_dnnl_primitive_desc_t resolved)
{
    const char *name = NULL;
    if (dnnl_primitive_desc_query(resolved, dnnl_query_impl_info_str, 0, (void *)&name))
        return false;
    return name && !strncmp(name, "brg", 3);
}

/* C += A B is the product with a "sum" post-op. */
static dnnl_status_t create_primitive(dnnl_primitive_t *out,
                                      const dnnl_memory_desc_t desc[static 3], bool accumulate,
                                      bool arranged)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t after = NULL;
    dnnl_primitive_desc_t resolved = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(&attr);
    if (!status) status = dnnl_post_ops_create(&after);
    if (!status && accumulate) status = add_to_result(after);
    if (!status) status = dnnl_primitive_attr_set_post_ops(attr, after);
    if (!status) status = resolve(&resolved, desc, attr);
    if (!status && arranged && !has_kernel(resolved)) status = dnnl_unimplemented;
    if (!status) status = dnnl_primitive_create(out, resolved);
    if (resolved) dnnl_primitive_desc_destroy(resolved);
    if (after) dnnl_post_ops_destroy(after);
    if (attr) dnnl_primitive_attr_destroy(attr);
    return status;
}

/* Create the primitive and its memory objects for a shape; the data pointers are set at each
 * call. */
static dnnl_status_t build(struct built *p, const struct num_product *s, bool arranged)
{
    const struct stored stored[3] = {{s->m, s->k, s->lda, s->trans_a, dnnl_bf16, false},
                                     {s->k, s->n, s->ldb, s->trans_b, dnnl_bf16, arranged},
                                     {s->m, s->n, s->ldc, false, dnnl_f32, false}};
    dnnl_memory_t *const memory[3] = {&p->a, &p->b, &p->c};
    dnnl_memory_desc_t desc[3];
    memset(desc, 0, sizeof desc);
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < 3 && !status; i++)
        status = describe(&desc[i], &stored[i]);
    if (!status) status = create_primitive(&p->primitive, desc, s->beta != 0, arranged);
    for (int i = 0; i < 3 && !status; i++)
        status = create_memory(memory[i], &desc[i]);
    forget(desc);
    return status;
}

/* The cached entry of a shape. Also caches that the library has no such product on this processor
 * (NULL). */
static struct built *built_of(const struct num_product *s, bool arranged)
{
    struct built *p = &cache[place_of(s, arranged)];
    if (!same_shape(&p->shape, s) || p->arranged != arranged) {
        release(p);
        dnnl_status_t status = build(p, s, arranged);
        WSC_CHECK(status == dnnl_success || status == dnnl_unimplemented,
                  "oneDNN returned %d for a bfloat16 product %lld x %lld x %lld", (int)status,
                  (long long)s->m, (long long)s->n, (long long)s->k);
        p->shape = *s;
        p->arranged = arranged;
    }
    return p->primitive ? p : NULL;
}

/* The library's handles are not const, but operands are not written. */
static void *writable(const uint16_t *x)
{
    void *p;
    memcpy(&p, &x, sizeof p);
    return p;
}

static bool multiply(const struct num_product *p, bool arranged, const uint16_t *a,
                     const uint16_t *b, float *c)
{
    if (!is_trusted(p)) return false;
    num_pin_library();
    struct built *built = built_of(p, arranged);
    if (!built) return false;
    dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, built->a}, {DNNL_ARG_WEIGHTS, built->b}, {DNNL_ARG_DST, built->c}};
    dnnl_status_t status = dnnl_memory_set_data_handle(built->a, writable(a));
    if (!status) status = dnnl_memory_set_data_handle(built->b, writable(b));
    if (!status) status = dnnl_memory_set_data_handle(built->c, c);
    if (!status) status = dnnl_primitive_execute(built->primitive, stream(), 3, args);
    if (!status) status = dnnl_stream_wait(stream());
    WSC_CHECK(status == dnnl_success, "a bfloat16 product returned %d", (int)status);
    return true;
}

bool num_library_bf16(const struct num_product *p, const uint16_t *a, const uint16_t *b, float *c)
{
    return multiply(p, false, a, b, c);
}

bool num_library_prefers_rows(void)
{
    return true;
}

/* Without AVX-512 the library does not pack operands of a few hundred rows or columns. */
bool num_library_minds_strides(void)
{
#if defined(__x86_64__)
    return !__builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

bool num_library_has_arranged(const struct num_product *p)
{
    num_pin_library();
    return is_trusted(p) && built_of(p, true);
}

bool num_library_bf16_arranged(const struct num_product *p, const uint16_t *a,
                               const uint16_t *arranged, float *c)
{
    return multiply(p, true, a, arranged, c);
}
