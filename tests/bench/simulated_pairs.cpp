// How often a comparison finds what is there, and what is not: pairs of groups of runs whose samples are drawn at
// random. `simulated_pairs --help` lists what a program and its runs may be like.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>

#include "../unit/tools/simulated_runs.hpp"
#include "diff_answer.hpp"
#include "diff_pictures.hpp"

using namespace flameprobe;

namespace {

struct Plan : test::SimulatedProgram {
    double pairs = 1000, gate = 1, seed = 1;  // gate: percent
};

const std::map<std::string, double Plan::*> options = {
    {"pairs", &Plan::pairs}, {"runs", &Plan::runs},     {"seconds", &Plan::seconds}, {"hz", &Plan::hz},
    {"share", &Plan::share}, {"change", &Plan::change}, {"others", &Plan::others},   {"between", &Plan::between},
    {"swing", &Plan::swing}, {"speed", &Plan::speed},   {"gate", &Plan::gate},       {"seed", &Plan::seed}};

bool take_options(int argc, char* argv[], Plan& plan) {
    for (int at = 1; at + 1 < argc; at += 2) {
        const auto found = options.find(argv[at] + 2);
        if (std::strncmp(argv[at], "--", 2) != 0 || found == options.end()) return false;
        plan.*found->second = std::strtod(argv[at + 1], nullptr);
    }
    return argc % 2 == 1;
}

}  // namespace

int main(int argc, char* argv[]) {
    Plan plan;
    if (!take_options(argc, argv, plan)) {
        for (const auto& [name, field] : options) std::printf("--%s %g\n", name.c_str(), plan.*field);
        return 2;
    }
    std::mt19937_64 random(static_cast<std::uint64_t>(plan.seed));
    const test::SimulatedRuns program(plan);
    int named = 0, first = 0, failed = 0, right = 0;
    double seen = 0;
    std::string text;
    for (int pair = 0; pair < static_cast<int>(plan.pairs); ++pair) {
        auto diff = diff_sides(diff_side(program.side(random, 1)), diff_side(program.side(random, 1 + plan.change)));
        if (!diff) return std::fprintf(stderr, "%s\n", diff.error().message.c_str()), 1;
        const DiffAnswer answer = answer_of(*diff);
        named += !answer.findings.empty();
        const bool is_first = !answer.findings.empty() && answer.findings.front().name == "target";
        first += is_first;
        right += is_first && answer.findings.size() == 1;
        failed += count_grown(answer, plan.gate / 100) > 0;
        seen += answer.seen / plan.pairs;
        text = answer_text(answer, 0);
    }
    std::printf(
        "of %g pairs: a change is named in %d, the target first in %d, alone in %d; a gate of %g %% fails %d; "
        "seen %.3f %%\n%s",
        plan.pairs, named, first, right, plan.gate, failed, 100 * seen, text.c_str());
    return 0;
}
