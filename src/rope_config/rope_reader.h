/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of rope_config_parse, and checked values of a configuration: a wrong one is refused by a message
 * with file, key, what was got and what was wanted.
 */
#ifndef ROTARY_ROPE_CONFIG_ROPE_READER_H
#define ROTARY_ROPE_CONFIG_ROPE_READER_H

#include "config/json_fields.h"
#include "rope_config/rope_request.h"

/* Defaults of the layer type, else of the family; 0: none. */
struct rope_defaults {
    double rope_theta, partial_rotary_factor;
    int64_t head_dim;
};

struct rope_reader {
    const char *where; /* the file, for messages */
    const struct rope_config_request *request;
    const json_t *root;
    const json_t *text_config; /* has the sizes of the language model: root or an object in it */
    const json_t
        *parameters; /* of the rotation: an object in text_config, text_config itself, or NULL: none */
    const char *parameters_key;
    bool by_layer_type;     /* layer types have parameters of their own */
    const json_t *shared;   /* what has those of the layer types, and maybe keys beside them; NULL: nothing */
    const char *model_type; /* may be NULL */
    struct rope_family family;
    json_t *family_parameters; /* family.rope_parameters, then those of the layer type; owned; NULL: none */
    struct rope_defaults defaults;
    const char *layer_type; /* the one that is read, by the name of its rotation; NULL: there is one */
    bool local_layers;      /* the layer type may have a base of its own (sliding-window attention) */
    bool
        unit_magnitude; /* DeepSeek-V4's YaRN, whose cosines and sines have no factor unless the file has one */
    bool without_mla;   /* "use_mla" is false, though the family's heads are MLA's */
    rotary_error *error;
};

/* Looks among the rotation's parameters first, then in text_config. */
const json_t *rope_reader_find(const struct rope_reader *reader, const char *key);

/* Whether a NULL-terminated list has the key; NULL has none. */
bool rope_reader_is_among(const char *key, const char *const *keys);

/* WHERE: "key" is GOT, wanted WANTED */
rotary_status rope_reader_refuse(const struct rope_reader *reader, const char *key, const json_t *got,
                                 const char *wanted);
/* ", or --ignore KEY" as the request calls that option, or "" where messages do not speak of options. */
enum { ROPE_READER_OPTION_BYTES = 128 };
const char *rope_reader_or_ignore(const struct rope_reader *reader, const char *key,
                                  char text[ROPE_READER_OPTION_BYTES]);
/* Likewise, where leaving the key out is another remedy: WANTED, or --ignore KEY. What is wanted may have its reason
 * behind a colon. */
rotary_status rope_reader_refuse_value(const struct rope_reader *reader, const char *key, const json_t *got,
                                       const char *wanted);
/* WHERE has no "key", which NEEDED_BY needs */
rotary_status rope_reader_refuse_absent(const struct rope_reader *reader, const char *key,
                                        const char *needed_by);

/* The functions of config/json_fields.h with the reader's file: where `value` is NULL, the result stays as it is.
 */
ROTARY_CHECKED rotary_status rope_reader_real(const struct rope_reader *reader, const char *key,
                                              const json_t *value, enum json_range range, double *real);
ROTARY_CHECKED rotary_status rope_reader_integer(const struct rope_reader *reader, const char *key,
                                                 const json_t *value, int64_t min, int64_t *integer);
ROTARY_CHECKED rotary_status rope_reader_boolean(const struct rope_reader *reader, const char *key,
                                                 const json_t *value, bool *boolean);
ROTARY_CHECKED rotary_status rope_reader_choice(const struct rope_reader *reader, const char *key,
                                                const json_t *value, const char *const *names, int *index);

#endif
