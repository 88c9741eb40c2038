/** Recording of a run as a list of operations on words, which play.c repeats without cycles.
 *
 *  In a recorded run the payload of every data wavelet is the number of its word, and the
 *  recording has the words' values. The hooks below are called where operations begin and end and
 *  where words are sent and received; region.recording is NULL in other runs. repeat.c decides what
 *  is recorded; recording_order.c sorts the operations. */
#ifndef WSC_MESH_RECORDING_H
#define WSC_MESH_RECORDING_H
#include "mesh_state.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Operations: on memory alone; with words; data-triggered multiply-adds, one for each word. */
enum mesh_step_kind { MESH_STEP_MEMORY, MESH_STEP_WORDS, MESH_STEP_TRIGGERED };

/* What many operations have in common: the operation as it begins, without its addresses and the
 * number c. Of a triggered one, that of its first word, and the distances in bytes of the sums and
 * vectors of the next ones. */
struct mesh_step_form {
    struct mesh_thread thread;
    int32_t op; /* index in `op` of its descriptors, or -1 */
    int32_t sums_step, vectors_step;
    uint8_t kind, writes, unused[2]; /* writes: the first multiply-add writes its sums */
};
/* One operation. Words that are received are `in` to in + n_in - 1 of the list mesh_recording.in,
 * or, when `together`, these words themselves; words that are sent have consecutive numbers. */
struct mesh_step {
    int32_t pe, form, in, out; /* in, out: -1, none */
    uint32_t n_in : 31, together : 1;
    uint32_t c;
    uint16_t at[3], unused;
};

/* Input of the host: words of a source, numbered from `first` on. */
struct mesh_taken {
    int64_t n;
    int32_t first;
};
/* Output: numbers of the words of a sink, and the cycle of the first one. */
struct mesh_given {
    int32_t *word; /* owned (n) */
    int64_t n, first_cycle;
};

struct mesh_recording {
    struct mesh_step *step; /* owned; in the order in which they begin, then in that of play */
    int32_t n_steps, step_room;
    struct mesh_op *op; /* owned */
    int32_t n_ops, op_room;
    struct mesh_step_form *form; /* owned, all different */
    int32_t n_forms, form_room;
    int32_t *in; /* owned: numbers of received words */
    int32_t n_in, in_room;
    int32_t
        *before; /* owned: pairs of steps, of which the second begins after the first has ended */
    int32_t n_before, before_room;
    uint32_t *value; /* owned (n_words): of each word */
    int32_t *sender; /* owned (n_words): step that sends it, -1: the host; only while recording */
    int32_t n_words, value_room, sender_room;
    /* Owned, for each PE and thread: the step that runs, and the last one whose effects are
     * complete; -1: none. Only while recording. */
    int32_t *running, *done;
    int32_t *sent; /* owned (n_steps): words that a step has sent; only while recording */
    int32_t sent_room;
    int32_t *slot; /* owned (n_slots): hash table of forms, index + 1; only while recording */
    int32_t n_slots;
    uint64_t program;         /* mesh_recording_program() */
    struct mesh_taken *taken; /* owned (n_taken) */
    struct mesh_given *given; /* owned (n_given) */
    int n_taken, n_given;
    struct mesh_stats stats;
    uint32_t *scratch;    /* owned: words that a step receives */
    pthread_mutex_t lock; /* of the hooks, which the threads of the fabric call */
    bool refused;         /* the run depends on data, or the recording did not fit */
    bool failed;          /* no memory for words: the run fails */
};

/* Begin to record the next run of @p m, whose sources and sinks are known. */
enum wsc_err mesh_recording_begin(struct mesh_recording *c, const struct mesh *m) WSC_CHECKED;
/* End: write the values of the words that sinks have got; false: refused. */
bool mesh_recording_end(struct mesh_recording *c, const struct mesh *m);
/* Sort the steps so that each comes after those that it needs; false: there is no such order, or
 * no memory. */
bool mesh_recording_order(struct mesh_recording *c);
void mesh_recording_fini(struct mesh_recording *c);
/* Hash of the program of the next run of @p m: tasks, reserved memory, places of sources and sinks,
 * and the control wavelets of the sources. */
uint64_t mesh_recording_program(const struct mesh *m);

/* ---- hooks ----------------------------------------------------------------------------------- */

/* An operation begins on thread @p t of @p pe; those on memory have an effect at once. */
void mesh_record_begin(const struct mesh_region *r, const struct mesh_pe *pe,
                       const struct mesh_thread *t);
/* A data-triggered operation is bound. */
void mesh_record_arm(const struct mesh_region *r, const struct mesh_pe *pe,
                     const struct mesh_armed *a);
/* The operation on thread @p kind has ended. */
void mesh_record_end(const struct mesh_region *r, const struct mesh_pe *pe, int kind);
/* Thread @p kind receives word @p number; returns its value. */
uint32_t mesh_record_receive(const struct mesh_region *r, const struct mesh_pe *pe, int kind,
                             uint32_t number);
/* Thread @p t sends @p value; returns the number of the word. */
uint32_t mesh_record_send(const struct mesh_region *r, const struct mesh_pe *pe,
                          const struct mesh_thread *t, uint32_t value);
/* A task reads word @p number; returns its value and refuses the recording. */
uint32_t mesh_record_read(const struct mesh_region *r, uint32_t number);
/* The program depends on data: it cannot be repeated. */
void mesh_record_refuse(const struct mesh_region *r);
#endif
