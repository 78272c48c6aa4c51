// The parts that every HTML page is made of.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_sink.hpp"
#include "render/run_facts.hpp"

namespace flameprobe {

/// Clean text, shortened, and escaped for use between tags.
std::string page_xml(std::string_view text);

/// The list of facts that can be opened below a page; empty if there are none. `min_width`: see PageColumns.
std::string page_facts(std::vector<Fact> facts, double min_width, std::string_view heading);

/// Writes the page's text with every @NAME@ replaced. Replacements are not searched for further names.
class PageTemplate {
public:
    PageTemplate& set(std::string_view name, std::string_view value) {
        values_.emplace_back(name, value);
        return *this;
    }
    void write(std::string_view text, const ByteSink& out) const;

private:
    std::vector<std::pair<std::string_view, std::string_view>> values_;
};

}  // namespace flameprobe
