// {name} in command lines, environment and URLs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace flameprobe::bench {

/// Names in braces: {io}. A brace that is not followed by a name and a closing brace stands for itself, and so does
/// {{io}}, as {io}.
std::vector<std::string> placeholders_in(const std::string& text);
/// With each replaced by its value; those that have none stay.
std::string fill_in(const std::string& text, const std::map<std::string, std::string>& values);
/// What is there without being swept over: port (a free one), seconds, repetition, directory.
const std::set<std::string>& known_placeholders();

}  // namespace flameprobe::bench
