// The files of assets/, as embed.py put them into the library.
#pragma once

#include <string_view>

namespace flameprobe::assets {

extern const std::string_view svg_css;
extern const std::string_view svg_js;
extern const std::string_view page_css;
extern const std::string_view page_html;
extern const std::string_view page_js;

}  // namespace flameprobe::assets
