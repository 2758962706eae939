# SPDX-License-Identifier: Apache-2.0
"""oracle_tables.py ROTARY: what apply refuses beside cosines and sines of the caller's own, since nothing would read it."""
import numpy as np
from oracle_support import array, config, refuses, report

T, D = 4, 8
random = np.random.default_rng(20261128)
array("x.npy", random.standard_normal((2, T, 2, D)).astype(np.float32))
array("table.npy", random.standard_normal((9, 3)).astype(np.float32))  # of six channels
array("rows.npy", random.standard_normal((1, T, 3)).astype(np.float32))
array("p.npy", np.arange(T))
whole, part = config({"head_dim": D}, "whole.json"), config({"head_dim": D, "partial_rotary_factor": 0.75}, "part.json")
call = ["apply", "--input", "x.npy", "--output", "y.npy"]
table, rows = (["--cos", name, "--sin", name] for name in ("table.npy", "rows.npy"))

for moved in ["--positions", "p.npy"], ["--offset", 5]:
    refuses(1, "rows.npy has a row for each token, whatever its position", *call, *rows, *moved)
refuses(1, "table.npy has 3 pairs, wanted 4, as many as whole.json has", *call, *table, "--config", whole)
for unread in ["--length", 9], ["--compat", "vllm"], ["--layer-type", "full"], ["--ignore", "rope"]:
    refuses(2, "want --config FILE, whose rotation they are about", *call, *table, *unread)
refuses(2, "--length and --cos exclude each other", *call, *table, "--config", part, "--length", 9)
report()
