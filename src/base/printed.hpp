// What we print: the one place where text from profiles, files, hosts and servers goes to a terminal.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace flameprobe {

/// `text` as one line that a terminal shows and does not obey: a tab or line break becomes a space; other control
/// characters, the controls that reorder text (U+202A..202E, U+2066..2069), noncharacters and bytes that are no UTF-8
/// become U+FFFD.
std::string printable_line(std::string_view text);

/// Prints text of several lines, each as printable_line() has it. False if it could not be written.
bool print_text(std::FILE* to, std::string_view text);

/// Prints one line, "flameprobe run: MESSAGE", to stderr.
void print_message(std::string_view who, std::string_view message);

}  // namespace flameprobe
