"""The collector of the ring engine is a task that shares the host's memory without being a thread of it: a host of one thread
has one thread, and leaves a picture however it ends or executes another program."""

import os
import shutil
import signal
import socket
import subprocess
import unittest
from pathlib import Path

from harness import SIZE, Case, clean_environment, host, profiled, render, run, sized, target, wait_until

RING = {"ENGINE": "ring", "FREQ": 997}


def lines_of(pid, name):
    return Path(f"/proc/{pid}/{name}").read_text(errors="replace").splitlines()


def tasks_of(pid):
    """The collectors that have the memory of `pid`: the same command line, another comm and process."""
    command = lines_of(pid, "cmdline")
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == pid:
            continue
        try:
            if lines_of(entry.name, "comm") == ["flameprobe"] and lines_of(entry.name, "cmdline") == command:
                found.append(int(entry.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


class TaskCase(Case):
    def setUp(self):
        super().setUp()
        self.need_engine("ring")

    def start(self, *argv, **settings):
        """Starts the host, and waits for the line that it prints after some work."""
        process = subprocess.Popen([host(argv[0]), *argv[1:]], cwd=self.directory, env=profiled(**RING, **settings),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        line = process.stdout.readline()
        if line == "" and process.wait() == 77:
            self.skipTest("needs rights that this user has not")
        self.assertEqual(line, "ready\n")
        return process

    def picture(self, pid, executable="host-single"):
        stem = self.directory / f"flameprobe.{executable}.{pid}"
        wait_until(lambda: Path(f"{stem}.svg").exists(), 30, f"{stem}.svg")
        return Path(f"{stem}.folded").read_text()


class OneThread(TaskCase):
    def test_checks_for_a_single_thread_hold(self):
        alone = run([host("single"), "look"], self.fresh_directory("alone"), clean_environment())
        mine = run([host("single"), "look"], self.fresh_directory("mine"), profiled(**RING))
        self.assertIn("threads: 1\n", alone.stdout)
        self.assertEqual((mine.returncode, mine.stdout), (alone.returncode, alone.stdout), mine.stderr)
        self.assertIn("single_work", mine.result().path("folded").read_text())

    def test_the_task_is_no_child_and_in_no_group_of_the_host(self):
        """It is in the host's session: in one of its own the kernel's autogroups let it wait for a CPU beside a busy host."""
        process = self.start("single", "work", "20")
        tasks = tasks_of(process.pid)
        self.assertEqual(len(tasks), 1)
        fields = Path(f"/proc/{tasks[0]}/stat").read_text().rpartition(")")[2].split()
        parent, group, session = (int(number) for number in fields[1:4])
        self.assertNotEqual(parent, process.pid)
        self.assertEqual((group, session), (tasks[0], os.getsid(process.pid)))
        self.assertEqual(sorted(os.readlink(f"/proc/{tasks[0]}/fd/{n}") for n in (0, 1, 2)), ["/dev/null"] * 3)

    def test_a_thread_that_was_killed_before_the_kernel_could_tell_of_its_end(self):
        """Without its address set (set_tid_address(2)) the kernel does not say that the thread is gone; the collector was left
        behind for ever when the host ended at that moment."""
        ran = run([target("inject"), "set_tid_address", "1+", "EPERM", "--", host("single"), "look"], self.directory, profiled(**RING))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        pictures = [result.path("folded").read_text() for result in ran.results().values()]  # a child's too, where that is slow
        self.assertTrue(any("single_work" in picture for picture in pictures), pictures)

    def test_it_gives_up_the_rights_that_the_host_gives_up(self):
        os.chmod(self.directory, 0o777)
        process = self.start("single", "drop", "65534", "20")
        tasks = tasks_of(process.pid)
        self.assertEqual(len(tasks), 1)
        rights = ("Uid:", "Gid:", "Groups:", "CapPrm:", "CapEff:")
        of = {pid: [line for line in lines_of(pid, "status") if line.startswith(rights)]
              for pid in (process.pid, tasks[0])}
        self.assertIn("Uid:\t65534\t65534\t65534\t65534", of[process.pid])
        self.assertEqual(of[tasks[0]], of[process.pid])

    def test_it_ends_with_the_host(self):
        process = self.start("single", "work", "0.2")
        tasks = tasks_of(process.pid)
        self.assertEqual(process.wait(30), 0)
        wait_until(lambda: not any(lines_of_task(task) for task in tasks), 10, "the end of the task")

    def test_the_programs_file_can_be_written_when_the_host_has_ended(self):
        """The task has it mapped (ETXTBSY)."""
        program = self.directory / "program"
        shutil.copy(host("ends"), program)
        for number in range(sized(30, 200)):
            ran = subprocess.run([program, "return", "20"], cwd=self.directory, env=profiled(**RING, FORMAT="none"), stdout=subprocess.DEVNULL, check=False)
            self.assertEqual(ran.returncode, 6)
            program.open("r+b").close()

    def test_it_may_be_killed(self):
        """The host goes on, and is told at its end what draws the rest."""
        log = self.directory / "log"
        process = self.start("single", "work", "1", LOG=log)
        process.send_signal(signal.SIGSTOP)  # or it has ended by then, on a slow machine
        for task in tasks_of(process.pid):
            os.kill(task, signal.SIGKILL)
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(30), 0)
        folder = self.directory / f"flameprobe.host-single.{process.pid}.run"
        self.assertTrue((folder / f"host-single.{process.pid}.fprobe").exists())
        told = [line for line in log.read_text().splitlines() if "the collector was killed" in line]
        self.assertEqual(len(told), 1, log.read_text())
        command = told[0].split("; this draws it: flameprobe-render ")[1].split()
        self.assertEqual(render(*command).returncode, 0, told)
        self.assertTrue(Path(command[-1]).exists(), told)


class Lock(TaskCase):
    """The collector shares the host's memory, so it may wait for a lock that a killed thread of the host holds."""

    def start_waiting(self, mode):
        process = self.start("locked", mode)
        tasks = tasks_of(process.pid)
        self.assertEqual(len(tasks), 1)
        return process, tasks[0]

    def end(self, process, status):
        process.stdin.write("\n")
        process.stdin.close()
        self.assertEqual(process.wait(30), status)

    def test_of_a_host_that_has_ended(self):
        process, task = self.start_waiting("end")
        self.end(process, -signal.SIGKILL)

        def ended():
            if SIZE == "quick" and lines_of_task(task):
                os.kill(task, signal.SIGALRM)  # which its timer sends every half minute
            return not lines_of_task(task)
        wait_until(ended, 100, "the end of the task")
        self.assertEqual(list(self.directory.glob("*.svg")), [], "it did not wait: this tests nothing")

    def test_of_a_host_that_lives(self):
        """Its patience has no end then."""
        process, task = self.start_waiting("stay")
        for _ in range(5):
            os.kill(task, signal.SIGALRM)
        self.end(process, 0)
        self.assertIn("main", self.picture(process.pid, "host-locked"))


def lines_of_task(pid):
    """A process's command line while it runs: a zombie has none."""
    try:
        return lines_of(pid, "cmdline")
    except (FileNotFoundError, ProcessLookupError):
        return []


class Network(TaskCase):
    def check(self, mode, status):
        """The collector is stopped, so nothing that the host waits for can happen before the others see the end."""
        process = subprocess.Popen([host("listening"), mode], cwd=self.directory, env=profiled(**RING),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        for end in (process.stdout.close, process.stdin.close, process.wait, process.kill):
            self.addCleanup(end)
        address = "127.0.0.1", int(process.stdout.readline())
        with socket.create_connection(address) as client, socket.socket() as successor:
            self.assertEqual(process.stdout.readline(), "ready\n")
            tasks = tasks_of(process.pid)
            self.assertEqual(len(tasks), 1)
            os.kill(tasks[0], signal.SIGSTOP)
            self.addCleanup(resume, tasks[0])
            process.stdin.write("\n")
            process.stdin.flush()
            self.assertEqual(client.recv(1), b"")
            waiting = process.poll() is None
            successor.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            successor.bind(address)
            successor.listen()
            self.assertTrue(waiting, "the client saw no end before the host's")
        resume(tasks[0])
        self.assertEqual(process.wait(30), status)
        self.assertIn("work_ms", self.picture(process.pid, "host-listening"))

    def test_numbers_that_a_thread_uses_stay_its_files(self):
        """Its sockets were replaced while it ran: a number may be another file by the time that dup3 is called."""
        process = subprocess.Popen([host("listening"), "beside"], cwd=self.directory, env=profiled(**RING),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        for end in (process.stdout.close, process.stdin.close, process.wait, process.kill):
            self.addCleanup(end)
        with socket.create_connection(("127.0.0.1", int(process.stdout.readline()))):
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.stdin.write("\n")
            process.stdin.flush()
            self.assertEqual(process.wait(30), 5)
        self.assertIn("work_ms", self.picture(process.pid, "host-listening"))

    def test_a_port_is_free_before_the_results_are_written(self):
        for mode, status in (("return", 5), ("_exit", 5), ("term", -signal.SIGTERM)):
            with self.subTest(mode=mode):
                self.check(mode, status)


def resume(task):
    try:
        os.kill(task, signal.SIGCONT)
    except ProcessLookupError:
        pass


class AfterTheHost(TaskCase):
    def test_a_killed_host_has_a_picture(self):
        process = self.start("single", "work", "20")
        os.killpg(process.pid, signal.SIGKILL)
        self.assertEqual(process.wait(), -signal.SIGKILL)
        self.assertIn("single_work", self.picture(process.pid))

    def test_hosts_killed_while_they_allocate_have_pictures(self):
        pids = []
        for _ in range(5):
            ran = subprocess.Popen([host("family"), "crowd"], cwd=self.directory, env=profiled(**RING),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
            spool = self.directory / f"flameprobe.host-family.{ran.pid}.run" / f"host-family.{ran.pid}.fprobe"
            wait_until(lambda: spool.exists() and spool.stat().st_size > 3000, 30, spool)  # with samples
            os.killpg(ran.pid, signal.SIGKILL)
            self.assertEqual(ran.wait(), -signal.SIGKILL, "it was not killed: this tests nothing")
            pids.append(ran.pid)
        without = [pid for pid in pids if not self.leaves_picture(pid)]
        self.assertLessEqual(len(without), 1)
        for pid in without:  # a lock of malloc's that a killed thread held for ever
            done = render(self.directory / f"flameprobe.host-family.{pid}.fprobe", "-f", "folded", "-o", "-")
            self.assertIn("allocate", done.stdout, done.stderr)

    def leaves_picture(self, pid):
        try:
            return bool(self.picture(pid, "host-family"))
        except AssertionError:
            return False

    def test_an_image_that_exec_replaced_has_a_picture(self):
        process = self.start("single", "exec", CHILDREN="off")
        self.assertIn("single_work", self.picture(process.pid))
        self.assertEqual(process.wait(30), 0)

    def test_exit_group_past_libc_leaves_a_picture(self):
        ran = run([host("ends"), "exit_group"], self.directory, profiled(**RING))
        self.assertEqual(ran.returncode, 11)
        self.assertIn("work_ms", self.picture(ran.pid, "host-ends"))


if __name__ == "__main__":
    unittest.main()
