"""Containers for whatever comes from a model or a repository: no network, no root, memory and processes limited.

Owns their flags, the shim by which aider runs a task's checks, and their removal: each carries a label of this run.
"""

import os
import shlex
import subprocess
import uuid

# Who the containers run as when this script is root's: the first of the users that Caisson's own images know.
SANDBOX_UID = 10003
IMAGES = {
    "python": ["caisson-sandbox:python", "caisson-sandbox:base"],
    "rust": ["caisson-sandbox:rust"],
    "javascript": ["caisson-sandbox:node"],
}
LABEL = "caisson-peers"


class Boxes:
    def __init__(self, images, memory_mib, pids):
        self.label = f"{LABEL}={os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.uid = SANDBOX_UID if os.getuid() == 0 else os.getuid()
        self.memory_mib, self.pids = memory_mib, pids
        self.images = {language: images.get(language) or found(candidates) for language, candidates in IMAGES.items()}

    def image(self, language):
        """The image for a language. Raises LookupError where the engine has none."""
        image = self.images[language]
        if image is None or not there(image):
            raise LookupError(f"the engine has no image {image or ' or '.join(IMAGES[language])} (`caisson image build`, or --image)")
        return image

    def flags(self):
        """What every container of a run has in common."""
        return [
            "--rm", "--init", "--label", self.label, "--network", "none", "--user", f"{self.uid}:{self.uid}",
            "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only",
            "--tmpfs", "/tmp:exec,mode=1777,size=1024m", "--memory", f"{self.memory_mib}m", "--memory-swap", f"{self.memory_mib}m",
            "--pids-limit", str(self.pids), "--ulimit", "fsize=536870912", "--ulimit", "nofile=4096",
            "--env", "HOME=/tmp/home", "--env", "LANG=C.UTF-8", "--env", "PYTHONDONTWRITEBYTECODE=1", "--entrypoint", "",
        ]

    def give(self, *folders):
        """Lets the containers' user write into these."""
        if os.getuid() != 0:
            return
        for folder in folders:
            os.chown(folder, self.uid, self.uid)
            for place, dirs, files in os.walk(folder):
                for name in dirs + files:
                    os.chown(os.path.join(place, name), self.uid, self.uid, follow_symlinks=False)

    def checks(self, task, repo, place):
        """Writes the program `run-checks` and gives its folder, for aider's PATH. It runs the task's checks on a copy inside a
        container, so that nothing that runs there can change what aider, outside, reads. Compiled things are kept between runs."""
        tools, kept = place / "tools", place / "compiled"
        tools.mkdir()
        kept.mkdir()
        self.give(kept)
        inside = f"mkdir -p \"$HOME\" && cp -R --preserve=mode,timestamps /repo /tmp/work && cd /tmp/work && rm -rf .git && {{ {task.checks} ; }}"
        argv = [
            "docker", "run", *self.flags(), "--volume", f"{repo}:/repo:ro", "--volume", f"{kept}:/compiled",
            "--env", "CARGO_TARGET_DIR=/compiled/target", self.image(task.language), "timeout", "120", "sh", "-c", inside,
        ]
        program = tools / "run-checks"
        program.write_text(f"#!/bin/sh\nexec {shlex.join(argv)}\n")
        program.chmod(0o755)
        return tools

    def remove_all(self):
        """Ends what this run still has in the engine, and nothing else."""
        words = ["docker", "ps", "-aq", "--filter", f"label={self.label}"]
        listed = subprocess.run(words, capture_output=True, text=True).stdout.split()
        if listed:
            subprocess.run(["docker", "rm", "-f", *listed], capture_output=True)


def there(image):
    return subprocess.run(["docker", "image", "inspect", image], capture_output=True).returncode == 0


def found(candidates):
    return next((image for image in candidates if there(image)), None)
