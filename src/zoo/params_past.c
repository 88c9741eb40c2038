// SPDX-License-Identifier: Apache-2.0
/* Compares training params with those of a checkpoint. A checkpoint stores the params of its run
 * that determine the meaning of its weights and the samples before it (conf_key.past), one line
 * "key: value" each, in the text attribute ZOO_PAST. A run that loads the weights compares them
 * with its own params: the weights of another model with equal shapes, for example with another
 * number of heads, would be garbage without an error. zoo_params_dump() writes the lines. Called by
 * src/job/job_history.c and src/convert. */
#include <wsc/hash.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/zoo.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const char *text, const char *word)
{
    return !strncmp(text, word, strlen(word));
}

/* ---- the lines -------------------------------------------------------------- */

/* What a checkpoint of a run with another value of the key of @p line, "key: value", is. */
static enum conf_past meaning_of(const char *line)
{
    const struct conf_table *table = zoo_params_table();
    const size_t key = strcspn(line, ":");
    if (begins(line, "eval_input.")) return CONF_PAST_NOTHING; /* trains nothing */
    /* a line of write_adapters(), of one entry of a list */
    if (begins(line, "model.lora_params.dropout")) return CONF_PAST_TRAINING;
    for (int i = 0; i < table->n; i++) {
        const struct conf_key *row = &table->key[i];
        const size_t n = strlen(row->path);
        /* the key, or one below it, as a map is written */
        const bool found = n <= key && begins(line, row->path) && (n == key || line[n] == '.');
        if (found && row->past) return row->past;
    }
    return begins(line, "model.") ? CONF_PAST_MODEL : CONF_PAST_NOTHING;
}

/* The section of a line of YAML, as "model.moe." */
struct section {
    char name[256];
    size_t end[8]; /* end of the name of each level */
};

/* Convert a line "key: value" of YAML to "section.key: value"; a key without a value begins a
 * section. */
static enum wsc_err flatten_line(struct section *at, const char *line, size_t n, FILE *out)
{
    enum { INDENT = 4, MOST_LEVELS = 7 };
    char text[512];
    const size_t blanks = strspn(line, " "), level = blanks / INDENT, key = strcspn(line, ":\n");
    if (blanks >= n || line[blanks] == '-' || key >= n || level > MOST_LEVELS) return WSC_OK;
    const size_t before = level ? at->end[level - 1] : 0;
    at->name[before] = '\0';
    const int length =
        snprintf(text, sizeof text, "%s%.*s", at->name, (int)(n - blanks), line + blanks);
    /* longer than any number or word: no value of a param */
    if (length < 0 || length >= (int)sizeof text) return WSC_OK;
    if (key + 1 < n) {
        if (meaning_of(text) != CONF_PAST_NOTHING) (void)fprintf(out, "%s\n", text);
        return WSC_OK;
    }
    const int end = snprintf(at->name + before, sizeof at->name - before, "%.*s.",
                             (int)(key - blanks), line + blanks);
    if (end < 0 || before + (size_t)end >= sizeof at->name)
        return WSC_RAISE(WSC_CONFIG, "%s: the name of a section is too long", text);
    at->end[level] = before + (size_t)end;
    return WSC_OK;
}

static enum wsc_err flatten(const char *yaml, FILE *out)
{
    struct section at = {0};
    for (const char *line = yaml; *line;) {
        const size_t n = strcspn(line, "\n");
        TRY(flatten_line(&at, line, n, out));
        line += n + (line[n] == '\n');
    }
    return WSC_OK;
}

/* What the shapes of adapters do not tell, of each entry of their list. */
static void write_adapters(const struct zoo_loras *loras, FILE *out)
{
    for (int i = 0; i < loras->n; i++) {
        char of[32] = "";
        if (loras->n > 1) (void)snprintf(of, sizeof of, " of entry %d", i + 1);
        (void)fprintf(out, "model.lora_params.alpha%s: %.9g\n", of, loras->entry[i].alpha);
        (void)fprintf(out, "model.lora_params.dropout%s: %.9g\n", of, loras->entry[i].dropout);
    }
}

enum wsc_err zoo_past_lines(const struct zoo_params *params, char **text)
{
    char *yaml = NULL, *stream = NULL;
    size_t n = 0;
    *text = NULL;
    TRY(zoo_params_dump(params, &yaml));
    FILE *out = open_memstream(&stream, &n);
    enum wsc_err rc = out ? flatten(yaml, out) : WSC_NOMEM;
    if (!rc) write_adapters(&params->model.lora_params, out);
    if (out && fclose(out) && !rc) rc = WSC_NOMEM;
    if (!rc) *text = wsc_strdup(WSC_MEM_CONF, stream);
    free(stream);
    wsc_free(yaml);
    if (!rc && !*text) rc = WSC_NOMEM;
    return rc == WSC_NOMEM ? wsc_err_frame(rc, __FILE__, __LINE__, "params of a checkpoint") : rc;
}

/* ---- params of a training -------------------------------------------------------------------- */

/* The section of a line of the dump, and the indentation of the key of folders in it to which the
 * line may belong; -1: none. */
struct place {
    const char *section;
    int folders;
};

/* True for a key of folders, and for an entry of its list. */
static bool names_folder(struct place *at, const char *line)
{
    const int indent = (int)strspn(line, " ");
    const char *text = line + indent;
    if (at->folders >= 0 && indent > at->folders && *text == '-') return true;
    at->folders = begins(text, "data_dir:") || begins(text, "tgt_data_dir:") ? indent : -1;
    return at->folders >= 0;
}

bool zoo_changes_no_values(const char *line)
{
    const struct conf_table *table = zoo_params_table();
    const char *key = line + strspn(line, " ");
    const size_t n = strcspn(key, ":\n");
    for (int i = 0; i < table->n; i++) {
        const char *dot = strrchr(table->key[i].path, '.');
        const char *name = dot ? dot + 1 : table->key[i].path;
        if (table->key[i].no_values && strlen(name) == n && !strncmp(key, name, n)) return true;
    }
    return false;
}

/* Do the values of a step depend on a line of the dump? */
static bool decides_steps(struct place *at, const char *line)
{
    static const char *const decides[] = {
        "train_input:", "model:", "sparsity:", "optimizer:", "reduction_leaf:"};
    if (begins(at->section, "train_input:") &&
        (names_folder(at, line) || zoo_changes_no_values(line)))
        return false;
    for (int i = 0; i < (int)(sizeof decides / sizeof *decides); i++)
        if (begins(at->section, decides[i])) return true;
    return begins(at->section, "runconfig:") &&
           (begins(line, "    seed:") || begins(line, "    precision_opt_level:"));
}

enum wsc_err zoo_training_hash(const struct zoo_params *params, int64_t *hash)
{
    enum { UNUSED_BITS = 12 }; /* 52 bits: a double of a state dict has room for them */
    char *yaml = NULL;
    uint64_t h = 0;
    TRY(zoo_params_dump(params, &yaml));
    struct place at = {yaml, -1};
    for (const char *line = yaml; *line;) {
        const size_t n = strcspn(line, "\n");
        if (*line != ' ') at = (struct place){line, -1};
        if (decides_steps(&at, line)) h = wsc_hash64(line, n, h);
        line += n + (line[n] == '\n');
    }
    *hash = (int64_t)(h >> UNUSED_BITS);
    wsc_free(yaml);
    return WSC_OK;
}

/* ---- comparison -------------------------------------------------------------------------- */

/* The line of @p text with the key of @p line; NULL: there is none. */
static const char *line_with_key(const char *text, const char *line)
{
    const size_t key = strcspn(line, ":") + 1;
    for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
        if (!strncmp(at, line, key)) return at;
        if (!at[strcspn(at, "\n")]) break;
    }
    return NULL;
}

/* Compare the lines of one key: that of the checkpoint and that of the current params. */
static enum wsc_err compare_line(const char *stored, const char *own, enum zoo_past_check check)
{
    const size_t n_stored = strcspn(stored, "\n"), n_own = strcspn(own, "\n");
    const size_t key = strcspn(own, ":");
    const bool model = meaning_of(own) == CONF_PAST_MODEL;
    if (n_stored == n_own && !strncmp(stored, own, n_own)) return WSC_OK;
    if (!model && check == ZOO_PAST_MODEL) return WSC_OK;
    if (!model || check != ZOO_PAST_RESUME) {
        WSC_WARNING("%.*s; the checkpoint is of a run with%.*s", (int)n_own, own,
                    (int)(n_stored - key - 1), stored + key + 1);
        return WSC_OK;
    }
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%.*s, but the checkpoint is of a model with%.*s",
                                  (int)n_own, own, (int)(n_stored - key - 1), stored + key + 1),
                        "--set runconfig.load_checkpoint_states=model takes its weights into this "
                        "model all the same");
}

enum wsc_err zoo_past_compare(const struct zoo_params *params, const char *stored,
                              enum zoo_past_check check)
{
    char *own = NULL;
    enum wsc_err rc = zoo_past_lines(params, &own);
    for (const char *line = own; !rc && line && *line; line += strcspn(line, "\n") + 1) {
        const char *other = line_with_key(stored, line);
        if (other) rc = compare_line(other, line, check);
        if (!line[strcspn(line, "\n")]) break;
    }
    wsc_free(own);
    return rc;
}
