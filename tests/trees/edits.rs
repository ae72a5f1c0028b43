//! `caisson fetch` never loses a developer's changes, whenever they are made and whatever git was told about the file.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use caisson::fetch::{FetchRequest, Refusal, prepare};
use domain::Commit;

use crate::fetch::{Home, fixed};
use crate::world::{FILES, commit, git, git_command, head, project, write};

/// The refusal after `edit`, which happens between the last check and the first write; nothing but the edit has changed.
async fn refused_after(home: &Home, edit: impl FnOnce(&Path)) -> Refusal {
    let ready = prepare(&home.request(), home).await.unwrap_or_else(|e| panic!("{e:?}"));
    edit(&home.clone_dir());
    let before = home.look();
    let refusal = ready.bring(home).await.expect_err("refused");
    assert_eq!(home.look(), before, "the clone was touched: {refusal:?}");
    assert!(home.delivered.lock().unwrap().is_empty());
    refusal
}

type Edit = Box<dyn FnOnce(&Path)>;

/// A branch that changes, creates and deletes files, including a file in place of a directory and a directory in place of a file.
fn branch() -> Home {
    Home::with(|dir| {
        for gone in ["README.md", "docs/link-target.md", "build/kept.txt"] {
            std::fs::remove_file(dir.join(gone)).unwrap();
        }
        std::fs::remove_dir(dir.join("docs")).unwrap();
        write(dir, "docs", "now a file\n");
        write(dir, "README.md/inside.txt", "now a directory\n");
        commit(dir, &fixed(), "work");
    })
}

#[tokio::test]
async fn a_branch_that_turns_files_into_directories_comes_home() {
    let home = branch();
    home.brought(&home.request()).await;
    let clone = home.clone_dir();
    git(&clone, &["add", "-A", "-f"]);
    assert_eq!(git(&clone, &["write-tree"]), git(&home.dir.path().join("forge"), &["rev-parse", "HEAD^{tree}"]));
    assert!(!clone.join("build").exists(), "a directory that nothing is in any more");
    let left = std::fs::read_dir(clone.join(".git")).unwrap().filter_map(Result::ok);
    assert!(left.into_iter().all(|entry| !entry.file_name().to_string_lossy().contains("caisson")));
}

#[tokio::test]
async fn files_that_git_was_told_not_to_look_at_are_looked_at() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let home = Home::new(&fixed());
        git(&home.clone_dir(), &["update-index", flag, "sum.py"]);
        write(&home.clone_dir(), "sum.py", "my own, kept from git's eyes\n");
        let refusal = home.refused(&home.request()).await;
        assert!(refusal.what.contains("uncommitted") && refusal.reasons == ["`sum.py`"], "{flag}: {refusal:?}");
        write(&home.clone_dir(), "sum.py", FILES[1].1);
        home.brought(&home.request()).await;
    }
}

#[tokio::test]
async fn files_that_a_sparse_clone_leaves_out_are_no_edits() {
    let home = branch();
    let clone = home.clone_dir();
    for path in ["sum.py", "test_sum.py", "docs/link-target.md"] {
        git(&clone, &["update-index", "--skip-worktree", path]);
        std::fs::remove_file(clone.join(path)).unwrap();
    }
    let refusal = refused_after(&home, |clone| write(clone, "sum.py", "saved meanwhile\n")).await;
    assert!(refusal.what.contains("sum.py"), "{refusal:?}");
    std::fs::remove_file(clone.join("sum.py")).unwrap();
    home.brought(&home.request()).await;
    assert!(std::fs::read_to_string(clone.join("sum.py")).unwrap().contains("a + b"));
    assert!(!clone.join("test_sum.py").exists(), "what the branch does not change stays left out");
}

#[tokio::test]
async fn a_file_saved_between_check_and_apply_is_kept() {
    let home = branch();
    let mode = |path: &'static str, mode| {
        move |clone: &Path| std::fs::set_permissions(clone.join(path), PermissionsExt::from_mode(mode)).unwrap()
    };
    let edits: [(&str, Edit); 6] = [
        ("sum.py", Box::new(|clone| write(clone, "sum.py", "my own\n"))),
        ("README.md", Box::new(|clone| write(clone, "README.md", "of a file that the branch removes\n"))),
        ("build/kept.txt", Box::new(|clone| write(clone, "build/kept.txt", "also ignored\n"))),
        ("sum.py", Box::new(mode("sum.py", 0o755))),
        (
            "sum.py",
            Box::new(|clone| {
                std::fs::remove_file(clone.join("sum.py")).unwrap();
                std::os::unix::fs::symlink("README.md", clone.join("sum.py")).unwrap();
            }),
        ),
        (
            "sum.py",
            Box::new(|clone| {
                std::fs::remove_file(clone.join("sum.py")).unwrap();
                write(clone, "sum.py/mine.txt", "a directory now\n");
            }),
        ),
    ];
    for (path, edit) in edits {
        let refusal = refused_after(&home, edit).await;
        assert!(refusal.what.contains(path) && refusal.what.contains("the work tree is as it was"), "{refusal:?}");
        let clone = home.clone_dir();
        git(&clone, &["clean", "-q", "-f", "-d", "-x"]);
        git(&clone, &["reset", "-q", "--hard"]);
    }
    let gone = refused_after(&home, |clone| std::fs::remove_file(clone.join("sum.py")).unwrap()).await;
    assert!(gone.what.contains("sum.py"), "{gone:?}");
}

#[tokio::test]
async fn a_file_that_appears_meanwhile_is_kept() {
    let mut files = fixed();
    files.push(("build/secret.env", "theirs\n"));
    let home = Home::new(&files);
    for (path, says) in [
        ("new/file.txt", "new/file.txt"),
        ("build/secret.env", "build/secret.env"),
        ("new", "new"),
        ("new/file.txt/below", "new/file.txt"),
    ] {
        let refusal = refused_after(&home, |clone| write(clone, path, "mine\n")).await;
        assert!(refusal.what.contains(&format!("`{says}`")), "{path}: {refusal:?}");
        git(&home.clone_dir(), &["clean", "-q", "-f", "-d", "-x"]);
    }
    let outside = home.dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    refused_after(&home, |clone| std::os::unix::fs::symlink(&outside, clone.join("new")).unwrap()).await;
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0, "written through a link");
}

#[tokio::test]
async fn ends_of_lines_as_the_clone_has_them_are_no_edit() {
    let home = Home::new(&fixed());
    let clone = home.clone_dir();
    git(&clone, &["config", "core.autocrlf", "true"]);
    std::fs::remove_file(clone.join("sum.py")).unwrap();
    git(&clone, &["checkout", "-q", "--", "sum.py"]);
    assert!(std::fs::read_to_string(clone.join("sum.py")).unwrap().contains("\r\n"));
    home.brought(&home.request()).await;
    let text = std::fs::read_to_string(clone.join("sum.py")).unwrap();
    assert!(text.contains("a + b\r\n"), "{text:?}");
}

/// A project whose attributes came later than this file, which is as it was.
fn with_attributes(forge: &Path, file: (&str, &str), attributes: &str) -> Commit {
    project(forge, &[FILES, &[file]].concat());
    write(forge, ".gitattributes", attributes);
    git(forge, &["add", ".gitattributes"]);
    git(forge, &["commit", "-q", "-m", "attributes"]);
    head(forge)
}

#[tokio::test]
async fn ends_of_lines_that_the_commit_has_itself_are_no_edit() {
    let base = |forge: &Path| with_attributes(forge, ("shop.sln", "Project\r\nEnd\r\n"), "*.sln text eol=crlf\n");
    let home = Home::on(base, |forge| {
        git(forge, &["rm", "-q", "-f", "shop.sln"]);
        git(forge, &["commit", "-q", "-m", "work"]);
    });
    let sln = home.clone_dir().join("shop.sln");
    // The index is of later than the files, as in a clone that was not made a moment ago.
    let not_of_now = || {
        let index = std::fs::File::options().write(true).open(home.clone_dir().join(".git/index")).unwrap();
        index.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(3600)).unwrap();
    };
    not_of_now();
    let edit = |clone: &Path| write(clone, "shop.sln", "Project\r\nMine\r\n");
    let refusal = refused_after(&home, edit).await;
    assert!(refusal.what.contains("shop.sln"), "{refusal:?}");
    std::fs::remove_file(&sln).unwrap();
    git(&home.clone_dir(), &["checkout", "-q", "--", "shop.sln"]);
    not_of_now();
    home.brought(&home.request()).await;
    assert!(!sln.exists());
}

#[tokio::test]
async fn a_file_of_git_lfs_is_no_edit_of_its_pointer() {
    // Of "pixels" and the end of the line.
    let digest = "6b752a24800f687461413179918b18b93b11a6e3b72cdf27efdbac90fde4d311";
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 7\n");
    let base = |forge: &Path| with_attributes(forge, ("art.bin", pointer.as_str()), "*.bin filter=lfs -text\n");
    let home = Home::on(base, |forge| {
        git(forge, &["mv", "art.bin", "moved.bin"]);
        git(forge, &["commit", "-q", "-m", "work"]);
    });
    let clone = home.clone_dir();
    write(&clone, "art.bin", "PIXELS\n");
    let refusal = home.refused(&home.request()).await;
    assert!(refusal.what.contains("uncommitted") && refusal.reasons == ["`art.bin`"], "{refusal:?}");
    write(&clone, "art.bin", "pixels\n");
    let refusal = refused_after(&home, |clone| write(clone, "art.bin", "PIXELS\n")).await;
    assert!(refusal.what.contains("art.bin"), "{refusal:?}");
    write(&clone, "art.bin", "pixels\n");
    home.brought(&home.request()).await;
    assert!(!clone.join("art.bin").exists());
    assert_eq!(std::fs::read_to_string(clone.join("moved.bin")).unwrap(), pointer);
}

#[tokio::test]
async fn what_stood_there_before_a_fetch_that_was_cut_off_is_named() {
    let home = Home::new(&fixed());
    let clone = home.clone_dir();
    write(&clone, ".git/caisson-fetch-x/old/sum.py", "what stood there\n");
    std::fs::remove_file(clone.join("sum.py")).unwrap();
    let refusal = home.refused(&home.request()).await;
    assert_eq!(refusal.reasons[0], "`sum.py`");
    assert!(refusal.reasons[1].ends_with("/.git/caisson-fetch-x"), "{refusal:?}");
}

#[tokio::test]
async fn a_merge_that_stopped_half_way_is_uncommitted_work() {
    let home = Home::new(&fixed());
    let clone = home.clone_dir();
    git(&clone, &["checkout", "-q", "-b", "other"]);
    commit(&clone, &[("README.md", "theirs\n")], "theirs");
    git(&clone, &["checkout", "-q", "main"]);
    commit(&clone, &[("README.md", "ours\n")], "ours");
    assert!(!git_command(&clone).args(["merge", "-q", "other"]).status().unwrap().success(), "a conflict");
    let as_found = FetchRequest { as_branch: true, ..home.request() };
    let refusal = home.refused(&home.request()).await;
    assert!(refusal.what.contains("uncommitted") && refusal.reasons == ["`README.md`"], "{refusal:?}");
    home.brought(&as_found).await;
}
