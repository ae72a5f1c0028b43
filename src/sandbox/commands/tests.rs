use super::*;

fn of(files: &[(&str, &str)]) -> Commands {
    let names: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
    let text = |name: &str| files.iter().find(|(it, _)| *it == name).map(|(_, text)| (*text).to_owned());
    commands(&names, &text, None)
}

fn setups(found: &Commands) -> Vec<(&str, &str)> {
    found.setups.iter().map(|it| (it.commands[0].as_str(), it.by.as_str())).collect()
}

fn tests(found: &Commands) -> Vec<&str> {
    found.tests.iter().map(|it| it.command.as_str()).collect()
}

const PIP: &str = "PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --user --upgrade";

#[test]
fn a_src_layout_is_installed_with_its_group_for_tests() {
    let pyproject = "[project]\nname = \"click\"\n[dependency-groups]\ndev = [\"ruff\", \"tox\"]\ntests = [\"pytest\", {include-group = \"more\"}]\n\
        more = [\"pytest-xdist>=3; python_version > '3.9'\"]\n[build-system]\nrequires = [\"flit_core>=3.11\"]\n[tool.pytest.ini_options]\n[tool.mypy]\nstrict = true\n";
    let found = of(&[("pyproject.toml", pyproject), ("src/click/core.py", ""), ("tests/test_core.py", "")]);
    assert_eq!(
        setups(&found),
        [
            (
                format!(r"{PIP} -e . pytest 'pytest-xdist>=3; python_version > '\''3.9'\'''").as_str(),
                "pyproject.toml, [dependency-groups] tests"
            ),
            (format!("{PIP} -e . pytest").as_str(), "pyproject.toml"),
        ]
    );
    assert_eq!(tests(&found), ["python3 -m pytest -q -rA"], "what verification takes");
    assert_eq!(found.lints[0].command, "python3 -m mypy");
}

#[test]
fn a_group_that_names_the_project_itself_means_its_extras() {
    let pyproject = "[build-system]\nrequires = [\"setuptools>=61\"]\n[project]\nname = \"Re_Quests\"\n\
        [project.optional-dependencies]\nsocks = [\"PySocks\"]\n[dependency-groups]\ntest = [\"re.quests[socks]\", \"httpbin~=0.10\"]\n";
    let tox = "[tox]\nenvlist = py3\n[testenv]\ndeps = -rrequirements-dev.txt\nextras =\n    security\ncommands =\n    pytest {posargs:tests}\n\
        [testenv:other]\ncommands = pytest nothing\n";
    let files =
        [("pyproject.toml", pyproject), ("tox.ini", tox), ("requirements-dev.txt", ""), ("tests/test_a.py", "")];
    let found = of(&files);
    assert_eq!(
        setups(&found),
        [
            (
                format!("{PIP} -e '.[socks]' 'httpbin~=0.10' pytest").as_str(),
                "pyproject.toml, [dependency-groups] test"
            ),
            (format!("{PIP} -e . -r requirements-dev.txt").as_str(), "requirements-dev.txt"),
            (format!("{PIP} -e . pytest").as_str(), "pyproject.toml"),
        ]
    );
    assert_eq!(tests(&found), ["python3 -m pytest -q -rA", "python3 -m pytest -rA tests"]);
}

#[test]
fn each_tool_for_python_is_read_in_its_own_table() {
    let first = |table: &str, more: &[(&str, &str)]| {
        let text = format!("[build-system]\nrequires = []\n{table}");
        let mut files = vec![("pyproject.toml", text.as_str())];
        files.extend(more);
        of(&files).setups[0].commands[0].strip_prefix(PIP).unwrap().to_owned()
    };
    assert_eq!(first("[tool.uv]\ndev-dependencies = [\"hypothesis\"]", &[]), " -e . hypothesis");
    assert_eq!(first("[tool.pdm.dev-dependencies]\ntest = [\"nose2\"]", &[]), " -e . nose2");
    assert_eq!(first("[tool.hatch.envs.test]\ndependencies = [\"trio\"]", &[]), " -e . trio");
    let poetry = "[tool.poetry]\nname = \"x\"\n[tool.poetry.group.test.dependencies]\nanyio = \"^4.1\"\nblack = { version = \"*\" }\nown = { path = \"../own\" }\n";
    assert_eq!(first(poetry, &[]), " -e . 'anyio>=4.1' black");
    assert_eq!(
        first("[project]\nname = \"x\"\n[project.optional-dependencies]\ntest = [\"a\"]\ndev = [\"b\"]", &[]),
        " -e '.[test]'"
    );
    let nox = "import nox\n@nox.session\ndef tests(session):\n    session.install(\"-r\", \"requirements/test.txt\", \".[async]\", 'freezegun')\n    session.install('no')\n";
    assert_eq!(
        first("", &[("noxfile.py", nox), ("requirements/test.txt", "")]),
        " -e '.[async]' -r requirements/test.txt freezegun"
    );
    let tox = ("tox.ini", "[testenv]\ndeps =\n    mock>=4\n    py27: old\n    -r{toxinidir}/r.txt\n");
    assert_eq!(first("", &[tox]), " -e . 'mock>=4'");
}

#[test]
fn a_project_that_only_lists_requirements_is_not_installed_itself() {
    let found = of(&[("requirements.txt", "flask\n"), ("app.py", ""), ("test_app.py", "")]);
    assert_eq!(setups(&found), [(format!("{PIP} -r requirements.txt").as_str(), "requirements.txt")]);
    assert!(of(&[("test_app.py", "")]).setups.is_empty(), "nothing is asked for");
    let only_a_tool = of(&[("pyproject.toml", "[tool.ruff]\nline-length = 99\n"), ("test_app.py", "")]);
    assert!(only_a_tool.setups.is_empty(), "{only_a_tool:?}");
}

#[test]
fn node_installs_by_its_lock_file_and_runs_its_scripts() {
    let package =
        r#"{"dependencies":{"a":"1"},"scripts":{"test":"mocha","build":"tsc","lint":"eslint .","unit":"mocha unit"}}"#;
    let plain = ("npm install --no-audit --no-fund", "package.json");
    let found = of(&[("package.json", package), ("package-lock.json", "{}")]);
    assert_eq!(setups(&found), [("npm ci --no-audit --no-fund", "package-lock.json"), plain]);
    assert_eq!(tests(&found), ["npm test", "npm run unit"]);
    assert_eq!(
        (found.builds[0].command.as_str(), found.lints[0].by.as_str()),
        ("npm run build", "package.json, scripts.lint")
    );
    for (lock, install) in
        [("pnpm-lock.yaml", "pnpm install --frozen-lockfile"), ("yarn.lock", "yarn install --frozen-lockfile")]
    {
        assert_eq!(setups(&of(&[("package.json", package), (lock, "")])), [(install, lock), plain]);
    }
    assert!(of(&[("package.json", r#"{"scripts":{"test":"node --test"}}"#)]).setups.is_empty(), "nothing to install");
    assert!(of(&[("package.json", "no json")]).setups.is_empty());
}

#[test]
fn rust_go_java_and_cmake_have_one_program_each() {
    let rust = of(&[("Cargo.toml", ""), ("Cargo.lock", "")]);
    assert_eq!(setups(&rust), [("cargo fetch --locked", "Cargo.lock"), ("cargo fetch", "Cargo.toml")]);
    assert_eq!(tests(&rust), ["cargo test", "cargo test --offline"]);
    let members = "[package]\nname = \"a\"\n[workspace]\nmembers = [\"b\"]\n";
    let members = of(&[("Cargo.toml", members), ("b/Cargo.toml", "")]);
    assert_eq!(tests(&members), ["cargo test --workspace", "cargo test --offline --workspace"]);
    assert_eq!(members.builds[0].command, "cargo build --offline --workspace");
    assert_eq!(members.lints[0].command, "cargo clippy --offline --all-targets --workspace");
    let go = of(&[("go.mod", "module a\n"), ("go.sum", "")]);
    assert_eq!(
        (setups(&go), tests(&go)),
        (vec![("go mod download", "go.sum")], vec!["go test -v ./...", "go test ./..."])
    );
    assert!(of(&[("go.mod", "module a\n")]).setups.is_empty(), "a module without dependencies");
    assert_eq!(tests(&of(&[("pom.xml", "")])), ["mvn -B -o test"]);
    let cmake = of(&[("CMakeLists.txt", "project(x)\nenable_testing()\n")]);
    assert_eq!(
        tests(&cmake),
        ["cmake -S . -B build && cmake --build build -j 2 && ctest --test-dir build --output-on-failure"]
    );
    assert!(of(&[("CMakeLists.txt", "project(x)\n")]).tests.is_empty());
}

#[test]
fn the_toolchain_that_a_task_gets_is_set_up_first_and_makes_targets_after_it() {
    let make = "deps:\n\tpip install x\ncheck test: deps\n\ttrue\nlint:\n\tx\ntests := a\n.PHONY: check\ntest-all: x\n";
    let found = of(&[("package.json", r#"{"dependencies":{"a":"1"}}"#), ("Cargo.toml", ""), ("Makefile", make)]);
    let names: Vec<_> = setups(&found).into_iter().map(|(command, _)| command).collect();
    assert_eq!(names, ["cargo fetch", "npm install --no-audit --no-fund", "make deps"]);
    assert_eq!((tests(&found)[0], found.lints.last().unwrap().by.as_str()), ("cargo test", "Makefile, lint"));
}

#[test]
fn a_workflow_is_read_as_far_as_a_sandbox_can_run_it() {
    let text = "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n      - run: pip install -e . nose\n\
        \x20     - name: Install\n        run: |\n          sudo apt-get install x\n          python -m pip install \\\n            wheel\n          echo done\n\
        \x20     - run: python -m pytest tests --cov=x\n      - run: cargo test ${{ matrix.flags }}\n      - run: >\n          make\n          check\n      - run: \"ruff check .\"\n";
    let found =
        of(&[(".github/workflows/release.yml", "jobs:\n  - run: npm ci\n"), (".github/workflows/tests.yml", text)]);
    let pip = "PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --user";
    assert_eq!(
        found.setups[0],
        setup([format!("{pip} -e . nose"), format!("{pip}  wheel")], ".github/workflows/tests.yml")
    );
    assert_eq!(found.setups[1].commands, ["npm ci"], "one that tests by its name comes first");
    assert_eq!(tests(&found), ["python3 -m pytest tests --cov=x", "make check"], "a folded line is one command");
    assert_eq!(found.lints, [super::found("python3 -m ruff check .", ".github/workflows/tests.yml")]);
    assert!(of(&[(".github/workflows/deep/tests.yml", text)]).tests.is_empty(), "not a workflow");
}

#[test]
fn a_devcontainers_own_command_comes_last() {
    let text = "{ // ours\n \"onCreateCommand\": \".devcontainer/make.sh\", \"postCreateCommand\": \"npm ci\", }";
    let found = of(&[
        ("package.json", r#"{"dependencies":{}}"#),
        (".devcontainer/devcontainer.json", text),
        (".devcontainer/make.sh", ""),
    ]);
    let names: Vec<_> = setups(&found).into_iter().map(|(command, _)| command).collect();
    assert_eq!(names, ["npm install --no-audit --no-fund", "sh .devcontainer/make.sh", "npm ci"]);
}

#[test]
fn nothing_that_a_project_file_cannot_hold_is_taken() {
    let long = "x".repeat(LONGEST);
    let group = format!("[project]\nname = \"a\"\n[dependency-groups]\ntest = [\"{long}\", \"a\\u0007b\"]\n");
    let found = of(&[("pyproject.toml", &group)]);
    assert!(found.setups.iter().all(|it| it.commands[0].len() <= LONGEST), "{:?}", found.setups.len());
    let evil = "[project]\nname = \"own\"\n[dependency-groups]\ntest = [\"x; rm -rf $HOME\", \"$(id)\", \"a'b\"]\n";
    let command = of(&[("pyproject.toml", evil)]).setups[0].commands[0].clone();
    assert!(command.ends_with(r"-e . 'x; rm -rf $HOME' '$(id)' 'a'\''b'"), "{command}");
    assert_eq!(of(&[("pyproject.toml", "not toml ["), ("README.md", "")]), Commands::default());
}

#[test]
fn only_files_that_are_read_are_wanted() {
    let files =
        ["Cargo.toml", "src/Cargo.toml", ".github/workflows/ci.yaml", "docs/a.md", "setup.cfg"].map(str::to_owned);
    assert_eq!(files_to_read(&files), ["Cargo.toml", ".github/workflows/ci.yaml", "setup.cfg"]);
}
