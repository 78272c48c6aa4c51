#include "render/text.hpp"

#include "base/printed.hpp"

namespace flameprobe {

namespace {

unsigned width(char32_t c) {
    if (c < 0x300) return 1;
    if (c <= 0x36F || (c >= 0x200B && c <= 0x200D) || (c >= 0xFE00 && c <= 0xFE0F)) return 0;
    const bool wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
                      (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
                      (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
    return wide ? 2 : 1;
}

}  // namespace

void append_xml(std::string& out, std::string_view clean) {
    for (const char c : clean) {
        switch (c) {
            case '&':
                out.append("&amp;");
                break;
            case '<':
                out.append("&lt;");
                break;
            case '>':
                out.append("&gt;");
                break;
            case '"':
                out.append("&quot;");
                break;
            case '\'':
                out.append("&#39;");
                break;
            default:
                out.push_back(c);
        }
    }
}

std::size_t columns(std::string_view clean) {
    std::size_t count = 0;
    while (!clean.empty()) {
        const CodePoint c = first_code_point(clean);
        count += c.size == 0 ? 1 : width(c.value);
        clean.remove_prefix(c.size == 0 ? 1 : c.size);
    }
    return count;
}

std::string fit_columns(std::string_view clean, std::size_t room) {
    std::size_t used = 0;
    std::size_t kept_bytes = 0;  // of what fits with the "…" behind it
    std::size_t kept_columns = 0;
    for (std::size_t at = 0; at < clean.size();) {
        const CodePoint c = first_code_point(clean.substr(at));
        used += c.size == 0 ? 1 : width(c.value);
        at += c.size == 0 ? 1 : c.size;
        if (used + 1 <= room) {
            kept_bytes = at;
            kept_columns = used;
        }
        if (used > room) return kept_columns < 4 ? std::string{} : std::string{clean.substr(0, kept_bytes)} + "…";
    }
    return std::string{clean};
}

std::string shorten(std::string_view clean, std::size_t most) {
    if (clean.size() <= most) return std::string{clean};
    const auto is_tail = [&](std::size_t at) { return (static_cast<unsigned char>(clean[at]) & 0xC0) == 0x80; };
    std::size_t head = most * 3 / 4;
    while (head > 0 && is_tail(head)) --head;
    std::size_t rest = clean.size() - (most - most * 3 / 4);
    while (rest < clean.size() && is_tail(rest)) ++rest;
    return std::string{clean.substr(0, head)} + " … " + std::string{clean.substr(rest)};
}

std::uint64_t stable_hash(std::string_view text, std::uint64_t seed) {
    std::uint64_t hash = seed;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return hash;
}

}  // namespace flameprobe
