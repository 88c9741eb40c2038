/** Readers of files from outside, each fed with bytes that anybody may have written.
 *
 *  A target may refuse what it gets, then it returns false.  It must not crash, hang, leak, take
 *  memory out of proportion, or accept what contradicts itself; then it aborts.
 */
#ifndef WSC_FUZZ_H
#define WSC_FUZZ_H
#include <wsc/err.h>
#include <wsc/mem.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Name, the folder of its inputs below tests/fuzz/corpus; what is read. */
#define FUZZ_TARGET_MAP(XX)                                                                        \
    XX(params, "params YAML, and the model it gives")                                              \
    XX(cluster, "cluster YAML")                                                                    \
    XX(set, "--set path=value")                                                                    \
    XX(units, "quantities and numbers")                                                            \
    XX(samples, "HDF5 datasets")                                                                   \
    XX(checkpoint, "HDF5 checkpoints")                                                             \
    XX(text, "text, plain, gzip or zstd")                                                          \
    XX(jsonl, "JSON Lines")                                                                        \
    XX(csv, "CSV and TSV")                                                                         \
    XX(bpe, "vocab.json, merges.txt and a text")                                                   \
    XX(encode, "a text through a tokenizer")                                                       \
    XX(state, "state of an interrupted `wsc data`")                                                \
    XX(safetensors, "a safetensors file")                                                          \
    XX(torch, "a file of torch.save")                                                              \
    XX(pickle, "the pickle in a file of torch.save")                                               \
    XX(hf_config, "config.json, to params and tensors")                                            \
    XX(hf_index, "model.safetensors.index.json")                                                   \
    XX(reference, "published figures, points to draw")                                             \
    XX(metrics, "metrics.jsonl of an earlier run")                                                 \
    XX(masks, "masks in checkpoints, the layouts of all releases")                                 \
    XX(vocab, "vocab.txt of WordPiece")                                                            \
    XX(tokenizer, "tokenizer.json of WordPiece")                                                   \
    XX(squad, "SQuAD-style JSON")                                                                  \
    XX(examples, "CSV and TSV of encoders")                                                        \
    XX(chats, "JSON Lines of chats and pairs")                                                     \
    XX(pairs, "HDF5 files of pairs")                                                               \
    XX(pair_sets, "pairs in HDF5 datasets of any type and shape")                                  \
    XX(requests, "requests of an evaluation harness")

#define XX(name, what) bool fuzz_##name(const uint8_t *bytes, size_t n);
FUZZ_TARGET_MAP(XX)
#undef XX

struct fuzz_target {
    const char *name, *what;
    bool (*run)(const uint8_t *bytes, size_t n);
};
/** Ends with a target without a name. */
extern const struct fuzz_target fuzz_target[];

/* ---- what targets share (targets.c) ---------------------------------------------------------- */

/** Say what and abort unless @p ok. */
void fuzz_check(bool ok, const char *what);
/** Was it taken?  A refusal has a text. */
bool fuzz_taken(enum wsc_err rc);
/** Nothing of @p tag is left. */
void fuzz_check_memory(enum wsc_mem_tag tag);
/** The bytes with a NUL after them, as conf_read_file() gives them; for wsc_free(). */
char *fuzz_as_text(const uint8_t *bytes, size_t n);
enum { FUZZ_PATH_BYTES = 64 };
/** The bytes as a file without a name: its descriptor, for close(), and a path to it. */
int fuzz_as_file(const uint8_t *bytes, size_t n, char path[FUZZ_PATH_BYTES]);
/** An input that is read byte by byte; borrowed. */
struct fuzz_bytes {
    const uint8_t *at;
    size_t n;
};
/** The next byte, 0 after the last one. */
unsigned fuzz_next(struct fuzz_bytes *in);
/** A folder of this process that is removed at its end. */
const char *fuzz_folder(void);
/** Write `<folder>/<name>`; its path, borrowed until the next call. */
const char *fuzz_put(const char *name, const uint8_t *bytes, size_t n);
#endif
