/* SPDX-License-Identifier: Apache-2.0 */
#include "rope_config/rope_axes.h"

#include "base/fail.h"

#include <stdio.h>

enum { TEXT_BYTES = 256, MAX_TOWER_PAIRS = 1 << 12 };

const char *const rope_axes_names[] = {"sections", "interleaved", "separate", NULL};
const char *const rope_tower_names[] = {"none", "halves", "alternating", NULL};

/* How M-RoPE's axes share the pairs of a head. */
static rotary_status read_axes(const struct rope_reader *reader, rotary_axes *axes)
{
    static const rotary_axes values[] = {ROTARY_AXES_SECTIONS, ROTARY_AXES_INTERLEAVED, ROTARY_AXES_SEPARATE};
    const json_t *key = rope_reader_find(reader, "mrope_interleaved");
    if (!key)
        key = json_field_value(reader->parameters, "interleaved"); /* Qwen 3 Omni's */
    int index = reader->family.axes;
    bool interleaved = index == 1;
    rotary_status status = rope_reader_boolean(reader, "mrope_interleaved", key, &interleaved);
    if (key)
        index = interleaved;
    if (!status)
        status =
            rope_reader_choice(reader, "axes", rope_reader_find(reader, "axes"), rope_axes_names, &index);
    *axes = values[index];
    return status;
}

static rotary_status read_sections(const struct rope_reader *reader, rotary_rope_config *plan)
{
    const json_t *sections = rope_reader_find(reader, "mrope_section");
    rotary_status status = read_axes(reader, &plan->axes);
    if (status)
        return status;
    int64_t pairs = plan->rotary_dim / 2, remaining = pairs;
    size_t count = json_array_size(sections),
           max = plan->axes == ROTARY_AXES_INTERLEAVED ? 3 : ROTARY_MAX_AXES;
    char wanted[TEXT_BYTES];
    snprintf(wanted, sizeof wanted,
             "a list of 1 to %zu whole numbers, together %lld, half of the rotary channels", max,
             (long long)pairs);
    if (!json_is_array(sections) || count < 1 || count > max)
        return rope_reader_refuse(reader, "mrope_section", sections, wanted);
    for (size_t i = 0; i < count; i++) {
        const json_t *section = json_array_get(sections, i);
        int64_t value = json_integer_value(section);
        if (!json_is_integer(section) || value < 0 || value > remaining)
            return rope_reader_refuse(reader, "mrope_section", sections, wanted);
        plan->sections[i] = value;
        remaining -= value;
    }
    return remaining == 0 ? ROTARY_OK : rope_reader_refuse(reader, "mrope_section", sections, wanted);
}

/* Rows and columns have half of the pairs each. */
static rotary_status split_tower(const struct rope_reader *reader, rotary_rope_config *plan)
{
    int64_t pairs = plan->rotary_dim / 2;
    if (pairs % 2 != 0 || pairs > MAX_TOWER_PAIRS)
        return rotary_fail(
            reader->error, ROTARY_BAD_FILE,
            "%s: a tower's head would rotate %lld channels, wanted a multiple of 4, at most %d: "
            "rows and columns have half of the pairs each",
            reader->where, (long long)plan->rotary_dim, 2 * MAX_TOWER_PAIRS);
    plan->axes = reader->family.tower == ROPE_TOWER_HALVES ? ROTARY_AXES_SEPARATE : ROTARY_AXES_SECTIONS;
    plan->sections[0] = plan->sections[1] = pairs / 2;
    return ROTARY_OK;
}

rotary_status rope_axes_read(const struct rope_reader *reader, bool axial, rotary_rope_config *plan)
{
    const json_t *sections = rope_reader_find(reader, "mrope_section"),
                 *axes = rope_reader_find(reader, "axes");
    bool tower = reader->family.tower != ROPE_TOWER_NONE;
    if (tower && (sections || axes))
        return rope_reader_refuse(reader, sections ? "mrope_section" : "axes", sections ? sections : axes,
                                  "no such key, as the model_type of a tower says how axes share a head");
    if (tower)
        return split_tower(reader, plan);
    if (sections)
        return read_sections(reader, plan);
    if (axes)
        return rope_reader_refuse_absent(reader, "mrope_section", "\"axes\"");
    if (axial)
        return rope_reader_refuse_absent(reader, "mrope_section", "rope_type axial");
    return ROTARY_OK;
}
