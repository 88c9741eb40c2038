/** Data: which samples a step sees, and their tokens.
 *
 *  The order of samples is a function of (seed, epoch) alone: whoever asks for samples [first,
 *  first + n) of the stream gets the same ones, whatever the number of systems or ranks.  So each
 *  wafer reads its own share, nothing is distributed, and a restart needs no state but the number
 *  of samples.  The second half of the header makes datasets from text, with its tokenizers (`wsc
 *  data`).
 *
 *      TRY(data_source_open(&source, &params->train_input, T, vocab_size));
 *      TRY(data_batch_create(&batch, n, T));
 *      TRY(data_source_read(source, first, n, batch));
 *      use(batch->input_ids, batch->labels, batch->mask);
 *      data_batch_destroy(&batch);
 *      data_source_close(&source);
 *
 *  Nothing here is collective.  Errors: WSC_IO and WSC_FORMAT name the file, with line and column
 *  of texts; WSC_CONFIG names the key; WSC_USAGE is a request that makes no sense.  Start reading
 *  at data_source_read(). */
#ifndef WSC_DATA_H
#define WSC_DATA_H
#include <wsc/err.h>
#include <wsc/store.h>
#include <wsc/zoo.h>

#include <stdbool.h>
#include <stdint.h>

/** Tokens of consecutive samples of the stream, each (n, T) row-major, owned. */
struct data_batch {
    /** Sequences that it holds, sequences that it has room for, tokens of a sequence. */
    int64_t n, n_max, T;
    int32_t *input_ids, *labels; /**< labels at places with mask 0 are 0 when out of range */
    int32_t *mask;               /**< loss mask, 0 or 1 */
    /** For variable-length sequences, NULL for others: places after a token that may attend to it,
     *  0 to T, and its position in its own text, 0 to T - 1. */
    int32_t *attention_span, *position_ids;
    /** For encoders, NULL for others: 1 for a token that others attend to, 0 for padding, (n, T);
     *  type of each token, (n, T); class or target of a sequence, (n). */
    int32_t *attends, *token_types;
    float *targets;
};
/** Make room for @p n_max samples of @p T tokens; n is 0.  The two arrays of variable-length
 *  sequences are made by the first read that has them.  WSC_NOMEM; *@p out is NULL then. */
enum wsc_err data_batch_create(struct data_batch **out, int64_t n_max, int64_t T) WSC_CHECKED;
/** Tokens of sample @p i that the loss counts. */
int64_t data_batch_counted(const struct data_batch *batch, int64_t i);
/** Release *@p batch and null it; NULL inside allowed. */
void data_batch_destroy(struct data_batch **batch);

/** A wafer's part of a micro-batch.  A leaf is a micro-shard, which is a leaf of the canonical
 * tree: `reduction_leaf` consecutive samples, whose gradient is computed alone. */
struct data_share {
    int64_t first_leaf, end_leaf; /**< global leaf indices; empty when equal */
    int64_t n_leaves;             /**< leaves of the whole global batch */
    int64_t leaf_samples;         /**< sequences of a leaf; the batch's last leaf may have fewer */
    int64_t batch_size;           /**< sequences of the global batch */
    int64_t step;                 /**< from 0, counted from the first run: dropout differs by it */
};
/** Positions [first, end) of a text; none when equal. */
struct data_range {
    int64_t first, end;
};
/** What a step of generation does with the texts of a batch; all borrowed. */
struct data_step {
    const struct data_range *positions; /**< of each text, that the step computes */
    /** Beam search: texts of one prompt, which follow each other; 0 and 1: one. */
    int64_t n_beams;
    /** Text that each text continues: one of the same prompt, of which positions before those of
     *  the step are taken.  NULL: every text continues itself. */
    const int64_t *from;
};

/** The samples of one input section: all *.h5 of its directories, sorted by path; of data_subset
 *  only the samples in its ranges.
 *
 *  A mixture is the Model Zoo's: an epoch takes so many samples of each data set as its fraction of
 *  the weights says, and is so long that every sample of the sets above 5 % comes; a set that is
 *  shorter begins again.  Shuffled, all of them are permuted; otherwise each set's samples come in
 *  order, spread evenly over the epoch. */
struct data_source;
/** Open; checks every file's shape, types, attribute n_examples, and that the sequence length is
 *  @p T.  Errors name file and hint.  @p vocab_size bounds the token ids (checked when read).
 *  Corpus files (rank 1) are cut into samples of T.  Keeps a few files open at a time.
 *  Not collective: each rank opens for itself. */
enum wsc_err data_source_open(struct data_source **out, const struct zoo_input *input, int64_t T,
                              int64_t vocab_size) WSC_CHECKED;
/** Close all files; NULL allowed. */
void data_source_close(struct data_source **source);
/** Samples of one epoch, N of data_source_read(). */
int64_t data_source_n_samples(const struct data_source *source);
/** Samples [first, first + n) of the endless stream into @p batch (n <= its n_max); a pair is two
 *  sequences of it, the chosen one first (2 n <= n_max).  Sample g is
 *  element g mod N of epoch g / N's order (identity without shuffle).  N is num_samples where that
 *  is given: less than there are, or more, with copies.  Fails after N unless `repeat`. */
enum wsc_err data_source_read(struct data_source *source, int64_t first, int64_t n,
                              struct data_batch *batch) WSC_CHECKED;

/** Size and hash of a file of a source. */
struct data_file_sum {
    const char *path; /**< borrowed from the source */
    int64_t size;     /**< bytes */
    uint64_t hash;    /**< of all its bytes, or of blocks of 1 MiB spread evenly over it */
    bool whole;       /**< all bytes are in the hash */
};
/** Sums of all files of @p source in its order, *@p n of them, by which copies on several hosts are
 *  compared; owned by the caller.  At most @p most bytes are read, beside two blocks of 1 MiB of
 *  each file: when the files have more, each has the even part of it. */
enum wsc_err data_source_sums(const struct data_source *source, int64_t most,
                              struct data_file_sum **sums, int *n) WSC_CHECKED;

/* ---- tokenizers ------------------------------------------------------------------------------ */

/** A tokenizer, text to token ids: bytes, a byte-level BPE as GPT-2 has it, or WordPiece.  Not to
 * be used by two threads at once: it remembers words. */
struct data_tokenizer;
/** Open a tokenizer: @p kind is "byte" (256 ids) or "bpe", which needs the files vocab.json and
 *  merges.txt; they are NULL with "byte".  Errors name file, line and column; *@p out is NULL then.
 */
enum wsc_err data_tokenizer_open(struct data_tokenizer **out, const char *kind, const char *vocab,
                                 const char *merges) WSC_CHECKED;
/** Open a tokenizer of the WordPiece kind (BERT): @p vocab is a vocab.txt or a tokenizer.json,
 *  @p lower puts texts and vocabulary into lower case without accents.  White space and letters'
 *  cases are lost, so that ids do not give the text back.  With @p sentences [SEP] follows each
 *  sentence, and [PAD] a line without text, which ends a document.  Errors name the file; *@p out
 * is NULL then. */
enum wsc_err data_tokenizer_open_wordpiece(struct data_tokenizer **out, const char *vocab,
                                           bool lower, bool sentences) WSC_CHECKED;
/** Release *@p tokenizer and null it; NULL inside allowed. */
void data_tokenizer_close(struct data_tokenizer **tokenizer);
/** Id of the token with exactly these bytes, or -1. */
int32_t data_tokenizer_find(const struct data_tokenizer *t, const char *bytes, int64_t n);
/** Bytes of a token, borrowed; NULL and *n = 0 for an id that is not used. */
const unsigned char *data_tokenizer_bytes(const struct data_tokenizer *t, int32_t id, int64_t *n);
/** A piece of text; any bytes, borrowed. */
struct data_text {
    const unsigned char *bytes;
    /** Bytes of the piece. */
    int64_t n;
    bool end; /**< nothing follows: without it the last word may stay for the next call */
};
/** The ids of @p text, as far as whole words go: *used bytes of it, all with text->end.  There are
 *  at most as many ids as bytes.  The bytes of the ids one after the other are the text again,
 *  whatever it is, but for WordPiece; special tokens are never made from text. */
enum wsc_err data_tokenizer_encode(struct data_tokenizer *t, const struct data_text *text,
                                   int32_t *ids, int64_t *n_ids, int64_t *used) WSC_CHECKED;

/* ---- making datasets ------------------------------------------------------------------------- */

/** What to do with bytes that are not UTF-8 (as Python names it, but for the last). */
enum data_errors {
    DATA_ERRORS_STRICT,  /**< an error with file, line and column */
    DATA_ERRORS_REPLACE, /**< U+FFFD for each longest part of a character (Unicode 14, 3.9, U+FFFD
                              substitution of maximal subparts) */
    DATA_ERRORS_KEEP     /**< the bytes as they are */
};
/** Part of a dataset: a folder of its own. */
enum data_part_name { DATA_TRAIN, DATA_VAL, DATA_TEST, DATA_N_PARTS };
/** No token: BOS or EOS that is not added. */
#define DATA_NO_ID (-1)

/** What `wsc data` makes. */
struct data_make {
    /** Files, plain, gzip or zstd, and folders with them (all below, by path; those whose ending is
     *  not known are left out).  Text: a file is one document.  JSON Lines: the string @p key of
     *  each line.  CSV, TSV: the column @p key of each row. */
    const char *const *input;
    /** Entries of `input`, at least 1. */
    int n_inputs;
    const char *format; /**< "text", "jsonl", "csv", "tsv"; NULL: by the ending, else text */
    const char *key;    /**< of the text in objects, its column in tables */
    /** What to do with bytes that are not UTF-8. */
    enum data_errors errors;
    struct data_tokenizer *tokenizer; /**< borrowed */
    /** Put before and after each document that is not empty; DATA_NO_ID: none. */
    int64_t bos_id, eos_id;
    int64_t pad_id;      /**< input and label of the places after the text, mask 0 */
    const char *out_dir; /**< gets train/, val/ and test/ with .h5 files and data_params.json */
    int64_t T;           /**< max_seq_length */
    bool use_vsl;        /**< whole texts in a sample, which do not see each other; needs an EOS */
    double
        share[DATA_N_PARTS]; /**< of the samples, for val/ and test/; that of train is the rest */
    bool shuffle;            /**< permute the samples by `seed` before the parts are cut */
    /** Seed of the permutation. */
    int64_t seed;
    /** Samples of a file, at least 1; the last one of a part may have fewer. */
    int64_t samples_per_file;
    enum store_int type;      /**< of the ids in the files */
    int64_t checkpoint_bytes; /**< of text, between two states from which a killed run resumes */
    uint64_t
        variant; /**< hash of what else decides the samples: a state of another one is dropped */
    /** May be NULL.  Bytes on disk that were read, then samples that were written. */
    void (*progress)(void *ctx, const char *what, int64_t done, int64_t total);
    void *progress_ctx;
};

/** Find out whether some of the inputs, as in struct data_make, are JSON Lines (@p objects) or CSV
 *  and TSV (@p tables), which have keys and columns.  Opens no file.  Errors: a path that is not
 *  there, an unknown format. */
enum wsc_err data_input_formats(const char *const *path, int n, const char *format, bool *objects,
                                bool *tables) WSC_CHECKED;

/** Counts of a dataset that was made. */
struct data_made {
    int64_t n_files, n_ignored; /**< inputs; files in folders that were left out */
    /** Documents, and those without text. */
    int64_t n_documents, n_empty;
    int64_t n_bytes, n_tokens; /**< of text; with BOS and EOS */
    /** Samples of each part. */
    int64_t n_samples[DATA_N_PARTS];
    int64_t vocab_size; /**< that a model needs */
    int64_t n_resumed;  /**< tokens that an earlier run had made */
    /** Entropy of the labels of the training part, nats: the loss of a model that knows nothing but
     * how frequent each token is. */
    double unigram_entropy_nats;
};
/** Make a dataset in the Model Zoo's HDF5 form.
 *
 *  Documents are tokenized one after the other into one sequence of N tokens, which is cut into
 *  ceil((N - 1) / T) samples of T + 1 that overlap by one: sample i has input [iT, iT + T), labels
 *  one further, mask 1.  Only the last may be padded.  With use_vsl a sample takes as many whole
 *  documents as fit, in their order; a document of n tokens is n - 1 inputs and the labels after
 *  them, and one of more than T is folded, T inputs at a time.  Shares are exact: round(share x
 *  samples), at least one where the fraction is not 0; unless shuffled, parts are contiguous:
 * train, val, test.
 *
 *  Memory does not grow with the input: tokens go to a file in `<out_dir>/wsc-data.tmp` first.  A
 *  run that was killed resumes where it was when it is started again with the same request, and
 *  makes the same files byte for byte; a state of another request is dropped.  Each of the folders
 *  appears complete or not at all; an existing one is replaced when it is empty or was made by this
 *  function, otherwise refused (WSC_USAGE). */
enum wsc_err data_make_dataset(const struct data_make *make, struct data_made *made) WSC_CHECKED;

/** What `wsc data train-bpe` and `wsc data train-wordpiece` learn merges from. */
struct data_train_bpe {
    const char *const *input; /**< as in struct data_make, like the four that follow */
    /** Entries of `input`. */
    int n_inputs;
    /** Format and key, as in struct data_make. */
    const char *format, *key;
    enum data_errors errors;
    const char *out_dir; /**< gets vocab.json and merges.txt; of WordPiece vocab.txt */
    /** 256 bytes, merges, and <|endoftext|> as the last, from 257; of WordPiece 5 special tokens,
     *  characters and pieces. */
    int64_t vocab_size;
    int64_t min_frequency; /**< of a pair that becomes a token, at least 1 */
    int64_t max_bytes;     /**< of text that is read, at least 1 */
    void (*progress)(void *ctx, const char *what, int64_t done, int64_t total); /**< or NULL */
    void *progress_ctx;
};
/** Counts of merges that were learnt. */
struct data_trained {
    int64_t n_bytes, n_words; /**< of text; different words */
    /** Merges, and ids of the vocabulary, which may be fewer than asked for when pairs run out. */
    int64_t n_merges, vocab_size;
};
/** Learn a byte-level BPE from text (Sennrich et al. 2016, algorithm 1).  Text, size and frequency
 *  decide the result: the most frequent pair first, of equally frequent ones that of the smaller
 *  ids.  Words of more than 1024 bytes are passed over.  Memory grows with the number of different
 *  words. */
enum wsc_err data_train_bpe(const struct data_train_bpe *request,
                            struct data_trained *trained) WSC_CHECKED;
/** Learn a WordPiece vocabulary from text, `<out_dir>/vocab.txt`, by counts as Hugging Face's
 *  trainer does: words of BERT, in lower case and without accents with @p lower, begin as
 *  characters; the most frequent pair becomes a piece, of equally frequent ones that of the smaller
 *  ids.  Characters that occur less than min_frequency times are left out with their words.
 *  WSC_USAGE also when the characters alone are more than vocab_size. */
enum wsc_err data_train_wordpiece(const struct data_train_bpe *request, bool lower,
                                  struct data_trained *trained) WSC_CHECKED;

/** Text of @p n byte-level token ids into @p text (n + 1 bytes, NUL-terminated).  Always valid
 *  UTF-8 without control characters other than tab and newline: what is not becomes '?'. */
void data_decode_bytes(const int32_t *ids, int64_t n, char *text);
#endif
