#include "metrics_sender.hpp"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printed.hpp"

namespace flameprobe::push {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds pause_after_failure{60}, most_time{5};

Json attribute(const std::string& key, const std::string& value) {
    return {{"key", key}, {"value", {{"stringValue", value}}}};
}

std::string unit_of(const std::string& name) {
    if (name.ends_with("bytes")) return "By";
    return name.ends_with("seconds") ? "s" : "{" + name + "}";
}

/// https://HOST:PORT of an URL.
std::string origin_of(const std::string& url) { return url.substr(0, url.find_first_of("/?#", url.find("//") + 2)); }

}  // namespace

std::string otlp_metrics(const std::vector<Figure>& figures, const Labels& labels, std::uint64_t since_unix_s,
                         std::uint64_t now_unix_ns) {
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    Json attributes = Json::array({attribute("service.name", "flameprobe-push"), attribute("host.name", host)});
    for (const auto& [key, value] : labels)
        if (key != "service_name") attributes.push_back(attribute(key, value));
    Json metrics = Json::array();
    for (const Figure& figure : figures) {
        std::string name = figure.name;
        std::replace(name.begin(), name.end(), ' ', '_');
        Json point = {{"timeUnixNano", std::to_string(now_unix_ns)}, {"asInt", std::to_string(figure.value)}};
        Json metric = {{"name", "flameprobe.push." + name}, {"unit", unit_of(figure.name)}};
        if (figure.counts) {
            constexpr int cumulative = 2;
            point["startTimeUnixNano"] = std::to_string(since_unix_s) + "000000000";
            metric["sum"] = {
                {"aggregationTemporality", cumulative}, {"isMonotonic", true}, {"dataPoints", Json::array({point})}};
        } else {
            metric["gauge"] = {{"dataPoints", Json::array({point})}};
        }
        metrics.push_back(std::move(metric));
    }
    const Json scope = {{"scope", {{"name", "flameprobe"}, {"version", FLAMEPROBE_VERSION}}}, {"metrics", metrics}};
    const Json resource = {{"resource", {{"attributes", attributes}}}, {"scopeMetrics", Json::array({scope})}};
    return Json{{"resourceMetrics", Json::array({resource})}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool MetricsSender::is_due() const {
    if (settings_.metrics_to.empty() || ended_) return false;
    const std::chrono::milliseconds pause = failing_ ? pause_after_failure : settings_.gather;
    return !last_try_ || Clock::now() - *last_try_ >= pause;
}

void MetricsSender::send(const std::vector<Figure>& figures, std::uint64_t since_unix_s) {
    if (settings_.metrics_to.empty() || ended_) return;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    Request request;
    request.url = settings_.metrics_to;
    request.headers = {"Content-Type: application/json"};
    request.body =
        otlp_metrics(figures, settings_.labels, since_unix_s,
                     static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
    request.most_time = most_time;
    request.is_secret_known = origin_of(request.url) == origin_of(settings_.to);
    const Answer answer = client_.post(request);
    last_try_ = Clock::now();
    if (answer.status >= 200 && answer.status < 300) {
        failing_ = false;
        return;
    }
    // An OpenTelemetry Collector without a pipeline for metrics answers so.
    ended_ = settings_.metrics_to_is_guessed && (answer.status == 404 || answer.status == 405 || answer.status == 501);
    if (!failing_)
        print_message("flameprobe push", origin_of(request.url) + " does not take metrics: " +
                                             (answer.status == 0 ? answer.text : std::to_string(answer.status)) +
                                             (ended_ ? "; none are sent to it" : "; they are sent again every minute"));
    failing_ = true;
}

}  // namespace flameprobe::push
