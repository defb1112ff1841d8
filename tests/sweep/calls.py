"""Checks a finished set: every debate is there once, and no call that a store acknowledged was made again.

    calls.py PLAN STORE LOG killed|whole

LOG is that of `model.py`; with `killed`, calls must have been lost with their workers. An answer names its call; when it
is in the record, its call is acknowledged, and may not come after that.
"""

import json
import pathlib
import re
import sys
from collections import Counter
from datetime import datetime

plan, store, log = map(pathlib.Path, sys.argv[1:4])
debates = [json.loads(line)["id"] for line in plan.read_text().splitlines()[1:]]
there = sorted(path.name for path in (store / "debates").iterdir())
assert there == sorted(debates), f"planned {sorted(debates)}, in the store {there}"

asked = [json.loads(line) for line in log.read_text().splitlines()]
recorded, lost = {}, 0
for debate in debates:
    underway = set()
    for line in (store / "debates" / debate / "journal").read_text().splitlines():
        event = json.loads(line)
        at = datetime.fromisoformat(event["at"].replace("Z", "+00:00")).timestamp()
        for call in re.findall(r"call-[0-9a-f]{12}", line):
            recorded.setdefault(call, at)
        if event["type"] == "cost-reserved":
            underway.add(event["seq"])
        elif event["type"] == "resumed":
            lost += len(underway)
            underway.clear()
        else:
            underway.discard((event.get("call") or {}).get("reservation"))

times = Counter(one["call"] for one in asked)
again = sum(count - 1 for count in times.values())
late = [one for one in asked if one["at"] > recorded.get(one["call"], float("inf"))]
assert not late, f"made again although its answer was acknowledged: {late}"
assert set(times) == set(recorded), f"no answer of {set(times) - set(recorded)} is recorded"
assert (lost > 0) == (sys.argv[4] == "killed"), f"{lost} calls were lost"
assert again <= lost, f"{again} calls were made again, and {lost} are counted as lost"
print(f"{len(debates)} debates, {len(asked)} calls, {again} of them made again, {lost} lost with their workers")
