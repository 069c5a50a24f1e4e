from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from hippocrene import Client, inspect

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak")

# A program that prints the peak memory that loading adds, after all imports.
MEASURE = """
import sys
import numpy
from hippocrene import Client, EvaluationKeys, Server

def peak():
    return 1024 * int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])

path, keys = sys.argv[1], sys.argv[2:]
server = Server(EvaluationKeys.load(keys[0])) if keys else None
open("/proc/self/clear_refs", "w").write("5")
before = peak()
loaded = server.load(path) if server else EvaluationKeys.load(path)
print(peak() - before)
"""


def measured(*paths):
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.parametrize("preset", ["n13", "n14"])
def test_the_peak_of_loading_is_as_inspect_says(preset, tmp_path):
    client = Client.generate(preset)
    few, keys, array, result = (tmp_path / name for name in ("few", "keys", "array", "result"))
    client.evaluation_keys(rotations=[]).save(few)
    client.evaluation_keys().save(keys)
    encrypted = client.encrypt(np.ones(24 * client.slots))
    encrypted.save(array)
    client.public_key().encrypt(np.ones(16 * client.slots)).save(result)
    for name, paths in (("keys", [keys]), ("array", [array, few]), ("result", [result, few])):
        stated, taken = inspect(paths[0])["peak_memory"], measured(*paths)
        assert taken <= stated <= 1.3 * taken, (
            f"{preset} {name}: {stated} bytes are stated and {taken} taken"
        )
