/** Rows of the table of options, rows of the table of commands, and a command line understood.
 *
 *  A row of app_options (options.c) is all that the program knows of an option: the commands that
 *  take it, its type, range, choices and default, its help text, where its value goes, and the
 *  conditions under which it has an effect.  The parser with the checks of option against option
 *  (option_parse.c) and `--help` (option_help.c) read nothing else.
 */
#ifndef WSC_APP_OPTION_H
#define WSC_APP_OPTION_H
#include <wsc/comm.h>
#include <wsc/conf.h>
#include <wsc/err.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { APP_MAX_ROWS = 256, APP_MAX_SETS = 256, APP_MAX_LIST = 256 };

/** Params, cluster and the keys that override them.  The first member of every request. */
struct app_config {
    const char *params_path, *cluster_path;
    struct conf_set set[APP_MAX_SETS];
    int n_sets;
    char *owned[APP_MAX_SETS]; /**< texts of sets that options made; owned */
    int n_owned;
};

/** Numbers of an option of type APP_INTS. */
struct app_ints {
    int64_t item[APP_MAX_LIST];
    int n;
};
/** Values of an option of type APP_TEXTS or APP_PATHS, in the order given. */
struct app_texts {
    const char **item; /**< owned; the texts are borrowed */
    int n;
};

/** Type of a value; the C type of its destination stands after it. */
enum app_type {
    APP_FLAG,   /**< bool: no value */
    APP_TEXT,   /**< const char * */
    APP_FILE,   /**< const char *: the name of a file */
    APP_FOLDER, /**< const char *: the name of a folder */
    APP_TEXTS,  /**< struct app_texts: the option may be repeated */
    APP_PATHS,  /**< struct app_texts: files and folders, the option may be repeated */
    APP_INT,    /**< int64_t in [min, max] */
    APP_REAL,   /**< double in [low, high] */
    APP_BYTES,  /**< int64_t: a size with its unit, in [min, max] */
    APP_CHOICE, /**< int: position in `words` */
    APP_WORD,   /**< const char *: one of `words` */
    APP_INTS,   /**< struct app_ints: different numbers in [min, max], separated by commas */
    APP_NAMES,  /**< const char *: different names, none empty, separated by commas */
};

/** One option of one or several commands.  Fields that do not apply are zero. */
struct app_option {
    unsigned commands; /**< set of APP_ON_...; 0 ends the table */
    const char *name;  /**< without the dashes; NULL: the value stands without an option's name */
    enum app_type type;
    const char *arg;   /**< what the value is called in the help; NULL: flag or choice */
    const char *group; /**< heading in the help; NULL: before all headings */
    const char *help;  /**< one that ends with a colon is followed by `words` */
    size_t at;         /**< offset of the destination in the command's request */
    /** The option is another name of this key of the params or of the cluster: its value is added
     *  as `key=value` to the sets.  "" adds the value itself, which is then `PATH=VALUE`.  The
     * key's own row, in the table of keys, knows range and default. */
    const char *key;
    /** Reads the value where the type does not say all; called instead of storing it at `at`. */
    enum wsc_err (*take)(void *request, const struct app_option *option, const char *value);
    int64_t min, max;       /**< APP_INT, APP_INTS, APP_BYTES; for lists and texts `max` is the
                               largest number of values */
    double low, high;       /**< APP_REAL */
    const char *words;      /**< APP_CHOICE, APP_WORD: separated by spaces */
    const char *none;       /**< APP_INT: this word is read as -1 */
    const char *preset;     /**< default, as the user would write it; NULL: zero */
    const char *preset_why; /**< default in words, where it depends on other options */
    bool bare;              /**< arguments without an option's name are values of this row */
    bool repeats;           /**< may be given several times, with `key` */
    bool is_of_host;        /**< mesh: a snapshot may be resumed with another value */
    /** What the command writes: "" the file that the option names; of a folder the names of the
     *  files there, with wildcards, separated by spaces or commas.  NULL: an input. */
    const char *writes;
    const char *renewed_by; /**< input: the output of this option may replace it */
    /** Conditions, separated by spaces, each `NAME`, `!NAME`, `NAME=VALUE` or `!NAME=VALUE`: all
     *  must hold for the option to be given (`needs`), or demand that it is given (`required`). */
    const char *needs, *required;
    /** Modes of `wsc run` in which it has an effect, `--requests`: a scoring; NULL: all. */
    const char *modes;
};

/** How a command uses several MPI ranks. */
enum app_ranks {
    APP_RANKS_ONE,   /**< refuses more than one */
    APP_RANKS_FIRST, /**< rank 0 does the work, the others wait for it */
    APP_RANKS_SHARE, /**< all share the work of one process; call->comm is NULL in one process */
    APP_RANKS_ALL    /**< all work together */
};

/** Commands as a set of bits, for the rows of the options. */
enum {
    APP_ON_RUN = 1 << 0,
    APP_ON_SCALE = 1 << 1,
    APP_ON_VALIDATE = 1 << 2,
    APP_ON_CALIBRATE = 1 << 3,
    APP_ON_MESH = 1 << 4,
    APP_ON_DATA = 1 << 5,
    APP_ON_TRAIN_BPE = 1 << 6,
    APP_ON_CONVERT = 1 << 7,
    APP_ON_INSPECT = 1 << 8,
    APP_ON_RANKS = 1 << 9,
    APP_ON_REPRODUCE = 1 << 10,
    APP_ON_HELP = 1 << 11,
    APP_ON_PARAMS = 1 << 12,
    APP_ON_DOCTOR = 1 << 13,
    APP_ON_LAW = 1 << 14,
    APP_ON_TRAIN_WORDPIECE = 1 << 15
};

struct app_call;
/** One subcommand. */
struct app_command {
    const char *name;     /**< "run", or two words: "data train-bpe" */
    unsigned bit;         /**< which rows of the options are its own */
    const char *summary;  /**< for the list of commands: one line */
    const char *usage;    /**< lines that follow "wsc ", separated by \n */
    const char *about;    /**< paragraph below the usage, or NULL */
    const char *examples; /**< lines, each ended by \n */
    enum app_ranks ranks;
    bool stops;           /**< looks at wsc_stop_asked(), as all commands of APP_RANKS_ALL do */
    size_t request_bytes; /**< a struct that begins with struct app_config */
    enum wsc_err (*run)(struct app_call *call);
};

/** A command line, understood. */
struct app_call {
    const struct app_command *command;
    const struct app_command *commands; /**< all, ended by one without a name */
    const struct app_option *table;     /**< ended by a row of no command */
    void *request;                      /**< owned; the values */
    struct comm *comm;                  /**< borrowed; NULL: this process alone */
    const char
        *given[APP_MAX_ROWS]; /**< last value of each row as text; "" for a flag; NULL: none */
    bool help;
};
#endif
