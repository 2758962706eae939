/* SPDX-License-Identifier: Apache-2.0
 *
 * What this program was built from.
 */
#ifndef ROTARY_CLI_PROGRAM_H
#define ROTARY_CLI_PROGRAM_H

/* The git commit, with "-dirty" behind it where files differed from it; "unknown" outside a repository. It
 * lives forever. (cmake/commit.cmake writes the function with each build.) */
const char *program_commit(void);

#endif
