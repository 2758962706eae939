/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_plan.h"

#include "base/fail.h"
#include "base/threads.h"
#include "cli/hint/word_hint.h"
#include "cli/presets.h"
#include "config/comma_list.h"
#include "cuda/device_backend.h"
#include "file/file.h"
#include "model/encoding/model_encoding.h"
#include "train/trainer.h"
#include "train/weights/initial_weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 32 };

/* The distinct tasks of the presets, or the presets of one task; NULL-terminated. */
static void list_names(const char *task, const char *names[MAX_NAMES + 1])
{
    int count = 0;
    for (const struct preset *preset = presets; preset->task && count < MAX_NAMES; preset++) {
        const char *name = task ? preset->name : preset->task;
        bool wanted =
            task ? strcmp(task, preset->task) == 0 : count == 0 || strcmp(names[count - 1], name) != 0;
        if (wanted)
            names[count++] = name;
    }
    names[count] = NULL;
}

static rotary_status find_task(const char *task, rotary_error *error)
{
    const char *names[MAX_NAMES + 1];
    list_names(NULL, names);
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], task) == 0)
            return ROTARY_OK;
    char known[SETTINGS_NAMES_BYTES], hint[SETTINGS_HINT_BYTES], what[WORD_HINT_BYTES];
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there is no task \"%.80s\", wanted %s%s", task,
                       settings_names(names, known),
                       *word_hint(task, what) ? what : settings_hint(task, names, hint));
}

/* A path of a preset that comes with the program means the preset; another file is one of one's own. */
static rotary_status fail_preset(const char *task, const char *name, rotary_error *error)
{
    const char *names[MAX_NAMES + 1], *const last = file_name_of(name);
    char known[SETTINGS_NAMES_BYTES], hint[SETTINGS_HINT_BYTES];
    list_names(task, names);
    settings_hint(last, names, hint);
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "there is no preset of task %s named \"%.80s\", wanted %s%s%s", task, name,
                       settings_names(names, known), hint, *hint ? "" : ", or a file NAME.json of your own");
}

static rotary_status find_preset(const char *task, const char *name, const struct preset **found,
                                 rotary_error *error)
{
    for (const struct preset *preset = presets; preset->task; preset++)
        if (strcmp(preset->task, task) == 0 && strcmp(preset->name, name) == 0) {
            *found = preset;
            return ROTARY_OK;
        }
    return fail_preset(task, name, error);
}

/* A name that ends so is that of a file with a preset of one's own. */
static bool is_file(const char *name)
{
    const size_t length = strlen(name), suffix = strlen(".json");
    return length > suffix && strcmp(name + length - suffix, ".json") == 0;
}

static rotary_status read_preset(const char *task, const char *name, char where[FILE_PATH_BYTES],
                                 json_t **object, rotary_error *error)
{
    const struct preset *preset = NULL;
    if (is_file(name)) {
        snprintf(where, FILE_PATH_BYTES, "%s", name);
        return file_read_json(name, object, error);
    }
    rotary_status status = find_preset(task, name, &preset, error);
    if (status != ROTARY_OK)
        return status;
    return preset_parse(preset, where, object, error);
}

static rotary_status apply_preset(const char *task, const char *name, struct run_config *config,
                                  rotary_error *error)
{
    char where[FILE_PATH_BYTES];
    json_t *object;
    rotary_status status = read_preset(task, name, where, &object, error);
    if (status != ROTARY_OK)
        return status;
    struct settings settings[RUN_SETTINGS];
    run_settings(config, settings);
    if (json_object_get(object, "format"))
        status = rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s is the configuration of a run: wanted a file with the keys that are to differ from the "
            "defaults; a run is resumed by --resume, with its folder in --out",
            where);
    if (status == ROTARY_OK)
        status = settings_read(settings, RUN_SETTINGS, object, where, error);
    json_decref(object);
    return status;
}

/* Applies a setting that has an option of its own, `where`. */
static rotary_status apply(struct run_config *config, const char *where, const char *key, const char *text,
                           rotary_error *error)
{
    struct settings settings[RUN_SETTINGS];
    run_settings(config, settings);
    return settings_set(settings, RUN_SETTINGS, where, key, text, error);
}

const char *plan_option_of(const struct plan_request *request, const char *key)
{
    const struct {
        const char *key, *option;
        bool given;
    } options[] = {
        {"position", "--position", request->position != NULL},
        {"init", "--init", request->init != NULL},
        {"steps", "--steps", request->steps.given},
        {"epochs", "--steps", request->steps.given},
        {"seed", "--seed", request->common->seed.given},
        {"precision", "--precision", request->common->precision.given},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given && strcmp(options[i].key, key) == 0)
            return options[i].option;
    return NULL;
}

rotary_status plan_check_assigned(const struct plan_request *request, rotary_error *error)
{
    for (int i = 0; i < request->assignments->count; i++) {
        char key[SETTING_TEXT_BYTES];
        settings_assigned_key(key, request->assignments->items[i]);
        const char *option = plan_option_of(request, key);
        if (option &&
            strcmp(request->assignments->items[i], "epochs=0") != 0) /* which says that steps are given */
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s and --set %.80s are given: wanted one of them", option,
                               request->assignments->items[i]);
    }
    return ROTARY_OK;
}

static rotary_status apply_init(const struct plan_request *request, struct run_config *config,
                                rotary_error *error)
{
    if (!request->init)
        return ROTARY_OK;
    rotary_status status = apply(config, "--init", "init", request->init, error);
    return status == ROTARY_OK && !request->base ? initial_weights_model(config, error) : status;
}

static rotary_status apply_options(const struct plan_request *request, struct run_config *config,
                                   rotary_error *error)
{
    const struct common_options *common = request->common;
    rotary_status status = plan_check_assigned(request, error);
    if (status == ROTARY_OK)
        status = apply_init(request, config, error);
    struct transformer_config taken; /* as it is before others are set */
    transformer_config_copy(&taken, &config->model);
    if (status == ROTARY_OK && request->position)
        status = apply(config, "--position", "position", request->position, error);
    if (request->steps.given)
        config->train.steps = request->steps.value;
    if (common->seed.given)
        config->train.seed = common->seed.value;
    if (common->precision.given)
        config->train.precision = (int)common->precision.value;
    struct settings settings[RUN_SETTINGS];
    run_settings(config, settings);
    for (int i = 0; i < request->assignments->count && status == ROTARY_OK; i++)
        status = settings_assign(settings, RUN_SETTINGS, request->assignments->items[i], error);
    if (request->steps.given) /* a number of steps instead of the preset's epochs */
        config->train.epochs = 0;
    if (status == ROTARY_OK && request->init && !request->base)
        status = initial_weights_fit(&taken, config, error);
    transformer_config_free(&taken);
    return status;
}

rotary_status plan_draft(const struct plan_request *request, struct run_config *config, rotary_error *error)
{
    *config = (struct run_config){0};
    rotary_status status = find_task(request->task, error);
    if (status != ROTARY_OK)
        return status;
    if (request->base)
        run_config_copy(config, request->base);
    else
        run_config_default(config);
    config->task.tokenizers = request->tokenizers;
    config->task.watch = request->watch;
    const char *preset = request->preset ? request->preset : request->base ? NULL : PLAN_PRESET;
    if (preset)
        status = apply_preset(request->task, preset, config, error);
    if (status == ROTARY_OK)
        status = apply_options(request, config, error);
    if (status == ROTARY_OK && strcmp(task_names[config->task.task], request->task) != 0)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "the configuration has task %s, wanted %s, as in the command",
                             task_names[config->task.task], request->task);
    if (status != ROTARY_OK)
        run_config_free(config);
    return status;
}

rotary_status plan_config(const struct plan_request *request, struct run_config *config, rotary_error *error)
{
    struct run_config planned;
    rotary_status status = plan_draft(request, &planned, error);
    if (status == ROTARY_OK && planned.train.steps == 0)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "steps is 0, wanted at least 1: a run of no steps has no results");
    if (status == ROTARY_OK)
        status = run_config_check(&planned, error);
    if (status == ROTARY_OK)
        *config = planned;
    else
        run_config_free(&planned);
    return status;
}

rotary_status plan_say_schedules(const struct plan_request *request, const struct run_config *configs,
                                 int count, rotary_error *error)
{
    static const struct option_list nothing = {0};
    struct plan_request usual = *request;
    usual.steps = (struct option_integer){0};
    usual.assignments = &nothing;
    struct run_config preset RUN_CONFIG_LOCAL = {0};
    rotary_status status = plan_draft(&usual, &preset, error);
    if (status != ROTARY_OK)
        return status;
    char said[SCHEDULE_REMARK_BYTES] = "", remark[SCHEDULE_REMARK_BYTES];
    for (int i = 0; i < count; i++) {
        const struct schedule schedule = trainer_schedule(&configs[i]);
        const bool usual_steps = preset.train.epochs == 0 && configs[i].train.epochs == 0;
        if (!schedule_remark(&schedule, usual_steps ? preset.train.steps : 0, remark) ||
            strcmp(remark, said) == 0)
            continue;
        fprintf(stderr, "rotary: %s\n", remark);
        memcpy(said, remark, sizeof said);
    }
    return ROTARY_OK;
}

/* Whether the configuration's encoding is that of one of the others. */
static bool has_position(const struct run_config *configs, int count, const struct run_config *config)
{
    const char *name = model_encoding_name(&config->model);
    for (int i = 0; i < count; i++)
        if (strcmp(model_encoding_name(&configs[i].model), name) == 0)
            return true;
    return false;
}

static rotary_status add_position(const struct plan_positions_call *call, const char *name,
                                  struct run_config *configs, int *count, rotary_error *error)
{
    if (*count == call->max)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s names more than %d encodings, wanted fewer",
                           call->where, call->max);
    struct run_config *config = &configs[*count];
    run_config_copy(config, call->base);
    rotary_status status = apply(config, call->where, "position", name, error);
    if (status == ROTARY_OK && has_position(configs, *count, config))
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s names %s twice", call->where, name);
    if (status == ROTARY_OK)
        ++*count;
    else
        run_config_free(config);
    return status;
}

rotary_status plan_positions(const struct plan_positions_call *call, struct run_config *configs, int *count,
                             rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    struct comma_item item;
    *count = 0;
    for (const char *rest = call->names; status == ROTARY_OK && comma_list_next(&rest, &item);) {
        char *name = strndup(item.text, (size_t)item.length);
        if (!name)
            return rotary_fail_memory(error, "for %s", call->where);
        status = add_position(call, name, configs, count, error);
        free(name);
    }
    return status;
}

static void say_threads(const struct common_options *common)
{
    const int processors = rotary_processors();
    if (common->threads.value > processors)
        fprintf(stderr, "note: --threads %lld is more than the %d processors there are, which is slower\n",
                (long long)common->threads.value, processors);
}

rotary_status plan_backend(const struct common_options *common, int precision, struct backend *backend,
                           rotary_error *error)
{
    say_threads(common);
    const struct device_request request = {.device = (enum device)common->device.value,
                                           .threads = (int)common->threads.value,
                                           .isa = (rotary_isa)common->isa.value,
                                           .precision = (enum precision)precision};
    return device_backend_create(backend, &request, error);
}

const char *plan_backend_text(const struct backend *backend)
{
    return backend->operations->on_host ? rotary_isa_name(backend->isa) : backend->operations->name;
}

struct loaded_model_backend plan_model_backend(const struct common_options *common)
{
    say_threads(common);
    return (struct loaded_model_backend){.device = (enum device)common->device.value,
                                         .threads = (int)common->threads.value,
                                         .isa = (rotary_isa)common->isa.value,
                                         .precision_given = common->precision.given,
                                         .precision = (enum precision)common->precision.value};
}

void plan_say_unused(const char *folder, const struct unused_tensors *unused)
{
    char more[32] = "";
    if (unused->count > 1)
        snprintf(more, sizeof more, " and %d more", unused->count - 1);
    if (unused->count > 0)
        fprintf(stderr, "note: %s: %s%s %s of another task's head, which is not used here\n", folder,
                unused->first, more, unused->count > 1 ? "are" : "is");
}

rotary_status plan_open_model(const struct loaded_model_call *call, struct loaded_model *model,
                              rotary_error *error)
{
    rotary_status status = loaded_model_open(call, model, error);
    if (status == ROTARY_OK)
        plan_say_unused(call->folder, &model->unused);
    return status;
}

void plan_folder(const struct plan_request *request, const char *position, char folder[PLAN_FOLDER_BYTES])
{
    const bool text = request->text && request->text[0];
    const char *preset = request->preset ? file_name_of(request->preset) : text ? "" : PLAN_PRESET;
    const int length = (int)(is_file(preset) ? strlen(preset) - strlen(".json") : strlen(preset));
    snprintf(folder, PLAN_FOLDER_BYTES, "runs/%.64s%s%.64s%s%.*s%s%.64s", request->task, text ? "-" : "",
             text ? request->text : "", *preset ? "-" : "", length < 64 ? length : 64, preset,
             position ? "-" : "", position ? position : "");
}
