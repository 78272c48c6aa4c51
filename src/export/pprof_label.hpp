// A scope as pprof's labels have it: a key and a value.
#pragma once

#include <string_view>
#include <utility>

namespace flameprobe {

/// "tenant=acme" is tenant: acme, whether it was made as a pair or is a literal; any other text is scope: text. A key
/// is a name, so that a label like "x == 1" is none. The keys of FlameProbe's own labels (thread, tid, scope) are not
/// taken.
std::pair<std::string_view, std::string_view> pprof_label(std::string_view scope);

}  // namespace flameprobe
