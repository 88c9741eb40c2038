/** Checks of the host for `wsc doctor`: one function for each row of the table in cmd_doctor.c.
 *
 *  doctor_host.c looks at the operating system, doctor_jobs.c starts programs.
 */
#ifndef WSC_APP_DOCTOR_H
#define WSC_APP_DOCTOR_H
#include <limits.h>
#include <stdbool.h>

/** How a check ended. */
enum app_doctor_state { APP_DOCTOR_OK, APP_DOCTOR_WARNING, APP_DOCTOR_FAILED, APP_DOCTOR_SKIPPED };
/** What a check found. */
struct app_finding {
    enum app_doctor_state state;
    char found[160];  /**< one line */
    char action[240]; /**< what to do, one line; empty: nothing */
};
/** Write what was found, by the rules of printf. */
void app_found(struct app_finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Worsen the state, with what to do about it; the first action counts. */
void app_advise(struct app_finding *f, enum app_doctor_state state, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** Version of the program, and whether the files that come with it are there. */
void app_doctor_program(struct app_finding *f);
/** Library of the matrix products: oneDNN, or our own loops. */
void app_doctor_products(struct app_finding *f);
/** Instruction set of the processor, and whether the program needs more. */
void app_doctor_processor(struct app_finding *f);
/** Processors of the host and those that this process may use. */
void app_doctor_cores(struct app_finding *f);
/** Memory that is available, also inside a control group. */
void app_doctor_memory(struct app_finding *f);
/** Transparent huge pages. */
void app_doctor_huge_pages(struct app_finding *f);
/** Limit of locked memory, which networks with remote access need. */
void app_doctor_memlock(struct app_finding *f);
/** Limit of open files. */
void app_doctor_files(struct app_finding *f);
/** Limit of the stack. */
void app_doctor_stack(struct app_finding *f);
/** Source and resolution of the clock. */
void app_doctor_clock(struct app_finding *f);
/** Network interfaces that are up. */
void app_doctor_network(struct app_finding *f);
/** Room for the shared memory of MPI. */
void app_doctor_shared_memory(struct app_finding *f);
/** Folder of temporary files. */
void app_doctor_temporary(struct app_finding *f);
/** HDF5: version, parallel writing, filters. */
void app_doctor_hdf5(struct app_finding *f);
/** MPI: the library, and a job of two ranks. */
void app_doctor_mpi(struct app_finding *f);
/** A training step on two ranks with its checkpoint. */
void app_doctor_training(struct app_finding *f);
/** A picture by gnuplot. */
void app_doctor_gnuplot(struct app_finding *f);
#endif
