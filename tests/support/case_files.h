/** Files in the folder of a test, and what a function prints. */
#ifndef CASE_FILES_H
#define CASE_FILES_H

/** `<test folder>/<name>`, one of eight rotating buffers. */
const char *case_path(const char *name);
/** The whole file as a string; "" when it is not there.  Static buffer, valid until the next. */
const char *case_read(const char *path);
/** Make the file @p path of @p text. */
void case_write(const char *path, const char *text);
/** What @p body writes to file descriptor @p fd (1 or 2); valid until the next case_read. */
const char *case_capture(int fd, void (*body)(void));
#endif
