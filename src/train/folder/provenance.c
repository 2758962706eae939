/* SPDX-License-Identifier: Apache-2.0 */
#include "train/folder/provenance.h"

#include "base/fail.h"
#include "base/isa.h"
#include "cuda/device_backend.h"
#include "file/date.h"
#include "file/file.h"
#include "file/processor.h"
#include "run_folder/folder.h"

#include <rotary/version.h>

static const char step_key[] = "step", date_key[] = "date";

static json_t *describe(const struct provenance_call *call)
{
    char name[PROCESSOR_NAME_BYTES], date[DATE_BYTES];
    json_t *processor = json_string(processor_name(name));
    if (!processor) /* not UTF-8 */
        processor = json_string("unknown");
    json_t *made = json_pack("{s:I, s:s, s:s, s:s, s:i, s:o, s:s}", step_key, (json_int_t)call->step,
                             "version", rotary_version(), "commit", call->commit ? call->commit : "unknown",
                             "isa", rotary_isa_name(call->backend->isa), "threads", call->backend->threads,
                             "processor", processor, date_key, date_today(date));
    char device[DEVICE_TEXT_BYTES];
    if (device_is_cuda(call->backend))
        json_object_set_new(made, "device", json_string(device_text(device)));
    return made;
}

/* Whether both are one program on one machine, from whichever step and day on. */
static bool is_same(const json_t *last, const json_t *now)
{
    if (!last)
        return false;
    json_t *before = json_copy((json_t *)(uintptr_t)last);
    json_object_set(before, step_key, json_object_get(now, step_key));
    json_object_set(before, date_key, json_object_get(now, date_key));
    const bool same = json_equal(before, now);
    json_decref(before);
    return same;
}

/* *list: what the folder has; empty if that is nothing. */
static rotary_status read_list(json_t **list, const char *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    json_t *object = NULL;
    rotary_status status = file_path(path, folder, FOLDER_CONFIG, error);
    if (status == ROTARY_OK)
        status = file_read_json(path, &object, error);
    const json_t *recorded = json_object_get(object, RUN_PROVENANCE);
    if (status == ROTARY_OK && recorded && !json_is_array(recorded))
        status = rotary_fail(error, ROTARY_BAD_FILE, "%s: \"" RUN_PROVENANCE "\" is no list", path);
    if (status == ROTARY_OK)
        *list = recorded ? json_deep_copy(recorded) : json_array();
    json_decref(object);
    return status;
}

rotary_status provenance_extend(json_t **list, bool *grown, const struct provenance_call *call,
                                rotary_error *error)
{
    json_t *made = NULL, *now = describe(call);
    rotary_status status = ROTARY_OK;
    if (call->folder)
        status = read_list(&made, call->folder, error);
    else
        made = json_array();
    const size_t count = json_array_size(made);
    *grown = !is_same(json_array_get(made, count - 1), now);
    if (status == ROTARY_OK && *grown)
        json_array_append(made, now);
    json_decref(now);
    if (status == ROTARY_OK)
        *list = made;
    else
        json_decref(made);
    return status;
}
