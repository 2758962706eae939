/* SPDX-License-Identifier: Apache-2.0 */
#include "rope_config/rope_config.h"

#include "base/fail.h"
#include "file/file.h"
#include "rope_config/rope_attention.h"
#include "rope_config/rope_axes.h"
#include "rope_config/rope_keys.h"
#include "rope_config/rope_layers.h"
#include "rope_config/rope_lists.h"
#include "rope_config/rope_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 256 };

/* ---- sizes ---- */

/* The integer at `key` of text_config; where it is absent, *integer is left as it is. */
static rotary_status read_integer(const struct rope_reader *reader, const char *key, int64_t min,
                                  int64_t *integer)
{
    return rope_reader_integer(reader, key, json_field_value(reader->text_config, key), min, integer);
}

/* Reads likewise, at the first of the NULL-terminated `keys` that is there. */
static rotary_status read_size(const struct rope_reader *reader, const char *const *keys, int64_t *size)
{
    for (; *keys; keys++)
        if (json_field_value(reader->text_config, *keys))
            return read_integer(reader, *keys, 1, size);
    return ROTARY_OK;
}

static const char *const query_head_keys[] = {"num_attention_heads", "n_head", "n_heads", "num_heads", NULL};

/* hidden_size / num_attention_heads, or the requested head_dim where one of them is not known. */
static rotary_status divide_hidden_size(const struct rope_reader *reader, int64_t *head_dim)
{
    static const char *const keys[] = {"hidden_size", "n_embd", "d_model", NULL};
    static const char *const embedding_keys[] = {"embed_dim", NULL};
    int64_t embedding = reader->family.embed_dim, heads = reader->family.num_attention_heads;
    int64_t hidden = embedding > 0 ? embedding : reader->family.hidden_size;
    rotary_status status = read_size(reader, embedding > 0 ? embedding_keys : keys, &hidden);
    if (!status)
        status = read_size(reader, query_head_keys, &heads);
    if (status)
        return status;
    bool known = hidden > 0 && heads > 0;
    if (!known && reader->request->head_dim == 0)
        return rotary_fail(reader->error, ROTARY_BAD_FILE,
                           "%s has no \"head_dim\", wanted that, or \"hidden_size\" and "
                           "\"num_attention_heads\"",
                           reader->where);
    if (known && hidden % heads != 0)
        return rotary_fail(reader->error, ROTARY_BAD_FILE,
                           "%s: \"hidden_size\" is %lld, wanted a multiple of \"num_attention_heads\", %lld, "
                           "or a \"head_dim\"",
                           reader->where, (long long)hidden, (long long)heads);
    *head_dim = known ? hidden / heads : reader->request->head_dim;
    return ROTARY_OK;
}

/* The channels of MLA's heads, qk_nope_head_dim unrotated ones before qk_rope_head_dim rotated ones, or the
 * latent's kv_lora_rank before them. The plan's head is the rotated part alone, unless the tensors have all. */
static rotary_status read_mla_head_dim(const struct rope_reader *reader, int64_t rotary_dim,
                                       struct rope_config *config)
{
    bool given = json_field_value(reader->text_config, "qk_nope_head_dim") != NULL;
    int64_t nope = 0, latent = 0, before = reader->request->head_dim - rotary_dim;
    rotary_status status = read_integer(reader, "qk_nope_head_dim", 0, &nope);
    if (!status)
        status = read_integer(reader, "kv_lora_rank", 0, &latent);
    bool all_channels = given && (before == nope || (latent > 0 && before == latent));
    config->rope_part_only = !all_channels && !(given && nope == 0);
    config->plan.head_dim = rotary_dim + (all_channels ? before : 0);
    config->score_channels = all_channels ? rotary_dim + nope : 0;
    return status;
}

/* The channels of a head, and how many of them rotate by qk_rope_head_dim; *rotary_dim is 0 without one. */
static rotary_status read_head_dim(const struct rope_reader *reader, struct rope_config *config,
                                   int64_t *rotary_dim)
{
    int64_t *head_dim = &config->plan.head_dim;
    static const char *const keys[] = {"head_dim", "attention_head_dim", "kv_channels", NULL};
    static const char *const global_keys[] = {"global_head_dim", NULL}; /* Gemma 4's full attention */
    const char *layer_type = reader->request->layer_type;
    const json_t *rope_part = json_field_value(reader->text_config, "qk_rope_head_dim");
    rotary_status status = ROTARY_OK;
    *head_dim = 0;
    *rotary_dim = reader->without_mla ? 0 : reader->family.qk_rope_head_dim;
    if (!reader->without_mla)
        status = read_integer(reader, "qk_rope_head_dim", 0, rotary_dim);
    bool mla =
        reader->family.qk_rope_head_dim > 0 || json_field_value(reader->text_config, "qk_nope_head_dim");
    if (!status && *rotary_dim > 0 && mla)
        return read_mla_head_dim(reader, *rotary_dim, config);
    if (!status && rope_part && mla && !reader->without_mla)
        return rope_reader_refuse(reader, "qk_rope_head_dim", rope_part,
                                  "a whole number from 2 up: no channel rotates, not all of a head's");
    if (!status && layer_type && strcmp(layer_type, "full_attention") == 0)
        status = read_size(reader, global_keys, head_dim);
    if (!status && *head_dim == 0)
        status = rope_layers_head_dim(reader, head_dim);
    if (!status && *head_dim == 0)
        *head_dim = reader->defaults.head_dim;
    if (!status && *head_dim == 0)
        status = read_size(reader, keys, head_dim);
    /* A head_dim that is null asks for hidden_size / num_attention_heads. */
    if (!status && *head_dim == 0 && !json_object_get(reader->text_config, "head_dim"))
        *head_dim = *rotary_dim > 0 ? *rotary_dim : reader->family.head_dim;
    if (status || *head_dim > 0)
        return status;
    return divide_hidden_size(reader, head_dim);
}

/* Query heads and key heads; where the file does not say, there are as many key heads as query heads. */
static rotary_status read_heads(const struct rope_reader *reader, struct rope_config *config)
{
    static const char *const keys[] = {"num_key_value_heads", "num_kv_heads", "n_head_kv",
                                       "multi_query_group_num", NULL};
    rotary_status status = read_size(reader, query_head_keys, &config->query_heads);
    config->key_heads = config->query_heads;
    if (!status)
        status = read_size(reader, keys, &config->key_heads);
    if (!status && config->query_heads > 0 && config->query_heads % config->key_heads != 0)
        return rotary_fail(reader->error, ROTARY_BAD_FILE,
                           "%s has %lld key heads, wanted a divisor of its %lld query heads", reader->where,
                           (long long)config->key_heads, (long long)config->query_heads);
    return status;
}

/* The value in text_config of the first of the NULL-terminated `keys` that is there, all of which are names of
 * one thing. Another value of another one is refused, since programs differ in which they take. */
static rotary_status find_agreed(const struct rope_reader *reader, const char *const *keys, const char **key,
                                 const json_t **value)
{
    for (; *keys; keys++) {
        const json_t *found = json_field_value(reader->text_config, *keys);
        if (!found || rope_reader_is_among(*keys, reader->request->ignored))
            continue;
        const bool same = !*value || json_equal(found, *value) ||
                          (json_is_number(found) && json_number_value(found) == json_number_value(*value));
        char wanted[TEXT_BYTES];
        snprintf(wanted, sizeof wanted, "the same as \"%s\"", *key);
        if (!same)
            return rope_reader_refuse_value(reader, *keys, found, wanted);
        *key = *value ? *key : *keys;
        *value = *value ? *value : found;
    }
    return ROTARY_OK;
}

/* The value among the parameters where these are an object of their own; NULL: there is none. */
static const json_t *find_inner(const struct rope_reader *reader, const char *key)
{
    return reader->parameters == reader->text_config ? NULL : json_field_value(reader->parameters, key);
}

/* The share of a head that rotates. *given: the file says, not the family. */
static rotary_status read_fraction(const struct rope_reader *reader, double *fraction, bool *given)
{
    const bool transformers = reader->request->compat == ROTARY_COMPAT_HUGGINGFACE;
    const char *const keys[] = {"partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_emb_fraction",
                                /* Nemotron's, which transformers does not read */
                                transformers ? NULL : "rope_percent", NULL};
    const char *key = keys[0];
    const json_t *value = find_inner(reader, key);
    rotary_status status = value ? ROTARY_OK : find_agreed(reader, keys, &key, &value);
    *fraction = reader->defaults.partial_rotary_factor > 0 ? reader->defaults.partial_rotary_factor : 1;
    *given = value != NULL;
    *fraction = value ? json_number_value(value) : *fraction;
    if (!status && value && (!json_is_number(value) || !(*fraction > 0 && *fraction <= 1)))
        return rope_reader_refuse(reader, key, value, "a number above 0 and at most 1");
    return status;
}

int64_t rope_config_channels(int64_t head_dim, double fraction)
{
    double product = (double)head_dim * fraction;
    int64_t channels = (int64_t)product, above = (int64_t)(product + 1e-9);
    return channels % 2 == 0 ? channels : above;
}

const char *const rope_config_spans[] = {"front", "back", NULL};

/* Which channels of a head rotate. Their number is qk_rope_head_dim, rotary_dim, or a share of the head, in
 * this order. */
static rotary_status read_span(const struct rope_reader *reader, int64_t rotary_dim, rotary_rope_config *plan)
{
    bool mla_back = rotary_dim > 0 && rotary_dim < plan->head_dim &&
                    json_field_value(reader->text_config, "qk_nope_head_dim");
    int span = reader->family.span == 1 || mla_back;
    double fraction;
    bool given;
    rotary_status status = read_fraction(reader, &fraction, &given);
    if (status)
        return status;
    if (!given && rotary_dim == 0)
        rotary_dim = reader->family.rotary_dim;
    /* Null is no default of such a family: transformers refuses it. */
    const json_t *channels = json_object_get(reader->text_config, "rotary_dim");
    if (reader->family.rotary_dim > 0 && json_is_null(channels))
        return rope_reader_refuse(reader, "rotary_dim", channels, "the channels of a head that rotate");
    status = read_integer(reader, "rotary_dim", 2, &rotary_dim);
    if (!status && given && json_is_integer(channels) &&
        rotary_dim != rope_config_channels(plan->head_dim, fraction))
        return rope_reader_refuse_value(reader, "rotary_dim", channels,
                                        "the channels that the share of a head beside it makes");
    plan->rotary_dim = plan->head_dim;
    if (plan->scaling == ROTARY_SCALING_PROPORTIONAL)
        plan->rotary_fraction = fraction;
    else if (rotary_dim > 0)
        plan->rotary_dim = rotary_dim;
    else if (fraction < 1)
        plan->rotary_dim = rope_config_channels(plan->head_dim, fraction);
    if (!status && (plan->rotary_dim < 2 || plan->rotary_dim > plan->head_dim || plan->rotary_dim % 2 != 0))
        return rotary_fail(
            reader->error, ROTARY_BAD_FILE,
            "%s: %lld of a head's %lld channels would rotate, wanted an even number of them, by "
            "another head_dim (or hidden_size / num_attention_heads) or partial_rotary_factor",
            reader->where, (long long)plan->rotary_dim, (long long)plan->head_dim);
    if (!status)
        status =
            rope_reader_choice(reader, "span", rope_reader_find(reader, "span"), rope_config_spans, &span);
    if (!status && span == 1)
        plan->rotary_start = plan->head_dim - plan->rotary_dim;
    return status;
}

/* ---- the rotation's parameters ---- */

const char *const rope_config_types[] = {"default",  "linear", "ntk",          "dynamic", "yarn",
                                         "longrope", "llama3", "proportional", "axial",   NULL};
enum { TYPE_DEFAULT = 0, TYPE_AXIAL = 8 };

static const rotary_scaling scalings[] = {
    ROTARY_SCALING_NONE,        ROTARY_SCALING_LINEAR,       ROTARY_SCALING_NTK,
    ROTARY_SCALING_DYNAMIC_NTK, ROTARY_SCALING_YARN,         ROTARY_SCALING_LONGROPE,
    ROTARY_SCALING_LLAMA3,      ROTARY_SCALING_PROPORTIONAL, ROTARY_SCALING_NONE};

static const struct {
    const char *old, *now;
} old_types[] = {{"su", "longrope"}, {"mrope", "default"}, {"deepseek_yarn", "yarn"}};

static rotary_status read_type(const struct rope_reader *reader, struct rope_config *config)
{
    int type = 0;
    const char *key = json_field_value(reader->parameters, "rope_type") ? "rope_type" : "type";
    const json_t *value = json_field_value(reader->parameters, key);
    if (reader->parameters == reader->text_config)
        value = json_field_value(reader->text_config, key = "rope_type");
    if (!value && json_field_value(reader->parameters, "factor"))
        return rotary_fail(reader->error, ROTARY_BAD_FILE,
                           "%s: \"%s\" has a \"factor\" and no \"rope_type\", wanted both or none",
                           reader->where, reader->parameters_key);
    if (value) {
        const char *text = json_string_value(value);
        json_t *now = NULL;
        for (size_t i = 0; text && i < sizeof old_types / sizeof old_types[0]; i++)
            if (strcmp(text, old_types[i].old) == 0)
                now = json_string(old_types[i].now);
        rotary_status status = rope_reader_choice(reader, key, now ? now : value, rope_config_types, &type);
        json_decref(now);
        if (status)
            return status;
    }
    bool tower = reader->family.tower != ROPE_TOWER_NONE;
    if (tower && type != TYPE_DEFAULT && type != TYPE_AXIAL)
        return rope_reader_refuse(reader, key, value, "axial, as the model is a tower of images");
    type = tower ? TYPE_AXIAL : type;
    config->rope_type = rope_config_types[type];
    config->plan.scaling = scalings[type];
    return ROTARY_OK;
}

/* A number of the file, and the plan's member that it sets. Numbers of a scaling are not looked for in
 * text_config, where models may mean something else by them. */
struct number {
    const char *key;
    bool in_text_config;
    enum json_range range;
    size_t offset;
};
#define MEMBER(member) offsetof(rotary_rope_config, member)
static const struct number reals[] = {
    {"factor", false, JSON_POSITIVE, MEMBER(factor)},
    {"attention_factor", false, JSON_POSITIVE, MEMBER(attention_factor)},
    {"beta_fast", false, JSON_POSITIVE, MEMBER(beta_fast)},
    {"beta_slow", false, JSON_POSITIVE, MEMBER(beta_slow)},
    {"mscale", false, JSON_NOT_NEGATIVE, MEMBER(mscale)},
    {"mscale_all_dim", false, JSON_NOT_NEGATIVE, MEMBER(mscale_all_dim)},
    {"short_mscale", false, JSON_NOT_NEGATIVE, MEMBER(short_attention_factor)},
    {"long_mscale", false, JSON_NOT_NEGATIVE, MEMBER(long_attention_factor)},
    {"low_freq_factor", false, JSON_POSITIVE, MEMBER(low_frequency_factor)},
    {"high_freq_factor", false, JSON_POSITIVE, MEMBER(high_frequency_factor)},
};
static const struct number integers[] = {
    {"n_positions", true, JSON_POSITIVE, MEMBER(max_positions)},
    {"max_position_embeddings", true, JSON_POSITIVE, MEMBER(max_positions)},
};

static rotary_status read_base(const struct rope_reader *reader, double *base)
{
    static const char *const keys[] = {"rope_theta", "global_rope_theta", "rotary_emb_base", NULL};
    const char *key = "rope_theta";
    rotary_status status = ROTARY_OK;
    const json_t *value = find_inner(reader, key);
    const char *local = reader->local_layers ? rope_layers_local_base(reader, reader->layer_type) : NULL;
    if (!value && local)
        value = json_field_value(reader->text_config, key = local);
    /* Local layers do not use the base of full attention. */
    bool own_base = reader->local_layers && reader->defaults.rope_theta > 0;
    if (!value && !own_base)
        status = find_agreed(reader, keys, &key, &value);
    if (!value && !own_base) /* DBRX's */
        value = json_field_value(json_field_value(reader->text_config, "attn_config"), key = "rope_theta");
    if (reader->defaults.rope_theta > 0)
        *base = reader->defaults.rope_theta;
    if (!status)
        status = rope_reader_real(reader, key, value, JSON_POSITIVE, base);
    double ratio = 1; /* ChatGLM's */
    if (!status)
        status = rope_reader_real(reader, "rope_ratio", json_field_value(reader->text_config, "rope_ratio"),
                                  JSON_POSITIVE, &ratio);
    *base *= ratio;
    return status;
}

/* The context length before scaling that the file gives; NULL: it gives none. As in transformers, one that
 * stands beside the parameters comes first, unless layer types have parameters of their own: then it is not
 * read. Dynamic NTK has none in transformers and vLLM, which take max_position_embeddings. */
static const json_t *find_original(const struct rope_reader *reader, rotary_scaling scaling)
{
    static const char key[] = "original_max_position_embeddings";
    rotary_compat compat = reader->request->compat;
    const json_t *inside = json_field_value(reader->parameters, key),
                 *beside = json_field_value(reader->text_config, key);
    if (scaling == ROTARY_SCALING_DYNAMIC_NTK &&
        (compat == ROTARY_COMPAT_HUGGINGFACE || compat == ROTARY_COMPAT_VLLM))
        return NULL;
    if (reader->by_layer_type)
        return inside;
    bool beside_first = scaling == ROTARY_SCALING_YARN || scaling == ROTARY_SCALING_LLAMA3 ||
                        scaling == ROTARY_SCALING_LONGROPE;
    return inside && !(beside && beside_first) ? inside : beside;
}

/* The default of a family (Phi 3) stands beside the parameters too. */
static rotary_status read_original(const struct rope_reader *reader, rotary_rope_config *plan)
{
    static const char key[] = "original_max_position_embeddings";
    bool reads_default = plan->scaling == ROTARY_SCALING_YARN || plan->scaling == ROTARY_SCALING_LONGROPE ||
                         plan->scaling == ROTARY_SCALING_LLAMA3;
    int64_t otherwise = reader->family.original_max_position_embeddings;
    rotary_status status =
        rope_reader_integer(reader, key, find_original(reader, plan->scaling), 1, &plan->original_positions);
    if (!status && reads_default && otherwise > 0 && !reader->by_layer_type &&
        !json_field_value(reader->text_config, key))
        plan->original_positions = otherwise;
    return status;
}

/* Where layer types have parameters, transformers looks for YaRN's "truncate" beside them alone. */
static const json_t *find_truncate(const struct rope_reader *reader)
{
    const json_t *inside = json_field_value(reader->parameters, "truncate"),
                 *beside = json_field_value(reader->shared, "truncate");
    if (reader->by_layer_type && reader->request->compat == ROTARY_COMPAT_HUGGINGFACE)
        return beside;
    return inside ? inside : beside;
}

/* YaRN and LongRoPE alone multiply cosines and sines; transformers leaves the factor of others unread. */
static rotary_status check_magnitude(const struct rope_reader *reader, rotary_rope_config *plan)
{
    static const char key[] = "attention_factor";
    const bool one = plan->attention_factor == 0 || plan->attention_factor == 1;
    if (one || plan->scaling == ROTARY_SCALING_YARN || plan->scaling == ROTARY_SCALING_LONGROPE)
        return ROTARY_OK;
    if (reader->request->compat != ROTARY_COMPAT_HUGGINGFACE &&
        !rope_reader_is_among(key, reader->request->ignored))
        return rope_reader_refuse_value(reader, key, json_field_value(reader->parameters, key),
                                        "1: of yarn and longrope alone it is read");
    plan->attention_factor = 0;
    return ROTARY_OK;
}

/* A model that is trained here has one plan for all lengths: that of "rope_sequence_length", or of all its
 * positions. */
static rotary_status read_own_length(const struct rope_reader *reader, rotary_rope_config *plan)
{
    static const char key[] = "rope_sequence_length";
    rotary_status status = rope_reader_integer(reader, key, json_field_value(reader->text_config, key), 0,
                                               &plan->sequence_length);
    if (!status && plan->sequence_length == 0 && json_field_value(reader->text_config, "position"))
        status = read_integer(reader, "max_position_embeddings", 1, &plan->sequence_length);
    return status;
}

static rotary_status read_numbers(const struct rope_reader *reader, rotary_rope_config *plan)
{
    char *members = (char *)plan;
    rotary_status status = read_base(reader, &plan->base);
    plan->max_positions = reader->family.max_position_embeddings;
    if (!status)
        status = read_original(reader, plan);
    for (size_t i = 0; !status && i < sizeof reals / sizeof reals[0]; i++) {
        const char *key = reals[i].key;
        const json_t *value = reals[i].in_text_config ? rope_reader_find(reader, key)
                                                      : json_field_value(reader->parameters, key);
        status = rope_reader_real(reader, key, value, reals[i].range, (double *)(members + reals[i].offset));
    }
    if (!status)
        status = check_magnitude(reader, plan);
    for (size_t i = 0; !status && i < sizeof integers / sizeof integers[0]; i++)
        status = rope_reader_integer(reader, integers[i].key, rope_reader_find(reader, integers[i].key), 1,
                                     (int64_t *)(members + integers[i].offset));
    if (!status)
        status = read_own_length(reader, plan);
    return status ? status : rope_reader_boolean(reader, "truncate", find_truncate(reader), &plan->truncate);
}

static const json_t *find_parameter(const struct rope_reader *reader, const char *key)
{
    return json_field_value(reader->parameters, key);
}

/* Configurations of models that are trained here have an xpos_scale whatever their position is. */
static rotary_status read_xpos(const struct rope_reader *reader, rotary_rope_config *plan)
{
    const json_t *own = json_field_value(reader->text_config, "position");
    if (json_is_object(own) && json_object_get(own, "frequencies"))
        return rotary_fail(
            reader->error, ROTARY_BAD_FILE,
            "%s: \"position\" describes an encoding with frequencies of its own, which are read "
            "for models that are trained here alone",
            reader->where);
    const char *position = file_json_name(own);
    bool is_xpos = position && strcmp(position, "xpos") == 0, has_other = position && !is_xpos;
    const json_t *(*find)(const struct rope_reader *, const char *) =
        has_other ? find_parameter : rope_reader_find;
    if (is_xpos) {
        plan->xpos_scale = ROPE_CONFIG_XPOS_SCALE;
        plan->xpos_origin = (double)plan->max_positions / 2;
    }
    rotary_status status =
        rope_reader_real(reader, "xpos_scale", find(reader, "xpos_scale"), JSON_POSITIVE, &plan->xpos_scale);
    if (!status)
        status = rope_reader_real(reader, "xpos_origin", find(reader, "xpos_origin"), JSON_ANY,
                                  &plan->xpos_origin);
    return status;
}

/* The base that static NTK with this factor has. */
static double ntk_base(const rotary_rope_config *plan, double factor)
{
    double dim = (double)plan->rotary_dim;
    return dim > 2 ? plan->base * pow(factor, dim / (dim - 2)) : plan->base;
}

/* Hunyuan's "dynamic" with an alpha is static NTK with the factor alpha; its "factor" is not used. vLLM's
 * "ntk" is another scaling, but its alpha is the same. */
static rotary_status read_alpha(const struct rope_reader *reader, struct rope_config *config)
{
    const json_t *alpha = json_field_value(reader->parameters, "alpha");
    if (!alpha)
        return ROTARY_OK;
    if (config->plan.scaling != ROTARY_SCALING_DYNAMIC_NTK)
        return rotary_fail(reader->error, ROTARY_BAD_FILE,
                           "%s: \"%s\" has an \"alpha\" with rope_type %s, wanted rope_type dynamic",
                           reader->where, reader->parameters_key, config->rope_type);
    config->plan.scaling = ROTARY_SCALING_NTK;
    config->rope_type = "ntk";
    rotary_status status = rope_reader_real(reader, "alpha", alpha, JSON_POSITIVE, &config->plan.factor);
    if (!status && reader->request->compat == ROTARY_COMPAT_VLLM) {
        config->plan.base = ntk_base(&config->plan, config->plan.factor);
        config->plan.scaling = ROTARY_SCALING_NONE;
    }
    return status;
}

/* A family whose "ntk" is vLLM's whoever reads it: as linear scaling, which is the same. */
static void read_divided_ntk(const struct rope_reader *reader, rotary_rope_config *plan)
{
    if (plan->scaling != ROTARY_SCALING_NTK || !reader->family.ntk_divides)
        return;
    plan->base *= plan->factor;
    plan->factor = pow(plan->factor, 2.0 / (double)plan->rotary_dim);
    plan->scaling = ROTARY_SCALING_LINEAR;
}

/* Refuses parameters of the rotation without a key that must be among them. */
static rotary_status refuse_without(const struct rope_reader *reader, const char *key, const char *needed_by)
{
    if (reader->parameters == reader->text_config)
        return rope_reader_refuse_absent(reader, key, needed_by);
    return rotary_fail(reader->error, ROTARY_BAD_FILE, "%s: \"%s\" has no \"%s\", which %s needs",
                       reader->where, reader->parameters_key, key, needed_by);
}

/* Whether what the type needs is there. */
static rotary_status check_type(const struct rope_reader *reader, const struct rope_config *config)
{
    static const char *const llama3[] = {"factor", "low_freq_factor", "high_freq_factor", NULL};
    static const char *const factor[] = {"factor", NULL};
    static const char *const lists[] = {"short_factor", "long_factor", NULL};
    const rotary_rope_config *plan = &config->plan;
    rotary_scaling scaling = plan->scaling;
    const bool longrope = scaling == ROTARY_SCALING_LONGROPE;
    const char *const *keys = scaling == ROTARY_SCALING_LLAMA3 ? llama3
                              : longrope                       ? lists
                              : scaling == ROTARY_SCALING_LINEAR || scaling == ROTARY_SCALING_NTK ||
                                      scaling == ROTARY_SCALING_DYNAMIC_NTK
                                  ? factor
                                  : NULL;
    char needed_by[TEXT_BYTES];
    snprintf(needed_by, sizeof needed_by, "rope_type %s", config->rope_type);
    bool alpha = scaling == ROTARY_SCALING_NTK && json_field_value(reader->parameters, "alpha");
    for (; !alpha && keys && *keys; keys++)
        if (!json_field_value(reader->parameters, *keys) && !(longrope && rope_reader_find(reader, *keys)))
            return refuse_without(reader, *keys, needed_by);
    bool lengths = scaling == ROTARY_SCALING_DYNAMIC_NTK || scaling == ROTARY_SCALING_YARN ||
                   scaling == ROTARY_SCALING_LONGROPE || scaling == ROTARY_SCALING_LLAMA3;
    if (lengths && plan->original_positions == 0 && plan->max_positions == 0)
        return rope_reader_refuse_absent(reader,
                                         scaling == ROTARY_SCALING_LLAMA3 ? "original_max_position_embeddings"
                                                                          : "max_position_embeddings",
                                         needed_by);
    if (scaling == ROTARY_SCALING_YARN && plan->factor == 0 &&
        (plan->original_positions == 0 || plan->max_positions == 0))
        return rope_reader_refuse_absent(reader, "factor", needed_by);
    if (scaling == ROTARY_SCALING_LLAMA3 && plan->low_frequency_factor > plan->high_frequency_factor)
        return rope_reader_refuse(reader, "low_freq_factor", rope_reader_find(reader, "low_freq_factor"),
                                  "at most \"high_freq_factor\"");
    return ROTARY_OK;
}

/* ---- rotary's own keys ---- */

/* Finds the pairing where the file has no "pairing": by a key of the model's own, or by its family. */
static rotary_status find_pairing(const struct rope_reader *reader, struct rope_config *config,
                                  bool *interleaved)
{
    static const char *const keys[] = {"rope_interleave", "rotary_emb_interleaved"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *value = json_field_value(reader->text_config, keys[i]);
        if (!value)
            continue;
        config->pairing_from = keys[i];
        return rope_reader_boolean(reader, keys[i], value, interleaved);
    }
    if (reader->family.pairing == 1) {
        *interleaved = !reader->without_mla;
        config->pairing_from = reader->without_mla ? "use_mla" : "model_type";
    }
    return ROTARY_OK;
}

const char *const rope_config_pairings[] = {"half", "interleaved", NULL};

static rotary_status read_choices(const struct rope_reader *reader, struct rope_config *config)
{
    rotary_rope_config *plan = &config->plan;
    static const char *const angles[] = {"f64", "f32", NULL};
    static const char *const tables[] = {"f32", "f16", "bf16", NULL}; /* of rotary_dtype */
    const json_t *value = rope_reader_find(reader, "pairing");
    bool interleaved = false;
    config->pairing_from = value ? "pairing" : "default";
    rotary_status status = value ? ROTARY_OK : find_pairing(reader, config, &interleaved);
    int pairing = interleaved, angle = 0, table = 0;
    if (!status)
        status = rope_reader_choice(reader, "pairing", value, rope_config_pairings, &pairing);
    if (!status)
        status = rope_reader_choice(reader, "angles", rope_reader_find(reader, "angles"), angles, &angle);
    if (!status)
        status = rope_reader_choice(reader, "tables", rope_reader_find(reader, "tables"), tables, &table);
    plan->pairing = (rotary_pairing)pairing;
    plan->angles_f32 = angle == 1;
    plan->table_dtype = (rotary_dtype)table;
    return status;
}

/* ---- the file ---- */

static rotary_status read_rotation(const struct rope_reader *reader, struct rope_config *config)
{
    rotary_rope_config *plan = &config->plan;
    int64_t rotary_dim = 0;
    rotary_status status = read_type(reader, config);
    if (!status)
        status = read_head_dim(reader, config, &rotary_dim);
    if (!status)
        status = read_heads(reader, config);
    if (!status)
        status = read_span(reader, rotary_dim, plan);
    if (!status)
        status = read_numbers(reader, plan);
    if (!status)
        status = read_xpos(reader, plan);
    if (!status)
        status = read_alpha(reader, config);
    if (!status)
        status = check_type(reader, config);
    if (!status)
        read_divided_ntk(reader, plan);
    if (!status)
        status = read_choices(reader, config);
    if (!status)
        status = rope_axes_read(reader, strcmp(config->rope_type, "axial") == 0, plan);
    if (!status)
        status = rope_lists_read(reader, config);
    if (!status)
        status = rope_attention_read(reader, config);
    return status;
}

rotary_status rope_config_parse(const json_t *object, const char *where,
                                const struct rope_config_request *request, struct rope_config *config,
                                rotary_error *error)
{
    struct rope_reader reader = {.where = where, .request = request, .root = object, .error = error};
    struct rope_config made = {.rope_type = rope_config_types[0]};
    rotary_rope_config_default(&made.plan);
    rotary_status status = rope_layers_find_family(&reader);
    if (!status)
        status = rope_keys_check_model(&reader);
    if (!status)
        status = rope_layers_find_parameters(&reader);
    if (!status)
        status = rope_keys_check(&reader);
    if (!status)
        status = read_rotation(&reader, &made);
    if (reader.model_type && !reader.family.known && !rope_reader_is_among("model_type", request->ignored))
        snprintf(made.unknown_type, sizeof made.unknown_type, "%s", reader.model_type);
    json_decref(reader.family_parameters);
    rope_family_free(&reader.family);
    if (status) {
        rope_config_free(&made);
        return status;
    }
    *config = made;
    return ROTARY_OK;
}

void rope_config_free(struct rope_config *config)
{
    free(config->numbers);
    *config = (struct rope_config){0};
}

void rope_family_free(struct rope_family *family)
{
    json_decref(family->rope_parameters);
    json_decref(family->required);
    json_decref(family->refused);
    *family = (struct rope_family){0};
}
