/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/progress.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LINE_BYTES = 512, MIN_BAR = 8, MAX_BAR = 40, DEFAULT_COLUMNS = 80 };

static const double seconds_between_bars = 0.1, seconds_between_lines = 5.0;

void progress_start(struct progress *progress)
{
    const char *kind = getenv("TERM");
    *progress = (struct progress){.terminal = isatty(STDERR_FILENO) && !(kind && strcmp(kind, "dumb") == 0)};
}

void progress_time(double seconds, char text[PROGRESS_TIME_BYTES])
{
    long whole = seconds > 0 && seconds < 1e12 ? (long)(seconds + 0.5) : 0;
    if (whole < 60)
        snprintf(text, PROGRESS_TIME_BYTES, "%lds", whole);
    else if (whole < 3600)
        snprintf(text, PROGRESS_TIME_BYTES, "%ldm%02lds", whole / 60, whole % 60);
    else if (whole < 86400)
        snprintf(text, PROGRESS_TIME_BYTES, "%ldh%02ldm", whole / 3600, whole / 60 % 60);
    else
        snprintf(text, PROGRESS_TIME_BYTES, "%ldd%ldh", whole / 86400, whole / 3600 % 24);
}

static void clear(struct progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}

/* "loss 0.4123  51.2k tokens/s  1m12s left  6m40s in all" */
static void describe(char text[LINE_BYTES], int runs_left, const struct train_progress *train)
{
    char left[PROGRESS_TIME_BYTES], all[PROGRESS_TIME_BYTES];
    progress_time(train->seconds_left, left);
    double speed = train->tokens_per_second;
    int used =
        snprintf(text, LINE_BYTES, "loss %.4f  %.*f%s tokens/s  %s left", train->loss, speed < 9999.5 ? 0 : 1,
                 speed < 9999.5 ? speed : speed / 1000, speed < 9999.5 ? "" : "k", left);
    if (runs_left == 0 || train->step >= train->steps || used < 0)
        return;
    double per_run = train->seconds_left * (double)train->steps / (double)(train->steps - train->step);
    progress_time(train->seconds_left + runs_left * per_run, all);
    snprintf(text + used, LINE_BYTES - (size_t)used, "  %s in all", all);
}

int terminal_columns(FILE *file, int otherwise)
{
    struct winsize size;
    return ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

static void draw_bar(const char *label, const char *numbers, const struct train_progress *train)
{
    char steps[64], bar[MAX_BAR + 1] = "";
    snprintf(steps, sizeof steps, "%lld/%lld", (long long)train->step, (long long)train->steps);
    int columns = terminal_columns(stderr, DEFAULT_COLUMNS) - 1;
    /* "label [bar] steps  numbers" */
    int room = columns - (int)(strlen(label) + strlen(steps) + strlen(numbers)) - 6;
    int width = room < MAX_BAR ? room : MAX_BAR;
    if (width >= MIN_BAR) {
        int full = (int)((double)train->step / (double)train->steps * width);
        for (int i = 0; i < width; i++)
            bar[i] = i < full ? '#' : '.';
        bar[width] = 0;
    }
    char line[2 * LINE_BYTES];
    snprintf(line, sizeof line, "%s%s%s%s%s%s  %s", label, label[0] ? " " : "", bar[0] ? "[" : "", bar,
             bar[0] ? "] " : "", steps, numbers);
    fprintf(stderr, "\r\033[K%.*s", columns, line);
}

static void note_evaluation(struct progress *progress, const char *label, const struct train_progress *train)
{
    const struct evaluation *evaluation = train->evaluation;
    char correct[64] = "";
    if (evaluation->problems > 0)
        snprintf(correct, sizeof correct, "%lld of %lld correct, ", (long long)evaluation->correct,
                 (long long)evaluation->problems);
    if (evaluation->labels.examples > 0) {
        const struct label_scores *labels = &evaluation->labels;
        progress_note(progress, "%s%sstep %lld: %s %.4f, validation loss %.4f", label, label[0] ? ": " : "",
                      (long long)train->step, label_score_titles[labels->decides],
                      labels->values[labels->decides], evaluation->loss);
        return;
    }
    if (evaluation->test.translated > 0)
        snprintf(correct, sizeof correct, "BLEU %.2f, of the test set %.2f, ", evaluation->bleu,
                 evaluation->test.bleu);
    else if (evaluation->translated > 0)
        snprintf(correct, sizeof correct, "BLEU %.2f, ", evaluation->bleu);
    progress_note(progress, "%s%sstep %lld: %svalidation loss %.4f, %.1f%% of tokens correct", label,
                  label[0] ? ": " : "", (long long)train->step, correct, evaluation->loss,
                  100 * evaluation->accuracy);
}

/* Whether it is time for another bar or line. */
static bool is_time(struct progress *progress)
{
    double time = rotary_clock();
    if (time - progress->last < (progress->terminal ? seconds_between_bars : seconds_between_lines))
        return false;
    progress->last = time;
    return true;
}

static bool is_due(struct progress *progress, const struct train_progress *train)
{
    return train->tokens_per_second > 0 && is_time(progress);
}

/* On a terminal in place of the bar. */
static void show_text(struct progress *progress, const char *line)
{
    if (progress->terminal)
        fprintf(stderr, "\r\033[K%.*s", terminal_columns(stderr, DEFAULT_COLUMNS) - 1, line);
    else
        fprintf(stderr, "%s\n", line);
    progress->drawn = progress->terminal;
    fflush(stderr);
}

static void note(struct progress *progress, const char *label, const struct train_progress *train)
{
    if (train->remark)
        progress_note(progress, "%s%s%s", label, label[0] ? ": " : "", train->remark);
    if (train->evaluation)
        note_evaluation(progress, label, train);
}

void progress_step_of_many(struct progress *progress, const char *label, const struct train_progress *train,
                           const char *line)
{
    note(progress, label, train);
    if (!is_due(progress, train))
        return;
    show_text(progress, line);
}

void progress_step(struct progress *progress, const char *label, int runs_left,
                   const struct train_progress *train)
{
    note(progress, label, train);
    if (!is_due(progress, train))
        return;
    char numbers[LINE_BYTES];
    describe(numbers, runs_left, train);
    if (progress->terminal) {
        draw_bar(label, numbers, train);
        progress->drawn = true;
    } else
        fprintf(stderr, "%s%sstep %lld of %lld  %s\n", label, label[0] ? ": " : "", (long long)train->step,
                (long long)train->steps, numbers);
    fflush(stderr);
}

__attribute__((format(printf, 2, 0))) static void show_line(struct progress *progress, const char *format,
                                                            va_list arguments)
{
    char line[LINE_BYTES];
    vsnprintf(line, sizeof line, format, arguments);
    show_text(progress, line);
}

void progress_show(struct progress *progress, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (progress->terminal)
        show_line(progress, format, arguments);
    va_end(arguments);
}

void progress_at_times(struct progress *progress, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (is_time(progress))
        show_line(progress, format, arguments);
    va_end(arguments);
}

void progress_note(struct progress *progress, const char *format, ...)
{
    clear(progress);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    clear(progress);
    fflush(stderr);
}
