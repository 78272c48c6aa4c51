"""What a program allocates: tests/hosts/allocations*.c* allocate at known sites and say how many bytes each asked for. Estimates
are within four standard errors of that; totals are exact."""

import base64
import contextlib
import json
import math
import os
import re
import signal
import subprocess
import unittest
import zlib
from pathlib import Path

import pprof_rules
from harness import BUILD, COMMAND, LIBRARY, ROOT, SIZE, Case, clean_environment, host, named, ordinary_user, profiled, read_folded, render, run, sized, started, target, wait_until

ALLOC = BUILD / "preload" / "alloc" / "libflameprobe-alloc.so"
MEAN = 512 * 1024
OTHERS = {name: Path("/usr/lib") / f"{os.uname().machine}-linux-gnu" / file for name, file in
          (("jemalloc", "libjemalloc.so.2"), ("tcmalloc", "libtcmalloc_minimal.so.4"), ("mimalloc", "libmimalloc.so.2"))}


def allocating(*after, **settings):
    return profiled(**settings) | {"LD_PRELOAD": ":".join(map(str, (LIBRARY, ALLOC, *after)))}


def expected(text):
    """By site: bytes and calls."""
    sums = {}
    for line in text.splitlines():
        site, size, calls = line.split()
        before = sums.get(site, (0, 0))
        sums[site] = before[0] + int(size), before[1] + int(calls)
    return sums


def page_facts(path):
    """What the page's script is told, of each event."""
    for packed in re.findall(r"[A-Za-z0-9+/=]{200,}", path.read_text()):
        with contextlib.suppress(ValueError, zlib.error):
            yield json.loads(zlib.decompress(base64.b64decode(packed)))


def standard_error(size, calls):
    """Of the estimated bytes of a site that asked for `size` in `calls` alike: each is sampled with one probability."""
    each = size / calls
    chance = -math.expm1(-each / MEAN)
    return each * math.sqrt(calls * (1 - chance) / chance)


class Allocations(Case):
    def estimates(self, ran, event="alloc", executable=None):
        text = render("--event", event, "--format", "folded", "-o", "-", ran.result(executable).path("fprobe")).stdout
        return read_folded(text)

    def check_sites(self, stacks, sites, slack=0):
        lost = sum(count for frames, count in stacks if frames[-1] == "[lost]")
        for site, (size, calls) in sites.items():
            got = sum(count for frames, count in stacks if named(frames, site))
            # A growing realloc's sizes differ: the largest has the largest error. Where nothing can be allocated, a hundred
            # exceptions are: 14 kB, of which three samples are beyond chance.
            error = standard_error(2 * size, calls) if site == "grow_site" and size else standard_error(size, calls) if size else MEAN / 2
            self.assertLessEqual(got, size + 5 * error + slack, (site, size, stacks))
            self.assertGreaterEqual(got, size - 5 * error - lost - slack, (site, size, lost, stacks))

    def check(self, *parts, program="allocations", before=(), after=(), **settings):
        """`program`: a host's name, or a path."""
        directory = self.fresh_directory("-".join((Path(program).name, *parts, *(p.name for p in after))))
        self.directory.chmod(0o777)
        directory.chmod(0o777)
        ran = run([*before, program if isinstance(program, Path) else host(program), *parts], directory,
                  allocating(*after, EVENT="alloc", FORMAT="none", **settings) | {"HOST_EARLY": "1"})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        sites = expected(ran.stdout)
        self.assertTrue(sites)
        self.check_sites(self.estimates(ran), sites, self.slack(ran, sites))
        return ran, sites

    def slack(self, ran, sites, executable=None):
        """Where the collector waited for a CPU, fewer samples were taken, and that is said."""
        thinned = "some stand for several" in render("--info", ran.result(executable).path("fprobe")).stdout
        return 0.4 * max(size for size, _ in sites.values()) if thinned else 0

    def counters(self, ran, executable=None):
        lines = render("--info", ran.result(executable).path("fprobe")).stdout.splitlines()
        found = {}
        for line in lines:
            if line.startswith("Counter:"):
                name, _, value = line.removeprefix("Counter:").strip().rpartition(" ")
                found[name] = int(value.replace(",", ""))
        return found

    def check_totals(self, ran, sites):
        counters = self.counters(ran)
        early = (5000 * 10000, 5000)
        for index, name in enumerate(("allocated, bytes", "allocations")):
            known = sum(site[index] for site in sites.values()) + early[index]
            # libc's own: buffers, locale.
            self.assertGreaterEqual(counters[name], known)
            self.assertLess(counters[name] - known, (200_000, 500)[index])

    def test_c(self):
        ran, sites = self.check("c")
        self.check_totals(ran, sites)
        own = read_folded(render("--event", "alloc", "--own-code", "--format", "folded", "-o", "-", ran.result().path("fprobe")).stdout)
        self.assertEqual(sum(count for _, count in own), sum(count for _, count in self.estimates(ran)))
        self.assertFalse([frames for frames, _ in own if any("libc_start" in frame for frame in frames)], own)
        self.check_sites(own, sites, self.slack(ran, sites))
        objects = self.estimates(ran, "alloc-objects")
        self.assertAlmostEqual(sum(count for frames, count in objects if named(frames, "large_site")), 100, delta=40)

    def test_other_functions(self):
        self.check("others", "whole-pages")

    def test_each_call(self):
        self.check("allocations", program=target("truths"))

    def test_threads_and_scopes(self):
        """As for CPU time: a root for each thread, and the scope's frame between main's side and the site."""
        ran, sites = self.check("labels")
        stacks = self.estimates(ran)
        for label, (size, calls) in sites.items():
            of_thread = sum(count for frames, count in stacks if frames[0] == label and named(frames, "middle_site"))
            of_scope = sum(count for frames, count in stacks if f"[{label}]" in frames and named(frames, "middle_site"))
            self.assertEqual(of_thread, of_scope, stacks)
            self.assertAlmostEqual(of_thread, size, delta=5 * standard_error(size, calls) + self.slack(ran, sites))
        table = render("--event", "alloc", "--thread", "search", "--top", "20", ran.result().path("fprobe")).stdout
        self.assertIn("middle_site", table)
        self.assertNotIn("checkout", table)

    def test_of_an_ordinary_user(self):
        self.check("c", "map", before=ordinary_user(self))

    def test_with_timers(self):
        self.check("c", ENGINE="timer")

    def test_frame_pointers(self):
        ran = run([host("allocations"), "c"], self.directory, allocating(EVENT="alloc", UNWIND="fp", FORMAT="none"))
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_mapped_memory_threads_handlers_and_constructors(self):
        for part in ("map", "threads", "signals", "early"):
            with self.subTest(part=part):
                self.check(part)

    def test_deep_stacks(self):
        """Up to what is copied they are whole, of the main thread and of another; beyond it they say where they are cut."""
        for kib, whole in ((45, True), (300, False)):
            with self.subTest(kib=kib):
                ran, _ = self.check(f"deep={kib}")
                stacks = [frames for frames, _ in self.estimates(ran) if named(frames, "middle_site")]
                self.assertTrue(stacks)
                for frames in stacks:
                    self.assertEqual("[truncated]" in frames, not whole, frames)
                    self.assertEqual(named(frames, "deep_worker"), whole, frames)

    def test_what_dlsym_allocates_itself(self):
        """While the next malloc is looked up, which needs memory before it is known."""
        self.need("cc")
        source, library = self.directory / "dlsym.c", self.directory / "libdlsym.so"
        source.write_text('''#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
void* dlsym(void* handle, const char* name) {
    static void* (*next)(void*, const char*);
    static int calls;
    if (next == NULL) next = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    char *const cleared = calloc(3, 1000), *const grown = realloc(malloc(100), 5000);
    void* aligned = NULL;
    if (cleared == NULL || grown == NULL || posix_memalign(&aligned, 256, 500) != 0 || (size_t)aligned % 256 != 0) abort();
    for (int i = 0; i < 3000; ++i) if (cleared[i] != 0) abort();
    memset(grown, 1, 5000);
    free(cleared);
    free(grown);
    if (++calls > 3) free(aligned);
    return next(handle, name);
}
''')
        built = subprocess.run(["cc", "-O1", "-fno-builtin", "-fPIC", "-shared", "-o", library, source], env=clean_environment(),
                               capture_output=True, text=True, timeout=120)
        self.assertEqual(built.returncode, 0, built.stderr)
        for event in ("alloc", "heap"):
            with self.subTest(event=event):
                ran = run([host("allocations"), "map"], self.fresh_directory(event),
                          allocating(library, EVENT=event, FORMAT="none") | {"HOST_EARLY": "1"})
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.check_sites(self.estimates(ran, "alloc"), expected(ran.stdout))

    def test_forked_children(self):
        self.check("fork")

    def test_a_burst_loses_nothing_while_the_collector_waits_for_a_cpu(self):
        """Some 60,000 samples in a tenth of a second, of a program that has one CPU together with its collector: room is for 1,000."""
        cpu = str(min(os.sched_getaffinity(0)))
        ran = run(["taskset", "-c", cpu, host("allocations"), "burst"], self.directory, allocating(EVENT="heap", FORMAT="none"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        (site, (size, _)), = expected(ran.stdout).items()
        stacks = self.estimates(ran, "alloc")
        self.assertEqual(sum(count for frames, count in stacks if frames[-1] == "[lost]"), 0)
        # The last samples stand for many: less exact than by their number.
        self.assertIn("some stand for several", render("--info", ran.result().path("fprobe")).stdout)
        self.assertAlmostEqual(sum(count for frames, count in stacks if named(frames, site)) / size, 1, delta=0.3)
        self.assertLess(sum(count for _, count in self.estimates(ran, "heap-end")), size / 1000)

    def test_cpp(self):
        self.check(program="allocations_cpp")

    def test_cpp_frees_by_each_form(self):
        for name, library in {"glibc": None, **OTHERS}.items():
            if library is not None and not library.exists():
                continue
            with self.subTest(allocator=name):
                ran = run([host("allocations_cpp"), *(["small"] if name == "mimalloc" else [])], self.fresh_directory(name),
                          allocating(*([library] if library else []), EVENT="heap", FORMAT="none"))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                left = self.estimates(ran, "heap-end")
                self.assertFalse([frames for frames, _ in left if any(named(frames, site) for site in expected(ran.stdout))], left)

    def test_other_allocators(self):
        for name, library in OTHERS.items():
            if not library.exists():
                continue
            with self.subTest(allocator=name):
                self.check("c", "threads", "others", after=(library,))
                self.check(*(["small"] if name == "mimalloc" else []), program="allocations_cpp", after=(library,))

    def test_a_plugin_that_has_its_cpp_library_in_it(self):
        """As wheels of Python have: of a program in C, it is loaded out of sight, and its operators new and delete with it."""
        self.need("cc", "c++")
        sources = {"plugin.cpp": """extern "C" __attribute__((noinline)) void plugin_site(int calls) {
    for (int i = 0; i < calls; ++i) {
        char* memory = new char[5000];
        asm volatile("" : "+r"(memory) : : "memory");
        delete[] memory;
    }
}
""", "loader.c": """#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    void* const library = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
    void (*const work)(int) = library == NULL ? NULL : (void (*)(int))dlsym(library, "plugin_site");
    if (work == NULL) return 9;
    work(20000);
    dlclose(library);
    usleep(100000);
    printf("plugin_site %d 20000\\n", 20000 * 5000);
}
"""}
        for name, text in sources.items():
            (self.directory / name).write_text(text)
        built = subprocess.run("c++ -O1 -fPIC -shared -static-libstdc++ -static-libgcc -o plugin.so plugin.cpp && cc -O1 -o loader loader.c -ldl",
                               shell=True, cwd=self.directory, env=clean_environment(), capture_output=True, text=True, timeout=120)
        if built.returncode != 0:
            self.skipTest(f"libstdc++ cannot be linked in: {built.stderr[-300:]}")
        told = subprocess.run(["readelf", "--dyn-syms", "-W", self.directory / "plugin.so"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(told, r"DEFAULT +\d+ _Znam\b")
        for event in ("alloc", "heap"):
            with self.subTest(event=event):
                ran = run([self.directory / "loader"], self.directory, allocating(EVENT=event, FORMAT="none", OUT=event))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                text = render("--event", "alloc", "--format", "folded", "-o", "-", self.directory / f"{event}.fprobe").stdout
                self.check_sites(read_folded(text), expected(ran.stdout))

    def test_a_library_that_calls_another_malloc_is_said(self):
        """Interposing does not reach what RTLD_DEEPBIND and dlmopen open."""
        self.need("cc")
        (self.directory / "plugin.c").write_text("""#include <stdlib.h>
void* plugin_site(void) { return malloc(5000); }
""")
        (self.directory / "loader.c").write_text("""#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char** argv) {
    const int how = atoi(argv[1]);
    void* const library = how == 2 ? dlmopen(LM_ID_NEWLM, "./plugin.so", RTLD_LAZY)
                                   : dlopen("./plugin.so", RTLD_LAZY | (how == 1 ? RTLD_DEEPBIND : 0));
    void* (*const site)(void) = library == NULL ? NULL : (void* (*)(void))dlsym(library, "plugin_site");
    if (site == NULL) return 9;
    for (int i = 0; i < 1000; ++i)
        if (site() == NULL || malloc(5000) == NULL) return 8;
    return argc != 2;
}
""")
        subprocess.run("cc -O1 -fPIC -shared -o plugin.so plugin.c && cc -O0 -o loader loader.c -ldl", shell=True, check=True,
                       cwd=self.directory, env=clean_environment(), timeout=120)
        for how, said in (("0", 0), ("1", 1), ("2", 1)):
            with self.subTest(how=how):
                ran = run([self.directory / "loader", how], self.directory, allocating(EVENT="alloc", FORMAT="none", OUT=how))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                told = render("--info", self.directory / f"{how}.fprobe").stdout
                self.assertEqual(len(re.findall(r"plugin\.so( and \d+ more files)? allocated is not counted", told)), said, told)

    def test_sizes_that_no_allocator_gives(self):
        """They count neither, nor do they end the sampling of their thread."""
        self.check_totals(*self.check("refused"))

    def test_parts_of_mappings(self):
        """Unmapped, mapped over, moved: what is left of them is alive."""
        ran = run([host("allocations"), "parts"], self.directory, allocating(EVENT="heap", FORMAT="none"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        stacks = self.estimates(ran, "heap-end")
        for site, (size, _) in expected(ran.stdout).items():
            left = sum(count for frames, count in stacks if named(frames, site))
            self.assertAlmostEqual(left, size, delta=size / 20, msg=stacks)
        self.assertGreater(sum(count for frames, count in self.estimates(ran, "alloc") if named(frames, "committed_site")), 300 << 20)

    def test_what_is_freed_by_a_way_that_nobody_sees(self):
        """It is alive until its address is given out again, not for ever."""
        ran = run([host("allocations"), "unseen"], self.directory, allocating(EVENT="heap", FORMAT="none"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        (site, (size, _)), = expected(ran.stdout).items()
        self.check_sites(self.estimates(ran, "alloc"), expected(ran.stdout))
        self.assertLess(sum(count for frames, count in self.estimates(ran, "heap-end") if named(frames, site)), size / 4)

    def test_an_allocator_that_allocates_as_a_thread_begins(self):
        """By the name that it stands behind: the thread's first allocation is drawn for as every other, and counts."""
        self.need("cc")
        sources = {"nests.c": """#include <stddef.h>
void* __libc_malloc(size_t size);
void* calloc(size_t number, size_t size);
void free(void* memory);
void* malloc(size_t size) {
    static __thread int begun;
    if (!begun) {
        begun = 1;
        free(calloc(1, 100));
    }
    return __libc_malloc(size);
}
""", "threads.c": """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static void first_site(void) {
    void* memory = malloc(3000);
    __asm__ volatile("" : "+r"(memory) : : "memory");
    free(memory);
}
static void* thread(void* unused) {
    first_site();
    return unused;
}
int main(void) {
    for (int i = 0; i < 1000; ++i) {
        pthread_t id;
        if (pthread_create(&id, NULL, thread, NULL) != 0) return 9;
        pthread_join(id, NULL);
    }
    usleep(50000);
    puts("first_site 3000000 1000");
}
"""}
        for name, text in sources.items():
            (self.directory / name).write_text(text)
        subprocess.run("cc -O1 -fno-builtin -fPIC -shared -o nests.so nests.c && cc -O1 -o threads threads.c -pthread",
                       shell=True, cwd=self.directory, env=clean_environment(), check=True, timeout=120)
        ran = run([self.directory / "threads"], self.directory, allocating(self.directory / "nests.so", EVENT="alloc", FORMAT="none"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.check_sites(self.estimates(ran, executable="threads"), expected(ran.stdout))
        self.assertGreaterEqual(self.counters(ran, "threads")["allocated, bytes"], 1000 * (3000 + 100))

    def test_a_program_that_asks_whether_there_is_cpp(self):
        """By weak symbols: there are such operators beside FlameProbe, so they work."""
        self.need("cc")
        (self.directory / "weak.c").write_text("""#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#define WEAK __attribute__((weak))
WEAK void* _Znwm(size_t size);
WEAK void* _ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t alignment, const void* tag);
WEAK void _ZdlPv(void* memory);
WEAK void _ZdaPvmSt11align_val_t(void* memory, size_t size, size_t alignment);
int main(void) {
    for (int i = 0; i < 1000; ++i) {
        void* const memory = _Znwm != NULL ? _Znwm(3000) : malloc(3000);
        void* const aligned = _ZnamSt11align_val_tRKSt9nothrow_t != NULL ? _ZnamSt11align_val_tRKSt9nothrow_t(3000, 256, "") : NULL;
        if (memory == NULL || (uintptr_t)aligned % 256 != 0) return 9;
        _ZdlPv != NULL ? _ZdlPv(memory) : free(memory);
        _ZdaPvmSt11align_val_t != NULL ? _ZdaPvmSt11align_val_t(aligned, 3000, 256) : free(aligned);
    }
    usleep(50000);
}
""")
        subprocess.run(["cc", "-O1", "-o", "weak", "weak.c"], cwd=self.directory, env=clean_environment(), check=True, timeout=120)
        self.assertEqual(run([self.directory / "weak"], self.directory).returncode, 0)
        for event in ("alloc", "heap"):
            with self.subTest(event=event):
                ran = run([self.directory / "weak"], self.directory, allocating(EVENT=event, ALLOC_BYTES="16K", FORMAT="none", OUT=event))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                text = render("--event", "alloc", "--format", "folded", "-o", "-", self.directory / f"{event}.fprobe").stdout
                self.check_sites(read_folded(text), {"main": (6_000_000, 2000)})

    def test_the_settings_hold_before_and_after_the_environment(self):
        """A sanitizer allocates before the C library has begun, and a server may clear its environment before it forks."""
        self.need("cc")
        (self.directory / "environment.c").write_text("""#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void kept_site(int calls) {
    for (int i = 0; i < calls; ++i) {
        void* memory = malloc(5000);
        __asm__ volatile("" : "+r"(memory) : : "memory");
    }
}
static void begin(void) {
    kept_site(1);
}
__attribute__((section(".preinit_array"), used)) static void (*const before_all)(void) = begin;
int main(void) {
    kept_site(10000);
    clearenv();
    if (fork() != 0) return wait(NULL) < 0;
    kept_site(10000);
    usleep(50000);
    _exit(0);
}
""")
        subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", "-o", "environment", "environment.c"], cwd=self.directory, env=clean_environment(),
                       check=True, timeout=120)
        ran = run([self.directory / "environment"], self.directory, allocating(EVENT="heap", FORMAT="none", ALLOC_BYTES="64K"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for event in ("alloc", "heap-end"):
            self.check_sites(self.estimates(ran, event, "environment"), {"kept_site": (100_000_000, 20000)})

    def linked_with(self, name, *options):
        self.need("cc")
        program = self.directory / f"host-{name}"
        built = subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-fno-omit-frame-pointer", f"-I{ROOT}/include", "-o", program,
                                ROOT / "tests" / "hosts" / "allocations.c", "-pthread", "-Wl,--no-as-needed", *options],
                               env=clean_environment(), capture_output=True, text=True, timeout=120)
        self.assertEqual(built.returncode, 0, built.stderr)
        return program

    def test_allocators_that_the_program_is_linked_with(self):
        for name, library in OTHERS.items():
            if library.exists():
                with self.subTest(allocator=name):
                    self.check("c", "threads", "others", program=self.linked_with(name, library))

    def test_a_sanitizer_that_looks_for_its_functions(self):
        """What ThreadSanitizer stands behind may be called only once it knows what is next."""
        self.need("cc")
        found = subprocess.run(["cc", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True).stdout.strip()
        if not Path(found).is_absolute():
            self.skipTest("there is no shared ThreadSanitizer")
        (self.directory / "program.c").write_text("""#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static void some_site(void) {
    for (int i = 0; i < 40000; ++i) {
        void* memory = malloc(5000);
        __asm__ volatile("" : "+r"(memory) : : "memory");
        free(memory);
    }
}
int main(void) {
    some_site();
    usleep(50000);
}
""")
        subprocess.run(["cc", "-O1", "-fsanitize=thread", "-o", "program", "program.c"], cwd=self.directory, env=clean_environment(), check=True, timeout=120)
        if run([self.directory / "program"], self.directory, clean_environment()).returncode != 0:
            self.skipTest("ThreadSanitizer does not work here")
        ran = run([self.directory / "program"], self.directory, allocating(EVENT="heap", FORMAT="none"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.check_sites(self.estimates(ran, executable="program"), {"some_site": (200_000_000, 40000)})

    def test_a_program_that_is_not_position_independent(self):
        """As Debian's python3: it has an address of its own for malloc, which is no allocator of its own."""
        program = self.linked_with("fixed", "-fno-pie", "-no-pie")
        told = subprocess.run(["readelf", "--dyn-syms", "-W", program], capture_output=True, text=True, check=True).stdout
        self.assertRegex(told, r"\n +\d+: 0*[1-9a-f][0-9a-f]* +0 FUNC +GLOBAL DEFAULT +UND malloc\b")
        self.check("c", program=program)
        other = OTHERS["jemalloc"]
        if other.exists():
            env = allocating(EVENT="alloc", LOG="stderr", FORMAT="none")
            ran = run([program, "map"], self.fresh_directory("other"), env | {"LD_PRELOAD": f"{other}:{env['LD_PRELOAD']}"})
            self.assertIn("has an allocator of its own", ran.stderr)
        # No constructor runs before its turn, which may need what another one has begun.
        early = []
        for name in ("first", "second"):
            early.append(self.directory / f"{name}.so")
            source = self.directory / f"{name}.c"
            source.write_text(f'#include <unistd.h>\n__attribute__((constructor)) static void begin(void) {{ if (write(2, "{name}\\n", {len(name) + 1}) < 0) _exit(9); }}\n')
            subprocess.run(["cc", "-fPIC", "-shared", "-o", early[-1], source], env=clean_environment(), check=True, timeout=120)
        preloaded = ":".join(map(str, early))
        alone = run([program], self.fresh_directory("order-alone"), clean_environment() | {"LD_PRELOAD": preloaded})
        self.assertEqual(sorted(alone.stderr.split()), ["first", "second"])
        env = allocating(EVENT="alloc", FORMAT="none")
        ran = run([program], self.fresh_directory("order"), env | {"LD_PRELOAD": f"{preloaded}:{env['LD_PRELOAD']}"})
        self.assertEqual((ran.returncode, ran.stderr), (0, alone.stderr))

    def test_an_allocator_that_is_linked_statically_is_said(self):
        archive = OTHERS["tcmalloc"].with_name("libtcmalloc_minimal.a")
        if not archive.exists():
            self.skipTest("libgoogle-perftools-dev is not installed")
        program = self.linked_with("static", archive, "-lstdc++", "-lm")
        alone = run([program, "c"], self.fresh_directory("alone"), clean_environment())
        self.assertEqual(alone.returncode, 0, alone.stderr)
        ran = run([program, "c"], self.fresh_directory("sampled"), allocating(EVENT="heap", LOG="stderr", FORMAT="none"))
        self.assertEqual((ran.returncode, ran.stdout), (0, alone.stdout), ran.stderr)
        self.assertEqual(ran.stderr.count("has an allocator of its own"), 1, ran.stderr)

    def test_rust(self):
        self.need("rustc")
        program = self.directory / "host-allocations_rust"
        built = subprocess.run(["rustc", "-O", "-o", program, ROOT / "tests" / "hosts" / "allocations.rs"], env=clean_environment(),
                               capture_output=True, text=True, timeout=120)
        if built.returncode != 0:
            self.skipTest(f"rustc does not work: {built.stderr[-300:]}")
        ran = run([program], self.directory, allocating(EVENT="alloc", FORMAT="none"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        sites = expected(ran.stdout)
        self.assertEqual(len(sites), 4, ran.stdout)
        program = "host-allocations_rust"
        self.check_sites(self.estimates(ran, executable=program), sites, self.slack(ran, sites, program))

    def test_the_heap_at_its_peak_and_at_the_end(self):
        ran = run([host("allocations"), "leak"], self.directory, allocating(EVENT="heap", FORMAT="folded,svg,html,json,pprof"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        sites = expected(ran.stdout)
        result = ran.result()
        peak = read_folded(result.path("folded").read_text())
        self.check_sites(peak, sites)
        end = read_folded(result.path("heap-end.folded").read_text())
        self.check_sites(end, {"leak_site": sites["leak_site"]})
        self.assertFalse([frames for frames, _ in end if named(frames, "peak_site")], end)
        reused = run([host("allocations"), "c", "threads", "others", "map", "keep-map"], self.fresh_directory("reused"), allocating(EVENT="heap", FORMAT="none"))
        # One address again and again, in several threads: next to nothing stays but what is mapped.
        stays = self.estimates(reused, "heap-end")
        self.check_sites(stays, {"keep_map_site": expected(reused.stdout)["keep_map_site"]})
        self.assertLess(sum(count for frames, count in stays if not named(frames, "keep_map_site")), 5 * MEAN, stays)
        pprof = pprof_rules.read(result.path("pb.gz"))
        self.assertEqual(dict(pprof.types)["inuse_space"], "bytes")
        self.assertEqual(pprof.total("inuse_space"), sum(count for _, count in peak))
        told = json.loads(result.path("json").read_text())
        self.assertEqual(told["stack_bytes"], sum(count for _, count in peak))
        self.assertIn("MiB", result.path("svg").read_text())
        # The page has an axis of time: the most of it is the peak's bytes, the last of it what is left.
        pages = [facts for facts in page_facts(result.path("html")) if facts["event"] == "heap"]
        self.assertEqual(len(pages), 1)
        alive = pages[0]["alive"]["weights"]
        self.assertLessEqual(len(alive), 1001)
        self.assertEqual(max(alive), sum(count for _, count in peak))
        self.assertEqual(alive[-1], sum(count for _, count in end))
        self.assertIn("alive at the peak", result.path("svg").read_text())
        self.assertIn("stepWeight", dict(pages[0]["parts"]))

    def test_the_sample_types_of_pprof(self):
        ran = run([host("allocations"), "leak"], self.directory, allocating(EVENT="alloc,heap", FORMAT="none"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        sites = expected(ran.stdout)
        profile = ran.result().path("fprobe")
        for event, kind, unit, of in (("alloc", "alloc_space", "bytes", 0), ("alloc-objects", "alloc_objects", "count", 1),
                                      ("heap", "inuse_space", "bytes", 0), ("heap-objects", "inuse_objects", "count", 1)):
            with self.subTest(kind=kind):
                out = self.directory / f"{event}.pb.gz"
                render("--event", event, profile, "-o", out)
                pprof = pprof_rules.read(out)
                self.assertEqual(pprof_rules.problems(pprof), [])
                self.assertEqual(dict(pprof.types)[kind], unit)
                known = sum(site[of] for site in sites.values())
                self.assertAlmostEqual(pprof.total(kind) / known, 1, delta=0.25)

    def test_processes_of_a_run_have_one_curve(self):
        """What is alive in all of them together; each one's heap is its own until it ends."""
        twice = " & ".join(f"'{host('allocations')}' {part}" for part in ("leak", "keep"))
        ran = run(["sh", "-c", twice + " & wait"], self.directory, allocating(EVENT="heap", FORMAT="folded,html"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        result = ran.result()
        self.assertIn("allocations, in the processes that have samples", render("--info", result.path("fprobe")).stdout)
        end = sum(count for _, count in read_folded(result.path("heap-end.folded").read_text()))
        for facts in page_facts(result.path("html")):
            if facts["event"] not in ("heap", "heap-end"):
                continue
            self.assertIn("stepWeight", dict(facts["parts"]))
            self.assertEqual(facts["alive"]["weights"][-1], end)
            self.assertGreater(max(facts["alive"]["weights"]), 200 * 10**6)

    def test_run_loads_the_library(self):
        done = run([COMMAND, "run", "-e", "alloc", "-f", "folded,svg", "-o", "out", "--", host("allocations"), "map"], self.directory,
                   clean_environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_sites(read_folded((self.directory / "out.folded").read_text()), expected(done.stdout))

    def test_without_the_library_it_is_said(self):
        ran = run([host("allocations"), "map"], self.directory, profiled(EVENT="alloc", LOG="stderr", FORMAT="none"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("libflameprobe-alloc.so is not loaded", ran.stderr)
        with self.subTest("what it says to set works"):
            preload = re.search(r"LD_PRELOAD=(\S+) loads it", ran.stderr)[1]
            ran = run([host("allocations"), "map"], self.fresh_directory("as-said"),
                      profiled(EVENT="alloc", LOG="stderr", FORMAT="none") | {"LD_PRELOAD": preload})
            self.check_sites(self.estimates(ran), expected(ran.stdout))

    def test_an_allocator_of_its_own_is_said(self):
        other = next((library for library in OTHERS.values() if library.exists()), None)
        if other is None:
            self.skipTest("no other allocator is installed")
        env = allocating(EVENT="alloc", LOG="stderr", FORMAT="none")
        ran = run([host("allocations"), "map"], self.directory, env | {"LD_PRELOAD": f"{other}:{env['LD_PRELOAD']}"})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("has an allocator of its own", ran.stderr)

    def test_who_does_not_ask_has_no_allocator_interposed(self):
        names = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
        exported = {line.split()[-1].split("@")[0] for line in names.splitlines()}
        asked = subprocess.run(["nm", "-D", "--defined-only", ALLOC], capture_output=True, text=True, check=True).stdout
        allocators = {line.split()[-1] for line in asked.splitlines()} - {"flameprobe_alloc_table"}
        self.assertIn("malloc", allocators)
        self.assertIn("_ZdlPvm", allocators)
        self.assertFalse(exported & allocators)

    def test_ages_of_what_was_never_freed(self):
        """What a site has at the end came after what another site has, though it allocated, and freed, before."""
        ran = run([host("allocations"), "ages"], self.directory, allocating(EVENT="heap", FORMAT="none"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        profile = ran.result().path("fprobe")
        self.check_sites(self.estimates(ran, "heap-end"), expected(ran.stdout))
        told = json.loads(render("--event", "heap-end", "--format", "json", "-o", "-", profile).stdout)
        ages = {each["name"]: (each["mean_age_ns"], each["oldest_age_ns"]) for each in told["functions"]}
        for mean, oldest in ages.values():
            self.assertLessEqual(mean, oldest)
        self.assertLess(ages["turn_site"][1], ages["old_site"][0])
        self.assertEqual(ages["main"][1], ages["old_site"][1])
        table = render("--event", "heap-end", "--top", "20", profile).stdout
        self.assertRegex(table.splitlines()[2], r"total +mean age +oldest +function")
        self.assertRegex(render("--event", "heap-end", "--info", profile).stdout, r"\nAge: +allocated [\d.]+ \S+ before the end")
        with self.subTest("until the site's first blocks were freed they are the oldest"):
            # The host sleeps for 50 ms before the site's second turn.
            moment = told["run"]["duration_ns"] - ages["turn_site"][1] - 25 * 10**6
            names = json.loads(render("--event", "heap-end", "--format", "json", "-o", "-", "--to", f"{moment / 1e9}s", profile).stdout)["functions"]
            before = {each["name"]: each["oldest_age_ns"] for each in names}
            self.assertGreater(before["turn_site"], before["old_site"])
        self.assertNotIn("mean_age_ns", render("--event", "heap", "--format", "json", "-o", "-", profile).stdout)

    def test_growth_between_two_profiles(self):
        profiles = []
        for parts in (("keep",), ("keep", "leak")):
            ran = run([host("allocations"), *parts], self.fresh_directory("-".join(parts)), allocating(EVENT="heap", FORMAT="none"))
            self.assertEqual(ran.returncode, 0, ran.stderr)
            profiles.append(ran.result().path("fprobe"))
        grown = render("--diff", "--event", "heap-end", *profiles, "--top", "50")
        self.assertEqual(grown.returncode, 0, grown.stderr)
        rows = {line.split()[-1]: line for line in grown.stdout.splitlines() if line[:13].strip().endswith(("iB", "bytes"))}
        # 0 bytes before, about 95 MiB after; what both keep is the same but for chance.
        self.assertRegex(rows["leak_site"], r"\+\d+(\.\d+)? MiB +new +leak_site")
        self.assertRegex(rows["keep_site"], r"[+-][\d.]+ ([KM]iB|bytes) +noise +keep_site")
        self.assertNotIn("peak_site", rows)
        told = self.directory / "growth.json"
        compared = run([COMMAND, "compare", "--event", "heap-end", "--fail-above", "30%", "-o", told, *profiles], self.directory)
        self.assertEqual(compared.returncode, 3, compared.stdout + compared.stderr)
        self.assertRegex(compared.stdout, r"^leak_site: new, \d+(\.\d)? MiB; nothing else changed")
        found = {each["name"]: each for each in json.loads(told.read_text())["changes"]}
        self.assertTrue(found["leak_site"]["beyond_noise"])
        self.assertGreater(found["keep_site"]["p"], 1e-5)  # by chance one of twenty is below 0.05
        self.assertEqual(run([COMMAND, "compare", "--event", "heap-end", "--fail-above", "30%", profiles[1], profiles[0]],
                             self.directory).returncode, 0, "less is no failure")
        first = render("--diff", "--event", "heap-end", self.nothing_kept(), profiles[1], "--top", "50")
        self.assertIn("leak_site", first.stdout, first.stderr)

    def test_growth_between_two_dumps_of_one_process(self):
        """A dump has all that is alive, so two of them show what grew, also of threads that have ended or have another name."""
        part = lambda number: self.directory / f"part.{number}.fprobe"
        with started([host("allocations"), "keep", "serve"], self.directory,
                     allocating(EVENT="heap", FORMAT="none", OUT="part.%n", DUMP_EVERY="1s")) as child:
            wait_until(part(3).exists, 60, "two dumps")
            child.send_signal(signal.SIGUSR1)
            last = max(number for number in range(3, 100) if part(number).exists()) + 1
            wait_until(part(last + 1).exists, 60, "two more dumps")
        before, after = part(2), part(last)
        stacks = {path: read_folded(render("--event", "heap-end", "--format", "folded", "-o", "-", path).stdout) for path in (before, after)}
        known = {"keep_site": (2 * 10000 * 5000, 20000), "passing_site": (8000 * 5000, 8000)}
        self.check_sites(stacks[before], known)
        self.check_sites(stacks[after], {"keep_site": known["keep_site"]})
        for path, found in stacks.items():
            self.assertEqual({frames[0] for frames, _ in found if named(frames, "passing_site")}, {"first name"} if path == before else set(), found)
            brief = sum(count for frames, count in found if frames[0] == "brief" and "[brief scope]" in frames and named(frames, "keep_site"))
            self.assertAlmostEqual(brief, 10000 * 5000, delta=5 * standard_error(10000 * 5000, 10000))
            self.assertFalse([frames for frames, _ in found if "[unknown]" in frames or any(frame.startswith("0x") for frame in frames)], found)
        leaked = [sum(count for frames, count in stacks[path] if named(frames, "slow_leak_site")) for path in (before, after)]
        self.assertGreater(leaked[1], leaked[0])
        rows = {line.split()[-1]: line for line in render("--diff", "--event", "heap-end", before, after, "--top", "50").stdout.splitlines()
                if line[:13].strip().endswith(("iB", "bytes"))}
        self.assertRegex(rows["slow_leak_site"], r"\+[\d.]+ MiB +slow_leak_site")
        self.assertRegex(rows["passing_site"], r"-[\d.]+ MiB +(gone +)?passing_site")
        self.assertNotIn("noise", rows["passing_site"] + rows["slow_leak_site"])
        # The same sampled allocations on both sides.
        self.assertEqual(*[sum(count for frames, count in found if named(frames, "keep_site")) for found in stacks.values()])
        told = json.loads(render("--event", "heap-end", "--format", "json", "-o", "-", after).stdout)
        ages = {each["name"]: each["mean_age_ns"] for each in told["functions"]}
        self.assertGreater(ages["keep_site"], told["run"]["duration_ns"])
        self.assertLess(ages["slow_leak_site"], ages["keep_site"])
        allocated = render("--event", "alloc", "--format", "folded", "-o", "-", after).stdout
        self.assertIn("slow_leak_site", allocated)
        self.assertNotIn("keep_site", allocated)

    def nothing_kept(self):
        ran = run([host("allocations"), "c"], self.fresh_directory("nothing"), allocating(EVENT="heap", FORMAT="none"))
        return ran.result().path("fprobe")

    def test_hosts_in_sandboxes_go_on(self):
        """In a filter that kills for nearly every call a sample makes none."""
        for what in ("strict", "filter", "everyone", "kill", "child", "deny_everyone"):
            with self.subTest(what=what):
                alone = run([host("sandbox"), what], self.fresh_directory(what + "-alone"), clean_environment())
                ran = run([host("sandbox"), what], self.fresh_directory(what), allocating(EVENT="heap", FORMAT="none", ALLOC_BYTES="16"))
                self.assertEqual((ran.returncode, ran.stdout), (alone.returncode, alone.stdout), ran.stderr)

    def test_the_edges_of_an_allocator_stay_as_they_are(self):
        """Failures, alignments, errno, floating-point modes, forks, ends of threads: with each allocator as without us."""
        for name, library in {"glibc": None, **OTHERS}.items():
            if library is not None and not library.exists():
                continue
            own = (library,) if library is not None else ()
            alone = run([host("allocator_edges")], self.fresh_directory(name), clean_environment(LD_PRELOAD=":".join(map(str, own))))
            self.assertEqual(alone.returncode, 0, alone.stderr)
            events = (("heap", {}), ("alloc", {}), ("cpu,heap", {"ENGINE": "timer"}))
            for event, settings in events if SIZE == "all" or library is None else events[:1]:  # heap has all of alloc
                with self.subTest(allocator=name, event=event):
                    ran = run([host("allocator_edges")], self.fresh_directory(f"{name}-{event}"),
                              allocating(*own, EVENT=event, FORMAT="none", ALLOC_BYTES="1K", **settings))
                    self.assertEqual((ran.returncode, ran.stdout), (0, alone.stdout), ran.stderr)

    def test_programs_go_on_as_they_are(self):
        """Python, which allocates in all ways, with a library that loads others and with threads."""
        code = ("import ctypes, json, threading\n"
                "def work(): json.loads(json.dumps([{'a': list(range(100))}] * 200))\n"
                f"threads = [threading.Thread(target=work) for _ in range({sized(20, 200)})]\n"
                "[t.start() for t in threads]; [t.join() for t in threads]\n"
                "print('done')")
        for event in ("alloc", "heap", "cpu,heap,offcpu"):
            with self.subTest(event=event):
                ran = run(["/usr/bin/python3", "-c", code], self.fresh_directory(event),
                          allocating(EVENT=event, FORMAT="none", ALLOC_BYTES="16K"))
                self.assertEqual((ran.returncode, ran.stdout), (0, "done\n"), ran.stderr)
                if event != "cpu,heap,offcpu":
                    self.assertTrue(self.estimates(ran, event))


if __name__ == "__main__":
    unittest.main()
