// SPDX-License-Identifier: Apache-2.0
/* The only calls of malloc.  A block of n bytes comes after a header with its size and tag, aligned
 * to 64 bytes: a cache line, and the widest vector register.  Bytes in use are counted for each
 * tag, so a program can end with all tags at zero.
 *
 * Layout of an allocation: malloc's pointer, padding up to 63 bytes, the header, the aligned block.
 */
#include <wsc/mem.h>

#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { ALIGNMENT = 64 };

/* Stands just before the aligned block. */
struct header {
    void *raw;
    size_t bytes;
    enum wsc_mem_tag tag;
};

/* Bytes that each tag holds, as asked for; threads of one process share it. */
static _Atomic int64_t in_use[WSC_MEM_N_TAGS];

static void count(enum wsc_mem_tag tag, int64_t bytes)
{
    (void)atomic_fetch_add(&in_use[tag], bytes);
}

static struct header *header_of(void *block)
{
    return (struct header *)block - 1;
}

/* Name of a tag in WSC_MEM_MAP. */
static const char *tag_name(enum wsc_mem_tag tag)
{
    static const char *const name[] = {
#define XX(name, text) [WSC_MEM_##name] = text,
        WSC_MEM_MAP(XX)
#undef XX
    };
    return name[tag];
}

/* Allocate n x size bytes with overflow checks.  PTRDIFF_MAX bounds a block so that differences of
 * pointers into it are valid. */
static void *allocate(enum wsc_mem_tag tag, size_t n, size_t size, bool zeroed)
{
    size_t bytes;
    const size_t overhead = sizeof(struct header) + ALIGNMENT;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > (size_t)PTRDIFF_MAX - overhead) {
        (void)WSC_RAISE(WSC_NOMEM, "%s asked for %zu x %zu bytes", tag_name(tag), n, size);
        return NULL;
    }
    char *raw = zeroed ? calloc(1, bytes + overhead) : malloc(bytes + overhead);
    if (!raw) {
        (void)WSC_RAISE(WSC_NOMEM, "%s asked for %zu bytes, the host has no more memory",
                        tag_name(tag), bytes);
        return NULL;
    }
    uintptr_t first = (uintptr_t)(raw + sizeof(struct header));
    uintptr_t pad = (ALIGNMENT - first % ALIGNMENT) % ALIGNMENT;
    char *block = raw + sizeof(struct header) + pad;
    *header_of(block) = (struct header){.raw = raw, .bytes = bytes, .tag = tag};
    count(tag, (int64_t)bytes);
    return block;
}

void *wsc_alloc(enum wsc_mem_tag tag, size_t n, size_t size)
{
    return allocate(tag, n, size, true);
}

void *wsc_alloc_raw(enum wsc_mem_tag tag, size_t n, size_t size)
{
    return allocate(tag, n, size, false);
}

/* Always a new block: the C library's realloc() would not keep the alignment. */
void *wsc_realloc(enum wsc_mem_tag tag, void *block, size_t n, size_t size)
{
    char *bigger = allocate(tag, n, size, false);
    if (!bigger) return NULL;
    size_t bytes = n * size, old = block ? header_of(block)->bytes : 0;
    size_t kept = old < bytes ? old : bytes;
    if (kept) memcpy(bigger, block, kept);
    memset(bigger + kept, 0, bytes - kept);
    wsc_free(block);
    return bigger;
}

/* Doubling; 16 elements at first, so that short lists are allocated once. */
void *wsc_grow(enum wsc_mem_tag tag, void *block, int64_t *room, int64_t need, size_t size)
{
    enum { LEAST = 16 };
    if (block && need <= *room) return block;
    int64_t wanted = *room < INT64_MAX / 2 ? 2 * *room : need;
    if (wanted < need) wanted = need;
    if (wanted < LEAST) wanted = LEAST;
    void *bigger = wsc_realloc(tag, block, (size_t)wanted, size);
    if (bigger) *room = wanted;
    return bigger;
}

char *wsc_strdup(enum wsc_mem_tag tag, const char *s)
{
    size_t bytes = strlen(s) + 1;
    char *copy = allocate(tag, bytes, 1, false);
    if (copy) memcpy(copy, s, bytes);
    return copy;
}

char *wsc_asprintf(enum wsc_mem_tag tag, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int length = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (length < 0) return NULL;
    char *text = allocate(tag, (size_t)length + 1, 1, false);
    if (!text) return NULL;
    va_start(ap, fmt);
    (void)vsnprintf(text, (size_t)length + 1, fmt, ap);
    va_end(ap);
    return text;
}

void wsc_free(void *block)
{
    if (!block) return;
    struct header *h = header_of(block);
    count(h->tag, -(int64_t)h->bytes);
    free(h->raw);
}

int64_t wsc_mem_in_use(enum wsc_mem_tag tag)
{
    return atomic_load(&in_use[tag]);
}

bool wsc_mem_balanced(void)
{
    bool balanced = true;
    for (int t = 0; t < WSC_MEM_N_TAGS; t++) {
        int64_t bytes = wsc_mem_in_use((enum wsc_mem_tag)t);
        if (!bytes) continue;
        (void)fprintf(stderr, "wsc: %s still holds %lld bytes\n", tag_name((enum wsc_mem_tag)t),
                      (long long)bytes);
        balanced = false;
    }
    return balanced;
}

int64_t wsc_mem_peak_rss_bytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (int64_t)usage.ru_maxrss * 1024;
}

/* Blocks below 1 GiB come from the heap, which is trimmed only above 1 GiB and grows by 16 MiB: a
 * step's gradients and activations of the step before are used again without page faults. */
void wsc_mem_tune(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 30);
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
    (void)mallopt(M_TOP_PAD, 1 << 24);
}
