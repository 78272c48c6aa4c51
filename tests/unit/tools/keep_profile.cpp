// `keep-profile x.fprobe [EVENT]`: the profile with its names as text, for tests of answers
// (../render/kept_profile.hpp).
#include <cstdio>
#include <string>

#include "../render/kept_profile.hpp"
#include "arguments.hpp"
#include "inputs.hpp"
#include "progress.hpp"

int main(int argc, char* argv[]) {
    using namespace flameprobe;
    if (argc < 2) return 2;
    Arguments arguments;
    if (argc > 2) arguments.filter.event = argv[2];
    Progress progress;
    const auto profile = load_inputs({argv[1]}, arguments, progress);
    if (!profile) return std::fprintf(stderr, "%s\n", profile.error().message.c_str()), 1;
    std::fputs(test::kept_text(*profile).c_str(), stdout);
    return 0;
}
