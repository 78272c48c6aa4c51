#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "../commands.hpp"
#include "../output_of.hpp"
#include "../preload_path.hpp"
#include "../program.hpp"
#include "base/clock.hpp"
#include "base/machine.hpp"
#include "figures.hpp"
#include "options.hpp"
#include "process.hpp"
#include "profiles.hpp"
#include "render/text.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "store.hpp"

namespace flameprobe {

namespace {

using namespace bench;

class Bench {
public:
    Bench(const BenchRequest& request, const Store& store, std::string library)
        : file_(request.file),
          store_(store),
          library_(std::move(library)),
          points_(points_of(file_)),
          runs_(points_.size()) {}

    int run();

private:
    void run_one(const PlannedRun& planned, std::size_t number, std::size_t all);
    std::string begun_line(const PlannedRun& planned, std::size_t number, std::size_t all) const;
    void tell(const PlannedRun& planned, std::size_t number, std::size_t all, const std::string& what) const;
    void show_running(const PlannedRun& planned, std::size_t number, std::size_t all) const;
    void draw(const Point& point, PointReport& report);
    Result<void> write_reports();

    const BenchFile& file_;
    const Store& store_;
    const std::string library_;
    const std::vector<Point> points_;
    std::vector<std::vector<RunRecord>> runs_;  // by point
    SymbolCache cache_;
    std::size_t failed_ = 0;
    std::size_t taken_ = 0;  // runs, by this process
    std::uint64_t taken_in_ns_ = 0;
    const bool on_terminal_ = isatty(STDERR_FILENO) == 1;
};

std::string Bench::begun_line(const PlannedRun& planned, std::size_t number, std::size_t all) const {
    return "[" + std::to_string(number) + "/" + std::to_string(all) + "] " + points_[planned.point].title() + ", run " +
           std::to_string(planned.repetition) + ": ";
}

void Bench::tell(const PlannedRun& planned, std::size_t number, std::size_t all, const std::string& what) const {
    if (on_terminal_) std::fputs("\r\x1b[K", stderr);
    complain(0, begun_line(planned, number, all) + what);
}

/// Shows which run is under way; the run's figures overwrite the line later.
void Bench::show_running(const PlannedRun& planned, std::size_t number, std::size_t all) const {
    if (!on_terminal_) return;
    std::string line = begun_line(planned, number, all) + "running";
    if (taken_ > 0) {
        const double each = static_cast<double>(taken_in_ns_) / static_cast<double>(taken_) / 1e9;
        line += ", about " + rounded_span_text(each * static_cast<double>(all - number + 1)) + " left";
    }
    std::fprintf(stderr, "\r\x1b[Kflameprobe: %s", clean_text(line).c_str());
}

std::string figures_of(const RunRecord& run, const Scenario& scenario) {
    const bool counted = scenario.work.given();
    const std::string unit = counted ? scenario.work.unit : "seconds";
    std::string text;
    if (const auto rate = run.work_per_second()) text += rate_text(*rate) + " " + unit + "/s, ";
    return text + cost_text(run.cpu_ns_per_unit()) + " of CPU time per " +
           (unit.ends_with("s") ? unit.substr(0, unit.size() - 1) : unit) + ", " + count_text(run.samples) + " samples";
}

void Bench::run_one(const PlannedRun& planned, std::size_t number, std::size_t all) {
    const Point& point = points_[planned.point];
    auto& runs = runs_[planned.point];
    if (auto before = store_.finished(point, planned.repetition)) {
        runs.push_back(*before);
        return tell(planned, number, all, "done before, " + figures_of(*before, *point.scenario));
    }
    show_running(planned, number, all);
    const std::uint64_t begun_ns = monotonic_ns();
    RunRecord record;
    record.repetition = planned.repetition;
    if (auto begun = store_.begin(point, planned.repetition); !begun) {
        record.failure = begun.error().message;
    } else {
        const RunPlace place{
            store_.absolute(), Store::run_path(point, planned.repetition), *begun, library_, file_.frequency,
            file_.events};
        record = run_once(point, planned.repetition, place, cache_);
        ++taken_, taken_in_ns_ += monotonic_ns() - begun_ns;
        if (interruption() != 0) return;
        if (auto kept = store_.keep(point, record); !kept) record.failure = kept.error().message;
    }
    tell(planned, number, all, record.ok() ? figures_of(record, *point.scenario) : "failed: " + record.failure);
    if (!record.ok()) ++failed_;
    runs.push_back(std::move(record));
}

void Bench::draw(const Point& point, PointReport& report) {
    std::vector<PictureInput> inputs;
    for (const RunRecord& run : report.runs) {
        for (const std::string& profile : run.profiles)
            inputs.push_back({store_.absolute() + "/" + profile, {run.from_unix_ns, run.to_unix_ns}});
    }
    if (inputs.empty()) return;
    std::string name = "pictures/" + point.path();
    std::replace(name.begin() + 9, name.end(), '/', '-');
    const std::string path = store_.absolute() + "/" + name,
                      cost = cost_text(report.cost) + " of CPU time per unit of work";
    const std::string runs = report.runs.size() == 1 ? "1 run" : std::to_string(report.runs.size()) + " runs together";
    for (const char* ending : {".svg", ".html"}) {
        const auto drawn =
            write_picture(inputs, file_.name + ": " + point.title(), runs + ", " + cost, path + ending, cache_);
        if (!drawn) {
            complain(0, drawn.error().message);
        } else {
            report.pictures.push_back(name + ending);
        }
    }
    // Best effort: this program may have been built without librsvg, and its own program may not be installed.
    if (!write_png_of(path + ".svg", path + ".png") && !find_program("rsvg-convert").empty()) {
        const std::string png = output_of({"rsvg-convert", path + ".svg"});
        if (!png.empty()) static_cast<void>(store_.write(name + ".png", png));
    }
    if (access((path + ".png").c_str(), R_OK) == 0) report.pictures.push_back(name + ".png");
}

Result<void> Bench::write_reports() {
    Report report;
    report.name = file_.name;
    report.repeat = file_.repeat;
    std::error_code error;
    if (auto made = store_.make_pictures_place(); !made) return made;
    for (std::size_t i = 0; i < points_.size(); ++i) {
        auto runs = runs_[i];
        std::sort(runs.begin(), runs.end(), [](auto& a, auto& b) { return a.repetition < b.repetition; });
        report.points.push_back(point_report(points_[i], runs));
        draw(points_[i], report.points.back());
    }
    report.scalings = scaling_reports(report.points);
    const std::string commit = git_commit(std::filesystem::current_path(error).string());
    report.facts = {{"date", utc_text(read_clock(CLOCK_REALTIME))},
                    {"commit", commit.empty() ? "none" : commit},
                    {"dirty", dirty_text()},
                    {"repetitions", std::to_string(file_.repeat)},
                    {"frequency", std::to_string(file_.frequency) + " Hz asked"},
                    {"FlameProbe", FLAMEPROBE_VERSION}};
    const MachineFacts machine = machine_facts();
    report.facts.insert(report.facts.end(), machine.begin(), machine.end());
    if (auto written = store_.write("report.json", report_json(report)); !written) return written;
    if (auto written = store_.write("report.md", report_markdown(report)); !written) return written;
    return store_.write("report.html", report_html(report));
}

int Bench::run() {
    const auto plan = plan_of(points_.size(), file_.repeat);
    complain(0, (store_.resumed() ? "going on in " : "results in ") + store_.path());
    for (std::size_t i = 0; i < plan.size(); ++i) {
        run_one(plan[i], i + 1, plan.size());
        if (interruption() != 0) {
            if (on_terminal_) std::fputs("\r\x1b[K", stderr);
            return complain(128 + interruption(),
                            "interrupted; the same command again goes on where it was (" + store_.path() + ")");
        }
    }
    if (auto written = write_reports(); !written) return complain(1, written.error().message);
    if (failed_ > 0) complain(0, std::to_string(failed_) + " of " + std::to_string(plan.size()) + " runs failed");
    complain(0, store_.path() + "/report.html");
    return failed_ > 0 ? 1 : 0;
}

}  // namespace

int bench_command(int argc, char* argv[]) {
    auto request = parse_bench_options(argc, argv);
    if (!request) return complain_of_usage("bench", request.error().message);
    if (request->help) return std::fputs(bench_usage, stdout) < 0 ? 1 : 0;
    if (!request->library.empty()) request->library = std::filesystem::absolute(request->library).string();
    const auto libraries = libraries_to_preload(request->library, request->file.events.allocations);
    if (!libraries) return complain(2, libraries.error().message);
    for (const Scenario& scenario : request->file.scenarios) {
        for (const auto* command : {&scenario.command, &scenario.load}) {
            const std::string program = command->empty() ? "" : command->front();
            if (program.empty() || program.find('{') != std::string::npos || !scenario.directory.empty()) continue;
            if (find_program(program).empty())
                return complain(
                    2, "scenario '" + scenario.name + "': " + program + " is not there, or cannot be executed");
        }
    }
    const auto store = Store::open(request->out, request->file);
    if (!store) return complain(2, store.error().message);
    watch_for_interruption();
    return Bench(*request, *store, *libraries).run();
}

}  // namespace flameprobe
