/** Errors of HDF5 as errors of this program, with HDF5's innermost reason; its own printer is
 *  silenced. */
#ifndef WSC_STORE_H5_ERROR_H
#define WSC_STORE_H5_ERROR_H
#include <wsc/err.h>

#include <hdf5.h>

/** Raise @p code with the given sentence and HDF5's innermost reason. Call at once after the failed
 *  call: the next call of HDF5, also to close, deletes the reason. */
enum wsc_err store_h5_raise(enum wsc_err code, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5), cold));
#define H5_RAISE(code, ...) store_h5_raise((code), __FILE__, __LINE__, __VA_ARGS__)

/** Silence HDF5's printer; to be called before anything else is. */
void store_h5_silence(void);
#endif
