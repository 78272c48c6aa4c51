#include "base/printed.hpp"

namespace flameprobe {

bool is_shown(char32_t c) {
    if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return false;
    if ((c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069)) return false;
    if (c == 0x2028 || c == 0x2029) return false;
    return (c & 0xFFFE) != 0xFFFE && !(c >= 0xFDD0 && c <= 0xFDEF);
}

std::string clean_text(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const CodePoint c = first_code_point(text);
        if (c.size == 1 && (c.value == '\t' || c.value == '\n' || c.value == '\r')) {
            out.push_back(' ');
        } else if (c.size == 0 || !is_shown(c.value)) {
            out.append(replacement_character);
        } else {
            out.append(text.substr(0, c.size));
        }
        text.remove_prefix(c.size == 0 ? 1 : c.size);
    }
    return out;
}

bool print_text(std::FILE* to, std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        out += clean_text(text.substr(0, end));
        if (end == text.npos) break;
        out += '\n';
        text.remove_prefix(end + 1);
    }
    return std::fwrite(out.data(), 1, out.size(), to) == out.size() && std::fflush(to) == 0;
}

void print_message(std::string_view who, std::string_view message) {
    print_text(stderr, std::string(who) + ": " + clean_text(message) + "\n");
}

}  // namespace flameprobe
