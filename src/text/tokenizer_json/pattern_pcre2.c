/* SPDX-License-Identifier: Apache-2.0
 *
 * The one file that includes PCRE2.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/fail.h"
#include "text/tokenizer_json/pattern.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* Limits of a search are kibibytes of memory for backtracking, and its steps: so many, and more for each
 * byte, since "\s*\n" goes back over all spaces of a text that has no line feed. */
enum { MAX_HEAP_KIB = 64 << 10, MIN_STEPS = 1 << 20, STEPS_PER_BYTE = 16, MAX_EXPRESSION_BYTES = 1 << 14 };

/* From 10.40 on the name of a script alone is Script_Extensions, and there is this prefix for Script. */
#if PCRE2_MAJOR > 10 || PCRE2_MINOR >= 40
static const char script_prefix[] = "sc:";
#else
static const char script_prefix[] = "";
#endif

struct pattern {
    pcre2_code *code;
};

struct pattern_search {
    const struct pattern *pattern;
    pcre2_match_data *data;
    pcre2_match_context *context;
};

static rotary_status compile(struct pattern *pattern, const char *expression, const char *translated,
                             rotary_error *error)
{
    int number;
    PCRE2_SIZE at;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        return rotary_fail_memory(error, "for a regular expression");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pattern->code = pcre2_compile((PCRE2_SPTR)translated, PCRE2_ZERO_TERMINATED,
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &number,
                                  &at, context);
    pcre2_compile_context_free(context);
    if (pattern->code)
        return ROTARY_OK;
    PCRE2_UCHAR reason[160] = "";
    pcre2_get_error_message(number, reason, sizeof reason);
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the regular expression \"%.80s\" is invalid: %s",
                       expression, (const char *)reason);
}

static rotary_status prepare(struct pattern *pattern, const char *expression, rotary_error *error)
{
    uint32_t matches_empty = 0;
    pcre2_pattern_info(pattern->code, PCRE2_INFO_MATCHEMPTY, &matches_empty);
    if (matches_empty)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the regular expression \"%.80s\" matches the empty text, which splits nothing",
                           expression);
    (void)pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE); /* where it cannot, it is slower */
    return ROTARY_OK;
}

rotary_status pattern_create(struct pattern **pattern, const char *expression, rotary_error *error)
{
    char *translated;
    if (strlen(expression) > MAX_EXPRESSION_BYTES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a regular expression has %zu bytes, wanted at most %d", strlen(expression),
                           (int)MAX_EXPRESSION_BYTES);
    rotary_status status = pattern_translate(expression, script_prefix, &translated, error);
    if (status != ROTARY_OK)
        return status;
    struct pattern *made = calloc(1, sizeof *made);
    status = made ? compile(made, expression, translated, error)
                  : rotary_fail_memory(error, "for a regular expression");
    free(translated);
    if (status == ROTARY_OK)
        status = prepare(made, expression, error);
    if (status == ROTARY_OK)
        *pattern = made;
    else
        pattern_destroy(made);
    return status;
}

void pattern_destroy(struct pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    free(pattern);
}

struct pattern_search *pattern_search_create(const struct pattern *pattern)
{
    struct pattern_search *search = malloc(sizeof *search);
    if (!search)
        return NULL;
    *search = (struct pattern_search){pattern, pcre2_match_data_create_from_pattern(pattern->code, NULL),
                                      pcre2_match_context_create(NULL)};
    if (!search->data || !search->context) {
        pattern_search_destroy(search);
        return NULL;
    }
    pcre2_set_heap_limit(search->context, MAX_HEAP_KIB);
    return search;
}

void pattern_search_destroy(struct pattern_search *search)
{
    if (!search)
        return;
    pcre2_match_data_free(search->data);
    pcre2_match_context_free(search->context);
    free(search);
}

static uint32_t max_steps(int64_t bytes)
{
    return bytes < (UINT32_MAX - MIN_STEPS) / STEPS_PER_BYTE ? MIN_STEPS + STEPS_PER_BYTE * (uint32_t)bytes
                                                             : UINT32_MAX;
}

static int match(struct pattern_search *search, const char *text, int64_t bytes, int64_t from,
                 uint32_t options)
{
    return pcre2_match(search->pattern->code, (PCRE2_SPTR)text, (size_t)bytes, (size_t)from,
                       options | PCRE2_NO_UTF_CHECK, search->data, search->context);
}

rotary_status pattern_find(struct pattern_search *search, const char *text, int64_t bytes, int64_t from,
                           int64_t *begin, int64_t *end, rotary_error *error)
{
    pcre2_set_match_limit(search->context, max_steps(bytes));
    int found = match(search, text, bytes, from, 0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter takes its memory from the heap */
        found = match(search, text, bytes, from, PCRE2_NO_JIT);
    *begin = *end = -1;
    if (found == PCRE2_ERROR_NOMATCH)
        return ROTARY_OK;
    if (found < 0) {
        PCRE2_UCHAR reason[160] = "";
        pcre2_get_error_message(found, reason, sizeof reason);
        return rotary_fail(error, ROTARY_UNSUPPORTED, "the text cannot be split: %s", (const char *)reason);
    }
    const PCRE2_SIZE *range = pcre2_get_ovector_pointer(search->data);
    *begin = (int64_t)range[0];
    *end = (int64_t)range[1];
    return ROTARY_OK;
}

const char *pattern_library(char text[PATTERN_LIBRARY_BYTES])
{
    char version[64] = ""; /* "10.42 2022-12-11" */
    if (pcre2_config(PCRE2_CONFIG_VERSION, NULL) <= (int)sizeof version)
        pcre2_config(PCRE2_CONFIG_VERSION, version);
    size_t length = strcspn(version, " ");
    length = length < PATTERN_LIBRARY_BYTES ? length : PATTERN_LIBRARY_BYTES - 1;
    memcpy(text, version, length);
    text[length] = '\0';
    return text;
}
