#include "session/life.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <thread>

using namespace flameprobe;
using State = Life::State;

namespace {

constexpr const char* names[] = {"none", "newborn", "begun", "thread", "task", "finishing", "gone"};

std::string name(State state) { return names[static_cast<std::size_t>(state)]; }

}  // namespace

TEST_CASE("each state of a collector is reached, and the last one is left by no step") {
    for (std::size_t i = 1; i < std::size(names); ++i) {
        CAPTURE(names[i]);
        CHECK(std::any_of(Life::steps.begin(), Life::steps.end(),
                          [&](const Life::Step& step) { return step.to == static_cast<State>(i); }));
    }
    for (const auto& step : Life::steps) CHECK(step.from != State::gone);
}

TEST_CASE("a step is taken from its own state only") {
    Life life;
    CHECK_FALSE(life.step<State::newborn, State::gone>());
    CHECK(life.step<State::none, State::newborn>());
    CHECK_FALSE(life.step<State::none, State::begun>());
    CHECK(life.step<State::newborn, State::begun>());
    CHECK_FALSE(life.ends());
    CHECK(life.step<State::begun, State::task>());
    CHECK(life.step<State::task, State::finishing>());
    CHECK(life.ends());
}

TEST_CASE("of a child's end and its collector's beginning one comes first") {
    for (int i = 0; i < 1000; ++i) {
        Life life;
        REQUIRE(life.step<State::none, State::newborn>());
        bool ended = false;
        std::thread child([&] { ended = life.step<State::newborn, State::gone>(); });
        const bool begun = life.step<State::newborn, State::begun>();
        child.join();
        CHECK(begun != ended);
        CHECK(life.is(ended ? State::gone : State::begun));
    }
}

TEST_CASE("docs/architecture.md has the steps of the code") {
    std::ifstream file(ARCHITECTURE);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    REQUIRE_FALSE(text.empty());
    for (const auto& step : Life::steps) {
        const std::string row =
            "| " + name(step.from) + " | " + name(step.to) + " | " + std::string(step.when) + " |\n";
        CAPTURE(row);
        CHECK(text.find(row) != std::string::npos);
    }
}
