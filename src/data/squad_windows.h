/** Samples of questions about texts, inside `data`: [CLS] question [SEP] text [SEP], with the
 *  positions of the answer's first and last token. A text that is too long becomes several samples.
 *  */
#ifndef WSC_DATA_SQUAD_WINDOWS_H
#define WSC_DATA_SQUAD_WINDOWS_H
#include "squad_json.h"
#include "wordpiece.h"

/** A sample: n of the ids from `at` on, of which the first n_question are the question's. */
struct data_squad_sample {
    int64_t at, n, n_question;
    int64_t first, last; /**< positions of the answer; 0 if the window does not have it */
    /** number of the question, and of the sample among those of the question */
    int64_t example, window;
    bool impossible;
};
/** The samples of all questions; owned but for `words`. */
struct data_squad {
    const struct data_wordpiece *words;
    int64_t T, stride, most_question;
    struct data_squad_sample *sample;
    int64_t n, room;
    int32_t *ids;
    int64_t n_ids, ids_room;
    int64_t n_questions, n_left_out; /**< left out: the answer is not in its text */
    int64_t n_further;               /**< answers after the first one of their question, left out */
    int64_t n_bytes;
    struct data_squad_scratch *scratch;
};
/** A data_squad_fn: add the samples of a paragraph to the struct data_squad @p ctx. */
enum wsc_err data_squad_take(void *ctx, const struct data_squad_paragraph *p) WSC_CHECKED;
void data_squad_fini(struct data_squad *s);
#endif
