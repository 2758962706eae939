/* SPDX-License-Identifier: Apache-2.0 */
#include "train/weights/lora_targets.h"

#include "base/fail.h"
#include "base/integer.h"
#include "config/comma_list.h"
#include "config/settings.h"

#include <string.h>

/* Names of targets, and of groups of them. */
static const char query[] = "query", key[] = "key", value[] = "value", output[] = "output", gate[] = "gate",
                  up[] = "up", down[] = "down";
static const char *const attention[] = {query, key, value, output, NULL}, *const feed_forward[] = {
                                                                              gate, up, down, NULL};
static const char *const names[] = {query, key,         value,          output, gate, up,
                                    down,  "attention", "feed_forward", "all",  NULL};

enum { NAME_BYTES = 32 };

static bool is_in(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list != NULL;
}

/* Whether a name of the setting is this target, or a group with it. */
static bool covers(const char *named, const char *target)
{
    return strcmp(named, target) == 0 || strcmp(named, "all") == 0 ||
           (strcmp(named, "attention") == 0 && is_in(target, attention)) ||
           (strcmp(named, "feed_forward") == 0 && is_in(target, feed_forward));
}

/* The next name of a list, without blanks around it; false at its end. A name that is too long is cut. */
static bool next_name(const char **list, char name[NAME_BYTES])
{
    struct comma_item item;
    if (!comma_list_next(list, &item))
        return false;
    for (; item.length > 0 && item.text[0] == ' '; item.length--)
        item.text++;
    while (item.length > 0 && item.text[item.length - 1] == ' ')
        item.length--;
    comma_item_copy(&item, name, NAME_BYTES);
    return true;
}

static bool is_target(const char *targets, const char *target)
{
    char name[NAME_BYTES];
    while (next_name(&targets, name))
        if (covers(name, target))
            return true;
    return false;
}

/* All that the model has; returns their number. */
static int list_all(const struct transformer_config *model,
                    struct lora_projection projections[LORA_MAX_PROJECTIONS])
{
    static const char self[] = "attention.query_key_value", self_output[] = "attention.output",
                      cross_query[] = "cross_attention.query", cross_key[] = "cross_attention.key_value",
                      cross_output[] = "cross_attention.output", ff_up[] = "feed_forward.up";
    const int64_t width = model->hidden_size, hidden = model->intermediate_size,
                  queries = model->num_attention_heads * model->head_dim,
                  keys = model->num_key_value_heads * model->head_dim,
                  values = model->key_is_value == KEY_IS_VALUE_NO ? keys : 0, /* of self-attention */
        cross = transformer_has_encoder(model) ? model->num_hidden_layers : 0,
                  layers = model->num_hidden_layers + (cross > 0 ? model->num_encoder_layers : 0),
                  gates = activation_is_gated((enum activation)model->hidden_act) ? hidden : 0;
    const struct lora_projection all[LORA_MAX_PROJECTIONS] = {
        {self, query, 0, queries, width, layers},
        {self, key, queries, keys, width, layers},
        {self, value, queries + keys, values, width, layers},
        {self_output, output, 0, width, queries, layers},
        {cross_query, query, 0, queries, width, cross},
        {cross_key, key, 0, keys, width, cross},
        {cross_key, value, keys, keys, width, cross},
        {cross_output, output, 0, width, queries, cross},
        {ff_up, gate, 0, gates, width, layers},
        {ff_up, up, gates, hidden, width, layers},
        {"feed_forward.down", down, 0, width, hidden, layers},
    };
    int count = 0;
    for (int i = 0; i < LORA_MAX_PROJECTIONS; i++)
        if (all[i].layers > 0 && all[i].outputs > 0)
            projections[count++] = all[i];
    return count;
}

int lora_projections(const struct transformer_config *model, const char *targets,
                     struct lora_projection projections[LORA_MAX_PROJECTIONS])
{
    struct lora_projection all[LORA_MAX_PROJECTIONS];
    const int had = list_all(model, all);
    int count = 0;
    for (int i = 0; i < had; i++)
        if (is_target(targets, all[i].name))
            projections[count++] = all[i];
    return count;
}

/* Every name is that of a target or a group, and covers a projection of the model. */
static rotary_status check_names(const struct transformer_config *model, const char *targets,
                                 rotary_error *error)
{
    const char *list = targets;
    char name[NAME_BYTES];
    struct lora_projection all[LORA_MAX_PROJECTIONS];
    const int had = list_all(model, all);
    while (next_name(&list, name)) {
        char known[SETTINGS_NAMES_BYTES], hint[SETTINGS_HINT_BYTES];
        bool found = false;
        if (!is_in(name, names))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "lora_targets is %s, and no target is named \"%s\": wanted %s%s", targets,
                               name, settings_names(names, known), settings_hint(name, names, hint));
        for (int i = 0; i < had; i++)
            found = found || covers(name, all[i].name);
        if (!found)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "lora_targets is %s, but the model has no projection \"%s\": its %s", targets,
                               name,
                               strcmp(name, value) == 0 ? "values are its keys (key_is_value)"
                                                        : "feed-forward layers have no gate");
    }
    return ROTARY_OK;
}

rotary_status lora_check(const struct transformer_config *model, int64_t rank, const char *targets,
                         rotary_error *error)
{
    struct lora_projection projections[LORA_MAX_PROJECTIONS];
    rotary_status status = check_names(model, targets, error);
    if (status != ROTARY_OK)
        return status;
    const int count = lora_projections(model, targets, projections);
    for (int i = 0; i < count; i++)
        if (rank > min_i64(projections[i].outputs, projections[i].inputs))
            return rotary_fail(
                error, ROTARY_INVALID_ARGUMENT,
                "lora_rank is %lld, but the projection \"%s\" of %s is [%lld, %lld]: wanted at "
                "most the smaller of the two",
                (long long)rank, projections[i].name, projections[i].matrix,
                (long long)projections[i].outputs, (long long)projections[i].inputs);
    return ROTARY_OK;
}

double lora_bytes(const struct transformer_config *model, int64_t rank, const char *targets)
{
    struct lora_projection projections[LORA_MAX_PROJECTIONS];
    const int count = rank > 0 ? lora_projections(model, targets, projections) : 0;
    double elements = 0.0;
    for (int i = 0; i < count; i++) {
        const double outputs = (double)projections[i].outputs, inputs = (double)projections[i].inputs;
        elements += (double)projections[i].layers *
                    (2.0 * outputs * inputs + 4.0 * (double)rank * (outputs + inputs));
    }
    return elements * sizeof(float);
}
