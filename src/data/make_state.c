// SPDX-License-Identifier: Apache-2.0
/* Reads and writes the state of `wsc data` from which a killed run resumes: counters and positions
 * as text with a hash at its end, and the identity of the request that it belongs to. */
#include "make_state.h"
#include "dataset_folder.h"
#include "documents.h"
#include "tokenizer.h"

#include <wsc/hash.h>
#include <wsc/mem.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 2048 };

/* The lines of the file, in order. */
static const struct row {
    const char *name;
    size_t offset;
} rows[] = {
    {"identity", offsetof(struct data_state, identity)},
    {"done", offsetof(struct data_state, done)},
    {"file", offsetof(struct data_state, place.file)},
    {"offset", offsetof(struct data_state, place.offset)},
    {"used", offsetof(struct data_state, used)},
    {"tokens", offsetof(struct data_state, n_tokens)},
    {"documents", offsetof(struct data_state, n_documents)},
    {"empty", offsetof(struct data_state, n_empty)},
    {"bytes", offsetof(struct data_state, n_bytes)},
    {"chain", offsetof(struct data_state, chain)},
    {"sum", offsetof(struct data_state, sum)},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

uint64_t data_state_chain(uint64_t chain, const unsigned char *block, int64_t n)
{
    return wsc_hash64(block, (size_t)n, chain);
}

/* ---- identity -------------------------------------------------------------------------------- */

/* Add a text with its NUL, so that two texts are separated; NULL adds nothing. */
static void add_text(uint64_t *hash, const char *text)
{
    *hash = wsc_hash64(text ? text : "", text ? strlen(text) + 1 : 0, *hash);
}

static void add_number(uint64_t *hash, int64_t number)
{
    *hash = wsc_hash64(&number, sizeof number, *hash);
}

enum wsc_err data_state_identity(const struct data_make *m, const struct data_inputs *inputs,
                                 uint64_t *identity)
{
    const int64_t number[] = {m->errors,  m->bos_id,
                              m->eos_id,  m->pad_id,
                              m->T,       m->shuffle,
                              m->seed,    m->samples_per_file,
                              m->type,    (int64_t)data_tokenizer_identity(m->tokenizer),
                              m->use_vsl, (int64_t)m->variant};
    *identity = 2; /* version of the format of datasets */
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        add_number(identity, number[i]);
    *identity = wsc_hash64(m->share, sizeof m->share, *identity);
    add_text(identity, data_tokenizer_kind(m->tokenizer));
    add_text(identity, m->key);
    for (int i = 0; i < inputs->n; i++) {
        const struct data_input *file = &inputs->file[i];
        add_text(identity, file->path);
        add_text(identity, file->format->name);
        add_number(identity, file->bytes);
        add_number(identity, file->changed_ns);
    }
    return WSC_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Write the state as text, with the hash of its lines at the end. */
static size_t print(const struct data_state *state, char text[TEXT_BYTES])
{
    size_t n = (size_t)snprintf(text, TEXT_BYTES, "wsc data state 1\n");
    for (int i = 0; i < N_ROWS; i++) {
        int64_t value;
        memcpy(&value, (const char *)state + rows[i].offset, sizeof value);
        n += (size_t)snprintf(text + n, TEXT_BYTES - n, "%s %" PRId64 "\n", rows[i].name, value);
    }
    uint64_t check = wsc_hash64(text, n, 0);
    n += (size_t)snprintf(text + n, TEXT_BYTES - n, "check %016" PRIx64 "\n", check);
    return n;
}

static void put_state(FILE *f, const void *state)
{
    char text[TEXT_BYTES];
    const size_t n = print(state, text);
    (void)fwrite(text, 1, n, f);
}

enum wsc_err data_state_write(const struct data_state *state, const char *folder)
{
    return data_file_write(folder, "state", put_state, state);
}

/* The hash detects accidental damage. This function rejects impossible positions in a file that was
 * written on purpose. */
static bool is_possible(const struct data_state *s)
{
    const int64_t count[] = {s->place.file,  s->place.offset, s->n_tokens,
                             s->n_documents, s->n_empty,      s->n_bytes};
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        if (count[i] < 0 || count[i] > INT64_MAX / 8) return false;
    return s->used >= -1 && (s->done == 0 || s->done == 1);
}

/* Parse the lines; they are correct if printing the numbers gives an equal text. */
static bool parse(struct data_state *state, const char *text, size_t n)
{
    char again[TEXT_BYTES];
    const char *at = strchr(text, '\n');
    for (int i = 0; i < N_ROWS && at; i++, at = strchr(at + 1, '\n')) {
        const char *space = strchr(at + 1, ' ');
        if (!space) return false;
        int64_t value = strtoll(space, NULL, 10);
        memcpy((char *)state + rows[i].offset, &value, sizeof value);
    }
    return print(state, again) == n && !memcmp(text, again, n) && is_possible(state);
}

enum wsc_err data_state_read(struct data_state *state, const char *folder, bool *good)
{
    char *text = NULL;
    size_t n = 0;
    *good = false;
    enum wsc_err rc = data_file_read(folder, "state", TEXT_BYTES - 1, &text, &n);
    if (rc && rc != WSC_FORMAT) return rc;
    if (text) *good = parse(state, text, n);
    wsc_free(text);
    return WSC_OK; /* a file that is too long is treated as damaged */
}
