#include <filesystem>

#include "commands.hpp"
#include "cut_away.hpp"
#include "export/output_file.hpp"
#include "inputs.hpp"
#include "run_parts.hpp"

namespace flameprobe {

namespace {

/// What only whole processes can be asked for; empty if nothing else is.
std::string refused_choice(const Arguments& arguments) {
    const SampleFilter& filter = arguments.filter;
    if (!filter.thread.empty() || !filter.scope.empty() || filter.from_ns || filter.to_ns || !filter.event.empty() ||
        !arguments.cut.description().empty() || arguments.top || arguments.by_scope || arguments.info)
        return "a .fprobe keeps processes as they were recorded: --pid and --process choose of them";
    return {};
}

Result<std::vector<ProcessPart>> wanted_parts(const Arguments& arguments) {
    std::vector<ProcessPart> wanted;
    for (const std::string& input : arguments.inputs) {
        if (input == "-") return Error{"a .fprobe is written from files: standard input is read once only"};
        const auto paths = side_inputs(input);
        if (!paths) return paths.error();
        for (const std::string& path : *paths) {
            std::error_code unreadable;
            if (std::filesystem::file_size(path, unreadable) == 0 && !unreadable) {
                complain(done, path + ": left out: is empty; its program may have been killed as it created it");
                continue;
            }
            auto parts = processes_of(path);
            if (!parts) return parts.error();
            tell_apart(*parts);
            for (ProcessPart& part : *parts) {
                const bool is_pid = !arguments.filter.pid || part.run.pid == *arguments.filter.pid;
                const bool is_called =
                    arguments.process.empty() || matches_expression(arguments.process, program_name(part.run));
                if (is_pid && is_called) wanted.push_back(std::move(part));
            }
        }
    }
    if (wanted.empty())
        return Error{arguments.inputs.front() + ": no process in it" +
                     (arguments.inputs.size() > 1 ? " and the other inputs" : "") +
                     (arguments.filter.pid || !arguments.process.empty() ? " is of those that were chosen" : "")};
    return wanted;
}

}  // namespace

int merge_command(const Arguments& arguments) {
    if (const std::string why = refused_choice(arguments); !why.empty()) return complain(wrong_usage, why);
    const auto parts = wanted_parts(arguments);
    if (!parts) return complain(failed, parts.error().message);
    OutputFile file(arguments.output);
    auto written = file.failed() ? Result<void>()
                                 : write_processes(*parts, [&file](std::string_view piece) { file.write(piece); });
    if (written) written = file.commit();
    return written ? done : complain(failed, written.error().message);
}

}  // namespace flameprobe
