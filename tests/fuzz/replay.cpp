// Feeds every file of a corpus to the fuzz target that it is linked with; a crash or a sanitizer's finding ends it.
//   replay-TARGET DIRECTORY
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::uint8_t> bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    std::error_code error;
    std::size_t done = 0;
    for (const auto& entry : std::filesystem::directory_iterator(argv[1], error)) {
        const std::string name = entry.path().filename().string();
        std::fprintf(stderr, "%s\n", name.c_str());  // the last line tells which one it was
        // In memory of its exact size, so that a read past its end is seen.
        const std::vector<std::uint8_t> bytes = bytes_of(entry.path());
        if (bytes.empty()) return 1;
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
        ++done;
    }
    std::printf("%zu passed, %d failed, 0 skipped\n", done, done == 0 || error ? 1 : 0);
    return done == 0 || error ? 1 : 0;
}
