// The tables that all threads of a Firefox profile share, beside the strings: functions, libraries, source files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "export/json_stream.hpp"
#include "export/protobuf.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// One func for each function, inlined or not, so that a recursion through both kinds of frames counts once.
struct FirefoxFuncs {
    explicit FirefoxFuncs(const NamedProfile& profile);

    std::vector<Function> all;
    std::vector<std::uint32_t> of_function;  // index into `all`
};

/// Libraries, source files, and a resource for each library, which has the library's number.
class FirefoxFiles {
public:
    FirefoxFiles(const NamedProfile& profile, NumberedStrings& strings);
    /// Nothing for a function that is in no file.
    std::optional<std::uint32_t> library(const Function& function) const;
    std::optional<std::uint32_t> source(const Function& function) const;

    void write_libs(JsonStream& json) const;
    void write_resource_table(JsonStream& json) const;
    void write_sources(JsonStream& json) const;

private:
    struct Library {
        std::string path;
        std::string build_id;  // raw bytes
        std::uint64_t name = 0;
    };

    std::string architecture_;
    std::unordered_map<StringId, std::uint32_t> library_ids_;
    std::vector<Library> libraries_;
    std::unordered_map<StringId, std::uint32_t> source_ids_;
    std::vector<std::uint64_t> sources_;  // file names
};

}  // namespace flameprobe
