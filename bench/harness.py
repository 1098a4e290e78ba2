"""Shared by the scripts of bench/: starting servers, running the generator, writing results.

A table is a script beside this file. It has rows; a row is a function that yields findings; a finding is our number, the
peer's, their ratio and the bar that it must meet.
"""

import csv
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import random
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent
START_TIMEOUT_S = 20
FIFO_PRIORITY = 5


@dataclasses.dataclass
class Finding:
    """One line of a table. `ours` and `peer` are in `unit`; the bar is an upper limit of `judged` ('ratio' or 'ours')."""

    row: str
    what: str
    unit: str
    ours: float
    peer: float | None
    ratio: float | None
    quartiles: tuple[float, float] | None
    bar: float | None
    judged: str = "ratio"
    at_least: bool = False
    note: str = ""

    def verdict(self):
        value = self.ratio if self.judged == "ratio" else self.ours
        if self.bar is None or value is None:
            return ""
        if value >= self.bar if self.at_least else value <= self.bar:
            return "met"
        # A bar of 1 is met if the quartiles include 1: no finer distinction is possible.
        even = self.bar == 1 and self.quartiles and self.quartiles[0] <= 1 <= self.quartiles[1]
        return "even" if even else "NOT MET"


def may_use_fifo():
    """Whether this user may use real-time scheduling, which keeps the machine's other work out of the measurement."""
    return shutil.which("chrt") is not None and subprocess.run(
        ["chrt", "-f", str(FIFO_PRIORITY), "true"], stderr=subprocess.DEVNULL, check=False
    ).returncode == 0


def fifo(wanted):
    return ["chrt", "-f", str(FIFO_PRIORITY)] if wanted else []


def on_cpus(cpus):
    return ["taskset", "-c", cpus] if cpus else []


class Server:
    """A server that this script started. It is stopped by its process number, never by its name."""

    def __init__(self, name, command, prefix=(), ready=None):
        self.name = name
        self.command = [*prefix, *map(str, command)]
        self.began = time.perf_counter()
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = None
        try:
            ready(self)
        except BaseException:
            self.stop()
            raise
        self.ready_s = time.perf_counter() - self.began

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def pid(self):
        return self.process.pid

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def line(self, pattern):
        """Reads standard output until a line matches."""
        for line in self.process.stdout:
            if found := re.match(pattern, line):
                return found
        raise RuntimeError(f"{self.name} ended without saying {pattern!r}: {' '.join(self.command)}")

    def status(self, field):
        """A field of /proc/PID/status in bytes: VmRSS, VmHWM."""
        text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"^{field}:\s+(\d+) kB", text, re.M)[1]) * 1024

    def rss(self):
        """Private memory in bytes, counted page by page: the sums in `status` lag behind by the counters of each CPU."""
        text = pathlib.Path(f"/proc/{self.pid}/smaps_rollup").read_text()
        fields = re.findall(r"^(?:Anonymous|Pss_Shmem):\s+(\d+) kB", text, re.M)
        return sum(map(int, fields)) * 1024

    def cpu(self):
        """CPU seconds so far, from the process's own clock: see clock_getcpuclockid(3)."""
        scheduler_time = 2
        return time.clock_gettime((~self.pid << 3) | scheduler_time)

    def reset_peak(self):
        pathlib.Path(f"/proc/{self.pid}/clear_refs").write_text("5")


def free_port():
    """A port below the range that outgoing connections use."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def accepts(port):
    """Waits until the server accepts connections at a port of this machine."""

    def wait(server):
        server.address = f"127.0.0.1:{port}"
        end = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < end:
            if server.process.poll() is not None:
                raise RuntimeError(f"{server.name} ended at once: {' '.join(server.command)}")
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except ConnectionRefusedError:
                time.sleep(0.0005)
        raise RuntimeError(f"{server.name} accepts no connections: {' '.join(server.command)}")

    return wait


def connect(server, count):
    """Opens `count` connections and waits until the server has accepted all of them."""
    host, port = server.address.rsplit(":", 1)
    sockets = [socket.create_connection((host, int(port))) for _ in range(count)]
    while len(os.listdir(f"/proc/{server.pid}/fd")) < count:
        time.sleep(0.001)
    return sockets


def receive(connection, size):
    while size > 0:
        piece = connection.recv(min(size, 1 << 20))
        if not piece:
            raise RuntimeError("the server closed a connection")
        size -= len(piece)


def idle_bytes(server, count, request, reply_size):
    """The server's memory per idle connection, after each has been answered once."""

    def exchange(sockets):
        for connection in sockets:
            connection.sendall(request)
            receive(connection, reply_size)

    sockets = connect(server, 1)
    exchange(sockets)
    before = server.rss()
    sockets += connect(server, count)
    exchange(sockets[1:])
    grown = server.rss() - before
    for connection in sockets:
        connection.close()
    return grown / count


def allow_open_files():
    """Raises the limit of open files to the hard limit, for this script and the servers that it starts."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def generate(generator, prefix, *options):
    """Runs the generator and returns its report."""
    command = [*prefix, *generator, "--json", *map(str, options)]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"the generator failed: {' '.join(command)}")
    return json.loads(result.stdout)


def median(values):
    return statistics.median(values)


def middle(spreads):
    """The spread with the median of all medians, which represents the repetitions."""
    return sorted(spreads, key=lambda spread: spread["median"])[len(spreads) // 2]


SERVERS_IN_PHASES = """\
A ratio is ours over the peer's. One generator process alternates between the servers in phases of milliseconds and reads
each server's CPU clock at the edges of its phases; the ratio is the median over the cycles, with its quartiles."""


class Results:
    """Findings: printed as they come, written to files at the end."""

    def __init__(self, table, arguments, method=SERVERS_IN_PHASES):
        self.table = table
        self.arguments = arguments
        self.method = method
        self.findings = []
        self.raw = []

    def sample(self, row, metric, server, repetition, value):
        self.raw.append((row, metric, server, repetition, value))

    def add(self, finding):
        self.findings.append(finding)
        print(text_line(finding), flush=True)

    def write(self, folder, notes):
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "raw.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("row", "metric", "server", "repetition", "value"))
            writer.writerows(self.raw)
        (folder / "summary.md").write_text(summary(self.table, self.findings))
        (folder / "README.md").write_text(readme(self.table, self.arguments, notes, self.method))
        print(f"\nwritten to {folder}")


def number(value):
    return "-" if value is None else f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def cells(finding):
    quartiles = "" if finding.quartiles is None else f" [{finding.quartiles[0]:.3f} {finding.quartiles[1]:.3f}]"
    ratio = "-" if finding.ratio is None else f"{finding.ratio:.3f}{quartiles}"
    bar = "-" if finding.bar is None else f"{'>=' if finding.at_least else '<='} {finding.bar:g}"
    what = finding.what if finding.judged == "ratio" else f"{finding.what} (absolute)"
    return finding.row, what, finding.unit, number(finding.ours), number(finding.peer), ratio, bar, finding.verdict(), finding.note


HEADINGS = ("row", "what", "unit", "ours", "peer", "ratio [quartiles]", "bar", "", "note")
WIDTHS = (14, 38, 6, 9, 9, 24, 9, 8, 0)


def text_line(finding):
    return " ".join(cell.ljust(width) for cell, width in zip(cells(finding), WIDTHS)).rstrip()


def heading():
    return " ".join(cell.ljust(width) for cell, width in zip(HEADINGS, WIDTHS)).rstrip()


def summary(table, findings):
    rows = [HEADINGS, ["---"] * len(HEADINGS), *map(cells, findings)]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return f"# {table}\n\n" + "\n".join(lines) + "\n"


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.M)
    return found[1] if found else platform.machine()


def memory_gib():
    text = pathlib.Path("/proc/meminfo").read_text()
    return int(re.search(r"^MemTotal:\s+(\d+)", text, re.M)[1]) / 2**20


def machine():
    """A name for the machine: its processor and its number of CPUs."""
    words = re.sub(r"\(.*?\)|CPU|Processor|@.*", " ", processor())
    slug = "-".join(re.findall(r"[a-z0-9]+", words.lower())[:4])
    return f"{slug}-{os.cpu_count()}cpu"


def commit():
    run = lambda *command: subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    dirty = run("git", "status", "--porcelain", "--untracked-files=no")
    return (run("git", "rev-parse", "--short=12", "HEAD") or "unknown") + (" with local changes" if dirty else "")


def shown(argument):
    """An argument without the path of a program or file on this machine."""
    return os.path.basename(argument) if os.path.isabs(argument) else argument


def readme(table, arguments, notes, method):
    now = datetime.datetime.now(datetime.timezone.utc)
    lines = [
        f"# {table}: {now:%Y-%m-%d}",
        "",
        f"- Machine: {processor()}, {os.cpu_count()} CPUs, {memory_gib():.0f} GiB, Linux {platform.release()}",
        f"- Revision: {commit()}",
        f"- Command: `{' '.join(map(shown, arguments))}`",
        *(f"- {note}" for note in notes),
        "",
        "`summary.md` has the table, `raw.csv` every repetition. Absolute numbers depend on the machine and vary over time.",
        method,
        "",
    ]
    return "\n".join(lines)


def results_folder(table, given):
    if given:
        return pathlib.Path(given)
    today = datetime.date.today()
    return BENCH / "results" / f"{today:%Y-%m-%d}-{machine()}" / table


def fail(message):
    sys.exit(f"bench: {message}")
