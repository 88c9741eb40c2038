/** meta.dat of a folder with the Model Zoo's text files for encoders and encoder-decoders.
 *
 *  encoder_samples.c asks for the names of files one after the other. */
#ifndef WSC_DATA_META_FILES_H
#define WSC_DATA_META_FILES_H
#include <wsc/err.h>

/** Word @p k of a line, from 0, between blanks.  The caller owns *@p word, wsc_free(); NULL when
 *  the line has fewer.  WSC_NOMEM. */
enum wsc_err data_word_in(const char *line, int k, char **word) WSC_CHECKED;
/** Word @p word of line @p k of meta.dat in the folder @p dir, from 0, without blank lines.  The
 *  caller owns *@p name, wsc_free(); NULL after the last line or word.  WSC_IO, WSC_NOMEM. */
enum wsc_err data_meta_word(const char *dir, int k, int word, char **name) WSC_CHECKED;
/** Path of the file @p name in the folder @p dir; a name that begins with a slash is a path itself.
 *  The caller owns *@p path, wsc_free(). WSC_NOMEM. */
enum wsc_err data_meta_path(const char *dir, const char *name, char **path) WSC_CHECKED;
#endif
