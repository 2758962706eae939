/* SPDX-License-Identifier: Apache-2.0
 *
 * Words as one line for a shell, which takes them apart again.
 */
#ifndef ROTARY_CLI_SHELL_WORDS_H
#define ROTARY_CLI_SHELL_WORDS_H

/* Each word, quoted where a shell wants it, with a space between. The caller frees the line; NULL: no memory. */
char *shell_words(int count, const char *const *words);

#endif
