// SPDX-License-Identifier: Apache-2.0
#include "data_impl.h"

#include <wsc/mem.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

double data_part_entropy(const struct data_part *part)
{
    int64_t total = 0;
    double entropy = 0;
    for (int b = 0; b < 256; b++)
        total += part->label_count[b];
    for (int b = 0; b < 256; b++) {
        double p = total ? (double)part->label_count[b] / (double)total : 0;
        if (p > 0) entropy -= p * log(p); /* Shannon 1948, in nats */
    }
    return entropy;
}

/* RFC 8259, section 7. */
static void put_string(FILE *f, const char *text)
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

static void put_inputs(FILE *f, const struct data_make *make)
{
    (void)fputs("    \"metadata_files\": [", f);
    for (int i = 0; i < make->n_inputs; i++) {
        if (i) (void)fputs(", ", f);
        put_string(f, make->input[i]);
    }
    (void)fputs("],\n    \"output_dir\": ", f);
    put_string(f, make->out_dir);
}

static void put_counts(FILE *f, const struct data_make *make, const struct data_part *part)
{
    double n = (double)part->n_samples;
    (void)fprintf(f, "  \"n_examples\": %lld,\n", (long long)part->n_samples);
    (void)fputs("  \"vocab_size\": 256,\n  \"eos_id\": null,\n  \"pad_id\": 0,\n", f);
    (void)fprintf(f, "  \"discarded_files\": 0,\n  \"processed_files\": %d,\n", make->n_inputs);
    (void)fprintf(f, "  \"successful_files\": %d,\n", make->n_inputs);
    (void)fprintf(f, "  \"raw_chars_count\": %lld,\n", (long long)part->n_chars);
    (void)fprintf(f, "  \"raw_bytes_count\": %lld,\n", (long long)part->n_bytes);
    (void)fprintf(f, "  \"num_tokens\": %lld,\n", (long long)part->n_tokens);
    (void)fprintf(f, "  \"num_pad_tokens\": %lld,\n", (long long)part->n_masked);
    (void)fprintf(f, "  \"num_masked_tokens\": %lld,\n", (long long)part->n_masked);
    (void)fprintf(f, "  \"non_pad_tokens\": %lld,\n", (long long)(part->n_tokens - part->n_masked));
    (void)fprintf(f, "  \"loss_valid_tokens\": %lld,\n",
                  (long long)(part->n_tokens - part->n_masked));
    (void)fprintf(f, "  \"average_chars_per_sequence\": %.6g,\n", (double)part->n_chars / n);
    (void)fprintf(f, "  \"average_bytes_per_sequence\": %.6g,\n", (double)part->n_bytes / n);
    (void)fprintf(f, "  \"unigram_entropy_nats\": %.9g\n", data_part_entropy(part));
}

static void put_params(FILE *f, const struct data_make *make, const struct data_part *part)
{
    (void)fputs("{\n  " DATA_CREATED_BY ",\n  \"setup\": {\n", f);
    put_inputs(f, make);
    (void)fputs("\n  },\n  \"processing\": {\n    \"tokenizer_type\": \"byte\",\n", f);
    (void)fprintf(f, "    \"max_seq_length\": %lld,\n", (long long)make->T);
    (void)fprintf(f, "    \"files_per_record\": %lld,\n", (long long)make->samples_per_file);
    (void)fprintf(f, "    \"split\": %.9g\n  },\n", make->split);
    (void)fputs("  \"dataset\": {\n    \"pack_sequences\": true,\n    \"use_vsl\": false\n  },\n",
                f);
    (void)fputs("  \"features\": [\"input_ids\", \"attention_mask\", \"labels\"],\n", f);
    put_counts(f, make, part);
    (void)fputs("}\n", f);
}

enum wsc_err data_params_write(const char *dir, const struct data_make *make,
                               const struct data_part *part)
{
    char *path = wsc_asprintf(WSC_MEM_DATA, "%s/data_params.json", dir);
    if (!path) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "path");
    FILE *f = fopen(path, "w");
    if (f) put_params(f, make, part);
    int bad = !f || ferror(f), why = errno;
    if (f && fclose(f)) {
        bad = 1;
        why = errno;
    }
    enum wsc_err rc = WSC_OK;
    if (bad) rc = WSC_RAISE(WSC_IO, "%s: cannot be written: %s", path, strerror(why));
    wsc_free(path);
    return rc;
}
