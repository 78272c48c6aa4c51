#include <sys/resource.h>
#include <unistd.h>

#include <optional>
#include <string_view>
#include <vector>

#include "base/proc.hpp"
#include "capture/blocked_reader.hpp"
#include "doctor_report.hpp"
#include "preload_path.hpp"
#include "render/text.hpp"
#include "session/engine.hpp"
#include "session/options.hpp"
#include "symbolize/other_names.hpp"

namespace flameprobe {

namespace {

bool is_filtered() { return filters_in_force(read_small_file("/proc/self/status").value_or("")) != 0; }

bool in_container() { return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0; }

std::string meaning_of_paranoid(long value) {
    if (value <= 0) return "all events, kernel code too";
    if (value == 1) return "own processes, kernel code too";
    if (value == 2) return "own processes, user code only";
    return "as 2; with the kernels of Debian and Android no events at all without CAP_PERFMON";
}

Options options_here(DoctorReport& report) {
    std::vector<std::string_view> environment;
    for (char** line = environ; line != nullptr && *line != nullptr; ++line) environment.emplace_back(*line);
    std::vector<std::string> problems;
    Options options = read_options(environment, problems);
    for (const std::string& problem : problems) report.finding("environment", problem);
    return options;
}

void mend_perf(DoctorReport& report, long paranoid, long wanted) {
    if (paranoid > wanted) {
        report.mend("sudo sysctl kernel.perf_event_paranoid=" + std::to_string(wanted));
    } else if (is_filtered()) {
        report.mend(in_container() ? "docker run --cap-add PERFMON --security-opt seccomp=unconfined ..."
                                   : "permit perf_event_open in the seccomp filter of whatever started this shell");
    }
}

void report_kernel_frames(DoctorReport& report, const CaptureFacts& facts, const Options& options, long paranoid) {
    if (facts.kernel) return report.finding("kernel frames", "yes");
    if (options.kernel == KernelChoice::off) return report.finding("kernel frames", "no, by FLAMEPROBE_KERNEL");
    if (facts.kernel_time) {
        report.finding(
            "kernel frames",
            facts.engine == EngineKind::ring
                ? "no: user time by perf rings, kernel time by CPU timers, shown as [kernel: CALL] where the "
                  "program called it (FLAMEPROBE_ENGINE=ring leaves the timers out)"
                : "no: time in the kernel is shown as [kernel: CALL] where the program called it");
    } else {
        report.finding("kernel frames", "no: kernel time is shown as [kernel, not permitted]");
    }
    if (facts.engine == EngineKind::ring) mend_perf(report, paranoid, 1);
}

void report_unwinder(DoctorReport& report, const Options& options, std::uint32_t stack_bytes) {
    if (options.by_frame_pointers) {
        report.finding("unwinder",
                       "fp, asked for by FLAMEPROBE_UNWIND: only code compiled with -fno-omit-frame-pointer");
        return;
    }
    report.finding("unwinder", "dwarf, by the programs' own unwind tables: no frame pointers needed; " +
                                   bytes_text(stack_bytes) + " of stack are copied with each sample");
}

std::optional<EngineKind> report_engine(DoctorReport& report, const Options& options, long paranoid) {
    const auto engine = open_engine(options);
    if (!engine) {
        report.finding("engine", "none: " + engine.error().message);
        mend_perf(report, paranoid, 2);
        return std::nullopt;
    }
    const CaptureFacts& facts = engine->source->facts();
    report.finding("engine", facts.engine_name() + ": " + engine->reason);
    if (facts.engine != EngineKind::ring && options.engine == EngineChoice::automatic) mend_perf(report, paranoid, 2);
    if (!engine->warning.empty()) report.finding("", engine->warning);
    if (!facts.note.empty() && engine->reason.find(facts.note) == std::string::npos) report.finding("", facts.note);
    report_kernel_frames(report, facts, options, paranoid);
    report.finding("frequency", count_text(facts.frequency) + " samples a second of each thread's CPU time");
    report_unwinder(report, options, engine->stack_bytes);
    return facts.engine;
}

/// How waits would be measured here (docs/waiting.md, "What is measured where").
void report_waits(DoctorReport& report, Options options) {
    options.shown = {std::string(event_name::offcpu)};
    BlockedReader reader;
    BlockedThread self;
    if (reader.read(static_cast<std::uint32_t>(getpid()), self) == BlockedReader::Outcome::refused)
        return report.finding("waiting", "not measured: " + reader.why_refused());
    const auto engine = open_engine(options);
    if (!engine) return report.finding("waiting", "not measured: there is no engine");
    const CaptureFacts& facts = engine->source->facts();
    if (facts.switches)
        return report.finding("waiting", "exact, by the kernel's switch records and looks at blocked threads");
    report.finding("waiting",
                   "by looks at blocked threads alone and the scheduler's account: " +
                       (facts.no_switches.empty() ? "the " + facts.engine_name() + " engine has no switch records"
                                                  : facts.no_switches));
}

void report_memory(DoctorReport& report) {
    const long budget_kib = read_sysctl("/proc/sys/kernel/perf_event_mlock_kb").value_or(0);
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    const std::string own = limit.rlim_cur == RLIM_INFINITY ? "unlimited" : bytes_text(limit.rlim_cur);
    report.finding(
        "locked memory",
        bytes_text(static_cast<std::uint64_t>(budget_kib) * 1024) +
            " for each CPU (kernel.perf_event_mlock_kb), for the threads' rings of all processes of the user, and " +
            own + " of this process's (ulimit -l); threads beyond that are sampled by CPU timers");
    if (budget_kib < 516 && limit.rlim_cur != RLIM_INFINITY && geteuid() != 0) {
        report.mend("sudo sysctl kernel.perf_event_mlock_kb=516");
    }
}

void report_kernel_symbols(DoctorReport& report) {
    if (kernel_symbols_are_visible()) {
        report.finding("kernel symbols", "readable");
        return;
    }
    report.finding("kernel symbols", "hidden: kernel frames will have no names");
    // kernel/ksyms_common.c, kallsyms_show_value(): without CAP_SYSLOG both must be low.
    const bool restricted = read_sysctl("/proc/sys/kernel/kptr_restrict").value_or(1) > 0;
    report.mend(std::string("sudo sysctl kernel.perf_event_paranoid=1") +
                (restricted ? " kernel.kptr_restrict=0" : ""));
}

}  // namespace

bool report_machine(DoctorReport& report) {
    report.heading("This machine");
    const auto library = find_library();
    report.finding("library", library ? *library : library.error().message);
    const Options options = options_here(report);
    const auto paranoid = read_sysctl("/proc/sys/kernel/perf_event_paranoid");
    const auto engine = report_engine(report, options, paranoid.value_or(2));
    report.finding("paranoid level", paranoid ? std::to_string(*paranoid) + ": " + meaning_of_paranoid(*paranoid) +
                                                    (geteuid() == 0 ? "; root may do all of it" : "")
                                              : "unknown: /proc/sys/kernel/perf_event_paranoid cannot be read");
    report.finding("seccomp", is_filtered() ? "a filter is active; it may refuse perf_event_open" : "no filter");
    if (engine) report_waits(report, options);
    report_memory(report);
    const bool may_have_rings = options.engine == EngineChoice::automatic && paranoid && *paranoid > 2;
    if (engine == EngineKind::ring || may_have_rings) report_kernel_symbols(report);  // no other has kernel frames
    return engine && library;
}

}  // namespace flameprobe
