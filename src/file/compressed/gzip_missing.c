/* SPDX-License-Identifier: Apache-2.0 */
#include "file/compressed/decoder.h"

const struct decoder gzip_decoder = {.library = "zlib", .package = "zlib1g-dev"};
