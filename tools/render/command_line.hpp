// The options of a program as a table: for each its name and what it does.
#pragma once

#include <getopt.h>

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/number.hpp"
#include "base/result.hpp"

namespace flameprobe {

/// What is wrong with an option's value; empty if nothing is.
using Problem = std::string;

template <class Into>
struct CommandOption {
    std::string name;  // without --
    int argument;      // no_argument, required_argument, optional_argument
    std::function<Problem(Into&, const std::string& value)> take;
    char letter = 0;  // of the short option
};

/// A sentence on what getopt_long(3) refused with '?' or ':', and with `optopt`. `argument` is the one it read last.
Problem refused_option(int refusal, const std::string& argument, std::span<const option> options);

/// Takes the options of argv into `into`, as getopt_long(3) reads them. Returns the index of the first argument that is
/// no option, or the problem with the first bad option. `up_to_first`: stops at the first argument that is no option,
/// since the rest is a command's.
template <class Into>
Result<int> take_options(int argc, char* const argv[], std::span<const CommandOption<Into>> table, Into& into,
                         bool up_to_first = false) {
    constexpr int first = 256;
    std::vector<option> names;
    std::string letters = up_to_first ? "+:" : ":";  // ':': getopt prints nothing
    for (const auto& known : table) {
        names.push_back({known.name.c_str(), known.argument, nullptr, first + static_cast<int>(names.size())});
        if (known.letter != 0) letters += std::string(1, known.letter) + (known.argument == no_argument ? "" : ":");
    }
    names.push_back({});
    Result<int> result = 0;
    optind = 0;  // GNU: start afresh, also for a second call
    for (int chosen; (chosen = getopt_long(argc, argv, letters.c_str(), names.data(), nullptr)) != -1;) {
        const bool refused = chosen == '?' || chosen == ':';
        Problem problem = refused ? refused_option(chosen, argv[optind - 1], names) : Problem();
        for (std::size_t at = 0; at < table.size(); ++at) {
            if (chosen != first + static_cast<int>(at) && (table[at].letter == 0 || chosen != table[at].letter))
                continue;
            problem = table[at].take(into, optarg != nullptr ? optarg : "");
            if (!problem.empty()) problem = "--" + table[at].name + ": " + problem;
        }
        if (result && !problem.empty()) result = Error{problem};
    }
    if (result) result = optind;
    return result;
}

/// A CommandOption::take that accepts every value.
template <class Do>
auto always(Do what) {
    return [what](auto& into, const std::string& value) {
        what(into, value);
        return Problem();
    };
}

template <class T>
Problem put(const Result<T>& value, auto& into) {
    if (!value) return value.error().message;
    into = *value;
    return {};
}

template <class Number>
std::string kind_of_number() {
    if (!std::is_integral_v<Number>) return "number";
    constexpr bool is_large = sizeof(Number) == sizeof(std::uint64_t);
    return "whole number from 0 " +
           (is_large ? std::string("on") : "to " + std::to_string(std::numeric_limits<Number>::max()));
}

template <class Number>
Problem put_number(const std::string& text, auto& into) {
    const auto value = number_in<Number>(text);
    if (!value) return "'" + text + "' is not a " + kind_of_number<Number>();
    into = *value;
    return {};
}

}  // namespace flameprobe
