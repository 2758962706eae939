/* SPDX-License-Identifier: Apache-2.0 */
#include "file/compressed/decoder.h"

const struct decoder zstd_decoder = {.library = "libzstd", .package = "libzstd-dev"};
