/** Reads one chat after the other from JSON Lines, as tokens with a mark on those that are learned;
 *  chat_dataset.c makes samples of them. */
#ifndef WSC_DATA_CHAT_LINES_H
#define WSC_DATA_CHAT_LINES_H
#include "text_stream.h"

#include <wsc/data_chat.h>

/** Fixed texts around the texts of a chat, for the roles of enum data_chat_role. */
enum data_chat_role { DATA_CHAT_SYSTEM, DATA_CHAT_USER, DATA_CHAT_ASSISTANT, DATA_CHAT_N_ROLES };
struct data_chat_template {
    const char *name;
    struct {
        const char *before, *after;
    } role[DATA_CHAT_N_ROLES];
};
/** Template @p i, in the order of DATA_CHAT_TEMPLATES; NULL: there is none. */
const struct data_chat_template *data_chat_template_at(int i);

/** The tokens of a chat. */
struct data_chat {
    int32_t *id;   /**< owned, n */
    bool *learned; /**< owned, n: the token belongs to an answer */
    int64_t n, room;
    int64_t n_bytes;     /**< of its texts */
    unsigned char *text; /**< owned: the text being read */
    int64_t text_room;
    /* Flags of the first chat of a pair: */
    bool warned;        /**< a key that is not read was named */
    bool missed_prompt; /**< in this file a prompt was named that is not read */
};
void data_chat_fini(struct data_chat *chat);
/** Read the next chat of @p stream into @p chat[0]; if *@p pair, the chosen one there and the
 *  rejected one into @p chat[1]. *@p found false: the file has no more. */
enum wsc_err data_chat_read(struct data_stream *stream, const struct data_chat_template *template,
                            const struct data_make *make, struct data_chat chat[2], bool *found,
                            bool *pair) WSC_CHECKED;
#endif
