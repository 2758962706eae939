/* SPDX-License-Identifier: Apache-2.0 */
#include "report/comparison_table.h"

#include "file/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Quotes a field that holds what separates fields or rows. */
static void write_field(FILE *stream, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

/* With the fewest digits that are read back exactly; nothing for NaN. */
static void write_number(FILE *stream, double value)
{
    char text[64];
    if (isnan(value))
        return;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, stream);
}

static const char *status_of(const struct record *record)
{
    return record->diverged ? "diverged" : record_finished(record) ? "finished" : "unfinished";
}

/* Exact match and times are of tasks with problems alone. */
static bool has_column(const struct comparison *comparison, int measure)
{
    return comparison->has_problems || !measure_descriptions[measure].of_problems;
}

static void write_head(FILE *stream, const struct comparison *comparison)
{
    fputs("arm,seed,status,step", stream);
    for (int measure = 0; measure < MEASURES; measure++)
        if (has_column(comparison, measure))
            fprintf(stream, ",%s", measure_names[measure]);
    if (comparison->has_problems)
        fputs(",correct,problems,reached_90", stream);
    fputs(",folder\n", stream);
}

static void write_run(FILE *stream, const struct comparison *comparison, const struct record *record)
{
    bool scored = record_finished(record) && !record->diverged;
    write_field(stream, record->arm);
    fprintf(stream, ",%" PRId64 ",%s,%" PRId64, record->seed, status_of(record), record->done);
    for (int measure = 0; measure < MEASURES; measure++) {
        if (!has_column(comparison, measure))
            continue;
        fputc(',', stream);
        write_number(stream, scored ? record_measure(record, (enum measure)measure) : (double)NAN);
    }
    if (comparison->has_problems && scored) {
        const struct record_evaluation *last = record_last_evaluation(record);
        fprintf(stream, ",%" PRId64 ",%" PRId64 ",%d", last->correct, last->problems,
                record_steps_to(record, 0.9) != NOT_REACHED);
    } else if (comparison->has_problems) {
        fputs(",,,", stream);
    }
    fputc(',', stream);
    write_field(stream, record->folder);
    fputc('\n', stream);
}

rotary_status comparison_csv(const struct collection *collection, char **text, rotary_error *error)
{
    struct print print;
    rotary_status status = print_begin(&print, error);
    if (status != ROTARY_OK)
        return status;
    write_head(print.stream, collection->comparison);
    for (int i = 0; i < collection->record_count; i++)
        write_run(print.stream, collection->comparison, &collection->records[i]);
    status = print_end(&print, error);
    *text = print.text;
    return status;
}
