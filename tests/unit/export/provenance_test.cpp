#include <doctest/doctest.h>

#include <clocale>

#include "export/output.hpp"
using namespace flameprobe;

namespace {

NamedProfile with_facts() {
    NamedProfile profile;
    profile.has_run = true;
    RunInfo& run = profile.run;
    run.command = "/usr/bin/demo --port 80 \"</script>\"";
    run.executable = "/usr/bin/demo";
    run.host = "host 6.1";
    run.pid = 100;
    run.start_unix_ns = 1'700'000'000'000'000'000;
    run.event = "cpu-clock";
    run.event_kind = "software clock";
    run.frequency_asked = 100;
    run.period_ns = 10'000'000;
    run.facts = {{"commit", "0123"}, {"CPU", "one\nof: many"}};
    profile.summary.complete = true;
    profile.summary.duration_ns = 5'000'000'000;
    profile.summary.samples = 2'000'000'000;
    profile.summary.hits = 200;
    profile.summary.process_cpu_ns = 2'000'000'000;
    profile.summary.counters[std::string(counter::note) + "something was odd"] = 1;
    profile.mappings = {
        {MappingKind::file, 0x7f0000000000, 0x10000, 0x1000, 0, "/usr/lib/libdemo.so", "\x01\x02"},
        {MappingKind::file, 0x400000, 0x8000, 0x1000, 0, "/usr/bin/demo", std::string("\xab\x00\xcd", 3)}};
    return profile;
}

}  // namespace

TEST_CASE("one fact a line, in a fixed order") {
    const std::string text = provenance_text(with_facts());
    CHECK(
        text.starts_with("command: /usr/bin/demo --port 80 \"</script>\"\nexecutable: /usr/bin/demo\nhost: host 6.1\n"
                         "pid: 100\nstart: 2023-11-14 22:13:20 UTC\nduration: 5.000000 s\ncomplete: yes\n"
                         "commit: 0123\nCPU: one of: many\nevent: cpu-clock (software clock)\n"));
    CHECK(text.find("\nfrequency asked: 100 Hz\nfrequency set: 100 Hz\nfrequency reached: 100 Hz\n") !=
          std::string::npos);
    CHECK(text.find("\nbuild id: /usr/lib/libdemo.so 0102\nbuild id: /usr/bin/demo ab00cd\n") != std::string::npos);
    CHECK(text.ends_with("\nnote: something was odd\n"));
}

TEST_CASE("the same bytes in every locale, and none without a run") {
    const std::string text = provenance_text(with_facts());
    for (const char* locale : {"de_DE.UTF-8", "C.UTF-8", "tr_TR.UTF-8"}) {
        std::setlocale(LC_ALL, locale);  // where it is installed
        CHECK(provenance_text(with_facts()) == text);
    }
    std::setlocale(LC_ALL, "C");
    CHECK(provenance_text(NamedProfile()).empty());
}
