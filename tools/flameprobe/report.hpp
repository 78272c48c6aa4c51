#pragma once

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
    void mend(const std::string& command) { text_ += std::string(18, ' ') + "mend: " + command + "\n"; }
    const std::string& text() const { return text_; }

private:
    std::string text_;
};

/// Which engine and unwinder would be used here and why, found by opening them as the library would. False if nothing
/// can be sampled.
bool report_machine(DoctorReport& report);
/// What a program and its libraries lack: symbols, debug information, unwind tables, a loader that preloads. False if
/// it cannot be profiled.
bool report_program(DoctorReport& report, const std::string& name);

}  // namespace flameprobe
