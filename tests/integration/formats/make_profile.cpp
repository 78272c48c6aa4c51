// Writes the unit tests' sample profile in every format: make_profile DIRECTORY; or the folded text of standard input
// in one: make_profile FORMAT OUTPUT.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "../../unit/export/sample_profile.hpp"
#include "export/folded_reader.hpp"
#include "export/output.hpp"

using namespace flameprobe;

namespace {

/// In every format, and pprof with threads as labels.
bool write_all(const std::string& stem) {
    const auto write = [&](Format format, const std::string& ending, const OutputOptions& options) {
        const auto written = write_output(SampleProfile().get(), format, stem + ending, options);
        if (!written) std::fprintf(stderr, "%s\n", written.error().message.c_str());
        return static_cast<bool>(written);
    };
    bool good = true;
    for (const Format format : all_formats()) good &= write(format, std::string(ending_of(format)), {});
    good &= write(Format::pprof, ".folded.pb.gz", {{}, {ThreadLabels::folded}});
    return write(Format::pprof, ".exact.pb.gz", {{}, {ThreadLabels::exact}}) && good;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2) return write_all(std::string(argv[1]) + "/sample") ? 0 : 1;
    const auto format = argc == 3 ? format_by_name(argv[1]) : Error{"usage: make_profile DIRECTORY | FORMAT OUTPUT"};
    if (!format) {
        std::fprintf(stderr, "%s\n", format.error().message.c_str());
        return 2;
    }
    NamedProfile profile;
    FoldedReader reader(profile, "standard input");
    reader.feed(std::string(std::istreambuf_iterator<char>(std::cin), {}));
    const auto read = reader.finish();
    if (!read) std::fprintf(stderr, "%s\n", read.error().message.c_str());
    if (!read) return 1;
    const auto written = write_output(profile, *format, argv[2], {});
    if (!written) std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return written ? 0 : 1;
}
