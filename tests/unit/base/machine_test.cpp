#include "base/machine.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

using namespace flameprobe;

namespace {

namespace fs = std::filesystem;

constexpr const char* commit = "0123456789abcdef0123456789abcdef01234567";

class Repository {
public:
    Repository() { REQUIRE(mkdtemp(path_.data()) != nullptr); }
    ~Repository() { fs::remove_all(path_); }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    void write(const std::string& name, const std::string& text) const {
        fs::create_directories(fs::path(*this / name).parent_path());
        std::ofstream(*this / name) << text;
    }

private:
    std::string path_ = "/tmp/flameprobe-git-XXXXXX";
};

}  // namespace

TEST_CASE("git_commit() reads the commit that is checked out") {
    const Repository repository;
    fs::create_directories(repository / "src/deep");
    CHECK(git_commit(repository / "src/deep").empty());
    repository.write(".git/HEAD", std::string(commit) + "\n");
    CHECK(git_commit(repository / "src/deep") == commit);
    repository.write(".git/HEAD", "ref: refs/heads/main\n");
    CHECK(git_commit(repository / "src").empty());  // no commit yet
    repository.write(".git/packed-refs", "# pack-refs\n" + std::string(commit) + " refs/heads/main\n");
    CHECK(git_commit(repository / "src") == commit);
    const std::string newer(40, 'a');
    repository.write(".git/refs/heads/main", newer + "\n");
    CHECK(git_commit(repository / "src") == newer);
    repository.write(".git/refs/heads/main", "not a commit\n");
    CHECK(git_commit(repository / "src") == commit);
}

TEST_CASE("git_commit() follows a work tree made by git worktree") {
    const Repository repository;
    repository.write("main/.git/refs/heads/other", std::string(commit) + "\n");
    repository.write("main/.git/worktrees/tree/HEAD", "ref: refs/heads/other\n");
    repository.write("main/.git/worktrees/tree/commondir", "../..\n");
    repository.write("tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
    CHECK(git_commit(repository / "tree") == commit);
}

TEST_CASE("facts of this machine have names and are never empty") {
    const MachineFacts facts = machine_facts();
    REQUIRE(facts.size() == 6);
    CHECK(facts[0].first == "CPU");
    for (const auto& [name, value] : facts) CHECK_FALSE(value.empty());
}
