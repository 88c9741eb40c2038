// SPDX-License-Identifier: Apache-2.0
/* Writes data_params.json of a dataset: how it was made, in the keys of the Model Zoo, and counts.
 * Computes the entropy of the labels, H = -sum p log p over the ids that occur. make_dataset.c
 * calls. */
#include "dataset_params.h"
#include "dataset_folder.h"
#include "tokenizer.h"

#include <math.h>

double data_part_entropy(const struct data_part *part, int64_t vocab_size)
{
    int64_t total = 0;
    double entropy = 0;
    for (int64_t id = 0; id < vocab_size; id++)
        total += part->label_count[id];
    for (int64_t id = 0; id < vocab_size; id++) {
        double p = total ? (double)part->label_count[id] / (double)total : 0;
        if (p > 0) entropy -= p * log(p); /* Shannon 1948, in nats */
    }
    return entropy;
}

/* RFC 8259, section 7. */
void data_params_string(FILE *f, const char *text)
{
    (void)fputc('"', f);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            (void)fprintf(f, "\\%c", *c);
        else if (*c < 0x20)
            (void)fprintf(f, "\\u%04x", *c);
        else
            (void)fputc(*c, f);
    }
    (void)fputc('"', f);
}

static void put_text(FILE *f, const char *name, const char *text)
{
    (void)fprintf(f, "    \"%s\": ", name);
    if (text)
        data_params_string(f, text);
    else
        (void)fputs("null", f);
    (void)fputs(",\n", f);
}

static void put_count(FILE *f, const char *name, int64_t value)
{
    (void)fprintf(f, "  \"%s\": %lld,\n", name, (long long)value);
}

static void put_id(FILE *f, const char *name, int64_t id)
{
    if (id == DATA_NO_ID)
        (void)fprintf(f, "  \"%s\": null,\n", name);
    else
        put_count(f, name, id);
}

static void put_setup(FILE *f, const struct data_make *make)
{
    (void)fputs("  \"setup\": {\n    \"metadata_files\": [", f);
    for (int i = 0; i < make->n_inputs; i++) {
        if (i) (void)fputs(", ", f);
        data_params_string(f, make->input[i]);
    }
    (void)fputs("],\n    \"output_dir\": ", f);
    data_params_string(f, make->out_dir);
    (void)fputs("\n  },\n", f);
}

/* Write the section `processing` in the keys and units of the Model Zoo. */
static void put_processing(FILE *f, const struct data_make *make)
{
    (void)fputs("  \"processing\": {\n", f);
    put_text(f, "tokenizer_type", data_tokenizer_kind(make->tokenizer));
    put_text(f, "jsonl_key", make->key);
    put_text(f, "input_ids_dtype", make->type == STORE_UINT16 ? "uint16" : "int32");
    (void)fprintf(f, "    \"max_seq_length\": %lld,\n", (long long)make->T);
    (void)fprintf(f, "    \"files_per_record\": %lld,\n", (long long)make->samples_per_file);
    (void)fprintf(f, "    \"shuffle\": %s,\n", make->shuffle ? "true" : "false");
    (void)fprintf(f, "    \"shuffle_seed\": %lld,\n", (long long)make->seed);
    (void)fprintf(f, "    \"split\": %.9g,\n", make->share[DATA_VAL]);
    (void)fprintf(f, "    \"test_split\": %.9g\n  },\n", make->share[DATA_TEST]);
}

/* Write the counts of one part; those of raw text only where they are known. */
static void put_counts(FILE *f, const struct data_made *made, const struct data_part *part)
{
    double n = (double)part->n_samples;
    put_count(f, "discarded_files", 0);
    put_count(f, "processed_files", made->n_files);
    put_count(f, "successful_files", made->n_files);
    if (part->of_text) put_count(f, "raw_chars_count", part->n_chars);
    if (part->of_text) put_count(f, "raw_bytes_count", part->n_bytes);
    put_count(f, "num_tokens", part->n_tokens);
    put_count(f, "num_pad_tokens", part->n_pad);
    put_count(f, "num_masked_tokens", part->n_masked);
    put_count(f, "non_pad_tokens", part->n_tokens - part->n_pad);
    put_count(f, "loss_valid_tokens", part->n_tokens - part->n_masked);
    if (part->of_text) {
        (void)fprintf(f, "  \"average_chars_per_sequence\": %.6g,\n", (double)part->n_chars / n);
        (void)fprintf(f, "  \"average_bytes_per_sequence\": %.6g,\n", (double)part->n_bytes / n);
    }
    (void)fprintf(f, "  \"unigram_entropy_nats\": %.9g\n",
                  data_part_entropy(part, made->vocab_size));
}

/* Arguments of the functions that write the file. */
struct subject {
    const struct data_make *make;
    const struct data_made *made;
    const struct data_part *part;
};

/* Names of the rows of a sample. */
static void put_features(FILE *f, const struct subject *s)
{
    static const char *const name[] = {"input_ids", "attention_mask", "labels", "attention_span",
                                       "position_ids"};
    static const char *const side[] = {"chosen_", "rejected_"};
    const int sides = s->part->pairs ? 2 : 1, n = s->make->use_vsl ? 5 : 3;
    if (s->part->loader) {
        (void)fprintf(f, "  \"data_processor\": \"%s\",\n  \"features\": %s,\n", s->part->loader,
                      s->part->features);
        return;
    }
    (void)fputs("  \"features\": [", f);
    for (int i = 0; i < sides * n; i++)
        (void)fprintf(f, "%s\"%s%s\"", i ? ", " : "", sides > 1 ? side[i / n] : "", name[i % n]);
    (void)fputs("],\n", f);
}

/* The file in the order of the Model Zoo's. */
static void put_params(FILE *f, const void *what)
{
    const struct subject *s = what;
    (void)fputs("{\n  " DATA_CREATED_BY ",\n", f);
    put_setup(f, s->make);
    put_processing(f, s->make);
    (void)fprintf(f, "  \"dataset\": {\n    \"pack_sequences\": %s,\n    \"use_vsl\": %s\n  },\n",
                  s->part->of_text ? "true" : "false", s->make->use_vsl ? "true" : "false");
    put_features(f, s);
    put_count(f, "n_examples", s->part->n_samples);
    put_count(f, "vocab_size", s->made->vocab_size);
    put_id(f, "bos_id", s->make->bos_id);
    put_id(f, "eos_id", s->make->eos_id);
    put_id(f, "pad_id", s->make->pad_id);
    put_counts(f, s->made, s->part);
    (void)fputs("}\n", f);
}

enum wsc_err data_params_write(const char *dir, const struct data_make *make,
                               const struct data_made *made, const struct data_part *part)
{
    return data_file_write(dir, "data_params.json", put_params,
                           &(struct subject){make, made, part});
}
