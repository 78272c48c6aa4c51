#include "perf_script.hpp"

#include <algorithm>
#include <optional>

#include "base/number.hpp"
#include "export/text.hpp"

namespace flameprobe {

namespace {

constexpr std::string_view blank = " \t\r";

std::string_view trim(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(blank);
    return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(blank) + 1 - begin);
}

bool all_of(std::string_view text, std::string_view accepted) {
    return !text.empty() && text.find_first_not_of(accepted) == text.npos;
}

struct Header {
    std::string_view thread, event, rest;  // rest: a frame on the same line, as without call chains
};

/// "comm with spaces 4711/4712 [000] 12.345678: 1000 cycles:u: ADDRESS SYMBOL (FILE)". The thread's name ends where a
/// pid and, behind a CPU or not, a time follow.
std::optional<Header> parse_header(std::string_view text) {
    constexpr std::string_view digits = "0123456789";
    if (text.empty() || blank.find(text.front()) != blank.npos || text.front() == '#') return std::nullopt;
    std::size_t time_end = 0;
    for (std::size_t colon = text.find(": "); time_end == 0; colon = text.find(": ", colon + 1)) {
        if (colon == text.npos) return std::nullopt;
        const std::size_t begin = text.find_last_of(" \t", colon - 1) + 1;
        if (begin > 0 && all_of(text.substr(begin, colon - begin), "0123456789.")) time_end = colon;
    }
    std::string_view before = trim(text.substr(0, text.find_last_of(" \t", time_end - 1)));
    if (before.ends_with(']')) before = trim(before.substr(0, before.rfind('[')));
    const std::size_t pid = before.find_last_of(" \t");
    if (pid == before.npos || !all_of(before.substr(pid + 1), "0123456789/-")) return std::nullopt;
    Header header{trim(before.substr(0, pid)), {}, {}};
    std::string_view after = trim(text.substr(time_end + 1));
    const std::size_t word = std::min(after.find_first_of(blank), after.size());
    if (all_of(after.substr(0, word), digits)) after = trim(after.substr(word));  // the period
    const std::size_t end = std::min(after.find(": "), after.ends_with(':') ? after.size() - 1 : after.size());
    header.event = after.substr(0, end);
    if (end + 1 < after.size()) header.rest = trim(after.substr(end + 1));
    return header.thread.empty() ? std::nullopt : std::optional(header);
}

bool is_kernel(std::string_view file) {
    return file.starts_with("[kernel") || file.starts_with("[guest.kernel") || file.ends_with("/vmlinux") ||
           file.ends_with(".ko") || file.find(".ko.") != file.npos ||
           (file.starts_with('[') && file != "[vdso]" && file != "[vsyscall]" && file != "[unknown]" &&
            file != "[heap]" && file != "[stack]");
}

/// "7f12ab main+0x12 (/usr/bin/prog)", "... main (inlined)", "... [unknown] (/lib/libc.so.6)".
std::optional<std::string> parse_frame(std::string_view text) {
    text = trim(text);
    const std::size_t space = text.find_first_of(blank);
    if (space == text.npos || !all_of(text.substr(0, space), "0123456789abcdefABCDEF")) return std::nullopt;
    std::string_view name = trim(text.substr(space)), file;
    if (name.ends_with(')')) {  // a file's name may have parentheses too: its own are the last balanced ones
        int depth = 0;
        std::size_t at = name.size();
        while (at > 0) {
            --at;
            depth += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
            if (depth == 0) break;
        }
        file = name.substr(at + 1, name.size() - at - 2);
        name = trim(name.substr(0, at));
    }
    if (const std::size_t plus = name.rfind("+0x"); plus != name.npos && plus > 0) name = name.substr(0, plus);
    if (file == "inlined") return folded_name(name, FrameKind::inlined);
    const std::string_view last = file.substr(file.rfind('/') + 1);
    if (name.empty() || name == "[unknown]")
        return is_kernel(file)
                   ? std::string("[kernel]")
                   : folded_name(last.empty() || last == "[unknown]" ? "[unknown code]"
                                                                     : "[unknown in " + std::string(last) + "]",
                                 FrameKind::user);
    return folded_name(name, is_kernel(file) ? FrameKind::kernel : FrameKind::user);
}

}  // namespace

bool is_perf_script(std::string_view head) {
    while (!head.empty()) {
        const std::size_t end = std::min(head.find('\n'), head.size());
        const std::string_view line = trim(head.substr(0, end));
        if (!line.empty() && line.front() != '#') {
            const auto header = parse_header(head.substr(0, end));
            return header && !header->event.empty();
        }
        head.remove_prefix(std::min(end + 1, head.size()));
    }
    return false;
}

void PerfScript::begin(std::string_view text) {
    const auto header = parse_header(text);
    if (!header) return;
    in_sample_ = true;
    thread_ = folded_name(header->thread, FrameKind::user);
    if (event_.empty()) event_ = header->event;
    wanted_ = event_ == header->event;
    if (const auto frame = parse_frame(header->rest)) frames_.push_back(*frame);
}

void PerfScript::line(std::string_view text, std::string& folded) {
    if (trim(text).empty()) return finish(folded);
    if (text.front() == '#') return;
    if (blank.find(text.front()) != blank.npos && in_sample_) {
        if (auto frame = parse_frame(text)) frames_.push_back(std::move(*frame));
        return;
    }
    finish(folded);  // without call chains no blank line follows
    begin(text);
}

void PerfScript::finish(std::string& folded) {
    if (in_sample_ && wanted_) {
        folded += thread_;
        for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) folded += ";" + *frame;
        folded += " 1\n";
    }
    others_ += in_sample_ && !wanted_ ? 1 : 0;
    in_sample_ = false;
    frames_.clear();
}

}  // namespace flameprobe
