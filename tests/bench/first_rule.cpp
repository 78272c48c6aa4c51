// first_rule FILE ADDRESS: opens an ELF file's unwind tables, and asks for the rule of one virtual address of it.
// Prints the microseconds of CPU time and the KiB of memory that this took. first_rule.py makes files for it.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "unwind/cfi_tables.hpp"

using namespace flameprobe;

namespace {
double cpu_us() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}
/// Not getrusage's, which begins with that of the process that forked.
long peak_kib() {
    std::ifstream status("/proc/self/status");
    long peak = 0;
    for (std::string word; status >> word && word != "VmHWM:";) {
    }
    status >> peak;
    return peak;
}
}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    CodeRegion region;
    region.kind = RegionKind::file;
    region.path = arguments[1];
    const long before = peak_kib();
    const double start = cpu_us();
    auto image = ElfImage::from_file(region);
    if (!image) return 1;
    CfiTables tables(std::move(*image), region.path);
    const UnwindRule rule = tables.rule(std::strtoull(arguments[2], nullptr, 16), 0);
    const double took = cpu_us() - start;
    std::printf("%.1f %ld\n", took, peak_kib() - before);
    return rule.kind == RuleKind::no_cfi ? 1 : 0;
}
