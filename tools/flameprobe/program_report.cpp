#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "base/paths.hpp"
#include "doctor_report.hpp"
#include "output_of.hpp"
#include "program.hpp"
#include "render/run_facts.hpp"

namespace flameprobe {

namespace {

/// The Debian package a file belongs to; the package manager may know it without the /usr in front.
std::string package_of(const std::string& path) {
    for (const std::string& candidate : {path, path.starts_with("/usr/") ? path.substr(4) : "/usr" + path}) {
        const std::string answer = output_of({"dpkg-query", "-S", candidate});
        const auto colon = answer.find(':');
        if (colon != std::string::npos) return answer.substr(0, colon);
    }
    return {};
}

std::string debian_release() {
    std::ifstream in("/etc/os-release");
    std::string release;
    bool debian = false;
    for (std::string line; std::getline(in, line);) {
        if (line == "ID=debian") debian = true;
        if (line.starts_with("VERSION_CODENAME=")) release = line.substr(17);
    }
    return debian ? release : "";
}

/// Where this machine's own apt sources say that Debian is, with the archive of -dbgsym packages in place of the main
/// one; empty if they name none.
std::string debug_archive() {
    std::istringstream uris(output_of({"apt-get", "indextargets", "--format", "$(REPO_URI)"}));
    constexpr std::string_view archive = "/debian/";
    for (std::string uri; std::getline(uris, uri);) {
        if (uri.ends_with(archive)) return uri.substr(0, uri.size() - 1) + "-debug";
    }
    return {};
}

/// The command that installs the debug information of these packages, which Debian has in a separate archive.
std::string command_for_packages(const std::set<std::string>& packages) {
    std::string install = "sudo apt install";
    for (const std::string& package : packages) install += " " + package + (package == "libc6" ? "-dbg" : "-dbgsym");
    const std::string release = debian_release(), archive = release.empty() ? "" : debug_archive();
    if (archive.empty()) return install;
    return "echo 'deb " + archive + " " + release +
           "-debug main' | sudo tee /etc/apt/sources.list.d/debug.list && sudo apt update && " + install;
}

std::string command_for_symbols(const std::string& path) {
    const std::string package = package_of(path);
    return package.empty() ? "build it with -g, and install it without stripping it" : command_for_packages({package});
}

/// `name`: what its functions without a name are called after.
void report_file(DoctorReport& report, const ElfFacts& facts, std::string_view name) {
    if (facts.symbol_table) {
        report.finding("symbols", "all functions");
    } else {
        report.finding("symbols", "exported functions only: the others show by where they start, such as [" +
                                      std::string(name) + "+0x1a2b40]");
    }
    report.finding("debug info", facts.debug_info ? (facts.debug_file.empty() ? "yes" : "in " + facts.debug_file)
                                                  : "none: no source lines, no inlined functions");
    if (!facts.symbol_table || !facts.debug_info) report.mend(command_for_symbols(facts.path));
    if (facts.unwind_tables) {
        report.finding("unwind tables", "yes");
    } else {
        report.finding("unwind tables", "none: stacks end in its code, as [truncated]");
        report.mend("build it with -fasynchronous-unwind-tables");
    }
    if (!facts.has_build_id) {
        report.finding("build id", "none: whether a file was replaced since the run cannot be told");
        report.mend("link it with -Wl,--build-id");
    }
}

void report_libraries(DoctorReport& report, const std::string& path) {
    std::size_t all = 0, without_tables = 0;
    std::set<std::string> without_debug, packages;
    for (const std::string& library : libraries_of(path)) {
        const auto facts = elf_facts(library);
        if (!facts) continue;
        ++all;
        if (!facts->debug_info) {
            without_debug.insert(facts->path.substr(facts->path.rfind('/') + 1));
            packages.insert(package_of(facts->path));
        }
        if (!facts->unwind_tables) ++without_tables;
    }
    if (all == 0) return;
    std::string text = std::to_string(all) + " loaded at start";
    if (without_tables > 0) text += ", " + std::to_string(without_tables) + " without unwind tables";
    if (!without_debug.empty()) {
        text += "; without debug info:";
        for (const std::string& name : without_debug) text += " " + name;
    }
    report.finding("libraries", text);
    packages.erase("");
    if (!packages.empty()) report.mend(command_for_packages(packages));
    if (!without_debug.empty())
        report.mend(
            "flameprobe-render --debuginfod PROFILE.fprobe -o PICTURE.html, which fetches it from the servers in "
            "DEBUGINFOD_URLS");
}

}  // namespace

bool report_program(DoctorReport& report, const std::string& name) {
    const std::string path = find_program(name);
    report.heading("Program " + (path.empty() ? name : path));
    if (path.empty()) {
        report.finding("found", "no: it is neither a path to an executable file nor in PATH");
        return false;
    }
    if (const std::string interpreter = script_interpreter(path); !interpreter.empty()) {
        report.finding("script", "run by " + interpreter + ", which is what will be seen");
        return report_program(report, interpreter);
    }
    const auto facts = elf_facts(path);
    if (!facts) {
        report.finding("format", facts.error().message);
        return false;
    }
    const auto [obstacle, other_loader, from_outside] = preload_obstacle(path);
    report.finding("preloading", obstacle.empty() ? "works" : obstacle);
    if (from_outside) report.finding("sampling", "from outside, by flameprobe run and flameprobe attach");
    report_file(report, *facts, base_name(path));
    const std::string other = allocator_note(path);
    report.finding("allocations", !obstacle.empty() ? "not seen"
                                  : other.empty()   ? "seen with -e alloc, -e heap"
                                                    : other);
    report_libraries(report, facts->path);
    const NamesFlag flag = names_flag(path.substr(path.rfind('/') + 1));
    if (!flag.language.empty()) {
        report.finding("language", std::string(flag.language) +
                                       ": functions that are compiled or interpreted at run time have no names by "
                                       "themselves");
        report.mend(std::string(flag.advice));
    }
    return obstacle.empty() || from_outside;
}

}  // namespace flameprobe
