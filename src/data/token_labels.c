// SPDX-License-Identifier: Apache-2.0
/* Reads the labels of token classification: an object of texts in quotes without escapes, each
 * with the number of its class. */
#include "token_labels.h"

#include <wsc/data.h>
#include <wsc/file.h>
#include <wsc/mem.h>

#include <stdlib.h>
#include <string.h>

/* Read the class at @p *at, a whole number before the next comma or the end of the object; -1:
 * none. */
static int32_t take_class(const char **at)
{
    char *end = NULL;
    const long class = strtol(*at, &end, 10);
    const char *next = end + strspn(end, " \t\r\n");
    if (end == *at || (*next != ',' && *next != '}') || class < 0 || class > INT32_MAX) return -1;
    *at = next;
    return (int32_t) class;
}

/* {"label": 0, ...} */
static enum wsc_err parse(struct data_labels *l, const char *path, const char *json)
{
    for (const char *at = json; (at = strchr(at, '"'));) {
        const char *end = strchr(at + 1, '"');
        struct data_label label = {.class = -1};
        const char *colon = end ? end + 1 + strspn(end + 1, " \t\r\n") : NULL;
        if (!end || *colon != ':' || end - at - 1 >= DATA_LABEL_BYTES ||
            memchr(at, '\\', (size_t)(end - at)))
            return WSC_RAISE(WSC_FORMAT, "%s: is no JSON object of labels and numbers", path);
        memcpy(label.text, at + 1, (size_t)(end - at - 1));
        at = colon + 1;
        label.class = take_class(&at);
        if (label.class < 0)
            return WSC_RAISE(WSC_FORMAT, "%s: label %s: expected a whole number from 0 to %d", path,
                             label.text, INT32_MAX);
        if (data_labels_find(l, label.text, (int64_t)strlen(label.text)) >= 0)
            return WSC_RAISE(WSC_FORMAT, "%s: label %s is given twice", path, label.text);
        TRY_GROW(l->item, WSC_MEM_DATA, l->room, l->n + 1);
        l->item[l->n++] = label;
    }
    return l->n ? WSC_OK : WSC_RAISE(WSC_FORMAT, "%s: has no labels", path);
}

enum wsc_err data_labels_read(struct data_labels *labels, const char *path)
{
    enum { MOST = 1 << 24 };
    char *bytes = NULL;
    size_t n = 0;
    if (!path)
        return WSC_RAISE(WSC_CONFIG, "label_vocab_file of the input is missing: it names the "
                                     "labels of tokens");
    TRY(wsc_file_read(WSC_MEM_DATA, path, MOST, &bytes, &n));
    const enum wsc_err rc = parse(labels, path, bytes);
    wsc_free(bytes);
    return rc;
}

int32_t data_labels_find(const struct data_labels *labels, const char *text, int64_t n)
{
    for (int i = 0; i < labels->n; i++) {
        const struct data_label *l = &labels->item[i];
        if ((int64_t)strlen(l->text) == n && !memcmp(l->text, text, (size_t)n)) return l->class;
    }
    return -1;
}

void data_labels_fini(struct data_labels *labels)
{
    wsc_free(labels->item);
    *labels = (struct data_labels){0};
}

/* Labels of the BIO scheme (Ramshaw and Marcus 1995) for the first and the further tokens of an
 * entity; others are no entities, padding and special tokens. */
static bool is_of_entity(const struct data_label *l)
{
    return l->text[0] == 'B' || l->text[0] == 'I';
}

enum wsc_err data_labels_ignored(const char *path, bool *ignored, int64_t n_classes)
{
    struct data_labels labels = {0};
    const enum wsc_err rc = data_labels_read(&labels, path);
    memset(ignored, 0, (size_t)n_classes * sizeof *ignored);
    for (int i = 0; !rc && i < labels.n; i++) {
        const struct data_label *l = &labels.item[i];
        if (l->class < n_classes && !is_of_entity(l)) ignored[l->class] = true;
    }
    data_labels_fini(&labels);
    return rc;
}
