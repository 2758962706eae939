/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of the files in which a task saves its vocabularies, in the folder of a run: of words and of
 * SentencePiece; of source, of target, and of both where they share one.
 */
#ifndef ROTARY_TASK_VOCABULARY_FILES_H
#define ROTARY_TASK_VOCABULARY_FILES_H

enum { VOCABULARY_KINDS = 2, VOCABULARY_FILES = 3 };
enum { SOURCE_VOCABULARY, TARGET_VOCABULARY, SHARED_VOCABULARY };

static const char *const vocabulary_files[VOCABULARY_KINDS][VOCABULARY_FILES] = {
    {"source.json", "target.json", "vocabulary.json"}, {"source.model", "target.model", "vocabulary.model"}};

#endif
