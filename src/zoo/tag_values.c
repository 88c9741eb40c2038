// SPDX-License-Identifier: Apache-2.0
/* Groups of tensors by tags, which the Model Zoo's optimizers have since release 2.4:
 * `optimizer.params` gives tags to tensors by patterns of names; a scheduler with
 * `param_group_tags` sets the learning rate, or the weight decay, of the tensors with one of its
 * tags. Of several schedulers the last one counts. trainer_takes.c converts such schedulers to
 * `optimizer.tagged_schedules`; src/model looks up the entry of each tensor. */
#include "name_expression.h"
#include "name_patterns.h"
#include "params_values.h"

#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* ---- matching -------------------------------------------------------------------------------- */

/* The Model Zoo searches for the glob anywhere in the name, but the match ends at the end of the
 * name. */
bool zoo_tag_matches(const struct zoo_tag *tag, const char *name)
{
    for (int i = 0; i < tag->names.n; i++) {
        char glob[ZOO_PATTERN_BYTES + 2];
        (void)snprintf(glob, sizeof glob, "*%s", tag->names.pattern[i]);
        if (zoo_glob_matches(glob, name)) return true;
    }
    return false;
}

/* @p tag NULL: any tag. */
static bool has_tag(const struct zoo_groups *g, const char *name, const char *tag)
{
    bool any = false;
    for (int i = 0; i < g->n_tags; i++) {
        if (!zoo_tag_matches(&g->tag[i], name)) continue;
        if (tag && !strcmp(g->tag[i].tag, tag)) return true;
        any = true;
    }
    return !tag && !any;
}

int zoo_tagged_find(const struct zoo_optimizer *optimizer, const char *name, bool decay)
{
    const struct zoo_groups *g = &optimizer->groups;
    for (int i = g->n_tagged - 1; i >= 0; i--) {
        const struct zoo_tagged *t = &g->tagged[i];
        const bool acts = (decay ? &t->weight_decay : &t->learning_rate)->n > 0;
        for (int k = 0; acts && k < t->n_tags; k++)
            if (has_tag(g, name, t->tag[k])) return i;
    }
    return -1;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Read a text that is not null; owned by the caller, NULL after an error. */
static char *read_word(struct conf_parse *p, const char *path, const struct conf_node *node)
{
    char shown[CONF_QUOTE_BYTES];
    if (node->kind != CONF_NODE_SCALAR || conf_node_is_null(node) || !*node->text) {
        conf_diag_error(p->diag, node->pos, path, "expected a tag, got %s",
                        conf_node_describe(node, shown));
        return NULL;
    }
    char *copy = wsc_strdup(WSC_MEM_CONF, node->text);
    p->diag->no_memory = p->diag->no_memory || !copy;
    return copy;
}

static void read_tag(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     void *entry)
{
    ((struct zoo_tag *)entry)->tag = read_word(p, key->path, node);
}

static void read_names(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node, void *entry)
{
    zoo_patterns_read(p, key->path, node, &((struct zoo_tag *)entry)->names);
}

static void read_which(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node, void *entry)
{
    struct zoo_tagged *t = entry;
    const bool list = node->kind == CONF_NODE_LIST;
    if (list && !node->n)
        conf_diag_error(
            p->diag, node->pos, key->path,
            "no tag, so no tensor has this schedule; hint: null for those without a tag");
    for (int i = 0; i < (list ? node->n : 1); i++) {
        const struct conf_node *tag = list ? node->entry[i].value : node;
        if (t->n_tags == ZOO_MAX_TAGS) {
            conf_diag_error(p->diag, tag->pos, key->path, "more than %d tags", ZOO_MAX_TAGS);
            return;
        }
        char *word = conf_node_is_null(tag) ? NULL : read_word(p, key->path, tag);
        t->tag[t->n_tags++] = word;
    }
}

static void read_rate(struct conf_parse *p, const struct conf_key *key,
                      const struct conf_node *node, void *entry)
{
    zoo_read_schedule(p, key, node, &((struct zoo_tagged *)entry)->learning_rate);
}

static void read_decay(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node, void *entry)
{
    zoo_read_decay(p, key, node, &((struct zoo_tagged *)entry)->weight_decay);
}

#define SPECIAL(name, f) .path = (name), .type = CONF_T_SPECIAL, .read = (f)
static const struct conf_key tag_keys[] = {
    {SPECIAL("params", read_names), .required = true, .form = "glob or list of globs",
     .doc = "ends of the names of tensors"},
    {SPECIAL("tag", read_tag), .required = true, .form = "text", .doc = "the tag that they get"},
};
static const struct conf_key tagged_keys[] = {
    {SPECIAL("param_group_tags", read_which), .required = true, .form = "tag or list of tags",
     .doc = "of the tensors; null: those without a tag"},
    {SPECIAL("learning_rate", read_rate), .form = "number, scheduler, or list of them",
     .doc = "their learning rate"},
    {SPECIAL("weight_decay", read_decay), .form = "number, scheduler, or list of them",
     .doc = "their weight decay"},
};

/* Read a map or a list of maps. Each is read like @p record into the next of the entries of @p size
 * bytes that begin at its `out`. */
static void read_list(struct conf_parse *p, const struct conf_key *key,
                      const struct conf_node *node, const struct conf_record *record, size_t size,
                      int *n)
{
    const bool list = node->kind == CONF_NODE_LIST;
    char *first = record->out;
    for (int i = 0; first && i < (list ? node->n : 1); i++) {
        char path[CONF_MAX_PATH];
        struct conf_record own = *record;
        own.map = list ? node->entry[i].value : node;
        own.path = path;
        (void)snprintf(path, sizeof path, "%.150s[%d]", key->path, i);
        if (own.map->kind != CONF_NODE_MAP || *n == ZOO_MAX_TAGS) {
            conf_diag_error(p->diag, own.map->pos, path, "expected a map, at most %d of them",
                            ZOO_MAX_TAGS);
            return;
        }
        own.out = first + (size_t)(*n)++ * size;
        (void)conf_record_read(p, &own);
    }
    p->diag->no_memory = p->diag->no_memory || !first;
}

void zoo_read_tags(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                   void *groups)
{
    struct zoo_groups *g = groups;
    if (conf_node_is_null(node)) return;
    if (!g->tag) g->tag = wsc_alloc(WSC_MEM_CONF, ZOO_MAX_TAGS, sizeof *g->tag);
    const struct conf_record record = {
        .key = tag_keys, .n = sizeof tag_keys / sizeof *tag_keys, .out = g->tag};
    read_list(p, key, node, &record, sizeof *g->tag, &g->n_tags);
}

void zoo_read_tagged(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     void *groups)
{
    struct zoo_groups *g = groups;
    if (conf_node_is_null(node)) return;
    if (!g->tagged) g->tagged = wsc_alloc(WSC_MEM_CONF, ZOO_MAX_TAGS, sizeof *g->tagged);
    const struct conf_record record = {
        .key = tagged_keys, .n = sizeof tagged_keys / sizeof *tagged_keys, .out = g->tagged};
    read_list(p, key, node, &record, sizeof *g->tagged, &g->n_tagged);
}

/* ---- writing --------------------------------------------------------------------------------- */

void zoo_write_tags(struct wsc_text *out, const void *groups, const struct conf_layout *at)
{
    const struct zoo_groups *g = groups;
    if (!g->n_tags) wsc_text_add(out, " null");
    for (int i = 0; i < g->n_tags; i++) {
        wsc_text_add(out, "\n%*s- {params:", at->indent, "");
        zoo_patterns_write(out, &g->tag[i].names);
        wsc_text_add(out, ", tag: ");
        conf_text_string(out, g->tag[i].tag);
        wsc_text_add(out, "}");
    }
}

void zoo_write_tagged(struct wsc_text *out, const void *groups, const struct conf_layout *at)
{
    const struct zoo_groups *g = groups;
    if (!g->n_tagged) wsc_text_add(out, " null");
    for (int i = 0; i < g->n_tagged; i++) {
        const struct zoo_tagged *t = &g->tagged[i];
        wsc_text_add(out, "\n%*s- {param_group_tags: [", at->indent, "");
        for (int k = 0; k < t->n_tags; k++) {
            wsc_text_add(out, "%s", k ? ", " : "");
            if (t->tag[k])
                conf_text_string(out, t->tag[k]);
            else
                wsc_text_add(out, "null");
        }
        wsc_text_add(out, "]");
        if (t->learning_rate.n) {
            wsc_text_add(out, ", learning_rate:");
            zoo_write_schedule(out, &t->learning_rate, at);
        }
        if (t->weight_decay.n) {
            wsc_text_add(out, ", weight_decay:");
            zoo_write_schedule(out, &t->weight_decay, at);
        }
        wsc_text_add(out, "}");
    }
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool is_used(const struct zoo_groups *g, const char *tag)
{
    for (int i = 0; i < g->n_tagged; i++)
        for (int k = 0; k < g->tagged[i].n_tags; k++)
            if (g->tagged[i].tag[k] && !strcmp(g->tagged[i].tag[k], tag)) return true;
    return false;
}

static bool is_given(const struct zoo_groups *g, const char *tag)
{
    for (int i = 0; i < g->n_tags; i++)
        if (g->tag[i].tag && !strcmp(g->tag[i].tag, tag)) return true;
    return false;
}

void zoo_groups_check(struct conf_parse *p, const struct zoo_groups *g)
{
    static const char tags[] = "optimizer.params", tagged[] = "optimizer.tagged_schedules";
    for (int i = 0; i < g->n_tags; i++)
        if (g->tag[i].tag && !is_used(g, g->tag[i].tag))
            conf_diag_warn(p->diag, conf_parse_place(p, tags, NULL), tags,
                           "without effect: no scheduler has param_group_tags with %s",
                           g->tag[i].tag);
    for (int i = 0; i < g->n_tagged; i++) {
        const struct zoo_tagged *t = &g->tagged[i];
        if (!t->learning_rate.n && !t->weight_decay.n)
            conf_diag_error(p->diag, conf_parse_place(p, tagged, NULL), tagged,
                            "entry %d has neither learning_rate nor weight_decay", i + 1);
        for (int k = 0; k < t->n_tags; k++)
            if (t->tag[k] && !is_given(g, t->tag[k]))
                conf_diag_error(p->diag, conf_parse_place(p, tagged, NULL), tagged,
                                "no entry of optimizer.params has the tag %s", t->tag[k]);
    }
}

void zoo_groups_fini(struct zoo_groups *g)
{
    for (int i = 0; i < g->n_tags; i++) {
        wsc_free(g->tag[i].tag);
        zoo_patterns_fini(&g->tag[i].names);
    }
    for (int i = 0; i < g->n_tagged; i++)
        for (int k = 0; k < g->tagged[i].n_tags; k++)
            wsc_free(g->tagged[i].tag[k]);
    wsc_free(g->tag);
    wsc_free(g->tagged);
    *g = (struct zoo_groups){0};
}
