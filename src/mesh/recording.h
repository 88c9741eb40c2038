/** Recording of a run as a list of operations on words, which play.c repeats without cycles.
 *
 *  In a recorded run the payload of every data wavelet is the number of its word, and the
 *  recording has the words' values. The hooks below are called where operations begin and end and
 *  where words are sent and received; region.recording is NULL in other runs. repeat.c decides what
 *  is recorded; recording_order.c sorts the operations; the result is a struct mesh_recorded. */
#ifndef WSC_MESH_RECORDING_H
#define WSC_MESH_RECORDING_H
#include "recorded.h"

#include <pthread.h>

/* An operation of a run that is recorded. */
struct mesh_recording_step {
    struct mesh_step step; /* its words are as in the list that is made, if n_in > 0 */
    int32_t n_in, n_out;   /* words that it has received and sent so far */
};
/* Different items of one size. */
struct mesh_recording_set {
    char *item; /* owned (n) */
    int32_t n, room;
    int32_t *slot; /* owned (n_slots): hash table, index + 1 of an item, or 0 */
    int32_t n_slots;
};

struct mesh_recording {
    struct mesh_recorded *made;       /* owned until mesh_recording_end() */
    struct mesh_recording_step *step; /* owned, in the order in which they begin */
    int32_t n_steps, step_room;
    int32_t *in; /* owned: lists of received words that do not follow each other */
    int32_t n_in, in_room;
    /* Owned: pairs of steps, of which the second begins after the first has ended; pairs that
     * follow from others are left out. */
    int32_t *before;
    int32_t n_before, before_room;
    uint32_t *value; /* owned (n_words): of each word */
    int32_t *sender; /* owned (n_words): step that sends it, -1: the host */
    int32_t n_words, value_room, sender_room;
    /* Owned, for each PE and thread: the step that runs; the last one whose effects are complete,
     * without those that come before another such step of the PE; how many steps had begun when it
     * was complete. -1: none. */
    int32_t *running, *done, *done_at;
    struct mesh_recording_set forms, ops; /* struct mesh_step_form, struct mesh_op */
    pthread_mutex_t lock;                 /* of the hooks, which the threads of the fabric call */
    bool refused; /* the run depends on data, or the recording did not fit */
    bool failed;  /* no memory for words: the run fails */
};

/* Begin to record the next run of @p m, whose sources and sinks are known. */
enum wsc_err mesh_recording_begin(struct mesh_recording *c, const struct mesh *m) WSC_CHECKED;
/* End, also after an error: write the values of the words that sinks have got, and free @p c. The
 * recording, which the caller owns, without its statistics; NULL: refused. */
struct mesh_recorded *mesh_recording_end(struct mesh_recording *c, const struct mesh *m);
/* Write the steps to c->made, each after those that it needs; false: there is no such order, or no
 * memory. */
bool mesh_recording_order(struct mesh_recording *c);
/* The index of the form @p f, which is added if it is new; -1: no memory. */
int32_t mesh_recording_form(struct mesh_recording *c, const struct mesh_step_form *f);
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
