/** Configuration engine: YAML files to plain structs, through tables of keys.  Layer 1.
 *
 *  A file is parsed into a tree (struct conf_node); a table with one row per key (struct conf_key)
 *  drives types, units, defaults, ranges, `--set`, the dump and docs/CONFIG.md.  The tables are
 *  those of <wsc/zoo.h> (params files) and <wsc/hw.h> (machine files).  All errors of a file are
 *  reported together, each as `file:line:col: key: what; hint`, as one WSC_CONFIG error.
 *
 *  Not collective: rank 0 reads the bytes, every rank parses the same bytes.
 *  Start reading at struct conf_key.
 */
#ifndef WSC_CONF_H
#define WSC_CONF_H
#include <wsc/err.h>
#include <wsc/units.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Integer keys that may also be `null` or "auto". */
#define CONF_NULL    (-2147483647LL)
#define CONF_AUTO    (-2147483646LL)
#define CONF_EXPLORE (-2147483645LL)

enum {
    CONF_MAX_DEPTH = 64,      /**< nesting of a file, aliases followed */
    CONF_MAX_NODES = 1000000, /**< nodes of a file, aliases followed */
    CONF_MAX_MAP = 512,       /**< keys of one map */
    CONF_MAX_ANCHORS = 512,
    CONF_MAX_ERRORS = 50, /**< reported; the rest is counted */
    CONF_MAX_WARNINGS = 200,
    CONF_MAX_PATH = 192,
    CONF_QUOTE_BYTES = 64,
    CONF_QUOTE_PATH_BYTES = 128,
    CONF_MAX_FILES = 8, /**< cluster files that are based on each other */
    CONF_MAX_ORIGINS = 1024
};

/** One warning of a parse: something accepted, but without effect or suspicious. */
struct conf_warning {
    char *text; /**< owned, with file:line:col where there is one */
};

/** `--set path=value`, in the order given; paths under `cluster.` belong to the cluster file.
 *  `cluster.faults+=KIND:KEY=VALUE,...` is one more fault. */
struct conf_set {
    const char *text; /**< borrowed */
};
/** Read a whole file; *@p bytes is owned by the caller and ends with an extra NUL.  Refuses more
 *  than 16 MiB. */
enum wsc_err conf_read_file(const char *path, char **bytes, size_t *n_bytes) WSC_CHECKED;

/* ---- problems -------------------------------------------------------------------------------- */

/** Where: line and column from 1; line 0 is the whole file, line < 0 is `--set` number -line. */
struct conf_pos {
    int line, column;
    int file; /**< 0: the file itself; from 1: what it is based on, nearest first */
};

/** A key of the runconfig style that stands elsewhere in the user's file: messages name that. */
struct conf_origin {
    const char *key, *user;
};

/** Collects the errors and warnings of one file. */
struct conf_diag {
    const char *file;
    const char *base[CONF_MAX_FILES]; /**< files that it is based on */
    int reading;                      /**< which of them is being parsed, as in conf_pos */
    const struct conf_set *sets;
    int n_sets;
    struct conf_origin origin[CONF_MAX_ORIGINS];
    int n_origins;
    int trainer; /**< of a list of trainers: its number, from 1; else 0 */
    char *error[CONF_MAX_ERRORS];
    int n_errors;                  /**< may exceed CONF_MAX_ERRORS */
    struct conf_warning **warning; /**< the list to extend; NULL drops warnings */
    int *n_warnings;
    bool no_memory;
};
/** Add an error, or a warning, about @p key (NULL: none) at @p pos. */
void conf_diag_error(struct conf_diag *d, struct conf_pos pos, const char *key, const char *fmt,
                     ...) __attribute__((format(printf, 4, 5)));
void conf_diag_warn(struct conf_diag *d, struct conf_pos pos, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/** One raise for all errors, WSC_OK when there were none; releases the list either way. */
enum wsc_err conf_diag_finish(struct conf_diag *d) WSC_CHECKED;
/** From now on @p key, and what is below it, is called @p user; the first name of a key counts. */
void conf_diag_origin(struct conf_diag *d, const char *key, const char *user);
/** The user's name of @p key. */
const char *conf_diag_name(const struct conf_diag *d, const char *key, char out[CONF_MAX_PATH]);
/** @p text for a message: cut to CONF_QUOTE_BYTES, control characters replaced. */
const char *conf_quote(const char *text, char out[CONF_QUOTE_BYTES]);
/** The same for a dotted path, which may be longer. */
const char *conf_quote_path(const char *text, char out[CONF_QUOTE_PATH_BYTES]);

/* ---- the tree -------------------------------------------------------------------------------- */

enum conf_node_kind { CONF_NODE_SCALAR, CONF_NODE_LIST, CONF_NODE_MAP };
struct conf_entry {
    const char *key; /**< NULL in a list */
    struct conf_pos key_pos;
    struct conf_node *value;
};
/** A node; an alias shares the node of its anchor, so nothing below is ever written after the
 *  parse but by conf_doc_set, which copies. */
struct conf_node {
    enum conf_node_kind kind;
    struct conf_pos pos;
    const char *text; /**< scalar */
    bool plain;       /**< scalar without quotes: may be null, a number, a boolean */
    bool open;        /**< not complete yet: an alias to it would be a cycle */
    int height;       /**< levels below, this one included */
    int64_t weight;   /**< nodes below with aliases followed, this one included */
    int n, capacity;
    struct conf_entry *entry;
};
struct conf_block;
struct conf_doc {
    struct conf_block *block; /**< owned memory of all nodes */
    struct conf_node *root;   /**< NULL: an empty document */
    int64_t n_nodes;
};
/** How duplicate keys are taken. */
enum conf_duplicates { CONF_LAST_WINS, CONF_DUPLICATE_IS_ERROR };

/** Parse one document.  Problems go to @p d; false when there is no usable tree. */
bool conf_doc_parse(struct conf_doc *doc, struct conf_diag *d, const char *bytes, size_t n_bytes,
                    enum conf_duplicates duplicates);
/** Parse the value of `--set` number @p set (from 1) into a node of @p doc; NULL after an error. */
struct conf_node *conf_doc_parse_value(struct conf_doc *doc, struct conf_diag *d, const char *value,
                                       int set);
/** Put @p value at the dotted @p path, making maps on the way; no error for a bad path, which the
 *  key table reports. */
void conf_doc_set(struct conf_doc *doc, struct conf_diag *d, const char *path,
                  struct conf_node *value);
/** The same below @p map, which nobody shares. */
void conf_doc_set_in(struct conf_doc *doc, struct conf_diag *d, struct conf_node *map,
                     const char *path, struct conf_node *value);
void conf_doc_fini(struct conf_doc *doc);

/** New nodes and text in the memory of @p doc; NULL without memory. */
struct conf_node *conf_doc_share(struct conf_doc *doc, const struct conf_node *node);
char *conf_doc_text(struct conf_doc *doc, const char *text, size_t n);
struct conf_node *conf_doc_scalar(struct conf_doc *doc, const char *text, size_t n,
                                  struct conf_pos pos);
struct conf_node *conf_doc_map(struct conf_doc *doc, struct conf_pos pos);
struct conf_node *conf_doc_list(struct conf_doc *doc, struct conf_pos pos);
/** Add @p entry at the end of a list or map; false without memory. */
bool conf_doc_append(struct conf_doc *doc, struct conf_node *node, const struct conf_entry *entry);
/** Set the key of @p entry in @p map, replacing an earlier value; false without memory. */
bool conf_doc_put(struct conf_doc *doc, struct conf_node *map, const struct conf_entry *entry);
/** Replace the map at @p key by a copy that nobody shares and return it; NULL when it is no map. */
struct conf_node *conf_doc_own(struct conf_doc *doc, struct conf_node *map, const char *key);

/** Index of @p key in @p map, or -1; NULL and other kinds of node have no keys. */
int conf_node_index(const struct conf_node *map, const char *key);
/** The value of @p key, or NULL. */
struct conf_node *conf_node_find(const struct conf_node *map, const char *key);
/** Forget @p key of @p map. */
void conf_node_remove(struct conf_node *map, const char *key);
/** NULL, `null`, `~` or nothing. */
bool conf_node_is_null(const struct conf_node *node);
/** What a node is, for messages: its text in quotes, "a map", "a list" or "null". */
const char *conf_node_describe(const struct conf_node *node, char out[CONF_QUOTE_BYTES]);

/* ---- key tables ------------------------------------------------------------------------------ */

enum conf_status {
    CONF_USED,
    CONF_OLD,       /**< used, but has a newer spelling: a warning, not dumped */
    CONF_ALSO,      /**< used, not dumped: other keys of the dump say it */
    CONF_NO_EFFECT, /**< accepted; nothing in the emulated machine depends on it */
    CONF_NOISE,     /**< obsolete or misspelt: accepted with a warning of its own */
    CONF_ONLY       /**< one of `choices`, which need no field; anything else is not supported */
};
enum conf_type {
    CONF_T_INT,
    CONF_T_DOUBLE,
    CONF_T_QUANTITY,
    CONF_T_BOOL,
    CONF_T_STRING,
    CONF_T_CHOICE,
    CONF_T_SPECIAL, /**< `read` and `write` know */
    CONF_T_ANY      /**< not looked at */
};
struct conf_choice {
    const char *name; /**< lower case; "null" stands for a null value */
    int value;
};
enum { CONF_MAX_CHOICES = 24, CONF_MAX_KEYS = 512, CONF_MAX_RECORD = 32 };
/** Choices of a row of a table. */
#define CONF_CHOICES(...) ((const struct conf_choice[]){__VA_ARGS__, {NULL, 0}})

struct conf_parse;
struct conf_text;
/** One row per key. */
struct conf_key {
    const char *path; /**< `.*` at the end: whatever else stands in that section */
    const char *to;   /**< trainer style: the key of the runconfig style, or NULL */
    const char *also; /**< records: further spellings, blanks between; the first given counts */
    const char *old;  /**< records: spellings of older releases, taken with a warning */
    enum conf_type type;
    enum conf_status status;
    enum wsc_unit unit;
    bool required;        /**< when its section is in the file */
    bool nullable;        /**< null stands for the default */
    bool positive;        /**< > 0 instead of >= min */
    bool below_max;       /**< < max instead of <= max */
    uint32_t kinds;       /**< taken only where the section is of one of these kinds, a bit each;
                               0: always */
    const char *fallback; /**< default as it would be written; "=path" copies the value of an
                               earlier row; NULL: all bits zero */
    double min, max;
    size_t offset;
    const struct conf_choice *choices; /**< up to one without a name; NULL: none */
    void (*read)(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                 void *field);
    void (*write)(struct conf_text *out, const void *field, int indent);
    const char *form;    /**< type in words, for SPECIAL */
    const char *refusal; /**< ONLY: why nothing else is taken, instead of the list of choices */
    const char *doc;
};
struct conf_table {
    const struct conf_key *key;
    int n;
    bool sourced; /**< values are maps {value, kind, source}; every section must be there */
};

/** State of one pass of a tree through a table. */
struct conf_parse {
    const struct conf_table *table;
    struct conf_diag *diag;
    char *out;                      /**< the struct that offsets refer to */
    bool *seen;                     /**< by row: needs no default any more; borrowed */
    const struct conf_node **given; /**< by row: value of its key in the file; borrowed */
    const char *prefix;             /**< path of the map, for messages; NULL: the whole file */
    const char *spelling;           /**< of the key being read where it is not the row's own */
    void *context;                  /**< what the `read` of a record's rows need beside the field */
};
/** Memory of the rows of a whole file's pass. */
struct conf_rows {
    bool seen[CONF_MAX_KEYS];
    const struct conf_node *given[CONF_MAX_KEYS];
};
/** Walk the tree: every key through its row, unknown keys reported.  @p read takes the node of a
 *  key, normally conf_key_read. */
void conf_keys_read(struct conf_parse *p, const struct conf_node *root,
                    void (*read)(struct conf_parse *p, int row, const struct conf_node *node));
/** Defaults of absent keys; required keys that are missing. */
void conf_keys_defaults(struct conf_parse *p, const struct conf_node *root);
/** Row of @p path, or -1. */
int conf_keys_find(const struct conf_table *table, const char *path);
/** True when rows stand below @p path. */
bool conf_keys_is_section(const struct conf_table *table, const char *path);
/** Report @p path as unknown, with the nearest known one. */
void conf_keys_unknown(const struct conf_table *table, struct conf_diag *d, struct conf_pos pos,
                       const char *path);
/** The node at a dotted path, or NULL. */
const struct conf_node *conf_node_at(const struct conf_node *root, const char *path);

/** Full path of key @p path of the map at hand, in @p out where there is a prefix. */
const char *conf_keys_name(const struct conf_parse *p, const char *path, char out[CONF_MAX_PATH]);

/** Read @p node by its row into the struct; problems to the diag. */
void conf_key_read(struct conf_parse *p, int row, const struct conf_node *node);
/** Set the default of a row, read as if it stood in the file. */
void conf_key_default(struct conf_parse *p, int row);
/** Say that the value is not supported and which are. */
void conf_key_unsupported(const struct conf_parse *p, const char *path,
                          const struct conf_node *node, const struct conf_choice *choices);
/** A number, a whole number, a boolean; false after an error about @p path. */
bool conf_read_double(struct conf_parse *p, const char *path, const struct conf_node *node,
                      double *out);
bool conf_read_int(struct conf_parse *p, const char *path, const struct conf_node *node,
                   int64_t *out);
bool conf_parse_bool(const char *text, bool *out);
/** Index in @p choices of a scalar or null, whatever its case; -1. */
int conf_choice_find(const struct conf_choice *choices, const struct conf_node *node);

/* ---- records: maps with keys of their own, in lists or behind a key ----------------------------
 */

/** A map to read: @c n rows of @c key, with paths that are names, fill the struct @c out. */
struct conf_record {
    const char *path;            /**< of the map, for messages: "faults[2]" */
    const struct conf_node *map; /**< any node; one that is no map has no keys */
    const struct conf_key *key;
    int n; /**< at most CONF_MAX_RECORD */
    void *out;
    void *context; /**< for the rows' `read`; NULL: that of the parse around it */
};
/** Read a record: each key through its row, unknown and missing keys reported, defaults for the
 *  others.  Fields of rows without a default stay as they are.  False after an error. */
bool conf_record_read(const struct conf_parse *p, const struct conf_record *record);

/** One kind of record.  Rows of all kinds of a table refer to the same struct. */
struct conf_variant {
    const char *name;
    const struct conf_key *key;
    int n;
    const char *doc; /**< what this kind is, for docs/CONFIG.md */
};
/** Rows of a variant. */
#define CONF_KEYS(...)                                                                             \
    .key = (const struct conf_key[]){__VA_ARGS__},                                                 \
    .n = sizeof((const struct conf_key[]){__VA_ARGS__}) / sizeof(struct conf_key)
/** Records of which one key names the kind and the kind decides about the others. */
struct conf_variants {
    const char *selector; /**< that key: "scheduler", "kind", "name" */
    const struct conf_variant *variant;
    int n;
    const char *suffixes; /**< endings of names that do not count, blanks between; NULL: none */
};
/** Number of the variant that is called @p name, whatever its case; -1. */
int conf_variant_find(const struct conf_variants *variants, const char *name);
/** The variant that @p name is; -1 after an error about @p path that lists the known ones. */
int conf_variant_read(const struct conf_parse *p, const struct conf_variants *variants,
                      const char *path, const struct conf_node *name);

/* ---- writing --------------------------------------------------------------------------------- */

/** A blank and the value of @p key at @p field; lists go to lines of their own, @p indent deep. */
void conf_key_write(struct conf_text *out, const struct conf_key *key, const void *field,
                    int indent);
/** All keys of @p table that are in use, as YAML that parses back; @p keep (NULL: all) says which
 *  ones, given @p base, the struct that offsets refer to. */
void conf_table_write(struct conf_text *out, const struct conf_table *table, const void *base,
                      bool (*keep)(const void *base, const char *path));
/** A record at @p base as a map on one line, `{kind: name, key: value, ...}`. */
void conf_record_write(struct conf_text *out, const struct conf_variants *variants, int variant,
                       const void *base);
/** @p table in Markdown, one line per key; @p column NULL or the title of an additional second
 *  column, which @p cell fills. */
void conf_table_markdown(struct conf_text *out, const struct conf_table *table, const char *column,
                         void (*cell)(struct conf_text *out, const char *path));
/** The kinds of a record in Markdown, one line per kind and key. */
void conf_variants_markdown(struct conf_text *out, const struct conf_variants *variants);
/** "used", "accepted, without effect", ...: @p status in words. */
const char *conf_status_text(enum conf_status status);

/* ---- --set ----------------------------------------------------------------------------------- */

/** Split `a.b=c` (number @p set, from 1) at the first `=`; false after an error. */
bool conf_set_split(struct conf_diag *d, int set, char path[CONF_MAX_PATH], const char **value);
/** Path of a set that adds a fault, inside the machine file. */
#define CONF_FAULTS_ADD "faults+"
/** The path inside the cluster file when @p path starts with `cluster.`, else NULL. */
const char *conf_set_cluster_path(const char *path);

/* ---- text ------------------------------------------------------------------------------------ */

/** A growing text. */
struct conf_text {
    char *text; /**< owned; NULL after a failure */
    size_t n, capacity;
    bool failed;
    const void *context; /**< what the `write` of a record's rows need beside the field */
};
void conf_text_add(struct conf_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Hand the text over, or WSC_NOMEM. */
enum wsc_err conf_text_take(struct conf_text *t, char **out) WSC_CHECKED;
/** A YAML string in double quotes. */
void conf_text_string(struct conf_text *t, const char *s);
/** A double that reads back bit by bit, as short as possible. */
void conf_text_double(struct conf_text *t, double x);
#endif
