/* SPDX-License-Identifier: Apache-2.0 */
#include "task/german.h"

#include <stdio.h>
#include <string.h>

static bool ends_with(const char *word, const char *ending)
{
    size_t length = strlen(word), count = strlen(ending);
    return length >= count && strcmp(word + length - count, ending) == 0;
}

static bool ends_with_any(const char *word, const char *const *endings)
{
    for (; *endings; endings++)
        if (ends_with(word, *endings))
            return true;
    return false;
}

/* Umlauts are two bytes, of which the first is 0xc3, as that of ß. */
static bool is_vowel(const char *at)
{
    const unsigned char first = (unsigned char)at[0], second = (unsigned char)at[1];
    return first == 0xc3 ? second != 0x9f : first != 0 && strchr("aeiouyAEIOUY", first) != NULL;
}

static int syllables(const char *word)
{
    int count = 0;
    bool inside = false;
    for (const char *at = word; *at; at += (unsigned char)*at == 0xc3 ? 2 : 1) {
        const bool vowel = is_vowel(at);
        count += vowel && !inside;
        inside = vowel;
    }
    return count;
}

/* ---- nouns ---- */

static void strong_genitive(char form[FORM_BYTES], const char *word)
{
    static const char *const hisses[] = {"s", "ß", "x", "z", "sch", NULL};
    static const char *const bare[] = {"a", "e", "i", "o", "u", "h", NULL};
    const char *ending = ends_with(word, "nis")        ? "ses"
                         : ends_with_any(word, hisses) ? "es"
                         : syllables(word) == 1 && (!ends_with_any(word, bare) || ends_with(word, "ch"))
                             ? "es"
                             : "s";
    snprintf(form, FORM_BYTES, "%s%s", word, ending);
}

static void simple_noun(char form[FORM_BYTES], const struct noun *noun, const struct agreement *agreement)
{
    const enum grammatical_case inflected = agreement->inflected;
    if (agreement->plural) {
        const bool adds =
            inflected == DATIVE_CASE && !ends_with(noun->plural, "n") && !ends_with(noun->plural, "s");
        snprintf(form, FORM_BYTES, "%s%s", noun->plural, adds ? "n" : "");
        return;
    }
    if (inflected != NOMINATIVE_CASE && noun->oblique)
        snprintf(form, FORM_BYTES, "%s", noun->oblique);
    else if (inflected == GENITIVE_CASE && noun->genitive)
        snprintf(form, FORM_BYTES, "%s", noun->genitive);
    else if (inflected == GENITIVE_CASE && noun->gender != FEMININE)
        strong_genitive(form, noun->german);
    else
        snprintf(form, FORM_BYTES, "%s", noun->german);
}

/* Makes the first letter small. */
static void lower_first(char *word)
{
    if ((unsigned char)word[0] == 0xc3)
        word[1] = (char)((unsigned char)word[1] | 0x20);
    else
        word[0] = (char)(word[0] | 0x20);
}

void german_noun(char form[FORM_BYTES], const struct noun *noun, const struct compound *compound,
                 const struct agreement *agreement)
{
    char head[FORM_BYTES];
    simple_noun(head, noun, agreement);
    if (compound)
        lower_first(head);
    const int room = FORM_BYTES / 2 - 1; /* no word is that long */
    snprintf(form, FORM_BYTES, "%.*s%.*s", room, compound ? compound->german : "", room, head);
}

/* ---- articles and adjectives ---- */

/* Rows: masculine, feminine, neuter, plural. */
typedef const char *const ending_table[4][4];

static const char *ending(ending_table table, const struct agreement *agreement)
{
    return table[agreement->plural ? 3 : agreement->gender][agreement->inflected];
}

const char *german_definite(const struct agreement *agreement)
{
    static ending_table table = {{"der", "den", "dem", "des"},
                                 {"die", "die", "der", "der"},
                                 {"das", "das", "dem", "des"},
                                 {"die", "die", "den", "der"}};
    return ending(table, agreement);
}

static ending_table endings_of_der = {
    {"er", "en", "em", "es"}, {"e", "e", "er", "er"}, {"es", "es", "em", "es"}, {"e", "e", "en", "er"}};

void german_ein(char form[FORM_BYTES], const char *stem, const struct agreement *agreement)
{
    const bool bare = !agreement->plural &&
                      (agreement->inflected == NOMINATIVE_CASE ||
                       (agreement->inflected == ACCUSATIVE_CASE && agreement->gender == NEUTER)) &&
                      agreement->gender != FEMININE;
    snprintf(form, FORM_BYTES, "%s%s", stem, bare ? "" : ending(endings_of_der, agreement));
}

void german_dieser(char form[FORM_BYTES], const char *stem, const struct agreement *agreement)
{
    snprintf(form, FORM_BYTES, "%s%s", stem, ending(endings_of_der, agreement));
}

void german_adjective(char form[FORM_BYTES], const struct adjective *adjective, enum declension declension,
                      const struct agreement *agreement)
{
    static ending_table weak = {
        {"e", "en", "en", "en"}, {"e", "e", "en", "en"}, {"e", "e", "en", "en"}, {"en", "en", "en", "en"}};
    static ending_table mixed = {
        {"er", "en", "en", "en"}, {"e", "e", "en", "en"}, {"es", "es", "en", "en"}, {"en", "en", "en", "en"}};
    static ending_table strong = {
        {"er", "en", "em", "en"}, {"e", "e", "er", "er"}, {"es", "es", "em", "en"}, {"e", "e", "en", "er"}};
    const char *added = declension == WEAK_DECLENSION    ? ending(weak, agreement)
                        : declension == MIXED_DECLENSION ? ending(mixed, agreement)
                                                         : ending(strong, agreement);
    snprintf(form, FORM_BYTES, "%s%s", adjective->stem ? adjective->stem : adjective->german, added);
}

const char *german_contraction(const char *preposition, const char *article)
{
    static const char *const rows[][3] = {{"in", "dem", "im"},  {"an", "dem", "am"},   {"zu", "dem", "zum"},
                                          {"zu", "der", "zur"}, {"von", "dem", "vom"}, {"bei", "dem", "beim"},
                                          {"in", "das", "ins"}, {"an", "das", "ans"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(preposition, rows[i][0]) == 0 && strcmp(article, rows[i][1]) == 0)
            return rows[i][2];
    return NULL;
}

/* ---- verbs ---- */

/* The infinitive without a separable prefix. */
static const char *base_of(const struct verb *verb)
{
    const char *bar = strchr(verb->german, '|');
    return bar ? bar + 1 : verb->german;
}

/* "spiel" of "spielen", "sammel" of "sammeln". */
static void stem_of(char stem[FORM_BYTES], const struct verb *verb)
{
    const char *base = base_of(verb);
    const size_t length = strlen(base), ending = ends_with(base, "eln") || ends_with(base, "ern") ? 1 : 2;
    snprintf(stem, FORM_BYTES, "%.*s", (int)(length - ending), base);
}

/* Whether an e is put before t: arbeitet, öffnet, atmet, but lernt, warnt, wohnt. */
static bool wants_e(const char *stem)
{
    const size_t length = strlen(stem);
    if (ends_with(stem, "t") || ends_with(stem, "d"))
        return true;
    if (length < 2 || (!ends_with(stem, "n") && !ends_with(stem, "m")))
        return false;
    const char before = stem[length - 2];
    if (before == 'h' && length > 2 && stem[length - 3] == 'c') /* zeichnet */
        return true;
    return strchr("aeioulrhmn", before) == NULL && (unsigned char)before < 0x80;
}

static void present(char form[FORM_BYTES], const struct verb *verb, enum person person)
{
    char stem[FORM_BYTES];
    stem_of(stem, verb);
    const int room = FORM_BYTES - 4;
    if (person == PLURAL_PERSON)
        snprintf(form, FORM_BYTES, "%s", base_of(verb));
    else if (person == THIRD_PERSON && verb->third)
        snprintf(form, FORM_BYTES, "%s", verb->third);
    else if (person == THIRD_PERSON)
        snprintf(form, FORM_BYTES, "%.*s%s", room, stem, wants_e(stem) ? "et" : "t");
    else if (verb->third && !ends_with(verb->third, "t")) /* ich weiß, ich mag */
        snprintf(form, FORM_BYTES, "%s", verb->third);
    else if (ends_with(base_of(verb), "eln")) /* ich sammle */
        snprintf(form, FORM_BYTES, "%.*sle", (int)strlen(stem) - 2, stem);
    else
        snprintf(form, FORM_BYTES, "%.*se", room, stem);
}

void german_finite(char form[FORM_BYTES], const struct verb *verb, bool preterite, enum person person)
{
    if (!preterite) {
        present(form, verb, person);
        return;
    }
    char stem[FORM_BYTES], past[FORM_BYTES];
    stem_of(stem, verb);
    if (verb->preterite)
        snprintf(past, sizeof past, "%s", verb->preterite);
    else
        snprintf(past, sizeof past, "%.*s%s", FORM_BYTES - 4, stem, wants_e(stem) ? "ete" : "te");
    const char *added = person != PLURAL_PERSON ? "" : ends_with(past, "e") ? "n" : "en";
    snprintf(form, FORM_BYTES, "%.*s%s", FORM_BYTES - 3, past, added);
}

void german_prefix(char form[FORM_BYTES], const struct verb *verb)
{
    const char *bar = strchr(verb->german, '|');
    snprintf(form, FORM_BYTES, "%.*s", bar ? (int)(bar - verb->german) : 0, verb->german);
}

void german_infinitive(char form[FORM_BYTES], const struct verb *verb, bool zu)
{
    char prefix[FORM_BYTES];
    german_prefix(prefix, verb);
    snprintf(form, FORM_BYTES, "%.*s%s%s", FORM_BYTES / 2, prefix,
             !zu         ? ""
             : prefix[0] ? "zu"
                         : "zu ",
             base_of(verb));
}

void german_participle(char form[FORM_BYTES], const struct verb *verb)
{
    static const char *const fixed[] = {"be", "er", "ver", "ent", "zer", "ge", NULL};
    char prefix[FORM_BYTES], stem[FORM_BYTES];
    german_prefix(prefix, verb);
    stem_of(stem, verb);
    if (verb->participle) {
        snprintf(form, FORM_BYTES, "%.*s%s", FORM_BYTES / 2, prefix, verb->participle);
        return;
    }
    bool ge = !ends_with(base_of(verb), "ieren");
    for (int i = 0; fixed[i]; i++)
        ge = ge && (strncmp(stem, fixed[i], strlen(fixed[i])) != 0 || syllables(stem) == 1);
    snprintf(form, FORM_BYTES, "%.*s%s%.*s%s", FORM_BYTES / 4, prefix, ge ? "ge" : "", FORM_BYTES / 2, stem,
             wants_e(stem) ? "et" : "t");
}

const char *german_auxiliary(enum german_auxiliary auxiliary, bool preterite, enum person person)
{
    static const char *const forms[][2][3] = {
        [HABEN] = {{"habe", "hat", "haben"}, {"hatte", "hatte", "hatten"}},
        [SEIN] = {{"bin", "ist", "sind"}, {"war", "war", "waren"}},
        [WERDEN] = {{"werde", "wird", "werden"}, {"wurde", "wurde", "wurden"}},
        [KOENNEN] = {{"kann", "kann", "können"}, {"konnte", "konnte", "konnten"}},
        [MUESSEN] = {{"muss", "muss", "müssen"}, {"musste", "musste", "mussten"}},
        [WOLLEN] = {{"will", "will", "wollen"}, {"wollte", "wollte", "wollten"}},
        [SOLLEN] = {{"soll", "soll", "sollen"}, {"sollte", "sollte", "sollten"}},
        [DUERFEN] = {{"darf", "darf", "dürfen"}, {"durfte", "durfte", "durften"}},
        [MOECHTEN] = {{"möchte", "möchte", "möchten"}, {"wollte", "wollte", "wollten"}},
    };
    return forms[auxiliary][preterite][person];
}
