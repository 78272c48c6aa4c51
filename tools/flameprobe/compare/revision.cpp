#include "revision.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "../output_of.hpp"

namespace flameprobe::compare {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t date_bytes = 10, commit_bytes = 12;  // as in 2026-11-22-1a2b3c4d5e6f

/// The number of a directory among those of the commit on its day, from 1; 0 if it is of another commit.
unsigned number_of(const std::string& name, const std::string& commit) {
    const std::string wanted = "-" + commit.substr(0, commit_bytes);
    if (name.compare(std::min(name.size(), date_bytes), wanted.size(), wanted) != 0) return 0;
    const std::string rest = name.substr(date_bytes + wanted.size());
    if (rest.empty()) return 1;
    unsigned number = 0;
    const char* const end = rest.data() + rest.size();
    return rest[0] == '.' && std::from_chars(rest.data() + 1, end, number).ptr == end ? number : 0;
}

}  // namespace

std::string newest_of(const std::string& commit, const std::string& store) {
    std::pair<std::string, unsigned> newest;  // date and number
    std::string path;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(store, error)) {
        const std::string name = entry.path().filename();
        const unsigned number = number_of(name, commit);
        if (number == 0 || !fs::exists(entry.path() / "report.json", error)) continue;
        const std::pair<std::string, unsigned> made(name.substr(0, date_bytes), number);
        if (made > newest) newest = made, path = entry.path();
    }
    return path;
}

Result<std::string> find_side(const std::string& name, const std::string& store) {
    std::error_code error;
    if (fs::exists(name, error) || !fs::is_directory(store, error)) return name;
    std::string commit = output_of({"git", "rev-parse", "--verify", "--quiet", name + "^{commit}"});
    while (!commit.empty() && commit.back() == '\n') commit.pop_back();
    if (commit.empty()) return Error{name + ": is neither a path nor a revision that git knows here"};
    const std::string path = newest_of(commit, store);
    if (path.empty())
        return Error{name + " is commit " + commit.substr(0, commit_bytes) + ", and " + store +
                     "/ has no results of it: run flameprobe bench there, or name another directory with --store"};
    return path;
}

Result<Measurement> read_archive(const std::string& path) {
    // tar takes a name with a colon for a file on another machine.
    const std::string report =
        output_of({"tar", "--force-local", "-xOf", path, "--wildcards", "--occurrence=1", "*report.json"});
    if (report.empty())
        return Error{path + ": cannot be unpacked by tar, or has no report.json of flameprobe bench of at most 64 MB"};
    return parse_measurement(report, path);
}

}  // namespace flameprobe::compare
