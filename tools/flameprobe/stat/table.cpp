#include "table.hpp"

#include <nlohmann/json.hpp>

#include "export/text.hpp"
#include "render/text.hpp"

namespace flameprobe::counting {

namespace {

constexpr const char* by_looking = "read 20 times a second: threads that lived for less are missing";

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

class Rows {
public:
    Rows(const Facts& facts, const EventCounters& counters) : facts_(facts), counters_(counters) {
        time();
        scheduling();
        memory();
        waiting();
        hardware();
    }
    std::vector<Row> take() { return std::move(rows_); }

private:
    void add(const char* key, const char* label, double value, std::string text, std::string remark = {}) {
        rows_.push_back({key, label, value, std::move(text), std::move(remark)});
    }
    void count(const char* key, const char* label, double value, std::string remark = {}) {
        add(key, label, value, count_text(static_cast<std::uint64_t>(value + 0.5)), std::move(remark));
    }
    void not_here(const char* key, const char* label, std::string why) {
        rows_.push_back({key, label, std::nullopt, "not here", std::move(why)});
    }
    std::string per_second(double count) const {
        return cpu_seconds_ > 0 ? fixed_text(count / cpu_seconds_, 1) + " per second of CPU time" : "";
    }

    void time() {
        const rusage& usage = facts_.usage;
        const double user = seconds_of(usage.ru_utime), system = seconds_of(usage.ru_stime);
        const Reading clock = counters_.read("task-clock");
        cpu_seconds_ = clock.value ? *clock.value / 1e9 : user + system;
        const std::string source = clock.value || !facts_.status ? "" : ", of the children that were waited for";
        add("task_clock_ms", "task-clock", cpu_seconds_ * 1e3, span_text(cpu_seconds_),
            fixed_text(facts_.seconds > 0 ? cpu_seconds_ / facts_.seconds : 0, 3) + " CPUs utilised" + source);
        add("user_seconds", "user time", user, fixed_text(user, 6) + " s");
        add("system_seconds", "system time", system, fixed_text(system, 6) + " s");
        add("elapsed_seconds", "elapsed", facts_.seconds, fixed_text(facts_.seconds, 6) + " s");
    }
    void scheduling() {
        const auto voluntary = static_cast<double>(facts_.usage.ru_nvcsw),
                   forced = static_cast<double>(facts_.usage.ru_nivcsw);
        count("voluntary_switches", "context switches, voluntary", voluntary, per_second(voluntary));
        count("involuntary_switches", "context switches, forced", forced, per_second(forced));
        migrations();
        if (facts_.processes.empty()) return not_here("run_queue_ms", "run-queue delay", "/proc has no schedstat");
        double waited = 0, cpu = 0;
        std::size_t threads = 0;
        for (const auto& [pid, sum] : facts_.processes) {
            waited += static_cast<double>(sum.run_queue_ns) / 1e6;
            cpu += static_cast<double>(sum.cpu_ns) / 1e6;
            threads += sum.threads;
        }
        add("run_queue_ms", "run-queue delay", waited, span_text(waited / 1e3),
            "runnable without a CPU, " + percent_text(waited, waited + cpu) + " of the time it wanted one; " +
                by_looking);
        count("threads_seen", "threads seen", static_cast<double>(threads),
              "in " + std::to_string(facts_.processes.size()) +
                  (facts_.processes.size() == 1 ? " process" : " processes"));
    }
    void migrations() {
        const Reading counted = counters_.read("cpu-migrations");
        if (counted.value) return count("cpu_migrations", "CPU migrations", *counted.value, per_second(*counted.value));
        std::optional<double> sum;
        for (const auto& [pid, process] : facts_.processes) {
            if (process.migrations) sum = sum.value_or(0) + static_cast<double>(*process.migrations);
        }
        if (sum) return count("cpu_migrations", "CPU migrations", *sum, by_looking);
        not_here("cpu_migrations", "CPU migrations", counted.why_not);
    }
    void memory() {
        const rusage& usage = facts_.usage;
        count("minor_faults", "page faults, minor", static_cast<double>(usage.ru_minflt),
              per_second(static_cast<double>(usage.ru_minflt)));
        count("major_faults", "page faults, major", static_cast<double>(usage.ru_majflt), "from disk");
        add("peak_memory_bytes", "peak memory", static_cast<double>(usage.ru_maxrss) * 1024,
            bytes_text(static_cast<std::uint64_t>(usage.ru_maxrss) * 1024), "resident, of the largest process");
    }
    void waiting() {
        if (!facts_.waiting) return;
        const Waiting& waiting = *facts_.waiting;
        if (!waiting.why_not.empty()) return not_here("blocked_seconds", "blocked", waiting.why_not);
        const double seconds = static_cast<double>(waiting.blocked_ns) / 1e9;
        add("blocked_seconds", "blocked", seconds, fixed_text(seconds, 6) + " s",
            "all threads together" + (waiting.waits == 0
                                          ? std::string(", how often is not known without switch records")
                                          : ", in " + waits_text(waiting.waits)));
        const double preempted = static_cast<double>(waiting.preempted_ns) / 1e9;
        add("preempted_seconds", "preempted", preempted, fixed_text(preempted, 6) + " s");
        for (const BlockedCall& call : waiting.calls) {
            const double part = static_cast<double>(call.ns) / 1e9;
            rows_.push_back({"", "  in " + call.call, part, fixed_text(part, 6) + " s", remark_of(call, waiting)});
        }
    }
    static std::string waits_text(std::uint64_t waits) { return count_text(waits) + (waits == 1 ? " wait" : " waits"); }
    static std::string span_text(double seconds) {
        return seconds < 1 ? fixed_text(seconds * 1e3, 2) + " ms" : fixed_text(seconds, 3) + " s";
    }
    static std::string remark_of(const BlockedCall& call, const Waiting& waiting) {
        std::string text =
            percent_text(static_cast<double>(call.ns), static_cast<double>(waiting.blocked_ns)) + " of it";
        if (call.waits != 0) text += ", about " + waits_text(call.waits);
        for (const auto& [channel, ns] : call.channels) {
            text += (channel == call.channels.begin()->first ? "; in the kernel's " : ", ") + channel;
            if (call.channels.size() > 1)
                text += " " + percent_text(static_cast<double>(ns), static_cast<double>(call.ns));
        }
        return text;
    }
    void hardware() {
        const Reading cycles = counters_.read("cycles"), instructions = counters_.read("instructions");
        if (!cycles.value && !instructions.value) {
            not_here("cycles", "hardware counters", cycles.why_not);
            for (const char* key :
                 {"instructions", "ipc", "branches", "branch_misses", "cache_references", "cache_misses"})
                rows_.push_back({key, "", std::nullopt, "", cycles.why_not});
            return;
        }
        counter("cycles", "cycles", "cycles",
                cpu_seconds_ > 0 && cycles.value ? fixed_text(*cycles.value / cpu_seconds_ / 1e9, 3) + " GHz" : "");
        counter("instructions", "instructions", "instructions");
        if (cycles.value && instructions.value && *cycles.value > 0)
            add("ipc", "instructions per cycle", *instructions.value / *cycles.value,
                fixed_text(*instructions.value / *cycles.value, 2));
        else
            not_here("ipc", "instructions per cycle", "one of both is missing");
        counter("branches", "branches", "branches");
        counter("branch_misses", "branch misses", "branch-misses", share("branch-misses", "branches"));
        counter("cache_references", "cache references", "cache-references");
        counter("cache_misses", "cache misses", "cache-misses", share("cache-misses", "cache-references"));
    }
    std::string share(const char* part, const char* whole) const {
        const Reading a = counters_.read(part), b = counters_.read(whole);
        return a.value && b.value && *b.value > 0 ? percent_text(*a.value, *b.value) : "";
    }
    void counter(const char* key, const char* label, const char* name, std::string remark = {}) {
        const Reading reading = counters_.read(name);
        if (!reading.value) return not_here(key, label, reading.why_not);
        const auto more = [&remark](const char* text) { remark += (remark.empty() ? "" : ", ") + std::string(text); };
        if (reading.user_only) more("user space only");
        if (reading.estimated) more("estimated: the counter was shared");
        count(key, label, *reading.value, remark);
    }

    const Facts& facts_;
    const EventCounters& counters_;
    double cpu_seconds_ = 0;
    std::vector<Row> rows_;
};

}  // namespace

std::vector<Row> rows_of(const Facts& facts, const EventCounters& counters) { return Rows(facts, counters).take(); }

std::string table_text(const Facts& facts, const std::vector<Row>& rows) {
    std::string out = "\nflameprobe stat: " + one_line(facts.command) + " (" + facts.ended + ")\n\n";
    for (const Row& row : rows) {
        if (row.label.empty()) continue;
        const std::string pad(row.text.size() < 18 ? 18 - row.text.size() : 0, ' ');
        const std::string gap(row.label.size() < 29 ? 29 - row.label.size() : 1, ' ');
        out += pad + row.text + "   " + row.label + (row.remark.empty() ? "" : gap + "# " + row.remark) + "\n";
    }
    return out + "\n";
}

nlohmann::ordered_json blocked_json(const Waiting& waiting) {
    using Json = nlohmann::ordered_json;
    Json calls = Json::array();
    for (const BlockedCall& call : waiting.calls)
        calls.push_back({{"call", call.call},
                         {"seconds", static_cast<double>(call.ns) / 1e9},
                         {"waits", call.waits == 0 ? Json(nullptr) : Json(call.waits)},
                         {"kernel_ns", call.channels}});
    return calls;
}

std::string table_json(const Facts& facts, const std::vector<Row>& rows) {
    using Json = nlohmann::ordered_json;
    Json json = {{"format", "flameprobe-stat"},
                 {"format_version", 1},
                 {"command", facts.command},
                 {"exit_status", facts.status ? Json(*facts.status) : Json(nullptr)},
                 {"ended", facts.ended}};
    Json missing = Json::object(), processes = Json::array();
    for (const Row& row : rows) {
        if (row.key.empty()) continue;
        json[row.key] = row.value ? Json(*row.value) : Json(nullptr);
        if (!row.value) missing[row.key] = row.remark;
    }
    for (const auto& [pid, sum] : facts.processes)
        processes.push_back({{"pid", pid},
                             {"name", sum.name},
                             {"threads", sum.threads},
                             {"cpu_ns", sum.cpu_ns},
                             {"run_queue_ns", sum.run_queue_ns}});
    json["processes"] = processes;
    if (facts.waiting) json["blocked"] = blocked_json(*facts.waiting);
    json["not_here"] = missing;
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace flameprobe::counting
