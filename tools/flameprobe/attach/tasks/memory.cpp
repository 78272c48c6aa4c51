#include "memory.hpp"

namespace flameprobe::async {

Memory::Memory() {
    const auto maps = read_proc_maps();
    if (!maps) return;
    for (const std::string_view text : parts_of_list({maps->text.data(), maps->text.size()}, '\n')) {
        MapsLine line;
        if (!parse_maps_line(text, line)) continue;
        const bool writable = text.substr(text.find(' ') + 2, 1) == "w";  // "start-end rwxp"
        ranges_.push_back(
            {line.start, line.end, line.offset, writable, line.executable, line.readable, std::string(line.path)});
    }
}

}  // namespace flameprobe::async
