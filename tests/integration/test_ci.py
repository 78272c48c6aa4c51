"""examples/ci: what the jobs call is run for real; the files around it are well-formed and call only what is there."""

import os
import sys
import unittest

import yaml

from harness import COMMAND, ROOT, Case, clean_environment, run
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
        (self.directory / "bench.toml").write_text(text.replace(sys.executable, "/not-there"))
        self.assertEqual(self.measure("broken", "main").returncode, 2)

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


if __name__ == "__main__":
    unittest.main()
