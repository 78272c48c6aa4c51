#include "store.hpp"

#include <fcntl.h>

#include <ctime>
#include <filesystem>

#include "base/machine.hpp"
#include "export/output_file.hpp"
#include "outside/byte_stream.hpp"

namespace flameprobe::bench {

namespace {

namespace fs = std::filesystem;

enum class State { fresh, partly, complete, other };

/// Empty if it cannot be read.
std::string text_of(const OwnDirectory& directory, const std::string& name) {
    std::string text;
    Descriptor file = directory.open(name, O_RDONLY);
    if (!file || !ByteSource(std::move(file), name).read(std::string::npos, text)) text.clear();
    return text;
}

std::optional<RunRecord> finished_in(const OwnDirectory& root, const std::string& run) {
    const auto directory = root.enter(run);
    if (!directory) return std::nullopt;
    auto record = read_run(text_of(*directory, "run.json"), run);
    if (!record || !record->ok()) return std::nullopt;
    return std::move(*record);
}

State state_of(const OwnDirectory& directory, const BenchFile& file) {
    if (directory.is_empty()) return State::fresh;
    if (text_of(directory, "bench.toml") != file.text) return State::other;
    const auto points = points_of(file);
    for (const PlannedRun& run : plan_of(points.size(), file.repeat)) {
        if (!finished_in(directory, Store::run_path(points[run.point], run.repetition))) return State::partly;
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

Store::Store(std::string path, OwnDirectory directory, bool resumed)
    : path_(std::move(path)),
      absolute_(fs::absolute(path_).lexically_normal().string()),
      directory_(std::move(directory)),
      resumed_(resumed) {
    while (absolute_.size() > 1 && absolute_.ends_with('/')) absolute_.pop_back();
}

Result<Store> Store::open(const std::string& wanted, const BenchFile& file) {
    const std::string first = wanted.empty() ? default_path() : wanted;
    for (int number = 1;; ++number) {
        const std::string path = number == 1 ? first : first + "." + std::to_string(number);
        auto directory = OwnDirectory::make(path);
        if (!directory)
            return Error{path + ": cannot be used: " + directory.error().message + "; name another directory with -o"};
        const State state = state_of(*directory, file);
        if (wanted.empty() && (state == State::complete || state == State::other)) continue;
        if (state == State::other)
            return Error{path +
                         ": is there already, and not of this bench as it now stands; name another directory with -o"};
        Store store(path, std::move(*directory), state != State::fresh);
        if (state == State::fresh) {
            if (auto written = store.write("bench.toml", file.text); !written) return written.error();
        }
        return store;
    }
}

std::string Store::run_path(const Point& point, unsigned repetition) {
    return "runs/" + point.path() + "/" + std::to_string(repetition);
}

std::optional<RunRecord> Store::finished(const Point& point, unsigned repetition) const {
    return finished_in(directory_, run_path(point, repetition));
}

Result<OwnDirectory> Store::begin(const Point& point, unsigned repetition) const {
    const std::string path = run_path(point, repetition), name = std::to_string(repetition);
    const auto failure = [&](const Error& error) { return Error{absolute_ + "/" + path + ": " + error.message}; };
    const auto above = directory_.make_in(path.substr(0, path.size() - name.size() - 1));
    if (!above) return failure(above.error());
    if (auto removed = above->remove_tree(name); !removed) return failure(removed.error());
    auto made = above->make_in(name);
    return made ? std::move(made) : failure(made.error());
}

Result<void> Store::keep(const Point& point, const RunRecord& run) const {
    return write(run_path(point, run.repetition) + "/run.json", run_record_json(run));
}

Result<void> Store::make_pictures_place() const {
    const auto made = directory_.make_in("pictures");
    return made ? Result<void>() : Error{path_ + ": " + made.error().message};
}

Result<void> Store::write(const std::string& name, const std::string& text) const {
    return write_file(absolute_ + "/" + name, text);
}

}  // namespace flameprobe::bench
