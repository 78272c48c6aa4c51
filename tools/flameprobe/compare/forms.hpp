// A judgement as text, Markdown, HTML and JSON.
#pragma once

#include <string>

#include "changes.hpp"
#include "document.hpp"

namespace flameprobe::compare {

/// `long_names`: functions' names with template arguments and parameters.
bench::Document document_of(const Judgement& judgement, const std::string& before, const std::string& after,
                            bool long_names = false);
std::string judgement_json(const Judgement& judgement, const std::string& before, const std::string& after);

}  // namespace flameprobe::compare
