//! A command of the repository's own, as the first word of a text where no task is at work: its file on the default branch says which kind of
//! task begins, and what is asked for. Who: whoever may give the command of that kind, and of them those whom the file names. Effect: a task
//! begins, once for each text, and keeps what it takes from the file. Tests: `tests/stories/own_commands.rs`.

use super::called::Called;
use super::left::SoFar;
use super::reader::Reader;
use super::start::Text;
use super::unstarted;
use crate::config::own_command::OwnCommand as File;
use crate::config::process::Repository;
use crate::config::project::Network;
use crate::forge::Issue;
use crate::message;
use crate::redact;
use crate::thread::Admission;
use crate::thread::terms::{Agreed, agree};
use crate::thread::words;
use crate::thread::{MissingHosts, REPLY_MARKS};
use crate::trouble::Trouble;
use domain::{Access, Budget, Decision, Input, OwnCommand, Request, TaskKind, Terms, Verb};
use std::collections::HashMap;
use std::sync::Arc;

/// How the names of these watermarks begin.
const MARKS: &str = "own:";

/// How a task begins.
struct Begins {
    terms: Terms,
    agreed: Agreed,
    words: String,
}

impl Reader {
    /// Since when texts may ask for commands of this repository's own, by the forge's clock: what was written before they were first looked
    /// for here begins nothing by them.
    pub(super) async fn own_since(&self, key: &str) -> Result<i64, Trouble> {
        self.first_look(&format!("{MARKS}{key}")).await
    }

    /// Notes that these repositories are looked at, as [`Reader::own_since`] and [`Reader::answers_since`] do for one, and for replies on lines.
    /// `clock` is the forge's.
    pub(super) async fn look_for_own(&self, repositories: &[&Arc<Repository>], clock: i64) -> Result<(), Trouble> {
        for kind in [MARKS, unstarted::MARKS, REPLY_MARKS] {
            let marks: HashMap<String, i64> = self.store.watermarks(kind).await?.into_iter().collect();
            for name in repositories.iter().map(|entry| format!("{kind}{}", entry.key)) {
                // A mark later than the forge's clock was written before that clock was set back.
                if marks.get(&name).is_none_or(|at| *at > clock) {
                    self.store.set_watermark(&name, clock).await?;
                }
            }
        }
        Ok(())
    }

    /// Reads a text again whose first word may be a command of the repository's own: what it asks for is then what that one's file says. To
    /// who may not read the code such a command does not exist. Returns why it is not known now whether it is one.
    pub(super) async fn look_up_own(&self, entry: &Repository, text: &mut Text) -> Result<Option<Trouble>, Trouble> {
        match self.looked_up(entry, text).await {
            Ok(()) => Ok(None),
            // The whole thread is read again where the repository is now.
            Err(moved @ Trouble::Moved { .. }) => Err(moved),
            Err(trouble) => {
                tracing::warn!(repository = entry.key, source = %text.source, %trouble, "a command could not be looked up");
                Ok(Some(trouble))
            }
        }
    }

    /// Reads again a text that may be a command of the repository's own; false while it is not known whether it is one, or while another is not.
    pub(super) async fn is_known(
        &self,
        entry: &Repository,
        issue: &Issue,
        text: &mut Text,
        so_far: &mut SoFar,
    ) -> Result<bool, Trouble> {
        if so_far.unknown.is_some() {
            return Ok(false);
        }
        let Some(trouble) = self.look_up_own(entry, text).await? else { return Ok(true) };
        // On a pull request none of them begins, nor by somebody without the right, so no other text waits for one.
        let right = self.threads.accounts.right(entry, &text.author, &mut HashMap::new()).await;
        match issue.is_pull || right.is_ok_and(|right| right < Access::Write) {
            true => so_far.fails(trouble),
            false => {
                so_far.unknown = Some(trouble);
                so_far.begins = true;
            }
        }
        Ok(false)
    }

    async fn looked_up(&self, entry: &Repository, text: &mut Text) -> Result<(), Trouble> {
        let Some(name) = words::own_name(&text.body) else { return Ok(()) };
        if self.threads.accounts.right(entry, &text.author, &mut HashMap::new()).await? < Access::Read {
            return Ok(());
        }
        let Some(at_tip) = self.threads.own.own_commands(entry).await? else { return Ok(()) };
        text.names = at_tip.commands.names();
        let Some(command) = words::strongest_with(&text.body, &text.author.login, &text.names) else { return Ok(()) };
        if command.name == name && command.verb.begins().is_some() {
            text.own = Some(Called { name, at_tip });
        }
        text.verb = command.verb;
        Ok(())
    }

    /// Takes up a text that begins with such a command; true when a task began.
    pub(super) async fn take_own(
        &self,
        entry: &Repository,
        issue: &Issue,
        (text, called): (&Text, &Called),
        key: &str,
    ) -> Result<bool, Trouble> {
        let (Some(file), Some((kind, _, given))) = (called.file(), text.verb.begins()) else { return Ok(false) };
        let (login, number) = (text.author.login.as_str(), issue.number);
        if text.edited {
            self.threads.answers.answer_once(entry, number, key, &message::edited(login)).await?;
            return Ok(false);
        }
        let right = self.threads.accounts.right(entry, &text.author, &mut HashMap::new()).await?;
        let listed = match self.own_admission(entry, text, file, right).await? {
            Ok(listed) => listed,
            Err(refusal) => {
                tracing::info!(repository = entry.key, number, source = %text.source, login, command = file.name, "begins nothing: may not");
                self.answer_denied(entry, number, text, key).await?;
                self.threads.answers.refuse_once(entry, number, key, text.asks(&file.name), &refusal).await?;
                return Ok(false);
            }
        };
        let begins = match self.own_terms(entry, text, file, right) {
            Ok(begins) => begins,
            Err(answer) => {
                self.threads.answers.answer_once(entry, number, key, &text.with_denied(answer)).await?;
                return Ok(false);
            }
        };
        // The model named in the file is no option, so no right is asked for it.
        if self.terms_barred(entry, number, key, text, (given, &begins.agreed, right)).await? {
            return Ok(false);
        }
        let asking = text.evidence(number, right);
        let said = (&asking.poster, text.body.as_str(), &text.verb);
        self.threads.further.answer_beside(entry, number, key, (said, &text.names), right).await?;
        // As with a command of the bot: nothing reads the text again for them.
        let mut more = self.threads.hosts.hosts(entry, &text.body, (&asking, None)).await?;
        let own = self.own_record(entry, (called, file), given, &allowed(&more)).await?;
        let request = self.request(entry, issue, (text, right), kind, begins.terms).await?;
        let request = Request {
            listed,
            words: begins.words,
            budget: own.narrowed(&begins.agreed.budget),
            every: own.at_most(request.every),
            own: Some(Box::new(own)),
            ..request
        };
        more.extend(
            begins.agreed.more.map(|verb| Input::Decided { decision: Box::new(Decision { verb, ..asking.clone() }) }),
        );
        Ok(self.machine.create(key, request, more).await?.is_some())
    }

    /// Whether somebody with this right may give it; an error is the answer to who may not.
    async fn own_admission(
        &self,
        entry: &Repository,
        text: &Text,
        file: &File,
        right: Access,
    ) -> Result<Admission, Trouble> {
        let login = &text.author.login;
        if right < Access::Write {
            return Ok(Err(message::refused(login, &file.name)));
        }
        let author = words::account(&text.author);
        let mut listed = match self.threads.groups.admits(entry, (&text.verb, &author, right), None).await? {
            Ok(listed) => listed,
            Err(whom) => return Ok(Err(message::own_barred(login, &file.name, file.kind, &whom))),
        };
        let by_file = self.threads.groups.admits_by_file(entry, &file.who, (&author, right)).await?;
        Ok(by_file.map_err(|whom| message::own_not_among(login, &file.name, &whom)).map(|words| {
            listed.extend(words);
            listed
        }))
    }

    /// What the task is asked for, and its terms: those of the text, and the file's where the text leaves them open. An error is the answer.
    fn own_terms(&self, entry: &Repository, text: &Text, file: &File, right: Access) -> Result<Begins, String> {
        let login = text.author.login.as_str();
        let open = Terms::default();
        let (_, words, given) = text.verb.begins().unwrap_or((file.kind, "", &open));
        let words = file.filled(words).map_err(|why| message::malformed(&file.name, &why))?;
        let named: Vec<String> = self.config.models_of(&entry.key).nameable().map(|entry| entry.id.clone()).collect();
        if let Some(model) = file.model.as_ref().filter(|model| given.model.is_none() && !named.contains(model)) {
            return Err(message::own_model_refused(login, &file.name, model, &named));
        }
        let terms = Terms { model: given.model.clone().or_else(|| file.model.clone()), ..given.clone() };
        let agreed = agree(&self.config, entry, &terms, (login, right))?;
        Ok(Begins { terms, agreed, words: redact::in_words(&words) })
    }

    /// What the task keeps of it. `given` are the text's own options, `allowed` the hosts that the text allows.
    async fn own_record(
        &self,
        entry: &Repository,
        (called, file): (&Called, &File),
        given: &Terms,
        allowed: &[String],
    ) -> Result<OwnCommand, Trouble> {
        let MissingHosts { lacks, closed } =
            self.threads.own.lacking(entry, &called.at_tip, (&file.wish(), allowed)).await?;
        Ok(OwnCommand {
            name: file.name.clone(),
            commit: called.at_tip.commit.clone(),
            blob: file.blob.clone(),
            who: file.who.clone(),
            every: file.every,
            budget: left_open(&file.budget, &given.budget.unwrap_or_default()),
            network: file.network.clone(),
            lacks,
            closed,
            model: file.model.clone().filter(|_| given.model.is_none()),
            role: file.role.map(|role| role.word().to_owned()),
        })
    }

    /// What a new attempt of this kind keeps of it: the same, with the hosts that it does without now.
    pub(super) async fn own_again(
        &self,
        entry: &Repository,
        (kind, own): (TaskKind, Option<Box<OwnCommand>>),
        more: &[Input],
    ) -> Result<Option<Box<OwnCommand>>, Trouble> {
        let Some(mut own) = own else { return Ok(None) };
        if !own.network.is_empty()
            && let Some(at_tip) = self.threads.own.own_commands(entry).await?
        {
            let wanted = Network::of(kind, &own);
            let MissingHosts { lacks, closed } =
                self.threads.own.lacking(entry, &at_tip, (&wanted, &allowed(more))).await?;
            (own.lacks, own.closed) = (lacks, closed);
        }
        Ok(Some(own))
    }
}

/// The hosts that these decisions allow.
fn allowed(more: &[Input]) -> Vec<String> {
    let host = |input: &Input| match input {
        Input::Decided { decision } if decision.barred.is_none() => match &decision.verb {
            Verb::Allow { host, bar: None, .. } => Some(host.clone()),
            _ => None,
        },
        _ => None,
    };
    more.iter().filter_map(host).collect()
}

/// The kinds of a file's budget that the text's own `--budget` does not name.
fn left_open(file: &Budget, asked: &Budget) -> Budget {
    let open = |file: u64, asked: u64| if asked == 0 { file } else { 0 };
    Budget {
        micro_usd: open(file.micro_usd, asked.micro_usd),
        tokens: open(file.tokens, asked.tokens),
        actions: open(file.actions, asked.actions),
        work_ms: open(file.work_ms, asked.work_ms),
    }
}
