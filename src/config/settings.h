/* SPDX-License-Identifier: Apache-2.0
 *
 * A configuration is a C struct and a table that says which key fills which member. The table is used to read
 * it from JSON, to write it, for --set key=value, to check ranges, and to suggest the nearest key for an
 * unknown one. The options of a command are a struct and such a table too (cli/arguments.h).
 *
 * Objects and lists are parsed where they are read, and never change after. The struct is an owner of each:
 * a copy by assignment borrows them, and settings_share makes it an owner too.
 */
#ifndef ROTARY_CONFIG_SETTINGS_H
#define ROTARY_CONFIG_SETTINGS_H

#include <jansson.h>
#include <rotary/status.h>
#include <stdatomic.h>

/* What a value is, and the member that it fills in a configuration. (In a command's options: see
 * cli/arguments.h.) */
enum setting_type {
    SETTING_INTEGER, /* int64_t */
    SETTING_REAL,    /* double */
    SETTING_BOOLEAN, /* bool */
    SETTING_CHOICE,  /* int: index into `choices` */
    SETTING_TEXT,    /* char[SETTING_TEXT_BYTES] */
    SETTING_LIST,    /* of texts; of options only */
    /* Only configurations have these: */
    SETTING_OBJECT, /* json_t *: an object; NULL for null */
    SETTING_ARRAY,  /* json_t *: a list; NULL for null */
};

enum { SETTING_TEXT_BYTES = 256 };

/* What an object describes that stands in the place of a choice: the first member of a struct that is made
 * where the object is read. It never changes; the structs that own it are counted. */
struct setting_description {
    json_t *json; /* the object, owned */
    atomic_int owners;
    void (*destroy)(struct setting_description *description); /* frees the struct, `json` too */
};

struct setting {
    const char *name; /* "steps", a key of JSON and --set; or "--steps", an option */
    enum setting_type type;
    size_t offset;              /* of the member */
    double min, max;            /* inclusive; of integers and reals */
    const char *const *choices; /* NULL-terminated names of a SETTING_CHOICE */
    bool chooses;               /* the first of them is no value of its own, but chooses one of the others */
    const char *help;           /* one phrase: what it is, in which unit */
    const char *metavar;        /* placeholder of an option's value in its help: "N"; NULL: a flag */
    /* A choice in a configuration may also be an object: what makes the description, with one owner,
     * and the offset of a struct setting_description *, which is NULL unless the index is the number of
     * choices. NULL: it may not. */
    rotary_status (*describe)(const json_t *object, struct setting_description **description,
                              rotary_error *error);
    size_t description;
    /* A choice in a configuration may be written as a text that stands for a value, such as the name of a
     * file; NULL: it may not. The caller releases *value. */
    rotary_status (*stands_for)(const char *text, json_t **value, rotary_error *error);
    const char *const *standing; /* NULL-terminated texts that it takes and messages name; NULL: none */
};

/* A table and the struct it describes. A whole configuration is a few of these over one flat JSON object. */
struct settings {
    const struct setting *table;
    int count;
    void *structure;
};

/* Sets every member whose key `object` has; leaves the others alone. A key in none of the tables, a wrong
 * type, a value out of range or a choice that does not exist is ROTARY_INVALID_ARGUMENT and says key, value,
 * what was wanted, and for names the nearest valid one. `where` names the source of the object in such
 * sentences (a path, "--set"). */
ROTARY_CHECKED rotary_status settings_read(const struct settings *settings, int count, const json_t *object,
                                           const char *where, rotary_error *error);
/* Sets the member of a key to what a person writes: JSON, or a name or a text without quotes, or a number in
 * C's notation (.5), or what `stands_for` takes. Errors as those of settings_read. */
ROTARY_CHECKED rotary_status settings_set(const struct settings *settings, int count, const char *where,
                                          const char *key, const char *text, rotary_error *error);
/* The same of "key=value"; `where` is "--set". */
ROTARY_CHECKED rotary_status settings_assign(const struct settings *settings, int count,
                                             const char *assignment, rotary_error *error);
/* The key of an assignment that settings_assign took: "steps" of "steps=5". */
void settings_assigned_key(char key[SETTING_TEXT_BYTES], const char *assignment);
/* Every key of every table into `object`, in table order. */
ROTARY_CHECKED rotary_status settings_write(const struct settings *settings, int count, json_t *object,
                                            rotary_error *error);
/* Checks every member of every table as settings_read checks values, for a struct that was also filled in by
 * other means. */
ROTARY_CHECKED rotary_status settings_check(const struct settings *settings, int count, const char *where,
                                            rotary_error *error);

/* Makes a struct that was copied by assignment an owner of its objects and lists, beside the other. */
void settings_share(const struct settings *settings, int count);
/* Releases the objects and lists of a struct, which then has none. */
void settings_free(const struct settings *settings, int count);

/* The row whose name is the first `length` bytes of `name`, and its member; NULL if there is none. */
const struct setting *settings_find(const struct settings *settings, int count, const char *name,
                                    size_t length, void **member);
/* The row whose name settings_nearest finds for `name`; NULL if there is none. */
const struct setting *settings_suggest(const struct settings *settings, int count, const char *name);

/* A value that was read, before it is stored in a member. */
struct setting_value {
    int64_t integer; /* also 0 or 1 of a boolean, and the index of a choice, -1 for a name that is none */
    double real;
    const char *text;
    const json_t *json; /* an object or a list, also that of a choice; NULL for null */
};
/* Whether the row's range, choices or length allow the value. */
bool setting_allows(const struct setting *setting, const struct setting_value *value);
/* The index of the choice `name`; -1 if there is none. */
int setting_choice(const struct setting *setting, const char *name);
/* ROTARY_INVALID_ARGUMENT: `where: "steps" is 0, wanted a whole number from 1 to 64`; without `where` (NULL)
 * and quotes, `--steps is ...`. got: the value for the message; text: the value if it is a text, else NULL.
 */
rotary_status setting_refuse(const struct setting *setting, const char *where, const char *got,
                             const char *text, rotary_error *error);

/* The entry of the NULL-terminated `names` that `name` stands for in another program (config/synonyms.h), or else
 * the nearest by edit distance; NULL if none is near. */
const char *settings_nearest(const char *name, const char *const *names);

/* Parts of sentences about a name that is none of `names`; both give `text`. */
enum { SETTINGS_NAMES_BYTES = 320, SETTINGS_HINT_BYTES = 96 };
/* "relu, gelu or swiglu" */
const char *settings_names(const char *const *names, char text[SETTINGS_NAMES_BYTES]);
/* "; did you mean \"gelu\"?"; empty where none is near. */
const char *settings_hint(const char *name, const char *const *names, char text[SETTINGS_HINT_BYTES]);

#endif
