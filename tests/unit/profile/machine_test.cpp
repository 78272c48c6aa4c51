#include <doctest/doctest.h>

#include "profile/model.hpp"

using namespace flameprobe;

TEST_CASE("the architecture is the sampled machine's, by its kernel, not the one that reads the profile") {
    RunInfo run;
    CHECK(architecture(run).empty());
    run.facts = {{"CPU", "some"}, {"kernel", "Linux 6.1.0-50-cloud-arm64 aarch64"}};
    CHECK(architecture(run) == "aarch64");
    run.facts = {{"kernel", "not known"}};
    CHECK(architecture(run).empty());
}
