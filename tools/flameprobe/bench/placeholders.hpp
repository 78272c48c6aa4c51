// {name} in command lines, environment and URLs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace flameprobe::bench {

/// The names in braces, as in {io}. {{io}} stands for the text {io}, and a brace without a name and a closing brace for
/// itself.
std::vector<std::string> placeholders_in(const std::string& text);
/// Replaces each placeholder by its value; those without a value stay.
std::string fill_in(const std::string& text, const std::map<std::string, std::string>& values);
/// The placeholders that are no variables: port (a free one), seconds, repetition, directory.
const std::set<std::string>& known_placeholders();

}  // namespace flameprobe::bench
