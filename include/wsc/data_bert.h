/** Datasets for encoders of BERT's kind, in the layouts of the Model Zoo's data loaders: masked
 *  tokens, with or without pairs of sentences, and questions with answers as spans of a text.
 *
 *  The loader's name says what is made:
 *
 *  | loader                            | files                                                    |
 *  |-----------------------------------|----------------------------------------------------------|
 *  | `BertHDF5DataProcessor`           | HDF5, masked tokens with their places; no pairs, packed  |
 *  | `BertCSVDataProcessor`            | CSV, masked tokens, pairs of sentences or none           |
 *  | `BertCSVDynamicMaskDataProcessor` | CSV of tokens that the loader masks when it reads them   |
 *  | `BertQADataProcessor`             | CSV of questions, texts and the places of answers        |
 *
 *  Samples and masks are functions of the text, the request and its seed.  Implemented in
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
/** The most that dupe_factor may be. */
enum { DATA_BERT_MOST_ROUNDS = 1000 };
/** How samples are made. */
struct data_bert {
    const char *loader;    /**< one of DATA_BERT_LOADERS; borrowed */
    bool disable_nsp;      /**< no pairs: a sample is one piece of a document */
    bool whole_word;       /**< all pieces of a word are masked together */
    double share;          /**< of the tokens that are predicted */
    double short_share;    /**< of the documents whose pairs are made shorter than T */
    int64_t most;          /**< masked tokens of a sample, at most */
    int64_t dupe_factor;   /**< how often train has each document, with other pairs and masks */
    int64_t stride;        /**< tokens between two samples of one text that is too long */
    int64_t most_question; /**< tokens of a question, at most */
};
/** Does @p bert pair sentences?  Its tokenizer marks their ends then. */
bool data_bert_pairs(const struct data_bert *bert);
/** Make the dataset: `train/` and `val/` below make->out_dir.
 *
 *  Pairs are those of BERT's own program (Devlin et al. 2019, A.2; create_pretraining_data.py):
 *  sentences of one document until T is reached, of which the first ones are the first text; the
 *  second text is what follows or, in half of the samples, sentences of another document of the
 * same part.  Without pairs a sample has T - 2 tokens of one document or, with make->use_vsl
 * (HDF5), as many whole texts as fit, which do not see each other.  All of this is done dupe_factor
 *  times for train, once for val; a loader that masks when it reads has 1.  Of the fields of @p
 * make, `shuffle`, share[DATA_TEST], ids of marks and `type` have no meaning here.  Documents
 * resume as those of data_make_dataset(); questions are read again.
 *
 *  Inputs of BertQADataProcessor are JSON as SQuAD's (versions 1.1 and 2.0): a question whose
 * answer is not in its text is left out and counted in made->n_empty.  WSC_USAGE, WSC_FORMAT with
 * file, line and column, WSC_IO, WSC_NOMEM. */
enum wsc_err data_make_bert(const struct data_make *make, const struct data_bert *bert,
                            struct data_made *made) WSC_CHECKED;
#endif
