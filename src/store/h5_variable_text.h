/** Attributes that are texts of variable length, read without trusting the lengths in the
 *  file. */
#ifndef WSC_STORE_H5_VARIABLE_TEXT_H
#define WSC_STORE_H5_VARIABLE_TEXT_H
#include <wsc/err.h>

#include <hdf5.h>

/** Limit far above the length of any configuration; it bounds the memory that a hostile attribute
 *  can require. */
enum { STORE_MAX_TEXT_BYTES = 64 << 20 };
/** The text of attribute @p attr of file @p path, which has variable length; owned by the caller.
 *  */
enum wsc_err store_h5_variable_text(const char *path, hid_t attr, char **value) WSC_CHECKED;
#endif
