/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/comparison_design.h"

#include "base/fail.h"
#include "records/comparison/comparison.h"
#include "records/comparison/comparison_file.h"
#include "statistics/power.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEEDS = 1000, RUNS_QUICK = 6, RUNS_QUICK_ARMS = 8, RUNS_OTHER = 10, SWEEP_RUNS = 2 };
static const int64_t max_seed = ((int64_t)1 << 53) - 1; /* as the configuration has it */

#define MEMBER(member) offsetof(struct design_options, member)
const struct setting design_options[DESIGN_ROWS] = {
    {"--positions", SETTING_TEXT, MEMBER(positions), .metavar = "A,B,...",
     .help = "position encodings, the first being the baseline: {positions}; all, for those of these that "
             "are not listed before; {encodings}, which files describe that come with the program; files "
             "NAME.json of your own (default: rope,roper; with --vary, the configuration's)"},
    {"--vary", SETTING_LIST, MEMBER(vary), .metavar = "KEY=A,B,...",
     .help = "values of any key of the configuration, the first being the baseline; given again, every "
             "combination is trained; all: every name that the key may have"},
    {"--runs", SETTING_INTEGER, MEMBER(runs), .metavar = "N", .min = 1, .max = MAX_SEEDS,
     .help = "seeds of each arm, from --seed on (default: 6 for the preset quick, 8 with more than two arms; "
             "10 for others)"},
    {"--seeds", SETTING_TEXT, MEMBER(seeds), .metavar = "A,B,...",
     .help = "the seeds themselves, instead of --runs: \"1,5,9\" or \"101-105\""},
    {"--until", SETTING_INTEGER, MEMBER(until), .metavar = "N", .min = 1, .max = MAX_SEEDS,
     .help = "train one seed after the other until there is a verdict, at most N: a test that stays valid "
             "when looked at after each"},
    {"--sweep", SETTING_LIST, MEMBER(sweep), .metavar = "KEY=A,B,...",
     .help = "values of which every arm first gets its own best one, on other seeds; given again, every "
             "combination is tried"},
    {"--sweep-runs", SETTING_INTEGER, MEMBER(sweep_runs), .metavar = "N", .min = 1, .max = SWEEP_MAX_RUNS,
     .help = "seeds of every value of --sweep (default: 2)"},
    {"--problems", SETTING_INTEGER, MEMBER(problems), .metavar = "N", .min = 1, .max = 1 << 20,
     .help = "problems of an evaluation; more make exact match less noisy (default: the preset's)"},
};

/* ---- arms ---- */

/* Refuses --set of a key whose values are compared. */
static rotary_status check_assignments(const json_t *keys, const char *what,
                                       const struct option_list *assignments, rotary_error *error)
{
    for (int i = 0; i < assignments->count; i++) {
        const char *text = assignments->items[i], *equals = strchr(text, '=');
        const char *key;
        json_t *value;
        json_object_foreach ((json_t *)(uintptr_t)keys, key, value) {
            if (!equals || strlen(key) != (size_t)(equals - text) || strncmp(key, text, strlen(key)) != 0)
                continue;
            bool position = strcmp(key, "position") == 0;
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "--set sets \"%s\", which the comparison %s; wanted --%s %.80s", key, what,
                               position                      ? "positions"
                               : strcmp(what, "varies") == 0 ? "vary"
                                                             : "sweep",
                               position ? equals + 1 : text);
        }
    }
    return ROTARY_OK;
}

/* Refuses an option that sets a key whose values are compared, and so would set none of them. */
static rotary_status check_options(const json_t *keys, const char *what, const struct plan_request *request,
                                   rotary_error *error)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)keys, key, value) {
        const char *option = plan_option_of(request, key);
        if (option)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s sets \"%s\", which the comparison %s; wanted one of them", option, key,
                               what);
    }
    return check_assignments(keys, what, request->assignments, error);
}

/* What the assignments set, as the configuration has it. */
static rotary_status note_given(struct comparison_design *design, const struct option_list *assignments,
                                rotary_error *error)
{
    json_t *all = NULL;
    rotary_status status = run_config_to_json(&design->config, &all, error);
    if (status == ROTARY_OK && !(design->given = json_object()))
        status = rotary_fail_memory(error, "for a configuration");
    for (int i = 0; status == ROTARY_OK && i < assignments->count; i++) {
        char key[SETTING_TEXT_BYTES];
        settings_assigned_key(key, assignments->items[i]);
        json_object_set(design->given, key, json_object_get(all, key));
    }
    json_decref(all);
    return status;
}

/* Adds the keys of an option that may be given again. */
static rotary_status add_axes(struct arms *arms, const char *option, const struct option_list *list,
                              rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < list->count; i++) {
        const char *text = list->items[i], *equals = strchr(text, '=');
        if (!equals || equals == text)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s is \"%.80s\", wanted key=value,value,...",
                               option, text);
        char *key = strndup(text, (size_t)(equals - text));
        if (!key)
            return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "%s: no memory", option);
        status =
            arms_vary(arms, &(struct arm_axis){.option = option, .key = key, .values = equals + 1}, error);
        free(key);
    }
    return status;
}

/* Those of the folder's comparison, with what they chose by a sweep. */
static rotary_status copy_arms(struct arms *arms, const struct comparison_file *file, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < file->arm_count; i++) {
        const struct file_arm *arm = &file->arms[i];
        status = arms_append(arms, arm->name, json_deep_copy(arm->set),
                             arm->chosen ? json_deep_copy(arm->chosen) : NULL, error);
    }
    return status;
}

static rotary_status make_arms(struct comparison_design *design, const struct design_options *options,
                               const struct plan_request *request, const struct comparison_file *file,
                               rotary_error *error)
{
    design->keep_arms = !options->positions && !options->vary.count;
    const char *positions = design->keep_arms ? "rope,roper" : options->positions;
    rotary_status status;
    if (design->keep_arms && file->object) {
        status = copy_arms(&design->arms, file, error);
    } else {
        status = arms_create(&design->arms, error);
        if (status == ROTARY_OK && positions)
            status = arms_vary(
                &design->arms,
                &(struct arm_axis){.option = "--positions", .key = "position", .values = positions}, error);
        if (status == ROTARY_OK)
            status = add_axes(&design->arms, "--vary", &options->vary, error);
    }
    design->arms.given = design->given;
    if (status == ROTARY_OK)
        status = check_options(design->arms.items[0].set, "varies", request, error);
    if (status == ROTARY_OK && design->arms.items[0].chosen)
        status = check_options(design->arms.items[0].chosen, "sweeps", request, error);
    return status;
}

static rotary_status make_sweep(struct comparison_design *design, const struct design_options *options,
                                const struct plan_request *request, rotary_error *error)
{
    if (!options->sweep.count)
        return options->sweep_runs.given
                   ? rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--sweep-runs needs --sweep")
                   : ROTARY_OK;
    design->sweep.runs = options->sweep_runs.given ? (int)options->sweep_runs.value : SWEEP_RUNS;
    rotary_status status = arms_create(&design->sweep.candidates, error);
    if (status == ROTARY_OK)
        status = add_axes(&design->sweep.candidates, "--sweep", &options->sweep, error);
    if (status == ROTARY_OK)
        status = check_options(design->sweep.candidates.items[0].set, "sweeps", request, error);
    if (status == ROTARY_OK)
        status = sweep_check_arms(&design->sweep, &design->arms, &design->config, error);
    return status;
}

/* ---- seeds ---- */

static rotary_status no_memory_for_seeds(rotary_error *error)
{
    return rotary_fail_memory(error, "for seeds");
}

static rotary_status fail_seeds(const char *text, rotary_error *error)
{
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "--seeds is \"%.80s\", wanted whole numbers, each once, such as 1,5,9 or 101-105, at "
                       "most %d",
                       text, (int)MAX_SEEDS);
}

static rotary_status add_seed(struct comparison_design *design, int64_t seed, const char *text,
                              rotary_error *error)
{
    for (int i = 0; i < design->seed_count; i++)
        if (design->seeds[i] == seed)
            return fail_seeds(text, error);
    if (design->seed_count == MAX_SEEDS)
        return fail_seeds(text, error);
    design->seeds[design->seed_count++] = seed;
    return ROTARY_OK;
}

/* A whole number; *rest is what follows it. */
static bool read_seed(const char *text, int64_t *seed, const char **rest)
{
    if (!isdigit((unsigned char)text[0]))
        return false;
    char *end;
    errno = 0;
    *seed = strtoll(text, &end, 10);
    *rest = end;
    return errno == 0 && *seed <= max_seed;
}

static rotary_status read_seeds(struct comparison_design *design, const char *text, rotary_error *error)
{
    for (const char *next = text;; next++) {
        int64_t first, last;
        if (!read_seed(next, &first, &next))
            return fail_seeds(text, error);
        last = first;
        if (*next == '-' && !read_seed(next + 1, &last, &next))
            return fail_seeds(text, error);
        if (last < first || (*next && *next != ','))
            return fail_seeds(text, error);
        for (int64_t seed = first; seed <= last; seed++) {
            rotary_status status = add_seed(design, seed, text, error);
            if (status != ROTARY_OK)
                return status;
        }
        if (*next == 0)
            return ROTARY_OK;
    }
}

/* The folder's own; all that there may be, where it goes on until a verdict. */
static rotary_status copy_seeds(struct comparison_design *design, const struct comparison_file *file,
                                rotary_error *error)
{
    const json_t *until = json_object_get(file->object, "until");
    int64_t most = json_integer_value(json_object_get(until, "max_seeds")),
            first = json_integer_value(json_object_get(until, "first_seed"));
    design->until = until != NULL;
    design->seed_count = until ? (int)most : file->seed_count;
    design->seeds = calloc((size_t)design->seed_count, sizeof *design->seeds);
    if (!design->seeds)
        return no_memory_for_seeds(error);
    for (int i = 0; i < design->seed_count; i++)
        design->seeds[i] = until ? first + i : file->seeds[i];
    return ROTARY_OK;
}

static rotary_status check_seed_options(const struct design_options *options, bool seed_given,
                                        rotary_error *error)
{
    const char *other = options->runs.given ? "--runs" : options->until.given ? "--until" : "--seed";
    if (options->seeds && (options->runs.given || options->until.given || seed_given))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--seeds and %s are given: wanted --seeds alone, or --runs or --until with --seed",
                           other);
    if (options->until.given && options->runs.given)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--until and --runs are given: wanted one, as --until ends with the verdict");
    return ROTARY_OK;
}

static rotary_status make_seeds(struct comparison_design *design, const struct design_options *options,
                                const struct plan_request *request, const struct comparison_file *file,
                                rotary_error *error)
{
    bool seed_given = request->common->seed.given;
    rotary_status status = check_seed_options(options, seed_given, error);
    if (status != ROTARY_OK)
        return status;
    design->keep_seeds = !options->seeds && !options->runs.given && !seed_given && !options->until.given;
    if (design->keep_seeds && file->object)
        return copy_seeds(design, file, error);
    design->until = options->until.given;
    design->seeds = calloc(MAX_SEEDS, sizeof *design->seeds);
    if (!design->seeds)
        return no_memory_for_seeds(error);
    if (options->seeds)
        return read_seeds(design, options->seeds, error);
    const bool quick = !request->preset || strcmp(request->preset, PLAN_PRESET) == 0;
    int runs = !quick ? RUNS_OTHER : design->arms.count > 2 ? RUNS_QUICK_ARMS : RUNS_QUICK;
    if (options->runs.given)
        runs = (int)options->runs.value;
    if (options->until.given)
        runs = (int)options->until.value;
    for (int i = 0; i < runs; i++)
        design->seeds[design->seed_count++] = design->config.train.seed + i;
    return ROTARY_OK;
}

/* ---- the design ---- */

static rotary_status check_design(const struct comparison_design *design,
                                  const struct design_options *options, const struct plan_request *request,
                                  rotary_error *error)
{
    int64_t largest = 0;
    for (int i = 0; i < design->seed_count; i++)
        largest = design->seeds[i] > largest ? design->seeds[i] : largest;
    struct run_config *configs;
    rotary_status status = arms_configs(&design->arms, &design->config, largest, &configs, error);
    if (status != ROTARY_OK)
        return status;
    const struct unused_keys_call used = {.configs = configs, .count = design->arms.count};
    status =
        unused_keys_check_assigned(&used, request->assignments->items, request->assignments->count, error);
    if (status == ROTARY_OK)
        status = unused_keys_check_assigned(&used, options->vary.items, options->vary.count, error);
    if (status == ROTARY_OK && options->problems.given)
        status = unused_keys_check(&used, "problems", error);
    if (status == ROTARY_OK)
        status = plan_say_schedules(request, configs, design->arms.count, error);
    arms_configs_free(configs, design->arms.count);
    return status;
}

static rotary_status make_design(struct comparison_design *design, const struct design_options *options,
                                 const struct plan_request *request, const struct comparison_file *file,
                                 rotary_error *error)
{
    rotary_status status = plan_draft(request, &design->config, error);
    if (status == ROTARY_OK && options->problems.given)
        design->config.task.problems = options->problems.value;
    if (status == ROTARY_OK)
        status = note_given(design, request->assignments, error);
    if (status == ROTARY_OK)
        status = make_arms(design, options, request, file, error);
    if (status == ROTARY_OK)
        status = make_seeds(design, options, request, file, error);
    if (status == ROTARY_OK)
        status = make_sweep(design, options, request, error);
    return status == ROTARY_OK ? check_design(design, options, request, error) : status;
}

/* What all arms of a folder share. What follows from the keys that are compared is not among that, and is as
 * without a folder. */
static rotary_status read_base(struct run_config *base, const struct plan_request *request,
                               const struct comparison_file *file, const char *folder, rotary_error *error)
{
    rotary_status status = plan_draft(request, base, error);
    if (status != ROTARY_OK)
        return status;
    struct settings settings[RUN_SETTINGS];
    run_settings(base, settings);
    status = settings_read(settings, RUN_SETTINGS, json_object_get(file->object, "config"), folder, error);
    if (status == ROTARY_OK && strcmp(task_names[base->task.task], request->task) != 0)
        status =
            rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                        "%s holds a comparison on the task %s, wanted one on %s: another folder by --out",
                        folder, task_names[base->task.task], request->task);
    return status;
}

rotary_status design_create(struct comparison_design *design, const struct design_options *options,
                            const struct plan_request *request, const char *folder, rotary_error *error)
{
    *design = (struct comparison_design){0};
    struct comparison_file file = {0};
    struct plan_request based = *request;
    struct run_config recorded RUN_CONFIG_LOCAL = {0};
    rotary_status status =
        comparison_file_exists(folder) ? comparison_file_read(&file, folder, error) : ROTARY_OK;
    if (status == ROTARY_OK && file.object && !request->preset) {
        status = read_base(&recorded, request, &file, folder, error);
        based.base = &recorded;
    }
    if (status == ROTARY_OK)
        status = make_design(design, options, &based, &file, error);
    comparison_file_free(&file);
    if (status != ROTARY_OK)
        design_free(design);
    return status;
}

static bool is_of_exact_match(const struct run_config *config)
{
    struct task *task;
    if (config->train.primary_measure != MEASURE_AUTO ||
        task_create(&task, &config->task,
                    &(struct task_request){.folder = run_vocabulary_folder(config, NULL), .need = TASK_SIZES},
                    NULL) != ROTARY_OK)
        return config->train.primary_measure == MEASURE_EXACT_MATCH;
    bool has_problems = task_has_problems(task);
    task_destroy(task);
    return has_problems;
}

enum { EXPERIMENTS = 1000 };

static rotary_status write_rule(char text[DESIGN_POWER_BYTES], const struct comparison_design *design,
                                const struct power_design *of, rotary_error *error)
{
    static const double deviations = 3;
    const int arms = design->arms.count, contrasts = of->all_pairs ? arms * (arms - 1) / 2 : arms - 1;
    char how[80] = "";
    double power;
    if (design->seed_count < ENOUGH_PAIRS) {
        snprintf(text, DESIGN_POWER_BYTES, "%d seed%s can give no verdict, which takes %d",
                 design->seed_count, design->seed_count == 1 ? "" : "s", (int)ENOUGH_PAIRS);
        return ROTARY_OK;
    }
    if (contrasts > 1)
        snprintf(how, sizeof how, ", jointly for %d contrasts (step-down max t)", contrasts);
    else if (design->seed_count == ENOUGH_PAIRS)
        snprintf(how, sizeof how, ", all six pairs of one sign");
    /* The difference of two scores has √2 times the standard deviation of one. */
    const struct power_call call = {of, design->seed_count, deviations / sqrt(2), EXPERIMENTS};
    rotary_status status = power_of(&power, &call, error);
    snprintf(
        text, DESIGN_POWER_BYTES,
        "a verdict takes p <= %g by sign flips of %d seeds%s; a difference of %.0f standard deviations of a "
        "score gives one %.0f times in 100",
        comparison_alpha, design->seed_count, how, deviations, 100 * power);
    return status;
}

static rotary_status write_exact_match(char text[DESIGN_POWER_BYTES], const struct comparison_design *design,
                                       const struct power_design *of, rotary_error *error)
{
    /* The standard deviation of the differences in results/index-quick, in points of exact match. */
    static const double spread = 14.8, difference = 10;
    const struct power_call call = {of, design->seed_count, difference / spread, EXPERIMENTS};
    struct power power;
    double part = 0;
    rotary_status status = power_create(&power, of, error);
    if (status == ROTARY_OK)
        status = power_of(&part, &call, error);
    if (status == ROTARY_OK)
        snprintf(text, DESIGN_POWER_BYTES,
                 "with the spread of results/index-quick, %d seeds find a difference of %.0f points of exact "
                 "match %.0f times in 100; 80 times takes about %d seeds",
                 design->seed_count, difference, 100 * part, power_pairs(&power, difference / spread));
    return status;
}

rotary_status design_power(const struct comparison_design *design, char rule[DESIGN_POWER_BYTES],
                           char exact_match[DESIGN_POWER_BYTES], rotary_error *error)
{
    const struct power_design of = {
        .arms = design->arms.count, .all_pairs = design->all_pairs, .alpha = comparison_alpha};
    *rule = *exact_match = 0;
    if (design->until || design->arms.count < 2 || design->seed_count < 2)
        return ROTARY_OK;
    rotary_status status = write_rule(rule, design, &of, error);
    if (status == ROTARY_OK && design->seed_count >= ENOUGH_PAIRS && is_of_exact_match(&design->config))
        status = write_exact_match(exact_match, design, &of, error);
    return status;
}

void design_free(struct comparison_design *design)
{
    run_config_free(&design->config);
    arms_free(&design->sweep.candidates);
    arms_free(&design->arms);
    json_decref(design->given);
    free(design->seeds);
    *design = (struct comparison_design){0};
}
