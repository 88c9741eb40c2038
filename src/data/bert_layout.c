// SPDX-License-Identifier: Apache-2.0
/* Samples of BERT from a corpus (Devlin et al. 2019, A.2; create_pretraining_data.py of its
 * release). Without pairs, a document is cut into pieces of T - 2 tokens, and a sample may have
 * several pieces (packing). With pairs, sentences are taken until there are T - 3 tokens; the first
 * ones, at least one, are the first text. The second text is the remaining sentences or, in half of
 * the samples, sentences of another document; then the remaining ones are used again. Texts that
 * are too long lose tokens of the longer text, at its beginning or end. The documents of train are
 * used dupe_factor times. Random numbers are functions of (seed, round, document), masks of (seed,
 * round, sample). bert_dataset.c calls. */
#include "bert_layout.h"

#include <wsc/mem.h>
#include <wsc/rng.h>

#include <math.h>
#include <string.h>

enum { ROUND_BITS = 40 };
enum { SCAN_TOKENS = 1 << 16, MARKS_OF_ONE = 2, MARKS_OF_PAIR = 3 };

/* A sentence of the corpus; a document without marks is one sentence. */
struct sentence {
    int64_t first, n;
};

/* Sentences and documents in the order of the text. */
struct index {
    struct sentence *sentence;
    int64_t n, room;
    /* index of the first sentence of each document, and the end of the last one */
    int64_t *document;
    int64_t n_documents, document_room;
};

/* ---- sentences ------------------------------------------------------------------------------- */

static enum wsc_err end_sentence(struct index *x, int64_t first, int64_t end)
{
    if (end <= first) return WSC_OK;
    TRY_GROW(x->sentence, WSC_MEM_DATA, x->room, x->n + 1);
    x->sentence[x->n++] = (struct sentence){first, end - first};
    return WSC_OK;
}

/* End a document; documents without sentences are ignored. */
static enum wsc_err end_document(struct index *x)
{
    const int64_t begun = x->n_documents ? x->document[x->n_documents] : 0;
    if (x->n == begun) return WSC_OK;
    TRY_GROW(x->document, WSC_MEM_DATA, x->document_room, x->n_documents + 2);
    x->document[x->n_documents++] = begun;
    x->document[x->n_documents] = x->n;
    return WSC_OK;
}

/* Scan the tokens [@p at, @p at + @p n) of the corpus; the current sentence began at *@p first. */
static enum wsc_err scan_tokens(struct index *x, const struct data_special *special,
                                const int32_t *ids, int64_t at, int64_t n, int64_t *first)
{
    for (int64_t i = 0; i < n; i++) {
        if (ids[i] != special->sep && ids[i] != special->pad) continue;
        TRY(end_sentence(x, *first, at + i));
        *first = at + i + 1;
        if (ids[i] == special->pad) TRY(end_document(x));
    }
    return WSC_OK;
}

static enum wsc_err scan(struct index *x, const struct data_bert_source *s, int32_t *ids)
{
    const struct data_special special = data_wordpiece_special(s->words);
    const int64_t n = data_corpus_counts(s->corpus).n_tokens;
    int64_t first = 0;
    for (int64_t at = 0, k; at < n; at += k) {
        k = n - at < SCAN_TOKENS ? n - at : SCAN_TOKENS;
        TRY(data_corpus_read(s->corpus, at, k, ids));
        TRY(scan_tokens(x, &special, ids, at, k, &first));
    }
    TRY(end_sentence(x, first, n));
    return end_document(x);
}

static enum wsc_err find_sentences(struct index *x, const struct data_bert_source *s)
{
    int32_t *ids;
    TRY_NEW(ids, WSC_MEM_DATA, SCAN_TOKENS);
    const enum wsc_err rc = scan(x, s, ids);
    wsc_free(ids);
    return rc;
}

/* ---- samples --------------------------------------------------------------------------------- */

static enum wsc_err add_sample(struct data_bert_layout *l, const struct data_bert_sample *sample)
{
    TRY_GROW(l->sample, WSC_MEM_DATA, l->room, l->n + 1);
    l->sample[l->n++] = *sample;
    return WSC_OK;
}

/* Number of element @p i of a round, for random numbers. */
static uint64_t numbered(int64_t round, int64_t i)
{
    return (uint64_t)round << ROUND_BITS | (uint64_t)i;
}

/* Set the numbers of masks of the samples from @p from on, which are those from @p first on of the
 * round. */
static void number_masks(struct data_bert_layout *l, int64_t from, int64_t round, int64_t first)
{
    for (int64_t i = from; i < l->n; i++)
        l->sample[i].draw = numbered(round, first + i - from);
}

/* Cut a document into pieces of at most @p most tokens. */
static enum wsc_err cut_document(struct data_bert_layout *l, const struct sentence *s, int64_t most)
{
    for (int64_t at = 0; at < s->n; at += most) {
        const int64_t n = s->n - at < most ? s->n - at : most;
        TRY(add_sample(l, &(struct data_bert_sample){.piece = {{s->first + at, n, 0, n}}}));
    }
    return WSC_OK;
}

/* Pieces of the documents, one after the other. */
static enum wsc_err lay_pieces(struct data_bert_layout *l, const struct index *x, int64_t T)
{
    for (int64_t i = 0; i < x->n; i++)
        TRY(cut_document(l, &x->sentence[i], T - MARKS_OF_ONE));
    return WSC_OK;
}

/* Put as many texts as fit into a sample, in their order, each with its marks (the Model Zoo first
 * sorts the texts of a chunk by length). */
static enum wsc_err pack_texts(struct data_bert_layout *l, int64_t T)
{
    const int64_t n_texts = l->n;
    int64_t length = T;
    TRY_NEW(l->text, WSC_MEM_DATA, n_texts + 1);
    l->n = 0;
    for (int64_t i = 0; i < n_texts; i++) {
        l->text[i] = l->sample[i].piece[0];
        const int64_t n = l->text[i].n + MARKS_OF_ONE;
        if (length + n > T) {
            l->sample[l->n++] = (struct data_bert_sample){.first_text = i};
            length = 0;
        }
        l->sample[l->n - 1].n_texts++;
        length += n;
    }
    return WSC_OK;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* State while documents [first, end) of a part are laid out; `at` is the current one. */
struct walk {
    struct data_bert_layout *layout;
    const struct index *index;
    int64_t first, end, at;
    /* most tokens of a pair, and number of tokens at which a pair is complete */
    int64_t most, target;
    int64_t round;
    uint64_t seed, next; /* seed and counter of random numbers */
};

static uint64_t draw(struct walk *w)
{
    return wsc_rng_u64(w->seed, wsc_rng_stream(WSC_RNG_NEXT, numbered(w->round, w->at)), w->next++);
}

/* A random number, uniform in [0, n). */
static int64_t below(struct walk *w, int64_t n)
{
    return (int64_t)((draw(w) >> 32) * (uint64_t)n >> 32);
}

static bool happens(struct walk *w, double share)
{
    return (double)(draw(w) >> 11) * 0x1p-53 < share;
}

/* The piece of sentences [first, end). */
static struct data_bert_piece piece_of(const struct index *x, int64_t first, int64_t end)
{
    const struct sentence *a = &x->sentence[first], *z = &x->sentence[end - 1];
    struct data_bert_piece p = {.first = a->first, .length = z->first + z->n - a->first};
    for (int64_t i = first; i < end; i++)
        p.n += x->sentence[i].n;
    return p;
}

/* Sentences of another document, from a random one on, until there are @p wanted tokens. */
static struct data_bert_piece other_text(struct walk *w, int64_t wanted)
{
    const struct index *x = w->index;
    int64_t other = w->first + below(w, w->end - w->first - 1), n = 0;
    if (other >= w->at) other++;
    const int64_t end = x->document[other + 1];
    const int64_t first = x->document[other] + below(w, end - x->document[other]);
    int64_t at = first;
    do
        n += x->sentence[at++].n;
    while (at < end && n < wanted);
    return piece_of(x, first, at);
}

static void cut_pair(struct walk *w, struct data_bert_sample *s)
{
    while (s->piece[0].n + s->piece[1].n > w->most) {
        struct data_bert_piece *p = &s->piece[s->piece[0].n > s->piece[1].n ? 0 : 1];
        p->n--;
        if (happens(w, 0.5)) p->skip++;
    }
}

/* Make a pair from sentences [first, end). Returns how many of them it used. */
static enum wsc_err lay_pair(struct walk *w, int64_t first, int64_t end, int64_t *used)
{
    const int64_t n = end - first, n_first = n > 1 ? 1 + below(w, n - 1) : 1;
    struct data_bert_sample s = {.pair = true, .random = n == 1 || happens(w, 0.5)};
    s.piece[0] = piece_of(w->index, first, first + n_first);
    s.piece[1] = s.random ? other_text(w, w->target - s.piece[0].n)
                          : piece_of(w->index, first + n_first, end);
    *used = s.random ? n_first : n;
    cut_pair(w, &s);
    return add_sample(w->layout, &s);
}

static enum wsc_err lay_document(struct walk *w)
{
    const struct index *x = w->index;
    const int64_t end = x->document[w->at + 1];
    for (int64_t first = x->document[w->at], used = 0; first < end; first += used) {
        int64_t last = first, n = 0;
        do
            n += x->sentence[last++].n;
        while (last < end && n < w->target);
        TRY(lay_pair(w, first, last, &used));
    }
    return WSC_OK;
}

/* Lay out documents [first, end) once. */
static enum wsc_err lay_documents(struct data_bert_layout *l, const struct index *x,
                                  const struct data_bert_source *s, int64_t first, int64_t end,
                                  int64_t round)
{
    struct walk w = {.layout = l,
                     .index = x,
                     .first = first,
                     .end = end,
                     .most = s->make->T - MARKS_OF_PAIR,
                     .round = round,
                     .seed = (uint64_t)s->make->seed};
    for (w.at = first; w.at < end; w.at++) {
        w.next = 0;
        w.target = w.most;
        if (happens(&w, s->bert->short_share)) w.target = 2 + below(&w, w.most - 1);
        TRY(lay_document(&w));
    }
    return WSC_OK;
}

/* The first document of val: the documents from it on have the fraction @p share of the tokens. */
static int64_t first_held(const struct index *x, double share)
{
    int64_t all = 0, held = 0, d = x->n_documents;
    for (int64_t i = 0; i < x->n; i++)
        all += x->sentence[i].n;
    while (d > 0 && (double)held < share * (double)all) {
        d--;
        for (int64_t i = x->document[d]; i < x->document[d + 1]; i++)
            held += x->sentence[i].n;
    }
    return d;
}

/* Each part has its own documents, so that no text of val is a second text in train. */
static enum wsc_err lay_pairs(struct data_bert_layout *l, const struct index *x,
                              const struct data_bert_source *s)
{
    enum { FEWEST = 2 };
    const double share = s->make->share[DATA_VAL];
    int64_t split = first_held(x, share);
    if (share > 0 && x->n_documents - split < FEWEST) split = x->n_documents - FEWEST;
    if (split < FEWEST)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE,
                                      "%s: the input has %lld documents, too few for pairs of "
                                      "sentences in every part",
                                      s->make->input[0], (long long)x->n_documents),
                            "a line without text ends a document; or --disable_nsp%s",
                            share > 0 ? ", or --split 0" : "");
    int64_t n_once = 0;
    for (int64_t round = 0; round < s->bert->dupe_factor; round++) {
        const int64_t from = l->n;
        TRY(lay_documents(l, x, s, 0, split, round));
        number_masks(l, from, round, 0);
        if (!round) n_once = l->n;
    }
    l->n_train = l->n;
    TRY(lay_documents(l, x, s, split, x->n_documents, 0));
    number_masks(l, l->n_train, 0, n_once);
    return WSC_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Repeat the pieces of train for each further round, before those of val. */
static enum wsc_err repeat_pieces(struct data_bert_layout *l, int64_t rounds)
{
    const int64_t n = l->n_train, more = (rounds - 1) * n;
    number_masks(l, 0, 0, 0);
    TRY_GROW(l->sample, WSC_MEM_DATA, l->room, l->n + more);
    memmove(l->sample + n + more, l->sample + n, (size_t)(l->n - n) * sizeof *l->sample);
    for (int64_t i = n; i < n + more; i++) {
        l->sample[i] = l->sample[i % n];
        l->sample[i].draw = numbered(i / n, i % n);
    }
    l->n += more;
    l->n_train += more;
    return WSC_OK;
}

/* Divide samples of pieces between train and val by their number. */
static enum wsc_err split_pieces(struct data_bert_layout *l, const struct data_bert_source *s)
{
    const double share = s->make->share[DATA_VAL];
    int64_t held = llround((double)l->n * share);
    if (share > 0 && held < 1) held = 1;
    l->n_train = l->n - held;
    if (l->n_train >= 1) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE,
                                  "%s: the input makes %lld samples of length %lld, too "
                                  "few",
                                  s->make->input[0], (long long)l->n, (long long)s->make->T),
                        "give more text, a smaller max_seq_length, or split 0");
}

enum wsc_err data_bert_lay(struct data_bert_layout *layout, const struct data_bert_source *source)
{
    struct index x = {.sentence = NULL};
    *layout = (struct data_bert_layout){.sample = NULL};
    enum wsc_err rc = find_sentences(&x, source);
    if (!rc && data_bert_pairs(source->bert)) {
        rc = lay_pairs(layout, &x, source);
    } else if (!rc) {
        rc = lay_pieces(layout, &x, source->make->T);
        if (!rc && source->make->use_vsl) rc = pack_texts(layout, source->make->T);
        if (!rc) rc = split_pieces(layout, source);
        if (!rc) rc = repeat_pieces(layout, source->bert->dupe_factor);
    }
    wsc_free(x.sentence);
    wsc_free(x.document);
    return rc;
}

void data_bert_layout_fini(struct data_bert_layout *layout)
{
    wsc_free(layout->sample);
    wsc_free(layout->text);
    *layout = (struct data_bert_layout){.sample = NULL};
}
