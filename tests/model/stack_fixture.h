/* SPDX-License-Identifier: Apache-2.0
 *
 * The stacks of tests/golden/make_stack_goldens.py: a stack, or an encoder and a decoder, with the inputs,
 * parameters and loss that the script has.
 */
#ifndef TESTS_MODEL_STACK_FIXTURE_H
#define TESTS_MODEL_STACK_FIXTURE_H

#include "model/stack.h"

struct golden_gradient {
    const char *name;
    double probe, norm;
};

struct golden_case {
    const char *name, *wiring, *parallel, *norm, *act, *query_key_norm;
    int in_bias, out_bias, hidden_bias, key_value_heads, causal, rope, lengths, packed, cross, cross_rope;
    double loss, loss_size; /* the sum, and that of the magnitudes */
    const struct golden_gradient *gradients;
    size_t count;
};

enum {
    STACK_WIDTH = 24,
    STACK_HEADS = 4,
    STACK_HEAD_DIM = 8,
    STACK_HIDDEN = 40,
    STACK_LAYERS = 2,
    STACK_BATCH = 3,
    STACK_TIME = 7,
    STACK_SOURCE_TIME = 5,
    STACK_ROWS = STACK_BATCH * STACK_TIME,
    STACK_SOURCE_ROWS = STACK_BATCH * STACK_SOURCE_TIME,
    STACK_SEQUENCES = 4 /* packed */
};
extern const int64_t stack_lengths[STACK_BATCH]; /* tokens that are no padding, in cases with lengths */
extern const int32_t stack_starts[STACK_SEQUENCES + 1], stack_source_starts[STACK_SEQUENCES + 1];

struct fixture {
    const struct backend *backend;
    const struct golden_case *golden;
    bool training;
    struct parameters parameters;
    rotary_rope *rope;
    struct attention_plan *plan, *encoder_plan, *cross_plan;
    const struct attention_plan *plans[STACK_LAYERS], *encoder_plans[STACK_LAYERS];
    struct stack *stack, *encoder; /* encoder NULL: none */
    struct rotary_arena arena;
    float *d_source;     /* [STACK_SOURCE_ROWS, STACK_WIDTH] of the backend */
    bool encoder_frozen; /* its backward pass is left out, and nobody asks for d_source */
    struct stack_call call, encoder_call;
};

void fixture_create(struct fixture *fixture, const struct backend *backend, const struct golden_case *golden,
                    bool training);
/* Gives the calls sequences of one length. */
void fixture_level(struct fixture *fixture);
void fixture_destroy(struct fixture *fixture);
/* Parameter values plus step * sin(0.37 i), i over all elements. */
void fixture_fill(struct fixture *fixture, double step);
/* Writes the input, [rows, STACK_WIDTH] from row `first` of the script's input on. */
void fixture_write_input(const struct fixture *fixture, struct stack *stack, int64_t first, int64_t rows);
/* Forward passes, the encoder's first. */
void fixture_forward(struct fixture *fixture);
/* Output rows as f32. */
void fixture_read_output(const struct fixture *fixture, float *out, int64_t rows);
/* The loss of the output. */
double fixture_loss(const struct fixture *fixture);
/* Backward passes, the encoder's last. Adds to the gradients. */
void fixture_backward(struct fixture *fixture);
/* Probe and norm of the gradient called `name`; false if there is none. */
bool fixture_gradient(const struct fixture *fixture, const char *name, double *probe, double *norm);

#endif
