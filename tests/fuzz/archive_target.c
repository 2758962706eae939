/* SPDX-License-Identifier: Apache-2.0
 *
 * Archives: every name that is accepted stays below its folder, and as many bytes come as were announced.
 */
#include "file/archive/tar_header.h"
#include "fuzz/target.h"

#include <stdio.h>
#include <string.h>

static void check_name(const char *name)
{
    char whole[TAR_NAME_BYTES + 2];
    snprintf(whole, sizeof whole, "/%s/", name);
    if (strstr(whole, "//") || strstr(whole, "/./") || strstr(whole, "/../"))
        fuzz_fail("the name \"%s\" leads elsewhere", name);
}

static bool read_member(struct tar_reader *tar, const struct tar_member *member)
{
    unsigned char bytes[1000];
    rotary_error error = {0};
    uint64_t read = 0;
    for (size_t got = 1; got > 0; read += got)
        if (fuzz_refused(tar_read(tar, bytes, sizeof bytes, &got, &error), &error))
            return false;
    if (!member->folder && read != member->size)
        fuzz_fail("%s has %llu bytes, not %llu", member->name, (unsigned long long)read,
                  (unsigned long long)member->size);
    return true;
}

static bool read_archive(const char *path)
{
    struct tar_reader tar;
    struct tar_member member;
    rotary_error error = {0};
    bool found = true, good = !fuzz_refused(tar_open(&tar, path, &error), &error);
    for (int members = 0; good && found; members++) {
        good = !fuzz_refused(tar_next(&tar, &member, &found, &error), &error);
        if (!good || !found)
            break;
        check_name(member.name);
        if (members % 3 != 2) /* else it is skipped */
            good = read_member(&tar, &member);
    }
    tar_close(&tar);
    return good;
}

/* Sets the checksum of whatever may be a header. */
static void repair_archive(unsigned char *bytes, size_t count)
{
    struct tar_header header;
    for (size_t first = 0; first + sizeof header <= count; first += sizeof header) {
        memcpy(&header, bytes + first, sizeof header);
        if (memcmp(header.magic, "ustar", 5) != 0)
            continue;
        snprintf(header.checksum, sizeof header.checksum, "%06o", tar_checksum(&header));
        memcpy(bytes + first, &header, sizeof header);
    }
}

static const char *const archive_words[] = {"ustar", "../", "./", "/", "..", "00000001000",
                                            "0",     "5",   "x",  "g", "2",  NULL};

const struct fuzz_target fuzz_archive = {
    .name = "archive", .read = read_archive, .repair = repair_archive, .words = archive_words};
