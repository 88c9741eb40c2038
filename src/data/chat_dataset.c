// SPDX-License-Identifier: Apache-2.0
/* Makes a dataset of chats in the Model Zoo's HDF5 form. A sample has one chat: rows of inputs,
 * loss mask and labels, padded to the sequence length; or a pair of chats: the rows of the chosen
 * one, then those of the rejected one. All samples stay in memory until the files are written,
 * because the parts are fractions of their number. cmd_data.c calls; chat_lines.c reads and
 * tokenizes. */
#include "chat_lines.h"
#include "corpus.h"
#include "dataset_folder.h"
#include "dataset_params.h"
#include "documents.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

enum { ROWS = 3, PARTS = 2 };

/* State of one run. */
struct chats {
    const struct data_make *make;
    const struct data_chat_template *template;
    struct data_made *made;
    struct data_inputs inputs;
    struct data_chat chat[2];
    int sides;       /* texts of a sample: 1, or 2 for a pair; 0: not known yet */
    int32_t *sample; /* owned, (n, sides, ROWS, T) */
    int32_t *n_ids;  /* owned, (n, sides): tokens of a text in its row of inputs */
    int64_t n, room;
};

/* NULL: there is none of that name. */
static const struct data_chat_template *template_of(const char *name)
{
    const struct data_chat_template *t;
    for (int i = 0; (t = data_chat_template_at(i)); i++)
        if (!strcmp(t->name, name)) return t;
    return NULL;
}

static enum wsc_err check(const struct chats *c, const char *name)
{
    const struct data_make *m = c->make;
    const int64_t max_T = INT64_C(1) << 20;
    if (!c->template)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "template %s is not known", name),
                            "one of " DATA_CHAT_TEMPLATES);
    if (m->n_inputs < 1) return WSC_RAISE(WSC_USAGE, "no input: give at least one file of chats");
    if (m->T < 1 || m->T > max_T)
        return WSC_RAISE(WSC_USAGE, "max_seq_length is %lld, expected 1 to %lld", (long long)m->T,
                         (long long)max_T);
    if (m->type == STORE_UINT16 && data_make_vocab_size(m) > 1 << 16)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "uint16 holds ids up to 65535"), "--dtype int32");
    return WSC_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Write the chat as rows; false when no token is left that is learned. */
static bool lay_out(const struct chats *c, const struct data_chat *chat, int32_t *rows)
{
    const int64_t T = c->make->T;
    bool any = false;
    for (int64_t t = 0; t < T; t++) {
        const bool in = t + 1 < chat->n, learned = in && chat->learned[t + 1];
        rows[t] = t < chat->n ? chat->id[t] : (int32_t)c->make->pad_id;
        rows[T + t] = learned;
        rows[2 * T + t] = in ? chat->id[t + 1] : (int32_t)c->make->pad_id;
        any = any || learned;
    }
    return any;
}

static enum wsc_err add_sample(struct chats *c)
{
    const int64_t size = (int64_t)c->sides * ROWS * c->make->T;
    bool any = true;
    if (c->n == c->room) {
        const int64_t room = 2 * c->room + 64;
        int32_t *sample;
        TRY_MEM(sample,
                wsc_realloc(WSC_MEM_DATA, c->sample, (size_t)(room * size), sizeof *sample));
        c->sample = sample;
        int32_t *n_ids;
        TRY_MEM(n_ids,
                wsc_realloc(WSC_MEM_DATA, c->n_ids, (size_t)(room * c->sides), sizeof *n_ids));
        c->n_ids = n_ids;
        c->room = room;
    }
    c->made->n_documents++;
    for (int i = 0; i < c->sides; i++) {
        c->made->n_bytes += c->chat[i].n_bytes;
        c->made->n_tokens += c->chat[i].n;
        c->n_ids[c->n * c->sides + i] =
            (int32_t)(c->chat[i].n < c->make->T ? c->chat[i].n : c->make->T);
        any = lay_out(c, &c->chat[i], c->sample + c->n * size + (int64_t)i * ROWS * c->make->T) &&
              any;
    }
    if (any)
        c->n++;
    else
        c->made->n_empty++;
    return WSC_OK;
}

/* The first line determines whether the file has chats or pairs. */
static enum wsc_err take_line(struct chats *c, struct data_stream *stream, bool pair)
{
    const int sides = pair ? 2 : 1;
    if (!c->sides) c->sides = sides;
    if (c->sides != sides)
        return data_stream_raise(stream, "the object before here is a %s, those before it are %ss",
                                 pair ? "pair" : "chat", pair ? "chat" : "pair");
    return add_sample(c);
}

static enum wsc_err read_file(struct chats *c, const char *path)
{
    struct data_stream *stream = NULL;
    bool found = true, pair = false;
    TRY(data_stream_open(&stream, path, c->make->errors));
    enum wsc_err rc = data_stream_skip_mark(stream);
    c->chat[0].missed_prompt = false;
    while (!rc && found) {
        rc = data_chat_read(stream, c->template, c->make, c->chat, &found, &pair);
        if (!rc && found) rc = take_line(c, stream, pair);
    }
    data_stream_close(&stream);
    return rc;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void count_part(const struct chats *c, struct data_part *part)
{
    const int64_t T = c->make->T;
    const int64_t first = part->first * c->sides, n = part->n_samples * c->sides;
    for (int64_t i = first; i < first + n; i++) {
        const int32_t *mask = c->sample + (i * ROWS + 1) * T, *label = mask + T;
        for (int64_t t = 0; t < T; t++) {
            if (mask[t])
                part->label_count[label[t]]++;
            else
                part->n_masked++;
        }
        part->n_tokens += T;
        part->n_pad += T - c->n_ids[i];
    }
}

static enum wsc_err write_files(const struct chats *c, const struct data_part *part,
                                const char *dir)
{
    const int64_t per_file = c->make->samples_per_file,
                  size = (int64_t)c->sides * ROWS * c->make->T;
    for (int64_t done = 0; done < part->n_samples; done += per_file) {
        const int64_t left = part->n_samples - done, n = left < per_file ? left : per_file;
        const struct store_samples_shape shape = {
            .n = n, .T = c->make->T, .type = c->make->type, .pairs = c->sides > 1};
        struct store_samples_writer *w = NULL;
        char *path;
        TRY_MEM(path,
                wsc_asprintf(WSC_MEM_DATA, "%s/data-%05lld.h5", dir, (long long)(done / per_file)));
        enum wsc_err rc = store_samples_create(&w, path, &shape);
        if (!rc) rc = store_samples_append(w, c->sample + (part->first + done) * size, n);
        if (!rc)
            rc = store_samples_finish(&w);
        else
            store_samples_discard(&w);
        wsc_free(path);
        TRY(rc);
    }
    return WSC_OK;
}

static enum wsc_err write_folder(const struct chats *c, struct data_part *part, const char *name)
{
    char *dir = wsc_asprintf(WSC_MEM_DATA, "%s/%s", c->make->out_dir, name);
    char *tmp = wsc_asprintf(WSC_MEM_DATA, "%s/%s.tmp", c->make->out_dir, name);
    enum wsc_err rc = dir && tmp ? data_folder_begin(tmp, 0) : WSC_NOMEM;
    if (!rc) rc = write_files(c, part, tmp);
    if (!rc) rc = data_params_write(tmp, c->make, c->made, part);
    if (!rc) rc = data_folder_finish(tmp, dir);
    if (rc && tmp) data_folder_remove(tmp);
    wsc_free(dir);
    wsc_free(tmp);
    return rc;
}

/* Error: each part needs at least one sample, so one sample cannot be divided. */
static enum wsc_err too_few(const struct chats *c)
{
    const char *what = c->sides > 1 ? "pairs" : "chats";
    if (!c->n)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: none of %lld %s has %s within max_seq_length",
                                      c->make->input[0], (long long)c->made->n_documents, what,
                                      c->sides > 1 ? "both answers" : "an answer"),
                            "a larger --max_seq_length");
    return wsc_err_hint(
        WSC_RAISE(WSC_USAGE,
                  "%s: %lld of %lld %s with answers within max_seq_length cannot be "
                  "split into train and val",
                  c->make->input[0], (long long)c->n, (long long)c->made->n_documents, what),
        "--split 0");
}

static enum wsc_err write_parts(struct chats *c)
{
    const double share = c->make->share[DATA_VAL];
    int64_t held = llround((double)c->n * share);
    if (share > 0 && held < 1) held = 1;
    if (c->n - held < 1) return too_few(c);
    struct data_part part[PARTS] = {{.n_samples = c->n - held},
                                    {.first = c->n - held, .n_samples = held}};
    for (int p = 0; p < PARTS; p++)
        part[p].pairs = c->sides > 1;
    enum wsc_err rc = WSC_OK;
    for (int p = 0; p < PARTS && !rc; p++) {
        part[p].label_count =
            wsc_alloc(WSC_MEM_DATA, (size_t)c->made->vocab_size, sizeof *part[p].label_count);
        rc = part[p].label_count ? WSC_OK : WSC_NOMEM;
        if (!rc) count_part(c, &part[p]);
        if (!rc && part[p].n_samples) rc = write_folder(c, &part[p], data_part_folder[p]);
        c->made->n_samples[p] = part[p].n_samples;
    }
    if (!rc) rc = data_folder_remove_empty(c->make->out_dir, c->made->n_samples);
    if (!rc) c->made->unigram_entropy_nats = data_part_entropy(&part[0], c->made->vocab_size);
    for (int p = 0; p < PARTS; p++)
        wsc_free(part[p].label_count);
    return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum wsc_err run(struct chats *c, const char *name)
{
    TRY(check(c, name));
    TRY(data_folder_check_parts(c->make));
    TRY(data_inputs_list(&c->inputs, c->make->input, c->make->n_inputs, "jsonl"));
    *c->made = (struct data_made){.n_files = c->inputs.n,
                                  .n_ignored = c->inputs.n_ignored,
                                  .vocab_size = data_make_vocab_size(c->make)};
    for (int i = 0; i < c->inputs.n; i++)
        TRY(read_file(c, c->inputs.file[i].path));
    return write_parts(c);
}

enum wsc_err data_make_chats(const struct data_make *make, const char *name, struct data_made *made)
{
    struct chats c = {.make = make, .template = template_of(name), .made = made};
    *made = (struct data_made){0};
    const enum wsc_err rc = run(&c, name);
    data_chat_fini(&c.chat[0]);
    data_chat_fini(&c.chat[1]);
    data_inputs_fini(&c.inputs);
    wsc_free(c.sample);
    wsc_free(c.n_ids);
    return rc;
}
