#include "provenance_file.hpp"

#include <sys/stat.h>

#include <fstream>

#include "export/output_file.hpp"
#include "export/provenance_text.hpp"

namespace flameprobe {

namespace {

const std::string first_key = "command: ";

/// Of another origin: something is there, and it does not begin as ours do.
bool is_foreign(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string begin(first_key.size(), '\0');
    return file && file.peek() != std::ifstream::traits_type::eof() &&
           !(file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == first_key);
}

}  // namespace

Result<void> write_provenance_beside(const NamedProfile& profile, const std::string& picture) {
    const std::string text = provenance_text(profile);
    struct stat status {};
    const bool is_file = stat(picture.c_str(), &status) == 0 && S_ISREG(status.st_mode);  // not /dev/null, or a pipe
    if (text.empty() || !is_file) return {};
    const auto name = picture.rfind('/') + 1, dot = picture.rfind('.');  // npos + 1 is 0
    const std::string path = (dot == picture.npos || dot <= name ? picture : picture.substr(0, dot)) + ".txt";
    if (is_foreign(path)) return Error{path + ": is no provenance of a picture, and was left as it is"};
    OutputFile file(path);
    if (!file.failed()) file.write(text);
    return file.commit();
}

}  // namespace flameprobe
