#include <nlohmann/json.hpp>

#include "render/assets.hpp"
#include "render/flame_graph.hpp"
#include "render/html_data.hpp"
#include "render/page_template.hpp"
#include "render/run_facts.hpp"
#include "render/text.hpp"

namespace flameprobe {

std::string live_page() {
    std::string page;
    const std::string policy = std::string(assets::page_policy) + "; connect-src 'self'";
    PageTemplate()
        .set("@TITLE@", "Live profile")
        .set("@SUBTITLE@", "")
        .set("@SUMMARY@", "<p>The live page needs JavaScript. Without it: flameprobe top PID.</p>")
        .set("@FACTS@", "<details class=\"facts\"><summary>How this is measured</summary><dl></dl></details>")
        .set("@POLICY@", policy)
        .set("@LIVE@", " data-live=\"\"")
        .set("@DATA@", "")
        .set("@CSS@", assets::page_css)
        .set("@JS@", assets::page_js)
        .write(assets::page_html, [&page](std::string_view piece) { page += piece; });
    return page;
}

Result<std::string> live_page_data(const NamedProfile& profile, const FlameGraphOptions& options, bool running) {
    const auto palette = Palette::by_name(options.colors);
    if (!palette) return palette.error();
    const auto data = page_data(profile, *palette, options);
    if (!data) return data.error();
    nlohmann::ordered_json answer = {{"title", clean_text(default_title(profile))},
                                     {"subtitle", clean_text(default_subtitle(profile))},
                                     {"running", running},
                                     {"facts", nlohmann::ordered_json::array()}};
    for (const Fact& fact : run_facts(profile))
        answer["facts"].push_back({clean_text(fact.label), clean_text(fact.value)});
    answer["profile"] = data->facts;
    answer["columns"] = data->columns;
    return answer.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace flameprobe
