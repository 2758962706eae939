/* SPDX-License-Identifier: Apache-2.0
 *
 * The name of the processor.
 */
#ifndef ROTARY_FILE_PROCESSOR_H
#define ROTARY_FILE_PROCESSOR_H

enum { PROCESSOR_NAME_BYTES = 128 };

/* Writes the name that /proc/cpuinfo has, "AMD EPYC 9R14", or else the architecture. Returns `name`. */
const char *processor_name(char name[PROCESSOR_NAME_BYTES]);

#endif
