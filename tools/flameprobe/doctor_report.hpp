// What `flameprobe doctor` prints.
#pragma once

#include <set>
#include <string>

namespace flameprobe {

/// What `flameprobe doctor` found: lines of "label  finding", and below a finding what mends it.
class DoctorReport {
public:
    void heading(const std::string& text) { text_ += (text_.empty() ? "" : "\n") + text + "\n"; }
    void finding(const std::string& label, const std::string& text) {
        const std::size_t width = 16;
        text_ += "  " + label + std::string(label.size() < width ? width - label.size() : 1, ' ') + text + "\n";
    }
    void mend(const std::string& command) {
        mends_.insert(command);
        text_ += std::string(18, ' ') + "mend: " + command + "\n";
    }
    /// The last line: what it comes to.
    void verdict(bool works) {
        const std::size_t mends = mends_.size();
        const std::string more = mends == 0 ? std::string(".")
                                 : mends == 1
                                     ? std::string("; the command after \"mend\" makes it better.")
                                     : "; the " + std::to_string(mends) + " commands after \"mend\" make it better.";
        text_ += "\n" + std::string(works ? "It works" : "It does not work") + more + "\n";
    }
    const std::string& text() const { return text_; }

private:
    std::string text_;
    std::set<std::string> mends_;  // one may mend two things
};

/// Which engine and unwinder would be used here and why, found by opening them as the library would. False if nothing
/// can be sampled.
bool report_machine(DoctorReport& report);
/// What a program and its libraries lack: symbols, debug information, unwind tables, a loader that preloads. False if
/// it cannot be profiled.
bool report_program(DoctorReport& report, const std::string& name);

}  // namespace flameprobe
