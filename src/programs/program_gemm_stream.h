/** The matrix product whose weights stream past the PEs; program_gemm.c calls it for the algorithm
 *  stream. */
#ifndef WSC_PROGRAMS_GEMM_STREAM_H
#define WSC_PROGRAMS_GEMM_STREAM_H
#include <wsc/err.h>
#include <wsc/programs.h>

enum wsc_err programs_run_stream(const struct programs_case *c, struct programs_result *r);
#endif
