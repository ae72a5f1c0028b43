//! The one table of files that do more than hold a project's sources: patterns of their paths, and what is said and done about each.
//!
//! A path may be in several rows. A row that is split has the same words twice, where only some of its files steer tests.

use super::{AtFetch, FileRisk, Row};

/// A row of files that act by themselves, which nothing brings into a clone without consent.
const fn acts(words: &'static str, patterns: &'static [&'static str]) -> Row {
    Row { words, patterns, at_fetch: AtFetch::Ask, steers: false, risk: FileRisk::Steers }
}

/// A row of files that run when the project is built or tested, and that decide what its tests are.
const fn builds(words: &'static str, risk: FileRisk, patterns: &'static [&'static str]) -> Row {
    Row { words, patterns, at_fetch: AtFetch::Note, steers: true, risk }
}

/// A row of files that only a review marks.
const fn marked(words: &'static str, risk: FileRisk, patterns: &'static [&'static str]) -> Row {
    Row { words, patterns, at_fetch: AtFetch::Nothing, steers: false, risk }
}

const TOOLS: &str = "changes what a tool runs or where it fetches from, for every command in this directory";
const BOT: &str = "steers the bot itself";
const RUNS: &str = "runs when the project is built or tested";
const CONFIGURES: &str = "configures tests";
const DEPENDENCIES: &str = "dependencies";

/// All rows. Of those that ask for consent the first that has a path says why.
pub(super) const TABLE: &[Row] = &[
    acts("steers what git does with files", &["**/.gitattributes", "**/.gitmodules", "**/.lfsconfig", ".gitconfig"]),
    acts(
        "is run by a shell or a directory manager on entering",
        &[
            "**/.envrc",
            "**/.direnvrc",
            "**/.autoenv",
            "**/.tool-versions",
            "**/mise.toml",
            "**/.mise.toml",
            "**/.mise/**",
            "**/.inputrc",
        ],
    ),
    acts(
        "is run or obeyed by an editor on opening",
        &[
            "**/.vscode/**",
            "**/*.code-workspace",
            "**/.idea/**",
            "**/.devcontainer/**",
            "**/.devcontainer.json",
            "**/.vimrc",
            "**/.exrc",
            "**/.nvimrc",
            "**/.nvim.lua",
            "**/.lvimrc",
            "**/.dir-locals.el",
            "**/.dir-locals-2.el",
            "**/.fleet/**",
            "**/.zed/**",
            "**/.sublime-project",
            "**/*.sublime-project",
            "**/.helix/**",
        ],
    ),
    acts(
        "is run by a forge or another machine",
        &[
            ".github/workflows/**",
            ".github/actions/**",
            ".gitea/**",
            ".forgejo/**",
            ".gitlab-ci.yml",
            ".gitlab/**",
            ".woodpecker.yml",
            ".woodpecker.yaml",
            ".woodpecker/**",
            ".drone.yml",
            ".circleci/**",
            ".travis.yml",
            ".cirrus.yml",
            "appveyor.yml",
            ".appveyor.yml",
            ".buildkite/**",
            "Jenkinsfile",
            "azure-pipelines.yml",
            "bitbucket-pipelines.yml",
            ".builds/**",
            ".ci/**",
        ],
    ),
    acts(
        "becomes or configures a git hook",
        &[
            "**/.husky/**",
            "**/.githooks/**",
            ".pre-commit-config.yaml",
            "lefthook.yml",
            "lefthook.yaml",
            ".lefthook/**",
            ".overcommit.yml",
        ],
    ),
    acts(
        "instructs coding agents",
        &[
            "**/AGENTS.md",
            "**/CLAUDE.md",
            "**/CLAUDE.local.md",
            "**/GEMINI.md",
            "**/.cursorrules",
            "**/.cursor/**",
            "**/.windsurfrules",
            "**/.windsurf/**",
            "**/.clinerules",
            "**/.clinerules/**",
            "**/.aider*",
            "**/.claude/**",
            "**/.codex/**",
            "**/.gemini/**",
            "**/.continue/**",
            "**/.mcp.json",
            "**/.github/copilot-instructions.md",
            "**/.github/instructions/**",
            "**/.github/prompts/**",
            "**/.goosehints",
            "**/.roo/**",
            "**/.junie/**",
        ],
    ),
    acts(BOT, &[".caisson.toml", ".caisson/**"]),
    acts("says who has to review", &["CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS"]),
    Row { at_fetch: AtFetch::Nothing, steers: true, ..acts(BOT, &["**/.caisson.toml"]) },
    acts(
        TOOLS,
        &[
            "**/.cargo/config",
            "**/.cargo/config.toml",
            "**/.yarnrc",
            "**/.yarnrc.yml",
            "**/.yarn/**",
            "**/.pnpmfile.cjs",
            "**/pip.conf",
            "**/.pypirc",
            "**/usercustomize.py",
            "**/*.pth",
            "**/.gdbinit",
            "**/.lldbinit",
            "**/.netrc",
            "**/.bazelrc",
            "**/.mvn/**",
            "**/gradle-wrapper.jar",
            "**/gradle-wrapper.properties",
            "**/.bundle/config",
            "**/.irbrc",
            "**/.pryrc",
            "**/.ruby-version",
            "**/.python-version",
            "**/.node-version",
            "**/.nvmrc",
            "**/.terraformrc",
            "**/.curlrc",
            "**/.wgetrc",
        ],
    ),
    Row {
        steers: true,
        ..acts(TOOLS, &["**/rust-toolchain", "**/rust-toolchain.toml", "**/.npmrc", "**/sitecustomize.py"])
    },
    builds(CONFIGURES, FileRisk::Steers, &["**/conftest.py", "**/tox.ini", "**/noxfile.py", "**/jest.config.*"]),
    builds(
        RUNS,
        FileRisk::Steers,
        &[
            "**/Makefile",
            "**/GNUmakefile",
            "**/justfile",
            "**/build.rs",
            "**/setup.py",
            "**/setup.cfg",
            "**/CMakeLists.txt",
            "**/meson.build",
            "**/Dockerfile",
            "**/Rakefile",
            "**/vite.config.*",
        ],
    ),
    builds(
        "scripts and dependencies",
        FileRisk::Steers,
        &[
            "**/Cargo.toml",
            "**/package.json",
            "**/pyproject.toml",
            "**/pom.xml",
            "**/build.gradle",
            "**/build.gradle.kts",
        ],
    ),
    builds(
        DEPENDENCIES,
        FileRisk::Dependencies,
        &[
            "**/Cargo.lock",
            "**/package-lock.json",
            "**/yarn.lock",
            "**/pnpm-lock.yaml",
            "**/go.mod",
            "**/go.sum",
            "**/Gemfile",
        ],
    ),
    Row {
        steers: false,
        ..builds(
            RUNS,
            FileRisk::Steers,
            &[
                "**/*.mk",
                "**/*.cmake",
                "**/configure",
                "**/*.dockerfile",
                "**/docker-compose*.y*ml",
                "**/compose*.y*ml",
                "**/*.gradle",
                "**/*.gradle.kts",
                "**/webpack.config.*",
                "**/*.sh",
            ],
        )
    },
    Row {
        steers: true,
        ..marked(
            CONFIGURES,
            FileRisk::Steers,
            &[
                "**/pytest.ini",
                "**/.mocharc*",
                "**/.coveragerc",
                "**/phpunit.xml",
                "**/vitest.config.*",
                "**/babel.config.*",
                "**/playwright.config.*",
                "**/karma.conf.*",
                "**/tsconfig*",
            ],
        )
    },
    Row { steers: true, ..marked(DEPENDENCIES, FileRisk::Dependencies, &["**/requirements.txt", "**/composer.json"]) },
    marked(
        DEPENDENCIES,
        FileRisk::Dependencies,
        &[
            "**/requirements*.txt",
            "**/constraints*.txt",
            "**/Pipfile",
            "**/Pipfile.lock",
            "**/poetry.lock",
            "**/uv.lock",
            "**/pdm.lock",
            "**/composer.lock",
            "**/Gemfile.lock",
            "**/*.gemspec",
            "**/gradle.lockfile",
            "**/libs.versions.toml",
            "**/npm-shrinkwrap.json",
            "**/bun.lock",
            "**/bun.lockb",
            "**/deno.lock",
            "**/pnpm-workspace.yaml",
            "**/go.work",
            "**/go.work.sum",
            "**/packages.lock.json",
            "**/*.csproj",
            "**/mix.exs",
            "**/mix.lock",
            "**/flake.lock",
            "**/vcpkg.json",
            "**/conanfile.*",
        ],
    ),
    marked(
        "generated, by its name",
        FileRisk::Generated,
        &[
            "**/*.min.js",
            "**/*.min.css",
            "**/*.map",
            "**/*_pb2.py",
            "**/*_pb2_grpc.py",
            "**/*.pb.go",
            "**/*.pb.cc",
            "**/*.pb.h",
            "**/*.generated.*",
            "**/*_generated.*",
            "**/zz_generated*",
            "**/node_modules/**",
            "**/vendor/**",
            "**/third_party/**",
            "**/dist/**",
        ],
    ),
];
