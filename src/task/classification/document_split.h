/* SPDX-License-Identifier: Apache-2.0
 *
 * A split of examples that have several documents each, as triplets of similar cases have, by document: no
 * document of training is in validation or test, and none of validation in test. It matters: where a few
 * documents are in many examples, which of them was right elsewhere says much about where it is right here.
 *
 * Documents are drawn for validation one by one, and then for test, until each has its share of the examples.
 * The next one is, of those that share an example with a drawn one, that which makes the most examples
 * complete for the fewest that are torn apart; where there is none, the one with the smallest hash. An
 * example that shares a document with validation or test without being in it is left out. (Groups of examples
 * that share no document with others, as task/classification/fresh_split.h draws them for pairs, are no way
 * here: in CAIL2019-SCM 496 of 500 triplets are one group.) What is drawn follows from the texts alone:
 * neither their order nor a seed changes it.
 */
#ifndef ROTARY_TASK_CLASSIFICATION_DOCUMENT_SPLIT_H
#define ROTARY_TASK_CLASSIFICATION_DOCUMENT_SPLIT_H

#include "task/classification/fresh_split.h"

struct document_request {
    int64_t count;                 /* examples */
    int per_example;               /* documents of each */
    const struct text_line *texts; /* [count, per_example] */
    double share;                  /* of the examples that validation has, and as many test; 0 ... 0.5 */
};

/* sides[i], an enum fresh_side: where example i is. Takes time in proportion to the documents drawn times
 * those that share an example with them. */
ROTARY_CHECKED rotary_status document_split(const struct document_request *request, unsigned char *sides,
                                            rotary_error *error);

#endif
