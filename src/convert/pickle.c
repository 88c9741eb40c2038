// SPDX-License-Identifier: Apache-2.0
/* Reads Python's pickle (protocols 0x80 of 2 to 5; Lib/pickletools.py of CPython describes the
 * opcodes) as data. Opcodes of plain values run on a stack; a name must be in the caller's list,
 * and a call is a function of that list. No opcode imports a module, creates an object of a class
 * or runs code; an opcode that is not in the table is refused with its position. Nothing recurses,
 * so nested values cannot overflow the stack. Items of collections are nodes of one array; every
 * node was a value on the stack, and MAX_VALUES bounds the number of values. */
#include "pickle.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_VALUES = 1 << 21, MAX_NAME = 200, MAX_ARGUMENTS = 8 };

/* An item of a collection; `next` is -1 at the end. */
struct node {
    struct convert_pickle_value value;
    int next;
};
struct collection {
    int first, last, n;
};
struct convert_pickle {
    const char *path;
    const uint8_t *bytes;
    int64_t n, at, opcode; /* opcode: its position */
    const struct convert_pickle_rules *rules;
    struct convert_pickle_value *stack, *memo; /* owned */
    struct node *node;                         /* owned */
    struct collection *collection;             /* owned */
    int n_stack, stack_room, n_memo, memo_room, n_nodes, node_room, n_collections, collection_room;
    int n_values; /* number of values that were ever pushed */
    bool stopped;
};

enum wsc_err convert_pickle_raise(const struct convert_pickle *p, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return WSC_RAISE(WSC_FORMAT, "%s: data.pkl: byte %lld: %s", p->path, (long long)p->opcode,
                     text);
}

/* ---- bytes and the stack --------------------------------------------------------------------- */

/* Take the next @p n bytes. */
static enum wsc_err take(struct convert_pickle *p, int64_t n, const uint8_t **bytes)
{
    *bytes = p->bytes + p->at;
    if (n > p->n - p->at) return convert_pickle_raise(p, "the pickle ends inside an opcode");
    p->at += n;
    return WSC_OK;
}

/* A little-endian number of @p width bytes. */
static enum wsc_err take_number(struct convert_pickle *p, int width, uint64_t *number)
{
    const uint8_t *bytes = NULL;
    *number = 0;
    TRY(take(p, width, &bytes));
    for (int i = width - 1; i >= 0; i--)
        *number = *number << 8 | bytes[i];
    return WSC_OK;
}

static enum wsc_err push(struct convert_pickle *p, struct convert_pickle_value value)
{
    if (++p->n_values > MAX_VALUES)
        return convert_pickle_raise(p, "more than %d values", MAX_VALUES);
    TRY_GROW(p->stack, WSC_MEM_CONVERT, p->stack_room, p->n_stack + 1);
    p->stack[p->n_stack++] = value;
    return WSC_OK;
}

/* Pop the top of the stack, which must be a value and not a mark. */
static enum wsc_err pop(struct convert_pickle *p, struct convert_pickle_value *value)
{
    if (!p->n_stack || p->stack[p->n_stack - 1].kind == CONVERT_PICKLE_MARK)
        return convert_pickle_raise(p, "an opcode has no operand");
    *value = p->stack[--p->n_stack];
    return WSC_OK;
}

/* Number of values above the last mark. */
static enum wsc_err count_to_mark(const struct convert_pickle *p, int *n)
{
    for (*n = 0; *n < p->n_stack; ++*n)
        if (p->stack[p->n_stack - 1 - *n].kind == CONVERT_PICKLE_MARK) return WSC_OK;
    return convert_pickle_raise(p, "an opcode has no mark");
}

/* ---- collections ----------------------------------------------------------------------------- */

static enum wsc_err new_collection(struct convert_pickle *p, enum convert_pickle_kind kind,
                                   struct convert_pickle_value *value)
{
    TRY_GROW(p->collection, WSC_MEM_CONVERT, p->collection_room, p->n_collections + 1);
    p->collection[p->n_collections] = (struct collection){-1, -1, 0};
    *value = (struct convert_pickle_value){.kind = kind, .number = p->n_collections++};
    return WSC_OK;
}

enum wsc_err convert_pickle_dict(struct convert_pickle *p, struct convert_pickle_value *result)
{
    return new_collection(p, CONVERT_PICKLE_DICT, result);
}

static enum wsc_err add_item(struct convert_pickle *p, int64_t to, struct convert_pickle_value v)
{
    struct collection *c = &p->collection[to];
    TRY_GROW(p->node, WSC_MEM_CONVERT, p->node_room, p->n_nodes + 1);
    p->node[p->n_nodes] = (struct node){v, -1};
    if (c->n++)
        p->node[c->last].next = p->n_nodes;
    else
        c->first = p->n_nodes;
    c->last = p->n_nodes++;
    return WSC_OK;
}

/* Append the upper @p n values of the stack to collection @p to. */
static enum wsc_err move_items(struct convert_pickle *p, int n, int64_t to)
{
    p->n_stack -= n;
    for (int i = 0; i < n; i++)
        TRY(add_item(p, to, p->stack[p->n_stack + i]));
    return WSC_OK;
}

int convert_pickle_items(const struct convert_pickle *p, const struct convert_pickle_value *of,
                         struct convert_pickle_value *item, int most)
{
    const struct collection *c = &p->collection[of->number];
    int i = 0;
    for (int at = c->first; at >= 0 && i < most; at = p->node[at].next)
        item[i++] = p->node[at].value;
    return c->n;
}

enum wsc_err convert_pickle_each(struct convert_pickle *p, const struct convert_pickle_value *dict,
                                 enum wsc_err (*fn)(struct convert_pickle *p,
                                                    const struct convert_pickle_value *key,
                                                    const struct convert_pickle_value *value))
{
    for (int at = p->collection[dict->number].first; at >= 0;) {
        const int value = p->node[at].next;
        TRY(fn(p, &p->node[at].value, &p->node[value].value));
        at = p->node[value].next;
    }
    return WSC_OK;
}

/* ---- opcodes: plain values ------------------------------------------------------------------- */

static enum wsc_err op_protocol(struct convert_pickle *p, int width)
{
    uint64_t version;
    TRY(take_number(p, width, &version));
    if (version >= 2 && version <= 5) return WSC_OK;
    return convert_pickle_raise(p, "protocol %llu is not known, only 2 to 5",
                                (unsigned long long)version);
}

/* The length of a frame of protocol 4. Frames only group reads, so they are ignored. */
static enum wsc_err op_frame(struct convert_pickle *p, int width)
{
    uint64_t bytes;
    return take_number(p, width, &bytes);
}

static enum wsc_err op_none(struct convert_pickle *p, int none)
{
    (void)none;
    return push(p, (struct convert_pickle_value){.kind = CONVERT_PICKLE_NONE});
}

static enum wsc_err op_bool(struct convert_pickle *p, int truth)
{
    return push(p, (struct convert_pickle_value){.kind = CONVERT_PICKLE_BOOL, .number = truth});
}

/* BININT has a sign, the shorter ones have none. */
static enum wsc_err op_int(struct convert_pickle *p, int width)
{
    uint64_t bits;
    TRY(take_number(p, width, &bits));
    const int64_t number = width == 4 ? (int32_t)bits : (int64_t)bits;
    return push(p, (struct convert_pickle_value){.kind = CONVERT_PICKLE_INT, .number = number});
}

/* LONG1: two's complement of as many bytes as the first one says; here at most 8. */
static enum wsc_err op_long(struct convert_pickle *p, int width)
{
    uint64_t n, bits;
    TRY(take_number(p, width, &n));
    if (n > 8) return convert_pickle_raise(p, "an integer of %d bytes", (int)n);
    TRY(take_number(p, (int)n, &bits));
    if (n && n < 8 && bits >> (8 * n - 1)) bits |= UINT64_MAX << 8 * n;
    int64_t number;
    memcpy(&number, &bits, sizeof number);
    return push(p, (struct convert_pickle_value){.kind = CONVERT_PICKLE_INT, .number = number});
}

/* A floating-point number: its value is not used, because no tensor depends on it. */
static enum wsc_err op_real(struct convert_pickle *p, int width)
{
    const uint8_t *bytes;
    TRY(take(p, width, &bytes));
    return push(p, (struct convert_pickle_value){.kind = CONVERT_PICKLE_REAL});
}

static enum wsc_err op_text(struct convert_pickle *p, int width)
{
    const uint8_t *bytes = NULL;
    uint64_t n;
    TRY(take_number(p, width, &n));
    TRY(take(p, (int64_t)n, &bytes));
    return push(p, (struct convert_pickle_value){
                       .kind = CONVERT_PICKLE_TEXT, .length = (int)n, .text = (const char *)bytes});
}

/* ---- opcodes: collections -------------------------------------------------------------------- */

static enum wsc_err op_mark(struct convert_pickle *p, int none)
{
    (void)none;
    return push(p, (struct convert_pickle_value){.kind = CONVERT_PICKLE_MARK});
}

static enum wsc_err op_empty(struct convert_pickle *p, int kind)
{
    struct convert_pickle_value made = {0};
    TRY(new_collection(p, (enum convert_pickle_kind)kind, &made));
    return push(p, made);
}

/* A tuple of the upper @p n values. */
static enum wsc_err op_tuple(struct convert_pickle *p, int n)
{
    struct convert_pickle_value made = {0};
    int have = 0;
    while (have < p->n_stack && have < n &&
           p->stack[p->n_stack - 1 - have].kind != CONVERT_PICKLE_MARK)
        have++;
    if (have < n) return convert_pickle_raise(p, "an opcode has no operand");
    TRY(new_collection(p, CONVERT_PICKLE_TUPLE, &made));
    TRY(move_items(p, n, made.number));
    return push(p, made);
}

static enum wsc_err op_tuple_to_mark(struct convert_pickle *p, int none)
{
    struct convert_pickle_value made = {0};
    int n = 0;
    (void)none;
    TRY(count_to_mark(p, &n));
    TRY(new_collection(p, CONVERT_PICKLE_TUPLE, &made));
    TRY(move_items(p, n, made.number));
    p->n_stack--; /* the mark */
    return push(p, made);
}

/* Move the upper @p n values into the collection below them, of kind @p kind. */
static enum wsc_err fill(struct convert_pickle *p, int n, int mark, enum convert_pickle_kind kind)
{
    const int under = p->n_stack - 1 - n - mark;
    if (under < 0 || p->stack[under].kind != kind)
        return convert_pickle_raise(p, "items for what is no %s",
                                    kind == CONVERT_PICKLE_DICT ? "dictionary" : "list");
    if (kind == CONVERT_PICKLE_DICT && n % 2)
        return convert_pickle_raise(p, "a key without a value");
    TRY(move_items(p, n, p->stack[under].number));
    p->n_stack = under + 1;
    return WSC_OK;
}

/* APPEND takes one value, SETITEM a key and a value. */
static enum wsc_err op_item(struct convert_pickle *p, int kind)
{
    const int n = kind == CONVERT_PICKLE_DICT ? 2 : 1;
    for (int i = 0; i < n && i < p->n_stack; i++)
        if (p->stack[p->n_stack - 1 - i].kind == CONVERT_PICKLE_MARK)
            return convert_pickle_raise(p, "an opcode has no operand");
    return fill(p, n, 0, (enum convert_pickle_kind)kind);
}

static enum wsc_err op_items(struct convert_pickle *p, int kind)
{
    int n = 0;
    TRY(count_to_mark(p, &n));
    return fill(p, n, 1, (enum convert_pickle_kind)kind);
}

/* ---- opcodes: the memo ----------------------------------------------------------------------- */

/* Picklers number kept values from 0 on; a larger number would only waste memory, so it is refused.
 */
static enum wsc_err op_put(struct convert_pickle *p, int width)
{
    struct convert_pickle_value kept = {0};
    uint64_t at = (uint64_t)p->n_memo;
    if (width) TRY(take_number(p, width, &at));
    TRY(pop(p, &kept));
    p->n_stack++;
    if (at > (uint64_t)p->n_memo) return convert_pickle_raise(p, "a memo that leaves out numbers");
    if (at == (uint64_t)p->n_memo) {
        if (p->n_memo == MAX_VALUES)
            return convert_pickle_raise(p, "more than %d memos", p->n_memo);
        TRY_GROW(p->memo, WSC_MEM_CONVERT, p->memo_room, p->n_memo + 1);
        p->n_memo++;
    }
    p->memo[at] = kept;
    return WSC_OK;
}

static enum wsc_err op_get(struct convert_pickle *p, int width)
{
    uint64_t at;
    TRY(take_number(p, width, &at));
    if (at >= (uint64_t)p->n_memo) return convert_pickle_raise(p, "a memo that was not made");
    return push(p, p->memo[at]);
}

/* ---- opcodes: names and calls ---------------------------------------------------------------- */

/* Push the name `module.name`, or refuse it with a message that has its printable characters. */
static enum wsc_err push_global(struct convert_pickle *p, const char *module, int n_module,
                                const char *name, int n_name)
{
    char full[2 * MAX_NAME + 2];
    WSC_CHECK(module && name, "a global of no name");
    if (n_module > MAX_NAME || n_name > MAX_NAME)
        return convert_pickle_raise(p, "a global with a name of more than %d bytes", MAX_NAME);
    const int n = n_module + 1 + n_name;
    memcpy(full, module, (size_t)n_module);
    full[n_module] = '.';
    memcpy(full + n_module + 1, name, (size_t)n_name);
    for (int i = 0; i < n; i++)
        if (full[i] < ' ' || full[i] > '~') full[i] = '?';
    full[n] = '\0';
    for (int i = 0; i < p->rules->n_globals; i++)
        if (!strcmp(p->rules->global[i].name, full))
            return push(p,
                        (struct convert_pickle_value){.kind = CONVERT_PICKLE_GLOBAL, .number = i});
    return wsc_err_hint(convert_pickle_raise(p, "%s is not allowed", full),
                        "nothing of the file was executed; weights need no such function");
}

/* A line of the pickle, without its end. */
static enum wsc_err take_line(struct convert_pickle *p, const char **line, int *n)
{
    const uint8_t *at = p->bytes + p->at;
    const int64_t left = p->n - p->at;
    const uint8_t *end = memchr(at, '\n', (size_t)(left < MAX_NAME + 2 ? left : MAX_NAME + 2));
    if (!end) return convert_pickle_raise(p, "a global whose name has no end");
    *line = (const char *)at;
    *n = (int)(end - at);
    p->at += *n + 1;
    return WSC_OK;
}

static enum wsc_err op_global(struct convert_pickle *p, int none)
{
    const char *module = NULL, *name = NULL;
    int n_module = 0, n_name = 0;
    (void)none;
    TRY(take_line(p, &module, &n_module));
    TRY(take_line(p, &name, &n_name));
    return push_global(p, module, n_module, name, n_name);
}

static enum wsc_err op_stack_global(struct convert_pickle *p, int none)
{
    struct convert_pickle_value module = {0}, name = {0};
    (void)none;
    TRY(pop(p, &name));
    TRY(pop(p, &module));
    if (module.kind != CONVERT_PICKLE_TEXT || name.kind != CONVERT_PICKLE_TEXT)
        return convert_pickle_raise(p, "a global whose name is no text");
    return push_global(p, module.text, module.length, name.text, name.length);
}

/* The arguments of a call or of an identifier, which are the items of a tuple. */
static enum wsc_err arguments(struct convert_pickle *p, struct convert_pickle_value *arg, int *n)
{
    struct convert_pickle_value tuple = {0};
    TRY(pop(p, &tuple));
    if (tuple.kind != CONVERT_PICKLE_TUPLE) return convert_pickle_raise(p, "expected a tuple");
    *n = convert_pickle_items(p, &tuple, arg, MAX_ARGUMENTS);
    if (*n <= MAX_ARGUMENTS) return WSC_OK;
    return convert_pickle_raise(p, "a call with %d arguments", *n);
}

static enum wsc_err op_reduce(struct convert_pickle *p, int none)
{
    struct convert_pickle_value arg[MAX_ARGUMENTS], function = {0}, result = {0};
    int n = 0;
    (void)none;
    TRY(arguments(p, arg, &n));
    TRY(pop(p, &function));
    if (function.kind != CONVERT_PICKLE_GLOBAL)
        return convert_pickle_raise(p, "a call of what is no name");
    const struct convert_pickle_global *g = &p->rules->global[function.number];
    if (!g->call) return convert_pickle_raise(p, "%s is not called by torch.save", g->name);
    TRY(g->call(p, arg, n, &result));
    return push(p, result);
}

static enum wsc_err op_persistent(struct convert_pickle *p, int none)
{
    struct convert_pickle_value item[MAX_ARGUMENTS], result = {0};
    int n = 0;
    (void)none;
    TRY(arguments(p, item, &n));
    TRY(p->rules->persistent(p, item, n, &result));
    return push(p, result);
}

/* Attributes of an ordered dictionary (`_metadata` of a module's state) are not tensors, so they
 * are dropped. */
static enum wsc_err op_build(struct convert_pickle *p, int none)
{
    struct convert_pickle_value state = {0}, object = {0};
    (void)none;
    TRY(pop(p, &state));
    TRY(pop(p, &object));
    p->n_stack++;
    if (state.kind == CONVERT_PICKLE_DICT && object.kind == CONVERT_PICKLE_DICT) return WSC_OK;
    return convert_pickle_raise(p, "attributes for what is no dictionary");
}

static enum wsc_err op_stop(struct convert_pickle *p, int none)
{
    (void)none;
    p->stopped = true;
    if (p->n_stack == 1 && p->stack[0].kind != CONVERT_PICKLE_MARK) return WSC_OK;
    return convert_pickle_raise(p, "%d values are left on the stack", p->n_stack);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct {
    enum wsc_err (*run)(struct convert_pickle *p, int argument);
    int argument;
} opcode[256] = {
    [0x80] = {op_protocol, 1},
    [0x95] = {op_frame, 8},
    ['N'] = {op_none, 0},
    [0x88] = {op_bool, 1},
    [0x89] = {op_bool, 0},
    ['J'] = {op_int, 4},
    ['K'] = {op_int, 1},
    ['M'] = {op_int, 2},
    [0x8a] = {op_long, 1},
    ['G'] = {op_real, 8},
    ['X'] = {op_text, 4},
    [0x8c] = {op_text, 1},
    ['T'] = {op_text, 4},
    ['U'] = {op_text, 1},
    ['('] = {op_mark, 0},
    [')'] = {op_empty, CONVERT_PICKLE_TUPLE},
    [']'] = {op_empty, CONVERT_PICKLE_LIST},
    ['}'] = {op_empty, CONVERT_PICKLE_DICT},
    [0x85] = {op_tuple, 1},
    [0x86] = {op_tuple, 2},
    [0x87] = {op_tuple, 3},
    ['t'] = {op_tuple_to_mark, 0},
    ['a'] = {op_item, CONVERT_PICKLE_LIST},
    ['e'] = {op_items, CONVERT_PICKLE_LIST},
    ['s'] = {op_item, CONVERT_PICKLE_DICT},
    ['u'] = {op_items, CONVERT_PICKLE_DICT},
    ['q'] = {op_put, 1},
    ['r'] = {op_put, 4},
    [0x94] = {op_put, 0},
    ['h'] = {op_get, 1},
    ['j'] = {op_get, 4},
    ['c'] = {op_global, 0},
    [0x93] = {op_stack_global, 0},
    ['R'] = {op_reduce, 0},
    ['Q'] = {op_persistent, 0},
    ['b'] = {op_build, 0},
    ['.'] = {op_stop, 0},
};

static enum wsc_err run(struct convert_pickle *p)
{
    while (!p->stopped) {
        const uint8_t *code = NULL;
        p->opcode = p->at;
        TRY(take(p, 1, &code));
        if (!opcode[*code].run)
            return convert_pickle_raise(p, "opcode 0x%02x is not allowed", *code);
        TRY(opcode[*code].run(p, opcode[*code].argument));
    }
    return WSC_OK;
}

enum wsc_err convert_pickle_run(struct convert_pickle **out, const char *path, const uint8_t *bytes,
                                int64_t n, const struct convert_pickle_rules *rules)
{
    struct convert_pickle *p;
    *out = NULL;
    TRY_NEW(p, WSC_MEM_CONVERT, 1);
    *p = (struct convert_pickle){.path = path, .bytes = bytes, .n = n, .rules = rules};
    enum wsc_err rc = run(p);
    if (rc) convert_pickle_destroy(&p);
    *out = p;
    return rc;
}

void convert_pickle_destroy(struct convert_pickle **p)
{
    if (!*p) return;
    wsc_free((*p)->stack);
    wsc_free((*p)->memo);
    wsc_free((*p)->node);
    wsc_free((*p)->collection);
    wsc_free(*p);
    *p = NULL;
}

struct convert_pickle_value convert_pickle_result(const struct convert_pickle *p)
{
    return p->stack[0];
}

void *convert_pickle_ctx(const struct convert_pickle *p)
{
    return p->rules->ctx;
}

bool convert_pickle_is(const struct convert_pickle_value *v, const char *text)
{
    return v->kind == CONVERT_PICKLE_TEXT && v->length == (int)strlen(text) &&
           !memcmp(v->text, text, (size_t)v->length);
}
