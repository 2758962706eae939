/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary: finds the command, reads its options, and lets it run. Results go to stdout, everything else to
 * stderr.
 */
#include "base/fail.h"
#include "cli/help.h"
#include "cli/ranks_start.h"
#include "cli/shell_words.h"
#include "cli/tokenising.h"
#include "ranks/ranks.h"
#include "task/tokenizer_cache.h"

#include <errno.h>
#include <jansson.h>
#include <rotary/types.h>
#include <rotary/version.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
    &command_compare,
    &command_train,
    &command_data,
    &command_evaluate,
    &command_fill,
    &command_classify,
    &command_generate,
    &command_translate,
    &command_bleu,
    &command_report,
    &command_heatmap,
    &command_frequencies,
    &command_apply,
    &command_attend,
    &command_decay,
    &command_permute,
    &command_export,
    &command_tokenize,
    &command_bench,
    &command_info,
    &command_help,
    &command_completions,
    NULL,
};

/* ---- signals ---- */

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
enum { STOP_SIGNALS = sizeof stop_signals / sizeof stop_signals[0] };

/* The only global variables: a signal handler cannot be given anything. */
enum { MESSAGE_BYTES = 160 };
static char stop_message[MESSAGE_BYTES]; /* written before signals are caught */
static atomic_bool interrupted;
static volatile sig_atomic_t first_signal; /* 0: none yet */

/* The first signal asks to stop and removes the handler of all of them; the second one ends the program. */
static void handle_signal(int signal)
{
    first_signal = signal;
    atomic_store(&interrupted, true);
    for (int i = 0; i < STOP_SIGNALS; i++) {
        struct sigaction action;
        if (sigaction(stop_signals[i], NULL, &action) == 0 && action.sa_handler == handle_signal) {
            action.sa_handler = SIG_DFL;
            sigaction(stop_signals[i], &action, NULL);
        }
    }
    if (signal == SIGINT)
        (void)!write(STDERR_FILENO, stop_message, strlen(stop_message));
}

static void catch_signals(const char *stopping)
{
    snprintf(stop_message, sizeof stop_message, "\nrotary: %s; again to stop at once\n", stopping);
    struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < STOP_SIGNALS; i++)
        sigaddset(&action.sa_mask, stop_signals[i]);
    for (int i = 0; i < STOP_SIGNALS; i++) {
        /* nohup ignores SIGHUP. A shell lets a program in the background ignore SIGINT, which is caught
         * anyway. */
        if (stop_signals[i] == SIGUSR1 &&
            ranks_started() == 1) /* mpirun passes it on, and no other of these */
            continue;
        bool ignored = sigaction(stop_signals[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
        if (stop_signals[i] != SIGHUP || !ignored)
            sigaction(stop_signals[i], &action, NULL);
    }
}

/* ---- reading the command line ---- */

/* The command line as a shell reads it, with the program's own name whatever it is called by. The caller frees
 * it; NULL: no memory. */
static char *join(int count, const char *const *arguments)
{
    const char **words = calloc((size_t)count, sizeof *words);
    if (!words)
        return NULL;
    words[0] = "rotary";
    for (int i = 1; i < count; i++)
        words[i] = arguments[i];
    char *line = shell_words(count, words);
    free(words);
    return line;
}

enum { EXTRA_BYTES = 400 };

/* Where an argument that is too many belongs, if it follows the value of an option, or is a prompt: "; wanted --set
 * steps=5, without a space". */
static const char *explain_extra(const struct command_line *line, const char *extra, char text[EXTRA_BYTES])
{
    void *member;
    int at = 0;
    text[0] = 0;
    while (at < line->count && line->arguments[at] != extra)
        at++;
    const char *value = at >= 2 ? line->arguments[at - 1] : "",
               *option = at >= 2 ? line->arguments[at - 2] : "";
    const struct setting *row =
        settings_find(line->settings, line->setting_count, option, strlen(option), &member);
    if (row) {
        const bool assigned = row->metavar && strchr(row->metavar, '=') && !strchr(value, '='),
                   listed = row->metavar && !assigned && strchr(row->metavar, ',');
        const size_t length = strlen(value),
                     kept = length - (listed && length > 0 && value[length - 1] == ',');
        if (assigned || listed)
            snprintf(text, EXTRA_BYTES, "; wanted %s %.*s%c%.80s, without a space", option,
                     (int)(kept < 80 ? kept : 80), value, assigned ? '=' : ',', extra);
        else if (row->type == SETTING_TEXT)
            snprintf(text, EXTRA_BYTES, "; wanted %s '%.80s %.80s', if it is one text", option, value, extra);
        return text;
    }
    static const char *const takers[] = {"--prompt", "--config", "--input"};
    for (size_t i = 0; i < sizeof takers / sizeof *takers && !row; i++)
        if (!text[0] &&
            settings_find(line->settings, line->setting_count, takers[i], strlen(takers[i]), &member))
            snprintf(text, EXTRA_BYTES, "; did you mean %s '%.80s'?", takers[i], extra);
    return text;
}

static rotary_status check_operands(const struct invocation *invocation, const struct command_line *line,
                                    rotary_error *error)
{
    const struct command *command = invocation->command;
    const struct operands *operands = &invocation->operands;
    char more[EXTRA_BYTES];
    if (operands->count < command->min_operands)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s wants %s, such as: %.*s", command->name,
                           command->operands, (int)strcspn(command->example, "\n"), command->example);
    if (command->max_operands >= 0 && operands->count > command->max_operands) {
        const char *extra = operands->items[command->max_operands];
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s got the argument \"%.80s\", wanted %s%s%s",
                           command->name, extra, command->operands[0] ? command->operands : "none",
                           command->operands[0] ? " alone" : "", explain_extra(line, extra, more));
    }
    return ROTARY_OK;
}

/* The library ignores an unknown name in ROTARY_ISA; the program refuses it. */
static rotary_status check_environment(rotary_error *error)
{
    const char *name = getenv("ROTARY_ISA");
    rotary_isa isa;
    rotary_error unknown;
    if (!name || !name[0] || rotary_isa_from_name(&isa, name, &unknown) == ROTARY_OK)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the environment variable ROTARY_ISA: %s",
                       unknown.message);
}

static enum exit_status refuse_usage(const struct command *command, const struct setting *about,
                                     const rotary_error *error)
{
    fprintf(stderr, "rotary: %s\n", error->message);
    if (about)
        help_option(stderr, about);
    else
        fprintf(stderr, "usage: rotary %s%s%s [options]   (see rotary help %s)\n", command->name,
                command->operands[0] ? " " : "", command->operands, command->name);
    return EXIT_USAGE;
}

static enum exit_status read_and_run(struct invocation *invocation, void *options, int count,
                                     const char *const *arguments)
{
    const struct command *command = invocation->command;
    struct settings sets[COMMAND_MAX_SETS];
    int set_count = command_option_sets(command, options, &invocation->common, sets);
    const struct setting *about = NULL;
    rotary_error error = {0};
    const struct command_line line = {sets, set_count, count, arguments, commands};
    rotary_status status = arguments_parse(&line, &invocation->operands, &about, &error);
    if (status == ROTARY_OK && invocation->common.help) {
        help_command(stdout, command);
        return EXIT_DONE;
    }
    if (status == ROTARY_OK) {
        about = NULL;
        status = check_operands(invocation, &line, &error);
    }
    if (status == ROTARY_OK)
        status = check_environment(&error);
    if (status != ROTARY_OK)
        return refuse_usage(command, about, &error);
    if (command->stopping)
        catch_signals(command->stopping);
    enum exit_status exit_status =
        command->together ? ranks_start_and_run(invocation) : command->run(invocation);
    if (exit_status != EXIT_INTERRUPTED)
        return exit_status;
    const int signal = first_signal ? first_signal : SIGTERM; /* another rank may have had it */
    return (enum exit_status)(EXIT_SIGNAL + signal);
}

/* `words` of the arguments are the program and the command's name. */
static enum exit_status run_command(const struct command *command, int words, int count,
                                    const char *const *arguments)
{
    char *line = join(count, arguments), *options = calloc(1, command->options_size + 1);
    const char **operands = calloc((size_t)count + 1, sizeof *operands);
    struct tokenizer_cache *tokenizers = NULL;
    struct tokenising tokenising;
    tokenising_start(&tokenising, &interrupted);
    enum exit_status status;
    if (line && options && operands && tokenizer_cache_create(&tokenizers, NULL) == ROTARY_OK) {
        struct invocation invocation = {.command = command,
                                        .options = options,
                                        .commands = commands,
                                        .program = arguments[0],
                                        .operands = {.items = operands},
                                        .command_line = line,
                                        .interrupted = &interrupted,
                                        .tokenizers = tokenizers,
                                        .watch = &tokenising.watch};
        status = read_and_run(&invocation, options, count - words, arguments + words);
    } else {
        rotary_error error;
        (void)rotary_fail_memory(&error, "for the command line");
        status = command_fail(&error);
    }
    tokenizer_cache_destroy(tokenizers);
    free(operands);
    free(options);
    free(line);
    return status;
}

static bool asks_for_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

/* "rotary bench rope ...": a command of a group, which the third argument names. */
static enum exit_status find_in_group(const struct command *group, int count, const char *const *arguments)
{
    const char *second = count > 2 ? arguments[2] : "";
    if (asks_for_help(second)) {
        help_command(stdout, group);
        return EXIT_DONE;
    }
    if (second[0] == 0) {
        rotary_error error;
        (void)rotary_fail(&error, ROTARY_INVALID_ARGUMENT, "%s wants %s, such as: %.*s", group->name,
                          group->operands, (int)strcspn(group->example, "\n"), group->example);
        return refuse_usage(group, NULL, &error);
    }
    const struct command *command = command_find(group->below, second);
    return command ? run_command(command, 3, count, arguments)
                   : command_unknown(group->below, group->name, second);
}

static enum exit_status find_and_run(const char *first, int count, const char *const *arguments)
{
    const struct command *command = command_find(commands, first);
    if (!command)
        return command_unknown(commands, NULL, first);
    return command->below ? find_in_group(command, count, arguments)
                          : run_command(command, 2, count, arguments);
}

/* Results that could not be written are a failure, even if all else went well. */
static enum exit_status finish(enum exit_status status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "rotary: cannot write the result: %s\n", strerror(errno));
    return status == EXIT_DONE ? EXIT_FAILED : status;
}

/* jansson silently drops a member of a list or an object for which there is no memory; no caller of it in this
 * program asks (CONTRIBUTING.md, Memory). */
static void *allocate_json(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory) {
        fputs("rotary: no memory for JSON\n", stderr);
        exit(EXIT_FAILED);
    }
    return memory;
}

/* oneDNN is C++, and throws where it has no memory, through functions of C that cannot catch it. This is
 * std::set_terminate, by the name that it has for the linker; NULL where the program has no C++. */
typedef void terminate_handler(void);
extern terminate_handler *set_terminate(terminate_handler *handler) __asm__("_ZSt13set_terminatePFvvE")
    __attribute__((weak));

/* On whichever thread: others may still compute. */
static void end_without_memory(void)
{
    static const char message[] = "rotary: no memory for oneDNN, or it failed otherwise\n";
    (void)!write(STDERR_FILENO, message, sizeof message - 1);
    _exit(EXIT_FAILED);
}

int main(int count, char **arguments)
{
    json_set_alloc_funcs(allocate_json, free);
    if (set_terminate)
        set_terminate(end_without_memory);
    /* A file that grows over its limit is then a failed write like any other. */
    signal(SIGXFSZ, SIG_IGN);
    if (count < 2) {
        help_overview(stderr, commands);
        return EXIT_USAGE;
    }
    const char *first = arguments[1];
    if (asks_for_help(first))
        first = command_help.name;
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0) {
        printf("rotary %s\n", rotary_version());
        return finish(EXIT_DONE);
    }
    return finish(find_and_run(first, count, (const char *const *)arguments));
}
