# SPDX-License-Identifier: Apache-2.0
"""oracle_decay.py ROTARY: curves of rotary decay against their formulas in NumPy, and pictures."""
import numpy as np
from oracle_support import check, config, near, refuses, report, result, run


def bound(dim, distances, scale=None):
    """The mean of |S_j| (Su et al. 2021, section 3.4.3), with xPos's magnitudes (Sun et al. 2022)."""
    pair = np.arange(dim // 2)
    zeta = (2 * pair + 0.4 * dim) / (1.4 * dim)
    n = np.arange(distances)[:, None]
    terms = np.exp(1j * n * 10000.0 ** (-2.0 * pair / dim))
    return np.abs(np.cumsum(terms * (zeta ** (n / scale) if scale else 1), 1)).mean(1)


def picture(name, heads):
    with open(name) as file:
        text = file.read()
    check(name, text.startswith("<svg xmlns") and text.count('class="curve') == heads)


# ---- rotations ----

found = result("decay", "--config", config({"head_dim": 128}), "--distance", 300, "--picture", "decay.svg", "--json")
near("decay", found["bound"], bound(128, 301), 1e-11)
check("distances", found["distance"] == list(range(301)))
picture("decay.svg", 1)
lines = run("decay", "--config", "config.json", "--distance", "2").stdout.split("\n")
near("columns", [[float(x) for x in line.split()] for line in lines[:3]], list(enumerate(bound(128, 3))), 1e-11)
for name in ("rope", "roper"):
    found = result("decay", "--position", name, "--channels", 64, "--distance", 40, "--json")
    near(name, found["bound"], bound(64, 41), 1e-11)
found = result("decay", "--position", "xpos", "--channels", 48, "--distance", 70000, "--json")
near("xpos", found["bound"], bound(48, 70001, 512), 1e-10)
found = result("decay", "--config", config({"head_dim": 64, "xpos_scale": 37, "xpos_origin": 5}, "xpos.json"), "--json")
near("xPos", found["bound"], bound(64, 257, 37), 1e-11)
check("xPos decays", found["bound"][256] < 0.2 * bound(64, 257)[256])
# Magnitudes that no distance changes are left out.
yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
near("an attention factor", *(result("decay", "--config", config(
    {"head_dim": 64, "max_position_embeddings": 16384, "rope_scaling": dict(yarn, attention_factor=factor)}), "--json")["bound"]
    for factor in (1.0, 3.0)), 0)

# ---- biases ----

def slopes(heads):
    """Press et al. 2022, as their repository computes them."""
    power = 2 ** int(np.floor(np.log2(heads)))
    first = [2.0 ** (-8.0 / power * (h + 1)) for h in range(power)]
    return first + list(slopes(2 * power)[0::2][:heads - power]) if power < heads else first


n = np.arange(101)
for heads in (1, 6, 8):
    found = result("decay", "--position", "alibi", "--heads", heads, "--distance", 100, "--picture", "decay.svg", "--json")
    wanted = -np.outer(slopes(heads), n)
    near(f"alibi of {heads}", found["bias"], wanted, 1e-7 * np.abs(wanted))
    picture("decay.svg", heads)
found = result("decay", "--position", "sandwich", "--heads", 3, "--channels", 48, "--distance", 100, "--json")
sums = (np.cos(n[:, None] * 10000.0 ** (-2.0 * np.arange(24) / 48)) - 1).sum(1)
wanted = np.outer(3 / (8.0 * np.arange(1, 4)), sums)
near("sandwich", found["bias"], wanted, 1e-6 * np.abs(wanted))
# Of a file that describes an encoding.
own = config({"bias": "-head * log(1 + abs(distance)) / heads"}, "mine.json")
found = result("decay", "--position", own, "--heads", 3, "--distance", 100, "--json")
wanted = -np.outer(np.arange(3) / 3, np.log(1 + n))
near("a formula", found["bias"], wanted, 1e-6 * np.abs(wanted))
own_rotation = config({"rotate": ["query", "key"], "frequencies": "10000 ^ (-pair / pairs)"}, "rotating.json")
found = result("decay", "--position", own_rotation, "--channels", 48, "--distance", 40, "--json")
near("frequencies", found["bound"], bound(48, 41), 1e-11)
lines = run("decay", "--position", "alibi", "--heads", "2", "--distance", "2").stdout.split("\n")
near("columns", [[float(x) for x in line.split()] for line in lines[:3]],
     [[0, 0, 0], [1, -2**-4, -2**-8], [2, -2**-3, -2**-7]], 0)

# ---- refusals ----

refuses(2, "decay wants --config FILE, --position NAME or DIR", "decay")
refuses(2, "--config and --position are both given", "decay", "--config", "config.json", "--position", "alibi")
refuses(2, "--heads changes nothing with --position rope", "decay", "--position", "rope", "--heads", 2)
refuses(2, "--channels changes nothing with --position alibi", "decay", "--position", "alibi", "--channels", 2)
refuses(2, "--length changes nothing with --position alibi", "decay", "--position", "alibi", "--length", 2)
refuses(2, "--heads changes nothing with --config", "decay", "--config", "config.json", "--heads", 2)
refuses(2, "--channels is 7, wanted an even number", "decay", "--position", "sandwich", "--channels", 7)
refuses(1, "1000 heads of 1000001 distances: wanted at most", "decay", "--position", "alibi", "--heads", 1000,
        "--distance", 1000000)
refuses(2, "mine.json would replace mine.json", "decay", "--position", own, "--picture", "mine.json")
refuses(1, "the bias of head 0 at distance 3 is not a finite number", "decay", "--position", config(
    {"bias": "1 / (3 - abs(distance))"}, "pole.json"))
refuses(2, "alibo", "decay", "--position", "alibo")
refuses(2, "--channels changes nothing with --position mine.json", "decay", "--position", own, "--channels", 8)
refuses(1, "the bias of slope is learned", "decay", "--position", config(
    {"name": "slope", "bias": "-w * abs(distance)", "learned": {"w": 1}}, "learned.json"))
refuses(1, "the bias of t5 is learned: rotary decay DIR", "decay", "--position", "t5")
refuses(1, "nothing in the scores of none depends on the distance alone", "decay", "--position", "none")
report()
