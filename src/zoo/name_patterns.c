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

bool zoo_patterns_match(const struct zoo_patterns *patterns, int i, const char *name)
{
    if (patterns->expressions) return occurs(patterns->pattern[i], name);
    return !fnmatch(patterns->pattern[i], name, FNM_NOESCAPE);
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
