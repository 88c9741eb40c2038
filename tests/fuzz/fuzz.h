/** Readers of files from outside, each fed with bytes that anybody may have written.
 *
 *  A target may refuse what it gets.  It must not crash, hang, leak, take memory out of proportion,
 *  or accept what contradicts itself; then it aborts.
 */
#ifndef WSC_FUZZ_H
#define WSC_FUZZ_H
#include <stddef.h>
#include <stdint.h>

struct fuzz_target {
    const char *name; /**< folder of its inputs below tests/fuzz/corpus */
    void (*run)(const uint8_t *bytes, size_t n);
};
/** Ends with a target without a name. */
extern const struct fuzz_target fuzz_target[];
#endif
