// SPDX-License-Identifier: Apache-2.0
/* Writes the tokens of all documents as one sequence to a file of 1, 2 or 4 bytes each, with states
 * from which a killed run resumes. The documents are tokenized piece by piece, so memory does not
 * grow with the text. */
#include "corpus.h"
#include "document_feed.h"
#include "documents.h"
#include "make_state.h"
#include "tokenizer.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A corpus, with one block of tokens in memory: the end of the file while it is written, a window
 * of it while it is read. */
struct data_corpus {
    const struct data_make *make;
    struct data_feed feed;
    char *folder, *tokens_path;
    int lock, tokens; /* file descriptors */
    struct data_state state;
    int64_t n_resumed;
    int width; /* bytes of a token in the file */
    unsigned char *block;
    int64_t block_used;
    int64_t view, view_bytes; /* finished corpus: position and bytes of the window in the block */
    int32_t *ids;             /* of a piece of text */
    int64_t room;
    int64_t since; /* bytes of text since the last saved state */
};

int64_t data_make_vocab_size(const struct data_make *m)
{
    int64_t n = data_tokenizer_vocab_size(m->tokenizer);
    const int64_t other[] = {m->bos_id, m->eos_id, m->pad_id};
    for (int i = 0; i < 3; i++)
        if (other[i] >= n) n = other[i] + 1;
    return n;
}

/* Bytes of a token: the fewest that hold every id. */
static int width_for(int64_t vocab_size)
{
    return vocab_size <= 1 << 8 ? 1 : vocab_size <= 1 << 16 ? 2 : 4;
}

/* ---- the file of tokens ---------------------------------------------------------------------- */

/* Write the used part of the block to its position in the file; it stays in memory. */
static enum wsc_err write_block(struct data_corpus *c)
{
    int64_t start = c->state.n_tokens * c->width - c->block_used;
    for (int64_t done = 0; done < c->block_used;) {
        ssize_t n = pwrite(c->tokens, c->block + done, (size_t)(c->block_used - done),
                           (off_t)(start + done));
        if (n < 0)
            return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", c->tokens_path, strerror(errno));
        done += n;
    }
    return WSC_OK;
}

/* Little-endian, with one loop for each width, because all tokens pass these loops. */
static void put_tokens(unsigned char *at, int width, const int32_t *ids, int64_t n)
{
    for (int64_t i = 0; width == 1 && i < n; i++)
        at[i] = (unsigned char)ids[i];
    for (int64_t i = 0; width == 2 && i < n; i++) {
        at[2 * i] = (unsigned char)ids[i];
        at[2 * i + 1] = (unsigned char)(ids[i] >> 8);
    }
    for (int64_t i = 0; width == 4 && i < 4 * n; i++)
        at[i] = (unsigned char)((uint32_t)ids[i / 4] >> 8 * (i % 4));
}

static void get_tokens(const unsigned char *at, int width, int32_t *ids, int64_t n)
{
    for (int64_t i = 0; width == 1 && i < n; i++)
        ids[i] = at[i];
    for (int64_t i = 0; width == 2 && i < n; i++)
        ids[i] = at[2 * i] | at[2 * i + 1] << 8;
    for (int64_t i = 0; width == 4 && i < n; i++, at += 4)
        ids[i] =
            (int32_t)(at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
}

/* Append ids to the block; a full block is written and added to the chain of hashes. */
static enum wsc_err add_tokens(struct data_corpus *c, const int32_t *ids, int64_t n)
{
    for (int64_t done = 0, k; done < n; done += k) {
        const int64_t room = (DATA_STATE_BLOCK - c->block_used) / c->width;
        k = n - done < room ? n - done : room;
        put_tokens(c->block + c->block_used, c->width, ids + done, k);
        c->block_used += k * c->width;
        c->state.n_tokens += k;
        if (c->block_used < DATA_STATE_BLOCK) continue;
        TRY(write_block(c));
        c->state.chain = data_state_chain(c->state.chain, c->block, c->block_used);
        c->block_used = 0;
    }
    return WSC_OK;
}

/* A short read is an error, because the file must have these bytes according to the state. */
static enum wsc_err read_bytes(struct data_corpus *c, unsigned char *out, int64_t start, int64_t n)
{
    for (int64_t done = 0; done < n;) {
        ssize_t got = pread(c->tokens, out + done, (size_t)(n - done), (off_t)(start + done));
        if (got < 0)
            return WSC_RAISE(WSC_IO, "%s: cannot be read: %s", c->tokens_path, strerror(errno));
        if (!got) return WSC_RAISE(WSC_IO, "%s: is shorter than it was", c->tokens_path);
        done += got;
    }
    return WSC_OK;
}

/* Read bytes from @p start on into c->block, which is unused when the corpus is complete. A caller
 * that reads sequentially gets more than @p wanted. */
static enum wsc_err look_at(struct data_corpus *c, int64_t start, int64_t wanted)
{
    const int64_t end = c->view + c->view_bytes, left = c->state.n_tokens * c->width - start;
    if (start >= c->view && start + wanted <= end) return WSC_OK;
    int64_t n = start >= c->view && start <= end ? DATA_STATE_BLOCK : wanted;
    if (n > left) n = left;
    c->view_bytes = 0;
    TRY(read_bytes(c, c->block, start, n));
    c->view = start;
    c->view_bytes = n;
    return WSC_OK;
}

enum wsc_err data_corpus_read(struct data_corpus *c, int64_t first, int64_t n, int32_t *ids)
{
    const int64_t most = DATA_STATE_BLOCK / c->width;
    WSC_CHECK(c->state.done && first >= 0 && n <= c->state.n_tokens - first, "tokens %lld, +%lld",
              (long long)first, (long long)n);
    for (int64_t done = 0, k; done < n; done += k) {
        const int64_t start = (first + done) * c->width;
        k = n - done < most ? n - done : most;
        TRY(look_at(c, start, k * c->width));
        get_tokens(c->block + (start - c->view), c->width, ids + done, k);
    }
    return WSC_OK;
}

/* ---- states ---------------------------------------------------------------------------------- */

/* Save the state. Its tokens are synced to disk first, so that the state never describes missing
 * tokens. */
static enum wsc_err save(struct data_corpus *c)
{
    TRY(write_block(c));
    if (fdatasync(c->tokens))
        return WSC_RAISE(WSC_IO, "%s: cannot be written to disk: %s", c->tokens_path,
                         strerror(errno));
    c->state.sum = data_state_chain(c->state.chain, c->block, c->block_used);
    c->since = 0;
    return data_state_write(&c->state, c->folder);
}

/* Save the state if it is due: between documents, or after @p used bytes of a document whose
 * position is already in the state. */
static enum wsc_err maybe_save(struct data_corpus *c, int64_t used)
{
    if (c->since < c->make->checkpoint_bytes) return WSC_OK;
    c->state.used = used;
    if (used < 0) c->state.place = data_docs_place(&c->feed.docs);
    return save(c);
}

/* Check that the tokens on disk agree with the state. The last block stays in memory. */
static enum wsc_err verify(struct data_corpus *c, bool *good)
{
    int64_t bytes = c->state.n_tokens * c->width;
    uint64_t chain = 0;
    struct stat info;
    *good = !fstat(c->tokens, &info) && info.st_size >= bytes;
    if (!*good) return WSC_OK;
    for (int64_t start = 0;; start += DATA_STATE_BLOCK) {
        c->block_used = bytes - start < DATA_STATE_BLOCK ? bytes - start : DATA_STATE_BLOCK;
        TRY(read_bytes(c, c->block, start, c->block_used));
        if (c->block_used < DATA_STATE_BLOCK) break;
        chain = data_state_chain(chain, c->block, c->block_used);
    }
    *good =
        chain == c->state.chain && data_state_chain(chain, c->block, c->block_used) == c->state.sum;
    return WSC_OK;
}

/* Resume at the position of the state, if it belongs to this request and its tokens are correct;
 * else start again. Tokens after those of the state are cut off. */
static enum wsc_err take_up(struct data_corpus *c)
{
    uint64_t identity = c->state.identity;
    bool good = false;
    TRY(data_state_read(&c->state, c->folder, &good));
    good = good && c->state.identity == identity && c->state.place.file <= c->feed.docs.inputs->n;
    if (good) TRY(verify(c, &good));
    if (!good) {
        c->state = (struct data_state){.identity = identity, .used = -1};
        c->block_used = 0;
    }
    c->n_resumed = c->state.n_tokens;
    if (!ftruncate(c->tokens, (off_t)(c->state.n_tokens * c->width))) return WSC_OK;
    return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", c->tokens_path, strerror(errno));
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The lock belongs to the file descriptor, so it is released with the process. */
static enum wsc_err lock_folder(struct data_corpus *c)
{
    if (mkdir(c->folder, 0777) && errno != EEXIST)
        return WSC_RAISE(WSC_IO, "%s: cannot be made: %s", c->folder, strerror(errno));
    c->lock = open(c->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->lock < 0)
        return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", c->folder, strerror(errno));
    if (!flock(c->lock, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_IO, "%s: another `wsc data` is at work there", c->folder),
                        "wait for it, or give another --out");
}

static enum wsc_err open_files(struct data_corpus *c)
{
    TRY(lock_folder(c));
    c->tokens = open(c->tokens_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (c->tokens < 0)
        return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", c->tokens_path, strerror(errno));
    return take_up(c);
}

/* Allocate buffers and open files; data_corpus_close() frees them also after an error. */
static enum wsc_err prepare(struct data_corpus *c, const char *folder,
                            const struct data_inputs *inputs)
{
    TRY(data_state_identity(c->make, inputs, &c->state.identity));
    TRY(data_feed_open(&c->feed, inputs, c->make->key, c->make->errors));
    c->width = width_for(data_make_vocab_size(c->make));
    c->folder = wsc_strdup(WSC_MEM_DATA, folder);
    c->tokens_path = wsc_asprintf(WSC_MEM_DATA, "%s/tokens", folder);
    c->block = wsc_alloc_raw(WSC_MEM_DATA, DATA_STATE_BLOCK, 1);
    if (!c->folder || !c->tokens_path || !c->block)
        return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "buffers");
    return open_files(c);
}

enum wsc_err data_corpus_open(struct data_corpus **out, const char *folder,
                              const struct data_make *make, const struct data_inputs *inputs)
{
    struct data_corpus *c = NULL;
    *out = NULL;
    TRY_NEW(c, WSC_MEM_DATA, 1);
    c->make = make;
    c->lock = c->tokens = -1;
    enum wsc_err rc = prepare(c, folder, inputs);
    if (rc) data_corpus_close(&c);
    *out = c;
    return rc;
}

void data_corpus_close(struct data_corpus **corpus)
{
    struct data_corpus *c = *corpus;
    if (!c) return;
    data_feed_close(&c->feed);
    if (c->tokens >= 0) (void)close(c->tokens);
    if (c->lock >= 0) (void)close(c->lock);
    wsc_free(c->folder);
    wsc_free(c->tokens_path);
    wsc_free(c->block);
    wsc_free(c->ids);
    wsc_free(c);
    *corpus = NULL;
}

uint64_t data_corpus_identity(const struct data_corpus *c)
{
    return c->state.identity;
}

struct data_corpus_counts data_corpus_counts(const struct data_corpus *c)
{
    return (struct data_corpus_counts){c->state.n_tokens, c->state.n_documents, c->state.n_empty,
                                       c->state.n_bytes, c->n_resumed};
}

/* ---- documents ------------------------------------------------------------------------------- */

/* Reserve as many ids as the buffer of text has bytes. */
static enum wsc_err make_room(struct data_corpus *c)
{
    if (c->room >= c->feed.room) return WSC_OK;
    int32_t *ids;
    TRY_MEM(ids, wsc_realloc(WSC_MEM_DATA, c->ids, (size_t)c->feed.room, sizeof *ids));
    c->ids = ids;
    c->room = c->feed.room;
    return WSC_OK;
}

/* Append BOS or EOS, if the tokenizer has it. */
static enum wsc_err add_mark(struct data_corpus *c, int64_t id)
{
    int32_t token = (int32_t)id;
    return id == DATA_NO_ID ? WSC_OK : add_tokens(c, &token, 1);
}

/* If an EOS separates texts, error for a text that contains one. */
static enum wsc_err check_end_mark(const struct data_corpus *c, int64_t n_ids)
{
    bool found = false;
    for (int64_t i = 0; i < n_ids; i++)
        found = found || c->ids[i] == c->make->eos_id;
    if (!found) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "use_vsl: %s: text has the EOS, id %lld, too",
                                  c->feed.docs.inputs->file[c->feed.docs.at].path,
                                  (long long)c->make->eos_id),
                        "--eos_id %lld", (long long)data_tokenizer_vocab_size(c->make->tokenizer));
}

/* Tokenize the complete words of the current text. BOS is added with the first byte, so that an
 * empty document has no tokens. */
static enum wsc_err tokenize(struct data_corpus *c, int64_t *used)
{
    const struct data_text text = {c->feed.text, c->feed.n, c->feed.ended};
    int64_t n_ids = 0, n = 0;
    TRY(make_room(c));
    TRY(data_tokenizer_encode(c->make->tokenizer, &text, c->ids, &n_ids, &n));
    if (c->make->use_vsl) TRY(check_end_mark(c, n_ids));
    if (!*used && n) TRY(add_mark(c, c->make->bos_id));
    TRY(add_tokens(c, c->ids, n_ids));
    data_feed_drop(&c->feed, n);
    *used += n;
    c->since += n;
    c->state.n_bytes += n;
    return WSC_OK;
}

static void show(const struct data_corpus *c)
{
    const struct data_make *m = c->make;
    if (m->progress)
        m->progress(m->progress_ctx, "bytes", data_docs_done(&c->feed.docs),
                    c->feed.docs.inputs->bytes);
}

/* Tokenize a document from byte @p used on, piece by piece; a state may be saved between pieces. */
static enum wsc_err take_document(struct data_corpus *c, int64_t used)
{
    if (used) TRY(data_feed_skip(&c->feed, used));
    do {
        TRY(data_feed_more(&c->feed));
        TRY(tokenize(c, &used));
        if (!c->feed.ended && used) TRY(maybe_save(c, used));
        show(c);
    } while (!c->feed.ended);
    if (used) TRY(add_mark(c, c->make->eos_id));
    c->state.n_documents++;
    c->state.n_empty += used == 0;
    return WSC_OK;
}

/* Tokenize from the position of the state to the last document, then save the final state. */
enum wsc_err data_corpus_make(struct data_corpus *c)
{
    struct data_docs *docs = &c->feed.docs;
    bool found = false;
    if (c->state.done) return WSC_OK;
    TRY(data_docs_go(docs, &c->state.place));
    TRY(data_feed_next(&c->feed, &found));
    for (int64_t used = c->state.used < 0 ? 0 : c->state.used; found; used = 0) {
        TRY(take_document(c, used));
        TRY(maybe_save(c, -1));
        c->state.place = data_docs_place(docs);
        TRY(data_feed_next(&c->feed, &found));
    }
    c->state.done = 1;
    c->state.used = -1;
    return save(c);
}
