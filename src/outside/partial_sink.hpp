// For sinks that want some kinds of records only.
#pragma once

#include "profile/sink.hpp"

namespace flameprobe {

/// (Sample is qualified since some commands have their own.) The others go on to `rest`, as they are, or nowhere.
class PartialSink : public ProfileSink {
public:
    explicit PartialSink(ProfileSink* rest = nullptr) : rest_(rest) {}

    void run(const RunInfo& info) override { pass(&ProfileSink::run, info); }
    void string(std::uint32_t id, const std::string& text) override { pass(&ProfileSink::string, id, text); }
    void mapping(MappingId id, const Mapping& mapping) override { pass(&ProfileSink::mapping, id, mapping); }
    void location(LocationId id, const Location& location) override { pass(&ProfileSink::location, id, location); }
    void stack(StackId id, const StackNode& node) override { pass(&ProfileSink::stack, id, node); }
    void thread(ThreadId id, const Thread& thread) override { pass(&ProfileSink::thread, id, thread); }
    void sample(const flameprobe::Sample& sample) override { pass(&ProfileSink::sample, sample); }
    void summary(const Summary& summary) override { pass(&ProfileSink::summary, summary); }
    void symbols(LocationId id, const std::vector<ArchivedSymbol>& symbols) override {
        pass(&ProfileSink::symbols, id, symbols);
    }
    void event(EventId id, const EventInfo& info) override { pass(&ProfileSink::event, id, info); }
    void event_sample(EventId event, const flameprobe::Sample& sample) override {
        pass(&ProfileSink::event_sample, event, sample);
    }
    void host(const HostRecord& record) override { pass(&ProfileSink::host, record); }

private:
    virtual void passed_on() {}
    template <class... Parameters, class... Arguments>
    void pass(void (ProfileSink::*call)(Parameters...), const Arguments&... arguments) {
        if (rest_ == nullptr) return;
        (rest_->*call)(arguments...);
        passed_on();
    }

    ProfileSink* rest_;
};

}  // namespace flameprobe
