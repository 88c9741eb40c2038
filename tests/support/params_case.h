/** Params files as texts in a test. */
#ifndef PARAMS_CASE_H
#define PARAMS_CASE_H
#include <wsc/zoo.h>

/** A T5 of the width of the small one, with two layers in each stack. */
extern const char params_t5[];

/** The params of @p text, which must be right; the caller frees them with zoo_params_fini(). */
struct zoo_params params_parsed(const char *text);
/** True when a warning has @p part in its text. */
bool params_warn(const struct zoo_params *p, const char *part);
/** True when the file @p text is refused with @p part in the message; prints what it got. */
bool params_refused(const char *text, const char *part);
#endif
