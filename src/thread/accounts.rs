//! The bot's own account and those of people: whose texts count, what right to the code each has, and whether a text asks the bot by its name.

use super::by_name::{by_name, command_behind};
use super::words;
use crate::command::{Command, Strength};
use crate::config::process::Repository;
use crate::forge::{Account, Forge, ForgeError, RepositoryAddresses, ReviewComment};
use crate::trouble::Trouble;
use domain::{Access, Verb};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Why a command behind the bot's name is not followed.
pub(super) const BEHIND_NAME: &str = "a command stands at the beginning of its line, without my name before it";

/// The command of this name, behind the bot's own.
fn not_followed(word: String) -> Verb {
    Verb::Unknown { word, why: Some(BEHIND_NAME.to_owned()) }
}

/// The bot's own account, and what counts of others.
pub struct Accounts {
    pub(super) forge: Arc<dyn Forge>,
    pub(super) addresses: Arc<RepositoryAddresses>,
    /// The bot's own account.
    pub(super) me: Account,
    /// Lower-case logins of accounts whose texts never count: the bot's own and the operator's automation accounts.
    pub(super) silent: HashSet<String>,
    /// Id of the account that keeps default branches in step; none where there is none.
    pub(super) sync: Option<i64>,
}

impl Accounts {
    /// Whether texts of this account count at all. Ids below 1 belong to the forge itself. The bot's two accounts are known by theirs: whoever has
    /// the password of one may give it another login.
    pub fn counts(&self, account: &Account) -> bool {
        let ours = account.id == self.me.id || self.keeps_in_step(account);
        account.id >= 1 && !ours && !self.silent.contains(&account.login.to_lowercase())
    }

    /// Whether it is the account that keeps default branches in step, which does nothing of its own accord.
    pub(super) fn keeps_in_step(&self, account: &Account) -> bool {
        self.sync == Some(account.id)
    }

    /// The account's right to the code, asked now. An error if the forge cannot tell, so that nothing is decided yet.
    pub async fn right(
        &self,
        entry: &Repository,
        account: &Account,
        seen: &mut HashMap<i64, Access>,
    ) -> Result<Access, Trouble> {
        if let Some(right) = seen.get(&account.id) {
            return Ok(*right);
        }
        let right = match self.forge.permission(&self.addresses.at(entry)?, account).await {
            Ok(right) => words::access(right),
            Err(ForgeError::NotFound(_)) => Access::None,
            Err(other) => return Err(other.into()),
        };
        // A forge that is starting also reports no right.
        if right == Access::None && !self.forge_answers().await {
            return Err(Trouble::later("the forge does not say who may do what"));
        }
        seen.insert(account.id, right);
        Ok(right)
    }

    /// Whether the forge answers its version and accepts our token.
    pub async fn forge_answers(&self) -> bool {
        let (version, me) = tokio::join!(self.forge.version(), self.forge.whoami());
        version.is_ok() && me.is_ok_and(|me| me.id == self.me.id)
    }

    /// As [`words::asked_by_name`]; where it asks nothing, a command behind the bot's name, as one that cannot be followed.
    pub(crate) fn asked_by_name(&self, note: &ReviewComment) -> Option<words::OnLine> {
        let behind = || {
            let name = command_behind(&note.body, &self.me.login)?;
            let (strength, verb) = (Strength::Question, not_followed(name.clone()));
            Some(words::OnLine { command: Command { name, strength, verb }, note: note.clone(), by_name: false })
        };
        words::asked_by_name(note, &self.me.login).or_else(behind)
    }

    /// The verb of a text; of one that gives no command, and has one behind the bot's name, that this cannot be followed: taken as words it would
    /// be lost in silence, or be the answer to a question.
    pub(crate) fn or_behind_name(&self, verb: Verb, text: &str) -> Verb {
        if matches!(verb, Verb::Say { .. })
            && let Some(word) = command_behind(text, &self.me.login)
        {
            return not_followed(word);
        }
        verb
    }

    /// The names of commands behind the bot's name in these texts, each once, without what this verb of them answers: beside a verb that counts
    /// they would be lost in silence.
    pub(super) fn behind_name<'a>(&self, verb: &Verb, texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut words = Vec::new();
        for word in texts.into_iter().filter_map(|text| command_behind(text, &self.me.login)) {
            let answered = matches!(verb, Verb::Unknown { word: answered, .. } if *answered == word);
            if !answered && !words.contains(&word) {
                words.push(word);
            }
        }
        words
    }

    /// The question in a remark that asks the bot by its name.
    pub fn question_by_name(&self, text: &str) -> Option<Verb> {
        by_name(text, &self.me.login).map(|question| Verb::Ask { question })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::Gitea;
    use crate::secret::Secret;

    #[test]
    fn the_bots_accounts_never_count_whatever_they_are_called_now() {
        let url = "http://127.0.0.1:1/".parse().expect("an address");
        let forge: Arc<dyn Forge> = Arc::new(Gitea::new(&url, Secret::new("x"), "test").expect("a client"));
        let account = |id: i64, login: &str| Account { id, login: login.to_owned() };
        let accounts = Accounts {
            addresses: Arc::new(RepositoryAddresses::new(forge.clone())),
            forge,
            me: account(4, "caisson"),
            silent: HashSet::from(["caisson".to_owned(), "caisson-sync".to_owned(), "ci".to_owned()]),
            sync: Some(5),
        };
        for silent in [account(4, "renamed"), account(5, "caisson-sync"), account(5, "renamed"), account(6, "CI")] {
            assert!(!accounts.counts(&silent), "{silent:?}");
        }
        assert!(!accounts.counts(&account(-1, "Ghost")));
        assert!(accounts.counts(&account(7, "alice")));
    }
}
