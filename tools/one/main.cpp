// flameprobe as one file. The library in a profiled program starts a copy of it as flameprobe-draw.
#include <string>

#include "base/output_directory.hpp"
#include "draw_program.hpp"
#include "flameprobe_program.hpp"
#include "installed_file.hpp"
#include "render_program.hpp"
#include "unpacked.hpp"

int main(int argc, char* argv[]) {
    const std::string name = argc > 0 ? flameprobe::last_name(argv[0]) : "";
    if (name == flameprobe::drawing_copy) return flameprobe::draw_program(argc, argv);
    if (name == "flameprobe-render") return flameprobe::render_program(argc, argv);
    flameprobe::take_installed_files_from(flameprobe::unpacked_file);
    return flameprobe::flameprobe_program(argc, argv);
}
