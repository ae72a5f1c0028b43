//! The checkpoint of a layer is the tree that git makes of all files, after random operations on the real kernel's overlay.

use std::process::Command;

use caisson::sandbox::{CaptureSpec, Captured};
use domain::{Action, Commit};
use protocol::runner::Limits;

use crate::docker::in_containers;
use crate::layers::{in_container, sandboxes_on};
use crate::mirror::many_files;
use crate::world::{World, commit};

const ROUNDS: u32 = 12;

/// Twelve random operations by the seed `$1`; then git's tree of all files, from the index of the commit `$2`; and the last line of the
/// runner's report of the layer over the tree of the commit `$3`.
const DO: &str = r#"
RANDOM=$1
any() { local all=("$1"/*); echo "${all[RANDOM % ${#all[@]}]}"; }
dir() { local at; for i in 1 2 3 4 5; do at=$(any many); [ -d "$at" ] && [ ! -L "$at" ] && break; done; echo "$at"; }
for i in $(seq 12); do
    d=$(dir) e=$(dir) n=$((RANDOM % 50))
    f=$(any "$d")
    # Nobody is at its other end.
    [ ! -p "$f" ] || continue
    case $((RANDOM % 18)) in
        0 | 1) echo "$i" >>"$f" ;;
        2) rm -rf "$f" ;;
        3) rm -rf "$d" ;;
        4) echo new >"$d/new $n" ;;
        5) mkdir -p "$d/deep/er$n" && echo x >"$d/deep/er$n/x.log" && echo y >"$d/deep/er$n/y" ;;
        6) mv "$d" "many/moved-$n" ;;
        7) rm -rf "$f" && mkdir "$f" && echo x >"$f/in" ;;
        8) rm -rf "$d" && echo file >"$d" ;;
        9) rm -rf "$f" && ln -s "nowhere-$n" "$f" ;;
        10) [ -d "$f" ] || chmod "$([ $((n % 2)) = 0 ] && echo +x || echo -x)" "$f" ;;
        11) rm -rf "$d" && mkdir "$d" && cp sum.py "$d/number-$n.txt" && cp "$e"/*1.txt "$d/" ;;
        12) printf '%s\n' "$(printf '*.log\n!x.log\nbuild\n/many/moved-*\nnew*\n' | shuf -n $((n % 5)) --random-source=/bin/sh)" >.gitignore ;;
        13) mkdir -p "build/$n" "$d/build" && echo x | tee "build/$n/o" "$d/build/o" >build/a.log ;;
        14) touch "$f" && cat "$f" >/tmp/same && cat /tmp/same >"$f" ;;
        15) printf 'a\r\n' >"$d/$(printf 'odd "\303\244 %s' $n)" ;;
        16) rm -f "$d/fifo" && mkfifo "$d/fifo" ;;
        17) mv -f "$f" "$e/" ;;
    esac
done 2>/dev/null
{
    export GIT_INDEX_FILE=/tmp/index
    git read-tree "$2" && git -c core.autocrlf=false add -A . && git write-tree
    git diff-tree -r -z --raw --no-renames "$3" "$2" |
        /opt/caisson/caisson-runner changed "$CAISSON_LAYER" "$CAISSON_MIRROR/tree" . "$2" | tail -c 5
} 2>&1
"#;

/// The tree of a commit in the bot's own repository.
fn tree_of(world: &World, commit: &Commit) -> String {
    let at = world.repos.path("demo").expect("a key");
    let words = ["rev-parse", &format!("{commit}^{{tree}}")].map(str::to_owned);
    let done = Command::new("git").arg("--git-dir").arg(at).args(words).output().expect("git");
    String::from_utf8(done.stdout).expect("an id").trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn in_containers_a_layers_checkpoint_is_what_git_makes_of_all_files() {
    in_containers(
        "likeness",
        |_| {},
        |world, broker, _| async move {
            many_files(&world);
            let sandboxes = sandboxes_on(&world, broker);
            let mut first: Option<Commit> = None;
            // The first begins with the mirror's tree, the second with a later commit over it.
            for task in [1, 2] {
                let spec = in_container(&world, task).await;
                sandboxes.of_tasks.prepare(&spec).await.expect("prepared");
                let tree = first.get_or_insert_with(|| spec.base.clone()).clone();
                let mut parent = spec.base.clone();
                for round in 1..=ROUNDS {
                    let seed = 100 * u32::try_from(task).expect("small") + round;
                    let command = format!("set -- {seed} {} {tree}\n{DO}", spec.base);
                    let limits = Limits { wall_ms: 60_000, output_bytes: 4000 };
                    let done = sandboxes
                        .actions
                        .act(task, u64::from(round), &Action::Bash { command }, limits)
                        .await
                        .expect("acted");
                    let said = done.outcome.text.as_str();
                    let (theirs, end) = said.split_once('\n').unwrap_or((said, ""));
                    assert_eq!(end, "done\n", "seed {seed}: {:?}", done.outcome);
                    let mut capture = CaptureSpec { protected: Vec::new(), ..world.capture_spec(task, round, &parent) };
                    capture.segment.base = spec.base.clone();
                    match sandboxes.captures.capture(&capture).await.expect("captured") {
                        Captured::Commit { commit, .. } => parent = commit,
                        Captured::Unchanged { .. } => {}
                        refused => panic!("seed {seed}: {refused:?}"),
                    }
                    assert_eq!(tree_of(&world, &parent), theirs, "seed {seed}");
                    sandboxes.of_tasks.open(task).await.expect("opened");
                }
                commit(
                    &world.upstream(),
                    &[
                        ("later.txt", "later\n"),
                        ("many/later/one", "1\n"),
                        ("sum.py", "def plus(a, b):\n"),
                        (".gitignore", "later*\n"),
                    ],
                    "a later one",
                );
            }
            for task in [1, 2] {
                sandboxes.of_tasks.remove(task).await.expect("removed");
            }
            sandboxes.leave().await;
        },
    )
    .await;
}
