#include "results.hpp"

#include <glob.h>
#include <sys/stat.h>

#include <set>

#include "collect/profile_file.hpp"
#include "export/output.hpp"

namespace flameprobe {

namespace {

/// A glob pattern for the paths that the library makes of the template, with `pid` for %p.
std::string pattern_of(const std::string& out, const std::string& pid) {
    std::string pattern;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const char c = out[i];
        if (c == '%' && i + 1 < out.size()) {
            const char kind = out[++i];
            pattern += kind == 'p' ? pid : kind == '%' ? "%" : "*";
        } else {
            if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
            pattern += c;
        }
    }
    return pattern;
}

struct File {
    std::string path;
    timespec written{};
};

/// Of `kind` (S_IFREG, S_IFDIR) only: others may have put a FIFO or a link there.
void add_matches(const std::string& pattern, const timespec& start, std::vector<File>& files, mode_t kind) {
    glob_t found{};
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
        for (std::size_t i = 0; i < found.gl_pathc; ++i) {
            struct stat status {};
            if (lstat(found.gl_pathv[i], &status) != 0 || is_later(start, status.st_mtim)) continue;
            if ((status.st_mode & S_IFMT) != kind) continue;
            files.push_back({found.gl_pathv[i], status.st_mtim});
        }
    }
    globfree(&found);
}

/// The files with the stem and the ending; the library appends ".2", ".3", ... to a name that is in use.
std::vector<File> files_of(const std::string& stem, const std::string& ending, const timespec& start,
                           mode_t kind = S_IFREG) {
    std::vector<File> files;
    add_matches(stem + ending, start, files, kind);
    add_matches(stem + ".[0-9]*" + ending, start, files, kind);
    return files;
}

/// Pictures first, the profile itself last.
std::vector<std::string> endings() {
    std::vector<std::string> all = {std::string(ending_of(Format::html)), std::string(ending_of(Format::svg))};
    for (const Format format : all_formats()) {
        if (format != Format::html && format != Format::svg) all.emplace_back(ending_of(format));
    }
    all.emplace_back(".fprobe");
    return all;
}

}  // namespace

std::vector<std::string> find_profiles(const std::string& out, const timespec& start) {
    const std::string stem = pattern_of(out, "*");
    auto files = files_of(stem, ".fprobe", start);
    add_matches(stem + ".part[0-9]*.fprobe", start, files, S_IFREG);
    std::set<std::string> distinct;
    for (File& file : files) distinct.insert(std::move(file.path));
    return {distinct.begin(), distinct.end()};
}

std::vector<std::string> find_folders(const std::string& out, const timespec& start) {
    std::vector<std::string> folders;
    for (const File& file : files_of(pattern_of(out, "*"), ".run", start, S_IFDIR)) folders.push_back(file.path);
    return folders;
}

FoundResults find_results(const std::string& out, pid_t pid, const timespec& start) {
    for (const std::string& ending : endings()) {
        const auto own = files_of(pattern_of(out, std::to_string(pid)), ending, start);
        const auto all = files_of(pattern_of(out, "*"), ending, start);
        const auto& candidates = own.empty() ? all : own;
        if (candidates.empty()) continue;
        const File* last = &candidates.front();
        for (const File& file : candidates) {
            if (is_later(file.written, last->written)) last = &file;
        }
        std::set<std::string> distinct;
        for (const File& file : all) distinct.insert(file.path);
        return {last->path, distinct.size() - 1};
    }
    return {};
}

}  // namespace flameprobe
