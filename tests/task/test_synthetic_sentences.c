/* SPDX-License-Identifier: Apache-2.0
 *
 * The synthetic German-English corpus: forms of words against a grammar's tables, sentences with every rule
 * of word order, one translation of each sentence, and splits that share nothing.
 */
#include "support/check.h"
#include "task/text/synthetic_grammar.h"
#include "task/text/synthetic_sentences.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words of the lexicon ---- */

/* The first row of a table whose string `member` is the one wanted. */
#define FIND(found, table, count, member, wanted)                                                            \
    do {                                                                                                     \
        found = NULL;                                                                                        \
        for (int row = 0; row < (count) && !found; row++)                                                    \
            if (strcmp((table)[row].member, (wanted)) == 0)                                                  \
                found = &(table)[row];                                                                       \
        check_about("the word %s", (wanted));                                                                \
        if (!CHECK((found) != NULL))                                                                         \
            exit(1);                                                                                         \
    } while (0)

/* A phrase of a determiner, an adjective ("": none) and a noun, in German. */
static struct phrase phrase_of(const char *determiner, const char *adjective, const char *noun, bool plural)
{
    struct phrase phrase = {.plural = plural};
    FIND(phrase.determiner, synthetic_determiners, DETERMINERS, german, determiner);
    FIND(phrase.noun, synthetic_nouns, NOUNS, german, noun);
    if (adjective[0])
        FIND(phrase.adjective, synthetic_adjectives, ADJECTIVES, german, adjective);
    return phrase;
}

static struct phrase pronoun_of(const char *english)
{
    struct phrase phrase = {.plural = false};
    FIND(phrase.pronoun, synthetic_pronouns, PRONOUNS, english, english);
    return phrase;
}

/* A clause with the first verb of a participle: "geholt" is that of abholen. */
static struct clause clause_of(struct phrase subject, const char *participle)
{
    struct clause clause = {.phrases = {[SUBJECT] = subject}};
    FIND(clause.verb, synthetic_verbs, VERBS, participle, participle);
    return clause;
}

static void set_time(struct clause *clause, const char *german)
{
    FIND(clause->time, synthetic_times, TIMES, german, german);
}

static void set_place(struct clause *clause, const char *english, struct phrase place)
{
    FIND(clause->preposition, synthetic_prepositions, PREPOSITIONS, english, english);
    clause->phrases[PLACE_PART] = place;
}

static void set_modal(struct clause *clause, const char *english)
{
    FIND(clause->modal, synthetic_auxiliaries, AUXILIARIES, english, english);
}

static void check_sentences(const struct meaning *meaning, const char *german, const char *english)
{
    struct sentence said;
    check_about("%s", german);
    german_sentence(&said, meaning);
    CHECK_TEXT(said.text, german);
    english_sentence(&said, meaning, false);
    CHECK_TEXT(said.text, english);
    check_about("%s", "");
}

/* ---- forms ---- */

/* Phrases in the nominative, the accusative and the dative, as a grammar has them. */
static const struct {
    const char *determiner, *adjective, *noun;
    bool plural;
    const char *forms[3], *english;
} declined[] = {
    {"d", "alt", "Mann", false, {"der alte Mann", "den alten Mann", "dem alten Mann"}, "the old man"},
    {"d", "jung", "Frau", false, {"die junge Frau", "die junge Frau", "der jungen Frau"}, "the young woman"},
    {"d",
     "klein",
     "Kind",
     false,
     {"das kleine Kind", "das kleine Kind", "dem kleinen Kind"},
     "the small child"},
    {"d",
     "klein",
     "Kind",
     true,
     {"die kleinen Kinder", "die kleinen Kinder", "den kleinen Kindern"},
     "the small children"},
    {"ein",
     "groß",
     "Hund",
     false,
     {"ein großer Hund", "einen großen Hund", "einem großen Hund"},
     "a big dog"},
    {"ein", "alt", "Katze", false, {"eine alte Katze", "eine alte Katze", "einer alten Katze"}, "an old cat"},
    {"ein",
     "schnell",
     "Pferd",
     false,
     {"ein schnelles Pferd", "ein schnelles Pferd", "einem schnellen Pferd"},
     "a fast horse"},
    {"kein",
     "rot",
     "Auto",
     true,
     {"keine roten Autos", "keine roten Autos", "keinen roten Autos"},
     "no red cars"},
    {"dies",
     "stark",
     "Junge",
     false,
     {"dieser starke Junge", "diesen starken Jungen", "diesem starken Jungen"},
     "this strong boy"},
    {"dies", "", "Zug", true, {"diese Züge", "diese Züge", "diesen Zügen"}, "these trains"},
    {"unser",
     "reich",
     "Lehrer",
     true,
     {"unsere reichen Lehrer", "unsere reichen Lehrer", "unseren reichen Lehrern"},
     "our rich teachers"},
    {"unser",
     "krank",
     "Mädchen",
     false,
     {"unser krankes Mädchen", "unser krankes Mädchen", "unserem kranken Mädchen"},
     "our ill girl"},
    {"mein", "", "Bär", false, {"mein Bär", "meinen Bären", "meinem Bären"}, "my bear"},
    {"jed",
     "traurig",
     "Student",
     false,
     {"jeder traurige Student", "jeden traurigen Studenten", "jedem traurigen Studenten"},
     "every sad student"},
    {"all",
     "weiß",
     "Kuh",
     true,
     {"alle weißen Kühe", "alle weißen Kühe", "allen weißen Kühen"},
     "all white cows"},
    {"zwei",
     "klein",
     "Maus",
     true,
     {"zwei kleine Mäuse", "zwei kleine Mäuse", "zwei kleinen Mäusen"},
     "two small mice"},
    {"", "grün", "Auto", true, {"grüne Autos", "grüne Autos", "grünen Autos"}, "green cars"},
};

/* The phrase is what is heard, then what is followed. */
static void test_phrases(void)
{
    for (size_t i = 0; i < sizeof declined / sizeof declined[0]; i++) {
        const struct phrase phrase =
            phrase_of(declined[i].determiner, declined[i].adjective, declined[i].noun, declined[i].plural);
        char german[128], english[128];
        struct meaning meaning = {.main = clause_of(pronoun_of("I"), "gehört")};
        meaning.main.phrases[DIRECT_OBJECT] = phrase;
        snprintf(german, sizeof german, "Ich höre %s.", declined[i].forms[ACCUSATIVE]);
        snprintf(english, sizeof english, "I hear %s.", declined[i].english);
        check_sentences(&meaning, german, english);
        meaning.main = clause_of(pronoun_of("we"), "gefolgt");
        meaning.main.phrases[RECIPIENT] = phrase;
        snprintf(german, sizeof german, "Wir folgen %s.", declined[i].forms[DATIVE]);
        snprintf(english, sizeof english, "We follow %s.", declined[i].english);
        check_sentences(&meaning, german, english);
        meaning.main = clause_of(phrase, "gekommen");
        set_time(&meaning.main, "oft");
        meaning.main.front = TIME;
        snprintf(german, sizeof german, "Oft %s %s an.", declined[i].plural ? "kommen" : "kommt",
                 declined[i].forms[NOMINATIVE]);
        snprintf(english, sizeof english, "Often, %s %s.", declined[i].english,
                 declined[i].plural ? "arrive" : "arrives");
        check_sentences(&meaning, german, english);
    }
}

/* A verb with ich, er and sie, in the present, the perfect and with must. */
static void test_verbs(void)
{
    static const struct {
        const char *participle, *pronoun, *german[3], *english[3];
    } rows[] = {
        {"geschlafen",
         "he",
         {"Er schläft", "Er hat geschlafen", "Er muss schlafen"},
         {"He sleeps", "He slept", "He must sleep"}},
        {"geweint",
         "she",
         {"Sie weint", "Sie hat geweint", "Sie muss weinen"},
         {"She cries", "She cried", "She must cry"}},
        {"gespielt",
         "he",
         {"Er spielt", "Er hat gespielt", "Er muss spielen"},
         {"He plays", "He played", "He must play"}},
        {"gefangen",
         "he",
         {"Er fängt", "Er hat gefangen", "Er muss fangen"},
         {"He catches", "He caught", "He must catch"}},
        {"gegangen",
         "he",
         {"Er geht", "Er ist gegangen", "Er muss gehen"},
         {"He goes", "He went", "He must go"}},
        {"gearbeitet",
         "I",
         {"Ich arbeite", "Ich habe gearbeitet", "Ich muss arbeiten"},
         {"I work", "I worked", "I must work"}},
        {"gestanden",
         "I",
         {"Ich stehe auf", "Ich bin aufgestanden", "Ich muss aufstehen"},
         {"I get up", "I got up", "I must get up"}},
        {"gelacht",
         "they",
         {"Sie lachen", "Sie haben gelacht", "Sie müssen lachen"},
         {"They laugh", "They laughed", "They must laugh"}},
        {"geworfen",
         "we",
         {"Wir werfen weg", "Wir haben weggeworfen", "Wir müssen wegwerfen"},
         {"We throw away", "We threw away", "We must throw away"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int tense = 0; tense < 3; tense++) {
            struct meaning meaning = {.main = clause_of(pronoun_of(rows[i].pronoun), rows[i].participle)};
            char german[64], english[64];
            meaning.main.past = tense == 1;
            if (tense == 2)
                set_modal(&meaning.main, "must");
            snprintf(german, sizeof german, "%s.", rows[i].german[tense]);
            snprintf(english, sizeof english, "%s.", rows[i].english[tense]);
            check_sentences(&meaning, german, english);
        }
}

/* ---- sentences ---- */

/* Four objects of one clause, and what stands before its verb. */
static void test_word_order(void)
{
    struct meaning meaning = {.main = clause_of(phrase_of("d", "", "Frau", false), "gezeigt")};
    struct clause *clause = &meaning.main;
    clause->phrases[RECIPIENT] = phrase_of("d", "", "Kind", false);
    clause->phrases[DIRECT_OBJECT] = phrase_of("ein", "rot", "Ball", false);
    set_time(clause, "heute");
    set_place(clause, "in", phrase_of("d", "", "Garten", false));
    check_sentences(&meaning, "Die Frau zeigt heute dem Kind einen roten Ball im Garten.",
                    "The woman shows the child a red ball in the garden today.");
    clause->past = true;
    clause->front = TIME;
    check_sentences(&meaning, "Heute hat die Frau dem Kind einen roten Ball im Garten gezeigt.",
                    "Today, the woman showed the child a red ball in the garden.");
    clause->front = PLACE_PART;
    check_sentences(&meaning, "Im Garten hat die Frau heute dem Kind einen roten Ball gezeigt.",
                    "In the garden, the woman showed the child a red ball today.");
    clause->front = DIRECT_OBJECT;
    clause->past = false;
    set_modal(clause, "will");
    check_sentences(&meaning, "Einen roten Ball wird die Frau heute dem Kind im Garten zeigen.",
                    "The woman will show the child a red ball in the garden today.");
    struct sentence plain;
    clause->front = TIME;
    english_sentence(&plain, &meaning, true);
    CHECK_TEXT(plain.text, "The woman will show the child a red ball in the garden today.");

    *clause = clause_of(phrase_of("d", "alt", "Hund", false), "geholt");
    FIND(clause->phrases[SUBJECT].owner, synthetic_nouns, NOUNS, german, "Mann");
    clause->phrases[DIRECT_OBJECT] = phrase_of("d", "", "Ball", false);
    FIND(clause->phrases[DIRECT_OBJECT].owner, synthetic_nouns, NOUNS, german, "Königin");
    check_sentences(&meaning, "Der alte Hund des Mannes holt den Ball der Königin ab.",
                    "The man's old dog picks up the queen's ball.");
}

static void test_places(void)
{
    static const struct {
        const char *english, *determiner, *noun, *wanted[2];
        bool plural;
    } rows[] = {
        {"into", "d", "Garten", {"in den Garten", "into the garden"}, false},
        {"into", "d", "Dorf", {"ins Dorf", "into the village"}, false},
        {"into", "d", "Stadt", {"in die Stadt", "into the city"}, false},
        {"in", "d", "Dorf", {"im Dorf", "in the village"}, false},
        {"in", "d", "Stadt", {"in der Stadt", "in the city"}, false},
        {"in", "d", "Dorf", {"in den Dörfern", "in the villages"}, true},
        {"in", "dies", "Dorf", {"in diesem Dorf", "in this village"}, false},
        {"to", "d", "Arzt", {"zum Arzt", "to the doctor"}, false},
        {"to", "d", "Schule", {"zur Schule", "to the school"}, false},
        {"to", "ein", "Bauer", {"zu einem Bauern", "to a farmer"}, false},
        {"in front of", "d", "Dorf", {"vor dem Dorf", "in front of the village"}, false},
        {"without", "d", "Vater", {"ohne den Vater", "without the father"}, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct meaning meaning = {.main = clause_of(pronoun_of("they"), "gesprungen")};
        char german[64], english[64];
        set_place(&meaning.main, rows[i].english,
                  phrase_of(rows[i].determiner, "", rows[i].noun, rows[i].plural));
        snprintf(german, sizeof german, "Sie springen %s.", rows[i].wanted[0]);
        snprintf(english, sizeof english, "They jump %s.", rows[i].wanted[1]);
        check_sentences(&meaning, german, english);
    }
}

/* Two clauses: the verb of a subordinate one is last, and what leads takes the place before the main clause's
 * verb. */
static void test_conjunctions(void)
{
    struct meaning meaning = {.main = clause_of(phrase_of("kein", "", "Mann", false), "gelacht"),
                              .second = clause_of(phrase_of("d", "", "Junge", false), "geholt")};
    meaning.second.phrases[DIRECT_OBJECT] = phrase_of("d", "", "Hund", false);
    set_time(&meaning.second, "gestern");
    FIND(meaning.conjunction, synthetic_conjunctions, CONJUNCTIONS, german, "und");
    check_sentences(&meaning, "Kein Mann lacht, und der Junge holt gestern den Hund ab.",
                    "No man laughs, and the boy picks up the dog yesterday.");
    FIND(meaning.conjunction, synthetic_conjunctions, CONJUNCTIONS, german, "weil");
    check_sentences(&meaning, "Kein Mann lacht, weil der Junge gestern den Hund abholt.",
                    "No man laughs because the boy picks up the dog yesterday.");
    meaning.second.past = true;
    check_sentences(&meaning, "Kein Mann lacht, weil der Junge gestern den Hund abgeholt hat.",
                    "No man laughs because the boy picked up the dog yesterday.");
    meaning.second_leads = true;
    check_sentences(&meaning, "Weil der Junge gestern den Hund abgeholt hat, lacht kein Mann.",
                    "Because the boy picked up the dog yesterday, no man laughs.");
    meaning.second.past = false;
    set_modal(&meaning.second, "can");
    set_modal(&meaning.main, "will");
    check_sentences(&meaning, "Weil der Junge gestern den Hund abholen kann, wird kein Mann lachen.",
                    "Because the boy can pick up the dog yesterday, no man will laugh.");
    struct sentence plain;
    english_sentence(&plain, &meaning, true);
    CHECK_TEXT(plain.text, "No man will laugh because the boy can pick up the dog yesterday.");

    meaning = (struct meaning){.main = clause_of(phrase_of("d", "alt", "Mann", false), "gezeigt"),
                               .conjunction = meaning.conjunction,
                               .second = clause_of(pronoun_of("he"), "gelaufen")};
    meaning.main.phrases[DIRECT_OBJECT] = phrase_of("d", "", "Ball", false);
    meaning.main.phrases[RECIPIENT] = phrase_of("d", "", "Kind", false);
    meaning.main.past = true;
    meaning.main.front = DIRECT_OBJECT;
    set_time(&meaning.main, "gestern");
    set_modal(&meaning.second, "must");
    check_sentences(&meaning, "Den Ball hat der alte Mann gestern dem Kind gezeigt, weil er weglaufen muss.",
                    "The old man showed the child the ball yesterday because he must run away.");
}

/* ---- the corpus ---- */

static const int64_t PINNED = 1996588554768918391; /* runs on the corpus depend on its sentences */
enum { TRAINED = 10000, HELD_OUT = 1000, WORDS = TRAINED * SYNTHETIC_MAX_WORDS };

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

static bool is_among(const uint64_t *sorted, int64_t count, uint64_t hash)
{
    return bsearch(&hash, sorted, (size_t)count, sizeof hash, compare_hashes) != NULL;
}

static int64_t count_different(const uint64_t *sorted, int64_t count)
{
    int64_t different = 0;
    for (int64_t i = 0; i < count; i++)
        different += i == 0 || sorted[i] != sorted[i - 1];
    return different;
}

static uint64_t hash_of(const struct sentence *sentence)
{
    return rotary_hash(sentence->text, (uint64_t)sentence->length);
}

/* Nothing that is held out is trained on, in either language. A pair never changes, and has one translation.
 */
static void test_splits(void)
{
    static uint64_t pairs[2 * TRAINED], trained[2][TRAINED];
    for (int64_t i = 0; i < TRAINED; i++) {
        struct sentence said[2];
        synthetic_pair(TASK_TRAINING, i, &said[0], &said[1]);
        for (int side = 0; side < 2; side++) {
            pairs[2 * i + side] = trained[side][i] = hash_of(&said[side]);
            CHECK(said[side].words >= SYNTHETIC_MIN_WORDS && said[side].words <= SYNTHETIC_MAX_WORDS);
        }
    }
    CHECK_INT((int64_t)rotary_hash(pairs, sizeof pairs), PINNED);
    qsort(pairs, TRAINED, 2 * sizeof *pairs, compare_hashes);
    for (int64_t i = 1; i < TRAINED; i++)
        CHECK(pairs[2 * i] != pairs[2 * i - 2] || pairs[2 * i + 1] == pairs[2 * i - 1]);
    for (int side = 0; side < 2; side++) {
        qsort(trained[side], TRAINED, sizeof **trained, compare_hashes);
        CHECK(count_different(trained[side], TRAINED) > TRAINED - 100);
        for (int split = TASK_VALIDATION; split <= TASK_TEST; split++)
            for (int64_t i = 0; i < HELD_OUT; i++) {
                struct sentence said[2];
                synthetic_pair((enum task_split)split, i, &said[0], &said[1]);
                CHECK(!is_among(trained[side], TRAINED, hash_of(&said[side])));
            }
    }
}

/* The lower-case words of one side of the training pairs, as sorted hashes. */
static int64_t words_of(uint64_t *hashes, int side)
{
    int64_t count = 0;
    for (int64_t i = 0; i < TRAINED; i++) {
        struct sentence said[2];
        synthetic_pair(TASK_TRAINING, i, &said[0], &said[1]);
        char *rest = NULL;
        for (char *word = strtok_r(said[side].text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
            if (word[0] >= 'A' && word[0] <= 'Z')
                word[0] = (char)(word[0] + 'a' - 'A');
            hashes[count++] = rotary_hash(word, strcspn(word, ".,"));
        }
    }
    qsort(hashes, (size_t)count, sizeof *hashes, compare_hashes);
    return count;
}

/* Checks that a word of the lexicon, or the first of several words, occurs. */
static void check_word(const uint64_t *hashes, int64_t count, const char *first, const char *second)
{
    char word[64];
    snprintf(word, sizeof word, "%s%s", first, second);
    if (word[0] >= 'A' && word[0] <= 'Z')
        word[0] = (char)(word[0] + 'a' - 'A');
    check_about("the word %s", word);
    CHECK(word[0] == '\0' || is_among(hashes, count, rotary_hash(word, strcspn(word, " "))));
    check_about("%s", "");
}

static void check_german(const uint64_t *hashes, int64_t count)
{
    for (int i = 0; i < NOUNS; i++) {
        check_word(hashes, count, synthetic_nouns[i].german, "");
        check_word(hashes, count, synthetic_nouns[i].plural, "");
    }
    for (int i = 0; i < VERBS; i++) {
        check_word(hashes, count, synthetic_verbs[i].prefix, synthetic_verbs[i].infinitive);
        check_word(hashes, count, synthetic_verbs[i].prefix, synthetic_verbs[i].participle);
        check_word(hashes, count, synthetic_verbs[i].third, "");
        check_word(hashes, count, synthetic_verbs[i].prefix, "");
    }
    for (int i = 0; i < ADJECTIVES; i++)
        check_word(hashes, count, synthetic_adjectives[i].german, "en");
    for (int i = 0; i < AUXILIARIES; i++)
        for (int person = 0; person < 3; person++)
            check_word(hashes, count, synthetic_auxiliaries[i].german[person], "");
    for (int i = 0; i < TIMES; i++)
        check_word(hashes, count, synthetic_times[i].german, "");
    for (int i = 0; i < PREPOSITIONS; i++) {
        check_word(hashes, count, synthetic_prepositions[i].german, "");
        for (int gender = 0; gender < 3; gender++)
            check_word(hashes, count, synthetic_prepositions[i].contracted[gender], "");
    }
    for (int i = 0; i < CONJUNCTIONS; i++)
        check_word(hashes, count, synthetic_conjunctions[i].german, "");
}

static void check_english(const uint64_t *hashes, int64_t count)
{
    for (int i = 0; i < NOUNS; i++) {
        check_word(hashes, count, synthetic_nouns[i].english, "");
        check_word(hashes, count, synthetic_nouns[i].english_plural, "");
    }
    for (int i = 0; i < VERBS; i++) {
        check_word(hashes, count, synthetic_verbs[i].english, "");
        check_word(hashes, count, synthetic_verbs[i].past, "");
        check_word(hashes, count, synthetic_verbs[i].particle, "");
    }
    for (int i = 0; i < ADJECTIVES; i++)
        check_word(hashes, count, synthetic_adjectives[i].english, "");
    for (int i = 0; i < DETERMINERS; i++) {
        check_word(hashes, count, synthetic_determiners[i].english, "");
        check_word(hashes, count, synthetic_determiners[i].english_plural, "");
    }
    for (int i = 0; i < PRONOUNS; i++)
        check_word(hashes, count, synthetic_pronouns[i].english, "");
    for (int i = 0; i < CONJUNCTIONS; i++)
        check_word(hashes, count, synthetic_conjunctions[i].english, "");
}

/* A noun or an adjective stands in its table once, in either language, so that it has one translation. */
static void test_lexicon(void)
{
    static uint64_t hashes[WORDS];
    for (int i = 0; i < NOUNS; i++)
        for (int other = 0; other < i; other++) {
            check_about("the noun %s", synthetic_nouns[i].german);
            CHECK(strcmp(synthetic_nouns[i].german, synthetic_nouns[other].german) != 0);
            CHECK(strcmp(synthetic_nouns[i].english, synthetic_nouns[other].english) != 0);
        }
    for (int i = 0; i < ADJECTIVES; i++)
        for (int other = 0; other < i; other++) {
            check_about("the adjective %s", synthetic_adjectives[i].german);
            CHECK(strcmp(synthetic_adjectives[i].german, synthetic_adjectives[other].german) != 0);
            CHECK(strcmp(synthetic_adjectives[i].english, synthetic_adjectives[other].english) != 0);
        }
    check_about("%s", "");
    int64_t count = words_of(hashes, 0), different = count_different(hashes, count);
    check_german(hashes, count);
    CHECK(different > 450 && different < 550);
    count = words_of(hashes, 1);
    different = count_different(hashes, count);
    check_english(hashes, count);
    CHECK(different > 300 && different < 400);
}

int main(void)
{
    test_phrases();
    test_verbs();
    test_word_order();
    test_places();
    test_conjunctions();
    test_splits();
    test_lexicon();
    return check_report();
}
