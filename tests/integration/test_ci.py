"""examples/ci: every command of the jobs is run, as a runner would, with stand-ins for what only a forge has: its own actions
and caches, `gh`, and `curl`."""

import os
import re
import shlex
import shutil
import unittest

import yaml

from harness import COMMAND, ROOT, SIZE, Case, clean_environment, run
from test_bench import BENCH

CI = ROOT / "examples" / "ci"


def texts_of(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for item in value for text in texts_of(item)]
    return [value] if isinstance(value, str) else []


class Jobs(Case):
    def measure(self, results, baseline, **changes):
        path = f"{COMMAND.parent}:{os.environ.get('PATH', '')}"
        return run([CI / "measure", "bench.toml", results, baseline], self.directory, env=clean_environment(PATH=path, **changes))

    @unittest.skipUnless(SIZE == "all", "in the quick set the jobs of GitHub measure twice and compare")
    def test_measure(self):
        text = BENCH.replace("10000, 40000", "10000")
        (self.directory / "bench.toml").write_text(text)
        first = self.measure("main", "not-there")
        self.assertEqual(first.returncode, 0, first.stderr)
        comment = (self.directory / "main" / "comment.md").read_text()
        self.assertIn("nothing to compare with", comment)
        self.assertIn("| busy", comment)
        # Anything may be worse by chance on a loaded machine, but not by this much.
        same = self.measure("pull", "main", FAIL_ABOVE="500%")
        self.assertEqual(same.returncode, 0, same.stderr)
        self.assertIn((self.directory / "pull" / "compare.md").read_text(), (self.directory / "pull" / "comment.md").read_text())

    def test_a_job_that_cannot_begin(self):
        self.assertEqual(self.measure("broken", "main").returncode, 2)  # there is no bench.toml

    def test_files(self):
        for name in ("action.yml", "github-workflow.yml", "gitlab-ci.yml", "kubernetes-pod.yaml"):
            with self.subTest(name):
                content = yaml.safe_load((CI / name).read_text())
                commands = "\n".join(texts_of(content))
                self.assertTrue(content)
                if name in ("action.yml", "gitlab-ci.yml"):
                    self.assertIn("/measure", commands)
        workflow = yaml.safe_load((CI / "github-workflow.yml").read_text())
        used = [step["with"] for step in workflow["jobs"]["measure"]["steps"] if step.get("uses") == "./examples/ci"]
        inputs = yaml.safe_load((CI / "action.yml").read_text())["inputs"]
        self.assertTrue(used and all(set(given) <= set(inputs) for given in used))
        pod = yaml.safe_load((CI / "kubernetes-pod.yaml").read_text())["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        mounts = {mount["name"] for part in pod["containers"] + pod["initContainers"] for mount in part["volumeMounts"]}
        self.assertEqual(volumes, mounts)


# What a workflow may ask for, and whether it is so at a push to main and in a pull request.
CONDITIONS = {None: (True, True), "always()": (True, True), "github.ref == 'refs/heads/main'": (True, False),
              "always() && github.event_name == 'pull_request'": (False, True)}


class Runners(Case):
    """A repository with a bench file, whose jobs are those of examples/ci."""

    def setUp(self):
        super().setUp()
        self.need("bash", "make", "tar", "xz")
        self.home, self.work = self.fresh_directory("home"), self.fresh_directory("work")
        shutil.copytree(CI, self.work / "examples" / "ci")
        (self.work / "bench.toml").write_text(BENCH.replace("10000, 40000", "10000"))
        (self.work / "Makefile").write_text("built:\n\ttouch built\n")
        package = self.home / "flameprobe-0.1.0-linux-x86_64" / "bin"
        package.mkdir(parents=True)
        self.script(package / "flameprobe", f'exec {shlex.quote(str(COMMAND))} "$@"')
        tarball = ["tar", "-cJf", self.work / "flameprobe-0.1.0-linux-x86_64.tar.xz", "-C", self.home, package.parent.name]
        self.assertEqual(run(tarball, self.home).returncode, 0)
        shutil.rmtree(package.parent)
        for forge in ("gh", "curl"):  # says what it was told, and what it would send
            self.script(self.home / "bin" / forge, f'printf "%s\\n" "$@" >{self.home}/{forge}.told\n'
                        f'cat flameprobe-results/comment.md >{self.home}/{forge}.sent')
        self.environment = clean_environment(HOME=self.home, PATH=f"{self.home}/bin:{os.environ.get('PATH', '')}")

    def script(self, path, text):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def shell(self, command, shell="bash", **environment):
        done = run([shell, "-e", "-c", command], self.work, env={**self.environment, **environment})
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")

    def check_comment(self, forge, compared):
        text = (self.home / f"{forge}.sent").read_text()
        self.assertIn("| busy", text)
        self.assertEqual("nothing to compare with" not in text, compared)
        return (self.home / f"{forge}.told").read_text().splitlines()

    def github(self, text, values):
        return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda match: values[match[1]], text)

    def github_step(self, step, values):
        if "run" in step:
            added = self.home / "path"
            added.write_text("")
            environment = {name: self.github(text, values) for name, text in step.get("env", {}).items()}
            self.shell(self.github(step["run"], values), step.get("shell", "bash"), GITHUB_PATH=str(added),
                       GITHUB_ACTION_PATH=str(self.work / "examples" / "ci"), **environment)
            self.environment["PATH"] = ":".join([*added.read_text().split(), self.environment["PATH"]])
        elif step["uses"] == "./examples/ci":
            action = yaml.safe_load((CI / "action.yml").read_text())
            inputs = {name: what.get("default") for name, what in action["inputs"].items()} | step["with"]
            inputs["fail-above"] = "500%"  # anything may be worse by chance on a loaded machine, but not by this much
            for inner in action["runs"]["steps"]:
                self.github_step(inner, {f"inputs.{name}": value for name, value in inputs.items()})
        elif "upload-artifact" in step["uses"]:
            self.assertTrue((self.work / step["with"]["path"] / "report.html").is_file())
        else:
            self.assertRegex(step["uses"], r"^actions/(checkout|cache/(restore|save))@v\d+$")

    def test_github(self):
        job = yaml.safe_load((CI / "github-workflow.yml").read_text())["jobs"]["measure"]
        values = {"github.token": "secret", "github.run_id": "1", "github.event.number": "7"}
        for pull in (False, True):
            for step in job["steps"]:
                if CONDITIONS[step.get("if")][pull]:
                    self.github_step(step, values)
            # Of main's push only what the cache keeps is there in the pull request's job.
            self.assertTrue((self.work / "flameprobe-baseline" / "report.json").is_file())
            if not pull:
                self.assertFalse((self.home / "gh.told").exists())
                shutil.rmtree(self.work / "flameprobe-results")
        told = self.check_comment("gh", compared=True)
        self.assertEqual(told[:3], ["pr", "comment", "7"])
        self.assertIn("flameprobe-results/comment.md", told)

    def test_gitlab(self):
        job = yaml.safe_load((CI / "gitlab-ci.yml").read_text())["performance"]
        # A runner's container is its own; here the tarball must not land in /opt.
        begin, script, after = ("\n".join(job[part]).replace("/opt", str(self.home))
                                for part in ("before_script", "script", "after_script"))
        for branch, request in (("main", ""), ("", "7")):
            environment = {"CI_COMMIT_BRANCH": branch, "CI_DEFAULT_BRANCH": "main", "CI_MERGE_REQUEST_IID": request, "CI_PROJECT_ID": "5",
                           "CI_API_V4_URL": "https://forge.invalid/api/v4", "NOTES_TOKEN": "secret", "FAIL_ABOVE": "500%"}
            self.shell(f"{begin}\n{script}", **environment)
            self.shell(after, **environment)
            self.assertTrue((self.work / job["artifacts"]["paths"][0] / "report.html").is_file())
            self.assertTrue((self.work / job["cache"]["paths"][0] / "report.json").is_file())
            if branch:
                self.assertFalse((self.home / "curl.told").exists())
                shutil.rmtree(self.work / "flameprobe-results")
        told = self.check_comment("curl", compared=True)
        self.assertEqual(told[-1], "https://forge.invalid/api/v4/projects/5/merge_requests/7/notes")


if __name__ == "__main__":
    unittest.main()
