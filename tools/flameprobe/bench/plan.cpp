#include "plan.hpp"

#include <cstring>

namespace flameprobe::bench {

namespace {

std::string file_name(const std::string& text) {
    std::string name;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        const bool mark = std::strchr("-_=,+.", c) != nullptr && c != '\0' && !(c == '.' && name.empty());
        // Other characters are written by their code, so that different names stay different.
        constexpr char digits[] = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(c);
        name += plain || mark ? std::string(1, c) : std::string{'~', digits[byte >> 4], digits[byte & 15]};
    }
    return name;
}

}  // namespace

std::string title_of(const std::string& scenario, const SweepValues& sweep) {
    std::string text = scenario;
    for (const auto& [name, value] : sweep) text += " " + name + "=" + value.text;
    return text;
}

std::string Point::path() const {
    std::string values;
    for (const auto& [name, value] : sweep) values += (values.empty() ? "" : ",") + name + "=" + value.text;
    return file_name(scenario->name) + "/" + (values.empty() ? "all" : file_name(values));
}

std::vector<Point> points_of(const BenchFile& file) {
    std::vector<Point> points;
    for (const Scenario& scenario : file.scenarios) {
        std::vector<Point> some{{&scenario, {}}};
        for (const auto& [name, values] : scenario.sweep) {
            std::vector<Point> more;
            for (const Point& point : some) {
                for (const SweepValue& value : values) {
                    more.push_back(point);
                    more.back().sweep[name] = value;
                }
            }
            some = std::move(more);
        }
        points.insert(points.end(), some.begin(), some.end());
    }
    return points;
}

std::vector<PlannedRun> plan_of(std::size_t points, unsigned repeat) {
    std::vector<PlannedRun> plan;
    for (unsigned repetition = 1; repetition <= repeat; ++repetition) {
        for (std::size_t i = 0; i < points; ++i) plan.push_back({repetition % 2 == 1 ? i : points - 1 - i, repetition});
    }
    return plan;
}

}  // namespace flameprobe::bench
