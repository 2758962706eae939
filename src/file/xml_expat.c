/* SPDX-License-Identifier: Apache-2.0 */
#include "file/xml.h"

#include "base/fail.h"

#include <expat.h>
#include <limits.h>
#include <stdlib.h>

struct xml {
    XML_Parser parser;
    const char *path;
    const struct xml_handler *handler;
    int depth;
    rotary_status status; /* what ended the reading */
    rotary_error error;
    long long fed; /* bytes */
};

const char *xml_version(void)
{
    return XML_ExpatVersion();
}

long long xml_line(const struct xml *xml)
{
    return (long long)XML_GetCurrentLineNumber(xml->parser);
}

/* ---- what the library calls ---- */

static void stop(struct xml *xml, rotary_status status)
{
    if (status == ROTARY_OK)
        return;
    xml->status = status;
    XML_StopParser(xml->parser, XML_FALSE);
}

static void refuse(struct xml *xml, const char *what)
{
    stop(xml,
         rotary_fail(&xml->error, ROTARY_BAD_FILE, "%.350s, line %lld: %s", xml->path, xml_line(xml), what));
}

static void XMLCALL begin(void *argument, const char *name, const char **attributes)
{
    struct xml *xml = argument;
    (void)attributes;
    if (xml->status != ROTARY_OK)
        return;
    if (++xml->depth > XML_DEPTH) {
        refuse(xml, "elements are nested deeper than in any file that is read here");
        return;
    }
    stop(xml, xml->handler->begin(xml->handler->argument, name, xml->depth, &xml->error));
}

static void XMLCALL end(void *argument, const char *name)
{
    struct xml *xml = argument;
    if (xml->status == ROTARY_OK)
        stop(xml, xml->handler->end(xml->handler->argument, name, xml->depth, &xml->error));
    xml->depth--;
}

static void XMLCALL text(void *argument, const char *bytes, int count)
{
    struct xml *xml = argument;
    if (xml->status == ROTARY_OK && count > 0)
        stop(xml, xml->handler->text(xml->handler->argument, bytes, (size_t)count, &xml->error));
}

static void XMLCALL declaration(void *argument, const char *name, const char *system, const char *public,
                                int internal)
{
    (void)name;
    (void)system;
    (void)public;
    (void)internal;
    refuse(argument, "it has a document type declaration, which is not read here");
}

/* ---- reading ---- */

rotary_status xml_create(struct xml **out, const char *path, const struct xml_handler *handler,
                         rotary_error *error)
{
    struct xml *xml = calloc(1, sizeof *xml);
    XML_Parser parser = xml ? XML_ParserCreate(NULL) : NULL;
    if (!parser) {
        free(xml);
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to read %.350s", path);
    }
    *xml = (struct xml){.parser = parser, .path = path, .handler = handler};
    XML_SetUserData(parser, xml);
    XML_SetElementHandler(parser, begin, end);
    XML_SetCharacterDataHandler(parser, text);
    XML_SetStartDoctypeDeclHandler(parser, declaration);
    *out = xml;
    return ROTARY_OK;
}

static rotary_status fail_parser(struct xml *xml, rotary_error *error)
{
    const enum XML_Error code = XML_GetErrorCode(xml->parser);
    if (xml->status != ROTARY_OK) {
        if (error)
            *error = xml->error;
        return xml->status;
    }
    if (code == XML_ERROR_NO_MEMORY)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to read %.350s", xml->path);
    return rotary_fail(error, ROTARY_BAD_FILE, "%.350s, line %lld: it is not XML: %s", xml->path,
                       xml_line(xml), XML_ErrorString(code));
}

/* Whether more than is allowed was read that the library could do nothing with yet. */
static bool is_stuck(const struct xml *xml)
{
    const long long done = (long long)XML_GetCurrentByteIndex(xml->parser);
    return xml->fed - (done > 0 ? done : 0) > XML_PENDING_BYTES;
}

rotary_status xml_feed(struct xml *xml, const char *bytes, size_t count, bool last, rotary_error *error)
{
    do {
        const size_t now = count < INT_MAX ? count : INT_MAX;
        const bool ends = last && now == count;
        xml->fed += (long long)now;
        if (XML_Parse(xml->parser, bytes, (int)now, ends) != XML_STATUS_OK)
            return fail_parser(xml, error);
        if (is_stuck(xml))
            return rotary_fail(error, ROTARY_BAD_FILE,
                               "%.350s, line %lld: a tag has more than %d bytes, the maximum", xml->path,
                               xml_line(xml), XML_PENDING_BYTES);
        bytes += now;
        count -= now;
    } while (count > 0);
    return ROTARY_OK;
}

void xml_destroy(struct xml *xml)
{
    if (!xml)
        return;
    XML_ParserFree(xml->parser);
    free(xml);
}
