# SPDX-License-Identifier: Apache-2.0
"""What results/attention-by-query.json (scripts/attention-by-query) has for the cells of a table: means over seeds, and
Student's 95% interval of them."""
import json
import pathlib
import re

from result_archives import ENCODINGS, mean_and_interval
from result_columns import Unknown, scaling_of

FILE = "results/attention-by-query.json"
MEASURES = {"entropy": "entropy", "norm": "output_norm"}


def expected(root, label, header):
    """The mean, low and high of a heading such as "entropy, 256 to 511" for the row "RoPER, YaRN"."""
    comparison, = json.loads((pathlib.Path(root) / FILE).read_text(encoding="utf-8")).values()
    name = label.partition(", ")[0].lower()
    runs = comparison["arms"].get(ENCODINGS.get(name, f"{name},key_is_value=false"))
    found = re.fullmatch(r"(\w+), ([\d,]+) to [\d,]+", header)
    if not runs or not found or found[1] not in MEASURES:
        raise Unknown(f'{FILE} has no "{header}" of "{label}"')
    first = found[2].replace(",", "")
    return mean_and_interval([run[scaling_of(label)][MEASURES[found[1]]][first] for run in runs.values()])
