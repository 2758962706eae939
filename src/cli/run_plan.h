/* SPDX-License-Identifier: Apache-2.0
 *
 * From options to a checked configuration: the preset, then --position, --steps, --seed and
 * --precision, then every --set in order.
 */
#ifndef ROTARY_CLI_RUN_PLAN_H
#define ROTARY_CLI_RUN_PLAN_H

#include "cli/command.h"
#include "layer/encoding/encoding.h"
#include "train/train.h"
#include "train/unused_keys.h"
#include "train/weights/pretrained.h"

struct plan_request {
    const char *task;
    const char *preset;            /* NULL: `base` alone if there is one, else PLAN_PRESET */
    const struct run_config *base; /* what the preset is applied to; NULL: the defaults */
    const char *position;          /* NULL: as configured */
    const char *init; /* folder of a run, or of a Hugging Face model, with the initial weights, whose
                       * model is taken too unless there is a base; NULL: as configured */
    struct option_integer steps;
    const struct option_list *assignments;
    const struct common_options *common;
    struct tokenizer_cache *tokenizers; /* borrowed by the configuration; NULL: none */
    const struct task_watch *watch;     /* likewise */
};

#define PLAN_PRESET "quick"

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
/* The key of a --set that plan_draft found: "steps" of "steps=5". */
void plan_assigned_key(char key[SETTING_TEXT_BYTES], const char *assignment);
/* Refuses a --set, or the key of a --vary, that changes none of the configurations made of it. */
ROTARY_CHECKED rotary_status plan_check_used(const struct option_list *assignments,
                                             const struct unused_keys_call *call, rotary_error *error);
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

/* A trained model, ready to be used. */
struct loaded_model {
    struct run_config config;
    struct backend backend;
    struct transformer *transformer;
    struct task *task;                 /* NULL: a Hugging Face decoder, of which none was wanted */
    const struct tokenizer *tokenizer; /* of the task, or of that decoder; NULL: its folder has none */
    int32_t begin;                     /* the token that texts begin with; -1: none */
    int64_t step;                      /* steps done; 0: the weights are the initial ones */
    int64_t trained; /* tokens of a sequence in training; a Hugging Face decoder does not say, and had as
                      * many as it has positions */
    struct pretrained pretrained; /* of such a decoder */
};
/* Loads a checkpoint of a run's folder, in the precision that it was trained in unless another is given. */
ROTARY_CHECKED rotary_status plan_load(const char *folder, enum checkpoint_kind checkpoint,
                                       const struct common_options *common, struct loaded_model *model,
                                       rotary_error *error);
/* The same with another need of the task and other limits of the transformer; 0: as configured. */
struct plan_load_call {
    const char *folder;
    enum checkpoint_kind checkpoint;
    const struct common_options *common;
    enum task_need need;
    int64_t batch, time;
    const struct option_list *assignments; /* of keys of the task: other data; NULL: none */
    /* Whether of a Hugging Face decoder model and tokenizer are all that is wanted
     * (train/weights/pretrained.h): its weights then stay in their files. The longest text has `tokens`, or
     * as many as the model has positions for (0). For others such a folder is a run of the task language. */
    bool takes_pretrained;
    int64_t tokens;
    bool reads_parameters; /* of such a decoder: they are copied from its files */
};
ROTARY_CHECKED rotary_status plan_load_for(const struct plan_load_call *call, struct loaded_model *model,
                                           rotary_error *error);
void plan_unload(struct loaded_model *model);
/* The positions of the model in a folder, without loading it. */
ROTARY_CHECKED rotary_status plan_max_positions(const char *folder, int64_t *positions, rotary_error *error);

/* The default folder: "runs/<task>-<preset>", and "-<position>" if that is not NULL. */
enum { PLAN_FOLDER_BYTES = 256 };
void plan_folder(const struct plan_request *request, const char *position, char folder[PLAN_FOLDER_BYTES]);

#endif
