//! Takes inotify instances, which the kernel counts by user: all that the user may have, or one.

use std::fs::File;
use std::process::{Command, ExitCode, Stdio};

use nix::errno::Errno;
use nix::sys::inotify::{InitFlags, Inotify};
use nix::unistd::pause;
use protocol::probe::OPEN;

/// Descriptors kept free for what is opened after all others are taken.
const SPARE: usize = 16;

/// Takes as many instances as the user may have, reports it in a line, and holds them until it is killed. Another process continues where
/// one may not open so many.
pub fn take_all() -> anyhow::Result<ExitCode> {
    let spare = (0..SPARE).map(|_| File::open("/proc/self/exe")).collect::<Result<Vec<_>, _>>()?;
    let mut held = Vec::new();
    let refused = loop {
        match Inotify::init(InitFlags::IN_CLOEXEC) {
            Ok(one) => held.push(one),
            Err(refused) => break refused,
        }
    };
    // The same error stands for the user's instances and the process's descriptors.
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

/// Starts another process with descriptors of its own and gives its result.
fn more() -> std::io::Result<()> {
    let mut command = Command::new("/proc/self/exe");
    command.args(["probe", "take-watchers"]).stdin(Stdio::null()).spawn().map(drop)
}

/// Reports whether one more instance can be made.
pub fn take_one() -> ExitCode {
    let seen = Inotify::init(InitFlags::IN_CLOEXEC).map_or_else(|error| format!("{error:?}"), |_| OPEN.to_owned());
    println!("{seen}");
    ExitCode::SUCCESS
}
