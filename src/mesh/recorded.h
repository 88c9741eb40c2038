/** A recorded run: the list of its operations on words, with which play.c repeats it.
 *
 *  recording.c makes it, repeat.c keeps it. Layers and wafers run the same programs, on other
 *  addresses or other meshes; what their recordings have in common is kept once in a process. */
#ifndef WSC_MESH_RECORDED_H
#define WSC_MESH_RECORDED_H
#include "mesh_state.h"

#include <stdbool.h>
#include <stdint.h>

/* Operations: on memory alone; with words; data-triggered multiply-adds, one for each word. */
enum mesh_step_kind { MESH_STEP_MEMORY, MESH_STEP_WORDS, MESH_STEP_TRIGGERED };

/* What an operation does, but for its PE and its words: most forms are those of many PEs. Of a
 * triggered one, `thread` is that of its first word. */
struct mesh_step_form {
    struct mesh_thread thread;       /* as it begins; the fields that only time needs are 0 */
    int32_t op;                      /* index in `op` of its descriptors, or -1 */
    int32_t sums_step, vectors_step; /* triggered: bytes from the sums and vectors to the next */
    int32_t n_in;                    /* words that it receives */
    uint8_t kind, writes, unused[6]; /* writes: the first multiply-add writes its sums */
};
/* One operation. */
struct mesh_step {
    int32_t pe, form;
    int32_t in;  /* first one of its words, which follow each other, or -1 - index of their list */
    int32_t out; /* first one of the words that it sends, or -1 */
};

/* Input of the host: words of a source, numbered from `first` on. */
struct mesh_taken {
    int64_t n; /* wavelets, those of control included */
    int32_t first;
};
/* Output: numbers of the words of a sink, and the cycle of the first one. */
struct mesh_given {
    const int32_t *word; /* interned (n) */
    int64_t n, first_cycle;
};

struct mesh_recorded {
    const struct mesh_step *step;      /* interned (n_steps): each after those that it needs */
    const struct mesh_step_form *form; /* interned (n_forms), all different */
    const struct mesh_op *op;          /* interned (n_ops) */
    const int32_t *in;        /* interned (n_in): lists of words that do not follow each other */
    struct mesh_taken *taken; /* owned (n_taken) */
    struct mesh_given *given; /* owned (n_given) */
    int32_t n_steps, n_forms, n_ops, n_in, n_taken, n_given;
    int32_t n_words, longest; /* longest: of the lists */
    uint64_t program;         /* mesh_recording_program() */
    struct mesh_stats stats;
};
/* Free and null the pointer, which may be NULL. */
void mesh_recorded_free(struct mesh_recorded **r);
#endif
