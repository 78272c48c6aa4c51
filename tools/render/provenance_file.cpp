#include "provenance_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <span>

#include "export/output.hpp"
#include "export/output_file.hpp"

namespace flameprobe {

namespace {

/// Whether a file exists at `path` that does not begin like a provenance. What is no file of this user is for
/// OutputFile to refuse; it is not opened here, as it may be a pipe or a link.
bool is_foreign(const std::string& path) {
    const auto directory = OutputDirectory::of(path);
    if (!directory || !directory->obstacle(last_name(path)).empty()) return false;
    const Descriptor file = directory->open(last_name(path), O_RDONLY);
    std::string begin(std::string_view("before command: ").size(), '\0');
    begin.resize(file ? read_at(file.get(), 0, std::as_writable_bytes(std::span(begin))) : 0);
    return !begin.empty() && !begin.starts_with("command: ") && !begin.starts_with("before command: ") &&
           !begin.starts_with("after command: ");
}

std::string each_line_with(const std::string& prefix, const std::string& text) {
    std::string out;
    for (std::size_t from = 0, end; (end = text.find('\n', from)) != text.npos; from = end + 1)
        out += prefix + text.substr(from, end + 1 - from);
    return out;
}

}  // namespace

Result<void> write_provenance_beside(const NamedProfile& profile, const std::string& picture) {
    return write_text_beside(provenance_text(profile), picture);
}

std::string provenance_of_both(const NamedProfile& before, const NamedProfile& after) {
    return each_line_with("before ", provenance_text(before)) + each_line_with("after ", provenance_text(after));
}

Result<void> write_text_beside(const std::string& text, const std::string& picture) {
    struct stat status {};
    const bool is_file = stat(picture.c_str(), &status) == 0 && S_ISREG(status.st_mode);  // not /dev/null, or a pipe
    if (text.empty() || !is_file) return {};
    const auto name = picture.rfind('/') + 1, dot = picture.rfind('.');  // npos + 1 is 0
    const std::string path = (dot == picture.npos || dot <= name ? picture : picture.substr(0, dot)) + ".txt";
    if (is_foreign(path)) return Error{path + ": is no provenance of a picture, and was left as it is"};
    return write_file(path, text);
}

}  // namespace flameprobe
