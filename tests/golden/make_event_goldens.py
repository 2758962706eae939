# SPDX-License-Identifier: Apache-2.0
"""make_event_goldens.py > tests/train/event_goldens.h: the records that TensorBoard's own writer makes of lines of metrics.jsonl."""
import io
import json

import tensorboard
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

LINES = [
    '{"step":7,"loss":1.25,"learning_rate":0.00025,"gradient_norm":3e-30,"tokens_per_second":123456.8}',
    '{"step":300,"evaluation":{"correct":3,"problems":128,"loss":0.5,"accuracy":0.75,"seconds":1.5},"samples":[{"prompt":"a","correct":true}]}',
    '{"step":5000000000,"evaluation":{"loss":0.125,"labels":{"examples":9,"score":"f1","f1":0.5},"test":{"bleu":31.5,"labels":{"f1":0.25}}}}',
    '{"step":9,"evaluation":{"loss":2,"test":{"loss":3},"checkpoint":"average"}}',
    '{"step":11,"diverged":"loss"}',
]


def scalars(prefix, value):
    for key, item in value.items():
        tag = "test" if (prefix, key) == ("validation", "test") else f"{prefix}/{key}"
        if isinstance(item, dict):
            yield from scalars(tag, item)
        elif isinstance(item, (int, float)):
            yield tag, item


def event_of(text, time):
    line = json.loads(text)
    step = line.pop("step")
    evaluation = line.pop("evaluation", None)
    line.pop("samples", None)
    prefix = "train" if evaluation is None else "average" if "checkpoint" in evaluation else "validation"
    values = [summary_pb2.Summary.Value(tag=tag, simple_value=number) for tag, number in scalars(prefix, line if evaluation is None else evaluation)]
    return event_pb2.Event(wall_time=time, step=step, **({"summary": summary_pb2.Summary(value=values)} if values else {}))


def record(event):
    to = io.BytesIO()
    RecordWriter(to).write(event.SerializeToString())
    return ", ".join(str(byte) for byte in to.getvalue())


print(f"""/* SPDX-License-Identifier: Apache-2.0
 *
 * Made by tests/golden/make_event_goldens.py with TensorBoard {tensorboard.__version__}: do not edit. */
#ifndef TESTS_TRAIN_EVENT_GOLDENS_H
#define TESTS_TRAIN_EVENT_GOLDENS_H

/* clang-format off */
/* A line of metrics.jsonl, NULL for the first record of a file, its time, and the bytes of its record. */
static const struct {{ const char *line; double time; int bytes; unsigned char record[400]; }} golden_events[] = {{""")
events = [(None, event_pb2.Event(wall_time=1700000000.25, file_version="brain.Event:2"), 1700000000.25)]
events += [(line, event_of(line, 1700000000.5 + i), 1700000000.5 + i) for i, line in enumerate(LINES)]
for line, event, time in events:
    text = "NULL" if line is None else json.dumps(line)
    print(f"    {{{text}, {time}, {len(record(event).split())}, {{{record(event)}}}}},")
print("""};
/* clang-format on */

#endif""")
