/** Params and cluster files that the user names, with what the options override.
 *
 *  On several ranks rank 0 reads a file and all parse its bytes.
 */
#ifndef WSC_APP_USER_FILES_H
#define WSC_APP_USER_FILES_H
#include "option.h"

#include <wsc/cluster.h>
#include <wsc/comm.h>
#include <wsc/hw.h>
#include <wsc/zoo.h>

/** Read and parse the params.  Rank 0 reads, every rank parses the same bytes.  @p comm may be
 *  NULL: this process alone. */
enum wsc_err app_load_params(struct comm *comm, const struct app_config *c,
                             struct zoo_params *params) WSC_CHECKED;
/** First half of app_load_params(): the text, owned by the caller. */
enum wsc_err app_read_params(struct comm *comm, const struct app_config *c, char **bytes,
                             size_t *n) WSC_CHECKED;
/** Second half of app_load_params(), for trainer number @p phase of a list of trainers, from 1; 0
 *  leaves that to the sets. */
enum wsc_err app_parse_params(struct comm *comm, const struct app_config *c, const char *bytes,
                              size_t n, int phase, struct zoo_params *params) WSC_CHECKED;
/** Read and parse the cluster file; no path takes the built-in CS-2.  *@p text (owned by the
 *  caller; @p text may be NULL) is the file. */
enum wsc_err app_load_cluster(struct comm *comm, const struct app_config *c,
                              struct hw_machine *cluster, char **text) WSC_CHECKED;
/** For commands that read no params: WSC_USAGE when `--set` overrides a key of params, which would
 *  have no effect. */
enum wsc_err app_refuse_params_sets(const struct app_config *c) WSC_CHECKED;
/** Warn of what a simulation of @p params, called @p name, has no use for: their own keys, and
 *  constants of the machine that `--set` changes. @p params: those of @p use. */
enum wsc_err app_warn_of_idle(const char *name, const struct cluster_use *use,
                              struct zoo_params *params) WSC_CHECKED;
/** Warn where evaluations of a training, called @p name, take all of the data, which a prediction
 *  does not read. */
void app_warn_of_whole_evaluations(const char *name, const struct zoo_params *params);
/** For kernels on emulated fabrics: WSC_USAGE when `--set` overrides a constant of the machine
 *  outside its wafers, or one that @p kernels do not read. */
enum wsc_err app_refuse_cluster_sets(const struct app_config *c,
                                     enum hw_kernels kernels) WSC_CHECKED;
/** Warn of results in @p dir that an earlier @p run wrote and this one leaves as they are; @p names
 *  are separated by commas, "" warns of nothing. */
void app_warn_of_earlier(const char *dir, const char *names, const char *run);
/** app_warn_of_earlier() for those of the files @p names that lie in @p dir; this run writes none
 * of them. At most 255 bytes of names. */
void app_warn_of_unwritten(const char *dir, const char *names, const char *run);
/** Make the folder @p dir of results and its parents, and check that files can be made in it.
 * WSC_IO names it. */
enum wsc_err app_make_folder(const char *dir) WSC_CHECKED;
/** More ranks than @p params has roles on @p cluster would leave ranks without work: WSC_USAGE says
 *  how many there are. */
enum wsc_err app_check_ranks(struct comm *comm, const struct zoo_params *params,
                             const struct hw_machine *cluster) WSC_CHECKED;
#endif
