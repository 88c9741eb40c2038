/** A reader of Python's pickle format that executes nothing: pickle.c runs the opcodes of plain
 *  data on a stack, torch_weights.c provides the few names that a pickle may use. */
#ifndef WSC_CONVERT_PICKLE_H
#define WSC_CONVERT_PICKLE_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

enum convert_pickle_kind {
    CONVERT_PICKLE_NONE,
    CONVERT_PICKLE_BOOL,
    CONVERT_PICKLE_INT,
    CONVERT_PICKLE_REAL,
    CONVERT_PICKLE_TEXT,
    CONVERT_PICKLE_TUPLE,
    CONVERT_PICKLE_LIST,
    CONVERT_PICKLE_DICT,   /**< items are key, value, key, value */
    CONVERT_PICKLE_GLOBAL, /**< number: index of the allowed name */
    CONVERT_PICKLE_OBJECT, /**< number and text: result of the functions of a name */
    CONVERT_PICKLE_MARK
};
/** A value on the stack. */
struct convert_pickle_value {
    enum convert_pickle_kind kind;
    int length;       /**< of the text */
    int64_t number;   /**< an integer, a truth value, or which collection */
    const char *text; /**< borrowed from the pickle, without a NUL */
};
struct convert_pickle;
/** A name that a pickle may use. */
struct convert_pickle_global {
    const char *name; /**< "collections.OrderedDict" */
    /** Result of a call with @p n arguments; NULL: the name cannot be called. */
    enum wsc_err (*call)(struct convert_pickle *p, const struct convert_pickle_value *arg, int n,
                         struct convert_pickle_value *result);
};
/** The names that a reader allows; all others are refused with name and position. */
struct convert_pickle_rules {
    const struct convert_pickle_global *global;
    int n_globals;
    /** Value of a persistent identifier, a tuple of @p n items. */
    enum wsc_err (*persistent)(struct convert_pickle *p, const struct convert_pickle_value *item,
                               int n, struct convert_pickle_value *result);
    void *ctx; /**< of the functions */
};
/** Read the @p n bytes of a pickle; @p path is for messages; all are borrowed. */
enum wsc_err convert_pickle_run(struct convert_pickle **out, const char *path, const uint8_t *bytes,
                                int64_t n, const struct convert_pickle_rules *rules) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void convert_pickle_destroy(struct convert_pickle **p);
/** The value of the pickle. */
struct convert_pickle_value convert_pickle_result(const struct convert_pickle *p);
/** The context of the rules. */
void *convert_pickle_ctx(const struct convert_pickle *p);
/** An empty dictionary. */
enum wsc_err convert_pickle_dict(struct convert_pickle *p,
                                 struct convert_pickle_value *result) WSC_CHECKED;
/** Store at most @p most items of a collection in @p item. Returns their number. */
int convert_pickle_items(const struct convert_pickle *p, const struct convert_pickle_value *of,
                         struct convert_pickle_value *item, int most);
/** Call @p fn for every key and value of a dictionary, until one fails. */
enum wsc_err convert_pickle_each(
    struct convert_pickle *p, const struct convert_pickle_value *dict,
    enum wsc_err (*fn)(struct convert_pickle *p, const struct convert_pickle_value *key,
                       const struct convert_pickle_value *value)) WSC_CHECKED;
/** Raise "path: data.pkl: byte N: text" with the position of the current opcode. */
enum wsc_err convert_pickle_raise(const struct convert_pickle *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/** True when @p v is the text @p text. */
bool convert_pickle_is(const struct convert_pickle_value *v, const char *text);
#endif
