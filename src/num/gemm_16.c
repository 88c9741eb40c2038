// SPDX-License-Identifier: Apache-2.0
/* Products of 16-bit operands with fp32 sums: bfloat16 by a oneDNN primitive that is kept for its
 * shapes, other formats by widening both operands. */
#include "num_impl.h"

#include <wsc/check.h>
#include <wsc/hash.h>
#include <wsc/mem.h>

#include <oneapi/dnnl/dnnl.h>

#include <string.h>

/* Building a primitive costs more than a small product, so each thread keeps the ones it used:
 * direct-mapped by shape, a newcomer evicts.  Per thread, because the library's scratchpad of a
 * primitive belongs to the thread that made it. */
enum { N_CACHED = 128 };

struct built {
    struct num_product shape; /**< m = 0: the place is free */
    dnnl_primitive_t primitive;
    dnnl_memory_t a, b, c;
};

static _Thread_local struct built cache[N_CACHED];

/* The CPU as oneDNN sees it, one for each thread, never released: it lives as long as the thread.
 */
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

/* A matrix op(X) (rows, cols) as it is stored: its transpose is the same memory with the strides
 * exchanged. */
static dnnl_status_t describe(dnnl_memory_desc_t *desc, int64_t rows, int64_t cols, int64_t ld,
                              bool transposed, dnnl_data_type_t type)
{
    dnnl_dims_t dims = {rows, cols}, strides = {transposed ? 1 : ld, transposed ? ld : 1};
    return dnnl_memory_desc_init_by_strides(desc, 2, dims, type, strides);
}

static bool same_shape(const struct num_product *s, const struct num_product *t)
{
    return s->trans_a == t->trans_a && s->trans_b == t->trans_b && s->m == t->m && s->n == t->n &&
           s->k == t->k && s->lda == t->lda && s->ldb == t->ldb && s->ldc == t->ldc &&
           s->beta == t->beta;
}

/* Slot of a shape in the cache. */
static size_t place_of(const struct num_product *s)
{
    int64_t key[] = {s->trans_a, s->trans_b, s->m,   s->n,        s->k,
                     s->lda,     s->ldb,     s->ldc, s->beta != 0};
    return (size_t)(wsc_hash64(key, sizeof key, 0) % N_CACHED);
}

static void release(struct built *p)
{
    if (p->shape.m == 0) return;
    dnnl_primitive_destroy(p->primitive);
    dnnl_memory_destroy(p->a);
    dnnl_memory_destroy(p->b);
    dnnl_memory_destroy(p->c);
    *p = (struct built){.shape = {.m = 0}};
}

/* C += A B is the product with a "sum" step after it. */
static dnnl_status_t create_primitive(dnnl_primitive_t *out, const dnnl_matmul_desc_t *desc,
                                      bool accumulate)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t after = NULL;
    dnnl_primitive_desc_t resolved = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(&attr);
    if (!status) status = dnnl_post_ops_create(&after);
    if (!status && accumulate) status = dnnl_post_ops_append_sum(after, 1.0F);
    if (!status) status = dnnl_primitive_attr_set_post_ops(attr, after);
    if (!status) status = dnnl_primitive_desc_create(&resolved, desc, attr, engine(), NULL);
    if (!status) status = dnnl_primitive_create(out, resolved);
    if (resolved) dnnl_primitive_desc_destroy(resolved);
    if (after) dnnl_post_ops_destroy(after);
    if (attr) dnnl_primitive_attr_destroy(attr);
    return status;
}

/* Make the primitive and its memory objects for a shape; the data pointers are set at each call. */
static dnnl_status_t build(struct built *p, const struct num_product *s)
{
    dnnl_memory_desc_t a, b, c;
    dnnl_matmul_desc_t desc;
    dnnl_status_t status = describe(&a, s->m, s->k, s->lda, s->trans_a, dnnl_bf16);
    if (!status) status = describe(&b, s->k, s->n, s->ldb, s->trans_b, dnnl_bf16);
    if (!status) status = describe(&c, s->m, s->n, s->ldc, false, dnnl_f32);
    if (!status) status = dnnl_matmul_desc_init(&desc, &a, &b, NULL, &c);
    if (!status) status = create_primitive(&p->primitive, &desc, s->beta != 0);
    if (status) return status;
    status = dnnl_memory_create(&p->a, &a, engine(), DNNL_MEMORY_NONE);
    if (!status) status = dnnl_memory_create(&p->b, &b, engine(), DNNL_MEMORY_NONE);
    if (!status) status = dnnl_memory_create(&p->c, &c, engine(), DNNL_MEMORY_NONE);
    p->shape = *s;
    return status;
}

/* NULL when the library has no such product on this processor. */
static struct built *built_of(const struct num_product *s)
{
    struct built *p = &cache[place_of(s)];
    if (same_shape(&p->shape, s)) return p;
    release(p);
    dnnl_status_t status = build(p, s);
    if (status == dnnl_unimplemented) return NULL;
    WSC_CHECK(status == dnnl_success,
              "oneDNN returned %d for a bfloat16 product %lld x %lld x %lld", (int)status,
              (long long)s->m, (long long)s->n, (long long)s->k);
    return p;
}

float *num_widened(enum num_format format, const uint16_t *x, int64_t rows, int64_t cols,
                   int64_t ld)
{
    float *y = wsc_alloc_raw(WSC_MEM_NUM, (size_t)(rows * cols), sizeof *y);
    WSC_CHECK(y, "no memory to widen a %s operand of %lld x %lld", num_format_name(format),
              (long long)rows, (long long)cols);
    for (int64_t i = 0; i < rows; i++)
        num_widen(format, y + i * cols, x + i * ld, cols);
    return y;
}

void num_gemm_widened(enum num_format format, const struct num_product *p, const uint16_t *a,
                      const uint16_t *b, float *c)
{
    int64_t a_rows = p->trans_a ? p->k : p->m, a_cols = p->trans_a ? p->m : p->k;
    int64_t b_rows = p->trans_b ? p->n : p->k, b_cols = p->trans_b ? p->k : p->n;
    float *wide_a = num_widened(format, a, a_rows, a_cols, p->lda);
    float *wide_b = num_widened(format, b, b_rows, b_cols, p->ldb);
    struct num_product dense = *p;
    dense.lda = a_cols;
    dense.ldb = b_cols;
    num_gemm(&dense, wide_a, wide_b, c);
    wsc_free(wide_a);
    wsc_free(wide_b);
}

/* The library's handles are not const, the operands are not written. */
static void *writable(const uint16_t *x)
{
    void *p;
    memcpy(&p, &x, sizeof p);
    return p;
}

/* The bfloat16 product by the kept primitive, or by widening where the processor has none. */
static void gemm_bf16(const struct num_product *p, const uint16_t *a, const uint16_t *b, float *c)
{
    if (!num_product_prepare(p, c)) return;
    num_pin_library();
    struct built *built = built_of(p);
    if (!built) {
        num_gemm_widened(NUM_BF16, p, a, b, c);
        return;
    }
    dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, built->a}, {DNNL_ARG_WEIGHTS, built->b}, {DNNL_ARG_DST, built->c}};
    dnnl_status_t status = dnnl_memory_set_data_handle(built->a, writable(a));
    if (!status) status = dnnl_memory_set_data_handle(built->b, writable(b));
    if (!status) status = dnnl_memory_set_data_handle(built->c, c);
    if (!status) status = dnnl_primitive_execute(built->primitive, stream(), 3, args);
    if (!status) status = dnnl_stream_wait(stream());
    WSC_CHECK(status == dnnl_success, "a bfloat16 product returned %d", (int)status);
}

void num_gemm_16(enum num_format format, const struct num_product *p, const uint16_t *a,
                 const uint16_t *b, float *c)
{
    if (format == NUM_BF16)
        gemm_bf16(p, a, b, c);
    else if (num_product_prepare(p, c))
        num_gemm_widened(format, p, a, b, c);
}
