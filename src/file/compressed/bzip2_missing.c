/* SPDX-License-Identifier: Apache-2.0 */
#include "file/compressed/decoder.h"

const struct decoder bzip2_decoder = {.library = "libbz2", .package = "libbz2-dev"};
