// SPDX-License-Identifier: Apache-2.0
/* Reads chats of JSON Lines as tokens: an object with `messages`, a list of maps with role and
 * content, or with `prompt` and `completion`; or a pair, `chosen` and `rejected`, each a text after
 * the prompt or a list of messages. A template puts fixed text around the text of each role. The
 * text and what follows it are tokenized separately, so that no token contains parts of a prompt
 * and of an answer. chat_dataset.c calls. */
#include "chat_lines.h"

#include "json_documents.h"

#include <wsc/hash.h>
#include <wsc/log.h>
#include <wsc/mem.h>

#include <string.h>

/* ChatML (OpenAI 2023); Zephyr (Tunstall et al. 2023); Llama 3 (Grattafiori et al. 2024); Alpaca
 * (Taori et al. 2023). */
static const struct data_chat_template templates[] = {
    {"plain", {{"", "\n"}, {"", "\n"}, {"", "\n"}}},
    {"chatml",
     {{"<|im_start|>system\n", "<|im_end|>\n"},
      {"<|im_start|>user\n", "<|im_end|>\n"},
      {"<|im_start|>assistant\n", "<|im_end|>\n"}}},
    {"zephyr",
     {{"<|system|>\n", "</s>\n"}, {"<|user|>\n", "</s>\n"}, {"<|assistant|>\n", "</s>\n"}}},
    {"llama3",
     {{"<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"},
      {"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"},
      {"<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"}}},
    {"alpaca", {{"", "\n\n"}, {"### Instruction:\n", "\n\n"}, {"### Response:\n", "\n\n"}}},
};
static const char *const role_names[] = {"system", "user", "assistant"};

const struct data_chat_template *data_chat_template_at(int i)
{
    const int n = (int)(sizeof templates / sizeof *templates);
    return i >= 0 && i < n ? &templates[i] : NULL;
}

void data_chat_fini(struct data_chat *chat)
{
    wsc_free(chat->id);
    wsc_free(chat->learned);
    wsc_free(chat->text);
    *chat = (struct data_chat){0};
}

/* State while a chat is read. */
struct reader {
    struct data_json json;
    const struct data_chat_template *template;
    const struct data_make *make;
    struct data_chat *chat; /* the chat of `both` that is being read */
    struct data_chat *both; /* one chat, or the two chats of a pair */
    uint64_t prompt;        /* hash of the prompt's text, if it has any */
    bool has_prompt;
    const char *list; /* key of the list that has not shown the prompt yet; or NULL */
};

/* ---- tokens ---------------------------------------------------------------------------------- */

static enum wsc_err reserve(struct data_chat *chat, int64_t more)
{
    const int64_t need = chat->n + more;
    if (need <= chat->room) return WSC_OK;
    const int64_t room = 2 * need;
    int32_t *id;
    bool *learned;
    TRY_MEM(id, wsc_realloc(WSC_MEM_DATA, chat->id, (size_t)room, sizeof *id));
    chat->id = id;
    TRY_MEM(learned, wsc_realloc(WSC_MEM_DATA, chat->learned, (size_t)room, sizeof *learned));
    chat->learned = learned;
    chat->room = room;
    return WSC_OK;
}

static enum wsc_err add_id(struct data_chat *chat, int64_t id, bool learned)
{
    if (id == DATA_NO_ID) return WSC_OK;
    TRY(reserve(chat, 1));
    chat->id[chat->n] = (int32_t)id;
    chat->learned[chat->n++] = learned;
    return WSC_OK;
}

static enum wsc_err add_bytes(struct reader *r, const void *bytes, int64_t n, bool learned)
{
    const struct data_text text = {.bytes = bytes, .n = n, .end = true};
    struct data_chat *chat = r->chat;
    int64_t n_ids = 0, used = 0;
    if (!n) return WSC_OK;
    TRY(reserve(chat, n));
    TRY(data_tokenizer_encode(r->make->tokenizer, &text, chat->id + chat->n, &n_ids, &used));
    for (int64_t i = 0; i < n_ids; i++)
        chat->learned[chat->n++] = learned;
    return WSC_OK;
}

/* Append the text in chat->text as a text of the role. */
static enum wsc_err add_text(struct reader *r, enum data_chat_role role, int64_t n)
{
    const char *before = r->template->role[role].before, *after = r->template->role[role].after;
    const bool answer = role == DATA_CHAT_ASSISTANT;
    TRY(add_bytes(r, before, (int64_t)strlen(before), false));
    TRY(add_bytes(r, r->chat->text, n, answer));
    r->chat->n_bytes += n;
    return add_bytes(r, after, (int64_t)strlen(after), answer);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Reserve @p n bytes in chat->text. */
static enum wsc_err reserve_text(struct data_chat *chat, int64_t n)
{
    unsigned char *text;
    if (n <= chat->text_room) return WSC_OK;
    TRY_MEM(text, wsc_realloc(WSC_MEM_DATA, chat->text, (size_t)(2 * n), 1));
    chat->text = text;
    chat->text_room = 2 * n;
    return WSC_OK;
}

/* Read a whole string into chat->text. */
static enum wsc_err read_string(struct reader *r, int64_t *n)
{
    enum { PIECE = 1 << 12, MOST = 1 << 26 };
    struct data_chat *chat = r->chat;
    *n = 0;
    TRY(data_json_expect(&r->json, '"'));
    for (bool ended = false; !ended;) {
        int64_t got = 0;
        if (*n >= MOST) return data_stream_raise(r->json.stream, "a text of more than 64 MB");
        TRY(reserve_text(chat, *n + PIECE));
        TRY(data_json_string(&r->json, chat->text + *n, chat->text_room - *n, &got, &ended));
        *n += got;
    }
    return WSC_OK;
}

/* Call after an opening brace or bracket was consumed: *empty: the closing one follows. */
static enum wsc_err is_empty(struct reader *r, char close, bool *empty)
{
    int c = 0;
    TRY(data_json_peek(&r->json, &c));
    *empty = c == close;
    if (*empty) data_stream_take(r->json.stream, 1);
    return WSC_OK;
}

static enum wsc_err read_key(struct reader *r, char *key, int64_t size)
{
    TRY(data_json_word(&r->json, key, size));
    return data_json_expect(&r->json, ':');
}

static enum wsc_err read_role(struct reader *r, int *role)
{
    char name[64];
    TRY(data_json_word(&r->json, name, sizeof name));
    for (*role = 0; *role < DATA_CHAT_N_ROLES; ++*role)
        if (!strcmp(role_names[*role], name)) return WSC_OK;
    return data_stream_raise(r->json.stream,
                             "role \"%.40s\" before here, expected system, user or "
                             "assistant",
                             name);
}

/* A key that may ask for something, such as `weight`, `tool_calls` or `name` of a message; the
 * first one is named. */
static enum wsc_err skip_asking(struct reader *r, const char *key)
{
    const struct data_stream *s = r->json.stream;
    if (!r->both->warned)
        WSC_WARNING("%s:%lld: \"%s\" is not read and changes nothing, here and in further chats",
                    s->path, (long long)s->line, key);
    r->both->warned = true;
    return data_json_skip(&r->json);
}

static enum wsc_err read_message_member(struct reader *r, int *role, int64_t *n)
{
    char key[64];
    TRY(read_key(r, key, sizeof key));
    const bool is_role = !strcmp(key, "role"), is_content = !strcmp(key, "content");
    if ((is_role && *role >= 0) || (is_content && *n >= 0))
        return data_stream_raise(r->json.stream, "\"%s\" stands there twice", key);
    if (is_role) return read_role(r, role);
    return is_content ? read_string(r, n) : skip_asking(r, key);
}

static bool is_prompt(const struct reader *r, int64_t n)
{
    return wsc_hash64(r->chat->text, (size_t)n, 0) == r->prompt;
}

/* The lists of a pair are whole chats, so a prompt beside them is lost unless they begin with it.
 */
static void miss_prompt(struct reader *r)
{
    const struct data_stream *s = r->json.stream;
    if (r->list && !r->both->missed_prompt) {
        WSC_WARNING("%s:%lld: \"prompt\" is not read, and the messages of \"%s\" do not begin "
                    "with it, here and perhaps in further pairs of this file; hint: each list "
                    "begins with its prompt as a message",
                    s->path, (long long)s->line, r->list);
        r->both->missed_prompt = true;
    }
    r->list = NULL;
}

/* Look for the prompt in the message in chat->text: it may follow texts of the system. */
static void look_for_prompt(struct reader *r, int role, int64_t n)
{
    if (!r->list) return;
    if (is_prompt(r, n))
        r->list = NULL;
    else if (role != DATA_CHAT_SYSTEM)
        miss_prompt(r);
}

/* Read {"role": ..., "content": ...}, in any order. */
static enum wsc_err read_message(struct reader *r)
{
    int role = -1;
    int64_t n = -1;
    bool more = true, empty = false;
    TRY(data_json_expect(&r->json, '{'));
    TRY(is_empty(r, '}', &empty));
    while (more && !empty) {
        TRY(read_message_member(r, &role, &n));
        TRY(data_json_more(&r->json, '}', &more));
    }
    if (role < 0 || n < 0)
        return data_stream_raise(r->json.stream, "the message before here has no %s",
                                 role < 0 ? "role" : "content");
    look_for_prompt(r, role, n);
    return add_text(r, (enum data_chat_role)role, n);
}

static enum wsc_err read_messages(struct reader *r)
{
    bool more = true, empty = false;
    TRY(data_json_expect(&r->json, '['));
    TRY(is_empty(r, ']', &empty));
    while (more && !empty) {
        TRY(read_message(r));
        TRY(data_json_more(&r->json, ']', &more));
    }
    return WSC_OK;
}

/* Members of a chat or a pair. Each may occur once, and only after members in `after`: texts are
 * not stored, so a prompt must precede its continuation. Those of `what` 0 would change the text;
 * members that the table does not have describe the line. */
enum member { MESSAGES = 1, PROMPT = 2, COMPLETION = 4, CHOSEN = 8, REJECTED = 16 };
static const struct {
    const char *key;
    unsigned what, after;
} members[] = {{"messages", MESSAGES, 0},
               {"prompt", PROMPT, 0},
               {"completion", COMPLETION, PROMPT},
               {"chosen", CHOSEN, PROMPT | REJECTED},
               {"rejected", REJECTED, PROMPT | CHOSEN},
               {"system", 0, 0},
               {"tools", 0, 0},
               {"functions", 0, 0}};
enum { N_MEMBERS = sizeof members / sizeof *members };

/* Both texts of a pair continue the prompt. */
static enum wsc_err share_prompt(struct reader *r)
{
    const struct data_chat *from = &r->both[0];
    struct data_chat *to = &r->both[1];
    to->n = 0;
    TRY(reserve(to, from->n));
    memcpy(to->id, from->id, (size_t)from->n * sizeof *to->id);
    memcpy(to->learned, from->learned, (size_t)from->n * sizeof *to->learned);
    to->n = from->n;
    return WSC_OK;
}

static enum wsc_err read_prompt(struct reader *r)
{
    int64_t n = 0;
    int c = 0;
    TRY(data_json_peek(&r->json, &c));
    if (c == '[')
        return wsc_err_hint(data_stream_raise(r->json.stream, "\"prompt\" is a list of messages, "
                                                              "expected a text"),
                            "put its messages at the beginning of chosen and of rejected, or of "
                            "messages");
    TRY(read_string(r, &n));
    r->prompt = wsc_hash64(r->chat->text, (size_t)n, 0);
    r->has_prompt = n > 0;
    TRY(add_text(r, DATA_CHAT_USER, n));
    return share_prompt(r);
}

static enum wsc_err read_completion(struct reader *r)
{
    int64_t n = 0;
    TRY(read_string(r, &n));
    return add_text(r, DATA_CHAT_ASSISTANT, n);
}

/* Read the chat of one side, after a prompt or without one. */
static enum wsc_err read_list(struct reader *r, const char *key)
{
    r->list = r->has_prompt ? key : NULL;
    r->chat->n = 0;
    TRY(add_id(r->chat, r->make->bos_id, false));
    TRY(read_messages(r));
    miss_prompt(r);
    return WSC_OK;
}

/* Read one text of a pair: the continuation of the prompt, or a chat. */
static enum wsc_err read_side(struct reader *r, struct data_chat *side, const char *key)
{
    int c = 0;
    int64_t n = 0;
    r->chat = side;
    TRY(data_json_peek(&r->json, &c));
    if (c == '[') return read_list(r, key);
    TRY(read_string(r, &n));
    return add_text(r, DATA_CHAT_ASSISTANT, n);
}

static enum wsc_err read_member(struct reader *r, unsigned *seen)
{
    char key[256];
    int i = 0;
    TRY(read_key(r, key, sizeof key));
    while (i < N_MEMBERS && strcmp(members[i].key, key) != 0)
        i++;
    if (i == N_MEMBERS) return data_json_skip(&r->json);
    const unsigned what = members[i].what;
    if (!what) return skip_asking(r, key);
    /* After the texts of a pair, `messages` repeats the chosen chat. */
    const bool repeated = what == MESSAGES && *seen & (CHOSEN | REJECTED);
    if (repeated) return data_json_skip(&r->json);
    const bool completes = what == COMPLETION && *seen != PROMPT;
    if (*seen & what || *seen & ~members[i].after || completes)
        return data_stream_raise(r->json.stream,
                                 "\"%s\" before here: expected messages, or prompt and then "
                                 "completion, or prompt and then chosen and rejected, once",
                                 key);
    *seen |= what;
    if (what == MESSAGES) return read_messages(r);
    if (what & (CHOSEN | REJECTED)) return read_side(r, &r->both[what == REJECTED], members[i].key);
    return what == PROMPT ? read_prompt(r) : read_completion(r);
}

static enum wsc_err read_object(struct reader *r, bool *pair)
{
    const unsigned both = CHOSEN | REJECTED;
    bool more = true, empty = false;
    unsigned seen = 0;
    int c = 0;
    TRY(data_json_expect(&r->json, '{'));
    TRY(is_empty(r, '}', &empty));
    while (more && !empty) {
        TRY(read_member(r, &seen));
        TRY(data_json_more(&r->json, '}', &more));
    }
    *pair = seen & both;
    if (!seen || (*pair && (seen & both) != both))
        return wsc_err_hint(data_stream_raise(r->json.stream, "the object before here is no chat"),
                            "a chat has messages, or prompt and completion; a pair has chosen and "
                            "rejected");
    TRY(data_json_peek(&r->json, &c));
    if (c == '\n' || c < 0) return WSC_OK;
    return data_stream_raise(r->json.stream, "something follows the object on its line");
}

enum wsc_err data_chat_read(struct data_stream *stream, const struct data_chat_template *template,
                            const struct data_make *make, struct data_chat chat[2], bool *found,
                            bool *pair)
{
    struct reader r = {.json = {.stream = stream}, template, make, chat, chat};
    int c = 0;
    *pair = false;
    TRY(data_json_peek(&r.json, &c));
    *found = c >= 0;
    if (!*found) return WSC_OK;
    r.json.one_line = true;
    for (int i = 0; i < 2; i++) {
        chat[i].n = chat[i].n_bytes = 0;
        TRY(add_id(&chat[i], make->bos_id, false));
    }
    TRY(read_object(&r, pair));
    for (int i = 0; i < (*pair ? 2 : 1); i++)
        TRY(add_id(&chat[i], make->eos_id, chat[i].n && chat[i].learned[chat[i].n - 1]));
    return WSC_OK;
}
