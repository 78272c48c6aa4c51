"""Requests a second of servers under FlameProbe, beside the same without it: servers.py [--pairs 5] [--seconds 5]
[--freq 99,999] [--engine auto] [--user] [--floor] [--small] [SERVER...]

uwsgi, unbound, memcached and PHP-FPM from Debian's packages, each with the load program that its users take. The runs of a
pair follow each other, which of them is first changes from pair to pair. Printed: the medians, and the median, least and most
of the pairs' ratios. The load programs and the server have the same CPUs, so a ratio is also of their time. With --floor each
pair has a third run, in floor.c: what the kernel's timer interrupt costs alone, at the same frequency."""

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

from contenders import FLOOR, machine

from harness import AS_ORDINARY_USER, LIBRARY, clean_environment, profiled, started, wait_until  # noqa: E402  (contenders: the path)
from programs import Missing, find, free_port, listening, load  # noqa: E402

UWSGI_APPLICATION = """
import json
def application(environ, start_response):
    text = json.dumps({str(n): [n, str(n) * 3] for n in range(60)}).encode()
    start_response("200 OK", [("Content-Length", str(len(text)))])
    return [text]
"""
UNBOUND = """
server:
    interface: 127.0.0.1@{port}
    access-control: 127.0.0.0/8 allow
    do-daemonize: no
    num-threads: 2
    username: "" chroot: "" pidfile: "" use-syslog: no
    directory: "{dir}"
    local-zone: "test." static
{names}
remote-control:
    control-enable: no
"""
PHP_FPM = """
[global]
daemonize = no
error_log = {dir}/fpm.log
[www]
listen = {dir}/fpm.sock
listen.mode = 0666
{user}
pm = static
pm.max_children = 2
"""
PHP_PAGE = """<?php
$rows = [];
for ($i = 0; $i < 400; ++$i) $rows[] = ['id' => $i, 'name' => md5((string)$i), 'tags' => explode(',', str_repeat('a,', $i % 7))];
usort($rows, fn($a, $b) => strcmp($a['name'], $b['name']));
echo json_encode(array_slice($rows, 0, 40));
"""
NGINX_BEFORE_PHP = """
daemon off; worker_processes 1; pid {dir}/nginx.pid; error_log {dir}/nginx.log; {user}
events {{ worker_connections 256; }}
http {{ access_log off; client_body_temp_path {dir}/t1; proxy_temp_path {dir}/t2; fastcgi_temp_path {dir}/t3;
  uwsgi_temp_path {dir}/t4; scgi_temp_path {dir}/t5;
  server {{ listen 127.0.0.1:{port}; location / {{ fastcgi_pass unix:{dir}/fpm.sock;
    fastcgi_param SCRIPT_FILENAME {dir}/page.php; fastcgi_param REQUEST_METHOD GET; fastcgi_param QUERY_STRING ""; }} }} }}
"""


def wrk(port, seconds):
    told = load([find("wrk"), "-t", 1, "-c", 8, "-d", f"{seconds}s", f"http://127.0.0.1:{port}/"], seconds + 60)
    if "Non-2xx" in told:
        raise SystemExit(f"the server answers with errors: {told}")
    return float(re.search(r"Requests/sec:\s*([\d.]+)", told)[1])


def uwsgi(user, directory, env, seconds):
    (directory / "application.py").write_text(UWSGI_APPLICATION)
    port = free_port()
    with started([*user, find("uwsgi"), "--plugin", "python3", "--http-socket", f"127.0.0.1:{port}", "--wsgi-file",
                  directory / "application.py", "--master", "--processes", 2, "--die-on-term", "--disable-logging"],
                 directory, env) as process:
        wait_until(lambda: listening(port), what="uwsgi listens")
        rate = wrk(port, seconds)
        end(process)
    return rate


def unbound(user, directory, env, seconds):
    generator, port = find("dnsperf"), free_port()
    names = [f"host{n}.test." for n in range(2000)]
    records = "\n".join(f'    local-data: "{name} A 127.1.{n // 250}.{n % 250}"' for n, name in enumerate(names))
    (directory / "unbound.conf").write_text(UNBOUND.format(port=port, dir=directory, names=records))
    (directory / "queries").write_text("".join(f"{name} A\n" for name in names))
    with started([*user, find("unbound"), "-d", "-c", directory / "unbound.conf"], directory, env) as process:
        wait_until(lambda: f":{port:04X} " in Path("/proc/net/udp").read_text(), what="unbound listens")
        told = load([generator, "-s", "127.0.0.1", "-p", port, "-d", directory / "queries", "-l", seconds, "-c", 4], seconds + 60)
        end(process)
    return float(re.search(r"Queries per second:\s*([\d.]+)", told)[1])


def is_root(before):
    """Whether a server started behind these words is root's."""
    return os.geteuid() == 0 and before[:1] != AS_ORDINARY_USER[:1]


def memcached(user, directory, env, seconds):
    generator, port, operations = find("memcslap"), free_port(), 0
    name = ["-u", "root"] if is_root(user) else []
    with started([*user, find("memcached"), "-l", "127.0.0.1", "-p", port, "-t", 2, *name], directory, env) as process:
        wait_until(lambda: listening(port), what="memcached listens")
        begun = time.monotonic()
        while time.monotonic() < begun + seconds:
            load([generator, f"--servers=127.0.0.1:{port}", "--test=get", "--concurrency=4", "--execute-number=5000",
                  "--initial-load=1000"], 120)
            operations += 21000
        rate = operations / (time.monotonic() - begun)
        end(process)
    return rate


def php_fpm(user, directory, env, seconds):
    found = sorted(Path("/usr/sbin").glob("php-fpm*"))
    if not found:
        raise Missing("php-fpm")
    root = os.geteuid() == 0
    (directory / "page.php").write_text(PHP_PAGE)
    names = "user = nobody\ngroup = nogroup" if is_root(user) else ""
    (directory / "fpm.conf").write_text(PHP_FPM.format(dir=directory, user=names))
    port = free_port()
    (directory / "nginx.conf").write_text(NGINX_BEFORE_PHP.format(port=port, dir=directory, user="user root;" if root else ""))
    with started([*user, found[-1], "-n", "-F", "-y", directory / "fpm.conf"], directory, env) as process:
        wait_until((directory / "fpm.sock").exists, what="PHP-FPM listens")
        with started([find("nginx"), "-p", directory, "-c", directory / "nginx.conf"], directory, clean_environment()):
            wait_until(lambda: listening(port), what="nginx listens")
            rate = wrk(port, seconds)
        end(process)
    return rate


def end(process):
    process.terminate()
    process.wait(60)


SERVERS = {"uwsgi": uwsgi, "unbound": unbound, "memcached": memcached, "php-fpm": php_fpm}


def once(server, options, frequency, floor=False):
    """Requests a second; without a frequency: without FlameProbe. With `floor`: under the interrupts alone."""
    user = AS_ORDINARY_USER if options.user and os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="flameprobe-servers-") as name:
        directory = Path(name)
        directory.chmod(0o777)
        env = clean_environment(FLOOR_USER_ONLY="1" if user else None)
        if floor:
            user = [*user, FLOOR, frequency]
        elif frequency:
            env = profiled(FREQ=frequency, ENGINE=options.engine, OUT=directory / "result", FORMAT="none", LOG="quiet")
            if user:  # the server's, not the launcher's
                user = [*user, "env", f"LD_PRELOAD={env.pop('LD_PRELOAD', LIBRARY)}"]
        rate = SERVERS[server](user, directory, env, options.seconds)
        if frequency and not floor and not [*directory.glob("result*.fprobe"), *directory.glob("result*.run/*.fprobe")]:
            raise SystemExit(f"{server}: nothing was sampled")
        return rate


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--freq", default="99,999")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--user", action="store_true", help="as an ordinary user, where root measures")
    parser.add_argument("--floor", action="store_true", help="the interrupts alone, too")
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    parser.add_argument("servers", nargs="*", choices=[*SERVERS, []], default=[])
    options = parser.parse_args()
    if options.small:
        options.pairs, options.seconds, options.freq = 1, 1, "99"
    print(f"{machine()}, load {os.getloadavg()[0]:.1f}, {options.pairs} pairs of {options.seconds} s, engine {options.engine}"
          f"{', an ordinary user' if options.user else ''}\n")
    print("| server | Hz | alone, requests a second | with FlameProbe | of alone | least | most | interrupts alone, of alone |\n|-|-|-|-|-|-|-|-|")
    for server in options.servers or SERVERS:
        for frequency in map(int, options.freq.split(",")):
            pairs, floors = [], []
            try:
                for nth in range(options.pairs):
                    order = (0, frequency) if nth % 2 == 0 else (frequency, 0)
                    rates = {each: once(server, options, each) for each in order}
                    pairs.append((rates[0], rates[frequency]))
                    if options.floor:
                        floors.append(once(server, options, frequency, floor=True) / rates[0])
            except Missing as what:
                print(f"({server} is left out: {what} is not installed)", file=sys.stderr)
                break
            alone, beside = (statistics.median(side) for side in zip(*pairs))
            ratios = [other / one for one, other in pairs]
            print(f"| {server} | {frequency} | {alone:,.0f} | {beside:,.0f} | {statistics.median(ratios):.3f} | "
                  f"{min(ratios):.3f} | {max(ratios):.3f} | {f'{statistics.median(floors):.3f}' if floors else '-'} |", flush=True)


if __name__ == "__main__":
    main()
