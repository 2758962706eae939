/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders of runs that translated a small test set, with words that are wrong here and there.
 */
#ifndef TESTS_STUDY_TRANSLATED_RUNS_H
#define TESTS_STUDY_TRANSLATED_RUNS_H

#include "records/collection.h"

enum { TRANSLATED_LINES = 40, TRANSLATED_RUNS = 7, TRANSLATED_ARMS = 3, TRANSLATED_BYTES = 16384 };

/* In the order in which they are given: seeds are not in theirs. Of `wrong` in 100 words each is another. */
struct translated_run {
    const char *arm;
    int seed, wrong;
};
extern const struct translated_run translated_runs[TRANSLATED_RUNS];

struct translated_text {
    char text[TRANSLATED_BYTES];
    struct text_line lines[TRANSLATED_LINES];
};
/* Lines of 4 to 12 words; of `wrong` in 100 each is markup instead, chosen by the seed. */
void translated_text(struct translated_text *text, int seed, int wrong);
/* The translations of a run. */
void translated_of(struct translated_text *text, int run);
/* Statistics of BLEU, and BLEU of all lines. */
void translated_rows(const struct translated_text *text, int64_t rows[TRANSLATED_LINES * BLEU_STATISTICS]);
double translated_bleu(const struct translated_text *text);

/* <folder>/<arm>-<seed>, valid until the sixteenth next synthetic_path. */
const char *translated_folder(const char *folder, int run);
/* Writes the test set and all runs; one run anew. */
void translated_write(const char *folder);
void translated_write_run(const char *folder, int run);
/* Reads all of them. The caller frees it. */
struct collection translated_read(const char *folder);

#endif
