#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/paths.hpp"
#include "base/proc.hpp"
#include "page_sources.hpp"

namespace flameprobe {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest_file = 8 << 20;
constexpr std::uint32_t lines_about = 6;   // shown before and after a line with samples
constexpr std::size_t longest_line = 400;  // bytes

class Files {
public:
    explicit Files(const std::vector<std::string>& directories) : directories_(directories) {}

    /// The lines of a file; null if it was not found.
    const std::vector<std::string>* lines(const std::string& path) {
        const auto [at, added] = files_.try_emplace(path);
        if (added) at->second = read(find(path));
        return at->second.empty() ? nullptr : &at->second;
    }

private:
    static bool fits(const fs::path& path) {
        std::error_code error;
        return fs::is_regular_file(path, error) && fs::file_size(path, error) <= largest_file && !error;
    }
    /// The file below a directory that has the longest end of the path in common.
    fs::path find(const fs::path& path) const {
        for (const std::string& directory : directories_) {
            for (auto from = path.begin(); from != path.end(); ++from) {
                fs::path candidate = directory;
                for (auto part = from; part != path.end(); ++part) {
                    if (*part != "/") candidate /= *part;
                }
                if (fits(candidate)) return candidate;
            }
        }
        return path.is_absolute() && fits(path) ? path : fs::path();
    }
    static std::vector<std::string> read(const fs::path& path) {
        std::vector<std::string> lines;
        const auto text = path.empty() ? std::nullopt : read_small_file(path.c_str());
        if (!text) return lines;
        for (std::string_view line : parts_of_list(*text, '\n')) {
            if (line.ends_with('\r')) line.remove_suffix(1);
            lines.emplace_back(line.substr(0, longest_line));
        }
        if (lines.back().empty()) lines.pop_back();
        return lines;
    }

    const std::vector<std::string>& directories_;
    std::map<std::string, std::vector<std::string>> files_;
};

std::vector<SourceText> pick(const std::vector<std::string>& file, const std::set<std::uint32_t>& wanted) {
    std::vector<SourceText> text;
    for (const std::uint32_t line : wanted) {
        if (line > 0 && line <= file.size()) text.push_back({line, file[line - 1]});
    }
    return text;
}

using LinesOf = std::map<FunctionId, std::set<std::uint32_t>>;

void collect_inlined(const SourceLine& line, LinesOf& into) {
    for (const SourceLine::Inlined& inlined : line.inlined) {
        for (const SourceLine& inner : inlined.lines) {
            into[inlined.function].insert(inner.line);
            collect_inlined(inner, into);
        }
    }
}

}  // namespace

void add_source_text(const NamedProfile& profile, const std::vector<std::string>& directories, PageSource& source) {
    Files files(directories);
    LinesOf inlined;
    const auto path_of = [&](FunctionId id) { return std::string(profile.strings.view(profile.functions[id].file)); };
    for (FunctionSource& function : source.functions) {
        std::set<std::uint32_t> wanted;
        const std::uint32_t first = profile.functions[function.function].line;
        if (first > 0) wanted.insert(first);
        for (const SourceLine& line : function.lines) {
            collect_inlined(line, inlined);
            for (std::uint32_t at = line.line - std::min(line.line, lines_about); at <= line.line + lines_about; ++at)
                if (line.line > 0 && at >= first) wanted.insert(at);
        }
        const std::string path = path_of(function.function);
        if (const auto* file = files.lines(path)) {
            function.text = pick(*file, wanted);
        } else {
            function.note = path + " was not found: name its directory with --source=DIR";
        }
    }
    for (const auto& [id, wanted] : inlined) {
        const auto* file = files.lines(path_of(id));
        if (file != nullptr) source.inlined.push_back({id, pick(*file, wanted)});
    }
}

}  // namespace flameprobe
