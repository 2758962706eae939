/* SPDX-License-Identifier: Apache-2.0
 *
 * A parser to be fuzzed, and the checks of whatever it accepts.
 */
#ifndef TESTS_FUZZ_TARGET_H
#define TESTS_FUZZ_TARGET_H

#include <rotary/status.h>
#include <stdbool.h>

struct fuzz_target {
    const char *name;
    /* Reads the file; true if it was accepted. Aborts if a check of an accepted file fails. */
    bool (*read)(const char *path);
    /* Corrects the length field of a damaged file, so that more of the parser is reached; NULL: there is
     * none. */
    void (*repair)(unsigned char *bytes, size_t count);
    const char *const *words; /* of the format; NULL-terminated */
    int memory;               /* how many times as much as JSON a byte may allocate; 0: once */
};

extern const struct fuzz_target fuzz_json, fuzz_rope, fuzz_npy, fuzz_safetensors, fuzz_tokenizer,
    fuzz_wordpiece, fuzz_json_tokenizer, fuzz_sentencepiece, fuzz_translations, fuzz_formula, fuzz_lengths,
    fuzz_decay, fuzz_encoding, fuzz_tokens, fuzz_documents, fuzz_inputs, fuzz_table, fuzz_huggingface,
    fuzz_decoder, fuzz_shards, fuzz_archive;
extern const struct fuzz_target *const fuzz_targets[]; /* NULL-terminated */

/* Whether the status is a refusal, which must have set the error to one line of text. */
bool fuzz_refused(rotary_status status, const rotary_error *error);
/* Whether allocations count towards what a file may allocate, as they do at first. A check that makes a model
 * of an accepted file stops the count for as long. */
void fuzz_count_memory(bool counts);
/* Prints the failed check and aborts. */
__attribute__((noreturn, format(printf, 1, 2))) void fuzz_fail(const char *format, ...);

#endif
