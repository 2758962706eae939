/* SPDX-License-Identifier: Apache-2.0 */
#include <rotary/version.h>

#define TEXT_OF(number)           #number
#define JOIN(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

int rotary_version_number(void)
{
    return ROTARY_VERSION_NUMBER;
}

const char *rotary_version(void)
{
    return JOIN(ROTARY_VERSION_MAJOR, ROTARY_VERSION_MINOR, ROTARY_VERSION_PATCH);
}
