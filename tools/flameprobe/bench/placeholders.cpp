#include "placeholders.hpp"

#include <functional>

namespace flameprobe::bench {

namespace {

bool in_name(char c, bool first) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && c >= '0' && c <= '9');
}

/// The end of the name that begins at `begin`.
std::size_t name_end(const std::string& text, std::size_t begin) {
    std::size_t end = begin;
    while (end < text.size() && in_name(text[end], end == begin)) ++end;
    return end;
}

std::string replace(const std::string& text, const std::function<std::string(const std::string& name)>& value) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        const bool literal = text.compare(i, 2, "{{") == 0;
        const std::size_t begin = i + (literal ? 2 : 1), end = text[i] == '{' ? name_end(text, begin) : begin;
        const char* close = literal ? "}}" : "}";
        if (text[i] != '{' || end == begin || text.compare(end, literal ? 2 : 1, close) != 0) {
            out += text[i++];
            continue;
        }
        const std::string name = text.substr(begin, end - begin);
        out += literal ? "{" + name + "}" : value(name);
        i = end + (literal ? 2 : 1);
    }
    return out;
}

}  // namespace

std::vector<std::string> placeholders_in(const std::string& text) {
    std::vector<std::string> names;
    replace(text, [&names](const std::string& name) {
        names.push_back(name);
        return std::string();
    });
    return names;
}

std::string fill_in(const std::string& text, const std::map<std::string, std::string>& values) {
    return replace(text, [&values](const std::string& name) {
        const auto found = values.find(name);
        return found == values.end() ? "{" + name + "}" : found->second;
    });
}

const std::set<std::string>& known_placeholders() {
    static const std::set<std::string> names = {"port", "seconds", "repetition", "directory"};
    return names;
}

}  // namespace flameprobe::bench
