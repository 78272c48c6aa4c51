// The files of assets/, as embed.py put them into the library.
#pragma once

#include <string_view>

namespace flameprobe::assets {

extern const std::string_view svg_css;
extern const std::string_view svg_js;
extern const std::string_view page_css;
extern const std::string_view page_html;
extern const std::string_view page_js;
/// The Content-Security-Policy that allows page_css and page_js as they stand in page_html, and nothing else.
extern const std::string_view page_policy;
/// The colour of text on light and on dark pages, "#rrggbb", from tokens.json.
extern const std::string_view light_ink;
extern const std::string_view dark_ink;
/// How opaque shares are behind a name, "0.9".
extern const std::string_view light_share;
extern const std::string_view dark_share;

}  // namespace flameprobe::assets
