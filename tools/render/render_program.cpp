#include "render_program.hpp"

#include <exception>
#include <new>

#include "commands.hpp"
#include "memory_budget.hpp"

namespace flameprobe {

namespace {

int run(int argc, char** argv) {
    auto arguments = parse_arguments(argc, argv);
    if (!arguments) return complain(wrong_usage, arguments.error().message);
    if (arguments->help) return print(usage_text().c_str());
    if (arguments->version) return print("flameprobe-render " FLAMEPROBE_VERSION "\n");
    set_memory_budget(arguments->most_memory);
    if (arguments->archive) return archive_command(*arguments);
    const bool is_profile = !arguments->format && !arguments->image && arguments->output.ends_with(".fprobe");
    if (is_profile && !arguments->diff) return merge_command(*arguments);
    return arguments->diff ? diff_command(*arguments) : render_command(*arguments);
}

}  // namespace

int render_program(int argc, char* argv[]) try { return run(argc, argv); } catch (const std::bad_alloc&) {
    return complain(failed, memory_message());
} catch (const std::exception& exception) {
    return complain(failed, exception.what());
}

}  // namespace flameprobe
