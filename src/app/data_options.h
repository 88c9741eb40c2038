/** What `wsc data` and `wsc data train-bpe` have in common: inputs and how to read them, progress.
 */
#ifndef WSC_APP_DATA_OPTIONS_H
#define WSC_APP_DATA_OPTIONS_H
#include "app.h"

#include <wsc/data.h>

enum { DATA_MAX_INPUTS = 4096 };
enum {
    DATA_OPT_INPUT = 256,
    DATA_OPT_OUT,
    DATA_OPT_FORMAT,
    DATA_OPT_KEY,
    DATA_OPT_ERRORS,
    DATA_OPT_OWN
};
#define DATA_OPTIONS                                                                               \
    {"input", required_argument, NULL, DATA_OPT_INPUT},                                            \
        {"out", required_argument, NULL, DATA_OPT_OUT},                                            \
        {"format", required_argument, NULL, DATA_OPT_FORMAT},                                      \
        {"jsonl_key", required_argument, NULL, DATA_OPT_KEY},                                      \
        {"column", required_argument, NULL, DATA_OPT_KEY},                                         \
    {                                                                                              \
        "errors", required_argument, NULL, DATA_OPT_ERRORS                                         \
    }

struct data_options {
    const char *input[DATA_MAX_INPUTS];
    int n_inputs;
    const char *out_dir, *format, *key;
    enum data_errors errors;
    bool errors_given;
};
void app_data_options_init(struct data_options *o);
enum wsc_err app_data_input(struct data_options *o, const char *path) WSC_CHECKED;
/** Take one of DATA_OPTIONS. */
enum wsc_err app_data_option(struct data_options *o, int option, const char *value) WSC_CHECKED;
/** The place of @p value among @p words, which end with NULL. */
enum wsc_err app_data_word(const char *option, const char *value, const char *const *words,
                           int *place) WSC_CHECKED;

/** Progress: on a terminal a line that is redrawn, elsewhere a line now and then. */
struct data_display {
    const char *what;
    double start_s, told_s;
};
void app_data_progress(void *display, const char *what, int64_t done, int64_t total);
/** The command itself. */
enum wsc_err app_data_train(int argc, char **argv) WSC_CHECKED;
#endif
