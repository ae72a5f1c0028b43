//! Inotify instances, which the kernel counts by user: all that this one may have, and one alone.

use std::fs::File;
use std::process::{Command, ExitCode, Stdio};

use nix::errno::Errno;
use nix::sys::inotify::{InitFlags, Inotify};
use nix::unistd::pause;
use protocol::probe::OPEN;

/// Descriptors that are kept back, for what comes after all others are taken.
const SPARE: usize = 16;

/// Takes as many as its user may have, says so in a line, and holds them until it is ended. Where one process may not open so many,
/// another goes on.
pub fn take_all() -> anyhow::Result<ExitCode> {
    let spare = (0..SPARE).map(|_| File::open("/proc/self/exe")).collect::<Result<Vec<_>, _>>()?;
    let mut held = Vec::new();
    let refused = loop {
        match Inotify::init(InitFlags::IN_CLOEXEC) {
            Ok(one) => held.push(one),
            Err(refused) => break refused,
        }
    };
    // The same word is said of the user's instances and of this process's descriptors.
    let descriptors_left = File::open("/proc/self/exe").is_ok();
    drop(spare);
    match refused {
        Errno::EMFILE if descriptors_left => println!("all"),
        Errno::EMFILE if !held.is_empty() && more().is_ok() => {}
        Errno::EMFILE => println!("as many as it could"),
        other => println!("{other:?} after {}", held.len()),
    }
    loop {
        pause();
    }
}

/// Another process with descriptors of its own, which says how it ended.
fn more() -> std::io::Result<()> {
    let mut command = Command::new("/proc/self/exe");
    command.args(["probe", "take-watchers"]).stdin(Stdio::null()).spawn().map(drop)
}

/// Says whether there is one more.
pub fn take_one() -> ExitCode {
    let seen = Inotify::init(InitFlags::IN_CLOEXEC).map_or_else(|error| format!("{error:?}"), |_| OPEN.to_owned());
    println!("{seen}");
    ExitCode::SUCCESS
}
