/* SPDX-License-Identifier: Apache-2.0
 *
 * What a word is that stands where another kind of word was wanted: a task for a command, a file for a task.
 */
#ifndef ROTARY_CLI_HINT_WORD_HINT_H
#define ROTARY_CLI_HINT_WORD_HINT_H

enum { WORD_HINT_BYTES = 320 };
/* "; it is a task: rotary compare prefix"; empty for a word that is nothing known. */
const char *word_hint(const char *word, char text[WORD_HINT_BYTES]);

#endif
