# SPDX-License-Identifier: Apache-2.0
"""count_glue.py FOLDER: what the files of GLUE in a folder hold, and what they leak: the counts that tests/task/test_glue.c and
docs/how-to/classify.md have."""
import sys
from collections import Counter

folder = sys.argv[1]
FILES = {
    "CoLA": ("in_domain_train.tsv", "in_domain_dev.tsv", False, [3], 1),
    "SST-2": ("train.tsv", "dev.tsv", True, [0], 1),
    "MRPC": ("msr_paraphrase_train.txt", None, True, [3, 4], 0),
    "STS-B": ("sts-train.tsv", "sts-dev.tsv", False, [5, 6], 4),
    "RTE": ("train.tsv", "dev.tsv", True, [1, 2], 3),
}


def read(name, file, header):
    if file is None:
        return []
    with open(f"{folder}/{name}/{file}", encoding="utf-8-sig", newline="\n") as lines:
        return [line.rstrip("\n").split("\t") for line in lines][int(header):]


def spaced(text):
    return " " + " ".join(text.split()) + " "


for name, (training_file, validation_file, header, columns, label) in FILES.items():
    training, validation = read(name, training_file, header), read(name, validation_file, header)
    print(name, "training", len(training), "validation", len(validation))
    for rows in (training, validation):
        labels = Counter(row[label] for row in rows)
        print("  labels", dict(labels) if len(labels) < 9 else f"{len(labels)} numbers from {min(map(float, labels))} to {max(map(float, labels))}",
              "fields", dict(Counter(map(len, rows))), "quotes begin", sum(row[c].startswith('"') for row in rows for c in columns))
    texts = [spaced(row[c]) for row in validation for c in columns]
    known = {spaced(row[c]) for row in training for c in columns}
    joined = "\n".join(known)
    print("  texts of validation", len(texts), "that training has", sum(t in known for t in texts),
          "that are part of one of training", sum(t in joined for t in texts))
    pairs = {tuple(spaced(row[c]) for c in columns) for row in training}
    print("  examples of validation that training has", sum(tuple(spaced(row[c]) for c in columns) in pairs for row in validation))
    if len(columns) == 1:
        every = sorted({spaced(row[columns[0]]) for row in training + validation}, key=len, reverse=True)
        words, sentences = {}, []
        for text in every:  # a text is a part of a longer one only if that has all of its words
            rarest = min((words.get(word, ()) for word in text.split()), key=len, default=())
            if any(text in sentences[i] for i in rarest):
                continue
            for word in set(text.split()):
                words.setdefault(word, []).append(len(sentences))
            sentences.append(text)
        print("  different texts", len(every), "that are a part of no other", len(sentences))
