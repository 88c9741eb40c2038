/** Configuration engine: reads YAML files into plain structs with tables of keys.
 *
 *  A file is parsed into a tree (struct conf_node). A table with one row per key (struct conf_key)
 *  defines type, unit, default and range of each key; it drives reading, `--set`, the dump of the
 *  effective configuration and docs/CONFIG.md. The tables are those of <wsc/zoo.h> (params files)
 *  and <wsc/hw.h> (machine files). It owns libyaml.
 *
 *  All errors of a file are reported together, each as `file:line:col: key: problem; hint: action`,
 *  as one WSC_CONFIG error. No function communicates: rank 0 reads the bytes and every rank parses
 *  equal bytes, so the structs are equal on all ranks. Files are not trusted: depth, size and
 *  expansion of aliases are bounded.
 *
 *  The order of this header is that of a parse: bytes, problems, tree, tables of keys, records,
 *  text that is written back. The core is struct conf_key.
 *
 *      struct conf_doc doc = {0};
 *      struct conf_diag d = {.file = path, .sets = sets, .n_sets = n_sets};
 *      struct conf_rows rows = {0};
 *      struct conf_parse p = {.table = &table, .diag = &d, .out = (char *)out,
 *                             .seen = rows.seen, .given = rows.given};
 *      if (conf_doc_parse(&doc, &d, bytes, n_bytes, CONF_LAST_WINS)) {
 *          conf_keys_read(&p, doc.root, conf_key_read);
 *          conf_keys_defaults(&p, doc.root);
 *      }
 *      enum wsc_err rc = conf_diag_finish(&d);
 *      conf_doc_fini(&doc);
 *
 *  The diag is finished before the document, whose memory its messages may name. */
#ifndef WSC_CONF_H
#define WSC_CONF_H
#include <wsc/err.h>
#include <wsc/text.h>
#include <wsc/units.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Value of a whole-number key that the file does not have or that is `null`; its field's comment
 *  says what that means. */
#define CONF_NULL (-2147483647LL)
/** Value of a whole-number key that is "auto": the program chooses. */
#define CONF_AUTO (-2147483646LL)
/** Value of a whole-number key that is "explore": try the possible values and stop. */
#define CONF_EXPLORE (-2147483645LL)

/** Bounds on what a file may contain, so that a hostile file cannot exhaust memory or time, and
 *  sizes of the buffers of messages. */
enum {
    CONF_MAX_DEPTH = 64,      /**< nesting of a file, aliases followed */
    CONF_MAX_NODES = 1000000, /**< nodes of a file, aliases followed */
    CONF_MAX_MAP = 512,       /**< keys of one map */
    CONF_MAX_ANCHORS = 512,   /**< anchors of one file */
    CONF_MAX_ERRORS = 50,     /**< reported; the rest is counted */
    CONF_MAX_WARNINGS = 200,  /**< kept; the rest is dropped */
    CONF_MAX_PATH = 192,      /**< bytes of a dotted key path with its NUL */
    CONF_QUOTE_BYTES = 64,    /**< buffer of conf_quote() */
    CONF_MAX_FILES = 8,       /**< machine files that are based on each other */
    CONF_MAX_ORIGINS = 1024   /**< keys that the user knows by another name */
};

/* ---- input ----------------------------------------------------------------------------------- */

/** Read a whole file.  *@p bytes, owned by the caller, has @p n_bytes bytes and an extra NUL; NULL
 *  after an error.  WSC_CONFIG: the file cannot be opened or has more than 16 MiB; WSC_IO: it
 *  cannot be read; WSC_NOMEM. */
enum wsc_err conf_read_file(const char *path, char **bytes, size_t *n_bytes) WSC_CHECKED;

/** One `--set path=value` of the command line, in the order given.  Paths below `cluster.` belong
 *  to the machine file; `cluster.faults+=KIND:KEY=VALUE,...` adds a fault. The text is used as long
 *  as messages may name it: until the parse has ended. */
struct conf_set {
    const char *text;   /**< "path=value"; borrowed */
    const char *option; /**< the option that gave it, "mode", for messages; "": none; NULL: --set */
};

/* ---- problems -------------------------------------------------------------------------------- */

/** A position in a file or on the command line, for messages. All zero is the file as a whole. */
struct conf_pos {
    int line;   /**< from 1; 0: the file as a whole; < 0: `--set` number -line */
    int column; /**< from 1 */
    int file;   /**< 0: the file itself; from 1: what it is based on, nearest first */
};

/** The user's name of a key.  A file of the trainer style is converted to the runconfig style;
 *  messages then name the key that stands in the file. */
struct conf_origin {
    const char *key;  /**< in the converted tree; borrowed */
    const char *user; /**< in the user's file; borrowed */
};

/** A warning of a parse: something that is accepted, but without effect or suspicious. */
struct conf_warning {
    char *text; /**< owned, with file:line:col where there is one */
};

/** Collects the errors and warnings of one file.  Start with `file`, `sets` and `warning` set and
 *  all other members zero; conf_diag_finish() ends it. About 20 KiB: usually on the stack. */
struct conf_diag {
    const char *file;                            /**< name for messages; borrowed */
    const char *base[CONF_MAX_FILES];            /**< files that it is based on; borrowed */
    int reading;                                 /**< the one being parsed, as in conf_pos.file */
    const struct conf_set *sets;                 /**< of the command line; borrowed */
    int n_sets;                                  /**< length of `sets` */
    struct conf_origin origin[CONF_MAX_ORIGINS]; /**< by conf_diag_origin() */
    int n_origins;                               /**< used entries of `origin` */
    int trainer;                   /**< which of a list of trainers, from 1; 0: none */
    char *error[CONF_MAX_ERRORS];  /**< lines to report; owned */
    int n_errors;                  /**< may exceed CONF_MAX_ERRORS */
    struct conf_warning **warning; /**< list to extend; NULL drops warnings */
    int *n_warnings;               /**< length of *warning */
    bool no_memory;                /**< conf_diag_finish() raises WSC_NOMEM */
};
/** Add an error about @p key (NULL: about no key) at @p pos.  @p fmt is the problem, without
 *  position and key, optionally followed by "; hint: action". Past CONF_MAX_ERRORS only the number
 *  is kept.  The line is cut at 1 KiB. */
void conf_diag_error(struct conf_diag *d, struct conf_pos pos, const char *key, const char *fmt,
                     ...) __attribute__((format(printf, 4, 5)));
/** Add a warning about @p key (NULL: about no key) at @p pos to *d->warning.  Past
 *  CONF_MAX_WARNINGS it is dropped. */
void conf_diag_warn(struct conf_diag *d, struct conf_pos pos, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/** Raise all errors as one: WSC_CONFIG, or WSC_NOMEM when memory ran out; WSC_OK when there are
 *  none.  Frees the list of errors in any case. Warnings stay with their owner (d->warning). */
enum wsc_err conf_diag_finish(struct conf_diag *d) WSC_CHECKED;
/** Let messages call @p key, and every key below it, @p user.  The first name of a key counts. Both
 *  texts are borrowed until conf_diag_finish(). Beyond CONF_MAX_ORIGINS a name is dropped, and
 *  messages use the converted one. */
void conf_diag_origin(struct conf_diag *d, const char *key, const char *user);
/** The user's name of @p key: in @p out, or @p key itself when it has no other. */
const char *conf_diag_name(const struct conf_diag *d, const char *key, char out[CONF_MAX_PATH]);
/** Place and the user's name of @p key as messages begin with them, "file:line:col: key", for a
 *  check after the parse; owned by the caller, NULL without memory. */
char *conf_diag_place(const struct conf_diag *d, struct conf_pos pos, const char *key);
/** A text for a message: cut to CONF_QUOTE_BYTES with "..." at the end, control characters replaced
 *  by `?`.  Returns @p out. */
const char *conf_quote(const char *text, char out[CONF_QUOTE_BYTES]);

/* ---- the tree -------------------------------------------------------------------------------- */

/** Kinds of nodes of a YAML document. */
enum conf_node_kind {
    CONF_NODE_SCALAR, /**< a text, also a number, a boolean or null */
    CONF_NODE_LIST,   /**< entries without keys */
    CONF_NODE_MAP     /**< entries with keys, each key once */
};
/** One entry of a list or map. Borrowed from the document, like all that it points to. */
struct conf_entry {
    const char *key;         /**< NULL in a list */
    struct conf_pos key_pos; /**< where the key stands, for messages */
    struct conf_node *value; /**< never NULL */
};
/** A node of the tree.  An alias shares the node of its anchor: nothing below a node is written
 *  after the parse except by conf_doc_set() and conf_doc_own(), which copy. */
struct conf_node {
    /** Which of the members below are used. */
    enum conf_node_kind kind;
    struct conf_pos pos; /**< where it starts */
    /** Scalar: its text, NUL-terminated, without quotes and escapes; numbers and booleans are not
     *  interpreted. */
    const char *text;
    /** Scalar without quotes, or with a tag other than !!str: it may be null, a number or a
     *  boolean. */
    bool plain;
    bool open;                /**< not complete yet: an alias to it would be a cycle */
    int height;               /**< levels below, this one included */
    int64_t weight;           /**< nodes below with aliases followed, this one included */
    int n, capacity;          /**< entries, and room for them */
    struct conf_entry *entry; /**< of a list or map, in the order of the file */
};
struct conf_block;
/** A YAML document: owns the memory of all its nodes and texts.  Zero is an empty document. Blocks
 *  are released together by conf_doc_fini(); single nodes never are. */
struct conf_doc {
    struct conf_block *block; /**< owned memory of all nodes */
    struct conf_node *root;   /**< NULL: an empty document */
    int64_t n_nodes;          /**< aliases followed */
};
/** Treatment of a key that a map has twice. */
enum conf_duplicates {
    CONF_LAST_WINS,         /**< params files: a warning, as PyYAML takes them */
    CONF_DUPLICATE_IS_ERROR /**< machine files, values of --set */
};

/** Parse one YAML document into @p doc.  Problems go to @p d; false when there is no usable tree.
 *  conf_doc_fini() @p doc in both cases. What is accepted is what PyYAML reads: anchors, aliases,
 *  merge keys `<<`, YAML 1.1 scalars.  Refused: a second document, tags of one's own, keys that are
 *  no text, NUL bytes, more than the bounds above.  An empty text gives a root of NULL and true. */
bool conf_doc_parse(struct conf_doc *doc, struct conf_diag *d, const char *bytes, size_t n_bytes,
                    enum conf_duplicates duplicates);
/** Parse the value of `--set` number @p set (from 1) into a node of @p doc; NULL after an error.
 *  The value is YAML, so `[1, 2]` and `{a: 1}` work; empty is a null.  Its positions are those of
 *  the `--set`, so that messages name it. */
struct conf_node *conf_doc_parse_value(struct conf_doc *doc, struct conf_diag *d, const char *value,
                                       int set);
/** Put @p value at the dotted @p path of the document, with new maps for absent sections.  A path
 *  that no key has is no error here: the key table reports it.  Lack of memory goes to @p d. A
 *  scalar or null on the way is replaced by a map; a map that an alias shares is copied first, so
 *  that one position of the document changes. */
void conf_doc_set(struct conf_doc *doc, struct conf_diag *d, const char *path,
                  struct conf_node *value);
/** Put @p value at the dotted @p path below @p map, a node of @p doc that no alias shares, with new
 *  maps for absent sections.  Lack of memory goes to @p d. */
void conf_doc_set_in(struct conf_doc *doc, struct conf_diag *d, struct conf_node *map,
                     const char *path, struct conf_node *value);
/** Free all nodes and texts of @p doc and make it empty. */
void conf_doc_fini(struct conf_doc *doc);

/** A copy of @p node alone: the entries below it stay shared.  NULL without memory. */
struct conf_node *conf_doc_share(struct conf_doc *doc, const struct conf_node *node);
/** A copy of @p n bytes of @p text with a NUL, in the memory of @p doc.  NULL without memory. */
char *conf_doc_text(struct conf_doc *doc, const char *text, size_t n);
/** A new scalar without quotes of @p n bytes of @p text, which are copied.  NULL without memory. */
struct conf_node *conf_doc_scalar(struct conf_doc *doc, const char *text, size_t n,
                                  struct conf_pos pos);
/** A new empty map.  NULL without memory. */
struct conf_node *conf_doc_map(struct conf_doc *doc, struct conf_pos pos);
/** A new empty list.  NULL without memory. */
struct conf_node *conf_doc_list(struct conf_doc *doc, struct conf_pos pos);
/** Add a copy of @p entry at the end of a list or map; false without memory. O(1) on average.  Not
 *  on a node that an alias shares: conf_doc_own() first. */
bool conf_doc_append(struct conf_doc *doc, struct conf_node *node, const struct conf_entry *entry);
/** Set the key of @p entry in @p map, replacing an earlier value; false without memory. */
bool conf_doc_put(struct conf_doc *doc, struct conf_node *map, const struct conf_entry *entry);
/** Replace the map at @p key by a copy that no alias shares and return the copy, which may be
 *  written.  NULL when there is no map at @p key or no memory. */
struct conf_node *conf_doc_own(struct conf_doc *doc, struct conf_node *map, const char *key);

/** Index of @p key in @p map, or -1; NULL and other kinds of node have no keys. Linear in the
 *  number of keys, which CONF_MAX_MAP bounds. */
int conf_node_index(const struct conf_node *map, const char *key);
/** The value of @p key in @p map, or NULL. */
struct conf_node *conf_node_find(const struct conf_node *map, const char *key);
/** The node at a dotted path below @p root, or NULL. An empty path is @p root. */
const struct conf_node *conf_node_at(const struct conf_node *root, const char *path);
/** Remove @p key from @p map if it is there. */
void conf_node_remove(struct conf_node *map, const char *key);
/** True for NULL, and for the unquoted scalars `null`, `~` and nothing. */
bool conf_node_is_null(const struct conf_node *node);
/** What a node is, for messages: its text in quotes (in @p out), "a map", "a list" or "null". */
const char *conf_node_describe(const struct conf_node *node, char out[CONF_QUOTE_BYTES]);

/* ---- key tables ------------------------------------------------------------------------------ */

/** What a key does when a file has it. The status is printed in docs/CONFIG.md
 *  (conf_status_text()). */
enum conf_status {
    CONF_USED,      /**< read, and written by the dump */
    CONF_OLD,       /**< used, but has a newer spelling: a warning, not dumped */
    CONF_ALSO,      /**< used, not dumped: other keys of the dump say it */
    CONF_NO_EFFECT, /**< accepted; nothing in the emulated machine depends on it */
    CONF_NOISE,     /**< obsolete or misspelt: accepted with a warning of its own */
    CONF_ONLY       /**< one of `choices`, which need no field; anything else is not supported */
};
/** Type of a key's value and of its field. */
enum conf_type {
    CONF_T_INT,      /**< whole number; int64_t */
    CONF_T_DOUBLE,   /**< number; double */
    CONF_T_QUANTITY, /**< number with its unit, stored in the base unit; int64_t */
    CONF_T_BOOL,     /**< true, yes, on or false, no, off; bool */
    CONF_T_STRING,   /**< text; char *, owned by the struct */
    CONF_T_CHOICE,   /**< one of `choices`; int or an enum */
    CONF_T_SPECIAL,  /**< the row's own `read` and `write` */
    CONF_T_ANY       /**< not looked at; no field */
};
/** One value that a key can have. A list ends with a NULL name, see CONF_CHOICES. */
struct conf_choice {
    const char *name; /**< as written; read in any case; "null" stands for a null value */
    int value;        /**< stored in the field */
};
/** Bounds on the tables of this program. */
enum {
    CONF_MAX_CHOICES = 32, /**< choices of one key, variants of one record */
    CONF_MAX_KEYS = 512,   /**< rows of the table of a file */
    CONF_MAX_RECORD = 32   /**< rows of one record */
};
/** A list of struct conf_choice initializers as the `choices` of a row, with its end. */
#define CONF_CHOICES(...) ((const struct conf_choice[]){__VA_ARGS__, {NULL, 0}})

struct conf_parse;
struct conf_layout;
/** One row of a table: everything there is to know about a key. Designated initializers leave the
 *  rest 0: status CONF_USED, unit none, range from 0 to 0, which refuses all but 0, so every number
 *  has its range.  A new key is one row and one field, and appears in parsing, `--set`, dump and
 *  docs/CONFIG.md:
 *
 *      {.path = "swarmx.fanout", .offset = offsetof(struct hw_machine, swarmx.fanout),
 *       .type = CONF_T_INT, .required = true, .min = 2, .max = 64,
 *       .doc = "children of a node"}, */
struct conf_key {
    const char *path; /**< "section.key"; `.*` at the end: whatever else stands in that section */
    const char *to;   /**< trainer style: the key of the runconfig style, or NULL */
    const char *also; /**< records: further spellings, blanks between; the first given counts */
    const char *old;  /**< records: spellings of older releases, taken with a warning */
    /** Type of the value and of the field at `offset`. */
    enum conf_type type;
    /** What the key does; CONF_USED when left out. */
    enum conf_status status;
    enum wsc_unit unit; /**< of a quantity; numbers of other types have none */
    bool required;      /**< when its section is in the file */
    bool nullable;      /**< null stands for the default */
    bool positive;      /**< > 0 instead of >= min */
    bool below_max;     /**< < max instead of <= max */
    uint32_t kinds;     /**< taken only where the section is of one of these kinds, a bit each;
                             0: always */
    uint32_t readers;   /**< what reads the value, a bit each, in tables that tell it */
    /** Default as it would be written, read like a value of the file; "=path" copies the value of
     *  an earlier row of the same type; NULL: the field stays all bits zero. */
    const char *fallback;
    /** Range of a number, in base units, both included unless `positive` or `below_max` says
     *  otherwise. */
    double min, max;
    /** Bytes from the start of the struct that the table fills to the field. */
    size_t offset;
    const struct conf_choice *choices; /**< up to one without a name; NULL: none */
    /** SPECIAL: read @p node into @p field; problems go to p->diag. */
    void (*read)(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                 void *field);
    /** SPECIAL: write a blank and the value of @p field, as conf_key_write() does. */
    void (*write)(struct wsc_text *out, const void *field, const struct conf_layout *at);
    const char *form;    /**< SPECIAL: type in words, for docs/CONFIG.md */
    const char *refusal; /**< ONLY: why nothing else is taken, instead of the list of choices */
    const char *doc;     /**< meaning, for docs/CONFIG.md */
};
/** A table of keys, one row per key. */
struct conf_table {
    const struct conf_key *key; /**< rows in the order of the dump */
    int n;                      /**< rows, at most CONF_MAX_KEYS */
    /** Machine files: values are maps {value, kind, source, uncertainty}, and every section must be
     *  there. */
    bool sourced;
};

/** State of one pass of a tree through a table. The three passes of a file (conf_keys_read(),
 *  conf_keys_defaults(), the checks of its module) share one. */
struct conf_parse {
    const struct conf_table *table; /**< borrowed */
    struct conf_diag *diag;         /**< problems go here; borrowed */
    char *out;                      /**< the struct that offsets refer to */
    bool *seen;                     /**< by row: needs no default any more; borrowed */
    const struct conf_node **given; /**< by row: value of its key in the file; borrowed */
    const char *prefix;             /**< path of the record, for messages; NULL: the whole file */
    const char *spelling;           /**< of the key being read where it is not the row's own */
    void *context;                  /**< what the `read` of a record's rows need beside the field */
};
/** Memory of the rows of a whole file's pass, for conf_parse.seen and conf_parse.given; starts all
 *  zero.  About 5 KiB. */
struct conf_rows {
    /** By row: the file has the key, so it needs no default. */
    bool seen[CONF_MAX_KEYS];
    /** By row: the node of its value, for messages of later checks; NULL: not in the file. */
    const struct conf_node *given[CONF_MAX_KEYS];
};
/** Walk the tree from @p root (NULL: empty): pass every key to @p read with its row, normally
 *  conf_key_read(), and report unknown keys. Keys are visited in the order of the file.  A key with
 *  a dot in its name is unknown: sections are nested maps. */
void conf_keys_read(struct conf_parse *p, const struct conf_node *root,
                    void (*read)(struct conf_parse *p, int row, const struct conf_node *node));
/** Set the defaults of the keys that are not `seen`, and report required keys that are missing from
 *  @p root. In the order of the table, so that "=path" finds its value.  After conf_keys_read(). */
void conf_keys_defaults(struct conf_parse *p, const struct conf_node *root);
/** Row of @p path in @p table, or -1. */
int conf_keys_find(const struct conf_table *table, const char *path);
/** True when @p table has keys below @p path. */
bool conf_keys_is_section(const struct conf_table *table, const char *path);
/** Report @p path as unknown, with the nearest known one as a hint. The nearest is a sibling within
 *  an edit distance of a third of the name, else a key of the same name in another section. */
void conf_keys_unknown(const struct conf_table *table, struct conf_diag *d, struct conf_pos pos,
                       const char *path);

/** Read @p node by row @p row of the table into its field: type, range and status are checked,
 *  problems go to the diag, and the field stays as it is after an error. */
void conf_key_read(struct conf_parse *p, int row, const struct conf_node *node);
/** Report that @p node is not supported as the value of @p path, with the list of @p choices and
 *  the nearest one as a hint. */
void conf_key_unsupported(const struct conf_parse *p, const char *path,
                          const struct conf_node *node, const struct conf_choice *choices);
/** Report an error at @p node unless it is one of the values of @p key, a key of status ONLY: with
 *  the key's refusal where it has one, else as conf_key_unsupported(). */
void conf_key_check_only(const struct conf_parse *p, const struct conf_key *key,
                         const struct conf_node *node);
/** Read a number, also `1e-05`; false after an error about @p path. */
bool conf_read_double(struct conf_parse *p, const char *path, const struct conf_node *node,
                      double *out);
/** Read true, yes, on or false, no, off, in any case; false when @p text is none of them. */
bool conf_parse_bool(const char *text, bool *out);
/** Index in @p choices (NULL: none) of a scalar in any case, or of null; -1. */
int conf_choice_find(const struct conf_choice *choices, const struct conf_node *node);

/* ---- records: maps with keys of their own, in lists or after a key --------------------------- */

/** A map to read: @c n rows of @c key, with paths that are names, fill the struct @c out. Records
 *  are entries of lists (faults, schedulers) or values of a key (an initializer); their rows' paths
 *  are single names.
 *
 *      const struct conf_record r = {.path = "faults[2]", .map = node,
 *                                    .key = rows, .n = n_rows, .out = &fault};
 *      if (!conf_record_read(p, &r)) return; */
struct conf_record {
    const char *path;            /**< of the map, for messages: "faults[2]" */
    const struct conf_node *map; /**< any node; one that is no map has no keys */
    const struct conf_key *key;  /**< rows; borrowed */
    int n;                       /**< rows, at most CONF_MAX_RECORD */
    void *out;                   /**< the struct that offsets refer to */
    void *context;               /**< for the rows' `read`; NULL: that of the parse around it */
};
/** Read a record: each key through its row, unknown and missing keys reported, defaults for the
 *  others.  Fields of rows without a default stay as they are.  False after an error. Defaults and
 *  missing keys are not looked at after an error: a missing key may be there under a wrong name. */
bool conf_record_read(const struct conf_parse *p, const struct conf_record *record);

/** One kind of a record whose kind decides which keys it has.  The rows of all kinds refer to one
 *  struct. */
struct conf_variant {
    const char *name;           /**< value of the selector */
    const struct conf_key *key; /**< rows; CONF_KEYS() */
    int n;                      /**< rows, at most CONF_MAX_RECORD */
    const char *doc;            /**< what this kind is, for docs/CONFIG.md */
};
/** A list of struct conf_key initializers as the rows of a variant. */
#define CONF_KEYS(...)                                                                             \
    .key = (const struct conf_key[]){__VA_ARGS__},                                                 \
    .n = sizeof((const struct conf_key[]){__VA_ARGS__}) / sizeof(struct conf_key)
/** The kinds of a record: one key names the kind, and the kind decides about the other keys. */
struct conf_variants {
    const char *selector;               /**< that key: "scheduler", "kind", "name" */
    const struct conf_variant *variant; /**< kinds, indexed by the enum of the module */
    int n;                              /**< kinds, at most CONF_MAX_CHOICES */
    const char *suffixes; /**< endings of names that do not count, blanks between; NULL: none */
};
/** Index of the variant that the scalar @p name names, whatever its case; -1 after an error about
 *  @p path that lists the known ones. */
int conf_variant_read(const struct conf_parse *p, const struct conf_variants *variants,
                      const char *path, const struct conf_node *name);

/* ---- text that is written -------------------------------------------------------------------- */

/** What a value that is written needs to know beside itself. */
struct conf_layout {
    /** Blanks before the lines of a list or a map of its own. */
    int indent;
    const void *context; /**< of a record: what the `write` of its rows need; borrowed */
};
/** Append @p s as a YAML string in double quotes; quotes, backslashes and control characters
 *  escaped, other bytes as they are (UTF-8). */
void conf_text_string(struct wsc_text *t, const char *s);
/** Append @p x, finite, with as few of 15 to 17 digits as read back to the same bits. */
void conf_text_double(struct wsc_text *t, double x);

/** Write a blank and the value of @p key at @p field as YAML; a list goes to lines of its own that
 *  are indented as @p at says. The counterpart of conf_key_read(): what is written reads back
 *  to the same bits. */
void conf_key_write(struct wsc_text *out, const struct conf_key *key, const void *field,
                    const struct conf_layout *at);
/** Write the keys of @p table with status CONF_USED as YAML that parses back to the same values. @p
 *  base is the struct that offsets refer to; @p keep (NULL: all) selects keys by path. Sections are
 *  opened as the paths change, so rows of a section stand together in the table. */
void conf_table_write(struct wsc_text *out, const struct conf_table *table, const void *base,
                      bool (*keep)(const void *base, const char *path));
/** Write a record of kind @p variant at @p base as a map on one line, `{kind: name, key: value}`;
 *  @p context (may be NULL) is for the `write` of its rows. */
void conf_record_write(struct wsc_text *out, const struct conf_variants *variants, int variant,
                       const void *base, const void *context);
/** Write @p table in Markdown, one line per key.  @p column is the title of an additional second
 *  column that @p cell fills, or NULL. */
void conf_table_markdown(struct wsc_text *out, const struct conf_table *table, const char *column,
                         void (*cell)(struct wsc_text *out, const char *path));
/** Write the kinds of a record in Markdown, one line per kind and key. */
void conf_variants_markdown(struct wsc_text *out, const struct conf_variants *variants);
/** @p status in words: "used", "accepted, without effect", ...; static. */
const char *conf_status_text(enum conf_status status);

/* ---- --set ----------------------------------------------------------------------------------- */

/** Split `--set` number @p set (from 1) at the first `=` into @p path and *@p value, which is
 *  borrowed; false after an error. Errors: no `=`, an empty path or part of one, a path of
 *  CONF_MAX_PATH bytes or more. */
bool conf_set_split(struct conf_diag *d, int set, char path[CONF_MAX_PATH], const char **value);
/** A warning at the `--set` @p pos that it replaces another one of the same key. */
void conf_set_warn_twice(struct conf_diag *d, struct conf_pos pos);
/** Path, inside the machine file, of a setting that adds a fault. */
#define CONF_FAULTS_ADD "faults+"
/** The path inside the machine file when @p path starts with `cluster.`, else NULL. */
const char *conf_set_cluster_path(const char *path);
#endif
