/* SPDX-License-Identifier: Apache-2.0
 *
 * From options to a checked configuration: the preset, then --position, --steps, --seed and
 * --precision, then every --set in order.
 */
#ifndef ROTARY_CLI_RUN_PLAN_H
#define ROTARY_CLI_RUN_PLAN_H

#include "cli/command.h"
#include "inference/loaded_model.h"
#include "layer/encoding/encoding.h"
#include "train/train.h"
#include "train/unused_keys.h"

struct plan_request {
    const char *task;
    const char *preset;            /* NULL: `base` alone if there is one, else PLAN_PRESET */
    const struct run_config *base; /* what the preset is applied to; NULL: the defaults */
    const char *position;          /* NULL: as configured */
    const char *init; /* folder of a run, or of a Hugging Face model, with the initial weights, whose
                       * model is taken too unless there is a base; NULL: as configured */
    struct option_integer steps;
    const struct option_list *assignments;
    const char *text; /* is in the default folder's name; NULL or empty: none */
    const struct common_options *common;
    struct tokenizer_cache *tokenizers; /* borrowed by the configuration; NULL: none */
    const struct task_watch *watch;     /* likewise */
};

#define PLAN_PRESET "quick"

/* The option that was given and sets the key of a configuration, such as "--steps" of "steps" and "epochs"; NULL: none. */
const char *plan_option_of(const struct plan_request *request, const char *key);
/* Refuses a key of --set beside its option, since one alone of the two could be applied. */
ROTARY_CHECKED rotary_status plan_check_assigned(const struct plan_request *request, rotary_error *error);

/* Refuses a configuration of no steps, which only `rotary train` has a use for. */
ROTARY_CHECKED rotary_status plan_config(const struct plan_request *request, struct run_config *config,
                                         rotary_error *error);
/* Does so without the check that the settings fit together. */
ROTARY_CHECKED rotary_status plan_draft(const struct plan_request *request, struct run_config *config,
                                        rotary_error *error);
/* Says on stderr what a number of steps other than the preset's makes of the learning rates of `count`
 * checked configurations, if that is not what one would expect (schedule_remark); what several have in common
 * once. */
ROTARY_CHECKED rotary_status plan_say_schedules(const struct plan_request *request,
                                                const struct run_config *configs, int count,
                                                rotary_error *error);
/* Applies each of the encodings that "rope,mine.json" names to a copy of `base`. All are different, and at
 * most `max`; `where` is the option that names them. */
struct plan_positions_call {
    const char *where, *names;
    const struct run_config *base;
    int max;
};
ROTARY_CHECKED rotary_status plan_positions(const struct plan_positions_call *call,
                                            struct run_config *configs, int *count, rotary_error *error);
/* The backend of --threads, --isa and `precision`. */
ROTARY_CHECKED rotary_status plan_backend(const struct common_options *common, int precision,
                                          struct backend *backend, rotary_error *error);

/* What it computes with, in a line for a person: an instruction set, or the device. */
const char *plan_backend_text(const struct backend *backend);

/* The backend of a loaded model by --threads, --isa and --precision. */
struct loaded_model_backend plan_model_backend(const struct common_options *common);
/* loaded_model_open; says on stderr what its files have beside the model. */
ROTARY_CHECKED rotary_status plan_open_model(const struct loaded_model_call *call, struct loaded_model *model,
                                             rotary_error *error);
/* Says on stderr which tensors of heads of other tasks the folder's files have, if any. */
void plan_say_unused(const char *folder, const struct unused_tensors *unused);

/* The default folder: "runs/<task>-<preset>", of a text "runs/<task>-<text>" and "-<preset>" if one is given, and
 * "-<position>" if that is not NULL. */
enum { PLAN_FOLDER_BYTES = 320 };
void plan_folder(const struct plan_request *request, const char *position, char folder[PLAN_FOLDER_BYTES]);

#endif
