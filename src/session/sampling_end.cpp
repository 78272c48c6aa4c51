// How sampling ends: for a while, at the host's end, or since it cannot go on.
#include <algorithm>

#include "session/sampling.hpp"

namespace flameprobe {

void Sampling::leave() {
    record_from_start();  // CPU time counts up to now, and again when the collector comes back
    stop(true);
    engine_.source.reset();
    if (profiles_.begun()) give_up_unless(profile().suspend());
}

void Sampling::finish() {
    stop(true);
    if (!profiles_.begun()) return profiles_.end_run();
    if (crash_record_.written()) profile().died(crash_record_);
    if (auto closed = profile().close(); !closed && !broken()) log_.warning(closed.error().message);
    engine_.source.reset();
    // Where another program draws, that says it.
    if (!profile().missing().empty() && !options_.formats.empty()) log_.message(profile().missing());
    profiles_.write_results();
}

void Sampling::retire() {
    engine_.source.reset();
    profiles_.forget();
}

void Sampling::give_up_signal() {
    if (go_on_without_signals("the program took away the signal")) return report_engine_note();
    urgent_ = true;
    say("sampling ended where the program took away the signal that the engine needs: FLAMEPROBE_ENGINE=ring needs "
        "none");
    stop();
}

void Sampling::give_up(const std::string& why) {
    if (!why.empty()) log_.warning(why);
    if (!broken()) why_not_ = why;  // host threads read it from then on
    if (on()) engine_.source->stop_for_good();
    turn(Phase::broken);
}

void Sampling::end(const std::string& why) {
    if (profiles_.begun()) profile().remark(why);
    stop(true);
    give_up(why);
}

}  // namespace flameprobe
