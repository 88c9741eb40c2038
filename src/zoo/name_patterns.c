// SPDX-License-Identifier: Apache-2.0
/* Patterns that select tensors by their names: globs of whole names, or regular expressions that
 * are searched in a name, as by Python's re.search(). The sections `sparsity`, `model.freeze` and
 * the groups of the optimizer have such patterns; their readers call the functions below. */
#include "name_patterns.h"

#include "name_expression.h"

#include <wsc/mem.h>

#include <fnmatch.h>
#include <regex.h>
#include <string.h>

/* Longest translation of a glob, before which tag_values.c may have put a star: two bytes may
 * become six. */
enum { GLOB_BYTES = 3 * (ZOO_PATTERN_BYTES + 1) + 1 };

/* Compile an expression of Python; NULL, or what is wrong with it. */
static const char *compile(const char *expression, regex_t *out)
{
    char posix[ZOO_EXPRESSION_BYTES];
    const char *problem = zoo_expression_translate(expression, posix);
    if (problem) return problem;
    return regcomp(out, posix, REG_EXTENDED | REG_NOSUB)
               ? "not a regular expression; hint: .*linear_layer.weight"
               : NULL;
}

/* Search as Python's re.search(). Expressions were compiled when they were read. */
static bool occurs(const char *expression, const char *name)
{
    regex_t compiled;
    if (compile(expression, &compiled)) return false;
    const bool found = !regexec(&compiled, name, 0, NULL, 0);
    regfree(&compiled);
    return found;
}

/* The end of the set that begins after the bracket before @p set, as Python's fnmatch finds it:
 * NULL where the bracket stands for itself. */
static const char *end_of_set(const char *set)
{
    if (*set == '!') set++;
    if (*set == ']') set++;
    return strchr(set, ']');
}

/* glibc's fnmatch() negates a set that begins with ^ as it does one with !; in Python's ^ is a
 * member, which glibc takes as a collating symbol. */
bool zoo_glob_matches(const char *glob, const char *name)
{
    static const char member[] = "[[.^.]";
    char posix[GLOB_BYTES];
    size_t n = 0;
    for (const char *end, *p = glob; *p; p = end) {
        const char *close = *p == '[' ? end_of_set(p + 1) : NULL;
        const size_t skipped = close && p[1] == '^' ? 2 : 0;
        end = close ? close + 1 : p + 1;
        if (skipped) memcpy(posix + n, member, sizeof member - 1);
        if (skipped) n += sizeof member - 1;
        memcpy(posix + n, p + skipped, (size_t)(end - p) - skipped);
        n += (size_t)(end - p) - skipped;
    }
    posix[n] = '\0';
    return !fnmatch(posix, name, FNM_NOESCAPE);
}

bool zoo_patterns_match(const struct zoo_patterns *patterns, int i, const char *name)
{
    if (patterns->expressions) return occurs(patterns->pattern[i], name);
    return zoo_glob_matches(patterns->pattern[i], name);
}

int zoo_patterns_find(const struct zoo_patterns *patterns, const char *name)
{
    for (int i = 0; i < patterns->n; i++)
        if (zoo_patterns_match(patterns, i, name)) return i;
    return -1;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool check_expression(struct conf_parse *p, const char *path, const struct conf_node *node)
{
    regex_t compiled;
    const char *problem = compile(node->text, &compiled);
    if (problem)
        conf_diag_error(p->diag, node->pos, path, "%s", problem);
    else
        regfree(&compiled);
    return !problem;
}

static bool add_pattern(struct conf_parse *p, const char *path, const struct conf_node *node,
                        struct zoo_patterns *out)
{
    char shown[CONF_QUOTE_BYTES];
    if (node->kind != CONF_NODE_SCALAR || conf_node_is_null(node) || !*node->text ||
        strlen(node->text) > ZOO_PATTERN_BYTES) {
        conf_diag_error(p->diag, node->pos, path,
                        "expected a pattern of names, up to %d bytes, got %s", ZOO_PATTERN_BYTES,
                        conf_node_describe(node, shown));
        return false;
    }
    if (out->n == ZOO_MAX_PATTERNS) {
        conf_diag_error(p->diag, node->pos, path, "more than %d patterns", ZOO_MAX_PATTERNS);
        return false;
    }
    if (out->expressions && !check_expression(p, path, node)) return false;
    char *copy = wsc_strdup(WSC_MEM_CONF, node->text);
    if (copy) out->pattern[out->n++] = copy;
    p->diag->no_memory = p->diag->no_memory || !copy;
    return copy != NULL;
}

void zoo_patterns_read(struct conf_parse *p, const char *path, const struct conf_node *node,
                       struct zoo_patterns *out)
{
    if (node->kind != CONF_NODE_LIST) {
        (void)add_pattern(p, path, node, out);
        return;
    }
    for (int i = 0; i < node->n; i++)
        if (!add_pattern(p, path, node->entry[i].value, out)) return;
}

void zoo_patterns_write(struct wsc_text *out, const struct zoo_patterns *patterns)
{
    if (!patterns->n) wsc_text_add(out, " null");
    for (int i = 0; i < patterns->n; i++) {
        wsc_text_add(out, "%s", i ? ", " : " [");
        conf_text_string(out, patterns->pattern[i]);
    }
    if (patterns->n) wsc_text_add(out, "]");
}

void zoo_patterns_fini(struct zoo_patterns *patterns)
{
    for (int i = 0; i < patterns->n; i++)
        wsc_free(patterns->pattern[i]);
    *patterns = (struct zoo_patterns){0};
}
