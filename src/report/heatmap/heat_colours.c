/* SPDX-License-Identifier: Apache-2.0 */
#include "report/heatmap/heat_colours.h"

#include <math.h>
#include <stdio.h>

static const double pi = 3.14159265358979323846;

/* One end of the scale to the other: lightness; chroma rises and falls as a sine up to `span` of its half
 * period. */
struct ramp {
    double from, to, chroma, span, hue;
};
static const struct ramp light_ramp = {1.0, 0.28, 0.150, 0.85, 4.5},
                         dark_ramp = {0.245, 0.95, 0.130, 0.90, 4.5};

static int channel_of(double linear)
{
    double clipped = fmin(fmax(linear, 0), 1);
    double encoded = clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * pow(clipped, 1 / 2.4) - 0.055;
    return (int)lround(255 * encoded);
}

/* From OKLab to linear sRGB by the constants of its definition. */
static void write_colour(char colour[HEAT_COLOUR_BYTES], double lightness, double a, double b)
{
    double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3),
           m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3),
           s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    snprintf(colour, HEAT_COLOUR_BYTES, "#%02x%02x%02x",
             (unsigned)channel_of(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) & 255u,
             (unsigned)channel_of(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) & 255u,
             (unsigned)channel_of(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s) & 255u);
}

const char *heat_colour(char colour[HEAT_COLOUR_BYTES], double weight, bool dark)
{
    const struct ramp *ramp = dark ? &dark_ramp : &light_ramp;
    double chroma = ramp->chroma * sin(pi * ramp->span * weight);
    if (dark) /* that of the card */
        chroma = fmax(chroma, 0.012);
    write_colour(colour, ramp->from + (ramp->to - ramp->from) * weight, chroma * cos(ramp->hue),
                 chroma * sin(ramp->hue));
    return colour;
}
