#include <cstdio>
#include <string_view>

#include "commands.hpp"
#include "report.hpp"

namespace flameprobe {

namespace {

constexpr const char* doctor_usage =
    "Usage: flameprobe doctor [PROGRAM]\n"
    "Tells which engine and unwinder would be used here and why, what PROGRAM lacks, and the command that mends it.\n"
    "Exit status: 0 it works, 1 nothing could be sampled, 2 wrong usage.\n";

}  // namespace

int doctor_command(int argc, char* argv[]) {
    if (argc > 1 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h")) {
        return std::fputs(doctor_usage, stdout) < 0 ? 1 : 0;
    }
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        std::fputs(doctor_usage, stderr);
        return 2;
    }
    DoctorReport report;
    bool works = report_machine(report);
    if (argc == 2) works = report_program(report, argv[1]) && works;
    report.verdict(works);
    return print_text(stdout, report.text()) && works ? 0 : 1;
}

}  // namespace flameprobe
