#include "archive.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "../output_of.hpp"

namespace flameprobe::compare {

bool is_archive(const std::string& path) {
    constexpr std::array<std::string_view, 5> endings = {".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.zst"};
    return std::any_of(endings.begin(), endings.end(), [&path](std::string_view end) { return path.ends_with(end); });
}

Result<Measurement> read_archive(const std::string& path) {
    // tar takes a name with a colon for a file on another machine.
    const std::string report =
        output_of({"tar", "--force-local", "-xOf", path, "--wildcards", "--occurrence=1", "*report.json"});
    if (report.empty())
        return Error{path + ": cannot be unpacked by tar, or has no report.json of flameprobe bench of at most 64 MB"};
    return parse_measurement(report, path);
}

}  // namespace flameprobe::compare
