/** Labels of token classification: the file that label_vocab_file names, a JSON object of texts and
 *  numbers.
 *
 *  encoder_shared.c reads it for the samples, data_labels_ignored() (<wsc/data.h>) for the F1. */
#ifndef WSC_DATA_TOKEN_LABELS_H
#define WSC_DATA_TOKEN_LABELS_H
#include <wsc/err.h>

#include <stdint.h>

enum { DATA_LABEL_BYTES = 128 };

/* A label and its class. */
struct data_label {
    char text[DATA_LABEL_BYTES];
    int32_t class;
};
struct data_labels {
    struct data_label *item; /* owned */
    int n, room;
};
/* Read the file @p path (NULL: an error that names the key); @p labels is empty before. */
enum wsc_err data_labels_read(struct data_labels *labels, const char *path) WSC_CHECKED;
/* The class of the label @p text of @p n bytes; -1: there is none. */
int32_t data_labels_find(const struct data_labels *labels, const char *text, int64_t n);
/* Free the labels; an empty struct is allowed. */
void data_labels_fini(struct data_labels *labels);
#endif
