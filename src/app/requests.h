/** Requests: what each subcommand was asked for.
 *
 *  One struct per command, filled by app_parse() from the rows of options.c, whose offsets point
 *  here.  Each begins with struct app_config.  All strings are borrowed from the command line.
 */
#ifndef WSC_APP_REQUESTS_H
#define WSC_APP_REQUESTS_H
#include "option.h"

#include <wsc/convert.h>
#include <wsc/data.h>
#include <wsc/data_bert.h>
#include <wsc/job.h>
#include <wsc/law.h>
#include <wsc/programs.h>
#include <wsc/report.h>
#include <wsc/scaling.h>

/** `wsc run`. */
struct app_run {
    struct app_config config;
    struct job job;
    struct app_texts prompt, prompt_ids;
    int64_t phase; /**< of a list of trainers, from 1; 0: all */
    const char *trace, *goal;
    int numerics; /**< enum kernels_numerics */
    int device;   /**< the Model Zoo's word; every device is emulated */
    bool validate_only, compile_only, dump_params, print_placement;
};

/** `wsc scale`. */
struct app_scale {
    struct app_config config;
    const char *params_list, *out, *points, *trace, *goal;
    struct app_ints num_csx;
    int strong;
    int64_t batch_per_csx;
    bool effects, sensitivity, breakdown;
    struct scaling_values values;    /**< of --sweep */
    double tokens, tokens_per_param; /**< of --tokens; one is zero */
};

/** Published figures that `wsc validate` and `wsc calibrate` compare with; NULL folders: those
 *  that come with the program. */
struct app_figures {
    const char *reference, *params, *machines;
    const char *points; /**< rows of the user's own, beside the fitted ones; NULL: all published */
};

/** `wsc validate`. */
struct app_validate {
    struct app_config config;
    struct app_figures figures;
    const char *out;
    const char *csv; /**< of --wafer; NULL: none */
    bool mesh, wafer, sparse, products, json;
    int64_t pairs, seed; /**< pairs 0: as many as the comparison takes by itself */
};

/** `wsc calibrate`. */
struct app_calibrate {
    struct app_config config;
    struct app_figures figures;
    const char *out;
    bool overwrite, leave_one_out;
    char fit[256];                               /**< list of constants, cut at its commas */
    const char *path[VALIDATION_MAX_CALIBRATED]; /**< into fit */
    int n_paths;
};

/** `wsc reproduce`. */
struct app_reproduce {
    struct app_config config;
    struct app_figures figures;
    const char *out, *only;    /**< only NULL: those of `exhibits` */
    struct app_texts exhibits; /**< none: all */
};

/** Most sizes of `wsc law`. */
enum { APP_MAX_SIZES = 32 };
/** `wsc law`. */
struct app_law {
    struct app_config config;
    const char *points, *predict, *out; /**< NULL: not given */
    struct law_size size[APP_MAX_SIZES];
    int n_sizes;
    double tokens_per_param, target; /**< target 0: not given */
    int64_t num_csx;
};

/** What `wsc mesh KERNEL` shows besides the cycles; all zero: nothing. */
struct app_show {
    const char *heatmap, *trace, *trace_pe; /**< files, PEs; NULL: not given */
    int64_t trace_events;
    bool explain;
    struct mesh_watch *watch; /**< owned; NULL when nothing is shown */
};
/** `wsc mesh`. */
struct app_mesh {
    struct app_config config; /**< empty: the built-in machine */
    const char *what;
    struct programs_case c;
    struct app_show show;
    int arch, half, format, pass; /**< enum mesh_arch, mesh_half, num_format, backward */
    int64_t max_p, max_words, seed, threads;
    const char *snapshot, *resume; /**< files; NULL: none */
    int64_t every; /**< cycles from one snapshot to the next; 0: none at intervals */
    bool plan, json;
};

/** Text that `wsc data` and `wsc data train-bpe` read. */
struct app_text_input {
    struct app_texts path;
    const char *jsonl_key, *column; /**< NULL: not given */
    const char *out, *format;       /**< format NULL: by the ending of each file */
    int errors;                     /**< enum data_errors */
};
/** `wsc data`. */
struct app_data {
    struct app_config config; /**< empty */
    struct app_text_input text;
    struct data_make make;
    int tokenizer, dtype;
    const char *vocab, *merges;
    const char *chat_template; /**< NULL: text */
    struct data_bert bert;     /**< loader NULL: none */
    bool do_lower;
};
/** `wsc data train-bpe` and `wsc data train-wordpiece`. */
struct app_train_bpe {
    struct app_config config; /**< empty */
    struct app_text_input text;
    struct data_train_bpe request;
    bool do_lower; /**< of WordPiece */
};

/** `wsc convert`. */
struct app_convert {
    struct app_config config;
    struct convert_job job;
    int from, to; /**< 0: hf, 1: cs */
    int dtype;    /**< enum convert_dtype */
};

/** `wsc inspect`. */
struct app_inspect {
    struct app_config config; /**< empty */
    const char *file;
    bool json;
};

/** `wsc params`. */
struct app_params {
    struct app_config config;       /**< empty */
    const char *word;               /**< what the option refers to; NULL: not given */
    const char *template_of, *diff; /**< NULL: not given */
    bool schema;
};

/** `wsc doctor`. */
struct app_doctor {
    struct app_config config; /**< empty */
    bool quick, json;
};

/** `wsc ranks`. */
struct app_ranks_of {
    struct app_config config;
    int64_t num_csx;
    int64_t phase; /**< of a list of trainers, from 1; 0: all */
};

/** `wsc help`. */
struct app_help_request {
    struct app_config config;     /**< empty */
    struct app_texts words;       /**< the command's name */
    const char *man, *completion; /**< NULL: not given */
};
#endif
