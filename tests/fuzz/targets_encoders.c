// SPDX-License-Identifier: Apache-2.0
/* Readers of what encoders, preference optimization and scoring take: vocabularies of WordPiece,
 * CSV of the Model Zoo's loaders of BERT, SQuAD-style JSON, chats and pairs, requests of a harness.
 */
#include "../../src/data/chat_lines.h"
#include "../../src/data/encoder_rows.h"
#include "../../src/data/encoder_samples.h"
#include "../../src/data/pair_samples.h"
#include "../../src/data/squad_windows.h"
#include "../../src/data/wordpiece.h"
#include "../../src/job/score_requests.h"
#include "fuzz.h"

#include <wsc/data.h>
#include <wsc/store.h>
#include <wsc/zoo.h>

#include <string.h>
#include <unistd.h>

/* ---- vocabularies ---------------------------------------------------------------------------- */

/* A text that every vocabulary can cut, by what it knows. */
static void check_words(const struct data_wordpiece *w, const uint8_t *bytes, size_t n)
{
    enum { ROOM = 1 << 12 };
    static int32_t ids[ROOM];
    int64_t n_ids = 0;
    const int64_t length = n < ROOM ? (int64_t)n : ROOM;
    const struct data_special s = data_wordpiece_special(w);
    const int32_t special[] = {s.unk, s.cls, s.sep, s.pad, s.mask};
    for (int i = 0; i < 5; i++)
        fuzz_check(special[i] >= 0 && special[i] < data_wordpiece_n(w), "a special id outside");
    data_wordpiece_encode(w, (const char *)bytes, length, ids, ROOM, &n_ids);
    fuzz_check(n_ids <= length, "more ids than bytes");
    for (int64_t i = 0; i < n_ids; i++)
        fuzz_check(ids[i] >= 0 && ids[i] < data_wordpiece_n(w), "an id outside the vocabulary");
}

static bool open_words(const char *name, const uint8_t *bytes, size_t n)
{
    const char *path = fuzz_put(name, bytes, n);
    bool taken = false;
    for (int lower = 0; lower < 2; lower++) {
        struct data_wordpiece *w = NULL;
        const bool good = fuzz_taken(data_wordpiece_open(&w, path, lower));
        if (good) check_words(w, bytes, n);
        data_wordpiece_close(&w);
        taken |= good;
    }
    fuzz_check_memory(WSC_MEM_DATA);
    return taken;
}

bool fuzz_vocab(const uint8_t *bytes, size_t n)
{
    return open_words("vocab.txt", bytes, n);
}

bool fuzz_tokenizer(const uint8_t *bytes, size_t n)
{
    return open_words("tokenizer.json", bytes, n);
}

/* ---- questions ------------------------------------------------------------------------------- */

static const char small_vocabulary[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n##a\n##b\n##c\n.\nthe\nber\n##lo\n";

static void small_words(struct data_wordpiece **w)
{
    const char *path =
        fuzz_put("vocab.txt", (const uint8_t *)small_vocabulary, sizeof small_vocabulary - 1);
    fuzz_check(!data_wordpiece_open(w, path, true), "no vocabulary");
}

static void check_questions(const struct data_squad *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        const struct data_squad_sample *x = &s->sample[i];
        fuzz_check(x->n >= 3 && x->n <= s->T && x->at + x->n <= s->n_ids, "a sample of no length");
        fuzz_check(x->first >= 0 && x->first <= x->last && x->last < x->n - 1,
                   "an answer outside its sample");
        fuzz_check(x->first == 0 || x->first >= x->n_question, "an answer in the question");
        fuzz_check(!x->impossible || !x->last, "an answer that is impossible");
    }
}

bool fuzz_squad(const uint8_t *bytes, size_t n)
{
    char path[FUZZ_PATH_BYTES];
    struct data_wordpiece *words = NULL;
    struct data_stream *stream = NULL;
    small_words(&words);
    const int fd = fuzz_as_file(bytes, n, path);
    struct data_squad s = {.words = words, .T = 16, .stride = 4, .most_question = 6};
    enum wsc_err rc = data_stream_open(&stream, path, DATA_ERRORS_KEEP);
    if (!rc) rc = data_squad_read(stream, data_squad_take, &s);
    data_stream_close(&stream);
    const bool taken = fuzz_taken(rc);
    check_questions(&s);
    data_squad_fini(&s);
    data_wordpiece_close(&words);
    (void)close(fd);
    fuzz_check_memory(WSC_MEM_DATA);
    return taken;
}

/* ---- tables of encoders ---------------------------------------------------------------------- */

static const enum zoo_samples layouts[] = {
    ZOO_SAMPLES_CSV_STATIC, ZOO_SAMPLES_CSV_DYNAMIC, ZOO_SAMPLES_SST2,   ZOO_SAMPLES_MNLI,
    ZOO_SAMPLES_TOKENS,     ZOO_SAMPLES_SENTENCES,   ZOO_SAMPLES_ANSWERS};

enum { T = 12 };

static bool read_rows(struct data_examples *e)
{
    static int32_t rows[DATA_ENCODER_ROWS * T];
    float target;
    for (int64_t i = 0; i < data_examples_n(e) && i < 16; i++) {
        if (!fuzz_taken(data_examples_read(e, i, (uint64_t)i, rows, &target))) return false;
        for (int t = 0; t < T; t++)
            fuzz_check(rows[DATA_ROW_MASK * T + t] == 0 || rows[DATA_ROW_MASK * T + t] == 1,
                       "a mask that is none");
    }
    return true;
}

/* The first byte chooses the loader, its upper bits pairs of sentences and whole words. */
bool fuzz_examples(const uint8_t *bytes, size_t n)
{
    char path[FUZZ_PATH_BYTES], words[128], labels[128];
    struct data_examples_shared *shared = NULL;
    struct data_examples *e = NULL;
    if (!n) return false;
    (void)snprintf(
        words, sizeof words, "%s",
        fuzz_put("vocab.txt", (const uint8_t *)small_vocabulary, sizeof small_vocabulary - 1));
    (void)snprintf(labels, sizeof labels, "%s",
                   fuzz_put("labels.json", (const uint8_t *)"{\"a\": 0, \"b\": 1}", 16));
    const struct zoo_input input = {.samples = layouts[(bytes[0] & 15) % 7],
                                    .vocab_file = words,
                                    .label_vocab_file = labels,
                                    .do_lower = true,
                                    .pairs = (bytes[0] & 16) != 0,
                                    .mask_whole_word = (bytes[0] & 32) != 0,
                                    .masked_lm_prob = 0.15,
                                    .max_predictions_per_seq = 4,
                                    .max_cls_tokens = 5,
                                    .max_sequence_length = T};
    const int fd = fuzz_as_file(bytes + 1, n - 1, path);
    fuzz_check(!data_examples_share(&shared, &input, T, 100), "no vocabulary");
    bool taken = fuzz_taken(data_examples_open(&e, path, NULL, shared));
    taken = taken && read_rows(e);
    data_examples_close(&e);
    data_examples_unshare(&shared);
    (void)close(fd);
    fuzz_check_memory(WSC_MEM_DATA);
    return taken;
}

/* ---- chats and pairs ------------------------------------------------------------------------- */

static enum wsc_err read_chats(struct data_stream *stream, const struct data_make *make,
                               struct data_chat chat[2])
{
    bool found = true, pair = false;
    while (found) {
        TRY(data_chat_read(stream, data_chat_template_at(1 /* chatml */), make, chat, &found,
                           &pair));
        for (int i = 0; found && i < (pair ? 2 : 1); i++)
            for (int64_t t = 0; t < chat[i].n; t++)
                fuzz_check(chat[i].id[t] >= 0 && chat[i].id[t] <= 256, "an id of no byte");
    }
    return WSC_OK;
}

bool fuzz_chats(const uint8_t *bytes, size_t n)
{
    char path[FUZZ_PATH_BYTES];
    struct data_stream *stream = NULL;
    struct data_chat chat[2] = {{.id = NULL}, {.id = NULL}};
    struct data_make make = {.bos_id = DATA_NO_ID, .eos_id = 256};
    fuzz_check(!data_tokenizer_open(&make.tokenizer, "byte", NULL, NULL), "no tokenizer");
    const int fd = fuzz_as_file(bytes, n, path);
    enum wsc_err rc = data_stream_open(&stream, path, DATA_ERRORS_KEEP);
    if (!rc) rc = read_chats(stream, &make, chat);
    data_stream_close(&stream);
    data_chat_fini(&chat[0]);
    data_chat_fini(&chat[1]);
    data_tokenizer_close(&make.tokenizer);
    (void)close(fd);
    fuzz_check_memory(WSC_MEM_DATA);
    return fuzz_taken(rc);
}

/* HDF5 of pairs, after the prober as in a run. */
bool fuzz_pairs(const uint8_t *bytes, size_t n)
{
    enum { MOST = 1 << 14 };
    static int32_t rows[MOST];
    struct data_pairs *p = NULL;
    const char *path = fuzz_put("pairs.h5", bytes, n);
    enum wsc_err rc = store_probe(path);
    if (!rc) rc = data_pairs_open(&p, path);
    bool taken = fuzz_taken(rc);
    if (taken && DATA_PAIR_ROWS * data_pairs_T(p) <= MOST)
        taken = fuzz_taken(data_pairs_read(p, data_pairs_n(p) - 1, rows));
    data_pairs_close(&p);
    fuzz_check_memory(WSC_MEM_DATA);
    fuzz_check_memory(WSC_MEM_STORE);
    return taken;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void check_requests(const struct job_score_requests *r)
{
    for (int d = 0; d < r->n_documents; d++) {
        const struct job_score_document *x = &r->document[d];
        fuzz_check(x->first >= 0 && x->n > 0 && x->first + x->n <= r->n_requests,
                   "a document without requests");
        fuzz_check(x->kind != SCORE_CHOICES || (x->gold >= 0 && x->gold < x->n), "no right choice");
    }
    for (int i = 0; i < r->n_requests; i++)
        fuzz_check(r->request[i].first_sample >= 0 &&
                       r->request[i].first_sample + r->request[i].n_samples <= r->n_samples,
                   "a request without samples");
}

bool fuzz_requests(const uint8_t *bytes, size_t n)
{
    const int64_t before = wsc_mem_in_use(WSC_MEM_RUN); /* other tests may hold some */
    char path[FUZZ_PATH_BYTES];
    struct job_score_requests r = {.document = NULL};
    struct data_tokenizer *tokenizer = NULL;
    fuzz_check(!data_tokenizer_open(&tokenizer, "byte", NULL, NULL), "no tokenizer");
    const struct job_score_tokens tokens = {
        .tokenizer = tokenizer, .T = 16, .V = 257, .prefix = 256};
    const int fd = fuzz_as_file(bytes, n, path);
    const bool taken = fuzz_taken(job_score_requests_read(&r, path, &tokens));
    if (taken) check_requests(&r);
    job_score_requests_fini(&r);
    data_tokenizer_close(&tokenizer);
    (void)close(fd);
    fuzz_check(wsc_mem_in_use(WSC_MEM_RUN) == before, "memory is left");
    fuzz_check_memory(WSC_MEM_DATA);
    return taken;
}
