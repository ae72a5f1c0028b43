//! What goes wrong around a move, drawn from a seed.

use crate::dice::Dice;
use devforge::{Devforge, Fault, Route};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Requests and deliveries after a move that may meet trouble; later ones do not, so that every play comes to an end.
const REQUESTS: usize = 60;
const DELIVERIES: usize = 12;
const POSTS: usize = 6;

/// What goes wrong around one move.
#[derive(Debug, Clone, Default)]
pub struct Trouble {
    /// The bot is killed before the move and starts again after it.
    pub away: bool,
    /// Seconds by which the forge's clock jumps before the move.
    pub jump: i64,
    /// Deliveries held back so far are sent before the move.
    pub release: bool,
    /// The bot is killed when it has made so many requests.
    pub kill_at: Option<usize>,
    /// By the number of the request since the move.
    faults: Vec<(usize, Fault)>,
    /// By number of the post since the move, because posts can be lost or doubled.
    posts: Vec<(usize, Fault)>,
    /// By the number of the delivery since the move.
    routes: Vec<(usize, Route)>,
}

impl Trouble {
    pub fn draw(dice: &mut Dice) -> Self {
        let away = dice.roll(12) == 0;
        let mut trouble = Self {
            away,
            // Also an hour in which nobody answers.
            jump: if away && dice.roll(3) == 0 { 3_600 } else { dice.roll(20) as i64 },
            release: dice.roll(3) == 0,
            kill_at: (dice.roll(10) == 0).then(|| dice.roll(40) as usize),
            ..Self::default()
        };
        // Most moves meet a forge that works.
        let often = [0, 0, 4, 12][dice.roll(4) as usize];
        for at in 0..REQUESTS {
            if dice.roll(100) < often {
                trouble.faults.push((at, fault(dice)));
            }
        }
        for at in 0..POSTS {
            if often > 0 && dice.roll(4) == 0 {
                trouble.posts.push((at, fault(dice)));
            }
        }
        // Locked for a moment: three times in a row it would count.
        if often > 0 && dice.roll(3) == 0 {
            let at = dice.roll(POSTS as u64) as usize;
            trouble.posts.insert(0, (at, Fault::Refused(423)));
        }
        let often = [20, 50, 100][dice.roll(3) as usize];
        for at in 0..DELIVERIES {
            if dice.roll(100) < often {
                let (copies, behind) = match dice.roll(5) {
                    0 | 1 => (0, 0),
                    2 => (2, 0),
                    3 => (1, 1 + dice.roll(4) as u8),
                    _ => (2, 1 + dice.roll(4) as u8),
                };
                trouble.routes.push((at, Route { copies, behind }));
            }
        }
        trouble
    }
}

fn fault(dice: &mut Dice) -> Fault {
    match dice.roll(6) {
        0 => Fault::Refused(500),
        1 => Fault::Refused(502),
        2 => Fault::Refused(503),
        3 => Fault::Cut,
        _ => Fault::Unanswered,
    }
}

/// The trouble of a move, and what came since.
#[derive(Default)]
struct Now {
    trouble: Trouble,
    requests: usize,
    posts: usize,
    deliveries: usize,
}

/// The trouble of the present move, as the forge is asked for it.
#[derive(Default)]
pub struct Weather {
    now: Mutex<Now>,
    /// Whether requests meet trouble: not while the bot starts, which fails where its forge does.
    pub armed: AtomicBool,
    /// Requests that met trouble so far.
    pub met: AtomicUsize,
    /// Set when the bot is to be killed.
    pub die: AtomicBool,
}

impl Weather {
    /// Has a forge ask for its trouble here.
    pub fn over(forge: &Devforge) -> Arc<Self> {
        let weather = Arc::new(Self::default());
        let (of_requests, of_hooks) = (weather.clone(), weather.clone());
        forge.set_faults(move |method, path| of_requests.fault(method == "POST" && path.starts_with("/api/")));
        forge.set_routes(move |_| of_hooks.route());
        weather
    }

    pub fn set(&self, trouble: Trouble) {
        *self.now.lock().expect("whole") = Now { trouble, ..Now::default() };
    }

    fn fault(&self, is_post: bool) -> Option<Fault> {
        if !self.armed.load(Ordering::SeqCst) {
            return None;
        }
        let mut now = self.now.lock().expect("whole");
        let (at, post) = (now.requests, is_post.then_some(now.posts));
        now.requests += 1;
        now.posts += usize::from(is_post);
        if now.trouble.kill_at == Some(at) {
            self.die.store(true, Ordering::SeqCst);
        }
        let of_posts = now.trouble.posts.iter().find(|(of, _)| Some(*of) == post);
        let found = of_posts.or(now.trouble.faults.iter().find(|(of, _)| *of == at)).map(|(_, fault)| *fault);
        self.met.fetch_add(usize::from(found.is_some()), Ordering::SeqCst);
        found
    }

    fn route(&self) -> Route {
        let mut now = self.now.lock().expect("whole");
        let at = now.deliveries;
        now.deliveries += 1;
        now.trouble.routes.iter().find(|(of, _)| *of == at).map_or(Route::STRAIGHT, |(_, route)| *route)
    }
}
