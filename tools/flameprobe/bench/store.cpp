#include "store.hpp"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/machine.hpp"
#include "export/output_file.hpp"

namespace flameprobe::bench {

namespace {

namespace fs = std::filesystem;

enum class State { fresh, partly, complete, other };

std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

bool is_over(const fs::path& root, const std::string& run) {
    const auto record = read_run((root / run / "run.json").string());
    return record && record->ok();
}

State state_of(const std::string& path, const BenchFile& file) {
    std::error_code error;
    if (!fs::exists(path, error) || (fs::is_directory(path, error) && fs::is_empty(path, error))) return State::fresh;
    if (!fs::exists(fs::path(path) / "bench.toml", error)) return State::other;
    if (text_of(fs::path(path) / "bench.toml") != file.text) return State::other;
    const auto points = points_of(file);
    for (const PlannedRun& run : plan_of(points.size(), file.repeat)) {
        if (!is_over(path, Store::run_path(points[run.point], run.repetition))) return State::partly;
    }
    return State::complete;
}

std::string default_path() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    char date[16];
    std::strftime(date, sizeof date, "%Y-%m-%d", &utc);
    std::error_code error;
    const std::string commit = git_commit(fs::current_path(error).string());
    return std::string("results/") + date + "-" + (commit.empty() ? "no-commit" : commit.substr(0, 12));
}

}  // namespace

Store::Store(std::string path, bool resumed)
    : path_(std::move(path)), absolute_(fs::absolute(path_).lexically_normal().string()), resumed_(resumed) {
    while (absolute_.size() > 1 && absolute_.ends_with('/')) absolute_.pop_back();
}

Result<Store> Store::open(const std::string& wanted, const BenchFile& file) {
    std::string path = wanted.empty() ? default_path() : wanted;
    State state = state_of(path, file);
    for (int number = 2; wanted.empty() && (state == State::complete || state == State::other); ++number) {
        path = default_path() + "." + std::to_string(number);
        state = state_of(path, file);
    }
    if (state == State::other)
        return Error{path +
                     ": is there already, and not of this bench as it now stands; name another directory with -o"};
    std::error_code error;
    fs::create_directories(path, error);
    if (error) return Error{path + ": cannot be made: " + error.message()};
    Store store(path, state != State::fresh);
    if (state == State::fresh) {
        if (auto written = store.write("bench.toml", file.text); !written) return written.error();
    }
    return store;
}

std::string Store::run_path(const Point& point, unsigned repetition) {
    return "runs/" + point.path() + "/" + std::to_string(repetition);
}

std::optional<RunRecord> Store::finished(const Point& point, unsigned repetition) const {
    auto record = read_run(absolute_ + "/" + run_path(point, repetition) + "/run.json");
    if (!record || !record->ok()) return std::nullopt;
    return *record;
}

Result<void> Store::begin(const Point& point, unsigned repetition) const {
    const std::string path = absolute_ + "/" + run_path(point, repetition);
    std::error_code error;
    fs::remove_all(path, error);
    if (!error) fs::create_directories(path, error);
    if (error) return Error{path + ": cannot be made: " + error.message()};
    return {};
}

Result<void> Store::keep(const Point& point, const RunRecord& run) const {
    return write_run(run, absolute_ + "/" + run_path(point, run.repetition) + "/run.json");
}

Result<void> Store::write(const std::string& name, const std::string& text) const {
    OutputFile file(absolute_ + "/" + name);
    if (!file.failed()) file.write(text);
    return file.commit();
}

}  // namespace flameprobe::bench
