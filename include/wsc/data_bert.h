/** Datasets for encoders of BERT's kind, in the layouts of the Model Zoo's data loaders: masked
 *  tokens, with or without pairs of sentences, and questions with answers as spans of a text.
 *
 *  The name of the loader decides the files:
 *
 *  | loader                            | files                                                    |
 *  |-----------------------------------|----------------------------------------------------------|
 *  | `BertHDF5DataProcessor`           | HDF5, masked tokens, their positions; no pairs, packed   |
 *  | `BertCSVDataProcessor`            | CSV, masked tokens, pairs of sentences or none           |
 *  | `BertCSVDynamicMaskDataProcessor` | CSV of tokens that the loader masks when it reads them   |
 *  | `BertQADataProcessor`             | CSV of questions, texts and the positions of answers     |
 *
 *  The text, the request and its seed determine samples and masks. Implemented in
 *  src/data/bert_dataset.c.
 *
 *      TRY(data_tokenizer_open_wordpiece(&t, "vocab.txt", true, data_bert_pairs(&bert)));
 *      TRY(data_make_bert(&make, &bert, &made));
 *
 *  Read next: <wsc/data.h> for struct data_make. */
#ifndef WSC_DATA_BERT_H
#define WSC_DATA_BERT_H
#include <wsc/data.h>

#include <stdbool.h>
#include <stdint.h>

/** Names of the loaders, separated by blanks; static. */
#define DATA_BERT_LOADERS                                                                          \
    "BertHDF5DataProcessor BertCSVDataProcessor BertCSVDynamicMaskDataProcessor "                  \
    "BertQADataProcessor"
/** Maximum of dupe_factor. */
enum { DATA_BERT_MOST_ROUNDS = 1000 };
/** Parameters of the samples. */
struct data_bert {
    const char *loader;    /**< one of DATA_BERT_LOADERS; borrowed */
    bool disable_nsp;      /**< no pairs of sentences: a sample is one piece of a document */
    bool whole_word;       /**< all pieces of a word are masked together */
    double share;          /**< fraction of the tokens that are masked and predicted */
    double short_share;    /**< fraction of the documents with pairs shorter than T */
    int64_t most;          /**< maximum number of masked tokens of a sample */
    int64_t dupe_factor;   /**< copies of each document in train, with different pairs and masks */
    int64_t stride;        /**< distance of two samples of one long text, in tokens */
    int64_t most_question; /**< maximum number of tokens of a question */
};
/** True if @p bert makes pairs of sentences; the tokenizer must then mark ends of sentences. */
bool data_bert_pairs(const struct data_bert *bert);
/** Make the dataset: `train/` and `val/` below make->out_dir.
 *
 *  Pairs are made like those of BERT (Devlin et al. 2019, A.2; create_pretraining_data.py):
 *  sentences of one document are collected until T is reached; the first ones are the first text.
 *  The second text is the rest or, in half of the samples, sentences of another document of the
 * same part. Without pairs a sample has T - 2 tokens of one document or, with make->use_vsl (HDF5),
 * as many whole texts as fit, without attention between them. This is repeated dupe_factor times
 * for train, and done once for val; dupe_factor is 1 for a loader that masks when it reads. The
 * fields `shuffle`, share[DATA_TEST], ids of marks and `type` of @p make are not used. An
 * interrupted run resumes documents like data_make_dataset(); questions are read again.
 *
 *  Inputs of BertQADataProcessor are JSON files in the format of SQuAD (versions 1.1 and 2.0). A
 *  question whose answer is not in its text is left out and counted in made->n_empty. WSC_USAGE,
 *  WSC_FORMAT with file, line and column, WSC_IO, WSC_NOMEM. */
enum wsc_err data_make_bert(const struct data_make *make, const struct data_bert *bert,
                            struct data_made *made) WSC_CHECKED;
#endif
