#include "base/closest.hpp"

#include <algorithm>

namespace flameprobe {

namespace {

/// How many letters to insert, delete, replace or swap with their neighbour to make one of the other.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                best[i][j] = i + j;
                continue;
            }
            best[i][j] =
                std::min({best[i - 1][j] + 1, best[i][j - 1] + 1, best[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best[i][j] = std::min(best[i][j], best[i - 2][j - 2] + 1);
        }
    }
    return best[a.size()][b.size()];
}

}  // namespace

std::string closest(std::string_view typed, const std::vector<std::string>& known) {
    constexpr std::size_t longest = 40, too_far = 3, least_begin = 3;
    std::string found;
    std::size_t least = too_far;
    for (const std::string& name : known) {
        std::size_t away = distance(typed.substr(0, longest), name);
        if (name.size() >= least_begin && typed.starts_with(name)) away = std::min(away, too_far - 1);  // --frequency
        if (away < least && away + 1 < name.size()) least = away, found = name;
    }
    return found;
}

}  // namespace flameprobe
