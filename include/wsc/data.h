/** Data: reads the samples of a step from datasets, tokenizes text and makes datasets.
 *
 *  The order of samples is a function of (seed, epoch): samples [first, first + n) of the stream do
 *  not depend on the number of systems or ranks, or on the reader. Each wafer therefore reads its
 *  own share, no rank distributes samples, and a restart needs only the number of samples read so
 *  far. The second half of the header has the tokenizers and makes datasets from text (`wsc data`).
 *
 *      TRY(data_source_open(&source, &params->train_input, T, vocab_size));
 *      TRY(data_batch_create(&batch, n, T));
 *      TRY(data_source_read(source, first, n, batch));
 *      use(batch->input_ids, batch->labels, batch->mask);
 *      data_batch_destroy(&batch);
 *      data_source_close(&source);
 *
 *  No function is collective. Errors: WSC_IO and WSC_FORMAT name the file, with line and column of
 *  texts; WSC_CONFIG names the key; WSC_USAGE is a contradictory request. Start with
 *  data_source_read(). */
#ifndef WSC_DATA_H
#define WSC_DATA_H
#include <wsc/err.h>
#include <wsc/store.h>
#include <wsc/zoo.h>

#include <stdbool.h>
#include <stdint.h>

/** Sets of an evaluation with MNLIDataProcessor: pairs of sentences from the sources of the
 * training pairs (dev_matched.tsv), and from others (dev_mismatched.tsv). */
enum data_mnli_set { DATA_MNLI_MATCHED, DATA_MNLI_MISMATCHED, DATA_MNLI_SETS };

/** Tokens of consecutive samples of the stream, each (n, T) row-major, owned. */
struct data_batch {
    /** Sequences in the batch, capacity in sequences, tokens of a sequence. */
    int64_t n, n_max, T;
    /** labels at positions with mask 0 are 0 when out of range; of MNLIDataProcessor the first
     * label of a sequence is its enum data_mnli_set. */
    int32_t *input_ids, *labels;
    int32_t *mask; /**< loss mask, 0 or 1 */
    /** For variable-length sequences, otherwise NULL. attention_span: number of later positions
     *  that may attend to a token, 0 to T. position_ids: its position in its own text, 0 to T - 1.
     */
    int32_t *attention_span, *position_ids;
    /** For encoders, otherwise NULL. attends (n, T): 1 for a token that others attend to, 0 for
     *  padding. token_types (n, T): type of each token. targets (n): class or target of a sequence.
     */
    int32_t *attends, *token_types;
    float *targets;
};
/** Allocate a batch for @p n_max samples of @p T tokens; n is 0. The first read of variable-length
 *  sequences allocates their two arrays. WSC_NOMEM; *@p out is NULL then. */
enum wsc_err data_batch_create(struct data_batch **out, int64_t n_max, int64_t T) WSC_CHECKED;
/** Number of tokens of sample @p i that the loss counts. */
int64_t data_batch_counted(const struct data_batch *batch, int64_t i);
/** Release *@p batch and null it; NULL inside allowed. */
void data_batch_destroy(struct data_batch **batch);

/** Set the classes of token labels that the F1 of an evaluation leaves out, as the Model Zoo does:
 *  those of @p n_classes whose label in the file @p path (label_vocab_file) does not begin with B
 *  or I. Errors of the file as data_source_open(). */
enum wsc_err data_labels_ignored(const char *path, bool *ignored, int64_t n_classes) WSC_CHECKED;

/** A wafer's part of a micro-batch. A leaf is a micro-shard, a leaf of the canonical tree:
 *  `reduction_leaf` consecutive samples, whose gradient is computed separately. */
struct data_share {
    int64_t first_leaf, end_leaf; /**< global leaf indices; empty when equal */
    int64_t n_leaves;             /**< leaves of the whole global batch */
    int64_t leaf_samples;         /**< sequences of a leaf; the batch's last leaf may have fewer */
    int64_t batch_size;           /**< sequences of the global batch */
    /** Step from 0, counted from the first run; an input of dropout. */
    int64_t step;
};
/** Positions [first, end) of a text; none when equal. */
struct data_range {
    int64_t first, end;
};
/** A step of generation on the texts of a batch; all borrowed. */
struct data_step {
    const struct data_range *positions; /**< positions of each text that the step computes */
    /** Beam search: number of texts of one prompt, which are adjacent in the batch; 0 and 1: one.
     */
    int64_t n_beams;
    /** For each text, the text of its prompt that it continues: the earlier positions are copied
     *  from that text. NULL: every text continues itself. */
    const int64_t *from;
};

/** The samples of one input section: all *.h5 files of its directories, sorted by path. With
 *  data_subset, only the samples in its ranges.
 *
 *  Mixtures follow the Model Zoo. The weights give the fraction of each data set in an epoch. An
 *  epoch is long enough to contain every sample of the sets above 5 %; shorter sets are repeated.
 *  With shuffling all samples of an epoch are permuted; otherwise the samples of each set are in
 *  order, spread evenly over the epoch. */
struct data_source;
/** Open a source. It checks shape, types and attribute n_examples of every file, and that the
 *  sequence length is @p T. Errors name file and hint. @p vocab_size bounds the token ids (checked
 *  when read); those of targets of encoder-decoders are bounded by n_labels of @p input. Corpus
 * files (rank 1) are cut into samples of T. Only a few files are open at a time. Not collective:
 * each rank opens its own source. */
enum wsc_err data_source_open(struct data_source **out, const struct zoo_input *input, int64_t T,
                              int64_t vocab_size) WSC_CHECKED;
/** Close all files; NULL allowed. */
void data_source_close(struct data_source **source);
/** Number of samples of one epoch: N of data_source_read(). */
int64_t data_source_n_samples(const struct data_source *source);
/** Number of pairs of lines of translations that are no sample, because a side is empty or too
 *  long. */
int64_t data_source_left_out(const struct data_source *source);
/** Number of samples that an epoch has of data set @p k, from 0, of the section. */
int64_t data_source_n_of_set(const struct data_source *source, int k);
/** Number of sentinels that samples of span corruption with sources of @p T_source tokens use. */
int64_t data_span_sentinels(int64_t T_source);
/** Read samples [first, first + n) of the endless stream into @p batch (n <= its n_max). A pair
 *  takes two sequences, the chosen one first (2 n <= n_max). Sample g is element g mod N in the
 *  order of epoch g / N (the identity without shuffling). N is num_samples if given, which may be
 *  less than the samples of the files, or more, with copies. Fails after N samples unless `repeat`.
 */
enum wsc_err data_source_read(struct data_source *source, int64_t first, int64_t n,
                              struct data_batch *batch) WSC_CHECKED;

/** Size and hash of a file of a source. */
struct data_file_sum {
    const char *path; /**< borrowed from the source */
    int64_t size;     /**< bytes */
    uint64_t hash;    /**< hash of all its bytes, or of blocks of 1 MiB spread evenly over it */
    bool whole;       /**< all bytes are in the hash */
};
/** Compute sizes and hashes of all *@p n files of @p source, in its order, then of the vocabulary
 *  and the labels that it reads, to compare copies on several hosts. *@p sums is owned by the
 * caller. At most @p most bytes are read, plus two blocks of 1 MiB of each file; when the files
 * have more bytes, @p most is divided evenly among them. */
enum wsc_err data_source_sums(const struct data_source *source, int64_t most,
                              struct data_file_sum **sums, int *n) WSC_CHECKED;

/* ---- tokenizers ------------------------------------------------------------------------------ */

/** A tokenizer, which converts text to token ids: bytes, a byte-level BPE as in GPT-2, or
 *  WordPiece. Only one thread may use it at a time, because it caches words. */
struct data_tokenizer;
/** Kinds of tokenizers of decoders; WordPiece is for data of encoders. */
#define DATA_TOKENIZERS "byte bpe"
/** The kind that is taken when none is asked for. */
#define DATA_DEFAULT_TOKENIZER "byte"
/** Open a tokenizer: @p kind is "byte" (256 ids) or "bpe", which needs the files vocab.json and
 *  merges.txt; they are NULL with "byte".  Errors name file, line and column; *@p out is NULL then.
 */
enum wsc_err data_tokenizer_open(struct data_tokenizer **out, const char *kind, const char *vocab,
                                 const char *merges) WSC_CHECKED;
/** Open a tokenizer of the WordPiece kind (BERT): @p vocab is a vocab.txt or a tokenizer.json, @p
 *  lower puts texts and vocabulary into lower case without accents. White space and case are lost,
 *  so ids do not determine the text. With @p sentences [SEP] follows each sentence, and [PAD] a
 *  line without text, which ends a document. Errors name the file; *@p out is NULL then. */
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
    bool end; /**< the text ends here; false: the last word may be left for the next call */
};
/** Encode the whole words of @p text: *used bytes of it, all bytes with text->end. There are at
 *  most as many ids as bytes. Except for WordPiece, the concatenated bytes of the ids are the text,
 *  for any bytes. Special tokens are never made from text. */
enum wsc_err data_tokenizer_encode(struct data_tokenizer *t, const struct data_text *text,
                                   int32_t *ids, int64_t *n_ids, int64_t *used) WSC_CHECKED;

/** Bytes of the character at the start of @p text, of UTF-8 with a NUL at its end, if it is white
 *  space as Python's str.isspace() has it, else 0. */
int data_space_length(const char *text);

/* ---- making datasets ------------------------------------------------------------------------- */

/** Treatment of bytes that are not UTF-8 (Python's names, except the last). */
enum data_errors {
    DATA_ERRORS_STRICT,  /**< an error with file, line and column */
    DATA_ERRORS_REPLACE, /**< U+FFFD for each longest part of a character (Unicode 14, 3.9, U+FFFD
                              substitution of maximal subparts) */
    DATA_ERRORS_KEEP     /**< the bytes as they are */
};
/** Part of a dataset: a folder of its own. */
enum data_part_name { DATA_TRAIN, DATA_VAL, DATA_TEST, DATA_N_PARTS };
/** Names of the formats of texts. */
#define DATA_TEXT_FORMATS "text jsonl csv tsv"
/** Value for "no token": no BOS or EOS is added. */
#define DATA_NO_ID (-1)

/** Request of `wsc data`: inputs, tokenizer and form of a dataset. */
struct data_make {
    /** Files (plain, gzip or zstd) and folders. All files below a folder are read in the order of
     *  their paths, except those with an unknown extension. Text: a file is one document. JSON
     *  Lines: the string @p key of each line. CSV, TSV: the column @p key of each row. */
    const char *const *input;
    /** Entries of `input`, at least 1. */
    int n_inputs;
    /** A word of DATA_TEXT_FORMATS; NULL: by the extension, otherwise text. */
    const char *format;
    const char *key; /**< key of the text in objects, or its column in tables */
    /** What to do with bytes that are not UTF-8. */
    enum data_errors errors;
    struct data_tokenizer *tokenizer; /**< borrowed */
    /** Put before and after each document that is not empty; DATA_NO_ID: none. */
    int64_t bos_id, eos_id;
    int64_t pad_id;      /**< input and label of the positions after the text, mask 0 */
    const char *out_dir; /**< gets train/, val/ and test/ with .h5 files and data_params.json */
    int64_t T;           /**< max_seq_length */
    /** Pack whole texts in a sample, without attention between them; needs an EOS. */
    bool use_vsl;
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

/** Counts of a completed dataset. */
struct data_made {
    int64_t n_files, n_ignored; /**< inputs; files in folders that were left out */
    /** Documents, and those without text. */
    int64_t n_documents, n_empty;
    int64_t n_further;         /**< further answers of questions, which are not learned */
    int64_t n_bytes, n_tokens; /**< of text; with BOS and EOS */
    /** Samples of each part. */
    int64_t n_samples[DATA_N_PARTS];
    int64_t vocab_size; /**< smallest vocabulary of a model for the dataset */
    int64_t n_resumed;  /**< tokens taken from an interrupted run */
    /** Entropy of the labels of the training part, nats: the loss of a model that predicts each
     *  token by its frequency. */
    double unigram_entropy_nats;
};
/** Make a dataset in the Model Zoo's HDF5 form.
 *
 *  Documents are tokenized one after the other into one sequence of N tokens. It is cut into
 *  ceil((N - 1) / T) samples of T + 1 tokens that overlap by one: sample i has inputs [iT, iT + T),
 *  labels shifted by one, mask 1. Only the last sample may be padded. With use_vsl a sample has as
 *  many whole documents as fit, in their order. A document of n tokens has n - 1 inputs with their
 *  labels; a longer document than T inputs is divided into pieces of T inputs. Parts are exact:
 *  round(share x samples), at least one sample where the share is not 0. Unless shuffled, parts are
 *  contiguous: train, val, test.
 *
 *  Memory does not grow with the input, because tokens are first written to a file in
 *  `<out_dir>/wsc-data.tmp`. A killed run that is started again with an equal request resumes, and
 *  its files are identical byte for byte; the state of another request is dropped. Each folder
 *  appears complete or not at all. An existing folder is replaced when it is empty or was made by
 *  this function; otherwise WSC_USAGE. */
enum wsc_err data_make_dataset(const struct data_make *make, struct data_made *made) WSC_CHECKED;

/** Request of `wsc data train-bpe` and `wsc data train-wordpiece`. */
struct data_train_bpe {
    const char *const *input; /**< as in struct data_make, like the four that follow */
    /** Entries of `input`. */
    int n_inputs;
    /** Format and key, as in struct data_make. */
    const char *format, *key;
    enum data_errors errors;
    const char *out_dir; /**< output folder of vocab.json and merges.txt; WordPiece: vocab.txt */
    /** BPE: 256 bytes, merges and <|endoftext|> as the last, at least 257. WordPiece: 5 special
     *  tokens, characters and pieces. */
    int64_t vocab_size;
    int64_t min_frequency; /**< of a pair that becomes a token, at least 1 */
    int64_t max_bytes;     /**< of text that is read, at least 1 */
    void (*progress)(void *ctx, const char *what, int64_t done, int64_t total); /**< or NULL */
    void *progress_ctx;
};
/** Counts of a trained tokenizer. */
struct data_trained {
    int64_t n_bytes, n_words; /**< of text; different words */
    /** Merges, and ids of the vocabulary, which may be fewer than requested when there are no more
     *  pairs. */
    int64_t n_merges, vocab_size;
};
/** Learn a byte-level BPE from text (Sennrich et al. 2016, algorithm 1). The most frequent pair is
 *  merged first; among equally frequent ones the pair with the smaller ids. Words of more than 1024
 *  bytes are skipped. The result depends only on text, size and frequency. Memory grows with the
 *  number of different words. */
enum wsc_err data_train_bpe(const struct data_train_bpe *request,
                            struct data_trained *trained) WSC_CHECKED;
/** Learn a WordPiece vocabulary from text, `<out_dir>/vocab.txt`, by counts like Hugging Face's
 *  trainer. Words are those of BERT, with @p lower in lower case and without accents, and start as
 *  characters. The most frequent pair becomes a piece; among equally frequent ones the pair with
 *  the smaller ids. Characters that occur less than min_frequency times are left out with their
 *  words. WSC_USAGE also when there are more characters than vocab_size. */
enum wsc_err data_train_wordpiece(const struct data_train_bpe *request, bool lower,
                                  struct data_trained *trained) WSC_CHECKED;

/** Convert @p n byte-level token ids to text in @p text (n + 1 bytes, NUL-terminated). The text is
 *  always valid UTF-8 without control characters other than tab and newline; other bytes become
 *  '?'. */
void data_decode_bytes(const int32_t *ids, int64_t n, char *text);
#endif
