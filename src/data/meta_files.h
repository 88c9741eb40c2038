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
/** Path of the targets of the translations whose sources are the file of line @p k of meta.dat,
 * from 0: the word after its name, in @p target_dir, or in @p dir if that is NULL. The caller owns
 *  *@p path. WSC_FORMAT when meta.dat has no such word. */
enum wsc_err data_meta_target(const char *dir, int k, const char *target_dir,
                              char **path) WSC_CHECKED;
#endif
