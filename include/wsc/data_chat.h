/** Datasets for instruction tuning: chats, of which a model learns the answers alone; and for
 *  preference optimization: pairs of chats.
 *
 *  Each line of the inputs (JSON Lines) is one chat: `{"messages": [{"role": "user", "content":
 *  "..."}, ...]}` with the roles system, user and assistant, or `{"prompt": "...", "completion":
 *  "..."}`.  A template says what stands before and after the text of each role.  A chat is one
 *  sample: its tokens, cut after max_seq_length + 1, padded where there are fewer.  The loss mask
 *  is 1 where the next token is one of an assistant's text, of what ends it, or the EOS.
 *
 *  A line with `chosen` and `rejected`, each the text of an answer after `prompt` or a list of
 *  messages of its own, is a pair: one sample with the rows of both chats.  All lines are chats, or
 *  all are pairs.
 *
 *      TRY(data_make_chats(&make, "chatml", &made));
 *
 *  Implemented in src/data/chat_dataset.c.  Read next: <wsc/data.h> for struct data_make. */
#ifndef WSC_DATA_CHAT_H
#define WSC_DATA_CHAT_H
#include <wsc/data.h>

/** Names of the templates, separated by blanks; static. */
#define DATA_CHAT_TEMPLATES "plain chatml zephyr llama3 alpaca"
/** Make a dataset of chats with the template @p name.  Of @p make, formats and keys, `use_vsl`,
 *  `shuffle`, `test_split` and checkpoint_bytes have no meaning here.  Parts follow each other:
 *  train, then val.  A chat without an assistant's text, or whose answers come after the last
 *  place, is left out and counted in made->n_empty.  WSC_FORMAT with file, line and column;
 *  WSC_USAGE; WSC_IO; WSC_NOMEM. */
enum wsc_err data_make_chats(const struct data_make *make, const char *name,
                             struct data_made *made) WSC_CHECKED;
#endif
