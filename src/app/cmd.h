/** The functions of the commands, one in each file cmd_NAME.c.
 *
 *  The table of commands (commands.c) points to them; main.c calls them with a parsed call.
 */
#ifndef WSC_APP_CMD_H
#define WSC_APP_CMD_H
#include "option.h"

/** What a command does with its request; the error is not yet printed. */
enum wsc_err app_run_job(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_scale(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_validate(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_calibrate(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_reproduce(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_law(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_mesh(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_data(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_train_bpe(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_train_wordpiece(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_convert(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_inspect(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_params(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_doctor(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_ranks(struct app_call *call) WSC_CHECKED;
enum wsc_err app_run_help(struct app_call *call) WSC_CHECKED;
#endif
