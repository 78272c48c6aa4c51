#include <algorithm>
#include <optional>

#include "base/number.hpp"
#include "export/text.hpp"
#include "text_input.hpp"

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
    bool sure = false;                     // a time or an event is there, not only a pid
};

/// Takes the first word off `text`.
std::string_view take_word(std::string_view& text) {
    text = trim(text);
    const std::string_view word = text.substr(0, text.find_first_of(blank));
    text.remove_prefix(word.size());
    return word;
}

/// What follows the pid, each part or none of it: "[000] U 12.345678: 1000 cycles:u: ADDRESS SYMBOL (FILE)". False if
/// it is something else.
bool parse_behind_pid(std::string_view text, Header& header) {
    constexpr std::string_view digits = "0123456789", modes = "KUHGgMESp";
    std::string_view rest = text, word = take_word(rest);
    const auto skip_if = [&](bool is_it) {
        if (is_it) text = rest, word = take_word(rest);
        return is_it;
    };
    skip_if(word.starts_with('[') && word.ends_with(']') && all_of(word.substr(1, word.size() - 2), digits));
    skip_if(all_of(word, modes));
    const bool is_time = word.ends_with(':') && all_of(word.substr(0, word.size() - 1), "0123456789.-");
    header.sure = skip_if(is_time);
    header.rest = trim(text);
    skip_if(all_of(word, digits));  // the period
    text = trim(text);
    const std::size_t end = std::min(text.find(": "), text.ends_with(':') ? text.size() - 1 : text.npos);
    if (end == text.npos) return header.sure || text.empty();
    header.event = text.substr(0, end);
    header.rest = trim(text.substr(end + 1));
    const bool is_name = header.event.find_first_of(blank) == text.npos && !all_of(header.event, "0123456789.");
    return header.sure = header.sure || is_name;
}

/// "comm with spaces 4711/4712 [000] 12.345678: 1000 cycles:u: ADDRESS SYMBOL (FILE)", with the fields that perf was
/// asked for (-F). The thread's name ends where a pid and nothing but these follow. It may look like any of them.
std::optional<Header> parse_header(std::string_view text) {
    constexpr std::size_t longest_name = 64;  // the kernel's have 15 bytes
    text = trim(text);
    if (text.starts_with('#')) return std::nullopt;
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view word = take_word(rest);
        Header header;
        header.thread = trim(text.substr(0, static_cast<std::size_t>(word.data() - text.data())));
        if (header.thread.size() > longest_name) break;
        if (!header.thread.empty() && all_of(word, "0123456789/-") && parse_behind_pid(rest, header)) return header;
    }
    return std::nullopt;
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

// Frames begin with a tab, and without call chains threads' names with spaces. perf's own header may be all there is:
// its lines that end in a number are no stacks.
bool is_perf_script(std::string_view head) {
    if (head.starts_with("# ========\n# captured on")) return true;
    bool after_pid = false;
    while (!head.empty()) {
        const std::size_t end = std::min(head.find('\n'), head.size());
        const std::string_view line = head.substr(0, end);
        if (after_pid) return line.starts_with('\t') && parse_frame(line);
        if (!trim(line).empty() && !line.starts_with('#')) {
            const auto header = line.starts_with('\t') ? std::nullopt : parse_header(line);
            if (!header || header->sure) return header.has_value();
            after_pid = true;
        }
        head.remove_prefix(std::min(end + 1, head.size()));
    }
    return false;
}

void PerfScript::begin(std::string_view thread, std::string_view event, std::string_view frame) {
    in_sample_ = !event.starts_with("PERF_RECORD_");  // of a task or a mapping
    if (!in_sample_) return;
    thread_ = folded_name(thread, FrameKind::user);
    if (event_.empty()) event_ = event;
    wanted_ = event_ == event;
    if (auto leaf = parse_frame(frame)) frames_.push_back(std::move(*leaf));
}

void PerfScript::line(std::string_view text, std::string& folded) {
    if (trim(text).empty()) return finish(folded);
    if (text.front() == '#') return;
    const bool is_indented = blank.find(text.front()) != blank.npos;
    const auto header = text.front() == '\t' ? std::nullopt : parse_header(text);
    if (header && (header->sure || !is_indented)) {
        finish(folded);  // without call chains no blank line follows
        return begin(header->thread, header->event, header->rest);
    }
    if (is_indented) {
        if (auto frame = parse_frame(text); frame && in_sample_) frames_.push_back(std::move(*frame));
        return;
    }
    finish(folded);
    ++unread_;
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
