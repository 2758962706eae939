/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command is. Each is one file, command_*.c, that ends in its row; main.c has the table of them.
 *
 * A command first plans, that is checks its options, and then runs. An error while planning is wrong usage
 * and exits with 2; a later error exits with 1.
 */
#ifndef ROTARY_CLI_COMMAND_H
#define ROTARY_CLI_COMMAND_H

#include "cli/arguments.h"

#include <stdatomic.h>

enum exit_status {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_UNKNOWN = 3,  /* nothing failed, but the answer is unknown (permute --detect) */
    EXIT_SIGNAL = 128, /* and the signal's number: a command was interrupted, and saved its work */
    EXIT_INTERRUPTED,  /* what such a command returns; main adds the signal's number to EXIT_SIGNAL */
};

/* Options that mean the same in every command. */
struct common_options {
    struct option_integer threads, isa, precision, seed;
    struct option_integer device; /* of commands that are `on_device`; else 0: the cpu */
    bool json, help;
};

/* Options of the commands that configure a model and its task. */
struct configuration_options {
    const char *preset;
    struct option_list assignments;
};

struct ranks;
struct tokenizer_cache;
struct task_watch;
struct invocation {
    const struct command *command;
    const struct command *const *commands; /* of the program, NULL-terminated, in the order of the help */
    struct common_options common;
    const void *options;            /* the command's own struct */
    struct operands operands;       /* as many as the command takes */
    const char *program;            /* as it was called: "rotary", "build/release/rotary" */
    const char *command_line;       /* quoted for a shell */
    const atomic_bool *interrupted; /* a signal asked to stop; of a command with `stopping` */
    const struct ranks *ranks;      /* that run the command together; NULL: this process alone */
    struct tokenizer_cache
        *tokenizers;                /* vocabularies that the command has trained (task/tokenizer_cache.h) */
    const struct task_watch *watch; /* of texts that it tokenises (cli/tokenising.h) */
};

enum { COMMAND_SHARED_TABLES = 5 };

struct command {
    const char *name;     /* "train"; of one below another, "bench train" */
    const char *operands; /* after the name in its usage: "DIR..." */
    const char *summary;  /* one line, without a full stop */
    const char *more;     /* a paragraph of help; NULL: none */
    const char *example;  /* one worked example: the command, a line's end, what it does */
    struct option_table shared[COMMAND_SHARED_TABLES + 1]; /* with other commands; ends where count is 0 */
    const struct setting *options;                         /* its own */
    int option_count;
    size_t options_size;            /* of its own struct */
    int min_operands, max_operands; /* max -1: any number */
    /* What it says when SIGINT (Ctrl-C) asks it to stop, as SIGTERM and SIGHUP do; NULL: they end it at once.
     */
    const char *stopping;
    bool on_device; /* it trains or runs a model, and has --device */
    bool together;  /* the processes that mpirun starts run it together */
    enum exit_status (*run)(const struct invocation *invocation);
    const struct bench *bench;          /* of a benchmark of the library (cli/bench.h) */
    const struct command *const *below; /* NULL-terminated: it is a group of these; NULL: it is none */
};

extern const struct command command_compare, command_train, command_data, command_evaluate, command_fill,
    command_classify, command_generate, command_export, command_translate, command_bleu, command_report,
    command_heatmap, command_frequencies, command_apply, command_attend, command_decay, command_permute,
    command_tokenize, command_bench, command_info, command_help, command_completions;
extern const struct command command_bench_train, command_bench_rope, command_bench_attention,
    command_bench_decode, command_bench_generate, command_bench_translate;
extern const struct command command_tokenize_train, command_tokenize_encode, command_tokenize_decode;

/* The options every command has. */
extern const struct setting common_options[];
extern const int common_option_count;
/* --device, of commands that are `on_device`. */
extern const struct setting device_option[1];
extern const char *const device_names[]; /* of enum device (cuda/device_backend.h) */
extern const char *const isa_names[];    /* of --isa: "auto", then those of rotary_isa */

/* Rows that several commands have: --preset and --set over a struct configuration_options; and one each,
 * over the member alone. */
extern const struct setting configuration_options[2], position_option[1], steps_option[1],
    temperature_option[1], checkpoint_option[1];

/* Sets the tables that a command's line is read by, with the structs they fill; returns their number. */
enum { COMMAND_MAX_SETS = COMMAND_SHARED_TABLES + 3 };
int command_option_sets(const struct command *command, void *options, struct common_options *common,
                        struct settings sets[COMMAND_MAX_SETS]);

/* The last word of a command's name: "rope" of "bench rope". */
const char *command_last_word(const struct command *command);
/* The command of that name in a NULL-terminated list, "rope" for "bench rope"; NULL if there is none. */
const struct command *command_find(const struct command *const *list, const char *name);

/* Prints to stderr what was wrong with the options and which help to read. Returns the exit status. */
enum exit_status command_refuse(const struct invocation *invocation, const rotary_error *error);
/* Prints that the list has no such command, and the nearest one. group: the command that has the list; NULL:
 * it is the program's. Returns the exit status. */
enum exit_status command_unknown(const struct command *const *list, const char *group, const char *name);
/* Prints what failed. Returns the exit status. */
enum exit_status command_fail(const rotary_error *error);

#endif
