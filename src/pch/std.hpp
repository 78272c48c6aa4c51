// The standard library's headers that most files include, precompiled with -Dprecompile=true, as tools/test builds: a
// quarter less CPU time. Each file includes what it uses all the same: other builds go without this one.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
