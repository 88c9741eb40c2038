/** Memory: the only place that calls malloc.
 *
 *  Every block is counted under the tag of the module that owns it, so that a leak is found: a test
 *  suite ends with wsc_mem_balanced() and fails if its module leaks. Blocks are aligned to 64
 * bytes, so that vector code needs no peel loops. Thread-safe: the counters are atomic. An
 * allocation that fails raises WSC_NOMEM with the name of the tag and the size; callers only return
 * the error.
 *
 *      struct thing *t;
 *      TRY_NEW(t, WSC_MEM_STREAM, 1);
 *      TRY_GROW(t->item, WSC_MEM_STREAM, t->room, t->n + 1); */
#ifndef WSC_MEM_H
#define WSC_MEM_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The table of tags: name, text for messages; one row for each module that allocates memory.
 *  <wsc/out.h> also uses REPORT; cluster and job use RUN. */
#define WSC_MEM_MAP(XX)                                                                            \
    XX(BASE, "base")                                                                               \
    XX(CONF, "conf")                                                                               \
    XX(NUM, "num")                                                                                 \
    XX(HW, "hw")                                                                                   \
    XX(MODEL, "model")                                                                             \
    XX(STORE, "store")                                                                             \
    XX(REPORT, "report")                                                                           \
    XX(COMM, "comm")                                                                               \
    XX(CONVERT, "convert")                                                                         \
    XX(DATA, "data")                                                                               \
    XX(STREAM, "stream")                                                                           \
    XX(KERNELS, "kernels")                                                                         \
    XX(MEMORYX, "memoryx")                                                                         \
    XX(SWARMX, "swarmx")                                                                           \
    XX(WAFER, "wafer")                                                                             \
    XX(RUN, "run")                                                                                 \
    XX(TIMELINE, "timeline")                                                                       \
    XX(SCALING, "scaling")                                                                         \
    XX(APP, "app")                                                                                 \
    XX(MESH, "mesh")                                                                               \
    XX(TEST, "test")

/** Owner of a block, with the names of WSC_MEM_MAP. */
enum wsc_mem_tag {
#define XX(name, text) WSC_MEM_##name,
    WSC_MEM_MAP(XX)
#undef XX
        WSC_MEM_N_TAGS
};

/** Allocate @p n elements of @p size bytes, all zero; NULL, with WSC_NOMEM raised, if there is no
 *  memory or the product overflows. n = 0 gives a valid block, which is released like any other. */
void *wsc_alloc(enum wsc_mem_tag tag, size_t n, size_t size) WSC_CHECKED;
/** Allocate @p n elements of @p size bytes with undefined contents, for large buffers that are
 *  overwritten at once: setting them to zero would touch every page twice. NULL as wsc_alloc(). */
void *wsc_alloc_raw(enum wsc_mem_tag tag, size_t n, size_t size) WSC_CHECKED;
/** Grow or shrink @p block (NULL allowed) to @p n elements of @p size bytes and return the new
 *  block; bytes beyond the old size are zero. The block always moves, so pointers into it become
 *  invalid. On failure NULL is returned, an error is raised, and @p block stays valid and owned.
 */
void *wsc_realloc(enum wsc_mem_tag tag, void *block, size_t n, size_t size) WSC_CHECKED;
/** Return @p block, grown if necessary, with room for at least @p need elements of @p size bytes;
 *  *@p room is the number of elements it has room for. A block grows to at least twice *@p room (at
 *  least 16), so that adding one element at a time costs O(1) on average. New bytes are zero. On
 *  failure as wsc_realloc(): NULL; *@p room and @p block are unchanged. */
void *wsc_grow(enum wsc_mem_tag tag, void *block, int64_t *room, int64_t need,
               size_t size) WSC_CHECKED;
/** Copy the string @p s, for wsc_free(); NULL on failure, with WSC_NOMEM raised. */
char *wsc_strdup(enum wsc_mem_tag tag, const char *s) WSC_CHECKED;
/** Write a formatted text into a new block of its size, for wsc_free(); NULL on failure. */
char *wsc_asprintf(enum wsc_mem_tag tag, const char *fmt, ...)
    __attribute__((format(printf, 2, 3))) WSC_CHECKED;
/** Release @p block, which one of the functions above returned, under the tag of its allocation;
 *  NULL allowed. */
void wsc_free(void *block);
/** Bytes now allocated under @p tag, as requested, without headers and padding. */
int64_t wsc_mem_in_use(enum wsc_mem_tag tag);
/** True if no tag has allocated memory; otherwise print the tags and bytes on stderr. */
bool wsc_mem_balanced(void);
/** Largest resident set of this process so far, bytes (getrusage); 0 where the system does not
 *  report it. */
int64_t wsc_mem_peak_rss_bytes(void);
/** Keep freed large blocks in the heap instead of returning them to the system (mallopt: no mmap
 *  and no trim below 1 GiB). A step then allocates the memory that the last step freed, without
 * page faults. Call once at program start. */
void wsc_mem_tune(void);

/** `ptr = n zeroed elements`, or return WSC_NOMEM from the calling function.  The element type is
 *  that of @p ptr. */
#define TRY_NEW(ptr, tag, n)                                                                       \
    do {                                                                                           \
        (ptr) = wsc_alloc((tag), (size_t)(n), sizeof *(ptr));                                      \
        if (!(ptr)) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "allocate " #ptr);         \
    } while (0)
/** `ptr = call`, where call returns memory (wsc_realloc, wsc_strdup, ...), or return WSC_NOMEM from
 *  the calling function.  With wsc_realloc the old block must be kept in another variable, or it
 *  leaks on failure. */
#define TRY_MEM(ptr, call)                                                                         \
    do {                                                                                           \
        (ptr) = (call);                                                                            \
        if (!(ptr)) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, #call);                    \
    } while (0)
/** Grow the array @p ptr, which has room for @p room elements (any integer variable), to room for
 * at least @p need elements, or return WSC_NOMEM from the calling function. @p ptr and @p room are
 *  updated on success and unchanged on failure. */
#define TRY_GROW(ptr, tag, room, need)                                                             \
    do {                                                                                           \
        int64_t grow_room_ = (int64_t)(room);                                                      \
        void *grown_ = wsc_grow((tag), (ptr), &grow_room_, (int64_t)(need), sizeof *(ptr));        \
        if (!grown_) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "grow " #ptr);            \
        (ptr) = grown_;                                                                            \
        (room) = (__typeof__(room))grow_room_;                                                     \
    } while (0)
#endif
