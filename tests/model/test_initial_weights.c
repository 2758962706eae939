/* SPDX-License-Identifier: Apache-2.0
 *
 * The distribution of every initial parameter of a transformer, by its name, as docs/explanation/experiments.md and
 * layer/sublayer.h say: Kolmogorov's statistic against the distribution function, mean, variance and fourth
 * moment. Parameters, rows and seeds are independent of one another; encodings share the weights of a seed.
 *
 * Seeds are fixed, so nothing here is random: the bounds are five standard errors, and for Kolmogorov's
 * statistic 2.4, which one draw in 50,000 exceeds.
 */
#include "layer/encoding/encoding.h"
#include "model/transformer_parts.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 96,
    HEADS = 4,
    HEAD_DIM = 20,
    KEY_VALUE_HEADS = 2,
    HIDDEN = 160,
    LAYERS = 3,
    DECODER_LAYERS = 2, /* of an encoder-decoder: as many residual branches as LAYERS of a decoder have */
    ENCODER_LAYERS = 4,
    WORDS = 70,
    SOURCE_WORDS = 60,
    PLACES = 50
};
static const double range = 0.03;

struct wanted {
    enum initialisation kind;
    double scale; /* standard deviation, or bound of a uniform distribution */
};

static bool ends(const char *name, const char *suffix)
{
    size_t length = strlen(name), tail = strlen(suffix);
    return length >= tail && strcmp(name + length - tail, suffix) == 0;
}

/* The name without the prefix of an encoder's parameters. */
static const char *within_stack(const char *name, bool *encodes)
{
    *encodes = strncmp(name, "encoder.", 8) == 0;
    return *encodes ? name + 8 : name;
}

/* Inputs of the linear layer that a parameter belongs to. */
static double inputs_of(const char *name)
{
    if (strstr(name, "attention.output."))
        return HEADS * HEAD_DIM;
    return strstr(name, "feed_forward.down.") ? HIDDEN : WIDTH;
}

/* Inputs and outputs of the matrix that a row belongs to: queries, keys and values are three, gate and up
 * two.
 */
static double sides_of(const char *name, int64_t row, double words)
{
    if (strstr(name, "cross_attention.query."))
        return WIDTH + HEADS * HEAD_DIM;
    if (strstr(name, "cross_attention.key_value."))
        return WIDTH + KEY_VALUE_HEADS * HEAD_DIM;
    if (strstr(name, "query_key_value."))
        return WIDTH + (row < HEADS * HEAD_DIM ? HEADS : KEY_VALUE_HEADS) * HEAD_DIM;
    if (strstr(name, "feed_forward.up."))
        return WIDTH + HIDDEN;
    if (strcmp(name, "embedding.position.weight") == 0 || strcmp(name, "embedding.type.weight") == 0)
        return PLACES + WIDTH;
    if (strncmp(name, "embedding.", 10) == 0 || strncmp(name, "output.", 7) == 0)
        return words + WIDTH;
    return inputs_of(name) + WIDTH;
}

/* Of the elements of a row. */
static struct wanted wanted_of(const char *full_name, int64_t row, enum initial_kind initial)
{
    bool encodes;
    const char *name = within_stack(full_name, &encodes);
    if (strstr(name, "norm."))
        return (struct wanted){.kind = ends(name, ".weight") ? INITIAL_ONE : INITIAL_ZERO};
    bool embeds = strncmp(name, "embedding.", 10) == 0;
    if (initial == INITIALISE_GLOROT && !ends(name, ".bias"))
        return (struct wanted){.kind = INITIAL_UNIFORM,
                               .scale = sqrt(6.0 / sides_of(name, row, encodes ? SOURCE_WORDS : WORDS))};
    if (embeds)
        return (struct wanted){.kind = INITIAL_NORMAL, .scale = initial == INITIALISE_PYTORCH ? 1.0 : range};
    if (initial != INITIALISE_NORMAL && initial != INITIALISE_BERT)
        return (struct wanted){.kind = INITIAL_UNIFORM, .scale = 1.0 / sqrt(inputs_of(name))};
    if (ends(name, ".bias"))
        return (struct wanted){.kind = INITIAL_ZERO};
    double depth = encodes ? 2.0 * ENCODER_LAYERS : 2.0 * LAYERS;
    bool joins = initial == INITIALISE_NORMAL &&
                 (strstr(name, "attention.output.") || strstr(name, "feed_forward.down."));
    return (struct wanted){.kind = INITIAL_NORMAL, .scale = range / sqrt(joins ? depth : 1.0)};
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The greatest distance between the distribution of z, which is sorted, and the wanted one, times
 * sqrt(count). */
static double kolmogorov(const double *z, int64_t count, bool uniform)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        double share = uniform ? (z[i] + 1.0) / 2.0 : 0.5 * erfc(-z[i] / sqrt(2.0));
        most = fmax(most, fmax(fabs(share - (double)i / (double)count),
                               fabs(share - (double)(i + 1) / (double)count)));
    }
    return most * sqrt((double)count);
}

/* Moments of z, which are values over their scale. The variance of z^2 and z^4 follows from the eighth
 * moment: 1/9 of a uniform distribution within 1, 105 of a normal one. */
static void check_moments(const double *z, int64_t count, bool uniform)
{
    double mean = 0, square = 0, fourth = 0, n = (double)count;
    for (int64_t i = 0; i < count; i++) {
        mean += z[i] / n;
        square += z[i] * z[i] / n;
        fourth += z[i] * z[i] * z[i] * z[i] / n;
    }
    double second = uniform ? 1.0 / 3.0 : 1.0, kurtosis = uniform ? 1.0 / 5.0 : 3.0,
           eighth = uniform ? 1.0 / 9.0 : 105.0;
    CHECK_NEAR(mean, 0.0, 5.0 * sqrt(second / n));
    CHECK_NEAR(square, second, 5.0 * sqrt((kurtosis - second * second) / n));
    CHECK_NEAR(fourth, kurtosis, 5.0 * sqrt((eighth - kurtosis * kurtosis) / n));
}

static void check_parameter(const struct parameter *row, const float *value, enum initial_kind initial)
{
    struct wanted wanted = wanted_of(row->name, 0, initial);
    int64_t count = parameter_elements(row);
    double constant = wanted.kind == INITIAL_ONE;
    if (wanted.kind == INITIAL_ZERO || wanted.kind == INITIAL_ONE) {
        for (int64_t i = 0; i < count; i++)
            CHECK_NEAR(value[i], constant, 0.0);
        return;
    }
    double *z = malloc((size_t)count * sizeof *z);
    for (int64_t i = 0; i < count; i++)
        z[i] =
            (double)value[i] / wanted_of(row->name, i / (row->columns > 0 ? row->columns : 1), initial).scale;
    bool uniform = wanted.kind == INITIAL_UNIFORM;
    check_moments(z, count, uniform);
    qsort(z, (size_t)count, sizeof *z, ascending);
    CHECK_NEAR(kolmogorov(z, count, uniform), 0.0, 2.4);
    if (uniform)
        CHECK(z[0] >= -1.000001 && z[count - 1] <= 1.000001);
    free(z);
}

/* The correlation of two series of zero mean, times sqrt(count): about normal if they are independent. */
static double correlation(const float *a, const float *b, int64_t count)
{
    double product = 0, a_square = 0, b_square = 0;
    for (int64_t i = 0; i < count; i++) {
        product += (double)a[i] * (double)b[i];
        a_square += (double)a[i] * (double)a[i];
        b_square += (double)b[i] * (double)b[i];
    }
    return product / sqrt(a_square * b_square) * sqrt((double)count);
}

static bool is_random(const char *name, enum initial_kind initial)
{
    enum initialisation kind = wanted_of(name, 0, initial).kind;
    return kind == INITIAL_NORMAL || kind == INITIAL_UNIFORM;
}

/* Rows and halves of a parameter, and parameters, are not copies of one another. */
static void check_independence(const struct parameters *parameters, const float *values,
                               enum initial_kind initial)
{
    for (int i = 0; i < parameters->count; i++) {
        const struct parameter *row = &parameters->rows[i];
        const float *value = values + row->offset;
        int64_t count = parameter_elements(row);
        if (!is_random(row->name, initial))
            continue;
        const int64_t lags[] = {1, 2, 3, 4, row->columns ? row->columns : 8, count / 2};
        for (int lag = 0; lag < 6; lag++) {
            check_about("%s and itself %d further", row->name, (int)lags[lag]);
            CHECK_NEAR(correlation(value, value + lags[lag], count - lags[lag]), 0.0, 5.0);
        }
        for (int j = 0; j < i; j++) {
            const struct parameter *other = &parameters->rows[j];
            int64_t fewer = count < parameter_elements(other) ? count : parameter_elements(other);
            if (!is_random(other->name, initial))
                continue;
            check_about("%s and %s", row->name, other->name);
            CHECK_NEAR(correlation(value, values + other->offset, fewer), 0.0, 5.0);
        }
    }
}

static struct transformer_config config_of(enum initial_kind initial)
{
    struct transformer_config config;
    transformer_config_default(&config);
    config.position = POSITION_LEARNED;
    config.vocab_size = WORDS;
    config.max_position_embeddings = PLACES;
    config.hidden_size = WIDTH;
    config.num_attention_heads = HEADS;
    config.num_key_value_heads = KEY_VALUE_HEADS;
    config.head_dim = HEAD_DIM;
    config.intermediate_size = HIDDEN;
    config.num_hidden_layers = LAYERS;
    config.initialisation = (int)initial;
    config.initializer_range = range;
    return config;
}

static struct transformer *create(const struct backend *backend, const struct transformer_config *config,
                                  uint64_t seed)
{
    const struct transformer_limits limits = {
        .batch = 1, .time = 8, .source_time = transformer_has_encoder(config) ? 8 : 0};
    struct transformer *transformer = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(transformer_create(&transformer, backend, config, limits, seed, &error), ROTARY_OK))
        abort();
    return transformer;
}

static void test_distributions(const struct backend *backend, enum initial_kind initial)
{
    for (int variant = 0; variant < 5; variant++) {
        struct transformer_config config = config_of(initial);
        config.hidden_act = variant % 3; /* the third is gated: up has two matrices side by side */
        if (variant == 3) {
            config.architecture = ARCHITECTURE_ENCODER_DECODER;
            config.num_hidden_layers = DECODER_LAYERS;
            config.num_encoder_layers = ENCODER_LAYERS;
            config.source_vocab_size = SOURCE_WORDS;
        }
        if (variant == 4) { /* BERT's parts */
            config.hidden_act = 1;
            config.architecture = ARCHITECTURE_ENCODER;
            config.type_vocab_size = PLACES;
            config.embedding_norm = config.output_transform = true;
        }
        config.tie_word_embeddings = variant == 1;
        config.norm_position = variant == 1 ? NORM_POSITION_POST : NORM_POSITION_PRE;
        struct transformer *transformer = create(backend, &config, 40 + (uint64_t)variant);
        const struct parameters *parameters = &transformer->parameters;
        float *values = parameter_copy(parameters, PARAMETER_VALUES);
        for (int i = 0; i < parameters->count; i++) {
            check_about("%s, variant %d", parameters->rows[i].name, variant);
            check_parameter(&parameters->rows[i], values + parameters->rows[i].offset, initial);
        }
        check_independence(parameters, values, initial);
        free(values);
        transformer_destroy(transformer);
    }
    check_about("%s", "");
}

/* Seeds that differ in any of their bits give other weights, independent of each other. */
static void test_seeds(const struct backend *backend, enum initial_kind initial)
{
    static const uint64_t seeds[] = {1, 2, 1 + (1ull << 32), 1 + (1ull << 52)};
    enum { SEEDS = sizeof seeds / sizeof *seeds };
    struct transformer_config config = config_of(initial);
    struct transformer *transformer[SEEDS];
    float *values[SEEDS];
    for (int s = 0; s < SEEDS; s++) {
        transformer[s] = create(backend, &config, seeds[s]);
        values[s] = parameter_copy(&transformer[s]->parameters, PARAMETER_VALUES);
        for (int i = 0; i < transformer[s]->parameters.count; i++) {
            const struct parameter *row = &transformer[s]->parameters.rows[i];
            check_about("%s of two seeds", row->name);
            for (int other = 0; other < s && is_random(row->name, initial); other++)
                CHECK_NEAR(correlation(values[s] + row->offset, values[other] + row->offset,
                                       parameter_elements(row)),
                           0.0, 5.0);
        }
    }
    for (int s = 0; s < SEEDS; s++) {
        transformer_destroy(transformer[s]);
        free(values[s]);
    }
    check_about("%s", "");
}

/* Every encoding has the same bits in the parameters that all of them have, wherever these are in the table.
 */
static void test_encodings(const struct backend *backend)
{
    struct transformer_config config = config_of(INITIALISE_PYTORCH);
    struct transformer *learned = create(backend, &config, 9);
    float *wanted = parameter_copy(&learned->parameters, PARAMETER_VALUES);
    for (config.position = 0; position_names[config.position]; config.position++) {
        const struct position_encoding *encoding = position_encoding((enum position)config.position);
        struct transformer *transformer = create(backend, &config, 9);
        const struct parameters *parameters = &transformer->parameters;
        float *values = parameter_copy(parameters, PARAMETER_VALUES);
        for (int i = 0; i < parameters->count; i++) {
            const struct parameter *row = &parameters->rows[i];
            int same = parameters_find(&learned->parameters, row->name);
            check_about("%s of %s", row->name, position_names[config.position]);
            if (same < 0) /* of a learned bias or of vectors */
                CHECK(encoding->distance_bias || encoding->distance_vectors.keys);
            else
                CHECK(memcmp(values + row->offset, wanted + learned->parameters.rows[same].offset,
                             (size_t)parameter_elements(row) * sizeof *values) == 0);
        }
        free(values);
        transformer_destroy(transformer);
    }
    check_about("%s", "");
    free(wanted);
    transformer_destroy(learned);
}

/* Of vectors by distance, whatever the initialisation of projections: the tables of shaw are uniform as
 * Glorot and Bengio 2010 propose, the biases of transformer-xl normal. */
static void test_vectors(const struct backend *backend, enum initial_kind initial)
{
    const double bound = sqrt(6.0 / (16 + 1 + HEAD_DIM)); /* 16: the default of max_relative_position */
    const struct {
        enum position position;
        const char *name;
        double scale;
    } wanted[] = {{POSITION_SHAW, "layers.0.attention.relative_keys.weight", bound},
                  {POSITION_SHAW, "layers.1.attention.relative_values.weight", bound},
                  {POSITION_TRANSFORMER_XL, "content_bias", 0.02},
                  {POSITION_TRANSFORMER_XL, "position_bias", 0.02}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct transformer_config config = config_of(initial);
        config.position = (int)wanted[i].position;
        struct transformer *transformer = create(backend, &config, 17);
        const struct parameters *parameters = &transformer->parameters;
        float *values = parameter_copy(parameters, PARAMETER_VALUES);
        int index = parameters_find(parameters, wanted[i].name);
        check_about("%s of %s", wanted[i].name, position_names[wanted[i].position]);
        if (CHECK(index >= 0)) {
            const struct parameter *row = &parameters->rows[index];
            double z[(16 + 1) * HEAD_DIM];
            int64_t count = parameter_elements(row);
            CHECK_INT(count, wanted[i].position == POSITION_SHAW ? (16 + 1) * HEAD_DIM : HEADS * HEAD_DIM);
            CHECK(!row->decay);
            for (int64_t j = 0; j < count; j++)
                z[j] = (double)values[row->offset + j] / wanted[i].scale;
            check_moments(z, count, wanted[i].position == POSITION_SHAW);
        }
        free(values);
        transformer_destroy(transformer);
    }
    check_about("%s", "");
}

int main(void)
{
    struct backend backend;
    CHECK(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, NULL) == ROTARY_OK);
    for (int initial = INITIALISE_PYTORCH; initial <= INITIALISE_BERT; initial++) {
        test_distributions(&backend, (enum initial_kind)initial);
        test_seeds(&backend, (enum initial_kind)initial);
        test_vectors(&backend, (enum initial_kind)initial);
    }
    test_encodings(&backend);
    backend_destroy(&backend);
    return check_report();
}
