/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_json/pre_tokenizer.h"

#include "base/fail.h"
#include "text/tokenizer_json/json_part.h"
#include "text/tokenizer_json/pattern.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

/* What a step finds in a text: places of a pattern, of a literal text, of characters with a property, or runs
 * of characters of one class. */
enum find_kind { FIND_PATTERN, FIND_LITERAL, FIND_CHARACTERS, FIND_RUNS, FIND_NOTHING };

/* What becomes of what is found, and of what is between. */
enum split_behavior { SPLIT_REMOVED, SPLIT_ISOLATED, SPLIT_CONTIGUOUS, SPLIT_WITH_PREVIOUS, SPLIT_WITH_NEXT };

enum prepend { PREPEND_NEVER, PREPEND_FIRST, PREPEND_ALWAYS };

struct split_step {
    enum find_kind find;
    enum split_behavior behavior;
    bool invert; /* what is found is between, and the other way around */
    struct pattern *pattern;
    char *literal;
    bool (*has_property)(uint32_t point);
    /* Before it splits: `mark` replaces spaces if `marks_spaces`, and is put before the text. */
    char mark[8];
    bool marks_spaces;
    enum prepend prepend;
};

struct split_memory {
    struct pattern_search *search; /* NULL: the step has no pattern */
    struct text_buffer text;       /* of a step that changes it */
};

/* GPT-2's (Radford et al., 2019), which ByteLevel has. */
static const char byte_level_expression[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/* ---- finding ---- */

struct splitting {
    const struct pre_tokenizer *pre_tokenizer;
    struct split_memory *memory;
    split_take *take;
    void *context;
};

struct range {
    int64_t begin, end; /* begin is -1: there is none */
};

/* The bytes of the character at `at`; what is none, as a zero byte, is one of a byte. */
static int64_t character_at(const struct token_text *text, int64_t at, uint32_t *point)
{
    int64_t length = utf8_character_bytes(text->bytes + at, text->count - at);
    *point = length > 0 ? utf8_code_point(text->bytes + at, length) : (unsigned char)text->bytes[at];
    return length > 0 ? length : 1;
}

static struct range find_literal(const struct split_step *step, const struct token_text *text, int64_t from)
{
    size_t length = strlen(step->literal);
    const char *found = memmem(text->bytes + from, (size_t)(text->count - from), step->literal, length);
    int64_t begin = found ? found - text->bytes : -1;
    return (struct range){begin, begin + (int64_t)length};
}

static struct range find_character(const struct split_step *step, const struct token_text *text, int64_t from)
{
    for (int64_t at = from, length; at < text->count; at += length) {
        uint32_t point;
        length = character_at(text, at, &point);
        if (step->has_property(point))
            return (struct range){at, at + length};
    }
    return (struct range){-1, -1};
}

enum run_class { RUN_SPACE, RUN_WORD, RUN_OTHER };

static enum run_class class_of(uint32_t point)
{
    return unicode_is_white_space(point) ? RUN_SPACE : unicode_is_word(point) ? RUN_WORD : RUN_OTHER;
}

/* \w+|[^\w\s]+ */
static struct range find_run(const struct token_text *text, int64_t from)
{
    struct range run = {-1, -1};
    enum run_class class = RUN_SPACE;
    for (int64_t at = from, length; at < text->count; at += length) {
        uint32_t point;
        length = character_at(text, at, &point);
        if (run.begin >= 0 && class_of(point) != class)
            break;
        class = class_of(point);
        if (class == RUN_SPACE)
            continue;
        run = (struct range){run.begin < 0 ? at : run.begin, at + length};
    }
    return run;
}

static rotary_status find(const struct split_step *step, struct split_memory *memory,
                          const struct token_text *text, int64_t from, struct range *found,
                          rotary_error *error)
{
    *found = (struct range){-1, -1};
    switch (step->find) {
    case FIND_PATTERN:
        return pattern_find(memory->search, text->bytes, text->count, from, &found->begin, &found->end,
                            error);
    case FIND_LITERAL:
        *found = find_literal(step, text, from);
        break;
    case FIND_CHARACTERS:
        *found = find_character(step, text, from);
        break;
    case FIND_RUNS:
        *found = find_run(text, from);
        break;
    case FIND_NOTHING:
        break;
    }
    return ROTARY_OK;
}

/* ---- splitting ---- */

static rotary_status run_step(struct splitting *splitting, int64_t step, const struct token_text *text,
                              bool first, rotary_error *error);

/* The parts of a text that a step has found, one behind the other, and the one that may still grow. */
struct parts {
    struct splitting *splitting;
    int64_t step;
    const struct token_text *text;
    bool first;
    struct range pending;
    bool is_match, last_is_match; /* of the pending part, and of the last range that it has */
};

static rotary_status emit(struct parts *parts, rotary_error *error)
{
    const struct split_step *step = &parts->splitting->pre_tokenizer->steps[parts->step];
    const struct range range = parts->pending;
    if (range.begin >= range.end || (step->behavior == SPLIT_REMOVED && parts->is_match))
        return ROTARY_OK;
    const struct token_text part = {parts->text->bytes + range.begin, range.end - range.begin};
    return run_step(parts->splitting, parts->step + 1, &part, parts->first && range.begin == 0, error);
}

/* Whether a range is added to the pending part. */
static bool joins(const struct parts *parts, bool is_match)
{
    switch (parts->splitting->pre_tokenizer->steps[parts->step].behavior) {
    case SPLIT_CONTIGUOUS:
        return is_match == parts->last_is_match;
    case SPLIT_WITH_PREVIOUS:
        return is_match && !parts->last_is_match;
    case SPLIT_WITH_NEXT:
        return !is_match && parts->last_is_match;
    case SPLIT_REMOVED:
    case SPLIT_ISOLATED:
        break;
    }
    return false;
}

static rotary_status add_range(struct parts *parts, int64_t begin, int64_t end, bool is_match,
                               rotary_error *error)
{
    bool match = is_match != parts->splitting->pre_tokenizer->steps[parts->step].invert;
    rotary_status status = ROTARY_OK;
    if (begin == end)
        return ROTARY_OK;
    if (parts->pending.end > 0 && joins(parts, match)) {
        parts->pending.end = end;
    } else {
        status = emit(parts, error);
        parts->pending = (struct range){begin, end};
        parts->is_match = match;
    }
    parts->last_is_match = match;
    return status;
}

static rotary_status split(struct splitting *splitting, int64_t step, const struct token_text *text,
                           bool first, rotary_error *error)
{
    struct parts parts = {.splitting = splitting, .step = step, .text = text, .first = first};
    int64_t at = 0;
    while (at < text->count) {
        struct range found;
        rotary_status status =
            find(&splitting->pre_tokenizer->steps[step], &splitting->memory[step], text, at, &found, error);
        if (status == ROTARY_OK)
            status = add_range(&parts, at, found.begin < 0 ? text->count : found.begin, false, error);
        if (status == ROTARY_OK && found.begin >= 0)
            status = add_range(&parts, found.begin, found.end, true, error);
        if (status != ROTARY_OK)
            return status;
        at = found.begin < 0 ? text->count : found.end;
    }
    return emit(&parts, error);
}

/* ---- changing the text ---- */

static bool begins_with(const struct token_text *text, const char *mark)
{
    size_t length = strlen(mark);
    return text->count >= (int64_t)length && memcmp(text->bytes, mark, length) == 0;
}

/* Copies the text to `changed`, with the mark for spaces and before it. A space is also the mark's place. */
static rotary_status change(const struct split_step *step, const struct token_text *text, bool first,
                            struct text_buffer *changed, rotary_error *error)
{
    const int64_t length = (int64_t)strlen(step->mark);
    const bool marked = begins_with(text, step->mark) || (step->marks_spaces && begins_with(text, " "));
    rotary_status status = ROTARY_OK;
    changed->count = 0;
    if (!marked && (step->prepend == PREPEND_ALWAYS || (step->prepend == PREPEND_FIRST && first)))
        status = text_buffer_append(changed, step->mark, length, error);
    if (!step->marks_spaces)
        return status == ROTARY_OK ? text_buffer_append(changed, text->bytes, text->count, error) : status;
    for (int64_t at = 0; at < text->count && status == ROTARY_OK;) {
        const char *space = memchr(text->bytes + at, ' ', (size_t)(text->count - at));
        int64_t end = space ? space - text->bytes : text->count;
        status = text_buffer_append(changed, text->bytes + at, end - at, error);
        if (status == ROTARY_OK && space)
            status = text_buffer_append(changed, step->mark, length, error);
        at = end + 1;
    }
    return status;
}

static rotary_status run_step(struct splitting *splitting, int64_t step, const struct token_text *text,
                              bool first, rotary_error *error)
{
    if (step == splitting->pre_tokenizer->count)
        return splitting->take(splitting->context, text->bytes, text->count, error);
    const struct split_step *now = &splitting->pre_tokenizer->steps[step];
    if (!now->mark[0])
        return split(splitting, step, text, first, error);
    struct text_buffer *changed = &splitting->memory[step].text;
    rotary_status status = change(now, text, first, changed, error);
    const struct token_text marked = {changed->bytes, changed->count};
    return status == ROTARY_OK ? split(splitting, step, &marked, first, error) : status;
}

rotary_status pre_tokenizer_split(const struct pre_tokenizer *pre_tokenizer,
                                  struct split_workspace *workspace, const struct token_text *text,
                                  bool first, split_take *take, void *context, rotary_error *error)
{
    struct splitting splitting = {pre_tokenizer, workspace->steps, take, context};
    return text->count > 0 ? run_step(&splitting, 0, text, first, error) : ROTARY_OK;
}

rotary_status split_workspace_create(struct split_workspace *workspace,
                                     const struct pre_tokenizer *pre_tokenizer, rotary_error *error)
{
    bool done = true;
    *workspace =
        (struct split_workspace){.steps = calloc((size_t)pre_tokenizer->count + 1, sizeof *workspace->steps)};
    while (workspace->steps && done && workspace->count < pre_tokenizer->count) {
        const struct split_step *step = &pre_tokenizer->steps[workspace->count];
        if (step->pattern)
            done = (workspace->steps[workspace->count].search = pattern_search_create(step->pattern)) != NULL;
        workspace->count++;
    }
    return workspace->steps && done ? ROTARY_OK : rotary_fail_memory(error, "to split a text into words");
}

void split_workspace_free(struct split_workspace *workspace)
{
    for (int64_t i = 0; i < workspace->count; i++) {
        pattern_search_destroy(workspace->steps[i].search);
        text_buffer_free(&workspace->steps[i].text);
    }
    free(workspace->steps);
    *workspace = (struct split_workspace){0};
}

/* ---- reading ---- */

static rotary_status read_behavior(struct split_step *step, const struct json_part *part, rotary_error *error)
{
    static const char *const names[] = {"Removed", "Isolated", "Contiguous", "MergedWithPrevious",
                                        "MergedWithNext"};
    const char *name = NULL;
    rotary_status status = json_part_text(part, "behavior", true, &name, error);
    for (int i = 0; status == ROTARY_OK && name && i < (int)(sizeof names / sizeof names[0]); i++)
        if (strcmp(name, names[i]) == 0) {
            step->behavior = (enum split_behavior)i;
            return ROTARY_OK;
        }
    if (status == ROTARY_OK && name)
        status = json_part_fail(part, "behavior",
                                "Removed, Isolated, Contiguous, MergedWithPrevious or MergedWithNext", error);
    return status;
}

static rotary_status read_split(struct split_step *step, const struct json_part *part, rotary_error *error)
{
    const char *literal, *expression;
    rotary_status status = json_part_pattern(part, &literal, &expression, error);
    if (status == ROTARY_OK)
        status = read_behavior(step, part, error);
    if (status == ROTARY_OK)
        status = json_part_flag(part, "invert", &step->invert, error);
    if (status != ROTARY_OK)
        return status;
    if (expression)
        return json_part_compile(part, &step->pattern, expression, error);
    step->find = FIND_LITERAL;
    step->literal = strdup(literal);
    return step->literal ? ROTARY_OK : rotary_fail_memory(error, "to read %s", part->path);
}

static rotary_status read_byte_level(struct split_step *step, const struct json_part *part,
                                     rotary_error *error)
{
    bool prefix = true, splits = true;
    rotary_status status = json_part_flag(part, "add_prefix_space", &prefix, error);
    if (status == ROTARY_OK)
        status = json_part_flag(part, "use_regex", &splits, error);
    if (prefix)
        *step = (struct split_step){.find = step->find, .mark = " ", .prepend = PREPEND_ALWAYS};
    step->behavior = SPLIT_ISOLATED;
    if (!splits)
        step->find = FIND_NOTHING;
    return status == ROTARY_OK && splits
               ? json_part_compile(part, &step->pattern, byte_level_expression, error)
               : status;
}

static rotary_status read_scheme(struct split_step *step, const struct json_part *part, rotary_error *error)
{
    static const char *const names[] = {"never", "first", "always"};
    const char *name = "always";
    bool prefix = true;
    rotary_status status = json_part_text(part, "prepend_scheme", true, &name, error);
    if (status == ROTARY_OK)
        status = json_part_flag(part, "add_prefix_space", &prefix, error);
    if (status != ROTARY_OK)
        return status;
    name = prefix ? name : names[PREPEND_NEVER];
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++)
        if (strcmp(name, names[i]) == 0) {
            step->prepend = (enum prepend)i;
            return ROTARY_OK;
        }
    return json_part_fail(part, "prepend_scheme", "never, first or always", error);
}

static rotary_status read_metaspace(struct split_step *step, const struct json_part *part,
                                    rotary_error *error)
{
    const char *mark = NULL;
    bool splits = true;
    rotary_status status = json_part_text(part, "replacement", false, &mark, error);
    if (status == ROTARY_OK &&
        (!mark[0] || utf8_character_bytes(mark, (int64_t)strlen(mark)) != (int64_t)strlen(mark)))
        status = json_part_fail(part, "replacement", "one character", error);
    if (status == ROTARY_OK)
        status = read_scheme(step, part, error);
    if (status == ROTARY_OK)
        status = json_part_flag(part, "split", &splits, error);
    if (status != ROTARY_OK)
        return status;
    step->marks_spaces = true;
    step->behavior = SPLIT_WITH_NEXT;
    step->find = splits ? FIND_LITERAL : FIND_NOTHING;
    memcpy(step->mark, mark, strlen(mark));
    step->literal = strdup(mark);
    return step->literal ? ROTARY_OK : rotary_fail_memory(error, "to read %s", part->path);
}

static rotary_status read_digits(struct split_step *step, const struct json_part *part, rotary_error *error)
{
    bool individual = false;
    rotary_status status = json_part_flag(part, "individual_digits", &individual, error);
    step->behavior = individual ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS;
    step->has_property = unicode_is_number;
    return status;
}

static bool is_mark(uint32_t point)
{
    return (point < 0x80 && strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", (int)point) && point > 0) ||
           unicode_is_punctuation(point);
}

static rotary_status read_punctuation(struct split_step *step, const struct json_part *part,
                                      rotary_error *error)
{
    step->behavior = SPLIT_ISOLATED;
    step->has_property = is_mark;
    return read_behavior(step, part, error);
}

static rotary_status read_whitespace(struct split_step *step, const struct json_part *part,
                                     rotary_error *error)
{
    (void)part;
    (void)error;
    step->invert = true; /* what is between the runs is removed */
    return ROTARY_OK;
}

static rotary_status read_whitespace_split(struct split_step *step, const struct json_part *part,
                                           rotary_error *error)
{
    (void)part;
    (void)error;
    step->has_property = unicode_is_white_space;
    return ROTARY_OK;
}

static const struct {
    const char *type;
    enum find_kind find;
    rotary_status (*read)(struct split_step *step, const struct json_part *part, rotary_error *error);
} rows[] = {{"ByteLevel", FIND_PATTERN, read_byte_level},
            {"Split", FIND_PATTERN, read_split},
            {"Metaspace", FIND_LITERAL, read_metaspace},
            {"Digits", FIND_CHARACTERS, read_digits},
            {"Punctuation", FIND_CHARACTERS, read_punctuation},
            {"Whitespace", FIND_RUNS, read_whitespace},
            {"WhitespaceSplit", FIND_CHARACTERS, read_whitespace_split}};

static rotary_status read_step(void *context, const struct json_part *part, rotary_error *error)
{
    struct pre_tokenizer *pre_tokenizer = context;
    const char *type = json_part_type(part);
    size_t row = 0, count = sizeof rows / sizeof rows[0];
    while (row < count && strcmp(type, rows[row].type) != 0)
        row++;
    if (row == count)
        return json_part_refuse(part, error);
    if (pre_tokenizer->bytes)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: a %s of type \"%s\" after ByteLevel is not supported",
                           part->path, part->what, type);
    struct split_step *step = &pre_tokenizer->steps[pre_tokenizer->count++];
    step->find = rows[row].find;
    pre_tokenizer->bytes = rows[row].read == read_byte_level;
    rotary_status status = rows[row].read(step, part, error);
    for (int64_t i = 0; i + 1 < pre_tokenizer->count && status == ROTARY_OK && step->mark[0]; i++)
        if (pre_tokenizer->steps[i].mark[0]) /* each would make the parts of the one before longer */
            status =
                rotary_fail(error, ROTARY_BAD_FILE,
                            "%s: a %s of type \"%s\" after another one that marks spaces is not supported",
                            part->path, part->what, type);
    return status;
}

rotary_status pre_tokenizer_read(struct pre_tokenizer *pre_tokenizer, const json_t *object, const char *path,
                                 rotary_error *error)
{
    const struct json_part part = {object, "pre_tokenizer", path};
    *pre_tokenizer = (struct pre_tokenizer){.steps = calloc(JSON_PARTS_MAX, sizeof *pre_tokenizer->steps)};
    if (!pre_tokenizer->steps)
        return rotary_fail_memory(error, "to read %s", path);
    return json_part_each(&part, "pretokenizers", read_step, pre_tokenizer, error);
}

void pre_tokenizer_free(struct pre_tokenizer *pre_tokenizer)
{
    for (int64_t i = 0; i < pre_tokenizer->count; i++) {
        pattern_destroy(pre_tokenizer->steps[i].pattern);
        free(pre_tokenizer->steps[i].literal);
    }
    free(pre_tokenizer->steps);
    *pre_tokenizer = (struct pre_tokenizer){0};
}
