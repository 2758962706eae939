# SPDX-License-Identifier: Apache-2.0
"""sacrebleu_peer.py ROTARY: rotary bleu beside sacreBLEU, on random text of all scripts with every combination of options,
and on real sentences where they are."""
import itertools
import logging
import math
import os
import sys
import unicodedata

sys.path[:0] = [os.path.join(os.environ["ROTARY_SOURCE_DIR"], "tests", name) for name in ("oracle", "score")]
import sacrebleu  # noqa: E402
from oracle_support import check, near, report, result, run, source  # noqa: E402
from random_segments import Segments  # noqa: E402
from sacrebleu.metrics import BLEU, CHRF  # noqa: E402

logging.disable(logging.CRITICAL)
if sacrebleu.__version__.split(".")[0] != "2":
    print(f"skipped: this is sacreBLEU {sacrebleu.__version__}, wanted 2")
    sys.exit(77)


def save(name, lines):
    """Only \\n ends a line for both, and a byte-order mark, which is no text for rotary, begins no file."""
    lines = ["" if i == 0 and line.startswith("\ufeff") else line for i, line in enumerate(lines)]
    with open(name, "w", encoding="utf-8", newline="\n") as file:
        file.write("".join(line.replace("\r", " ").replace("\n", " ").replace("\0", " ") + "\n" for line in lines))
    with open(name, encoding="utf-8", newline="\n") as file:
        return [line.rstrip() for line in file]


def save_corpus(hypotheses, references):
    names = [f"ref{i}" for i in range(len(references))]
    read = [save(name, side) for name, side in zip(names, references)]
    return names, save("hyp", hypotheses), read


def compare(about, metric, options, names, hypotheses, references):
    """The scores of all segments and of the corpus, and what is printed."""
    theirs = metric.corpus_score(hypotheses, references)
    signature = str(metric.get_signature())
    single = result("bleu", *names, "hyp", *options, "--sentence-level", "--json")
    if single:
        metric.effective_order = True
        wanted = [metric.sentence_score(h, list(r)).score for h, *r in zip(hypotheses, *references)]
        near(f"{about}: segments", single["scores"], wanted, 1e-9)
        check(f"{about}: signature of segments", single["signature"].startswith(str(metric.get_signature()).rsplit("|", 1)[0]))
    whole = result("bleu", *names, "hyp", *options, "--json")
    if whole:
        near(f"{about}: corpus", whole["score"], theirs.score, 1e-9)
        check(f"{about}: name", whole["name"] == theirs.name)
        check(f"{about}: signature", whole["signature"].startswith(signature.rsplit("|", 1)[0] + "|version:2."), whole["signature"])
        if theirs.name == "BLEU":
            near(f"{about}: precisions", whole["precisions"], theirs.precisions, 1e-9)
            near(f"{about}: brevity penalty", whole["bp"], theirs.bp, 1e-12)
            check(f"{about}: lengths", (whole["hyp_len"], whole["ref_len"]) == (theirs.sys_len, theirs.ref_len))
            check(f"{about}: details", whole["verbose_score"] == theirs._verbose, whole["verbose_score"])
    printed = run("bleu", *names, "hyp", *options, "--width", 2).stdout
    wanted = theirs.format(2, False, "").split(" = ", 1)[1]
    check(f"{about}: text", printed.endswith(" = " + wanted + "\n"), printed + wanted)


def random_bleu(segments):
    methods = ["exp", "floor", "add-k", "none"]
    for i, (tokenizer, method, lower, count) in enumerate(
            itertools.product(["13a", "intl", "char", "none"], methods, [False, True], [1, 2, 4])):
        value = segments.random.choice([None, 0.5, 2.0]) if method in ("floor", "add-k") else None
        options = ["--tokenize", tokenizer, "--smooth-method", method] + ["--lowercase"] * lower
        options += ["--smooth-value", value] if value else []
        names, hypotheses, references = save_corpus(*segments.corpus(60, count))
        metric = BLEU(lowercase=lower, tokenize=tokenizer, smooth_method=method, smooth_value=value)
        compare(f"BLEU {' '.join(map(str, options))}, {count} references", metric, options, names, hypotheses, references)


def random_chrf(segments):
    orders = [(6, 0, 2), (6, 2, 2), (4, 1, 1), (1, 0, 3), (0, 2, 2), (12, 8, 0)]
    for order, lower, space, eps, count in itertools.product(orders, [False, True], [False, True], [False, True], [1, 3]):
        options = ["--metrics", "chrf", "--chrf-char-order", order[0], "--chrf-word-order", order[1], "--chrf-beta", order[2]]
        options += ["--chrf-lowercase"] * lower + ["--chrf-whitespace"] * space + ["--chrf-eps-smoothing"] * eps
        names, hypotheses, references = save_corpus(*segments.corpus(30, count))
        metric = CHRF(*order, lowercase=lower, whitespace=space, eps_smoothing=eps)
        compare(f"chrF {' '.join(map(str, options))}, {count} references", metric, options, names, hypotheses, references)


def every_character():
    """Every assigned character among letters, digits and sentence ends, as intl and in lower case."""
    characters = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in ("Cn", "Cs", "Co") and c not in "\0\n\r"]
    pieces = [f"a{c}1{c}b{c} {c}Σ" for c in characters]
    lines = ["  ".join(pieces[i:i + 24]) for i in range(0, len(pieces), 24)]
    names, hypotheses, references = save_corpus(lines, [[line.swapcase() for line in lines]])
    compare("every character", BLEU(tokenize="intl", lowercase=True), ["--tokenize", "intl", "--lowercase"], names, hypotheses,
            references)


def real(segments):
    shared = os.environ.get("ROTARY_SHARED", os.path.join(source, "../shared"))
    folder = os.path.join(shared, "data/multi30k")
    if not os.path.isdir(folder):
        print(f"{folder} is not there: real sentences are left out")
        return
    for language in ("en", "de"):
        with open(os.path.join(folder, f"test_2016_flickr.{language}"), encoding="utf-8") as file:
            lines = file.read().split("\n")[:-1]
        names, hypotheses, references = save_corpus([segments.varied(line) for line in lines], [lines])
        for lower in ([], ["--lowercase"]):
            compare(f"Multi30k {language} {lower}", BLEU(lowercase=bool(lower)), lower, names, hypotheses, references)
        compare(f"Multi30k {language}, chrF++", CHRF(6, 2), ["--metrics", "chrf", "--chrf-word-order", 2], names, hypotheses,
                references)


def paired(segments):
    """Random numbers are others, so that p agrees as two draws of it do; scores are equal."""
    from sacrebleu.significance import PairedTest
    base = [segments.segment() for _ in range(150)]
    reference = save("ref", base)
    systems = [save(f"sys{i}", [segments.varied(line) for line in base]) for i in range(4)]
    names = [f"sys{i}" for i in range(4)]
    inputs = [word for name in names for word in ("--input", name)]
    for test, option, samples in (("bs", "--paired-bs", 2000), ("ar", "--paired-ar", 5000)):
        ours = result("bleu", "ref", *inputs, option, f"{option}-n", samples, "--metrics", "bleu,chrf", "--json")
        _, theirs = PairedTest(list(zip(names, systems)), {"BLEU": BLEU(), "chrF2": CHRF()}, [reference], test, samples)()
        if not ours:
            continue
        for i, found in enumerate(ours["results"]):
            wanted = theirs[found["name"]][i // 2]
            about = f"{option}, system {i // 2}, {found['name']}"
            check(about, found["system"] == names[i // 2] and f"{test}:{samples}|seed:1|" in found["signature"])
            near(f"{about}: score", found["score"], wanted.score, 1e-9)
            if test == "bs":
                near(f"{about}: mean", found["confidence_mean"], wanted.mean, 6 * wanted.ci / 1.96 * math.sqrt(2 / samples))
                near(f"{about}: interval", found["confidence_var"], wanted.ci, 0.15 * wanted.ci)
            if i >= 2:
                p = wanted.p_value
                near(f"{about}: p", found["p_value"], p, 6 * math.sqrt(2 * max(p * (1 - p), 1 / samples) / samples))
            else:
                check(f"{about}: p", "p_value" not in found)


random_bleu(Segments(1))
random_chrf(Segments(2))
every_character()
real(Segments(3))
paired(Segments(4))
report()
