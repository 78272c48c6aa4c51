// The command line of `flameprobe bench`.
#pragma once

#include <string>

#include "base/result.hpp"
#include "bench_file.hpp"

namespace flameprobe::bench {

struct BenchRequest {
    BenchFile file;
    std::string out;
    std::string library;  // empty: the one beside this program
    bool help = false;
};

/// Reads the bench file that is named, or makes one of the options. An Error is for exit status 2.
Result<BenchRequest> parse_bench_options(int argc, char* argv[]);

extern const char* const bench_usage;

}  // namespace flameprobe::bench
