"""Hikyaku and memcached side by side: how both are started, and how one generator alternates between them.

bench/kv and bench/curves are written with it.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from harness import ROOT, Results, Server, accepts, fail, fifo, free_port, generate, may_use_fifo

CONNECTIONS = 50
THREADS = 2
CONNECTIONS_MAX = 16_000


class Pair:
    """The servers' commands and the generator, as the arguments name them."""

    def __init__(self, arguments, table):
        self.arguments = arguments
        self.fifo = fifo(not arguments.no_fifo and may_use_fifo())
        self.generator = (arguments.generator or f"{arguments.hikyaku} bench kv").split()
        self.results = Results(table, sys.argv)
        self.data = tempfile.TemporaryDirectory(prefix="hikyaku-bench-")

    def ours(self, capacity_mib, item_max_mib=1):
        if self.arguments.control:
            return self.memcached(capacity_mib, item_max_mib, "control")

        def ready(server):
            server.address = server.line(r"listening memcached (\S+)")[1]
            server.line("ready")

        store = f"default=memory:?capacity={capacity_mib}MiB&item_size_max={item_max_mib}MiB"
        command = [self.arguments.hikyaku, "serve", "--memcached", "127.0.0.1:0", "--store", store]
        command += ["--workers", THREADS, "--data", self.data.name]
        return Server("hikyaku", command, self.fifo, ready)

    def memcached(self, capacity_mib, item_max_mib=1, name="memcached"):
        port = free_port()
        command = [self.arguments.memcached, "-l", "127.0.0.1", "-p", port, "-U", 0, "-u", "root", "-t", THREADS]
        command += ["-m", capacity_mib, "-I", f"{item_max_mib}m", "-c", CONNECTIONS_MAX]
        return Server(name, command, self.fifo, accepts(port))

    def load(self, ours, peer, *options):
        """One run of the generator over both, or over one server if there is no peer."""
        servers = [f"{ours.name}={ours.address}"]
        servers += ["--vs", f"{peer.name}={peer.address}"] if peer else []
        connections = [] if "--connections" in options else ["--connections", CONNECTIONS]
        return generate(self.generator, self.fifo, *servers, *connections, *options)

    def record(self, row, repetition, report):
        """Keeps the figures of one run for raw.csv, and fails if a server answered with an error."""
        for server in report["servers"]:
            if server["errors"] or server["wrong"]:
                fail(f"{row}: {server['name']} answered with errors: {server['first_error']}")
            numbers = {"throughput": server["throughput"], **server["latency"], "hit_ratio": server["hit_ratio"]}
            for metric in ("cpu_us_per_request", "phase_p50_us", "phase_p99_us"):
                if server[metric]:
                    numbers[metric] = server[metric]["median"]
            for metric, value in numbers.items():
                if value is not None:
                    self.results.sample(row, metric, server["name"], repetition, value)
        for ratios in report["ratios"]:
            for metric in ("cpu", "throughput", "p50", "p99"):
                if ratios[metric]:
                    self.results.sample(row, f"ratio_{metric}", ratios["peer"], repetition, ratios[metric]["median"])

    def notes(self, *notes):
        """The lines of README.md that say how both servers ran."""
        peer = subprocess.run([self.arguments.memcached, "--version"], stdout=subprocess.PIPE, text=True, check=False)
        control = ["**A control:** both servers are memcached"] if self.arguments.control else []
        return [
            f"Peer: {peer.stdout.strip()}, `-t {THREADS}`; ours with `--workers {THREADS}`",
            *notes,
            f"Scheduling: {'SCHED_FIFO for servers and generator' if self.fifo else 'the default'}",
            *control,
        ]


def add_arguments(parser, duration, repeat, control=True):
    """The arguments that every table of the pair has. Without `control` both servers are never the same."""
    parser.add_argument("--hikyaku", default=ROOT / "target/release/hikyaku", type=pathlib.Path)
    parser.add_argument("--memcached", default=shutil.which("memcached"), help="the peer; the installed one by default")
    parser.add_argument("--generator", help="the generator's command; HIKYAKU bench kv by default")
    parser.add_argument("--duration", default=duration, help=f"measured time of each server in each repetition ({duration})")
    parser.add_argument("--repeat", default=repeat, type=int, help=f"repetitions, each with servers of its own ({repeat})")
    if control:
        parser.add_argument("--control", action="store_true", help="run memcached in place of Hikyaku, too")
    parser.set_defaults(control=False)
    parser.add_argument("--no-fifo", action="store_true", help="no real-time scheduling, even if it is allowed")
    parser.add_argument("--results", help="the folder to write to")


def check_arguments(parsed):
    if not parsed.memcached:
        fail("there is no memcached; install one, or name one with --memcached PATH")
    if not parsed.hikyaku.exists():
        fail(f"there is no {parsed.hikyaku}; run make build, or name one with --hikyaku PATH")
