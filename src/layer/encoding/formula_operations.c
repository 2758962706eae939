/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/encoding/formula_operations.h"

#include <math.h>

double formula_apply(enum formula_operation operation, double x, double y, double z)
{
    switch (operation) {
    case FORMULA_ADD:
        return x + y;
    case FORMULA_SUBTRACT:
        return x - y;
    case FORMULA_MULTIPLY:
        return x * y;
    case FORMULA_DIVIDE:
        return x / y;
    case FORMULA_POWER:
        return pow(x, y);
    case FORMULA_NEGATE:
        return -x;
    case FORMULA_LESS:
        return x < y;
    case FORMULA_LESS_EQUAL:
        return x <= y;
    case FORMULA_GREATER:
        return x > y;
    case FORMULA_GREATER_EQUAL:
        return x >= y;
    case FORMULA_EQUAL:
        return x == y;
    case FORMULA_NOT_EQUAL:
        return x != y;
    case FORMULA_ABS:
        return fabs(x);
    case FORMULA_SQRT:
        return sqrt(x);
    case FORMULA_EXP:
        return exp(x);
    case FORMULA_LOG:
        return log(x);
    case FORMULA_LOG2:
        return log2(x);
    case FORMULA_SIN:
        return sin(x);
    case FORMULA_COS:
        return cos(x);
    case FORMULA_FLOOR:
        return floor(x);
    case FORMULA_MIN: /* a NaN stays one, in both orders */
        return x <= y || isnan(x) ? x : y;
    case FORMULA_MAX:
        return x >= y || isnan(x) ? x : y;
    case FORMULA_IF:
        return x != 0.0 ? y : z;
    case FORMULA_CONSTANT:
    case FORMULA_INPUT:
        break;
    }
    return (double)NAN;
}

static double finite_or_zero(double derivative)
{
    return isinf(derivative) ? 0.0 : derivative;
}

/* By base and exponent. At 0^y, y > 0, the result stays 0 whatever small change y has. */
static void power_derivatives(double x, double y, double result, double derivatives[FORMULA_ARGUMENTS])
{
    derivatives[0] = y == 0.0 ? 0.0 : finite_or_zero(y * pow(x, y - 1.0));
    derivatives[1] = x == 0.0 ? 0.0 : result * log(x);
}

void formula_derivatives(enum formula_operation operation, const double arguments[FORMULA_ARGUMENTS],
                         double result, double derivatives[FORMULA_ARGUMENTS])
{
    const double x = arguments[0], y = arguments[1];
    double *d = derivatives;
    d[0] = d[1] = d[2] = 0.0;
    switch (operation) {
    case FORMULA_ADD:
        d[0] = d[1] = 1.0;
        return;
    case FORMULA_SUBTRACT:
        d[0] = 1.0;
        d[1] = -1.0;
        return;
    case FORMULA_MULTIPLY:
        d[0] = y;
        d[1] = x;
        return;
    case FORMULA_DIVIDE:
        d[0] = 1.0 / y;
        d[1] = -result / y;
        return;
    case FORMULA_POWER:
        power_derivatives(x, y, result, d);
        return;
    case FORMULA_NEGATE:
        d[0] = -1.0;
        return;
    case FORMULA_ABS:
        d[0] = (x > 0.0) - (x < 0.0);
        return;
    case FORMULA_SQRT:
        d[0] = finite_or_zero(0.5 / result);
        return;
    case FORMULA_EXP:
        d[0] = result;
        return;
    case FORMULA_LOG:
        d[0] = 1.0 / x;
        return;
    case FORMULA_LOG2:
        d[0] = 1.0 / (x * 0x1.62e42fefa39efp-1); /* log 2 */
        return;
    case FORMULA_SIN:
        d[0] = cos(x);
        return;
    case FORMULA_COS:
        d[0] = -sin(x);
        return;
    case FORMULA_MIN:
        d[x <= y ? 0 : 1] = 1.0;
        return;
    case FORMULA_MAX:
        d[x >= y ? 0 : 1] = 1.0;
        return;
    case FORMULA_IF:
        d[x != 0.0 ? 1 : 2] = 1.0;
        return;
    default: /* steps, whose derivative is 0 */
        return;
    }
}
