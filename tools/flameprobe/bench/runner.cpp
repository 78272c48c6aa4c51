#include "runner.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "../preload_path.hpp"
#include "../stat/counters.hpp"
#include "../status_text.hpp"
#include "base/clock.hpp"
#include "process.hpp"
#include "readiness.hpp"
#include "render/text.hpp"

namespace flameprobe::bench {

namespace {

using Values = std::map<std::string, std::string>;

std::string without_percent(const std::string& path) {  // FLAMEPROBE_OUT is a template
    std::string out;
    for (const char c : path) out += c == '%' ? "%%" : std::string(1, c);
    return out;
}

Result<Process> start(const Result<ProcessRequest>& request) {
    return request ? Process::start(*request) : request.error();
}

/// Instructions and cycles of the program and its descendants, with FlameProbe's own thread.
class Instructions {
public:
    explicit Instructions(pid_t pid) : counters_(pid, {"cycles", "instructions"}) {}
    void begin() { begin_ = now(); }
    /// Instructions per cycle since begin(), or since the program's start.
    std::optional<double> ipc() const {
        const auto [cycles, instructions] = now();
        if (!cycles || !instructions) return std::nullopt;
        const double passed = *cycles - begin_.first.value_or(0);
        if (passed <= 0) return std::nullopt;
        return (*instructions - begin_.second.value_or(0)) / passed;
    }

private:
    std::pair<std::optional<double>, std::optional<double>> now() const {
        return {counters_.read("cycles").value, counters_.read("instructions").value};
    }

    counting::EventCounters counters_;
    std::pair<std::optional<double>, std::optional<double>> begin_;
};

class Run {
public:
    Run(const Point& point, unsigned repetition, const RunPlace& place, SymbolCache& cache);
    RunRecord take();

private:
    Result<ProcessRequest> program_request();
    Result<ProcessRequest> load_request(const std::string& log) const;
    Result<void> live();
    Result<void> warm_up(Process& program);
    Result<void> measure(Process& program);
    Result<void> wait_for_load(Process& program, Process& load);
    Result<void> end_program(Process& program);
    void begin_window(std::uint64_t cpu_ns);
    void end_window(std::uint64_t cpu_ns);
    std::string filled(const std::string& text) const { return fill_in(text, values_); }
    std::vector<std::string> filled(const std::vector<std::string>& words) const;
    std::string file(const std::string& name) const { return directory_ + "/" + name; }
    bool is_own_load() const { return scenario_.load.empty(); }

    const Scenario& scenario_;
    const RunPlace& place_;
    SymbolCache& cache_;
    const std::string directory_;
    Values values_;
    RunRecord record_;
    std::optional<Instructions> instructions_;
    pid_t pid_ = 0;
    bool told_to_stop_ = false;
    std::uint64_t begin_ns_ = 0, begin_cpu_ns_ = 0, end_cpu_ns_ = 0;
};

Run::Run(const Point& point, unsigned repetition, const RunPlace& place, SymbolCache& cache)
    : scenario_(*point.scenario), place_(place), cache_(cache), directory_(place.root + "/" + place.run) {
    record_.repetition = repetition;
    for (const auto& [name, value] : point.sweep) values_[name] = value.text;
    values_.try_emplace("port", std::to_string(free_port()));
    values_.try_emplace("seconds", short_decimal(scenario_.seconds.count(), 3));
    values_.try_emplace("repetition", std::to_string(repetition));
    values_.try_emplace("directory", directory_);
}

std::vector<std::string> Run::filled(const std::vector<std::string>& words) const {
    std::vector<std::string> out;
    for (const std::string& word : words) out.push_back(filled(word));
    return out;
}

Result<ProcessRequest> Run::load_request(const std::string& log) const {
    ProcessRequest request;
    auto output = place_.directory.open_for_append(log);
    if (!output) return Error{file(log) + ": " + output.error().message};
    request.output = std::move(*output);
    request.command = filled(scenario_.load);
    for (const auto& [name, value] : scenario_.environment) request.environment[name] = filled(value);
    request.directory = filled(scenario_.directory);
    return request;
}

Result<ProcessRequest> Run::program_request() {
    auto made = load_request("program.log");
    if (!made) return made;
    ProcessRequest& request = *made;
    request.command = filled(scenario_.command);
    request.environment["LD_PRELOAD"] = preload_with(place_.libraries);
    request.environment["FLAMEPROBE_OUT"] = without_percent(file("profile")) + ".%e.%p";
    request.environment["FLAMEPROBE_FORMAT"] = "none";  // pictures are made afterwards, of the load's time only
    request.environment.try_emplace("FLAMEPROBE_CHILDREN", "separate");  // a profile each, which no process waits for
    request.environment["FLAMEPROBE_FREQ"] = std::to_string(place_.frequency);
    request.environment["FLAMEPROBE_START"] = "1";
    request.before_exec = [this](pid_t pid) { instructions_.emplace(pid); };
    if (place_.events.waits || place_.events.allocations)
        request.environment["FLAMEPROBE_EVENT"] = place_.events.text();
    return made;
}

void Run::begin_window(std::uint64_t cpu_ns) {
    begin_cpu_ns_ = cpu_ns;
    if (instructions_) instructions_->begin();
    begin_ns_ = monotonic_ns();
    record_.from_unix_ns = read_clock(CLOCK_REALTIME);
}

void Run::end_window(std::uint64_t cpu_ns) {
    record_.seconds = static_cast<double>(monotonic_ns() - begin_ns_) / 1e9;
    record_.to_unix_ns = read_clock(CLOCK_REALTIME);
    end_cpu_ns_ = cpu_ns;
    if (instructions_) record_.ipc = instructions_->ipc();
}

Result<void> Run::warm_up(Process& program) {
    const std::uint64_t until = monotonic_ns() + static_cast<std::uint64_t>(scenario_.warm_up.count() * 1e9);
    while (!is_own_load() && monotonic_ns() < until && interruption() == 0) {
        auto load = start(load_request("warm-up.log"));
        if (!load) return load.error();
        while (monotonic_ns() < until && interruption() == 0 && !load->wait(Seconds(0.05))) {
            if (!program.running())
                return Error{"the program ended during the warm-up: " + status_text(program.status())};
        }
        load->end(SIGTERM, Seconds(5));
    }
    return {};
}

Result<void> Run::wait_for_load(Process& program, Process& load) {
    const bool limited = scenario_.seconds.count() > 0;
    const Seconds most = limited ? scenario_.seconds : scenario_.timeout;
    const std::uint64_t until = monotonic_ns() + static_cast<std::uint64_t>(most.count() * 1e9);
    while (!load.wait(Seconds(0.2))) {
        if (interruption() != 0) return Error{"interrupted"};
        if (!program.running()) return Error{"the program ended during the load: " + status_text(program.status())};
        if (monotonic_ns() < until) continue;
        if (!limited) return Error{"the load did not end within " + short_decimal(most.count(), 1) + " s (timeout)"};
        end_window(tree_cpu_ns(program.pid()));
        load.end(SIGTERM, Seconds(5));
        return {};
    }
    return {};
}

Result<void> Run::measure(Process& program) {
    begin_window(tree_cpu_ns(program.pid()));
    auto load = start(load_request("load.log"));
    if (!load) return load.error();
    const auto waited = wait_for_load(program, *load);
    if (end_cpu_ns_ == 0) end_window(tree_cpu_ns(program.pid()));
    if (!waited) {
        load->end(SIGTERM, Seconds(5));
        return Error{waited.error().message + "; load: " + last_line(file("load.log"))};
    }
    const bool stopped = scenario_.seconds.count() > 0 && !WIFEXITED(load->status());
    if (load->status() != 0 && !stopped)
        return Error{"the load failed: " + status_text(load->status()) + "; " + last_line(file("load.log"))};
    if (!program.running()) return Error{"the program ended during the load: " + status_text(program.status())};
    return {};
}

/// The program is the load: it is measured from its start on.
Result<void> Run::end_program(Process& program) {
    told_to_stop_ = program.running();
    const bool in_order = program.end(scenario_.stop_signal, scenario_.stop_within);
    if (!in_order)
        return Error{"the program did not end within " + short_decimal(scenario_.stop_within.count(), 1) +
                     " s of signal " + std::to_string(scenario_.stop_signal) + " and was killed (stop, stop_within)"};
    const int status = program.status();
    const bool by_us = told_to_stop_ && WIFSIGNALED(status) && WTERMSIG(status) == scenario_.stop_signal;
    if (WIFSIGNALED(status) && !by_us) return Error{"the program was " + status_text(status)};
    if (!told_to_stop_ && status != 0) return Error{"the program failed: " + status_text(status)};
    if (told_to_stop_ && WIFEXITED(status) && WEXITSTATUS(status) != 0)
        record_.remarks.push_back("the program ended with " + status_text(status));
    return {};
}

Result<void> Run::live() {
    if (values_.at("port") == "0") return Error{"there is no free port on 127.0.0.1"};
    begin_window(0);
    auto program = start(program_request());
    if (!program) return program.error();
    pid_ = program->pid();
    const auto told = [this](const Error& error) {
        return Error{error.message + "; program: " + last_line(file("program.log"))};
    };
    Result<void> done;
    if (is_own_load()) {
        const bool limited = scenario_.seconds.count() > 0;
        const std::uint64_t until =
            monotonic_ns() +
            static_cast<std::uint64_t>((limited ? scenario_.seconds : scenario_.timeout).count() * 1e9);
        while (!program->wait(Seconds(0.2)) && monotonic_ns() < until && interruption() == 0) {
        }
        if (program->running() && !limited && interruption() == 0)
            done =
                Error{"the program did not end within " + short_decimal(scenario_.timeout.count(), 1) + " s (timeout)"};
        end_window(program->running() ? tree_cpu_ns(program->pid()) : 0);
    } else {
        Ready ready = scenario_.ready;
        ready.port = filled(ready.port);
        ready.url = filled(ready.url);
        done = wait_until_ready(ready, *program, file("program.log"));
        if (done) done = warm_up(*program);
        if (done) done = measure(*program);
    }
    if (interruption() != 0) done = Error{"interrupted"};
    const auto ended = end_program(*program);
    const rusage& usage = program->usage();
    if (end_cpu_ns_ == 0) {  // the program was its own load
        const auto ns = [](const timeval& t) {
            return static_cast<std::uint64_t>(t.tv_sec * 1'000'000 + t.tv_usec) * 1000;
        };
        end_cpu_ns_ = ns(usage.ru_utime) + ns(usage.ru_stime);
    }
    record_.voluntary_switches = static_cast<std::uint64_t>(usage.ru_nvcsw);
    record_.involuntary_switches = static_cast<std::uint64_t>(usage.ru_nivcsw);
    record_.minor_faults = static_cast<std::uint64_t>(usage.ru_minflt);
    record_.major_faults = static_cast<std::uint64_t>(usage.ru_majflt);
    record_.peak_kib = static_cast<std::uint64_t>(usage.ru_maxrss);
    if (!done) return told(done.error());
    if (!ended) return told(ended.error());
    return {};
}

RunRecord Run::take() {
    auto done = live();
    if (done) {
        const std::uint64_t cpu_ns = end_cpu_ns_ - std::min(end_cpu_ns_, begin_cpu_ns_);
        done = read_figures({scenario_, place_.run, directory_, pid_, cpu_ns, place_.events}, cache_, record_);
    }
    if (!done) record_.failure = done.error().message;
    return std::move(record_);
}

}  // namespace

RunRecord run_once(const Point& point, unsigned repetition, const RunPlace& place, SymbolCache& cache) {
    return Run(point, repetition, place, cache).take();
}

}  // namespace flameprobe::bench
