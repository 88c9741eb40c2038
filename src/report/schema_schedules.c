// SPDX-License-Identifier: Apache-2.0
/* Writes the JSON Schema of schedules: a scheduler by its key `scheduler` or by its name as the one
 * key of a map, and lists of schedulers. ScalePerParamLR, which wraps a schedule, is not in the
 * table of schedulers (src/zoo/zoo_schedules.c) and has its own pattern here. Called by
 * config_schema.c. */
#include "schema.h"

#include <wsc/zoo.h>

#include <stdio.h>

#define SCALE "^[Ss][Cc][Aa][Ll][Ee][Pp][Ee][Rr][Pp][Aa][Rr][Aa][Mm]([Ll][Rr])?$"

/* `properties: {name: {$ref: schedule}}` of the wrapper. */
static void add_inner(struct out_json *j, const char *name)
{
    out_json_open(j, "properties");
    report_schema_ref(j, name, "schedule");
    out_json_close(j);
}

/* `{scheduler: Name, ...}` */
static void add_selected(struct out_json *j)
{
    const struct conf_variants *kinds = zoo_schedulers();
    out_json_open(j, "if");
    out_json_open(j, "properties");
    out_json_open(j, kinds->selector);
    out_json_str(j, "pattern", SCALE);
    out_json_close(j);
    out_json_close(j);
    out_json_close(j);
    out_json_open(j, "then");
    add_inner(j, "schedulers");
    out_json_close(j);
    out_json_open(j, "else");
    report_schema_select(j, "scheduler", kinds);
    out_json_close(j);
}

/* `{Name: {...}}` */
static void add_named(struct out_json *j)
{
    const struct conf_variants *kinds = zoo_schedulers();
    out_json_int(j, "minProperties", 1);
    out_json_int(j, "maxProperties", 1);
    out_json_bool(j, "additionalProperties", false);
    out_json_open(j, "patternProperties");
    out_json_open(j, SCALE);
    add_inner(j, "scheduler");
    out_json_close(j);
    for (int i = 0; i < kinds->n; i++) {
        struct wsc_text name = {0};
        char definition[128];
        report_schema_kind(&name, kinds, i);
        (void)snprintf(definition, sizeof definition, "scheduler.%s", kinds->variant[i].name);
        j->text.failed = j->text.failed || name.failed;
        report_schema_ref(j, name.failed ? "" : name.bytes, definition);
        wsc_text_free(&name);
    }
    out_json_close(j);
}

static void add_scheduler(struct out_json *j)
{
    out_json_str(j, "type", "object");
    out_json_open(j, "if");
    out_json_open_list(j, "required");
    out_json_str(j, NULL, zoo_schedulers()->selector);
    out_json_close_list(j);
    out_json_close(j);
    out_json_open(j, "then");
    add_selected(j);
    out_json_close(j);
    out_json_open(j, "else");
    add_named(j);
    out_json_close(j);
}

void report_schema_schedules(struct out_json *j)
{
    out_json_open(j, "scheduler");
    add_scheduler(j);
    out_json_close(j);
    out_json_open(j, "schedule");
    out_json_open_list(j, "anyOf");
    report_schema_ref(j, NULL, "scheduler");
    out_json_open(j, NULL);
    out_json_str(j, "type", "array");
    out_json_int(j, "minItems", 1);
    report_schema_ref(j, "items", "schedule");
    out_json_close(j);
    out_json_close_list(j);
    out_json_close(j);
    report_schema_kinds(j, "scheduler", zoo_schedulers());
}
