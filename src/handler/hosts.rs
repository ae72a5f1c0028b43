//! `/allow` and `/deny` in a text: what this installation knows of the host, and further hosts beside the text's strongest word.
//! Who: somebody with write access to the code, as for every decision. Effect: rules of the router, once the task machine has taken it up.

use super::reader::{Reader, Thread};
use super::words;
use crate::config::process::{Network, Repository};
use crate::effect::Trouble;
use crate::egress::overruled;
use domain::{Bar, Decision, Source, Verb};
use protocol::router::Rule;

impl Reader {
    /// Decisions of their own for the hosts that a text names beside its strongest word.
    pub(super) async fn beside(
        &self,
        entry: &Repository,
        thread: &Thread,
        decision: &Decision,
    ) -> Result<Vec<Decision>, Trouble> {
        let text = match &decision.source {
            Source::Comment(id) => thread.comments.iter().find(|c| c.id == *id).map(|c| c.body.as_str()),
            Source::Review(id) => thread.reviews.iter().find(|r| r.id == *id).map(|r| r.body.as_str()),
            Source::Issue(_) => None,
        };
        let mut found = words::hosts(text.unwrap_or_default(), &decision.verb);
        for verb in &mut found {
            self.look_up(entry, verb).await?;
        }
        Ok(found.into_iter().map(|verb| Decision { verb, ..decision.clone() }).collect())
    }

    /// What this installation knows of a host that somebody names: the operator's word, and the repository's grants.
    pub(super) async fn look_up(&self, entry: &Repository, verb: &mut Verb) -> Result<(), Trouble> {
        match verb {
            Verb::Allow { bar, .. } if self.config.sandbox.network == Network::None => *bar = Some(Bar::NoNetwork),
            Verb::Allow { host, bar, .. } => {
                let denied: Vec<Rule> =
                    self.config.egress.deny.iter().filter_map(|text| Rule::parse(text).ok()).collect();
                let over = Rule::parse(host).ok().and_then(|rule| overruled(&denied, &rule).map(Rule::to_string));
                *bar = over.map(|rule| Bar::Operator { rule });
            }
            Verb::Deny { host, kept } => {
                *kept = self.store.grants(&entry.key).await?.iter().any(|grant| grant.is_named_by(host));
            }
            _ => {}
        }
        Ok(())
    }
}
