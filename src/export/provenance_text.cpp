#include "base/binary_text.hpp"
#include "export/output.hpp"
#include "export/text.hpp"
#include "render/answer.hpp"
#include "render/request_rows.hpp"
#include "render/run_facts.hpp"
#include "render/text.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

namespace {

std::string seconds(std::uint64_t ns) { return fixed_text(static_cast<double>(ns) / 1e9, 6) + " s"; }

class Lines {
public:
    explicit Lines(const NamedProfile& profile) : profile_(profile) {
        how_it_ran();
        facts();
        how_it_was_sampled();
        samples();
        files();
        notes();
    }
    std::string take() { return std::move(out_); }

private:
    void add(const std::string& key, const std::string& value) {
        out_ += one_line(key) + ": " + (value.empty() ? "not known" : one_line(value)) + "\n";
    }
    void count(const char* key, std::uint64_t value) { add(key, std::to_string(value)); }

    void how_it_ran() {
        const RunInfo& run = profile_.run;
        add("command", run.command);
        if (const std::string& title = profile_.summary.title; !run.command.starts_with(title)) add("title", title);
        add("executable", run.executable);
        add("host", run.host);
        count("pid", run.pid);
        add("start", utc_text(run.start_unix_ns));
        add("duration", seconds(profile_.summary.duration_ns));
        add("complete", profile_.summary.complete ? "yes" : "no");
        for (const Answer& one : answers(profile_))
            add(one.event == short_event_name(profile_.run.event) ? "answer" : "answer " + one.event, one.sentence);
        for (const WaitReason& one : wait_reasons(profile_))
            add("waiting", one.share + ", " + duration_text(one.ns) + ": " + one.sentence);
    }
    void facts() {
        for (const RunFact& fact : profile_.run.facts) add(fact.name, fact.value);
        for (const RunFact& label : profile_.run.labels) add("label", label.name + "=" + label.value);
    }
    void how_it_was_sampled() {
        const RunInfo& run = profile_.run;
        const Summary& summary = profile_.summary;
        add("event", run.event + (run.event_kind.empty() ? "" : " (" + run.event_kind + ")"));
        add("engine", run.engine + (run.engine_reason.empty() ? "" : " (" + run.engine_reason + ")"));
        add("unwinder", run.unwinder);
        add("kernel frames", run.kernel);
        add("frequency asked", std::to_string(run.frequency_asked) + " Hz");
        const auto rate = [](double value) { return short_decimal(value, 2) + " Hz"; };
        add("frequency set", run.period_ns <= 1 ? "" : rate(1e9 / static_cast<double>(run.period_ns)));
        const double cpu = static_cast<double>(summary.process_cpu_ns) / 1e9;
        add("frequency reached", cpu > 0 && run.period_ns != 1 ? rate(static_cast<double>(summary.hits) / cpu) : "");
    }
    void samples() {
        const Summary& summary = profile_.summary;
        count("samples", summary.hits);
        count("rooted", rooted_hits_of(summary));
        count("truncated", summary.truncated_hits);
        count("lost", lost_samples(profile_.run, summary));
        count("throttled", summary.throttled);
        for (const auto& [name, amount] : profile_.work) count(("counted " + name).c_str(), amount);
        for (const RequestRow& row : request_rows(profile_)) add("request " + row.label, request_text(row));
        add("CPU time", seconds(summary.process_cpu_ns));
        add("FlameProbe's CPU time", seconds(summary.own_cpu_ns));
        add("FlameProbe's memory", std::to_string(summary.own_memory) + " bytes");
        add("FlameProbe version", profile_.run.version);
    }
    void files() {
        for (const FileBuild& file : file_builds(profile_))
            add("build id", file.path + " " + (file.build_id.empty() ? "none" : hex_text(file.build_id)));
    }
    void notes() {
        for (const auto& [name, value] : profile_.summary.counters) {
            if (name.starts_with(counter::note)) add("note", name.substr(counter::note.size()));
        }
        if (const auto advice = name_advice(profile_); !advice.empty()) add("names", advice);
    }

    const NamedProfile& profile_;
    std::string out_;
};

}  // namespace

std::string provenance_text(const NamedProfile& profile) { return profile.has_run ? Lines(profile).take() : ""; }

}  // namespace flameprobe
