/* SPDX-License-Identifier: Apache-2.0 */
#include "file/xml.h"

#include "base/fail.h"

const char *xml_version(void)
{
    return NULL;
}

rotary_status xml_create(struct xml **xml, const char *path, const struct xml_handler *handler,
                         rotary_error *error)
{
    (void)xml;
    (void)handler;
    return rotary_fail(
        error, ROTARY_UNSUPPORTED,
        "%.350s is XML, which this program cannot read: it was built without libexpat (Debian's "
        "package libexpat1-dev)",
        path);
}

rotary_status xml_feed(struct xml *xml, const char *bytes, size_t count, bool last, rotary_error *error)
{
    (void)xml;
    (void)bytes;
    (void)count;
    (void)last;
    return rotary_fail(error, ROTARY_UNSUPPORTED, "this program was built without libexpat");
}

long long xml_line(const struct xml *xml)
{
    (void)xml;
    return 0;
}

void xml_destroy(struct xml *xml)
{
    (void)xml;
}
