#include <cstdio>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "commands.hpp"
#include "doctor_report.hpp"

namespace flameprobe {

namespace {

constexpr const char* doctor_usage =
    "Usage: flameprobe doctor [PROGRAM]\n"
    "Tells which engine and unwinder would be used here and why, what PROGRAM lacks, and the command that mends it.\n"
    "\n"
    "  flameprobe doctor             this machine, and what this user may do\n"
    "  flameprobe doctor ./server    and this program: symbols, debug information, unwind tables\n"
    "  flameprobe doctor python3     one that is found in PATH\n"
    "\n"
    "Exit status: 0 it works, 1 nothing could be sampled, 2 wrong usage.\n";

}  // namespace

int doctor_command(int argc, char* argv[]) {
    bool help = false;
    const std::vector<CommandOption<bool>> options = {
        {"help", no_argument, always([](bool& into, const std::string&) { into = true; }), 'h'}};
    const auto first = take_options<bool>(argc, argv, options, help);
    if (!first) return complain_of_usage("doctor", first.error().message);
    if (help) return std::fputs(doctor_usage, stdout) < 0 ? 1 : 0;
    if (argc - *first > 1) return complain_of_usage("doctor", "name one program, without its arguments");
    DoctorReport report;
    bool works = report_machine(report);
    if (*first < argc) works = report_program(report, argv[*first]) && works;
    report.verdict(works);
    return print_text(stdout, report.text()) && works ? 0 : 1;
}

}  // namespace flameprobe
