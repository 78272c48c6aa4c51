#include <string.h>
#include <unistd.h>

#include "memory.hpp"

namespace flameprobe::alloc {
namespace {

const char* value_of(const char* name) noexcept {
    const size_t length = strlen(name);
    for (char** line = environ; line != nullptr && *line != nullptr; ++line)
        if (strncmp(*line, name, length) == 0 && (*line)[length] == '=') return *line + length + 1;
    return nullptr;
}

bool has_item(const char* list, const char* item) noexcept {
    const size_t length = strlen(item);
    while (list != nullptr) {
        const char* const end = strchrnul(list, ',');
        if (static_cast<size_t>(end - list) == length && strncmp(list, item, length) == 0) return true;
        list = *end == ',' ? end + 1 : nullptr;
    }
    return false;
}

/// A number with K, M or G behind it, or `otherwise`: the library's own reader says what is wrong with it.
uint64_t number_of(const char* text, uint64_t least, uint64_t most, uint64_t otherwise) noexcept {
    if (text == nullptr || *text == '\0') return otherwise;
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9'; ++text) {
        value = value * 10 + static_cast<uint64_t>(*text - '0');
        if (value > most) return otherwise;
    }
    if (*text == 'K') value <<= 10;
    if (*text == 'M') value <<= 20;
    if (*text == 'G') value <<= 30;
    if (*text != '\0' && text[1] != '\0') return otherwise;
    return value < least || value > most ? otherwise : value;
}

}  // namespace

bool has_environment() noexcept { return environ != nullptr; }

Wanted read_environment() noexcept {
    Wanted wanted;
    const char* const start = value_of("FLAMEPROBE_START");
    const char* const events = value_of("FLAMEPROBE_EVENT");
    wanted.tracks_frees = has_item(events, "heap");
    wanted.on = (start == nullptr || strcmp(start, "0") != 0) && (wanted.tracks_frees || has_item(events, "alloc"));
    wanted.mean = number_of(value_of("FLAMEPROBE_ALLOC_BYTES"), 1, uint64_t{1} << 40, wanted.mean);
    wanted.stack_bytes =
        static_cast<uint32_t>(number_of(value_of("FLAMEPROBE_STACK"), 1024, 1 << 20, wanted.stack_bytes)) & ~7U;
    return wanted;
}

}  // namespace flameprobe::alloc
