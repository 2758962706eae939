/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/layer_reference.h"

#include "base/element.h"

#include <math.h>

static double load(rotary_dtype storage, const void *from, int64_t i)
{
    return (double)rotary_element(from, i, storage);
}

static void store(rotary_dtype storage, void *to, int64_t i, double value)
{
    rotary_set_element(to, i, storage, (float)value);
}

static double factor(const struct layer_mask *mask, int64_t row, int64_t column)
{
    uint64_t block = (uint64_t)row << 32 | (uint64_t)(column / 64 * 16 + column % 16);
    uint32_t words[4];
    if (mask->threshold == 0)
        return 1.0;
    rotary_random_block(mask->key, block, words);
    return words[column / 16 % 4] >= mask->threshold ? (double)mask->scale : 0.0;
}

static void norm_forward(const struct layer_norm_forward *work)
{
    for (int64_t row = 0; row < work->rows; row++) {
        int64_t at = row * work->width;
        for (int64_t i = 0; work->sublayer_output && i < work->width; i++)
            work->residual_sum[at + i] =
                (float)((double)work->residual[at + i] +
                        load(work->storage, work->sublayer_output, row * work->sublayer_output_stride + i) *
                            factor(&work->mask, work->first + row, i));
        const float *x = (work->sublayer_output ? work->residual_sum : work->residual) + at;
        double mean = 0.0, variance = 0.0;
        for (int64_t i = 0; !work->rms && i < work->width; i++)
            mean += (double)x[i] / (double)work->width;
        for (int64_t i = 0; i < work->width; i++)
            variance += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)work->width;
        double rstd = 1.0 / sqrt(variance + (double)work->epsilon);
        for (int64_t i = 0; i < work->width; i++) {
            double y = ((double)x[i] - mean) * rstd * (double)work->gain[i];
            y += work->bias ? (double)work->bias[i] : 0.0;
            store(work->storage, work->normalised, row * work->normalised_stride + i, y);
            if (work->normalised_f32)
                work->normalised_f32[at + i] = (float)y;
        }
        if (work->mean) {
            work->mean[row] = (float)mean;
            work->rstd[row] = (float)rstd;
        }
    }
}

static double d_output(const struct layer_norm_backward *work, int64_t row, int64_t i)
{
    double d = 0.0;
    if (work->d_normalised)
        d += load(work->storage, work->d_normalised, row * work->d_normalised_stride + i);
    if (work->d_normalised_f32)
        d += (double)work->d_normalised_f32[row * work->width + i];
    return d;
}

static void norm_backward(const struct layer_norm_backward *work)
{
    for (int64_t row = 0; row < work->rows; row++) {
        int64_t at = row * work->width;
        double mean = (double)work->mean[row], rstd = (double)work->rstd[row];
        double mean_g = 0.0, mean_gx = 0.0;
        for (int64_t i = 0; i < work->width; i++) {
            double x = ((double)work->residual_sum[at + i] - mean) * rstd, d = d_output(work, row, i);
            mean_g += work->rms ? 0.0 : d * (double)work->gain[i] / (double)work->width;
            mean_gx += d * (double)work->gain[i] * x / (double)work->width;
            work->d_gain[i] = (float)((double)work->d_gain[i] + d * x);
            if (work->d_bias)
                work->d_bias[i] = (float)((double)work->d_bias[i] + d);
        }
        for (int64_t i = 0; i < work->width; i++) {
            double x = ((double)work->residual_sum[at + i] - mean) * rstd;
            double g = d_output(work, row, i) * (double)work->gain[i];
            double d = rstd * (g - mean_g - x * mean_gx);
            d += work->accumulate ? (double)work->d_residual[at + i] : 0.0;
            work->d_residual[at + i] = (float)d;
            if (work->d_sublayer_output)
                store(work->storage, work->d_sublayer_output, row * work->d_sublayer_output_stride + i,
                      d * factor(&work->mask, work->first + row, i));
        }
    }
}

static double gelu_argument(double x)
{
    return sqrt(2.0 / 3.14159265358979324) * (x + 0.044715 * x * x * x);
}

static double activated(enum layer_activation kind, double x)
{
    switch (kind) {
    case LAYER_RELU:
        return x > 0.0 ? x : 0.0;
    case LAYER_GELU:
        return 0.5 * x * erfc(-x * sqrt(0.5));
    case LAYER_SILU:
        return x / (1.0 + exp(-x));
    case LAYER_GELU_TANH:
        return x / (1.0 + exp(-2.0 * gelu_argument(x)));
    case LAYER_TANH:
        return tanh(x);
    }
    return (double)NAN;
}

static double derivative(enum layer_activation kind, double saved)
{
    double sigmoid = 1.0 / (1.0 + exp(-saved)), t;
    switch (kind) {
    case LAYER_RELU:
        return saved > 0.0 ? 1.0 : 0.0;
    case LAYER_GELU:
        return 0.5 * erfc(-saved * sqrt(0.5)) +
               saved * exp(-0.5 * saved * saved) / sqrt(2.0 * 3.14159265358979324);
    case LAYER_SILU:
        return sigmoid * (1.0 + saved * (1.0 - sigmoid));
    case LAYER_GELU_TANH:
        t = tanh(gelu_argument(saved));
        return 0.5 * (1.0 + t) + 0.5 * saved * (1.0 - t * t) * sqrt(2.0 / 3.14159265358979324) *
                                     (1.0 + 3.0 * 0.044715 * saved * saved);
    case LAYER_TANH:
        return 1.0 - tanh(saved) * tanh(saved);
    }
    return (double)NAN;
}

static void activate(enum layer_activation kind, rotary_dtype storage, void *out, const void *in,
                     int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        store(storage, out, i, activated(kind, load(storage, in, i)));
}

static void activate_backward(enum layer_activation kind, rotary_dtype storage, void *d_in, void *out,
                              const void *d_out, const void *saved, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double x = load(storage, saved, i);
        store(storage, d_in, i, load(storage, d_out, i) * derivative(kind, x));
        if (out)
            store(storage, out, i, activated(kind, x));
    }
}

static void gated(enum layer_activation kind, rotary_dtype storage, void *out, const void *gate,
                  const void *up, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        store(storage, out, i, activated(kind, load(storage, gate, i)) * load(storage, up, i));
}

static void gated_backward(enum layer_activation kind, rotary_dtype storage, void *d_gate, void *d_up,
                           void *out, const void *d_out, const void *gate, const void *up, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double d = load(storage, d_out, i), x = load(storage, gate, i), u = load(storage, up, i);
        store(storage, d_gate, i, d * u * derivative(kind, x));
        store(storage, d_up, i, d * activated(kind, x));
        if (out)
            store(storage, out, i, activated(kind, x) * u);
    }
}

static void softcap(float *x, int64_t count, float cap)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = (float)((double)cap * tanh((double)x[i] / (double)cap));
}

static void cross_entropy(struct layer_cross_entropy *work)
{
    for (int64_t row = 0; row < work->rows; row++) {
        float *x = work->logits + row * work->logits_stride;
        const double cap = (double)work->softcap;
        int32_t target = work->targets[row];
        double total = 0.0;
        int64_t largest = 0;
        if (cap > 0.0)
            softcap(x, work->classes, work->softcap);
        for (int64_t i = 1; i < work->classes; i++)
            largest = x[i] > x[largest] ? i : largest;
        for (int64_t i = 0; i < work->classes; i++)
            total += exp((double)x[i] - (double)x[largest]);
        for (int64_t i = 0; work->gradient && i < work->classes; i++) {
            double wanted = (double)work->smoothing / (double)work->classes;
            wanted += i == target ? 1.0 - (double)work->smoothing : 0.0;
            double d = exp((double)x[i] - (double)x[largest]) / total - wanted;
            d *= cap > 0.0 ? 1.0 - (double)x[i] / cap * ((double)x[i] / cap) : 1.0;
            store(work->storage, work->gradient, row * work->gradient_stride + i,
                  target < 0 ? 0.0 : (double)work->gradient_scale * d);
        }
        if (target >= 0) {
            work->counted++;
            work->correct += largest == target;
            const double loss = log(total) + (double)x[largest] - (double)x[target];
            work->loss += loss;
            if (work->losses)
                work->losses[row] = (float)loss;
        }
    }
}

static bool is_excluded(const struct layer_top_classes *work, int64_t index)
{
    for (int64_t i = 0; i < work->excluded_count; i++)
        if (work->excluded[i] == index)
            return true;
    return false;
}

/* The place of a class: how many logits are larger, or equal and before it. */
static void top_classes(const struct layer_top_classes *work)
{
    for (int64_t row = 0; row < work->rows; row++) {
        const float *x = work->logits + row * work->logits_stride;
        double sum = 0.0;
        for (int64_t i = 0; i < work->classes; i++)
            sum += exp((double)x[i]);
        for (int64_t i = 0; i < work->classes; i++) {
            int64_t place = 0;
            for (int64_t j = 0; j < work->classes && place < work->count; j++)
                place += !is_excluded(work, j) && (x[j] > x[i] || (x[j] == x[i] && j < i));
            if (is_excluded(work, i) || place >= work->count)
                continue;
            work->log_probabilities[row * work->count + place] = (float)((double)x[i] - log(sum));
            work->chosen[row * work->count + place] = (int32_t)i;
        }
    }
}

static void column_sums(float *sums, rotary_dtype storage, const void *in, int64_t rows, int64_t columns,
                        int64_t stride)
{
    for (int64_t i = 0; i < columns; i++) {
        double total = (double)sums[i];
        for (int64_t row = 0; row < rows; row++)
            total += load(storage, in, row * stride + i);
        sums[i] = (float)total;
    }
}

static void to_storage(rotary_dtype storage, void *out, const float *in, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        store(storage, out, i, (double)in[i]);
}

static void from_storage(rotary_dtype storage, float *out, const void *in, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)load(storage, in, i);
}

static void embed(float *out, const float *in, const float *add, float scale, int64_t row, int64_t column,
                  int64_t width, const struct layer_mask *mask)
{
    for (int64_t i = 0; i < width; i++)
        out[i] = (float)(((double)scale * (double)in[i] + (add ? (double)add[i] : 0.0)) *
                         factor(mask, row, column + i));
}

static void embed_backward(float *to, float *add, const float *in, float scale, int64_t row, int64_t column,
                           int64_t width, const struct layer_mask *mask)
{
    for (int64_t i = 0; i < width; i++) {
        double d = (double)in[i] * factor(mask, row, column + i);
        to[i] = (float)((double)to[i] + (double)scale * d);
        if (add)
            add[i] = (float)((double)add[i] + d);
    }
}

static void drop(rotary_dtype storage, void *out, const void *in, int64_t row, int64_t width,
                 const struct layer_mask *mask)
{
    for (int64_t i = 0; i < width; i++)
        store(storage, out, i, load(storage, in, i) * factor(mask, row, i));
}

static void transpose(uint16_t *out, int64_t out_stride, const uint16_t *in, int64_t in_stride, int64_t rows,
                      int64_t columns)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < columns; column++)
            out[column * out_stride + row] = in[row * in_stride + column];
}

static void pack_vnni(uint16_t *out, const uint16_t *in, int64_t in_stride, int64_t rows, int64_t columns)
{
    int64_t padded_rows = (rows + 31) / 32 * 32, padded_columns = (columns + 63) / 64 * 64;
    for (int64_t row = 0; row < padded_rows; row++)
        for (int64_t column = 0; column < padded_columns; column++)
            out[column / 64 * 64 * padded_rows + row / 2 * 128 + column % 64 * 2 + row % 2] =
                row < rows && column < columns ? in[row * in_stride + column] : 0;
}

static void copy_nontemporal(void *to, int64_t to_stride, const void *from, int64_t rows, int64_t row_bytes)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < row_bytes; i++)
            ((char *)to)[row * to_stride + i] = ((const char *)from)[row * row_bytes + i];
}

static void adam(const struct layer_adam *work)
{
    for (int64_t i = 0; i < work->count; i++) {
        double value = (double)work->value[i], beta1 = (double)work->beta1, beta2 = (double)work->beta2;
        double g =
            (double)work->gradient_scale * (double)work->gradient[i] + (double)work->coupled_decay * value;
        double m = beta1 * (double)work->moment1[i] + (1.0 - beta1) * g;
        double v = beta2 * (double)work->moment2[i] + (1.0 - beta2) * g * g;
        work->moment1[i] = (float)m;
        work->moment2[i] = (float)v;
        work->value[i] = (float)(value - (double)work->decoupled_decay * value -
                                 (double)work->learning_rate * m * (double)work->inverse_correction1 /
                                     (sqrt(v * (double)work->inverse_correction2) + (double)work->epsilon));
        work->gradient[i] = 0.0f;
    }
}

static double sum_of_squares(const float *in, int64_t count)
{
    double total = 0.0;
    for (int64_t i = 0; i < count; i++)
        total += (double)in[i] * (double)in[i];
    return total;
}

const struct layer_kernels layer_kernels_reference = {
    .norm_forward = norm_forward,
    .norm_backward = norm_backward,
    .activate = activate,
    .activate_backward = activate_backward,
    .gated = gated,
    .gated_backward = gated_backward,
    .softcap = softcap,
    .cross_entropy = cross_entropy,
    .top_classes = top_classes,
    .column_sums = column_sums,
    .to_storage = to_storage,
    .from_storage = from_storage,
    .embed = embed,
    .embed_backward = embed_backward,
    .drop = drop,
    .transpose = transpose,
    .pack_vnni = pack_vnni,
    .copy_nontemporal = copy_nontemporal,
    .adam = adam,
    .sum_of_squares = sum_of_squares,
};
