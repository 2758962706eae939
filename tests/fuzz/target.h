/* SPDX-License-Identifier: Apache-2.0
 *
 * What is fuzzed: a parser, and what must hold of whatever it accepts.
 */
#ifndef TESTS_FUZZ_TARGET_H
#define TESTS_FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>

struct fuzz_target {
    const char *name;
    /* Reads the file; true if it was accepted. Aborts if what was accepted is not as it should be. */
    bool (*read)(const char *path);
    /* Makes a length field fit what surrounds it, so that damage reaches further in; NULL: there is none. */
    void (*repair)(unsigned char *bytes, size_t count);
    const char *const *words; /* of the format; NULL-terminated */
};

extern const struct fuzz_target fuzz_json, fuzz_rope, fuzz_npy, fuzz_safetensors;
extern const struct fuzz_target *const fuzz_targets[]; /* NULL-terminated */

/* Ends the program, saying what does not hold. */
__attribute__((noreturn, format(printf, 1, 2))) void fuzz_fail(const char *format, ...);

#endif
