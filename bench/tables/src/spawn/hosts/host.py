"""A measured parent in Python: host.py CHILD BYTES, then a row, a count and a time on each line of standard input."""

import json
import mmap
import os
import resource
import subprocess
import sys
import time

child, touched = sys.argv[1], int(sys.argv[2])
commands, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
null = os.open("/dev/null", os.O_RDWR)
os.dup2(null, 0)
os.dup2(null, 1)

if touched:
    memory = mmap.mmap(-1, touched, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for offset in range(0, touched, 4096):
        memory[offset] = 1


def run(**options):
    began = time.perf_counter_ns()
    process = subprocess.Popen([child], **options)
    blocked = time.perf_counter_ns() - began
    if process.wait():
        raise OSError(f"the child ended with {process.returncode}")
    return blocked


def os_system():
    began = time.perf_counter_ns()
    if status := os.system(child):
        raise OSError(f"os.system returned {status}")
    return time.perf_counter_ns() - began


ROWS = {
    "python-run": run,
    "python-pre-exec": lambda: run(preexec_fn=lambda: None),
    "python-os-system": os_system,
}


def cpu(who):
    usage = resource.getrusage(who)
    return round((usage.ru_utime + usage.ru_stime) * 1e9)


def measure(row, count, budget_ms):
    spawn = ROWS[row]
    spawn()
    blocked = []
    own, children = cpu(resource.RUSAGE_SELF), cpu(resource.RUSAGE_CHILDREN)
    end = time.monotonic() + budget_ms / 1000
    while len(blocked) < count and (not blocked or time.monotonic() < end):
        blocked.append(spawn())
    own, children = cpu(resource.RUSAGE_SELF) - own, cpu(resource.RUSAGE_CHILDREN) - children
    return {"spawns": len(blocked), "cpu_ns": own + children, "own_ns": own, "blocked_ns": blocked}


for line in commands:
    row, count, budget_ms = line.split()
    try:
        answer = {"found": measure(row, int(count), int(budget_ms))}
    except (OSError, KeyError, subprocess.SubprocessError) as error:
        answer = {"failed": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), file=answers, flush=True)
