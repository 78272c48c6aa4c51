// A judgement as text, Markdown, HTML and JSON.
#pragma once

#include <string>

#include "changes.hpp"
#include "document.hpp"

namespace flameprobe::compare {

bench::Document document_of(const Judgement& judgement, const std::string& before, const std::string& after);
std::string judgement_json(const Judgement& judgement, const std::string& before, const std::string& after);

}  // namespace flameprobe::compare
