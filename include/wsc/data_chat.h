/** Datasets for instruction tuning (chats, of which a model learns only the answers) and for
 *  preference optimization (pairs of chats).
 *
 *  Each line of the inputs (JSON Lines) is one chat: `{"messages": [{"role": "user", "content":
 *  "..."}, ...]}` with the roles system, user and assistant, or `{"prompt": "...", "completion":
 *  "..."}`. A template gives the text before and after the text of each role. A chat is one sample:
 *  its tokens, truncated to max_seq_length + 1 and padded if there are fewer. The loss mask is 1
 *  where the next token belongs to the text of an assistant or to the text that ends it, or is the
 *  EOS.
 *
 *  A line with `chosen` and `rejected` is a pair: one sample with the rows of both chats. Each of
 *  the two is the text of an answer after `prompt`, or a separate list of messages. Either all
 * lines are chats or all are pairs.
 *
 *      TRY(data_make_chats(&make, "chatml", &made));
 *
 *  Implemented in src/data/chat_dataset.c.  Read next: <wsc/data.h> for struct data_make. */
#ifndef WSC_DATA_CHAT_H
#define WSC_DATA_CHAT_H
#include <wsc/data.h>

/** Names of the templates (the table of src/data/chat_lines.c), separated by blanks; static. */
#define DATA_CHAT_TEMPLATES "plain chatml zephyr llama3 alpaca"
/** Make a dataset of chats with the template @p name: train, then val. Formats and keys, `use_vsl`,
 *  `shuffle`, `test_split` and checkpoint_bytes of @p make are not used. A chat without the text of
 *  an assistant, or with all answers after the last position, is left out and counted in
 *  made->n_empty. WSC_FORMAT with file, line and column; WSC_USAGE; WSC_IO; WSC_NOMEM. */
enum wsc_err data_make_chats(const struct data_make *make, const char *name,
                             struct data_made *made) WSC_CHECKED;
#endif
