// SPDX-License-Identifier: Apache-2.0
/* A table of different byte strings, numbered from 0: open addressing with linear probing, all
 * texts in one block. */
#include "word_table.h"

#include <wsc/hash.h>
#include <wsc/mem.h>

#include <string.h>

/* Open addressing with linear probing, at most half full. */
struct data_words {
    struct slot {
        uint32_t hash, number; /* number + 1; 0: free */
    } * slot;
    int64_t n_slots, n, room;
    int64_t *end;        /* end of each string in `text`; it begins at the end of the one before */
    unsigned char *text; /* all strings */
    int64_t used, text_room;
};

static const int64_t max_words = (int64_t)1 << 31;

enum wsc_err data_words_create(struct data_words **out)
{
    struct data_words *w = NULL;
    *out = NULL;
    TRY_NEW(w, WSC_MEM_DATA, 1);
    w->n_slots = 1 << 10;
    w->slot = wsc_alloc(WSC_MEM_DATA, (size_t)w->n_slots, sizeof *w->slot);
    if (!w->slot) data_words_destroy(&w);
    *out = w;
    return w ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "table of words");
}

void data_words_destroy(struct data_words **words)
{
    struct data_words *w = *words;
    if (!w) return;
    wsc_free(w->slot);
    wsc_free(w->end);
    wsc_free(w->text);
    wsc_free(w);
    *words = NULL;
}

const unsigned char *data_words_text(const struct data_words *w, int64_t number, int64_t *n)
{
    int64_t start = number ? w->end[number - 1] : 0;
    *n = w->end[number] - start;
    return w->text + start;
}

/* The slot of the string, or the free slot for it. */
static struct slot *probe(const struct data_words *w, const unsigned char *text, int64_t n,
                          uint32_t hash)
{
    for (uint64_t i = hash;; i++) {
        struct slot *s = &w->slot[i & (uint64_t)(w->n_slots - 1)];
        if (!s->number) return s;
        if (s->hash != hash) continue;
        int64_t length;
        const unsigned char *there = data_words_text(w, s->number - 1, &length);
        if (length == n && !memcmp(there, text, (size_t)n)) return s;
    }
}

static uint32_t hash_of(const unsigned char *text, int64_t n)
{
    return (uint32_t)wsc_hash64(text, (size_t)n, 0);
}

int64_t data_words_find(const struct data_words *w, const unsigned char *text, int64_t n)
{
    return (int64_t)probe(w, text, n, hash_of(text, n))->number - 1;
}

/* Slots have the hash of their string, so no string is hashed again. */
static enum wsc_err more_slots(struct data_words *w)
{
    int64_t n_old = w->n_slots;
    struct slot *old = w->slot;
    struct slot *bigger;
    TRY_MEM(bigger, wsc_alloc(WSC_MEM_DATA, (size_t)(2 * n_old), sizeof *bigger));
    w->slot = bigger;
    w->n_slots = 2 * n_old;
    for (int64_t i = 0; i < n_old; i++) {
        uint64_t at = old[i].hash;
        if (!old[i].number) continue;
        while (bigger[at & (uint64_t)(w->n_slots - 1)].number)
            at++;
        bigger[at & (uint64_t)(w->n_slots - 1)] = old[i];
    }
    wsc_free(old);
    return WSC_OK;
}

/* Make room for a string of @p n bytes. */
static enum wsc_err make_room(struct data_words *w, int64_t n)
{
    if (w->n == max_words) return WSC_RAISE(WSC_NOMEM, "more than 2^31 different words");
    if (2 * (w->n + 1) > w->n_slots) TRY(more_slots(w));
    TRY_GROW(w->end, WSC_MEM_DATA, w->room, w->n + 1);
    TRY_GROW(w->text, WSC_MEM_DATA, w->text_room, w->used + n);
    return WSC_OK;
}

enum wsc_err data_words_add(struct data_words *w, const unsigned char *text, int64_t n,
                            int64_t *number, bool *added)
{
    uint32_t hash = hash_of(text, n);
    struct slot *s = probe(w, text, n, hash);
    bool is_new = !s->number;
    if (is_new) {
        TRY(make_room(w, n));
        s = probe(w, text, n, hash);
        memcpy(w->text + w->used, text, (size_t)n);
        w->used += n;
        w->end[w->n++] = w->used;
        *s = (struct slot){hash, (uint32_t)w->n};
    }
    *number = (int64_t)s->number - 1;
    if (added) *added = is_new;
    return WSC_OK;
}

int64_t data_words_count(const struct data_words *w)
{
    return w->n;
}

int64_t data_words_bytes(const struct data_words *w)
{
    return w->n_slots * (int64_t)sizeof *w->slot + w->room * (int64_t)sizeof *w->end + w->text_room;
}

void data_words_clear(struct data_words *w)
{
    memset(w->slot, 0, (size_t)w->n_slots * sizeof *w->slot);
    w->n = w->used = 0;
}
