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

/** Value of a whole-number key that is absent from the file or `null`; the comment of its field
 *  states the meaning. */
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
    CONF_MAX_ERRORS = 50,     /**< reported errors; further ones are only counted */
    CONF_MAX_WARNINGS = 200,  /**< kept warnings; further ones are dropped */
    CONF_MAX_PATH = 192,      /**< bytes of a dotted key path with its NUL */
    CONF_QUOTE_BYTES = 64,    /**< buffer of conf_quote() */
    CONF_MAX_FILES = 8,       /**< machine files that are based on each other */
    CONF_MAX_ORIGINS = 1024   /**< keys with another name in the user's file */
};

/* ---- input ----------------------------------------------------------------------------------- */

/** Read a whole file.  *@p bytes, owned by the caller, has @p n_bytes bytes and an extra NUL; NULL
 *  after an error.  WSC_CONFIG: the file cannot be opened or has more than 16 MiB; WSC_IO: it
 *  cannot be read; WSC_NOMEM. */
enum wsc_err conf_read_file(const char *path, char **bytes, size_t *n_bytes) WSC_CHECKED;

/** One `--set path=value` of the command line, in the order given.  Paths below `cluster.` belong
 *  to the machine file; `cluster.faults+=KIND:KEY=VALUE,...` adds a fault. The text must stay valid
 *  until the parse has ended, since messages may quote it. */
struct conf_set {
    const char *text;   /**< "path=value"; borrowed */
    const char *option; /**< option that set it, e.g. "mode", for messages; "": none; NULL: --set */
};

/* ---- problems -------------------------------------------------------------------------------- */

/** A position in a file or on the command line, for messages. All zero is the file as a whole. */
struct conf_pos {
    int line;   /**< from 1; 0: the file as a whole; < 0: `--set` number -line */
    int column; /**< from 1 */
    int file;   /**< 0: the file itself; from 1: files that it is based on, nearest first */
};

/** The user's name of a key. A file of the trainer style is converted to the runconfig style;
 *  messages must name the key of the original file. */
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
    int reading;                                 /**< file being parsed, as in conf_pos.file */
    const struct conf_set *sets;                 /**< `--set` of the command line; borrowed */
    int n_sets;                                  /**< length of `sets` */
    struct conf_origin origin[CONF_MAX_ORIGINS]; /**< set by conf_diag_origin() */
    int n_origins;                               /**< used entries of `origin` */
    int trainer;                   /**< number of the trainer in a list, from 1; 0: no list */
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
/** Set the name @p user for @p key, and for every key below it, in messages. The first name of a
 * key is used. Both texts are borrowed until conf_diag_finish(). Above CONF_MAX_ORIGINS names are
 *  dropped, and messages use the converted name. */
void conf_diag_origin(struct conf_diag *d, const char *key, const char *user);
/** The user's name of @p key: in @p out, or @p key itself when it has no other. */
const char *conf_diag_name(const struct conf_diag *d, const char *key, char out[CONF_MAX_PATH]);
/** Beginning of a message of a check after the parse: position and the user's name of @p key,
 *  "file:line:col: key". Owned by the caller, NULL without memory. */
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
    struct conf_pos key_pos; /**< position of the key, for messages */
    struct conf_node *value; /**< never NULL */
};
/** A node of the tree. An alias shares the node of its anchor. After the parse only conf_doc_set()
 *  and conf_doc_own(), which copy, may change anything below a node. */
struct conf_node {
    /** Which of the members below are used. */
    enum conf_node_kind kind;
    struct conf_pos pos; /**< position of its start */
    /** Scalar: its text, NUL-terminated, without quotes and escapes; numbers and booleans are not
     *  interpreted. */
    const char *text;
    /** Scalar without quotes, or with a tag other than !!str: it may be null, a number or a
     *  boolean. */
    bool plain;
    bool open;                /**< not complete yet: an alias to it would be a cycle */
    int height;               /**< levels of nodes, with this one */
    int64_t weight;           /**< nodes of its tree, with this one; aliases are followed */
    int n, capacity;          /**< entries; allocated entries */
    struct conf_entry *entry; /**< entries of a list or map, in the order of the file */
};
struct conf_block;
/** A YAML document: owns the memory of all its nodes and texts.  Zero is an empty document. Blocks
 *  are released together by conf_doc_fini(); single nodes never are. */
struct conf_doc {
    struct conf_block *block; /**< owned memory of all nodes */
    struct conf_node *root;   /**< NULL: an empty document */
    int64_t n_nodes;          /**< nodes, with aliases followed */
    /** Where a lack of memory is noted, whoever asks for a node; set by conf_doc_parse(), or before
     *  it; borrowed. */
    struct conf_diag *diag;
};
/** Treatment of a key that occurs twice in a map. */
enum conf_duplicates {
    CONF_LAST_WINS,         /**< params files: a warning; the last value is used, as in PyYAML */
    CONF_DUPLICATE_IS_ERROR /**< machine files, values of --set */
};

/** Parse one YAML document into @p doc. Problems go to @p d; false if there is no usable tree. Call
 *  conf_doc_fini() on @p doc in both cases. Accepted, as in PyYAML: anchors, aliases, merge keys
 *  `<<`, YAML 1.1 scalars. Refused: a second document, custom tags, keys that are not text, NUL
 *  bytes, files above the bounds CONF_MAX_... An empty text gives the root NULL and true. */
bool conf_doc_parse(struct conf_doc *doc, struct conf_diag *d, const char *bytes, size_t n_bytes,
                    enum conf_duplicates duplicates);
/** Parse the value of `--set` number @p set (from 1) into a node of @p doc; NULL after an error.
 *  The value is YAML, so `[1, 2]` and `{a: 1}` work; an empty text is null. The positions of the
 *  nodes refer to the `--set`, for messages. */
struct conf_node *conf_doc_parse_value(struct conf_doc *doc, struct conf_diag *d, const char *value,
                                       int set);
/** Put @p value at the dotted @p path of the document, with new maps for absent sections. An
 * unknown path is not an error here: the key table reports it. Lack of memory goes to @p d. A
 * scalar or null on the path is replaced by a map; a map that an alias shares is copied first, so
 * that only one position of the document changes. */
void conf_doc_set(struct conf_doc *doc, struct conf_diag *d, const char *path,
                  struct conf_node *value);
/** Put @p value at the dotted @p path below @p map, a node of @p doc that no alias shares, with new
 *  maps for absent sections.  Lack of memory goes to @p d. */
void conf_doc_set_in(struct conf_doc *doc, struct conf_diag *d, struct conf_node *map,
                     const char *path, struct conf_node *value);
/** Free all nodes and texts of @p doc and make it empty. */
void conf_doc_fini(struct conf_doc *doc);

/** Copy @p node; the copy shares its entries with @p node. NULL without memory. */
struct conf_node *conf_doc_share(struct conf_doc *doc, const struct conf_node *node);
/** Copy @p n bytes of @p text into the memory of @p doc and add a NUL. NULL without memory. */
char *conf_doc_text(struct conf_doc *doc, const char *text, size_t n);
/** A new scalar without quotes of @p n bytes of @p text, which are copied.  NULL without memory. */
struct conf_node *conf_doc_scalar(struct conf_doc *doc, const char *text, size_t n,
                                  struct conf_pos pos);
/** A new empty map.  NULL without memory. */
struct conf_node *conf_doc_map(struct conf_doc *doc, struct conf_pos pos);
/** A new empty list.  NULL without memory. */
struct conf_node *conf_doc_list(struct conf_doc *doc, struct conf_pos pos);
/** Append a copy of @p entry to a list or map; false without memory. O(1) on average. An alias must
 *  not share the node: call conf_doc_own() first. */
bool conf_doc_append(struct conf_doc *doc, struct conf_node *node, const struct conf_entry *entry);
/** Set the key of @p entry in @p map, replacing an earlier value; false without memory. */
bool conf_doc_put(struct conf_doc *doc, struct conf_node *map, const struct conf_entry *entry);
/** Replace the map at @p key by a copy that no alias shares and return the copy, which may be
 *  written.  NULL when there is no map at @p key or no memory. */
struct conf_node *conf_doc_own(struct conf_doc *doc, struct conf_node *map, const char *key);

/** Index of @p key in @p map, or -1; NULL and nodes that are not maps have no keys. Linear in the
 *  number of keys, at most CONF_MAX_MAP. */
int conf_node_index(const struct conf_node *map, const char *key);
/** The value of @p key in @p map, or NULL. */
struct conf_node *conf_node_find(const struct conf_node *map, const char *key);
/** The node at a dotted path below @p root, or NULL. An empty path is @p root. */
const struct conf_node *conf_node_at(const struct conf_node *root, const char *path);
/** Remove @p key from @p map if it is there. */
void conf_node_remove(struct conf_node *map, const char *key);
/** True for NULL, and for the unquoted scalars `null`, `~` and the empty one. */
bool conf_node_is_null(const struct conf_node *node);
/** Describe a node for messages: its text in quotes (in @p out), "a map", "a list" or "null". */
const char *conf_node_describe(const struct conf_node *node, char out[CONF_QUOTE_BYTES]);

/* ---- key tables ------------------------------------------------------------------------------ */

/** Effect of a key in a file; docs/CONFIG.md prints it (conf_status_text()). */
enum conf_status {
    CONF_USED,      /**< read, and written by the dump */
    CONF_OLD,       /**< used, but has a newer spelling: a warning, not dumped */
    CONF_ALSO,      /**< used, not dumped: other keys of the dump have its value */
    CONF_NO_EFFECT, /**< accepted; nothing in the emulated machine depends on it */
    CONF_NOISE,     /**< obsolete or misspelt: accepted with a specific warning */
    CONF_ONLY       /**< only the values in `choices` are supported; they need no field */
};
/** Type of a key's value and of its field. */
enum conf_type {
    CONF_T_INT,      /**< whole number; int64_t */
    CONF_T_DOUBLE,   /**< number; double */
    CONF_T_QUANTITY, /**< number with its unit, stored in the base unit; int64_t */
    CONF_T_BOOL,     /**< true, yes, on or false, no, off; bool */
    CONF_T_STRING,   /**< text; char *, owned by the struct */
    CONF_T_CHOICE,   /**< one of `choices`; int or an enum */
    CONF_T_SPECIAL,  /**< any type, with functions `read` and `write` in the row */
    CONF_T_ANY       /**< any value, which is ignored; no field */
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

/** What a checkpoint of a run with another value of a key of a params file is. */
enum conf_past {
    CONF_PAST_BY_SECTION, /**< a key of `model`: MODEL, any other: NOTHING */
    CONF_PAST_NOTHING,    /**< no other one: its work is done, or it changes no training */
    CONF_PAST_TRAINING,   /**< one of another training: a warning */
    CONF_PAST_MODEL       /**< one of another model, whose weights mean something else: an error */
};
struct conf_parse;
struct conf_layout;
/** One row of a table, the full description of a key. Members without an initializer are 0: status
 *  CONF_USED, no unit, range 0 to 0, which refuses all numbers but 0, so every number needs a
 * range. A new key needs one row and one field; parsing, `--set`, the dump and docs/CONFIG.md then
 * have it:
 *
 *      {.path = "swarmx.fanout", .offset = offsetof(struct hw_machine, swarmx.fanout),
 *       .type = CONF_T_INT, .required = true, .min = 2, .max = 64,
 *       .doc = "children of a node"}, */
struct conf_key {
    const char *path; /**< "section.key"; with `.*` at the end: all other keys of that section */
    const char *to;   /**< trainer style: the key of the runconfig style, or NULL */
    const char *also; /**< records: other spellings, separated by blanks; the first one is used */
    const char *old;  /**< records: spellings of older releases, accepted with a warning */
    /** Type of the value and of the field at `offset`. */
    enum conf_type type;
    /** Effect of the key. */
    enum conf_status status;
    enum wsc_unit unit;  /**< unit of a quantity, which its values carry */
    const char *measure; /**< unit of a plain number, whose values do not carry it; NULL: none */
    bool required;       /**< must be given if its section is in the file */
    bool nullable;       /**< null stands for the default */
    bool empty_asks;     /**< ONLY: an empty list or map is a value, elsewhere it stands for null */
    bool positive;       /**< > 0 instead of >= min */
    bool below_max;      /**< < max instead of <= max */
    bool no_time;        /**< no value of it changes the virtual time of a step */
    bool no_values;      /**< no value of it changes a loss or weight of a training */
    enum conf_past past; /**< what a checkpoint of a run with another value is */
    uint32_t kinds;      /**< kinds of the section that have the key, one bit each; 0: all kinds */
    uint32_t readers;    /**< code that reads the value, one bit each, in tables with readers */
    /** Default in the form of a value of the file; "=path" copies the value of an earlier row of
     * the same type; NULL: all bits of the field stay zero. */
    const char *fallback;
    /** Range of a number, in base units, both included unless `positive` or `below_max` says
     *  otherwise. */
    double min, max;
    /** Offset of the field in the struct that the table fills, bytes. */
    size_t offset;
    const struct conf_choice *choices; /**< ends with a NULL name; NULL: none */
    /** SPECIAL: read @p node into @p field; problems go to p->diag. */
    void (*read)(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                 void *field);
    /** SPECIAL: write a blank and the value of @p field, as conf_key_write() does. */
    void (*write)(struct wsc_text *out, const void *field, const struct conf_layout *at);
    const char *form;    /**< SPECIAL: type in words, for docs/CONFIG.md */
    const char *refusal; /**< ONLY: reason why other values are refused, replaces the list of
                              choices */
    const char *doc;     /**< meaning, for docs/CONFIG.md */
};
/** A table of keys, one row per key. */
struct conf_table {
    const struct conf_key *key; /**< rows in the order of the dump */
    int n;                      /**< rows, at most CONF_MAX_KEYS */
    /** Machine files: values are maps {value, kind, source, uncertainty}, and every section is
     *  required. */
    bool sourced;
};

/** State of one pass of a tree through a table. The three passes of a file (conf_keys_read(),
 *  conf_keys_defaults(), the checks of its module) share one. */
struct conf_parse {
    const struct conf_table *table; /**< borrowed */
    struct conf_diag *diag;         /**< problems go here; borrowed */
    char *out;                      /**< the struct that offsets refer to */
    bool *seen;                     /**< by row: has a value, needs no default; borrowed */
    const struct conf_node **given; /**< by row: value of its key in the file; borrowed */
    const char *prefix;             /**< path of the record, for messages; NULL: the whole file */
    const char *spelling;           /**< spelling of the key being read if not the row's path */
    void *context;                  /**< data for `read` of a record's rows, besides the field */
};
/** Position of the first of the keys @p path and @p other (or NULL) that the file has; that of no
 *  line when it has neither. */
struct conf_pos conf_parse_place(const struct conf_parse *p, const char *path, const char *other);
/** True when the file has the key @p path with a value other than null. */
bool conf_parse_given(const struct conf_parse *p, const char *path);
/** Memory for conf_parse.seen and conf_parse.given of a whole file; starts all zero. About 5 KiB.
 */
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
 *  @p root. Call it after conf_keys_read(). It follows the order of the table, so "=path" finds its
 *  value. */
void conf_keys_defaults(struct conf_parse *p, const struct conf_node *root);
/** Row of @p path in @p table, or -1. */
int conf_keys_find(const struct conf_table *table, const char *path);
/** True if @p table has keys below @p path. */
bool conf_keys_is_section(const struct conf_table *table, const char *path);
/** Report @p path as unknown, with the nearest known key as a hint: a key of the same section
 * within an edit distance of a third of the name, else a key of the same name in another section.
 */
void conf_keys_unknown(const struct conf_table *table, struct conf_diag *d, struct conf_pos pos,
                       const char *path);

/** Report that the file does not have @p section; the hint lists the keys that it needs, where the
 * user's name of the section is that of the table. */
void conf_keys_no_section(struct conf_parse *p, const char *section);

/** Read @p node by row @p row of the table into its field: type, range and status are checked,
 *  problems go to the diag, and the field stays as it is after an error. */
void conf_key_read(struct conf_parse *p, int row, const struct conf_node *node);
/** Report that @p node is not a supported value of @p path, with the list of @p choices and the
 *  nearest choice as a hint. */
void conf_key_unsupported(const struct conf_parse *p, const char *path,
                          const struct conf_node *node, const struct conf_choice *choices);
/** Report an error unless @p node is one of the values of @p key, a key of status ONLY. The message
 *  is the refusal of the key if it has one, else that of conf_key_unsupported(). */
void conf_key_check_only(const struct conf_parse *p, const struct conf_key *key,
                         const struct conf_node *node);
/** Read a number, also `1e-05`; false after an error about @p path. */
bool conf_read_double(struct conf_parse *p, const char *path, const struct conf_node *node,
                      double *out);
/** Read true, yes, on or false, no, off, in any case; false when @p text is none of them. */
bool conf_parse_bool(const char *text, bool *out);
/** Index in @p choices (NULL: none) of a scalar, in upper or lower case, in any notation of a
 * number, or of null (also @p node NULL); -1 if it is not there. */
int conf_choice_find(const struct conf_choice *choices, const struct conf_node *node);

/* ---- records: maps with keys of their own, in lists or after a key --------------------------- */

/** A map to read: the @c n rows @c key fill the struct @c out. Records are entries of lists
 * (faults, schedulers) or the value of a key (an initializer); the paths of their rows are single
 * names.
 *
 *      const struct conf_record r = {.path = "faults[2]", .map = node,
 *                                    .key = rows, .n = n_rows, .out = &fault};
 *      if (!conf_record_read(p, &r)) return; */
struct conf_record {
    const char *path;            /**< path of the map, for messages: "faults[2]" */
    const struct conf_node *map; /**< any node; a node that is not a map has no keys */
    const struct conf_key *key;  /**< rows; borrowed */
    int n;                       /**< rows, at most CONF_MAX_RECORD */
    void *out;                   /**< the struct that offsets refer to */
    void *context;               /**< data for `read` of the rows; NULL: conf_parse.context */
};
/** Read a record: read each key by its row, report unknown and missing keys, and set defaults of
 * the others. Fields of rows without a default are not changed. False after an error; defaults are
 * then not set and missing keys not reported, since a missing key may be present under a wrong
 * name. */
bool conf_record_read(const struct conf_parse *p, const struct conf_record *record);

/** One kind of a record; the kind decides the keys of the record. The rows of all kinds fill one
 *  type of struct. */
struct conf_variant {
    const char *name;           /**< value of the selector */
    const struct conf_key *key; /**< rows; CONF_KEYS() */
    int n;                      /**< rows, at most CONF_MAX_RECORD */
    const char *doc;            /**< meaning of this kind, for docs/CONFIG.md */
};
/** A list of struct conf_key initializers as the rows of a variant. */
#define CONF_KEYS(...)                                                                             \
    .key = (const struct conf_key[]){__VA_ARGS__},                                                 \
    .n = sizeof((const struct conf_key[]){__VA_ARGS__}) / sizeof(struct conf_key)
/** The kinds of a record: one key names the kind, which decides the other keys. */
struct conf_variants {
    const char *selector;               /**< that key: "scheduler", "kind", "name" */
    const struct conf_variant *variant; /**< kinds, indexed by the enum of the module */
    int n;                              /**< kinds, at most CONF_MAX_CHOICES */
    const char *suffixes; /**< endings of names that are ignored, separated by blanks; NULL: none */
};
/** Index of the variant with the name @p name, in upper or lower case; -1 after an error about
 *  @p path that lists the known variants. */
int conf_variant_read(const struct conf_parse *p, const struct conf_variants *variants,
                      const char *path, const struct conf_node *name);

/* ---- writing --------------------------------------------------------------------------------- */

/** Layout of a written value. */
struct conf_layout {
    /** Blanks before the lines of a list or a map of its own. */
    int indent;
    const void *context; /**< record: data for the `write` of its rows; borrowed */
};
/** Append @p s as a YAML string in double quotes; quotes, backslashes and control characters are
 *  escaped, other bytes are copied (UTF-8). */
void conf_text_string(struct wsc_text *t, const char *s);
/** Append the finite number @p x with the fewest digits, of 15 to 17, that read back to the same
 *  bits. */
void conf_text_double(struct wsc_text *t, double x);

/** Write a blank and the value of @p key at @p field as YAML; a list is written on separate lines,
 *  indented by @p at. conf_key_read() reads the text back to the same bits. */
void conf_key_write(struct wsc_text *out, const struct conf_key *key, const void *field,
                    const struct conf_layout *at);
/** Write the keys of @p table with status CONF_USED as YAML that parses back to the same values. @p
 *  base is the struct that offsets refer to; @p keep (NULL: all) selects keys by path. A new
 * section begins when the section of the path changes, so the rows of a section must be adjacent.
 */
void conf_table_write(struct wsc_text *out, const struct conf_table *table, const void *base,
                      bool (*keep)(const void *base, const char *path));
/** Write a record of kind @p variant at @p base as a map on one line, `{kind: name, key: value}`;
 *  @p context (may be NULL) is passed to the `write` of its rows. */
void conf_record_write(struct wsc_text *out, const struct conf_variants *variants, int variant,
                       const void *base, const void *context);
/** Write @p table in Markdown, one line per key. @p column is the title of an additional second
 *  column with the cells that @p cell writes, or NULL. */
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
/** Warn that the `--set` at @p pos replaces another one of the same key. */
void conf_set_warn_twice(struct conf_diag *d, struct conf_pos pos);
/** Path, in the machine file, of a setting that adds a fault. */
#define CONF_FAULTS_ADD "faults+"
/** The path in the machine file if @p path starts with `cluster.`, else NULL. */
const char *conf_set_cluster_path(const char *path);
#endif
