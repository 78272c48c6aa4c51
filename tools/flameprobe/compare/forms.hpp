// How comparisons are written: text, Markdown, JSON, a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "compared.hpp"

namespace flameprobe::compare {

struct FormOptions {
    std::optional<double> fail_above;  // as a share
    double least_share = 0.005;        // in the JSON: functions with less on both sides are left out
    bool long_names = false;
    std::vector<std::string> remarks;  // on what could not be compared
};

struct ComparedText {
    std::string text;
    std::uint64_t grown = 0;  // count_grown() of all
};

/// As flameprobe-render --diff prints it. Of several those that changed come first, and the others are a line each.
ComparedText text_of(std::vector<Compared>& all, const FormOptions& options);

/// Writes a .md, .json or .html: of several each for itself. `text`: of the page, for readers without JavaScript.
Result<void> write_form(const std::string& path, std::vector<Compared>& all, const std::string& text,
                        const FormOptions& options);

}  // namespace flameprobe::compare
