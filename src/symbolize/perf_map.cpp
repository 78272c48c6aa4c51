#include "symbolize/perf_map.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <span>

#include "base/host_process.hpp"
#include "base/paths.hpp"
#include "base/proc.hpp"

namespace flameprobe {

namespace {

// A map may be as large as its writer likes. The newest lines count, which are the last.
constexpr std::size_t most_text = std::size_t{64} << 20;
constexpr std::size_t most_entries = std::size_t{1} << 20;
constexpr int most_overlaps = 4096;  // a hostile map could otherwise make every look-up walk all of it

/// Where the last `most_entries` lines begin.
std::size_t begin_of_last_lines(std::string_view text) {
    std::size_t at = text.size();
    for (std::size_t lines = 0; lines <= most_entries; ++lines) {
        at = at == 0 ? text.npos : text.rfind('\n', at - 1);
        if (at == text.npos) return 0;
    }
    return at + 1;
}

/// The last lines, as many as are kept.
std::string read_map(const std::string& path, std::vector<std::string>& warnings) {
    const Descriptor file = open_trusted(path, warnings);
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) return {};
    const auto size = static_cast<std::size_t>(status.st_size), from = size - std::min(size, most_text);
    std::string text(size - from, '\0');
    text.resize(read_at(file.get(), from, std::as_writable_bytes(std::span(text))));
    std::size_t begin = from == 0 ? 0 : std::min(text.find('\n'), text.size());
    begin = std::max(begin, begin_of_last_lines(text));
    if (begin == 0) return text;
    warnings.push_back(path + ": only the last of its names are read, since it has more than " +
                       std::to_string(most_entries) + ", or more than " + std::to_string(most_text >> 20) + " MiB");
    text.erase(0, begin);
    return text;
}

std::string path_of(std::uint32_t pid) { return "/tmp/perf-" + std::to_string(pid) + ".map"; }

/// The process id in the process's own namespace: the last of NSpid (proc(5), /proc/PID/status).
std::uint32_t number_inside(std::uint32_t pid) {
    const auto status = read_small_file((host_proc_directory() + "/status").c_str());
    const auto numbers = status_numbers(status.value_or(""), "NSpid");
    return numbers.empty() ? pid : static_cast<std::uint32_t>(numbers.back());
}

/// Reads a hex number and the blanks behind it; false if there is none.
bool take_number(std::string_view& line, std::uint64_t& value) {
    if (line.starts_with("0x")) line.remove_prefix(2);
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
    if (error != std::errc{}) return false;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    const auto blank = std::min(line.find_first_not_of(" \t"), line.size());
    line.remove_prefix(blank);
    return blank > 0;
}

}  // namespace

PerfMap PerfMap::of_process(std::uint32_t pid, const std::vector<std::string>& jit_dumps,
                            std::vector<std::string>& warnings) {
    std::string text;
    const bool watched = is_watched_from_outside() && pid == static_cast<std::uint32_t>(host_process());
    if (pid != 0) text = read_map(path_of(watched ? number_inside(pid) : pid), warnings);
    std::vector<JitCode> codes;
    for (const std::string& path : jit_dumps) {
        if (codes.size() >= most_entries) {
            warnings.push_back(path + ": its names are not read, since the dumps before it have more than " +
                               std::to_string(most_entries));
            break;
        }
        auto more = read_jit_dump(path, warnings);
        std::move(more.begin(), more.end(), std::back_inserter(codes));
    }
    return parse(std::move(text), std::move(codes));
}

PerfMap PerfMap::parse(std::string text, std::vector<JitCode> codes) {
    // A process may have several dumps: of each compiler in it, and its parent's from before the fork.
    std::ranges::stable_sort(codes, {}, &JitCode::time_ns);
    PerfMap map;
    map.text_ = std::move(text);
    const std::string_view all = map.text_;
    for (std::string_view line : parts_of_list(all, '\n')) {
        std::uint64_t start = 0, size = 0;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (!take_number(line, start) || !take_number(line, size) || line.empty()) continue;
        map.add(start, size, 0, static_cast<std::size_t>(line.data() - all.data()), line.size());
    }
    for (const JitCode& code : codes) {
        if (code.name.empty()) continue;
        map.add(code.start, code.size, code.time_ns, map.text_.size(), code.name.size());
        map.text_ += code.name;
    }
    std::ranges::sort(map.entries_, {}, [](const Entry& one) { return std::pair(one.start, one.order); });
    std::uint64_t reach = 0;
    for (const Entry& entry : map.entries_) map.reach_.push_back(reach = std::max(reach, entry.end));
    return map;
}

void PerfMap::add(std::uint64_t start, std::uint64_t size, std::uint64_t time_ns, std::size_t name_at,
                  std::size_t name_size) {
    if (size == 0 || size > ~start) return;
    entries_.push_back({start, start + size, time_ns, name_at, name_size, entries_.size()});
}

std::vector<const PerfMap::Entry*> PerfMap::all_at(std::uint64_t address) const {
    const auto after = std::ranges::upper_bound(entries_, address, {}, &Entry::start);
    std::vector<const Entry*> found;
    int steps = most_overlaps;
    for (auto i = static_cast<std::size_t>(after - entries_.begin()); i-- > 0 && reach_[i] > address && steps-- > 0;)
        if (entries_[i].end > address) found.push_back(&entries_[i]);
    std::ranges::sort(found, {}, &Entry::order);
    return found;
}

std::string_view PerfMap::find(std::uint64_t address) const {
    const auto all = all_at(address);
    return all.empty() ? std::string_view{} : name(*all.back());
}

std::string_view PerfMap::find(std::uint64_t start, std::uint64_t size, std::uint64_t time_ns) const {
    std::string_view last;
    for (const Entry* const entry : all_at(start))
        if (entry->start == start && entry->end == start + size && entry->time_ns <= time_ns) last = name(*entry);
    return last;
}

}  // namespace flameprobe
