/** Division of a corpus of WordPiece tokens into samples of BERT, inside `data`: pieces of
 *  documents, or pairs of texts of whole sentences. In the corpus [SEP] ends a sentence and [PAD] a
 *  document. */
#ifndef WSC_DATA_BERT_LAYOUT_H
#define WSC_DATA_BERT_LAYOUT_H
#include "corpus.h"
#include "wordpiece.h"

#include <wsc/data_bert.h>

/** Tokens [skip, skip + n) of the tokens from `first` on in the corpus, without the marks. */
struct data_bert_piece {
    int64_t first;
    int64_t length; /**< tokens with marks, as they lie in the corpus */
    int64_t skip, n;
};
/** A sample: one piece or two, or packed texts. */
struct data_bert_sample {
    struct data_bert_piece piece[2];
    int64_t first_text, n_texts; /**< packed texts of the layout; none: it has the pieces */
    bool pair, random;           /**< random: the second text is of another document */
    uint64_t draw;               /**< number of its random masks, which no other sample has */
};
/** Samples in the order of the text: those of train, as often as the request says, then those of
 *  val. */
struct data_bert_layout {
    struct data_bert_sample *sample; /**< owned */
    struct data_bert_piece *text;    /**< owned: packed texts in their order; NULL: none */
    int64_t n, room, n_train;
};
/** The input of samples; all borrowed. */
struct data_bert_source {
    struct data_corpus *corpus;
    const struct data_make *make;
    const struct data_bert *bert;
    const struct data_wordpiece *words;
};
/** Lay out the finished corpus.  WSC_USAGE when there are too few samples or documents.  Release
 * with data_bert_layout_fini(), also after an error. */
enum wsc_err data_bert_lay(struct data_bert_layout *layout,
                           const struct data_bert_source *source) WSC_CHECKED;
void data_bert_layout_fini(struct data_bert_layout *layout);
#endif
