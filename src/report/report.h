/* SPDX-License-Identifier: Apache-2.0
 *
 * The report: one HTML file that loads nothing, made from the records of runs alone; and its figures and
 * tables for papers.
 */
#ifndef ROTARY_REPORT_REPORT_H
#define ROTARY_REPORT_REPORT_H

#include "records/collection.h"

/* Writes the report to `path`, atomically. Unfinished runs are marked and drawn as far as they got.
 * `commit`: of the program that writes it; NULL: it is not known. */
ROTARY_CHECKED rotary_status report_write(const struct collection *collection, const char *path,
                                          const char *commit, rotary_error *error);

/* Writes every figure of the page to `folder`, which is made, as a file of its own: an SVG with a light
 * palette and its style in it, named after the figure's title, "validation-loss.svg". */
ROTARY_CHECKED rotary_status report_figures(const struct collection *collection, const char *folder,
                                            rotary_error *error);

/* Gives the tables of the page as LaTeX, which needs the package booktabs and UTF-8; without those of every
 * pair and run. The caller frees *text. */
ROTARY_CHECKED rotary_status report_latex(const struct collection *collection, char **text,
                                          rotary_error *error);

#endif
