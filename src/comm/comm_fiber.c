// SPDX-License-Identifier: Apache-2.0
/* Implements fibers: sequential programs with their own stacks. ucontext enters a fiber; later
 * switches are jumps, because swapcontext() asks the kernel for the signal mask each time, which no
 * fiber changes; that was a third of the time of a sweep. A stack is a mapping that begins with a
 * guard page; it is kept for the next fiber. Every switch is reported to the sanitizers. comm_run.c
 * calls. */
#include "comm_state.h"

#include <wsc/check.h>

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* gcc has macros for sanitizers, clang has features. */
#ifdef __has_feature
#    define SANITIZED(name) __has_feature(name##_sanitizer)
#else
#    define SANITIZED(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || SANITIZED(address)
#    define WATCHES_STACKS 1
#    include <sanitizer/common_interface_defs.h>
#else
#    define WATCHES_STACKS 0
/* AddressSanitizer needs a call at every change of stack; without it the calls do nothing. */
static void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size)
{
    (void)save, (void)bottom, (void)size;
}
static void __sanitizer_finish_switch_fiber(void *save, const void **bottom, size_t *size)
{
    (void)save, (void)bottom, (void)size;
}
#endif
#if defined(__SANITIZE_THREAD__) || SANITIZED(thread)
#    define WATCHES_THREADS 1
#    include <sanitizer/tsan_interface.h>
#else
#    define WATCHES_THREADS 0
/* For ThreadSanitizer a fiber is a thread, of whose start, switch and end it must be informed. */
static void *__tsan_get_current_fiber(void)
{
    return NULL;
}
static void *__tsan_create_fiber(unsigned flags)
{
    (void)flags;
    return NULL;
}
static void __tsan_destroy_fiber(void *fiber)
{
    (void)fiber;
}
#    if WATCHES_STACKS
static void __tsan_switch_to_fiber(void *fiber, unsigned flags)
{
    (void)fiber, (void)flags;
}
#    endif
#endif

/* ---- switches -------------------------------------------------------------------------------- */

/* Switch from @p from, which is resumed later, to @p to. Sanitizers follow contexts of the C
 * library, but not jumps from stack to stack. */
#if WATCHES_STACKS || WATCHES_THREADS
static void switch_from(struct comm_resume_point *from, struct comm_resume_point *to)
{
    __tsan_switch_to_fiber(to->watched, 0);
    (void)swapcontext(&from->context, &to->context);
}
#else
/* A separate function: the compiler requires the jump in another function than __builtin_setjmp().
 */
static _Noreturn void __attribute__((noinline)) enter_or_jump(struct comm_resume_point *to)
{
    if (to->is_left) __builtin_longjmp(to->jump, 1);
    (void)setcontext(&to->context);
    WSC_CHECK(false, "a fiber could not be entered");
    abort();
}

static void __attribute__((noinline))
switch_from(struct comm_resume_point *from, struct comm_resume_point *to)
{
    from->is_left = true;
    if (!__builtin_setjmp(from->jump)) enter_or_jump(to);
}
#endif

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Stacks of ended fibers, kept for later ones, because a sweep starts thousands of fibers. */
struct comm_stack {
    void *stack;
    size_t bytes;
    struct comm_stack *next;
};

/* Map a new stack. Its lowest page is protected, so that an overflow is a fault and not a
 * corruption. */
static void *stack_map(size_t bytes)
{
    const size_t guard = (size_t)sysconf(_SC_PAGESIZE);
    char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) return NULL;
    if (mprotect(stack, guard, PROT_NONE)) {
        (void)munmap(stack, bytes);
        return NULL;
    }
    return stack;
}

/* A kept stack of exactly this size, or a new one. */
static void *stack_take(struct comm *comm, size_t bytes)
{
    for (struct comm_stack **p = &comm->stacks; *p; p = &(*p)->next) {
        if ((*p)->bytes != bytes) continue;
        struct comm_stack *entry = *p;
        void *stack = entry->stack;
        *p = entry->next;
        wsc_free(entry);
        return stack;
    }
    return stack_map(bytes);
}

/* Keep a stack for the next fiber with this size. */
static void stack_give(struct comm *comm, void *stack, size_t bytes)
{
    struct comm_stack *entry = wsc_alloc(WSC_MEM_COMM, 1, sizeof *entry);
    if (!entry) {
        (void)munmap(stack, bytes);
        return;
    }
    *entry = (struct comm_stack){stack, bytes, comm->stacks};
    comm->stacks = entry;
}

void comm_fiber_free_stacks(struct comm *comm)
{
    while (comm->stacks) {
        struct comm_stack *entry = comm->stacks;
        comm->stacks = entry->next;
        (void)munmap(entry->stack, entry->bytes);
        wsc_free(entry);
    }
}

/* makecontext() passes only ints, so the pointer is passed as two halves. */
static void fiber_main(unsigned high, unsigned low)
{
    struct comm_fiber *f = (struct comm_fiber *)((uintptr_t)high << 32 | (uintptr_t)low);
    struct comm *comm = f->comm;
    struct comm_worker *w = f->worker;
    __sanitizer_finish_switch_fiber(NULL, &w->scheduler_stack, &w->scheduler_stack_bytes);
    comm_leave(comm);
    f->rc = f->fn(f->arg);
    comm_enter(comm);
    f->state = FIBER_DONE;
    __sanitizer_start_switch_fiber(NULL, w->scheduler_stack, w->scheduler_stack_bytes);
    switch_from(&f->resume_at, &w->scheduler);
    WSC_CHECK(false, "fiber %s could not leave", f->name);
}

enum wsc_err comm_fiber_create(struct comm *comm, struct comm_fiber **out, int64_t stack_bytes)
{
    enum { DEFAULT_STACK_BYTES = 128 * 1024 };
    struct comm_fiber *f;
    TRY_NEW(f, WSC_MEM_COMM, 1);
    f->comm = comm;
    f->stack_bytes = (size_t)(stack_bytes ? stack_bytes : DEFAULT_STACK_BYTES);
    f->stack = stack_take(comm, f->stack_bytes);
    if (!f->stack) {
        wsc_free(f);
        return WSC_RAISE(WSC_NOMEM, "no memory for a stack of %lld bytes", (long long)stack_bytes);
    }
    f->resume_at.watched = __tsan_create_fiber(0);
    ucontext_t *context = &f->resume_at.context;
    (void)getcontext(context);
    context->uc_stack.ss_sp = f->stack;
    context->uc_stack.ss_size = f->stack_bytes;
    context->uc_link = NULL;
    uintptr_t self = (uintptr_t)f;
    makecontext(context, (void (*)(void))fiber_main, 2, (unsigned)(self >> 32), (unsigned)self);
    *out = f;
    return WSC_OK;
}

void comm_fiber_destroy(struct comm_fiber *fiber)
{
    if (!fiber) return;
    __tsan_destroy_fiber(fiber->resume_at.watched);
    stack_give(fiber->comm, fiber->stack, fiber->stack_bytes);
    wsc_free(fiber);
}

/* Run @p fiber until it blocks or ends. */
static void resume(struct comm_fiber *fiber)
{
    struct comm_worker *w = fiber->worker;
    void *fake = NULL;
    w->running = fiber;
    w->scheduler.watched = __tsan_get_current_fiber();
    __sanitizer_start_switch_fiber(&fake, fiber->stack, fiber->stack_bytes);
    switch_from(&w->scheduler, &fiber->resume_at);
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
    w->running = NULL;
}

/* Switch back to resume(). Returns when the fiber was made ready and the scheduler runs it. */
void comm_fiber_block(struct comm *comm)
{
    struct comm_worker *w = comm_here(comm);
    struct comm_fiber *self = w->running;
    WSC_CHECK(self, "only a fiber can wait for a link");
    __sanitizer_start_switch_fiber(&self->fake_stack, w->scheduler_stack, w->scheduler_stack_bytes);
    switch_from(&self->resume_at, &w->scheduler);
    __sanitizer_finish_switch_fiber(self->fake_stack, &w->scheduler_stack,
                                    &w->scheduler_stack_bytes);
}

void comm_fiber_make_ready(struct comm_fiber *fiber)
{
    struct comm_worker *w = fiber->worker;
    fiber->state = FIBER_READY;
    fiber->waits_for = NULL;
    fiber->next = NULL;
    if (w->ready_tail)
        w->ready_tail->next = fiber;
    else
        w->ready_head = fiber;
    w->ready_tail = fiber;
}

enum wsc_err comm_fiber_next(struct comm_worker *w)
{
    struct comm_fiber *f = w->ready_head;
    w->ready_head = f->next;
    if (!w->ready_head) w->ready_tail = NULL;
    resume(f);
    if (f->state != FIBER_DONE) return WSC_OK;
    w->n_done++;
    return f->rc ? wsc_err_frame(f->rc, __FILE__, __LINE__, f->name) : WSC_OK;
}
