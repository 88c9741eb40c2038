/** What `wsc data` and `wsc data train-bpe` have in common.
 *
 *  The key or column that holds the text, and the display of progress.
 */
#ifndef WSC_APP_TEXT_INPUT_H
#define WSC_APP_TEXT_INPUT_H
#include "requests.h"

/** Key of JSON Lines or column of tables that holds the text. */
const char *app_text_key(const struct app_text_input *t);
/** Refuse `--jsonl_key` and `--column` where no input has such. */
enum wsc_err app_check_text_input(const struct app_call *call,
                                  const struct app_text_input *t) WSC_CHECKED;

/** The progress function of struct data_make and struct data_train_bpe: bytes, samples, merges. */
void app_show_text_progress(void *unused, const char *what, int64_t done, int64_t total);
#endif
