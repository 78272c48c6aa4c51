#include "diff_facts.hpp"

#include "render/numbers.hpp"

namespace flameprobe {

std::vector<Fact> diff_facts(const ProfileDiff& diff, const DiffNames& names, SortBy by) {
    std::vector<Fact> facts = {
        {"Before", names.before + ": " + count_text(diff.samples_before) + " samples"},
        {"After", names.after + ": " + count_text(diff.samples_after) + " samples"},
        {"Width", "the mean of a frame's shares of all samples before and after, so that what is gone is seen as well"},
        {"Colour", std::string("change of the share in ") +
                       (by == SortBy::self ? "samples of its own" : "all samples") +
                       "; grey where it is no more than chance (99.9 %) would make of equal shares"}};
    for (const std::string& warning : diff.profile.warnings) facts.push_back({"Note", warning});
    return facts;
}

}  // namespace flameprobe
