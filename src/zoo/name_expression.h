/** Regular expressions of Python, as params files have them, in the syntax of regcomp().
 *  name_patterns.c compiles the translation and searches names with it. */
#ifndef WSC_ZOO_NAME_EXPRESSION_H
#define WSC_ZOO_NAME_EXPRESSION_H

enum {
    ZOO_PATTERN_BYTES = 256,    /**< longest expression of a params file */
    ZOO_EXPRESSION_BYTES = 4096 /**< its translation, with the NUL */
};
/** Translate @p python, an expression of Python's re, into the POSIX extended expression @p out
 *  with the same matches in names of ASCII characters. NULL, or a static text that says what is not
 *  supported or not an expression, with a hint. regcomp() may still refuse the translation. */
const char *zoo_expression_translate(const char *python, char out[ZOO_EXPRESSION_BYTES]);
#endif
