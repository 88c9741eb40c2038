/** JSON Schema of configuration files, written from the key tables (<wsc/conf.h>).
 *
 *  schema_values.c writes the schema of one key's value, schema_records.c that of maps with keys of
 *  their own, schema_tree.c that of sections, config_schema.c the documents.  What the program
 * accepts validates: names in any case, numbers in quotes, nulls where a row allows them.
 */
#ifndef WSC_REPORT_SCHEMA_H
#define WSC_REPORT_SCHEMA_H
#include <wsc/conf.h>
#include <wsc/out.h>

/** Append a regular expression for @p name in any case: `[Ss][Tt][Ee][Pp]`. */
void report_schema_any_case(struct wsc_text *pattern, const char *name);
/** Add the member @p key whose value is @p pattern, or a reference "#/definitions/NAME". */
void report_schema_pattern(struct out_json *j, const char *key, const struct wsc_text *pattern);
/** Add an object with the one member `$ref` to the definition @p name; @p key as in
 *  out_json_open(). */
void report_schema_ref(struct out_json *j, const char *key, const char *name);
/** Add the schema of the value of @p row as member @p name of the object that is open. */
void report_schema_value(struct out_json *j, const char *name, const struct conf_key *row);

/** A table as a tree: how its rows and sections are written. */
struct report_schema_tree {
    const struct conf_table *table;
    /** Write the schema of @p row as member @p name of the object that is open. */
    void (*leaf)(struct out_json *j, const char *name, const struct conf_key *row);
    /** Write section @p path as member @p name; false: it is written like any other.  May be NULL.
     */
    bool (*section)(struct out_json *j, const char *name, const char *path);
    bool required; /**< say which keys are required in their section */
    bool nullable; /**< a section may be null */
};
/** Add members to an object that is open: it is a map with the keys of @p section, which is a path
 *  of the tree, "" for all; a row `SECTION.*` allows any other key. */
void report_schema_section(struct out_json *j, const struct report_schema_tree *t,
                           const char *section);

/** Add an alternative: the map @p section, two levels deep at most, is there with its required
 *  keys. */
void report_schema_require_in(struct out_json *j, const struct conf_table *table,
                              const char *section);

/** Add a definition `PREFIX.NAME` for each kind of a record. */
void report_schema_kinds(struct out_json *j, const char *prefix, const struct conf_variants *kinds);
/** Add the definition @p prefix: a map whose selector names one of the @p kinds. */
void report_schema_record(struct out_json *j, const char *prefix,
                          const struct conf_variants *kinds);
/** Add the definition @p name: a map with the keys of any of the @p kinds, whose selector may be
 *  absent. */
void report_schema_union(struct out_json *j, const char *name, const struct conf_variants *kinds);
/** Add members to an object that is open: it is a map whose selector names the kind. */
void report_schema_select(struct out_json *j, const char *prefix,
                          const struct conf_variants *kinds);
/** Add the definitions of schedules: `scheduler`, `schedule`, and each kind of a scheduler. */
void report_schema_schedules(struct out_json *j);
/** Append a regular expression for the names of kind @p i, in any case and with any suffix. */
void report_schema_kind(struct wsc_text *pattern, const struct conf_variants *kinds, int i);
#endif
