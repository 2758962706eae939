# SPDX-License-Identifier: Apache-2.0
"""Draws the curves of a comparison: the mean over seeds of every arm, and the paired differences from the baseline.

    python examples/plot_comparison.py results/prefix-quick.tar.gz --output curves.png

Bands are 95% t intervals: on the left of an arm's mean, which says how much seeds differ; on the right of the mean
difference of pairs with the same seed, which says whether the arms do. They hold for each step alone; the verdict is
that of `rotary compare`. Wants the package with what plots need: `pip install '.[runs,plot]'`.
"""
import argparse
import math

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot  # noqa: E402
import scipy.stats  # noqa: E402

import rotary.runs  # noqa: E402


def intervals(values, by=("arm", "step"), column="value"):
    """Mean and half of the 95% interval by arm and step; one seed alone has no interval."""
    table = values.groupby(list(by))[column].agg(["mean", "std", "count"]).reset_index()
    quantile = scipy.stats.t.ppf(0.975, (table["count"] - 1).clip(lower=1))
    table["half"] = quantile * table["std"] / table["count"].pow(0.5)
    return table


def draw(axes, table, arms, colors):
    for arm in arms:
        rows = table[table.arm == arm]
        axes.plot(rows.step, rows["mean"], label=arm, color=colors[arm])
        axes.fill_between(rows.step, rows["mean"] - rows.half, rows["mean"] + rows.half, color=colors[arm], alpha=0.2,
                          linewidth=0)
    axes.set_xlabel("step")
    axes.grid(alpha=0.3)


def describe(table, arms, seeds):
    """The last row of each arm, as text."""
    for arm in arms:
        rows = table[table.arm == arm]
        if rows.empty:
            continue
        last = rows.iloc[-1]
        interval = "" if math.isnan(last.half) else f" [{last['mean'] - last.half:.4f}, {last['mean'] + last.half:.4f}]"
        print(f"{arm}: {last['mean']:.4f}{interval} at step {last.step}, {int(last['count'])} of {seeds} seeds")


def read_arguments():
    """The options, and the comparison that they name."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", help="of a comparison: it has compare.json; or its archive")
    parser.add_argument("--output", default="comparison.png", help="the picture: .png, .svg or .pdf")
    parser.add_argument("--measure", default="loss", help="of evaluations: loss, accuracy, correct, bleu, ...")
    parser.add_argument("--baseline", help="the arm that the others are compared with (default: the first)")
    parser.add_argument("--arms", help="only these, with commas (default: all)")
    parser.add_argument("--from-step", type=int, default=0, help="leave out what is before this step")
    options = parser.parse_args()
    try:
        comparison = rotary.runs.Comparison(options.folder)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    options.arms = options.arms.split(",") if options.arms else comparison.arms
    options.baseline = options.baseline or comparison.arms[0]
    for arm in [*options.arms, options.baseline]:
        if arm not in comparison.arms:
            parser.error(f"there is no arm {arm!r}, wanted one of {', '.join(comparison.arms)}")
    columns = comparison.evaluations().columns
    if options.measure not in columns:
        parser.error(f"evaluations have no {options.measure!r}, wanted one of {', '.join(columns[3:])}")
    return options, comparison


def main():
    options, comparison = read_arguments()
    arms, baseline = options.arms, options.baseline
    evaluations = comparison.evaluations()
    evaluations = evaluations[evaluations.step >= options.from_step]
    differences = comparison.differences(options.measure, baseline)
    differences = differences[differences.step >= options.from_step]

    means = intervals(evaluations, column=options.measure)
    pairs = intervals(differences, column="difference")
    colors = {arm: f"C{i % 10}" for i, arm in enumerate(comparison.arms)}
    others = [arm for arm in arms if arm != baseline]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    draw(left, means, arms, colors)
    name = "validation loss" if options.measure == "loss" else options.measure
    left.set_ylabel(name)
    left.legend()
    draw(right, pairs, others, colors)
    right.axhline(0, color="black", linewidth=0.8)
    right.set_ylabel(f"{name} minus that of {baseline}, same seed")
    if others:
        right.legend()
    figure.suptitle(f"{comparison.file.get('config', {}).get('task', options.folder)}: "
                    f"means of {len(comparison.seeds)} seeds, 95% intervals")
    figure.savefig(options.output, dpi=150)
    describe(means, arms, len(comparison.seeds))
    describe(pairs.assign(arm=pairs.arm + f" - {baseline}"), [f"{arm} - {baseline}" for arm in others],
             len(comparison.seeds))
    print(options.output)


if __name__ == "__main__":
    main()
