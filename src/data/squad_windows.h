/** Samples of questions about texts, inside `data`: [CLS] question [SEP] text [SEP], with the
 * places of the answer's first and last token; a text that is too long becomes several samples. */
#ifndef WSC_DATA_SQUAD_WINDOWS_H
#define WSC_DATA_SQUAD_WINDOWS_H
#include "squad_json.h"
#include "wordpiece.h"

/** A sample: n of the ids from `at` on, of which the first n_question are the question's. */
struct data_squad_sample {
    int64_t at, n, n_question;
    int64_t first, last;     /**< places of the answer; 0 when it is not there */
    int64_t example, window; /**< number of the question, of the sample among its own */
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
    int64_t n_bytes;
    struct data_squad_scratch *scratch;
};
/** A data_squad_fn: add the samples of a paragraph to the struct data_squad @p ctx. */
enum wsc_err data_squad_take(void *ctx, const struct data_squad_paragraph *p) WSC_CHECKED;
void data_squad_fini(struct data_squad *s);
#endif
