#include "render/page_template.hpp"

#include "render/numbers.hpp"
#include "render/text.hpp"

namespace flameprobe {

std::string page_xml(std::string_view text) {
    std::string out;
    append_xml(out, shorten(clean_text(text), 4000));
    return out;
}

std::string page_facts(std::vector<Fact> facts, double min_width, std::string_view heading) {
    if (min_width > 0) {
        facts.push_back({"Frames", "narrower than " + short_decimal(min_width, 6) +
                                       " % are gathered, there are too many for a page: numbers of single functions "
                                       "are at least what is shown"});
    }
    if (facts.empty()) return {};
    std::string out = "<details class=\"facts\"><summary>" + std::string(heading) + "</summary><dl>\n";
    for (const Fact& fact : facts)
        out += "<dt>" + page_xml(fact.label) + "</dt><dd>" + page_xml(fact.value) + "</dd>\n";
    return out + "</dl></details>";
}

void PageTemplate::write(std::string_view text, const ByteSink& out) const {
    while (!text.empty()) {
        std::size_t first = text.size();
        const std::pair<std::string_view, std::string_view>* found = nullptr;
        for (const auto& value : values_) {
            const std::size_t at = text.find(value.first);
            if (at < first) {
                first = at;
                found = &value;
            }
        }
        out(text.substr(0, first));
        if (found == nullptr) return;
        out(found->second);
        text.remove_prefix(first + found->first.size());
    }
}

}  // namespace flameprobe
