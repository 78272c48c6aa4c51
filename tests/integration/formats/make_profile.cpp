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

int main(int argc, char** argv) {
    const auto write = [](const NamedProfile& profile, Format format, const std::string& path) {
        const auto written = write_output(profile, format, path, {});
        if (!written) std::fprintf(stderr, "%s\n", written.error().message.c_str());
        return static_cast<bool>(written);
    };
    if (argc == 2) {
        bool good = true;
        for (const char* name : {"folded", "pprof", "speedscope", "firefox", "json"}) {
            const Format format = *format_by_name(name);
            good &=
                write(SampleProfile().get(), format, std::string(argv[1]) + "/sample" + std::string(ending_of(format)));
        }
        return good ? 0 : 1;
    }
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
    return read && write(profile, *format, argv[2]) ? 0 : 1;
}
